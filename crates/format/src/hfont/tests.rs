//! Tests of the font reader, the writer and the [`Format`] implementation.

use super::*;
use crate::{Fact, Format, Lookup, hman, ktx2, refs};
use alloc::{borrow::Cow, collections::BTreeMap, string::String, vec};

fn metrics() -> Metrics {
    Metrics {
        atlas_tex: refs::hash_asset_ref("ui/inter"),
        ascent: 1.0,
        descent: -0.25,
        line_gap: 0.125,
        distance_range: 12.0,
        edge_value: 0.5,
        atlas_width: 4,
        atlas_height: 8,
        multi_channel: true,
    }
}

fn glyph(codepoint: u32) -> Glyph {
    Glyph { codepoint, advance: 0.5, plane: [-0.125, -0.25, 0.5, 1.0], uv: [0.0, 0.25, 0.5, 1.0] }
}

fn good() -> Vec<u8> {
    let space = Glyph { plane: [0.0; 4], uv: [0.0; 4], ..glyph(32) };
    let pairs = [Pair { left: 65, right: 32, advance: -0.5 }, Pair { left: 65, right: 86, advance: -1.0 }];
    write(&metrics(), &[glyph(0), space, glyph(65), glyph(86)], &pairs).unwrap()
}

#[test]
fn encodes_documented_bytes() {
    let pair = Pair { left: 0x41, right: 0x41, advance: 2.0 };
    let bytes = write(&metrics(), &[glyph(0), glyph(0x41)], &[pair]).unwrap();
    let mut expected = b"HFNT\x01\0\0\0\x02\0\0\0\x01\0\0\0".to_vec();
    expected.extend(refs::hash_asset_ref("ui/inter").to_le_bytes());
    [1.0f32, -0.25, 0.125, 12.0, 0.5].iter().for_each(|n| expected.extend(n.to_le_bytes()));
    expected.extend(b"\x04\0\x08\0\x01\0\0\0");
    for codepoint in [0u32, 0x41] {
        expected.extend(codepoint.to_le_bytes());
        let numbers = [0.5f32, -0.125, -0.25, 0.5, 1.0, 0.0, 0.25, 0.5, 1.0];
        numbers.iter().for_each(|n| expected.extend(n.to_le_bytes()));
    }
    expected.extend(b"\x41\0\0\0\x41\0\0\0\0\0\0\x40");
    assert_eq!(bytes, expected);
    assert_eq!(bytes.len(), 52 + 2 * 40 + 12);
}

#[test]
fn looks_up_glyphs_and_kerning() {
    let bytes = good();
    let view = HfontView::read(&bytes).unwrap();
    assert_eq!(view.metrics(), metrics());
    assert_eq!(view.metrics().line_height(), 1.375);
    assert_eq!(view.glyph('V').unwrap().codepoint, 86);
    assert_eq!(view.glyph('?').unwrap().codepoint, NOTDEF);
    assert!(!view.find(32).unwrap().is_visible() && view.find(65).unwrap().is_visible());
    assert_eq!(view.find(33), None);
    assert_eq!(['A', 'V', ' '].map(|right| view.kerning('A', right)), [0.0, -1.0, -0.5]);
    for glyph in view.glyphs() {
        assert_eq!(view.find(glyph.codepoint), Some(glyph));
    }
}

#[test]
fn rejects_invalid_fields() {
    let good = good();
    let broken = |at: usize, value: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        HfontView::read(&bytes).and_then(|view| view.verify()).unwrap_err()
    };
    assert_eq!(broken(3, b"X"), Error::Magic { found: *b"HFNX", format: "hfont" });
    assert_eq!(broken(4, &[2]), Error::Value { at: 4, field: "version", found: 2, expected: "1" });
    assert!(matches!(broken(8, &[0]), Error::Value { field: "glyph_count", .. }));
    assert!(matches!(broken(8, &[255; 8]), Error::Truncated { field: "glyphs", .. }));
    assert!(matches!(broken(12, &[3]), Error::Truncated { field: "kerning", .. }));
    assert_eq!(broken(12, &[1]), Error::Trailing { at: 52 + 4 * 40 + 12, extra: 12 });
    for (at, name) in
        [(24, "ascent"), (28, "descent"), (32, "line_gap"), (36, "distance_range"), (40, "edge_value")]
    {
        let error = broken(at, &f32::NAN.to_le_bytes());
        assert!(matches!(error, Error::Fault { field, .. } if field == name), "{error}");
    }
    assert!(matches!(broken(36, &0f32.to_le_bytes()), Error::Fault { at: 36, .. }));
    assert!(matches!(broken(40, &1.5f32.to_le_bytes()), Error::Fault { at: 40, .. }));
    assert!(matches!(broken(44, &[0]), Error::Value { field: "atlas_width", .. }));
    assert!(matches!(broken(46, &[0]), Error::Value { field: "atlas_height", .. }));
    assert!(matches!(broken(48, &[2]), Error::Value { at: 48, field: "flags", found: 2, .. }));
    assert!(matches!(broken(52, &[1]), Error::Value { at: 52, field: "codepoint", .. }));
    assert!(matches!(broken(92 + 2, &[0x11]), Error::Value { field: "codepoint", found: 0x11_0020, .. }));
    assert_eq!(broken(92, &[65]), Error::Order { at: 132, field: "codepoint" });
    assert!(matches!(broken(56, &f32::INFINITY.to_le_bytes()), Error::Fault { field: "advance", .. }));
    assert!(matches!(broken(60, &9f32.to_le_bytes()), Error::Fault { at: 60, field: "plane", .. }));
    assert!(matches!(broken(76, &2f32.to_le_bytes()), Error::Fault { at: 76, field: "uv", .. }));
    assert!(matches!(broken(76, &0.75f32.to_le_bytes()), Error::Fault { at: 76, field: "uv", .. }));
    assert_eq!(broken(212 + 4, &[86]), Error::Order { at: 224, field: "left and right" });
    assert!(matches!(broken(212 + 4, &[33]), Error::Fault { at: 216, field: "right", .. }));
    assert!(matches!(broken(220, &f32::NAN.to_le_bytes()), Error::Fault { at: 220, field: "advance", .. }));
}

#[test]
fn writer_rejects_invalid_values() {
    assert!(write(&metrics(), &[], &[]).is_err());
    assert!(write(&metrics(), &[glyph(65)], &[]).is_err());
    assert!(write(&metrics(), &[glyph(0), glyph(66), glyph(65)], &[]).is_err());
    assert!(write(&metrics(), &[glyph(0)], &[Pair { left: 0, right: 1, advance: 0.1 }]).is_err());
}

struct Files(BTreeMap<&'static str, Vec<u8>>);

impl Lookup for Files {
    fn size(&self, path: &str) -> Option<u64> {
        self.0.get(path).map(|data| data.len() as u64)
    }

    fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
        self.0.get(path).map(|data| Cow::Borrowed(data.as_slice()))
    }
}

fn codes(files: &[(&'static str, Vec<u8>)]) -> Vec<&'static str> {
    let mut codes = vec![];
    let files = Files(files.iter().cloned().collect());
    HFont.check_references("ui/inter.hfont", &good(), &files, &mut |p| codes.push(p.code.as_str())).unwrap();
    codes
}

fn texture(width: u32, height: u32) -> Vec<u8> {
    let desc = ktx2::Desc {
        shape: ktx2::Shape { width, height, depth: 0, layer_count: 0, face_count: 1 },
        payload: ktx2::Payload::Rgba8,
        transfer: ktx2::Transfer::Linear,
        supercompression: ktx2::Supercompression::None,
        writer: "test",
        oriented: true,
    };
    ktx2::write(&desc, &[&vec![0; (width * height * 4) as usize]]).unwrap()
}

#[test]
fn check_references_finds_atlas_problems() {
    let list = |path: &str| {
        let (kind, colorspace) = (hman::ManifestKind::Texture, hman::Colorspace::Linear);
        let hash = refs::hash_runtime_path(path);
        hman::write(&[hman::ManifestEntry { hash, kind, colorspace, path }]).unwrap()
    };
    let listed = (hman::PATH, list("ui/inter.ktx2"));
    assert_eq!(codes(&[]), ["font-without-manifest"]);
    assert_eq!(codes(&[(hman::PATH, list("ui/other.ktx2"))]), ["font-unknown-atlas"]);
    assert_eq!(codes(core::slice::from_ref(&listed)), ["font-missing-atlas"]);
    assert_eq!(codes(&[listed.clone(), ("ui/inter.ktx2", texture(4, 4))]), ["font-atlas-size"]);
    assert!(codes(&[listed, ("ui/inter.ktx2", texture(4, 8))]).is_empty());
}

#[test]
fn described() {
    let bytes = good();
    let mut text = String::new();
    HFont.describe(&bytes, &mut text).unwrap();
    assert_eq!(text, "v1 | 4 glyphs | 2 kerning pairs | atlas: 4x8 MSDF | line: 1.375 em");
    let mut totals = vec![];
    HFont
        .facts(&bytes, &mut |name, fact| {
            if let Fact::Total(n) = fact {
                totals.push((name, n));
            }
        })
        .unwrap();
    assert_eq!(totals, [("glyphs", 4), ("kerning_pairs", 2)]);
    let mut dump = String::new();
    HFont.dump(&bytes, &mut dump).unwrap();
    assert_eq!(dump.lines().count(), 3 + 4 + 2);
    assert!(dump.ends_with("pair U+0041 U+0020 -0.5\npair U+0041 U+0056 -1.0\n"), "{dump}");
}
