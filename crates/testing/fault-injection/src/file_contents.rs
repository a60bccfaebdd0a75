//! Random contents of source files, and malicious paks. The size of a random file does not depend on the random numbers:
//! edits that keep the size are the ones that incremental builds easily miss.

use crate::random::Random;
use kiln_format::pak::{Block, Codec, Kind, write};

/// Returns random content for a source of this name: an image or a color LUT.
pub fn for_name(random: &mut Random, path: &str) -> Vec<u8> {
    if path.ends_with(".cube") {
        return table(random);
    }
    let (width, height) = *random.pick(&[(1, 1), (4, 4), (8, 8), (5, 3), (4, 8)]);
    random_image(random, width, height)
}

/// Returns different content of the same size, valid if the old content was generated here.
pub fn same_size(random: &mut Random, old: &[u8]) -> Vec<u8> {
    match old.get(16..24) {
        Some(&[0, 0, 0, width, 0, 0, 0, height]) if old.starts_with(b"\x89PNG") => {
            random_image(random, width.into(), height.into())
        }
        _ if old.starts_with(b"LUT") => table(random),
        _ => old.iter().map(|b| b ^ 1).collect(),
    }
}

/// Returns an uncompressed PNG with random pixels.
pub fn random_image(random: &mut Random, width: u32, height: u32) -> Vec<u8> {
    let samples: Vec<u8> = (0..width * height * 4).map(|_| random.next() as u8).collect();
    png(width, height, &samples)
}

/// Encodes RGBA pixels as an uncompressed PNG.
pub fn png(width: u32, height: u32, samples: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::NoCompression);
    encoder.write_header().unwrap().write_image_data(samples).unwrap();
    bytes
}

/// Returns a random color LUT in the `.cube` format.
fn table(random: &mut Random) -> Vec<u8> {
    let mut text = "LUT_3D_SIZE 2\n".to_owned();
    for _ in 0..8 {
        let mut value = || random.below(1000);
        text += &format!("0.{:03} 0.{:03} 0.{:03}\n", value(), value(), value());
    }
    text.into_bytes()
}

/// Returns a pak with one small blob under this key.
pub fn pak_with(key: &str) -> Vec<u8> {
    pak(key, Codec::None, 4, 20, &[b"evil".to_vec()])
}

/// Returns a pak with one blob of this declared length and these stored blocks, consistent or not.
pub fn pak(key: &str, codec: Codec, len: u64, block_log2: u8, blocks: &[Vec<u8>]) -> Vec<u8> {
    let hash = xxhash_rust::xxh3::xxh3_64;
    let listed = blocks.iter().map(|b| Block { checksum: hash(b), stored_len: b.len() as u32 }).collect();
    let asset = write::AssetBlocks { kind: Kind::Blob, len, codec, block_log2, blocks: listed, refs: vec![] };
    let index = write::index(&[asset], &[], &mut [(key.to_owned(), Kind::Blob, 0)]).unwrap();
    let stored: usize = blocks.iter().map(Vec::len).sum();
    let at = write::next_payload(write::FIRST_PAYLOAD + stored as u64);
    let mut out = write::header(at, index.len() as u64, hash(&index), hash);
    out.resize(write::FIRST_PAYLOAD as usize, 0);
    blocks.iter().for_each(|block| out.extend(block));
    out.resize(at as usize, 0);
    out.extend(index);
    out
}
