//! What holds for every file: what was written is read, and no bytes whatever make a reader panic.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kiln_format::hman::{self, Colorspace, HmanView, Kind};
use kiln_format::hpack::{self, HpackView, Toc};
use kiln_format::ktx2::{self, Channels, Desc, Ktx2View, Payload, Shape, Supercompression, Transfer};
use kiln_format::{Error, FORMATS, Format, Lookup, by_path};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

fn path() -> impl Strategy<Value = String> {
    let name = "[a-zA-Zäß_ .-]{1,6}(\\.ktx2|\\.hman|\\.spv|\\.bin)?";
    let name = name.prop_filter("not a file name", |name| !matches!(name.as_str(), "." | ".."));
    vec(name, 1..4).prop_map(|parts| parts.join("/"))
}

fn manifest() -> impl Strategy<Value = BTreeMap<u64, (String, Kind, Colorspace)>> {
    let entry = (path(), select(Kind::ALL.to_vec()), select(Colorspace::ALL.to_vec()));
    btree_map(any::<u64>(), entry, 0..12)
}

fn write_manifest(entries: &BTreeMap<u64, (String, Kind, Colorspace)>) -> Vec<u8> {
    // Backwards and twice over: the writer sorts and collapses.
    let twice = entries.iter().rev().chain(entries);
    let entries: Vec<_> = twice
        .map(|(&hash, &(ref path, kind, colorspace))| hman::Entry { hash, kind, colorspace, path })
        .collect();
    hman::write(&entries).unwrap()
}

fn files() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    btree_map(path(), vec(any::<u8>(), 0..40), 0..8)
}

fn write_pack(files: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let files: Vec<_> = files.iter().rev().map(|(path, data)| (path.as_str(), data.as_slice())).collect();
    hpack::write(&files).unwrap()
}

fn texture() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop_oneof![
        select(Channels::ALL.to_vec()).prop_map(|channels| Payload::Uastc { channels }),
        Just(Payload::Rgba8),
        Just(Payload::Rgba16F),
    ];
    let shape = prop_oneof![
        (1..20u32, 1..20u32).prop_map(|(w, h)| Shape::flat(w, h)),
        (1..9u32, 1..9u32, 1..4u32).prop_map(|(w, h, n)| Shape::array(w, h, n)),
        (1..9u32).prop_map(Shape::cube),
        (1..6u32, 1..6u32, 1..6u32).prop_map(|(w, h, d)| Shape::volume(w, h, d)),
    ];
    let zstd = select(vec![Supercompression::None, Supercompression::Zstd]);
    (payload, shape, zstd, any::<[bool; 2]>(), "[ -~]{0,9}", any::<(u8, u8)>()).prop_map(
        |(payload, shape, supercompression, [srgb, oriented], writer, (seed, levels))| {
            let blocks = matches!(payload, Payload::Uastc { .. });
            let shape = if blocks { Shape { depth: 0, ..shape } } else { shape };
            let srgb = srgb && payload != Payload::Rgba16F;
            let transfer = if srgb { Transfer::Srgb } else { Transfer::Linear };
            let desc = Desc { shape, payload, transfer, supercompression, writer: &writer, oriented };
            let level = |level| {
                let len = payload.level_len(&shape, level).unwrap() as usize;
                let raw: Vec<u8> = (0..len).map(|i| (i as u8 & 31).wrapping_mul(seed)).collect();
                match supercompression {
                    Supercompression::None => raw,
                    Supercompression::Zstd => zstd::bulk::compress(&raw, 1).unwrap(),
                }
            };
            let levels: Vec<_> = (0..=u32::from(levels) % shape.max_levels()).map(level).collect();
            ktx2::write(&desc, &levels.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
        },
    )
}

struct Nothing;

impl Lookup for Nothing {
    fn size(&self, _: &str) -> Option<u64> {
        None
    }

    fn bytes(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        None
    }
}

/// Everything that can be done with bytes, by every format. Returns what `format` thinks of them.
fn survive(format: &dyn Format, bytes: &[u8]) -> Result<(), Error> {
    let verdict = format.verify(bytes);
    let mut text = String::new();
    let readable = [
        format.describe(bytes, &mut text),
        format.dump(bytes, &mut text),
        format.facts(bytes, &mut |_, _| {}),
        format.cross("a", bytes, &Nothing, &mut |_| {}),
    ];
    if verdict.is_ok() {
        assert!(readable.iter().all(Result::is_ok), "verified, but not readable");
    }
    if let Err(error) = &verdict {
        assert!(!error.to_string().is_empty());
    }
    verdict
}

/// No prefix of a good file is good, and no single flipped bit makes a reader panic. `still_good` sees the
/// flipped files that verify.
fn hostile(format: &dyn Format, good: &[u8], mut still_good: impl FnMut(usize, &[u8])) {
    assert_eq!(survive(format, good), Ok(()));
    for len in 0..good.len() {
        assert!(survive(format, &good[..len]).is_err(), "{len} of {} bytes verify", good.len());
    }
    let mut bytes = good.to_vec();
    for bit in 0..good.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        if survive(format, &bytes).is_ok() {
            still_good(bit / 8, &bytes);
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

fn named(name: &str) -> &'static dyn Format {
    FORMATS.iter().copied().find(|f| f.name() == name).unwrap()
}

proptest! {
    #[test]
    fn manifests_come_back(entries in manifest()) {
        let bytes = write_manifest(&entries);
        let view = HmanView::read(&bytes).unwrap();
        let read: Vec<_> = view.entries().map(|e| (e.hash, (e.path.to_string(), e.kind, e.colorspace))).collect();
        prop_assert!(read.iter().map(|(h, e)| (h, e)).eq(&entries));
        for (hash, (path, ..)) in &entries {
            prop_assert_eq!(view.find(*hash).unwrap().path, path.as_str());
            prop_assert_eq!(view.find(hash ^ 1).is_some(), entries.contains_key(&(hash ^ 1)));
        }
    }

    #[test]
    fn packs_come_back(files in files(), absent in path()) {
        let bytes = write_pack(&files);
        let view = HpackView::read(&bytes).unwrap();
        let read: BTreeMap<_, _> = view.files().map(|(e, data)| (e.path.to_string(), data.to_vec())).collect();
        prop_assert_eq!(&read, &files);
        for (entry, _) in view.files() {
            prop_assert_eq!(entry.kind, by_path(entry.path).map_or(entry.kind, Format::pack_kind));
        }
        for (path, data) in &files {
            prop_assert_eq!(view.get(path), Some(data.as_slice()));
        }
        prop_assert_eq!(view.get(&absent).is_some(), files.contains_key(&absent));
        // The table of contents alone says the same.
        let head = hpack::head_len(&bytes[..24], bytes.len() as u64).unwrap() as usize;
        let toc = Toc::read(&bytes[..head], bytes.len() as u64).unwrap();
        prop_assert!(toc.entries().eq(view.toc().entries()));
    }

    #[test]
    fn sizes_of_any_kind_lay_out(sizes in btree_map(path(), 0..1u64 << 58, 0..20)) {
        let layout = hpack::Layout::new(sizes.clone().into_iter().rev().collect()).unwrap();
        let toc = Toc::read(layout.head(), layout.file_len()).unwrap();
        prop_assert!(toc.entries().map(|e| (e.path, e.size)).eq(sizes.iter().map(|(p, s)| (p.as_str(), *s))));
        let mut at = layout.head().len() as u64;
        for file in layout.files() {
            at += file.padding as u64;
            prop_assert_eq!(file.offset, at);
            at += file.size;
        }
        prop_assert_eq!(layout.file_len(), at);
    }

    #[test]
    fn textures_come_back(bytes in texture()) {
        named("ktx2").verify(&bytes).unwrap();
        let view = Ktx2View::read(&bytes).unwrap();
        let writer = view.value("KTXwriter").unwrap();
        let desc = Desc {
            shape: view.shape(),
            payload: view.payload(),
            transfer: view.transfer(),
            supercompression: view.supercompression(),
            writer: std::str::from_utf8(&writer[..writer.len() - 1]).unwrap(),
            oriented: view.value("KTXorientation").is_some(),
        };
        let levels: Vec<_> = view.levels().map(|level| level.bytes).collect();
        prop_assert_eq!(ktx2::write(&desc, &levels).unwrap(), bytes);
    }

    #[test]
    fn noise_behind_a_good_start_is_survived(
        noise in vec(any::<u8>(), 0..300),
        header in any::<[u8; 8]>(),
        start in select(vec![&b""[..], b"HMAN\x01\0\0\0", b"HPAK\x02\0\0\0", &ktx2::IDENTIFIER]),
    ) {
        let bytes = [start, &header.map(|b| b & 3), &noise].concat();
        for format in FORMATS {
            let _ = survive(*format, &bytes);
        }
    }
}

proptest! {
    // Each case tries every prefix and every bit.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn damaged_manifests(entries in manifest()) {
        let good = write_manifest(&entries);
        hostile(named("hman"), &good, |at, bytes| {
            assert!(at >= 16, "a header has one right value");
            // What verifies is what the writer would have written, unless two paths now share a hash.
            let entries: Vec<_> = HmanView::read(bytes).unwrap().entries().collect();
            match hman::write(&entries) {
                Ok(again) => assert_eq!(again, bytes),
                Err(error) => assert!(matches!(error, Error::Collision { .. }), "{error}"),
            }
        });
    }

    #[test]
    fn damaged_packs(files in files()) {
        let good = write_pack(&files);
        hostile(named("hpack"), &good, |at, bytes| {
            assert!(at >= 24, "a header has one right value");
            // What verifies is what the writer would have written.
            let files: Vec<_> = HpackView::read(bytes).unwrap().files().map(|(e, data)| (e.path, data)).collect();
            assert_eq!(hpack::write(&files).unwrap(), bytes);
        });
    }

    #[test]
    fn damaged_textures(good in texture()) {
        let shape = Ktx2View::read(&good).unwrap().shape();
        let level_bytes: u64 = Ktx2View::read(&good).unwrap().levels().map(|l| l.uncompressed_len).sum();
        hostile(named("ktx2"), &good, |_, bytes| {
            let view = Ktx2View::read(bytes).unwrap();
            // Dimensions may change only where the same number of blocks holds them.
            let blocks = matches!(view.payload(), Payload::Uastc { .. });
            assert!(blocks || view.shape() == shape || view.shape().layer_count <= 1);
            assert_eq!(view.levels().map(|l| l.uncompressed_len).sum::<u64>(), level_bytes);
            assert_eq!(view.levels().count(), view.level_count() as usize);
        });
    }

    #[test]
    fn readers_refuse_each_others_files(entries in manifest(), files in files(), texture in texture()) {
        let good = [("hman", write_manifest(&entries)), ("hpack", write_pack(&files)), ("ktx2", texture)];
        for (name, bytes) in &good {
            for format in FORMATS {
                let magic = matches!(survive(*format, bytes), Err(Error::Magic { .. } | Error::Truncated { .. }));
                prop_assert_eq!(format.verify(bytes).is_ok(), format.name() == *name);
                prop_assert!(magic || format.name() == *name);
            }
        }
    }

    #[test]
    fn paths_are_written_or_refused(path in ".{0,12}", others in btree_set(path(), 0..3)) {
        let mut files: Vec<_> = others.iter().map(|p| (p.as_str(), &b"x"[..])).collect();
        if !others.contains(&path) {
            files.push((&path, b"y"));
        }
        if let Ok(bytes) = hpack::write(&files) {
            named("hpack").verify(&bytes).unwrap();
        }
        let entry = hman::Entry { hash: 1, kind: Kind::Texture, colorspace: Colorspace::Srgb, path: &path };
        if let Ok(bytes) = hman::write(&[entry]) {
            named("hman").verify(&bytes).unwrap();
        }
    }
}
