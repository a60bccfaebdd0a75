//! One asset baked: the action that the engine runs.

pub(crate) mod animation;
pub(crate) mod bitmap;
mod floats;
mod memory;
pub(crate) mod mesh;
mod params;

use super::compress::{Packed, Stored, pack, unpack};
use super::plan::material::Channel;
use super::plan::{Node, Recipe};
use kiln_engine::{
    Action, ActionContext, Artifact, CacheEntry, Code, Diag, Hash, Rejected, RelPath, SourceTree,
};
use kiln_format::pak::animation::AnimationView;
use kiln_format::pak::bitmap::BitmapView;
use kiln_format::pak::mesh::MeshView;

/// A node that is baked from files. It has one artifact, its payload, whose metadata is its entry in the index.
pub(crate) struct NodeAction<'a>(pub(crate) &'a Node);

/// The name of every payload: in a pak they are found by content.
const PAYLOAD: &str = "payload";

impl Action for NodeAction<'_> {
    type Metadata = Stored;

    fn source(&self) -> &RelPath {
        &self.0.name
    }

    fn fingerprint(&self) -> &str {
        &self.0.fingerprint
    }

    fn weight(&self, sources: SourceTree<'_>) -> u64 {
        let picture = |spec: &super::plan::bitmap::BitmapSpec| {
            let path = &spec.src.path;
            let head = sources.fs.peek(path, 64 << 10).unwrap_or_default();
            sources.len(path).saturating_add(memory::estimate(&head, spec))
        };
        match &self.0.recipe {
            Recipe::Blob(src) => sources.len(src) * 2,
            Recipe::Bitmap(spec) => picture(spec),
            Recipe::Params(spec) => {
                let pictures = spec.channels.iter().filter_map(|channel| match channel {
                    Channel::Picture(spec) => Some(picture(spec)),
                    _ => None,
                });
                pictures.fold(0, u64::saturating_add)
            }
            Recipe::Mesh(spec, _) => sources.len(&spec.src) * 8,
            Recipe::Animation(spec) => sources.len(&spec.src) * 3,
            _ => 0,
        }
    }

    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<Stored>>, Diag> {
        let content = content(cx, self.0)?;
        let Packed { stored, bytes } = pack(content, self.0.packing);
        let name = RelPath::new(PAYLOAD).expect("a plain name");
        Ok(vec![cx.artifact(&name, stored, &bytes)?])
    }

    /// Takes a payload that is packed as this asset is, and that its own reader accepts.
    fn check_cached(&self, entry: &mut CacheEntry<'_, Stored>) -> Result<(), Rejected> {
        let name = &self.0.name;
        let stored = match entry.artifacts() {
            [payload] if payload.name.as_str() == PAYLOAD => payload.metadata.clone(),
            _ => return Err(Rejected(format!("{name} has one payload and nothing else"))),
        };
        let packed = Packed { stored, bytes: entry.read(0)? };
        if !packed.is_whole() || !packed.is_packed_as(self.0.packing) {
            return Err(Rejected(format!("the payload of {name} is damaged")));
        }
        let content =
            unpack(&packed).ok_or_else(|| Rejected(format!("the payload of {name} cannot be decoded")))?;
        let accepted = match &self.0.recipe {
            Recipe::Blob(src) => {
                let hash = Hash::of(&content);
                entry.inputs().any(|(input, found)| input == src && found == hash)
            }
            Recipe::Bitmap(_) | Recipe::Params(_) => BitmapView::read(&content).is_ok(),
            Recipe::Mesh(..) => MeshView::read(&content).is_ok(),
            Recipe::Animation(_) => AnimationView::read(&content).is_ok(),
            _ => false,
        };
        if !accepted {
            return Err(Rejected(format!("the payload of {name} is not one of its kind")));
        }
        Ok(())
    }
}

/// The payload of an asset that is baked from files.
fn content(cx: &mut ActionContext<'_>, node: &Node) -> Result<Vec<u8>, Diag> {
    match &node.recipe {
        Recipe::Blob(src) => cx.inputs.read(src),
        Recipe::Bitmap(spec) => bitmap::bake(cx, spec),
        Recipe::Params(spec) => params::bake(cx, spec),
        Recipe::Mesh(spec, _) => mesh::bake(cx, spec),
        Recipe::Animation(spec) => animation::bake(cx, spec),
        _ => Err(Diag::new(Code::PakFormat, "it is not baked from files")),
    }
}

/// A defect of what was to be written.
pub(crate) fn unwritten(error: kiln_format::Error) -> Diag {
    Diag::new(Code::PakFormat, format!("it cannot be stored: {error}"))
}
