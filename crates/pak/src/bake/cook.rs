//! One asset baked: the task that the engine runs, and where its bytes go.

pub(crate) mod animation;
pub(crate) mod bitmap;
mod floats;
mod memory;
pub(crate) mod mesh;
mod params;
pub(crate) mod surface;

use super::compress::{Packed, Stored, pack, unpack};
use super::plan::material::Channel;
use super::plan::{Node, Recipe};
use super::spool::Spool;
use kiln_format::pak::Codec;
use kiln_format::pak::animation::AnimationView;
use kiln_format::pak::bitmap::BitmapView;
use kiln_format::pak::mesh::MeshView;
use kiln_kit::wire::{Reader, Writer};
use kiln_kit::{Code, Cook, Diag, Hash, Rejected, RelPath, StoredResult, Task, World};

/// A node that is baked from files.
pub(crate) struct Bake<'a> {
    pub(crate) node: &'a Node,
    pub(crate) spool: &'a Spool,
}

impl Task for Bake<'_> {
    fn source(&self) -> &RelPath {
        &self.node.name
    }

    fn fingerprint(&self) -> &str {
        &self.node.fingerprint
    }

    fn weight(&self, world: World<'_>) -> u64 {
        let picture = |spec: &super::plan::bitmap::BitmapSpec| {
            let path = &spec.src.path;
            let head = world.src.peek(path, 64 << 10).unwrap_or_default();
            len(world, path).saturating_add(memory::estimate(&head, spec))
        };
        match &self.node.recipe {
            Recipe::Blob(src) => len(world, src) * 2,
            Recipe::Bitmap(spec) => picture(spec),
            Recipe::Params(spec) => {
                let pictures = spec.channels.iter().filter_map(|channel| match channel {
                    Channel::Picture(spec) => Some(picture(spec)),
                    _ => None,
                });
                pictures.fold(0, u64::saturating_add)
            }
            Recipe::Mesh(spec, _) => len(world, &spec.src) * 8,
            Recipe::Animation(spec) => len(world, &spec.src) * 3,
            _ => 0,
        }
    }

    fn cook(&self, cx: &mut Cook<'_>) -> Result<Vec<u8>, Diag> {
        let content = content(cx, self.node)?;
        let packed = pack(content, self.node.packing);
        cx.keep(&packed.bytes);
        self.put(&packed)?;
        Ok(encode(&packed.stored))
    }

    /// Takes a stored payload that is packed as this asset is, and that its own reader accepts.
    fn restore(&self, stored: &mut StoredResult<'_>) -> Result<(), Rejected> {
        let name = &self.node.name;
        if let Some((path, _)) = stored.outputs().next() {
            return Err(Rejected(format!("{path} is not an output of {name}")));
        }
        let kept = stored.kept()?.unwrap_or_default();
        let packed = decode(stored.payload()).map(|stored| Packed { stored, bytes: kept });
        let packed = packed.filter(|packed| packed.is_whole() && packed.is_packed_as(self.node.packing));
        let packed = packed.ok_or_else(|| Rejected(format!("the payload of {name} is damaged")))?;
        let content =
            unpack(&packed).ok_or_else(|| Rejected(format!("the payload of {name} cannot be decoded")))?;
        let accepted = match &self.node.recipe {
            Recipe::Blob(src) => {
                let hash = Hash::of(&content);
                stored.inputs().any(|(input, found)| input == src && found == hash)
            }
            Recipe::Bitmap(_) | Recipe::Params(_) => BitmapView::read(&content).is_ok(),
            Recipe::Mesh(..) => MeshView::read(&content).is_ok(),
            Recipe::Animation(_) => AnimationView::read(&content).is_ok(),
            _ => false,
        };
        if !accepted {
            return Err(Rejected(format!("the payload of {name} is not one of its kind")));
        }
        self.put(&packed).map_err(|diag| Rejected(diag.message))
    }
}

impl Bake<'_> {
    fn put(&self, packed: &Packed) -> Result<(), Diag> {
        self.spool.put(packed).map_err(|e| Diag::new(Code::Unwritable, format!("cannot keep it: {e}")))
    }
}

fn len(world: World<'_>, path: &RelPath) -> u64 {
    world.src_tree.stamp(path.as_str()).map_or(0, |stamp| stamp.len)
}

/// The payload of an asset that is baked from files.
fn content(cx: &mut Cook<'_>, node: &Node) -> Result<Vec<u8>, Diag> {
    match &node.recipe {
        Recipe::Blob(src) => cx.read(src),
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

/// What the journal remembers of baked content.
pub(crate) fn encode(stored: &Stored) -> Vec<u8> {
    let mut out = Writer::new();
    out.u64(stored.len);
    out.u8(stored.codec as u8);
    out.u8(stored.block_log2);
    out.count(stored.blocks.len());
    for (checksum, len) in &stored.blocks {
        out.u64(*checksum);
        out.u32(*len);
    }
    out.finish()
}

/// The same, read back.
pub(crate) fn decode(payload: &[u8]) -> Option<Stored> {
    let mut from = Reader::new(payload);
    let (len, codec, block_log2) = (from.u64()?, Codec::from_number(from.u8()?)?, from.u8()?);
    let count = from.count()?;
    let mut blocks = Vec::new();
    for _ in 0..count {
        blocks.push((from.u64()?, from.u32()?));
    }
    let stored = Stored { len, codec, block_log2, blocks };
    (from.is_empty() && stored.is_sound()).then_some(stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_comes_back() {
        let stored = Stored {
            len: 99 + (1 << 20),
            codec: Codec::Zstd,
            block_log2: 20,
            blocks: vec![(u64::MAX, 3), (7, 9)],
        };
        let bytes = encode(&stored);
        assert_eq!(decode(&bytes), Some(stored));
        for len in 0..bytes.len() {
            assert_eq!(decode(&bytes[..len]), None);
        }
    }
}
