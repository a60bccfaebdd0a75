//! Runtime files and packs of an output directory, which `check` and `info` read.

use super::{Bomb, one, zstd_zeros};

/// A file of the output directory, which `check` and `info` have to reject.
fn looked(name: &str, path: &'static str, make: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Bomb {
    let runs = vec![vec!["check"], vec!["info", "-v"]];
    let files = Box::new(move || one(path, make()));
    Bomb { name: name.to_owned(), tool: "assetc", runs, files, rejected: true }
}

/// Adds the bombs.
pub(super) fn add(all: &mut Vec<Bomb>) {
    all.push(looked("output: KTX2 with a mip level of 16 GB", "runtime/x.ktx2", || {
        ktx2(65536, 65536, 4 << 30)
    }));
    all.push(looked("output: KTX2 with a wrong mip level size", "runtime/x.ktx2", || ktx2(4, 4, 2 << 30)));
    all.push(looked("output: manifest of 2^32-1 entries", "runtime/assets.hman", || {
        b"HMAN\x01\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0\0".to_vec()
    }));
    all.push(looked("output: mesh of 2^32-1 chunks", "runtime/x.hmesh", || {
        [&b"HMSH\x02\0\0\0\xff\xff\xff\xff"[..], &[0; 64]].concat()
    }));
    all.push(looked("output: materials of 2^32-1 rows", "runtime/x.hmat", || {
        [&b"HMAT\x01\0\0\0\xff\xff\xff\xff"[..], &[0; 64]].concat()
    }));
    all.push(looked("output: animation of 2^32-1 clips", "runtime/x.hanim", || {
        [&b"HANM\x01\0\0\0\xff\xff\xff\xff"[..], &[0; 64]].concat()
    }));
    let mut pack = looked("pack of 2^32-1 entries", "x.hpack", || {
        [&b"HPAK\x02\0\0\0\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\x3f"[..], &[0; 64]].concat()
    });
    pack.runs = vec![vec!["check", "x.hpack"], vec!["info", "x.hpack"], vec!["pack", "info", "x.hpack"]];
    all.push(pack);
    for (content, declared) in [("2 GB", 2 << 30), ("2^62 bytes", 1 << 62), ("1 MB, but has 2 GB", 1 << 20)] {
        let name = format!("compressed pack that declares {content}");
        let mut pack = looked(&name, "x.hpack", move || compressed_pack(declared));
        pack.runs = vec![vec!["check", "x.hpack"], vec!["extract", "x.hpack", "-o", "out"]];
        all.push(pack);
    }
    let mut journal = looked("journal with a record of 4 GB", "runtime/.assetc-cache", || {
        [&b"KILNJRNL\x03\0\0\0\0\0\0\0\xff\xff\xff\xff"[..], &[0; 64]].concat()
    });
    journal.rejected = false;
    journal.runs.push(vec!["-q"]);
    all.push(journal);
}

/// Returns a pack of version 3 with one file: 2 GB of zeros, with this content size in the table of contents.
fn compressed_pack(content_size: u64) -> Vec<u8> {
    let frame = zstd_zeros(2 << 30);
    let mut out = b"HPAK\x03\0\0\0\x01\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0".to_vec();
    for value in [64, frame.len() as u64, content_size] {
        out.extend(value.to_le_bytes());
    }
    // A shader, so that `check` has to read it.
    out.extend(b"\x06\x05\0x.spv");
    out.resize(64, 0);
    out.extend(frame);
    out
}

/// Returns a KTX2 file of one uncompressed mip level of zeros with Zstandard supercompression, by the specification.
fn ktx2(width: u32, height: u32, unpacked: u64) -> Vec<u8> {
    let level = zstd_zeros(unpacked);
    let mut out = b"\xabKTX 20\xbb\r\n\x1a\n".to_vec();
    // R8G8B8A8_UNORM, type size, width and height, no depth, no layers, one face, one level, Zstandard.
    for value in [37, 1, width, height, 0, 0, 1, 1, 2] {
        out.extend(value.to_le_bytes());
    }
    let dfd = [92_u32, 0, 0x0058_0002, 0x0001_0101, 0, 4, 0];
    let mut samples = Vec::new();
    for channel in [0_u32, 1, 2, 15] {
        samples.extend([(channel % 4 * 8) | 7 << 16 | channel << 24, 0, 0, 255]);
    }
    for value in [104_u32, 92, 0, 0] {
        out.extend(value.to_le_bytes());
    }
    out.extend([0; 16]);
    for value in [196, level.len() as u64, unpacked] {
        out.extend(value.to_le_bytes());
    }
    dfd.iter().chain(&samples).for_each(|value| out.extend(value.to_le_bytes()));
    out.resize(196, 0);
    out.extend(level);
    out
}
