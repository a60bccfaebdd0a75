//! Prints digests of what a game and its build compute with Kiln: blocks of every encoder at every quality and on every path
//! of the processor, blocks transcoded to every format, a pack, and the assets of a pak. The lines have to be equal on every
//! platform; `tests/platforms/run` compares them.

mod blocks;

use kiln_format::hpack::{self, HpackView};
use kiln_transcode::{Channel, Target, transcode};
use kiln_uastc::bc7::{self, Bc7Options};
use kiln_uastc::{Options, Path, Quality, View, blocks_high, encode_rows, encode_rows_on, encoded_len};
use pak::{Kind, PakBuf};

/// A pak with one asset of each kind.
const PAK: &[u8] = include_bytes!("../../../../crates/testing/fuzz-targets/corpus/pak/small.pak");

/// The 64-bit FNV-1a hash.
fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// An image with smooth, noisy, flat and transparent parts.
fn image(width: u32, height: u32) -> Vec<u8> {
    let mut state = 1u32;
    let mut texels = Vec::new();
    for y in 0..height {
        for x in 0..width {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = (state >> 24) * u32::from(x / 32 % 2 == 1) / 4;
            let alpha = if y / 32 % 2 == 1 { 255 - (x * 3) % 256 } else { 255 };
            texels.extend(
                [(x * 2 + noise) % 256, (y * 3 + noise) % 256, ((x ^ y) + noise) % 256, alpha]
                    .map(|v| v as u8),
            );
        }
    }
    texels
}

/// Encodes with every instruction set that this processor has, and returns the digest of the bytes, which have to be equal.
fn on_every_path(out: &mut [u8], mut encode: impl FnMut(Path, &mut [u8])) -> u64 {
    let digests: Vec<u64> = Path::available()
        .map(|path| {
            out.fill(0);
            encode(path, out);
            digest(out)
        })
        .collect();
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:x?}");
    digests[0]
}

fn main() {
    let (width, height) = (253, 130);
    let texels = image(width, height);
    let view = View::tight(&texels, width, height).expect("the texels suffice");
    let rows = || 0..blocks_high(height);
    let mut blocks = vec![0; encoded_len(width, height).expect("it fits")];
    for quality in [Quality::Fast, Quality::Default, Quality::High] {
        for rdo in [None, Some(1.0)] {
            let options = Options { quality, rdo };
            let digest =
                on_every_path(&mut blocks, |path, out| encode_rows_on(path, &view, rows(), &options, out));
            println!("uastc {quality:?} rdo {rdo:?}: {digest:016x}");
        }
        for opaque in [false, true] {
            let options = Bc7Options { quality, opaque, rdo: None };
            let digest = on_every_path(&mut blocks, |path, out| {
                bc7::encode_rows_on(path, &view, rows(), options, out)
            });
            println!("bc7 {quality:?} opaque {opaque}: {digest:016x}");
        }
    }
    blocks::print(&texels, width, height);
    encode_rows(&view, rows(), &Options::default(), &mut blocks);
    let normal = [Channel::Red, Channel::Green];
    let targets = [
        Target::Rgba8,
        Target::Astc4x4,
        Target::Bc7,
        Target::Bc1,
        Target::Bc3,
        Target::Bc4(Channel::Green),
        Target::Bc5(normal),
        Target::Etc1,
        Target::Etc2Rgba,
        Target::EacR11(Channel::Blue),
        Target::EacRg11(normal),
    ];
    for target in targets {
        let mut out = vec![0; target.image_len(width, height).expect("it fits")];
        transcode(&blocks, width, height, target, &mut out).expect("blocks of our encoder");
        println!("transcoded to {target:?}: {:016x}", digest(&out));
    }
    let pack = hpack::write(&[("a.bin", blocks.as_slice()), ("b.bin", &texels)]).expect("two files");
    let read = HpackView::read(&pack).expect("a valid pack");
    println!("hpack: {:016x} {:016x}", digest(&pack), digest(read.get("b.bin").expect("the second file")));
    let pak = PakBuf::from_bytes(PAK).expect("a valid pak");
    // A material is stored in the index and has no payload.
    for entry in pak.entries().filter(|entry| entry.kind != Kind::Material) {
        let payload = pak.payload(entry.kind, entry.id).expect("a payload");
        println!("pak {:?} {:?}: {:016x}", entry.kind, entry.key, digest(&payload));
    }
}
