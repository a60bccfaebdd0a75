//! Compiling a source on a worker of a server of remote execution.
//!
//! A request names the source and has the text of the configuration file, so that the worker plans the action again. The
//! fingerprint of that action must be the one of the request: then recipe, version and settings are equal.

use crate::config::{Config, FILE_NAME, Resolver};
use crate::plan::{PlannedAsset, Versions, plan};
use crate::tools::Tools;
use kiln_engine::remote::{bad_request, run_request};
use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{Action, Code, Diag, Inputs, Limits, RelPath, store};
use std::path::Path;
use std::sync::Arc;

/// The first bytes of a request; the version changes with its layout.
const MAGIC: &[u8] = b"kiln assetc request 1\n";

/// The configuration from which a worker plans an action.
#[derive(Clone)]
pub(crate) struct RemoteConfig {
    text: Arc<str>,
    preset: Option<Arc<str>>,
}

impl RemoteConfig {
    /// Returns the configuration of a resolver; `None` if it is not that of a file.
    pub(crate) fn of(resolver: &Resolver) -> Option<RemoteConfig> {
        Some(RemoteConfig { text: resolver.text.clone()?, preset: resolver.preset.clone() })
    }

    /// Returns the request for the action of a source.
    pub(crate) fn request(&self, source: &RelPath, fingerprint: &str, limits: &Limits) -> Vec<u8> {
        let mut w = Writer::new();
        w.raw(MAGIC);
        for text in [&*self.text, self.preset.as_deref().unwrap_or_default(), source.as_str(), fingerprint] {
            w.text(text);
        }
        w.limits(limits);
        w.finish()
    }
}

/// A request on a worker.
struct Request<'a> {
    config: &'a str,
    preset: Option<&'a str>,
    source: RelPath,
    fingerprint: &'a str,
    limits: Limits,
}

impl Request<'_> {
    fn read(bytes: &[u8]) -> Option<Request<'_>> {
        let mut r = Reader::new(bytes.strip_prefix(MAGIC)?);
        let request = Request {
            config: r.text()?,
            preset: Some(r.text()?).filter(|preset| !preset.is_empty()),
            source: RelPath::new(r.text()?).ok()?,
            fingerprint: r.text()?,
            limits: r.limits()?,
        };
        r.is_empty().then_some(request)
    }
}

/// Runs the action of the request file in a directory, and writes the result file: the body of a worker process.
///
/// # Errors
///
/// The directory has no valid request, or cannot be read or written. The error of the action itself is in the result.
pub fn run_action(dir: &Path) -> Result<(), Diag> {
    run_request(dir, |bytes, sources| {
        let request = Request::read(bytes).ok_or_else(bad_request)?;
        let config = Config::parse(request.config, FILE_NAME)?;
        let tools = Tools::default();
        let resolver = config.resolver(config.select_preset(request.preset)?);
        let planned = plan(sources.tree, &resolver, &tools, Versions::Asked);
        let is_requested = |asset: &&PlannedAsset<'_>| {
            *asset.source() == request.source && asset.fingerprint() == request.fingerprint
        };
        let action = planned.assets.iter().find(is_requested).ok_or_else(|| {
            Diag::new(Code::Unreadable, "the request names no action of these sources").path(&request.source)
        });
        Ok(store::run_action(action, sources, bytes, &Inputs::new(sources), request.limits))
    })
}
