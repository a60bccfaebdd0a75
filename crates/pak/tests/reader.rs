//! The reader as a game links it, without the baker: its dependencies, and reading a generated file.

use kiln_format::pak::{Block, write};
use pak::{Codec, Kind, Pak, PakBuf};

/// Returns a pak with one blob.
fn file(content: &[u8]) -> Vec<u8> {
    let hash = xxhash_rust::xxh3::xxh3_64;
    let len = content.len() as u32;
    let blocks = vec![Block { checksum: hash(content), stored_len: len }];
    let (kind, codec) = (Kind::Blob, Codec::None);
    let asset = write::AssetBlocks { kind, len: len.into(), codec, block_log2: 20, blocks, refs: vec![] };
    let index = write::index(&[asset], &[], &mut [("a".to_owned(), kind, 0)]).unwrap();
    let at = write::next_payload(write::FIRST_PAYLOAD + u64::from(len));
    let mut out = write::header(at, index.len() as u64, hash(&index), hash);
    out.resize(write::FIRST_PAYLOAD as usize, 0);
    out.extend(content);
    out.resize(at as usize, 0);
    out.extend(index);
    out
}

#[test]
fn reads_from_file_stream_and_bytes() {
    let bytes = file(b"hello");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pak");
    std::fs::write(&path, &bytes).unwrap();
    let stream = std::fs::File::open(&path).unwrap();
    for pak in [PakBuf::open(&path), PakBuf::from_bytes(&bytes), PakBuf::from_stream(stream)] {
        let pak = pak.unwrap();
        assert_eq!(pak.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(*pak.read_blob("a").unwrap(), *b"hello");
        assert!(pak.validate_hash().unwrap());
    }
}

/// Every crate that a game compiles for the reader. All are small, and none contains C code.
#[test]
fn reader_has_few_dependencies() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let args =
        ["tree", "--package=kiln-pak", "--edges=normal,build", "--prefix=none", "--format={lib}", "--frozen"];
    let output =
        std::process::Command::new(cargo).args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let found: std::collections::BTreeSet<&str> =
        text.split_whitespace().filter(|word| *word != "(*)").collect();
    let expected = [
        "alloc_no_stdlib",
        "alloc_stdlib",
        "brotli_decompressor",
        "kiln_format",
        "libc",
        "libm",
        "lz4_flex",
        "memmap2",
        "pak",
        "ruzstd",
        "snap",
        "xxhash_rust",
    ];
    // `libc` is needed for memory mapping on Unix: declarations, no C code.
    let elsewhere = ["windows_sys", "windows_targets", "windows_link"];
    let unexpected: Vec<_> =
        found.iter().filter(|name| !expected.contains(name) && !elsewhere.contains(name)).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    assert!(found.contains("pak") && found.contains("snap"), "{found:?}");
}
