//! Baking an asset on a worker of a server of remote execution.
//!
//! A request names the file of the content file that the asset belongs to, so that the worker plans that file again. The
//! fingerprint of a node of that plan must be the one of the request: then its recipe is the same.

use super::compression::Compression;
use super::content::Listed;
use super::payload::NodeAction;
use super::plan::material::Channel;
use super::plan::{MissingFiles, Node, Recipe, plan_listed};
use kiln_engine::remote::{bad_request, run_request};
use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{Code, Diag, Inputs, Limits, RelPath, store};
use kiln_format::pak::Codec;
use std::path::Path;

/// The first bytes of a request; the version changes with its layout.
const MAGIC: &[u8] = b"kiln pak request 1\n";

/// Returns the request for the action of a node; `None` if it has to be baked on this machine.
pub(super) fn request(node: &Node, limits: &Limits) -> Option<Vec<u8>> {
    let Listed { path, compression } = node.listed.as_ref()?;
    let mut w = Writer::new();
    w.raw(MAGIC);
    for text in [path.as_str(), compression.codec.name(), &node.fingerprint] {
        w.text(text);
    }
    w.u32(compression.quality);
    w.u32(compression.window);
    w.limits(limits);
    Some(w.finish())
}

/// Reads the files that planning and baking a node need, as far as they are known.
pub(super) fn scan_inputs(node: &Node, inputs: &mut Inputs<'_>) {
    let mut paths: Vec<&RelPath> = node.listed.iter().map(|listed| &listed.path).collect();
    match &node.recipe {
        Recipe::Blob(src) | Recipe::Sound(src) => paths.push(src),
        Recipe::Bitmap(spec) => paths.push(&spec.src.path),
        Recipe::Params(spec) => paths.extend(spec.channels.iter().filter_map(|channel| match channel {
            Channel::Image(spec) => Some(&spec.src.path),
            _ => None,
        })),
        Recipe::Mesh(spec, _) => paths.push(&spec.src),
        Recipe::Animation(spec) => paths.push(&spec.src),
        _ => {}
    }
    for path in paths {
        let _ = inputs.read_opt(path);
    }
}

/// A request on a worker.
struct Request<'a> {
    listed: Listed,
    fingerprint: &'a str,
    limits: Limits,
}

impl Request<'_> {
    fn read(bytes: &[u8]) -> Option<Request<'_>> {
        let mut r = Reader::new(bytes.strip_prefix(MAGIC)?);
        let (path, codec, fingerprint) = (RelPath::new(r.text()?).ok()?, r.text()?, r.text()?);
        let codec = Codec::ALL.into_iter().find(|known| known.name() == codec)?;
        let compression = Compression { codec, quality: r.u32()?, window: r.u32()? };
        let request = Request { listed: Listed { path, compression }, fingerprint, limits: r.limits()? };
        r.is_empty().then_some(request)
    }
}

/// Bakes the asset of the request file in a directory, and writes the result file: the body of a worker process.
///
/// # Errors
/// If the directory has no valid request, or cannot be read or written. The error of the asset itself is in the result.
pub fn run_action(dir: &Path) -> Result<(), Diag> {
    run_request(dir, |bytes, sources| {
        let Request { listed, fingerprint, limits } = Request::read(bytes).ok_or_else(bad_request)?;
        let mut inputs = Inputs::new(sources).limited(limits);
        let planned = plan_listed(
            std::slice::from_ref(&listed),
            vec![],
            &mut inputs,
            sources.tree,
            MissingFiles::Reject,
        );
        let unknown =
            || Diag::new(Code::Unreadable, "the request names no asset of these sources").path(&listed.path);
        let node = match &planned {
            Ok(plan) => plan.nodes.iter().find(|node| node.fingerprint == fingerprint).ok_or_else(unknown),
            Err(problems) => Err(problems.first().cloned().unwrap_or_else(unknown)),
        };
        let action = node.map(NodeAction);
        Ok(store::run_action(action.as_ref().map_err(Clone::clone), sources, bytes, &inputs, limits))
    })
}
