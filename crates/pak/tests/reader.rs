//! The reader as a game links it, without the baker: its dependencies, and reading a generated file.

use kiln_format::pak::{Block, write};
use pak::error::Fault;
use pak::{Codec, Error, Kind, Options, Pak, PakBuf};
use std::io;

/// Returns a pak with one blob.
fn file(content: &[u8]) -> Vec<u8> {
    let hash = xxhash_rust::xxh3::xxh3_64;
    let len = content.len() as u32;
    let blocks = content.chunks(1 << 20);
    let blocks =
        blocks.map(|block| Block { checksum: hash(block), stored_len: block.len() as u32 }).collect();
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
    let leaked: &'static [u8] = Vec::leak(bytes.clone());
    for pak in [
        PakBuf::open(&path),
        PakBuf::open_with(&path, Options::default().mapped(false)),
        PakBuf::from_bytes(&bytes),
        PakBuf::from_stream(stream.try_clone().unwrap()),
        PakBuf::from_source(stream),
        PakBuf::from_source(bytes.clone()),
        PakBuf::from_source(std::sync::Arc::new(leaked)),
        PakBuf::from_static(leaked),
    ] {
        let pak = pak.unwrap();
        assert_eq!(pak.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(*pak.read_blob("a").unwrap(), *b"hello");
        assert!(pak.validate_hash().unwrap());
    }
}

/// As an entry of an archive, or behind the code of a self-extracting executable.
#[test]
fn opens_a_pak_inside_another_file() {
    let bytes = file(&[7; 5000]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("game.apk");
    // The start of a page, of a payload, and of neither.
    for start in [4096, 16, 9999] {
        let whole = [&vec![b'x'; start][..], &bytes, b"the end"].concat();
        std::fs::write(&path, whole).unwrap();
        let range = start as u64..(start + bytes.len()) as u64;
        for mapped in [true, false] {
            let options = Options::default().mapped(mapped);
            let pak = PakBuf::open_range(&path, range.clone(), options).unwrap();
            assert!(pak.validate_hash().unwrap());
            let blob = pak.read_blob("a").unwrap();
            assert_eq!(*blob, [7; 5000]);
            assert_eq!(blob.as_ptr().addr() % 16, 0, "assets are aligned");
            assert_eq!(blob.is_in_place(), mapped && start % 16 == 0, "{start}");
        }
        let open = |range| PakBuf::open_range(&path, range, Options::default()).unwrap_err().kind();
        assert_eq!(open(range.start..range.end + 100), io::ErrorKind::UnexpectedEof);
        assert_eq!(open(range.start + 1..range.end), io::ErrorKind::InvalidData);
    }
}

#[test]
fn static_paks_are_not_copied_if_they_are_aligned() {
    let bytes = file(&[7; 5000]);
    let mut memory = vec![0; bytes.len() + 32];
    let shift = memory.as_ptr().align_offset(16);
    memory[shift..shift + bytes.len()].copy_from_slice(&bytes);
    let memory: &'static [u8] = Vec::leak(memory);
    let pak = PakBuf::from_static(&memory[shift..shift + bytes.len()]).unwrap();
    let blob = pak.read_blob("a").unwrap();
    assert!(blob.is_in_place() && memory.as_ptr_range().contains(&blob.as_ptr()));
    let mut shifted = vec![0; bytes.len() + 32];
    let shift = shifted.as_ptr().align_offset(16) + 1;
    shifted[shift..shift + bytes.len()].copy_from_slice(&bytes);
    let shifted: &'static [u8] = Vec::leak(shifted);
    let blob = PakBuf::from_static(&shifted[shift..shift + bytes.len()]).unwrap().read_blob("a").unwrap();
    assert_eq!((&*blob, blob.is_in_place(), blob.as_ptr().addr() % 16), (&[7; 5000][..], false, 0));
    // The manifest stands for a pak: the macro embeds any file.
    assert_eq!(pak::include_pak!("../Cargo.toml").as_ptr().addr() % 16, 0);
}

/// With a mapping, the system would end the process (SIGBUS).
#[test]
fn truncation_of_an_open_file_is_an_error_without_a_mapping() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.pak");
    std::fs::write(&path, file(&vec![7; 1 << 20])).unwrap();
    let pak = PakBuf::open_with(&path, Options::default().mapped(false)).unwrap();
    assert_eq!(pak.read_blob("a").unwrap().len(), 1 << 20);
    std::fs::File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
    assert_eq!(pak.read_blob("a").unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    let read = io::copy(&mut pak.stream_blob("a").unwrap(), &mut io::sink());
    assert_eq!(read.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert_eq!(pak.validate_hash().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn default_limit_rejects_assets_above_512_mib() {
    // A block of Snappy decodes to at most 4 MiB; the index may declare any number of them.
    let hash = xxhash_rust::xxh3::xxh3_64;
    let block = snap::raw::Encoder::new().compress_vec(&vec![0; 4 << 20]).unwrap();
    let open = |count: usize, options: Options| {
        let blocks = vec![Block { checksum: hash(&block), stored_len: block.len() as u32 }; count];
        let (kind, codec, len) = (Kind::Blob, Codec::Snap, (count << 22) as u64);
        let asset = write::AssetBlocks { kind, len, codec, block_log2: 22, blocks, refs: vec![] };
        let index = write::index(&[asset], &[], &mut [("a".to_owned(), kind, 0)]).unwrap();
        let at = write::next_payload(write::FIRST_PAYLOAD + (block.len() * count) as u64);
        let mut out = write::header(at, index.len() as u64, hash(&index), hash);
        out.resize(write::FIRST_PAYLOAD as usize, 0);
        (0..count).for_each(|_| out.extend(&block));
        out.resize(at as usize, 0);
        out.extend(index);
        PakBuf::from_bytes_with(&out, options).unwrap().read_blob("a")
    };
    let error = open(129, Options::default()).unwrap_err();
    assert!(
        matches!(error, Error::Asset { why: Fault::TooLarge { len }, .. } if len == 129 << 22),
        "{error}"
    );
    assert_eq!(open(2, Options::default()).unwrap().len(), 8 << 20);
    assert!(open(2, Options::default().max_decoded(1 << 20)).is_err());
}

#[test]
fn progress_counts_decoded_bytes() {
    let pak = PakBuf::from_bytes(&file(&vec![7; 3 << 19])).unwrap();
    assert_eq!(pak.loaded_len(), 0);
    pak.read_blob("a").unwrap();
    let total: u64 = pak.assets().map(|asset| asset.len).sum();
    assert_eq!((pak.loaded_len(), total), (3 << 19, 3 << 19));
    io::copy(&mut pak.stream_blob("a").unwrap(), &mut io::sink()).unwrap();
    assert_eq!(pak.loaded_len(), 3 << 20);
    let unchecked = PakBuf::from_bytes_with(&file(b"hello"), Options::default().checksums(false)).unwrap();
    unchecked.read_blob("a").unwrap();
    assert_eq!(unchecked.loaded_len(), 5);
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
