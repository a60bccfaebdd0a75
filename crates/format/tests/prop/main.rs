//! Property tests: written files can be read back, and no bytes make a reader panic.

#[path = "../hmesh/meshes.rs"]
mod meshes;
mod strategies;

use std::borrow::Cow;
use std::collections::BTreeMap;

use kiln_format::hanim::HanimView;
use kiln_format::hfont::{self, HfontView};
use kiln_format::hman::{self, Colorspace, HmanView, ManifestKind};
use kiln_format::hmat::{self, HmatView};
use kiln_format::hmatx;
use kiln_format::hmesh::{self, HmeshView};
use kiln_format::hpack::{self, CompressedHpackView, HpackView, Payload, Toc};
use kiln_format::hscn::{self, HscnView};
use kiln_format::ktx2::{self, Desc, Ktx2View};
use kiln_format::{Error, FORMATS, Format, Lookup, by_path, refs};
use meshes::Mesh;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;
use strategies::*;

struct Nothing;

impl Lookup for Nothing {
    fn size(&self, _: &str) -> Option<u64> {
        None
    }

    fn bytes(&self, _: &str) -> Option<Cow<'_, [u8]>> {
        None
    }
}

/// Calls every method of every format with `bytes`. Returns the result of `format`.
fn call_all_methods(format: &dyn Format, bytes: &[u8]) -> Result<(), Error> {
    let verdict = format.verify(bytes);
    let mut text = String::new();
    let readable = [
        format.describe(bytes, &mut text),
        format.dump(bytes, &mut text),
        format.facts(bytes, &mut |_, _| {}),
        format.check_references("a", bytes, &Nothing, &mut |_| {}),
    ];
    if verdict.is_ok() {
        assert!(readable.iter().all(Result::is_ok), "verified, but not readable");
    }
    if let Err(error) = &verdict {
        assert!(!error.to_string().is_empty());
    }
    verdict
}

/// Checks that no prefix of a valid file is valid, and that no single bit flip makes a reader panic.
/// `still_good` is called with the flipped files that verify.
fn truncate_and_flip_bits(format: &dyn Format, good: &[u8], mut still_good: impl FnMut(usize, &[u8])) {
    assert_eq!(call_all_methods(format, good), Ok(()));
    for len in 0..good.len() {
        assert!(call_all_methods(format, &good[..len]).is_err(), "{len} of {} bytes verify", good.len());
    }
    let mut bytes = good.to_vec();
    for bit in 0..good.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        if call_all_methods(format, &bytes).is_ok() {
            still_good(bit / 8, &bytes);
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

/// Decompresses with the reference implementation, and with that of the feature `zstd`, which ignores checksums.
fn read_payload(payload: Payload<'_>) -> Option<Vec<u8>> {
    let mut out = vec![0; payload.content_size() as usize];
    let decompress =
        |frame: &[u8], out: &mut [u8]| zstd::bulk::decompress_to_buffer(frame, out).ok() == Some(out.len());
    let read = payload.read_into(decompress, &mut out).ok().map(|()| out);
    #[cfg(feature = "zstd")]
    if let (content, Some(read)) = (payload.content(), &read) {
        assert_eq!(content.as_deref(), Ok(read.as_slice()));
    }
    read
}

fn named(name: &str) -> &'static dyn Format {
    FORMATS.iter().copied().find(|f| f.name() == name).unwrap()
}

proptest! {
    #[test]
    fn manifests_round_trip(entries in manifest()) {
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
    fn packs_round_trip(files in files(), absent in path()) {
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
        // The table of contents alone gives the same entries.
        let head = hpack::head_len(&bytes[..24], bytes.len() as u64).unwrap() as usize;
        let toc = Toc::read(&bytes[..head], bytes.len() as u64).unwrap();
        prop_assert!(toc.entries().eq(view.toc().entries()));
    }

    #[test]
    fn compressed_packs_round_trip(files in compressible_files()) {
        let bytes = write_compressed_pack(&files);
        prop_assert_eq!(named("hpack").verify(&bytes), Ok(()));
        let view = CompressedHpackView::read(&bytes).unwrap();
        let read = view.files().map(|(e, payload)| (e.path.to_string(), read_payload(payload).unwrap()));
        prop_assert_eq!(&read.collect::<BTreeMap<_, _>>(), &files);
        let sizes = view.files().map(|(e, payload)| (e.content_size, payload.content_size()));
        prop_assert!(sizes.eq(files.values().map(|data| (data.len() as u64, data.len() as u64))));
        prop_assert!(view.toc().entries().all(|e| e.size <= e.content_size && e.offset % 16 == 0));
        prop_assert!(HpackView::read(&bytes).is_err());
        let head = hpack::head_len(&bytes[..24], bytes.len() as u64).unwrap() as usize;
        let toc = Toc::read(&bytes[..head], bytes.len() as u64).unwrap();
        prop_assert!(toc.entries().eq(view.toc().entries()));
    }

    #[test]
    fn lays_out_files_of_any_size(sizes in btree_map(path(), 0..1u64 << 58, 0..20)) {
        let layout = hpack::PackLayout::new(sizes.clone().into_iter().rev().collect()).unwrap();
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
    fn textures_round_trip(bytes in texture()) {
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
    fn meshes_round_trip(mesh in mesh()) {
        let bytes = hmesh::write(&mesh.parts()).unwrap();
        let view = HmeshView::read(&bytes).unwrap();
        view.verify().unwrap();
        let again = Mesh::of(&view);
        prop_assert_eq!(format!("{:?}", again), format!("{:?}", mesh));
        prop_assert_eq!(&hmesh::write(&again.parts()).unwrap(), &bytes);
        for (i, sub) in mesh.submeshes.iter().enumerate() {
            let indices = &mesh.indices[sub.first_index as usize..][..sub.index_count as usize];
            prop_assert!(view.submesh_indices(sub).iter().eq(indices.iter().copied()));
            for level in 0..mesh.lod_count {
                let left = (indices.len() / 3).saturating_sub(level as usize + 1) * 3;
                prop_assert_eq!(view.lod(i as u32, level).map_or(0, |lod| lod.len()), left);
            }
        }
    }

    #[test]
    fn materials_round_trip(rows in materials()) {
        let bytes = hmat::write(&rows).unwrap();
        prop_assert_eq!(bytes.len(), 16 + 96 * rows.len());
        prop_assert!(HmatView::read(&bytes).unwrap().materials().iter().eq(rows));
    }

    #[test]
    fn fonts_round_trip((metrics, glyphs, pairs) in font()) {
        let bytes = hfont::write(&metrics, &glyphs, &pairs).unwrap();
        prop_assert_eq!(bytes.len(), 52 + 40 * glyphs.len() + 12 * pairs.len());
        let view = HfontView::read(&bytes).unwrap();
        prop_assert_eq!(view.metrics(), metrics);
        prop_assert!(view.glyphs().iter().eq(glyphs.iter().copied()));
        prop_assert!(view.pairs().iter().eq(pairs.iter().copied()));
        prop_assert!(glyphs.iter().all(|glyph| view.find(glyph.codepoint) == Some(*glyph)));
    }

    #[test]
    fn animations_round_trip(clips in clips()) {
        let bytes = write_clips(&clips);
        let view = HanimView::read(&bytes).unwrap();
        prop_assert!(view.clips().map(|clip| clip.name).eq(clips.iter().map(|(name, _)| name)));
        for (clip, (_, tracks)) in view.clips().zip(&clips) {
            prop_assert_eq!(clip.duration, tracks.iter().map(Track::end).fold(0.0, f32::max));
            prop_assert!(clip.channels().eq(tracks.iter().map(Track::channel)));
        }
        prop_assert_eq!(rewrite_clips(&bytes), bytes);
    }

    #[test]
    fn scenes_round_trip(parts in scene()) {
        let bytes = hscn::write(&parts).unwrap();
        named("hscn").verify(&bytes).unwrap();
        prop_assert_eq!(&scene_parts(&bytes), &parts);
        let view = HscnView::read(&bytes).unwrap();
        for node in view.nodes() {
            prop_assert_eq!(view.camera(&node).is_some(), node.camera != hscn::NONE);
            prop_assert_eq!(view.light(&node).is_some(), node.light != hscn::NONE);
            prop_assert_eq!(view.matrix(&node).is_some(), node.matrix != hscn::NONE);
            prop_assert_eq!(view.instances(&node).len(), parts.instances.len());
            prop_assert_eq!(view.weights(&node).len(), if node.mesh == hscn::NONE { 0 } else { 2 });
        }
        prop_assert!(view.skins().iter().all(|skin| view.joints(&skin).len() == skin.joint_count as usize));
        prop_assert!(view.clips().iter().all(|clip| view.channels(&clip).len() == clip.channel_count as usize));
    }

    #[test]
    fn material_extensions_round_trip((rows, textures, text) in material_extensions()) {
        let bytes = hmatx::write(&rows, &textures, &text).unwrap();
        named("hmatx").verify(&bytes).unwrap();
        prop_assert_eq!(read_extensions(&bytes), (rows, textures, text));
    }

    #[test]
    fn material_leaf_matches_material_leaves(names in vec(proptest::option::of("[aAbB]?|[mM]aterial_[0-3]"), 0..6)) {
        let names: Vec<Option<&str>> = names.iter().map(|name| name.as_deref()).collect();
        let leaves = refs::material_leaves(&names);
        for (i, leaf) in leaves.iter().enumerate() {
            prop_assert_eq!(&refs::material_leaf(&names, i), leaf);
        }
        let unique = leaves.iter().collect::<std::collections::BTreeSet<_>>().len() == leaves.len();
        let clash = refs::material_clash(&names);
        prop_assert_eq!(clash.is_none(), unique);
        prop_assert!(clash.is_none_or(|(a, b)| a < b && leaves[a] == leaves[b]));
    }

    #[test]
    fn random_bytes_after_magic_never_panic(
        noise in vec(any::<u8>(), 0..300),
        header in any::<[u8; 8]>(),
        start in select(vec![
            &b""[..],
            b"HMAN\x01\0\0\0",
            b"HPAK\x02\0\0\0",
            b"HMAT\x01\0\0\0",
            b"HANM\x01\0\0\0",
            b"HFNT\x01\0\0\0",
            b"HMSH\x02\0\0\0",
            b"HSCN\x01\0\0\0",
            b"HMTX\x01\0\0\0",
            &ktx2::IDENTIFIER,
            b"\x03\x02\x23\x07\0\0\x01\0",
        ]),
    ) {
        let bytes = [start, &header.map(|b| b & 3), &noise].concat();
        for format in FORMATS {
            let _ = call_all_methods(*format, &bytes);
        }
    }
}

proptest! {
    // Each case tries every prefix and every bit flip.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn damaged_manifests(entries in manifest()) {
        let good = write_manifest(&entries);
        truncate_and_flip_bits(named("hman"), &good, |at, bytes| {
            assert!(at >= 16, "a header has one right value");
            // A file that verifies is what the writer would have written, unless two paths now have the same
            // hash.
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
        truncate_and_flip_bits(named("hpack"), &good, |at, bytes| {
            if files.is_empty() && at == 4 {
                return; // without files, both versions have the same layout
            }
            assert!(at >= 24, "a header has one right value");
            // A file that verifies is what the writer would have written, unless two payloads have become equal: the
            // writer would have stored them once.
            let view = HpackView::read(bytes).unwrap();
            let payloads = view.files().filter(|(e, _)| e.size > 0).map(|(e, data)| (data, e.offset));
            let payloads: std::collections::BTreeSet<_> = payloads.collect();
            let contents: std::collections::BTreeSet<_> = payloads.iter().map(|(data, _)| data).collect();
            if contents.len() == payloads.len() {
                let files: Vec<_> = view.files().map(|(e, data)| (e.path, data)).collect();
                assert_eq!(hpack::write(&files).unwrap(), bytes);
            }
        });
    }

    #[test]
    fn damaged_compressed_packs(files in compressible_files()) {
        let good = write_compressed_pack(&files);
        truncate_and_flip_bits(named("hpack"), &good, |at, bytes| {
            if files.is_empty() && at == 4 {
                return; // without files, both versions have the same layout
            }
            assert!(at >= 24, "a header has one right value");
            for (entry, payload) in CompressedHpackView::read(bytes).unwrap().files() {
                let content = read_payload(payload);
                // The checksum detects damage. A path may have become another one.
                if let (Payload::Zstd { .. }, Some(content)) = (payload, content) {
                    assert!(files.values().any(|data| *data == content), "{}", entry.path);
                }
            }
        });
    }

    #[test]
    fn damaged_textures(good in texture()) {
        let shape = Ktx2View::read(&good).unwrap().shape();
        let level_bytes: u64 = Ktx2View::read(&good).unwrap().levels().map(|l| l.uncompressed_len).sum();
        truncate_and_flip_bits(named("ktx2"), &good, |_, bytes| {
            let view = Ktx2View::read(bytes).unwrap();
            // Dimensions may change only if they need the same number of blocks.
            let blocks = view.payload().block_side() > 1;
            assert!(blocks || view.shape() == shape || view.shape().layer_count <= 1);
            assert_eq!(view.levels().map(|l| l.uncompressed_len).sum::<u64>(), level_bytes);
            assert_eq!(view.levels().count(), view.level_count() as usize);
        });
    }

    #[test]
    fn damaged_materials(rows in materials()) {
        let good = hmat::write(&rows).unwrap();
        truncate_and_flip_bits(named("hmat"), &good, |at, bytes| {
            assert!(at >= 16, "a header has one right value");
            let rows: Vec<_> = HmatView::read(bytes).unwrap().materials().iter().collect();
            assert_eq!(hmat::write(&rows).unwrap(), bytes);
        });
    }

    #[test]
    fn damaged_fonts((metrics, glyphs, pairs) in font()) {
        let good = hfont::write(&metrics, &glyphs, &pairs).unwrap();
        truncate_and_flip_bits(named("hfont"), &good, |_, bytes| {
            let view = HfontView::read(bytes).unwrap();
            let (glyphs, pairs): (Vec<_>, Vec<_>) = (view.glyphs().iter().collect(), view.pairs().iter().collect());
            assert_eq!(hfont::write(&view.metrics(), &glyphs, &pairs).unwrap(), bytes);
        });
    }

    #[test]
    fn damaged_animations(clips in clips()) {
        let good = write_clips(&clips);
        truncate_and_flip_bits(named("hanim"), &good, |at, bytes| {
            assert!(at >= 16, "a header has one right value");
            assert_eq!(rewrite_clips(bytes), bytes);
        });
    }

    #[test]
    fn readers_reject_other_formats(
        (entries, files, texture) in (manifest(), files(), texture()),
        (mesh, rows, clips, (metrics, glyphs, pairs)) in (mesh(), materials(), clips(), font()),
        (scene, (extensions, textures, text)) in (scene(), material_extensions()),
    ) {
        let good = [
            ("hmesh", hmesh::write(&mesh.parts()).unwrap()),
            ("hmat", hmat::write(&rows).unwrap()),
            ("hmatx", hmatx::write(&extensions, &textures, &text).unwrap()),
            ("hscn", hscn::write(&scene).unwrap()),
            ("hman", write_manifest(&entries)),
            ("hanim", write_clips(&clips)),
            ("hfont", hfont::write(&metrics, &glyphs, &pairs).unwrap()),
            ("ktx2", texture),
            ("hpack", write_pack(&files)),
        ];
        for (name, bytes) in &good {
            for format in FORMATS {
                let magic = matches!(call_all_methods(*format, bytes), Err(Error::Magic { .. } | Error::Truncated { .. }));
                prop_assert_eq!(format.verify(bytes).is_ok(), format.name() == *name);
                prop_assert!(magic || format.name() == *name);
            }
        }
    }

    #[test]
    fn paths_round_trip_or_are_rejected(path in ".{0,12}", others in btree_set(path(), 0..3)) {
        let mut files: Vec<_> = others.iter().map(|p| (p.as_str(), &b"x"[..])).collect();
        if !others.contains(&path) {
            files.push((&path, b"y"));
        }
        if let Ok(bytes) = hpack::write(&files) {
            named("hpack").verify(&bytes).unwrap();
        }
        let entry = hman::ManifestEntry { hash: 1, kind: ManifestKind::Texture, colorspace: Colorspace::Srgb, path: &path };
        if let Ok(bytes) = hman::write(&[entry]) {
            named("hman").verify(&bytes).unwrap();
        }
    }
}

proptest! {
    // As above, with longer files.
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn damaged_meshes(mesh in mesh()) {
        let good = hmesh::write(&mesh.parts()).unwrap();
        let chunks = HmeshView::read(&good).unwrap().chunks().count();
        truncate_and_flip_bits(named("hmesh"), &good, |at, bytes| {
            assert!(at >= 32, "a header has one right value");
            if at < 32 + 24 * chunks {
                // A tag may become an unknown one, and an empty chunk may share the offset of another.
                let entry = &bytes[at - (at - 32) % 24..][..24];
                let (tag, offset) = ((at - 32) % 24 < 4, (8..16).contains(&((at - 32) % 24)));
                assert!(tag || offset && entry[16..] == [0; 8], "a table has one right value");
                return;
            }
            // A file that verifies is what the writer would have written.
            let mesh = Mesh::of(&HmeshView::read(bytes).unwrap());
            assert_eq!(hmesh::write(&mesh.parts()).unwrap(), bytes);
        });
    }

    #[test]
    fn damaged_scenes(parts in scene()) {
        let good = hscn::write(&parts).unwrap();
        truncate_and_flip_bits(named("hscn"), &good, |at, bytes| {
            if !changes_table(&good, at, bytes) {
                assert_eq!(hscn::write(&scene_parts(bytes)).unwrap(), bytes);
            }
        });
    }

    #[test]
    fn damaged_material_extensions((rows, textures, text) in material_extensions()) {
        let good = hmatx::write(&rows, &textures, &text).unwrap();
        truncate_and_flip_bits(named("hmatx"), &good, |at, bytes| {
            if !changes_table(&good, at, bytes) {
                let (rows, textures, text) = read_extensions(bytes);
                assert_eq!(hmatx::write(&rows, &textures, &text).unwrap(), bytes);
            }
        });
    }
}

/// Returns whether the changed byte of a file of chunks is in its chunk table, where only a tag can change.
fn changes_table(good: &[u8], at: usize, bytes: &[u8]) -> bool {
    assert!(at >= 32, "a header has one right value");
    let chunks = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    let in_table = at < 32 + 24 * chunks;
    assert!(!in_table || (at - 32) % 24 < 4, "a table has one right value: byte {at} of {}", good.len());
    in_table
}
