//! SDF and MSDF font atlases: glyphs as signed distance fields in one texture, with metrics and kerning.
//!
//! ```text
//! outlines ─ line segments ─ overlap removal ─┬─ SDF ──┬─ tiles ─ atlas
//!                                              └─ MSDF ─┘
//! ```
//!
//! # Concepts
//!
//! * A **signed distance field** (SDF) stores in each texel the distance to the outline. A shader compares it
//!   with [`EDGE_VALUE`] and gets smooth edges at any scale.
//! * A **multi-channel SDF** (MSDF) has three distances; their median keeps corners sharp. Its alpha channel
//!   is the plain SDF.
//! * The **distance range** ([`Font::distance_range`]) is the number of texels between the values 0 and 1.
//!
//! TrueType and OpenType files are parsed with `read-fonts`, which bounds the cost of an outline; everything
//! else is Kiln's own code and needs no more than square roots, so that the bytes are the same on every
//! machine. For any file the result is a font or an error, in time and memory that do not depend on sizes
//! stated in the file.
//!
//! # Example
//!
//! ```no_run
//! use kiln_font::{Charset, Settings, compile};
//!
//! let bytes = std::fs::read("font.ttf").expect("a font file");
//! let settings = Settings { charset: Charset::parse("ascii").expect("a named set"), ..Settings::default() };
//! let font = compile(&bytes, &settings).expect("a TrueType font with ASCII characters");
//! println!("{} glyphs in {}x{} texels", font.glyphs.len(), font.atlas.width, font.atlas.height);
//! ```

mod atlas;
mod boundary;
mod charset;
mod kerning;
mod msdf;
mod outline;
mod point;
mod sdf;

use boundary::boundary;
use kiln_engine::{Code, Diag};
use outline::{Contour, Pen};
use rayon::prelude::*;
use read_fonts::model::Font as Face;
use read_fonts::model::glyph::outline::{DrawMemory, DrawOptions};
use read_fonts::types::GlyphId;
use sdf::Frame;
use std::collections::{BTreeMap, BTreeSet};

pub use charset::Charset;

/// Options of a compiled font.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The em size in the atlas, in texels.
    pub size: u32,
    /// The distance from the outline to the end of the distance range, in texels on each side; also the
    /// margin of a glyph.
    pub spread: u32,
    /// Generates an MSDF: three distances, whose median keeps corners sharp.
    pub multi_channel: bool,
    /// The characters to compile.
    pub charset: Charset,
}

/// 48 texels per em, six on each side of the outline, SDF, western European characters.
impl Default for Settings {
    fn default() -> Settings {
        Settings { size: 48, spread: 6, multi_channel: false, charset: Charset::default() }
    }
}

/// A character: its advance, its quad and its UVs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glyph {
    /// The codepoint; zero is the glyph for missing characters.
    pub codepoint: u32,
    /// The advance width in em.
    pub advance: f32,
    /// Left, bottom, right and top of the quad relative to the pen position, in em, y up; zeros if the glyph
    /// is empty.
    pub plane: [f32; 4],
    /// Left, top, right and bottom of the quad in the atlas, from 0 to 1.
    pub uv: [f32; 4],
}

/// A kerning pair of two characters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The codepoint of the first character.
    pub left: u32,
    /// The codepoint of the second character.
    pub right: u32,
    /// The kerning between them in em, not zero.
    pub advance: f32,
}

/// The atlas texture with all glyphs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atlas {
    /// Width in texels.
    pub width: u32,
    /// Height in texels.
    pub height: u32,
    /// RGBA8 texels, top row first. Alpha is the SDF; red, green and blue are the same, or the MSDF.
    pub rgba: Vec<u8>,
}

/// A compiled font: metrics, glyphs, kerning and atlas.
#[derive(Clone, Debug, PartialEq)]
pub struct Font {
    /// The ascent above the baseline, in em.
    pub ascent: f32,
    /// The descent below the baseline, in em; negative.
    pub descent: f32,
    /// The gap between lines, in em.
    pub line_gap: f32,
    /// The number of texels between the values 0 and 1; on the outline the value is a half.
    pub distance_range: f32,
    /// Glyphs by codepoint; the first is for missing characters.
    pub glyphs: Vec<Glyph>,
    /// Kerning by first and second codepoint.
    pub kerning: Vec<Pair>,
    /// The SDF or MSDF atlas.
    pub atlas: Atlas,
    /// Warnings for the author of the asset.
    pub warnings: Vec<Diag>,
}

/// The value of the atlas on an outline.
pub const EDGE_VALUE: f32 = 0.5;

/// The maximum cost of all outlines of a font, as the sum of squares of their numbers of segments.
const MAX_WORK: u64 = 20_000_000_000;
/// The maximum number of kerning pairs of characters.
const MAX_PAIRS: usize = 1 << 20;

/// Compiles a TrueType or OpenType font.
///
/// # Errors
///
/// A [`Diag`] with a code of the `font-…` group if the file is not a font, has no outlines or none of the
/// characters, or is too large or too complex.
pub fn compile(bytes: &[u8], settings: &Settings) -> Result<Font, Diag> {
    let face = open(bytes)?;
    let units = f64::from(face.units_per_em());
    let em = |units_of_face: f64| (units_of_face / units) as f32;
    let mut warnings = Vec::new();
    let characters = characters(&face, &settings.charset, &mut warnings)?;
    let used: BTreeSet<GlyphId> = characters.values().copied().collect();
    let used: Vec<GlyphId> = used.into_iter().collect();

    let renderer = GlyphRenderer { face: &face, settings, scale: f64::from(settings.size) / units };
    let (frames, packed) = renderer.lay_out(&used)?;
    let atlas = renderer.render(&used, &frames, &packed)?;

    let metrics = face.glyph_metrics();
    let size = settings.size as f32;
    let place = |glyph: GlyphId| {
        let index = used.binary_search(&glyph).ok()?;
        let (frame, (x, y)) = (frames[index]?, packed.places[index]);
        let (right, top) = (frame.left + frame.width as i32, frame.bottom + frame.height as i32);
        let plane = [frame.left, frame.bottom, right, top].map(|texels| texels as f32 / size);
        let (width, height) = (packed.width as f32, packed.height as f32);
        let (left, right) = (x as f32 / width, (x + frame.width) as f32 / width);
        Some((plane, [left, y as f32 / height, right, (y + frame.height) as f32 / height]))
    };
    let glyphs = characters.iter().map(|(&codepoint, &glyph)| {
        let (plane, uv) = place(glyph).unwrap_or_default();
        Glyph { codepoint, advance: em(metrics.h_advance(glyph).into()), plane, uv }
    });
    let line = face.metrics().h_line();
    let line =
        |pick: fn(&read_fonts::model::metrics::LineBox) -> f64| line.as_ref().map_or(0.0, |l| em(pick(l)));
    Ok(Font {
        ascent: line(|l| l.ascender.to_f64()),
        descent: line(|l| l.descender.to_f64()),
        line_gap: line(|l| l.line_gap.to_f64()),
        distance_range: (settings.spread * 2) as f32,
        glyphs: glyphs.collect(),
        kerning: kerning(&face, &characters, &em, &mut warnings)?,
        atlas,
        warnings,
    })
}

fn open(bytes: &[u8]) -> Result<Face, Diag> {
    if bytes.starts_with(b"wOFF") || bytes.starts_with(b"wOF2") {
        return Err(Diag::new(Code::FontUnknown, "WOFF web fonts are not supported")
            .hint("use the TTF or OTF file that the web font was made from"));
    }
    let known = [&b"\0\x01\0\0"[..], b"OTTO", b"true", b"ttcf"].iter().any(|magic| bytes.starts_with(magic));
    let face = known.then(|| Face::new(bytes.to_vec(), 0)).flatten().ok_or_else(|| {
        Diag::new(Code::FontUnknown, "the file is not a TrueType or OpenType font")
            .hint("export or download the font again")
    })?;
    if face.outline_glyphs().is_empty() {
        let message = "the font has no outlines, or they cannot be read";
        return Err(Diag::new(Code::FontNoOutlines, message)
            .hint("use a font with outlines; bitmap fonts and damaged fonts are not supported"));
    }
    Ok(face)
}

/// Returns the glyph of each character that the font has, and under zero the glyph for missing characters.
fn characters(
    face: &Face,
    charset: &Charset,
    warnings: &mut Vec<Diag>,
) -> Result<BTreeMap<u32, GlyphId>, Diag> {
    let map = face.charmap();
    let mut found = BTreeMap::from([(0, GlyphId::NOTDEF)]);
    let (mut missing, mut example) = (0, None);
    for (character, spelled) in charset.characters() {
        match map.map_unicode(character).filter(|glyph| *glyph != GlyphId::NOTDEF) {
            Some(glyph) => drop(found.insert(character.into(), glyph)),
            None if spelled => {
                missing += 1;
                example = example.or(Some(character));
            }
            None => {}
        }
    }
    if found.len() == 1 {
        return Err(Diag::new(
            Code::FontEmpty,
            format!("the font has none of the characters {}", charset.show()),
        )
        .hint("set font.charset to characters of the font, or to all"));
    }
    if let Some(example) = example {
        let message = format!(
            "characters of font.charset that the font does not have: {missing}, the first is U+{:04X}",
            u32::from(example)
        );
        warnings.push(
            Diag::new(Code::FontMissingCharacters, message)
                .hint("remove the characters from font.charset, or use another font"),
        );
    }
    Ok(found)
}

/// Returns the kerning pairs of characters from the pairs of their glyphs.
fn kerning(
    face: &Face,
    characters: &BTreeMap<u32, GlyphId>,
    em: &impl Fn(f64) -> f32,
    warnings: &mut Vec<Diag>,
) -> Result<Vec<Pair>, Diag> {
    let too_many = || {
        Diag::new(Code::FontTooLarge, "the font has too many kerning pairs")
            .hint("set font.charset to fewer characters")
    };
    // The glyph for missing characters has no kerning.
    let mut by_glyph: BTreeMap<GlyphId, Vec<u32>> = BTreeMap::new();
    for (&codepoint, &glyph) in characters.iter().filter(|(codepoint, _)| **codepoint != 0) {
        by_glyph.entry(glyph).or_default().push(codepoint);
    }
    let pairs = match kerning::pairs(&face.tables(), &by_glyph.keys().copied().collect()) {
        Ok(pairs) => pairs,
        Err(kerning::KerningError::TooMany) => return Err(too_many()),
        Err(kerning::KerningError::Damaged(error)) => {
            let message = format!("the kerning of the font cannot be read and is ignored: {error}");
            warnings.push(Diag::new(Code::FontKerning, message).hint("export or download the font again"));
            return Ok(vec![]);
        }
    };
    let mut found = Vec::new();
    for ((left, right), units) in pairs {
        let (lefts, rights) = (&by_glyph[&left], &by_glyph[&right]);
        if found.len() + lefts.len().saturating_mul(rights.len()) > MAX_PAIRS {
            return Err(too_many());
        }
        let advance = em(units.into());
        found.extend(
            lefts.iter().flat_map(|&left| rights.iter().map(move |&right| Pair { left, right, advance })),
        );
    }
    found.sort_unstable_by_key(|pair| (pair.left, pair.right));
    Ok(found)
}

/// Renders glyphs to tiles.
struct GlyphRenderer<'a> {
    face: &'a Face,
    settings: &'a Settings,
    scale: f64,
}

impl GlyphRenderer<'_> {
    fn contours(&self, glyph: GlyphId) -> Result<Vec<Contour>, Diag> {
        let broken = |why: &dyn std::fmt::Display| {
            Diag::new(Code::FontOutline, format!("the outline of glyph {glyph} cannot be read: {why}"))
                .hint("export or download the font again")
        };
        // Glyphs without an outline have an entry too; a glyph without an entry is a composite of itself, or
        // of too many others.
        let outline = self.face.outline_glyphs().get(glyph).ok_or_else(|| broken(&"the glyph is damaged"))?;
        let mut pen = Pen::new(self.scale);
        outline
            .draw(&DrawOptions::default(), DrawMemory::Scratch, &mut pen)
            .map_err(|error| broken(&error))?;
        pen.finish().ok_or_else(|| too_complex(glyph))
    }

    /// Returns the box of every glyph, and its position in the atlas.
    fn lay_out(&self, glyphs: &[GlyphId]) -> Result<(Vec<Option<Frame>>, atlas::Packed), Diag> {
        let measured: Vec<(Option<Frame>, u64)> = glyphs
            .par_iter()
            .map(|&glyph| {
                let contours = self.contours(glyph)?;
                let segments = contours.iter().map(|contour| contour.len() as u64).sum::<u64>();
                Ok((Frame::around(&contours, self.settings.spread), segments * segments))
            })
            .collect::<Result<_, Diag>>()?;
        let work = measured.iter().fold(0u64, |sum, (_, work)| sum.saturating_add(*work));
        let too_large = |what: &str| {
            let Settings { size, spread, .. } = self.settings;
            Diag::new(
                Code::FontTooLarge,
                format!("{} glyphs at size {size} with spread {spread} {what}", glyphs.len()),
            )
            .hint("decrease font.size, or set font.charset to fewer characters")
        };
        if work > MAX_WORK {
            return Err(too_large("have too many curves"));
        }
        let frames: Vec<Option<Frame>> = measured.into_iter().map(|(frame, _)| frame).collect();
        let nothing = Frame { left: 0, bottom: 0, width: 0, height: 0 };
        let boxes: Vec<Frame> = frames.iter().map(|frame| frame.unwrap_or(nothing)).collect();
        let side = atlas::MAX_SIDE;
        let packed = atlas::pack(&boxes)
            .ok_or_else(|| too_large(&format!("do not fit in an atlas of {side}x{side} texels")))?;
        Ok((frames, packed))
    }

    fn render(
        &self,
        glyphs: &[GlyphId],
        frames: &[Option<Frame>],
        packed: &atlas::Packed,
    ) -> Result<Atlas, Diag> {
        let (width, height) = (packed.width, packed.height);
        let mut rgba = vec![0; width as usize * height as usize * 4];
        // Tiles are rendered in parallel and copied one after another, a few at a time.
        for start in (0..glyphs.len()).step_by(256) {
            let batch = start..(start + 256).min(glyphs.len());
            let tiles: Vec<(usize, Frame, Vec<u8>)> = batch
                .into_par_iter()
                .filter_map(|i| Some((i, frames[i]?)))
                .map(|(i, frame)| Ok((i, frame, self.tile(glyphs[i], &frame)?)))
                .collect::<Result<_, Diag>>()?;
            for (i, frame, tile) in tiles {
                let (x, y) = packed.places[i];
                let row_len = frame.width as usize * 4;
                for (row, texels) in tile.chunks_exact(row_len).enumerate() {
                    let at = ((y as usize + row) * width as usize + x as usize) * 4;
                    rgba[at..at + row_len].copy_from_slice(texels);
                }
            }
        }
        Ok(Atlas { width, height, rgba })
    }

    fn tile(&self, glyph: GlyphId, frame: &Frame) -> Result<Vec<u8>, Diag> {
        let contours = self.contours(glyph)?;
        let edges = boundary(&contours).ok_or_else(|| too_complex(glyph))?;
        let reach = f64::from(self.settings.spread);
        let plain = sdf::distances(frame, &contours, &edges, reach);
        let texel = |distance: f64| sdf::quantise(distance, reach);
        if !self.settings.multi_channel {
            return Ok(plain.iter().flat_map(|&distance| [texel(distance); 4]).collect());
        }
        let multi = msdf::distances(frame, &edges, &plain, reach);
        let texels = multi.iter().zip(&plain).flat_map(|([r, g, b], plain)| [*r, *g, *b, *plain].map(texel));
        Ok(texels.collect())
    }
}

fn too_complex(glyph: GlyphId) -> Diag {
    Diag::new(Code::FontOutline, format!("the outline of glyph {glyph} is too complex or invalid"))
        .hint("remove the character from font.charset, or simplify its outline")
}
