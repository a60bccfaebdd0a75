//! Malformed fonts: an error or a font, never a panic, within bounded time.

use kiln_engine::Code;
use kiln_font::{Charset, Settings, compile};

const INTER: &[u8] = include_bytes!("fonts/inter.otf");
const DEJAVU: &[u8] = include_bytes!("fonts/dejavu-sans.ttf");

/// Few characters, so that thousands of damaged fonts take little time.
fn small() -> Settings {
    Settings {
        size: 8,
        spread: 1,
        multi_channel: true,
        charset: Charset::parse("U+0041, U+00C4, U+0056").unwrap(),
    }
}

#[test]
fn rejects_files_that_are_not_fonts() {
    for (bytes, code) in [
        (&b""[..], "font-unknown"),
        (b"OTTO", "font-unknown"),
        (b"wOF2\0\0\0\0", "font-unknown"),
        (b"\x89PNG\r\n\x1a\n", "font-unknown"),
    ] {
        let error = compile(bytes, &small()).unwrap_err();
        assert_eq!(error.code.as_str(), code);
        assert!(error.hint.is_some());
    }
}

#[test]
fn truncated_fonts_do_not_panic() {
    for font in [INTER, DEJAVU] {
        for len in (0..font.len()).step_by(97) {
            let _ = compile(&font[..len], &small());
        }
        assert!(compile(font, &small()).is_ok());
    }
}

#[test]
fn damaged_fonts_do_not_panic() {
    // A deterministic generator, so that the damage is the same in every run.
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for font in [INTER, DEJAVU] {
        for _ in 0..600 {
            let mut bytes = font.to_vec();
            for _ in 0..1 + random() % 4 {
                let at = (random() % bytes.len() as u64) as usize;
                bytes[at] = random() as u8;
            }
            let _ = compile(&bytes, &small());
        }
        // The table directory.
        for at in 0..400 {
            for value in [0, 0x7f, 0xff] {
                let mut bytes = font.to_vec();
                bytes[at] = value;
                let _ = compile(&bytes, &small());
            }
        }
    }
}

/// Returns a TrueType font with the required tables and these glyphs; `A` is the last of them.
fn font(units: u16, glyphs: &[Vec<u8>]) -> Vec<u8> {
    let be16 = |numbers: &[u16]| numbers.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
    let last = glyphs.len() as u16 - 1;
    let mut head = vec![0; 54];
    head[..4].copy_from_slice(&[0, 1, 0, 0]);
    head[12..16].copy_from_slice(&0x5f0f_3cf5u32.to_be_bytes());
    head[18..20].copy_from_slice(&units.to_be_bytes());
    head[51] = 1;
    let mut hhea = vec![0; 36];
    hhea[..4].copy_from_slice(&[0, 1, 0, 0]);
    hhea[35] = 1;
    let mut maxp = vec![0; 32];
    maxp[..4].copy_from_slice(&[0, 1, 0, 0]);
    maxp[4..6].copy_from_slice(&(glyphs.len() as u16).to_be_bytes());
    let mut hmtx = be16(&[units, 0]);
    hmtx.extend(vec![0; 2 * usize::from(last)]);
    let cmap = be16(&[
        0,
        1,
        3,
        1,
        0,
        12,
        4,
        32,
        0,
        4,
        4,
        1,
        0,
        65,
        0xffff,
        0,
        65,
        0xffff,
        last.wrapping_sub(65),
        1,
        0,
        0,
    ]);
    let (mut glyf, mut loca) = (Vec::new(), vec![0u8; 4]);
    for glyph in glyphs {
        glyf.extend(glyph);
        glyf.resize(glyf.len().next_multiple_of(4), 0);
        loca.extend((glyf.len() as u32).to_be_bytes());
    }
    let tables: [(&[u8; 4], Vec<u8>); 7] = [
        (b"cmap", cmap),
        (b"glyf", glyf),
        (b"head", head),
        (b"hhea", hhea),
        (b"hmtx", hmtx),
        (b"loca", loca),
        (b"maxp", maxp),
    ];
    let mut bytes = be16(&[0, 0, tables.len() as u16, 0, 0, 0]);
    bytes[1] = 1;
    let mut at = bytes.len() + tables.len() * 16;
    for (tag, table) in &tables {
        bytes.extend(*tag);
        for number in [0, at as u32, table.len() as u32] {
            bytes.extend(number.to_be_bytes());
        }
        at += table.len().next_multiple_of(4);
    }
    for (_, table) in tables {
        bytes.extend(table);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

/// Returns a square glyph of this side, in font units.
fn square(side: i16) -> Vec<u8> {
    let numbers = [1, 0, 0, side, side, 3, 0];
    let mut glyph: Vec<u8> = numbers.iter().flat_map(|n: &i16| n.to_be_bytes()).collect();
    glyph.extend([1, 1, 1, 1]);
    for delta in [0, side, 0, -side, 0, 0, side, 0] {
        glyph.extend(delta.to_be_bytes());
    }
    glyph
}

/// Returns a composite glyph.
fn composite(parts: &[u16]) -> Vec<u8> {
    let mut glyph: Vec<u8> = [-1i16, 0, 0, 0, 0].iter().flat_map(|n| n.to_be_bytes()).collect();
    for (i, part) in parts.iter().enumerate() {
        let more = if i + 1 < parts.len() { 0x20 } else { 0 };
        let numbers = [0x2 | more, *part];
        glyph.extend(numbers.iter().flat_map(|n: &u16| n.to_be_bytes()));
        glyph.extend([0, 0]);
    }
    glyph
}

fn charset_a(size: u32) -> Settings {
    Settings { size, spread: 2, multi_channel: false, charset: Charset::parse("U+0041").unwrap() }
}

#[test]
fn synthetic_font_compiles() {
    let font = compile(&font(1000, &[square(100), square(500)]), &charset_a(40)).unwrap();
    assert_eq!(font.glyphs.len(), 2);
    assert_eq!(font.glyphs[1].plane, [-2.0 / 40.0, -2.0 / 40.0, 22.0 / 40.0, 22.0 / 40.0]);
    assert_eq!(font.glyphs[1].advance, 1.0);
}

#[test]
fn rejects_recursive_composite_glyphs() {
    for glyphs in [
        vec![square(10), composite(&[1])],
        vec![square(10), composite(&[2]), composite(&[1])],
        vec![composite(&[0]), square(10)],
    ] {
        let error = compile(&font(1000, &glyphs), &charset_a(40)).unwrap_err();
        assert_eq!(error.code, Code::FontOutline, "{error}");
    }
}

#[test]
fn rejects_exponential_composite_glyphs() {
    // Sixty levels of two: 2^60 components.
    let mut glyphs = vec![square(10)];
    (0..60).for_each(|i| glyphs.push(composite(&[i, i])));
    let error = compile(&font(1000, &glyphs), &charset_a(40)).unwrap_err();
    assert_eq!(error.code, Code::FontOutline, "{error}");
}

#[test]
fn rejects_glyphs_larger_than_the_atlas() {
    let error = compile(&font(16, &[square(10), square(32000)]), &charset_a(256)).unwrap_err();
    assert_eq!(error.code, Code::FontTooLarge, "{error}");
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("font.size")), "{error}");
}
