//! Compiled fonts compared with an independent parser, rasteriser and shaper: text rendered from the distance
//! field covers the pixels of the outline, and kerning matches a shaping engine.

use kiln_engine::Code;
use kiln_font::{Charset, Font, Glyph, Settings, compile};

const INTER: &[u8] = include_bytes!("fonts/inter.otf");
const DEJAVU: &[u8] = include_bytes!("fonts/dejavu-sans.ttf");
const FONTS: [(&str, &[u8]); 2] = [("inter", INTER), ("dejavu-sans", DEJAVU)];

fn compiled(bytes: &[u8], multi_channel: bool) -> Font {
    compile(bytes, &Settings { multi_channel, ..Settings::default() }).unwrap()
}

/// Samples the atlas bilinearly, as a GPU does, at a position in texels.
fn sample(font: &Font, x: f32, y: f32, channel: usize) -> f32 {
    let atlas = &font.atlas;
    let (x, y) = (x - 0.5, y - 0.5);
    let (left, top) = (x.floor(), y.floor());
    let texel = |dx: f32, dy: f32| {
        let column = ((left + dx).max(0.0) as u32).min(atlas.width - 1);
        let row = ((top + dy).max(0.0) as u32).min(atlas.height - 1);
        f32::from(atlas.rgba[((row * atlas.width + column) * 4) as usize + channel]) / 255.0
    };
    let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
    let (right, down) = (x - left, y - top);
    mix(mix(texel(0.0, 0.0), texel(1.0, 0.0), right), mix(texel(0.0, 1.0), texel(1.0, 1.0), right), down)
}

/// Returns the distance from the outline at a position relative to the pen, both in em, as the documented
/// shader computes it.
fn distance(font: &Font, glyph: &Glyph, size: f32, x: f32, y: f32) -> f32 {
    let [left, bottom, right, top] = glyph.plane;
    if x < left || x > right || y < bottom || y > top {
        return -1.0;
    }
    let u = glyph.uv[0] * font.atlas.width as f32 + (x - left) * size;
    let v = glyph.uv[1] * font.atlas.height as f32 + (top - y) * size;
    let [r, g, b] = [0, 1, 2].map(|channel| sample(font, u, v, channel));
    let median = r.min(g).max(r.max(g).min(b));
    (median - kiln_font::EDGE_VALUE) * font.distance_range / size
}

/// Returns the difference between the coverage rendered from the atlas at `px` pixels per em and a
/// rasteriser's: the average over the pixels of the outline, and the maximum.
fn difference(font: &Font, bytes: &[u8], character: char, px: f32) -> (f32, f32) {
    let face =
        fontdue::Font::from_bytes(bytes, fontdue::FontSettings { scale: px, ..Default::default() }).unwrap();
    let (metrics, coverage) = face.rasterize(character, px);
    let glyph = font.glyphs.iter().find(|glyph| glyph.codepoint == u32::from(character)).unwrap();
    let (mut sum, mut count, mut most) = (0.0, 0, 0.0f32);
    for row in 0..metrics.height {
        for column in 0..metrics.width {
            let exact = f32::from(coverage[row * metrics.width + column]) / 255.0;
            let y = (metrics.ymin as f32 + (metrics.height - row) as f32 - 0.5) / px;
            let x = (metrics.xmin as f32 + column as f32 + 0.5) / px;
            // One sample in the centre of the pixel would give coverage for straight edges only. No two of
            // these samples share a row or a column, so that axis-aligned edges are measured as exactly.
            let samples = (0..64u32).map(|i| {
                let (right, up) = (i as f32 + 0.5, (i.reverse_bits() >> 26) as f32 + 0.5);
                distance(font, glyph, 48.0, x + (right / 64.0 - 0.5) / px, y + (up / 64.0 - 0.5) / px)
            });
            let drawn = samples.filter(|distance| *distance > 0.0).count() as f32 / 64.0;
            let off = (drawn - exact).abs();
            if exact > 0.0 && exact < 1.0 || off > 0.0 {
                (sum, count) = (sum + off, count + 1);
            }
            most = most.max(off);
        }
    }
    (sum / count.max(1) as f32, most)
}

#[test]
fn rendered_coverage_matches_rasteriser() {
    for (name, bytes) in FONTS {
        let (plain, multi) = (compiled(bytes, false), compiled(bytes, true));
        let (mut sum_plain, mut sum_multi) = (0.0, 0.0);
        let characters: Vec<char> = ('!'..='~').chain(['À', 'é', 'ï']).collect();
        for &character in &characters {
            let (mean, most) = difference(&plain, bytes, character, 32.0);
            assert!(mean < 0.05 && most < 0.45, "{name} {character:?}: {mean} on average, {most} at most");
            let (mean_multi, most_multi) = difference(&multi, bytes, character, 32.0);
            assert!(
                mean_multi < 0.05 && most_multi < 0.45,
                "{name} {character:?}: {mean_multi}, {most_multi}"
            );
            (sum_plain, sum_multi) = (sum_plain + mean, sum_multi + mean_multi);
        }
        let count = characters.len() as f32;
        assert!(sum_plain / count < 0.03, "{name}: {}", sum_plain / count);
        assert!(sum_multi < sum_plain, "{name}: the MSDF is more accurate, {sum_multi} and {sum_plain}");
    }
}

#[test]
fn metrics_match_independent_parser() {
    for (name, bytes) in FONTS {
        let font = compiled(bytes, false);
        let face = rustybuzz::ttf_parser::Face::parse(bytes, 0).unwrap();
        let em = |units: i16| f32::from(units) / f32::from(face.units_per_em());
        assert_eq!(
            [font.ascent, font.descent, font.line_gap],
            [face.ascender(), face.descender(), face.line_gap()].map(em)
        );
        assert_eq!(font.glyphs[0].codepoint, 0);
        assert!(font.glyphs.windows(2).all(|pair| pair[0].codepoint < pair[1].codepoint));
        for glyph in &font.glyphs[1..] {
            let character = char::from_u32(glyph.codepoint).unwrap();
            let id = face.glyph_index(character).unwrap();
            let advance = f32::from(face.glyph_hor_advance(id).unwrap()) / f32::from(face.units_per_em());
            assert_eq!(glyph.advance, advance, "{name} {character:?}");
            let Some(exact) = face.glyph_bounding_box(id) else {
                assert_eq!((glyph.plane, glyph.uv), ([0.0; 4], [0.0; 4]), "{name} {character:?}");
                continue;
            };
            // The other parser's box of cubic curves contains their control points as well, and can be
            // larger.
            let least = if name == "inter" { 0.0 } else { 5.98 / 48.0 };
            // The quad is the box, rounded outwards to texels, plus six texels on each side.
            let [left, bottom, right, top] = glyph.plane;
            let slack = [
                em(exact.x_min) - left,
                em(exact.y_min) - bottom,
                right - em(exact.x_max),
                top - em(exact.y_max),
            ];
            assert!(slack.iter().all(|s| *s > least && *s < 7.02 / 48.0), "{name} {character:?}: {slack:?}");
            let [u, v, w, z] = glyph.uv;
            let texels = ((w - u) * font.atlas.width as f32, (z - v) * font.atlas.height as f32);
            assert!(
                (texels.0 - (right - left) * 48.0).abs() < 1e-2
                    && (texels.1 - (top - bottom) * 48.0).abs() < 1e-2
            );
        }
        let letters = font.glyphs.iter().filter(|glyph| glyph.codepoint != 0).count();
        let mapped = (0x20..0x100).filter_map(char::from_u32).filter(|c| !c.is_control());
        assert_eq!(letters, mapped.filter(|c| face.glyph_index(*c).is_some()).count(), "{name}");
    }
}

/// Returns the kerning of two characters by a shaping engine, in em.
fn shaped(face: &rustybuzz::Face<'_>, left: char, right: char) -> f32 {
    let kern = |on: u32| rustybuzz::Feature::new(rustybuzz::ttf_parser::Tag::from_bytes(b"kern"), on, ..);
    let advance = |on: u32| {
        let mut buffer = rustybuzz::UnicodeBuffer::new();
        buffer.push_str(&format!("{left}{right}"));
        // Without a language it is the default language of the script.
        buffer.set_script(rustybuzz::script::LATIN);
        buffer.set_direction(rustybuzz::Direction::LeftToRight);
        rustybuzz::shape(face, &[kern(on)], buffer).glyph_positions()[0].x_advance
    };
    (advance(1) - advance(0)) as f32 / face.units_per_em() as f32
}

#[test]
fn kerning_matches_shaping_engine() {
    for (name, bytes) in FONTS {
        let font = compiled(bytes, false);
        let face = rustybuzz::Face::from_slice(bytes, 0).unwrap();
        assert!(font.kerning.windows(2).all(|p| (p[0].left, p[0].right) < (p[1].left, p[1].right)), "{name}");
        let kerned = |left: char, right: char| {
            let wanted = (u32::from(left), u32::from(right));
            let found = font.kerning.binary_search_by_key(&wanted, |pair| (pair.left, pair.right));
            found.map_or(0.0, |i| font.kerning[i].advance)
        };
        let mut pairs = 0;
        for left in ' '..='~' {
            for right in ' '..='~' {
                let (found, exact) = (kerned(left, right), shaped(&face, left, right));
                assert_eq!(found, exact, "{name} {left:?}{right:?}");
                pairs += usize::from(found != 0.0);
            }
        }
        assert!(pairs > 100, "{name}: {pairs} pairs");
        assert!(kerned('A', 'V') < -0.02, "{name}: {}", kerned('A', 'V'));
    }
}

/// Returns a font with one table renamed, so that no parser finds it; the tables stay in order.
fn without(bytes: &[u8], tag: &[u8; 4]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let tables = usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
    let record = (0..tables).map(|i| 12 + i * 16).find(|at| &bytes[*at..at + 4] == tag).unwrap();
    bytes[record + 3] -= 1;
    bytes
}

#[test]
fn reads_kern_table_without_gpos() {
    let old = compile(&without(DEJAVU, b"GPOS"), &Settings::default()).unwrap();
    let table = rustybuzz::ttf_parser::Face::parse(DEJAVU, 0).unwrap();
    let subtable = table.tables().kern.unwrap().subtables.into_iter().next().unwrap();
    assert!(old.kerning.len() > 100);
    for pair in &old.kerning {
        let [left, right] =
            [pair.left, pair.right].map(|c| table.glyph_index(char::from_u32(c).unwrap()).unwrap());
        let exact =
            f32::from(subtable.glyphs_kerning(left, right).unwrap()) / f32::from(table.units_per_em());
        assert_eq!(pair.advance, exact);
    }
    let none = compile(&without(&without(DEJAVU, b"GPOS"), b"kern"), &Settings::default()).unwrap();
    assert!(none.kerning.is_empty());
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| compiled(DEJAVU, true))
    };
    assert!(with(1) == with(3));
}

#[test]
fn settings_are_applied() {
    let settings = Settings {
        size: 20,
        spread: 2,
        multi_channel: false,
        charset: Charset::parse("U+0041-0043, U+0416").unwrap(),
    };
    let font = compile(INTER, &settings).unwrap();
    assert_eq!(font.glyphs.iter().map(|g| g.codepoint).collect::<Vec<_>>(), [0, 65, 66, 67]);
    assert_eq!(font.distance_range, 4.0);
    assert_eq!(
        font.warnings.iter().map(|w| w.code.as_str()).collect::<Vec<_>>(),
        ["font-missing-characters"]
    );
    assert!(font.warnings[0].message.contains("U+0416"), "{}", font.warnings[0]);
    let height = font.glyphs[1].plane[3] - font.glyphs[1].plane[1];
    assert!((height * 20.0).fract() == 0.0 && font.atlas.width == 64, "{height}");
    let none = Settings { charset: Charset::parse("cyrillic").unwrap(), ..settings };
    assert_eq!(compile(INTER, &none).unwrap_err().code, Code::FontEmpty);
}
