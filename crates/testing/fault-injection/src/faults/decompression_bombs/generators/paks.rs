//! Paks whose blocks decompress to more than they declare.

use super::{Bomb, one, zstd_zeros};
use crate::file_contents::pak;
use kiln_format::pak::Codec;
use std::io::Write;

const MANY: usize = 512 << 20;

/// Returns zeros, compressed with a codec.
fn packed(codec: Codec, len: usize) -> Vec<u8> {
    match codec {
        Codec::None => vec![0; 1 << 10],
        Codec::Snap => snap::raw::Encoder::new().compress_vec(&vec![0; len]).unwrap(),
        Codec::Lz4 => lz4_flex::block::compress(&vec![0; len]),
        Codec::Zstd => zstd_zeros(len as u64),
        Codec::Brotli => {
            let mut out = Vec::new();
            let mut writer = brotli::CompressorWriter::new(&mut out, 1 << 16, 1, 22);
            let zeros = vec![0; 1 << 20];
            (0..len >> 20).for_each(|_| writer.write_all(&zeros).unwrap());
            drop(writer);
            out
        }
    }
}

/// Adds the bombs.
pub(super) fn add(all: &mut Vec<Bomb>) {
    let bomb = |name: String, rejected: bool, make: Box<dyn Fn() -> Vec<u8> + Send + Sync>| {
        let runs =
            vec![vec!["verify", "x.pak"], vec!["info", "x.pak", "x"], vec!["extract", "x.pak", "out", "x"]];
        let runs = if rejected { vec![runs[0].clone(), runs[2].clone()] } else { runs };
        Bomb { name, tool: "pak", runs, files: Box::new(move || one("x.pak", make())), rejected }
    };
    for codec in [Codec::Snap, Codec::Lz4, Codec::Zstd, Codec::Brotli] {
        let name = codec.name();
        all.push(bomb(
            format!("pak: {name} block of 512 MB declared as 1 MB"),
            true,
            Box::new(move || pak("x", codec, 1 << 20, 20, &[packed(codec, MANY)])),
        ));
        all.push(bomb(
            format!("pak: {name} block of 512 MB declared as such"),
            true,
            Box::new(move || pak("x", codec, MANY as u64, 30, &[packed(codec, MANY)])),
        ));
        all.push(bomb(
            format!("pak: {name} blob of 2^62 bytes"),
            true,
            Box::new(move || pak("x", codec, 1 << 62, 20, &[packed(codec, 1 << 20)])),
        ));
        all.push(bomb(
            format!("pak: {name} blob of 2^40 bytes in one block"),
            true,
            Box::new(move || pak("x", codec, 1 << 40, 40, &[packed(codec, 1 << 20)])),
        ));
        let mut honest = bomb(
            format!("pak: {name} blob of 1 GB in valid blocks"),
            false,
            Box::new(move || pak("x", codec, 1 << 30, 20, &vec![packed(codec, 1 << 20); 1 << 10])),
        );
        honest.runs.truncate(2);
        all.push(honest);
    }
}
