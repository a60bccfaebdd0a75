//! The action that bakes the payload of one asset from its source files.

pub(crate) mod animation;
pub(crate) mod bitmap;
pub(crate) mod factor;
mod float_bitmap;
mod memory;
pub(crate) mod mesh;
mod params;
mod source_image;

use super::compression::{CompressedPayload, PayloadEntry, compress, decompress};
use super::plan::bitmap::is_float;
use super::plan::material::Channel;
use super::plan::{Node, Recipe};
use super::remote_action;
use crate::sound::SoundInfo;
use kiln_engine::{
    Action, ActionContext, Artifact, CacheEntry, Code, Diag, Hash, Inputs, Limits, Rejected, RelPath,
    SourceTree,
};
use kiln_format::pak::Sample;
use kiln_format::pak::animation::AnimationView;
use kiln_format::pak::bitmap::BitmapView;
use kiln_format::pak::mesh::MeshView;

/// The action of a node that is baked from files. It has one artifact, the payload, with the index entry as metadata.
pub(crate) struct NodeAction<'a>(pub(crate) &'a Node);

/// The artifact name of every payload; in a pak, payloads are content-addressed.
const PAYLOAD: &str = "payload";

impl Action for NodeAction<'_> {
    type Metadata = PayloadEntry;

    fn source(&self) -> &RelPath {
        &self.0.name
    }

    fn fingerprint(&self) -> &str {
        &self.0.fingerprint
    }

    fn weight(&self, sources: SourceTree<'_>) -> u64 {
        let image_memory = |spec: &super::plan::bitmap::BitmapSpec| {
            let path = &spec.src.path;
            let head = sources.fs.peek(path, 64 << 10).unwrap_or_default();
            sources.len(path).saturating_add(memory::estimate(&head, spec))
        };
        match &self.0.recipe {
            Recipe::Blob(src) | Recipe::Sound(src) => sources.len(src) * 2,
            Recipe::Bitmap(spec) => image_memory(spec),
            Recipe::Params(spec) => {
                let images = spec.channels.iter().filter_map(|channel| match channel {
                    Channel::Image(spec) => Some(image_memory(spec)),
                    _ => None,
                });
                images.fold(0, u64::saturating_add)
            }
            Recipe::Mesh(spec, _) => sources.len(&spec.src) * 8,
            Recipe::Animation(spec) => sources.len(&spec.src) * 3,
            _ => 0,
        }
    }

    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<PayloadEntry>>, Diag> {
        let content = bake_payload(cx, self.0)?;
        let CompressedPayload { stored, bytes } = compress(content, self.0.compression);
        let name = RelPath::new(PAYLOAD).expect("the artifact name is a valid path");
        let identity = stored.identity();
        Ok(vec![cx.identified_artifact(&name, stored, bytes, identity)?])
    }

    fn remote_request(&self, limits: &Limits) -> Option<Vec<u8>> {
        // Copying a file takes longer on a worker than here.
        let is_copy = matches!(self.0.recipe, Recipe::Blob(_) | Recipe::Sound(_));
        if is_copy { None } else { remote_action::request(self.0, limits) }
    }

    fn scan_inputs(&self, inputs: &mut Inputs<'_>) {
        remote_action::scan_inputs(self.0, inputs);
    }

    /// Accepts a cached payload that has the compression of this asset and that the reader of its kind validates.
    fn check_cached(&self, entry: &mut CacheEntry<'_, PayloadEntry>) -> Result<(), Rejected> {
        let name = &self.0.name;
        let stored = match entry.artifacts() {
            [payload] if payload.name.as_str() == PAYLOAD => payload.metadata.clone(),
            _ => return Err(Rejected(format!("expected exactly one artifact for {name}, its payload"))),
        };
        let compressed = CompressedPayload { stored, bytes: entry.read(0)? };
        if !compressed.is_intact() || !compressed.is_compressed_as(self.0.compression) {
            return Err(Rejected(format!("the payload of {name} is damaged")));
        }
        let content = decompress(&compressed)
            .ok_or_else(|| Rejected(format!("the payload of {name} cannot be decompressed")))?;
        let accepted = match &self.0.recipe {
            Recipe::Blob(src) | Recipe::Sound(src) => {
                let hash = Hash::of(&content);
                entry.inputs().any(|(input, found)| input == src && found == hash)
            }
            Recipe::Bitmap(_) | Recipe::Params(_) => BitmapView::read(&content).is_ok(),
            Recipe::Mesh(..) => MeshView::read(&content).is_ok(),
            Recipe::Animation(_) => AnimationView::read(&content).is_ok(),
            _ => false,
        };
        if !accepted {
            return Err(Rejected(format!("the payload of {name} is not valid for its kind")));
        }
        Ok(())
    }
}

/// Bakes the payload of an asset from its source files.
fn bake_payload(cx: &mut ActionContext<'_>, node: &Node) -> Result<Vec<u8>, Diag> {
    match &node.recipe {
        Recipe::Blob(src) => cx.inputs.read(src),
        Recipe::Sound(src) => {
            let bytes = cx.inputs.read(src)?;
            let bad = |why: crate::sound::SoundError| {
                Diag::new(Code::PakSound, why.to_string())
                    .path(src)
                    .hint("export the sound again, or describe it as a [blob]")
            };
            SoundInfo::parse(&bytes).map_err(bad)?;
            Ok(bytes)
        }
        Recipe::Bitmap(spec) if is_float(&spec.src) || spec.sample == Some(Sample::F32) => {
            float_bitmap::bake(cx, spec)
        }
        Recipe::Bitmap(spec) => bitmap::bake(cx, spec),
        Recipe::Params(spec) => params::bake(cx, spec),
        Recipe::Mesh(spec, _) => mesh::bake(cx, spec),
        Recipe::Animation(spec) => animation::bake(cx, spec),
        _ => Err(Diag::new(Code::PakFormat, "the asset is not baked from files")),
    }
}

/// Creates the diagnostic for a payload that the format cannot represent.
pub(crate) fn write_error(error: kiln_format::Error) -> Diag {
    Diag::new(Code::PakFormat, format!("the asset cannot be stored: {error}"))
}
