//! Fonts as games draw them: glyphs as distances in one atlas, with metrics and kerning.
//!
//! ```text
//! outlines ─ straight pieces ─ true boundary ─┬─ distances ───────┬─ tiles ─ atlas
//!                                             └─ three distances ─┘
//! ```
//!
//! TrueType and OpenType files are read with `read-fonts`, which bounds what an outline may cost; the rest is ours and
//! needs no more than square roots, so that the bytes are the same on every machine. Whatever the file is, the answer
//! is a font or an error, in time and memory that do not depend on what the file claims.

mod atlas;
mod boundary;
mod charset;
mod field;
mod kerning;
mod multi;
mod outline;
mod point;

use boundary::boundary;
use field::Frame;
use kiln_engine::{Code, Diag};
use outline::{Contour, Pen};
use rayon::prelude::*;
use read_fonts::model::Font as Face;
use read_fonts::model::glyph::outline::{DrawMemory, DrawOptions};
use read_fonts::types::GlyphId;
use std::collections::{BTreeMap, BTreeSet};

pub use charset::Charset;

/// How a font is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Texels of one em in the atlas.
    pub size: u32,
    /// How far from the outline distances are told apart, in texels on each side; also the margin of a glyph.
    pub spread: u32,
    /// Three distances, whose median keeps corners sharp.
    pub multi_channel: bool,
    /// The characters.
    pub charset: Charset,
}

/// 48 texels an em, six on each side of the outline, one distance, western European characters.
impl Default for Settings {
    fn default() -> Settings {
        Settings { size: 48, spread: 6, multi_channel: false, charset: Charset::default() }
    }
}

/// A character: how far it moves the pen, and what is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glyph {
    /// The character; zero stands for those the font does not have.
    pub codepoint: u32,
    /// In em.
    pub advance: f32,
    /// Left, bottom, right and top of the quad around the pen, in em, y up; zeros if there is nothing to draw.
    pub plane: [f32; 4],
    /// Left, top, right and bottom of the quad in the atlas, from 0 to 1.
    pub uv: [f32; 4],
}

/// Two characters, and what is added between them in em.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The first.
    pub left: u32,
    /// The one that follows.
    pub right: u32,
    /// In em, not zero.
    pub advance: f32,
}

/// The picture that holds all glyphs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atlas {
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Top row first. Alpha is the distance; red, green and blue are the same, or three of their own.
    pub rgba: Vec<u8>,
}

/// A compiled font.
#[derive(Clone, Debug, PartialEq)]
pub struct Font {
    /// How far lines reach above the baseline, in em.
    pub ascent: f32,
    /// How far they reach below it; below is negative.
    pub descent: f32,
    /// The space between lines.
    pub line_gap: f32,
    /// How many texels apart the values 0 and 1 are; on the outline the value is a half.
    pub distance_range: f32,
    /// By codepoint; the first is for what is missing.
    pub glyphs: Vec<Glyph>,
    /// By first and second codepoint.
    pub kerning: Vec<Pair>,
    /// The picture.
    pub atlas: Atlas,
    /// What deserves a look.
    pub warnings: Vec<Diag>,
}

/// The value of the atlas on an outline.
pub const EDGE_VALUE: f32 = 0.5;

/// How much work all outlines of a font may be, as the sum of squares of their numbers of pieces.
const MOST_WORK: u64 = 20_000_000_000;
/// The most pairs of characters.
const MOST_PAIRS: usize = 1 << 20;

/// Compiles a TrueType or OpenType font.
pub fn compile(bytes: &[u8], settings: &Settings) -> Result<Font, Diag> {
    let face = open(bytes)?;
    let units = f64::from(face.units_per_em());
    let em = |units_of_face: f64| (units_of_face / units) as f32;
    let mut warnings = Vec::new();
    let characters = characters(&face, &settings.charset, &mut warnings)?;
    let used: BTreeSet<GlyphId> = characters.values().copied().collect();
    let used: Vec<GlyphId> = used.into_iter().collect();

    let artist = Artist { face: &face, settings, scale: f64::from(settings.size) / units };
    let (frames, packed) = artist.lay_out(&used)?;
    let atlas = artist.draw(&used, &frames, &packed)?;

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
        return Err(Diag::new(Code::FontUnknown, "this is a web font (WOFF), which is packed")
            .hint("use the TTF or OTF file that it was made of"));
    }
    let known = [&b"\0\x01\0\0"[..], b"OTTO", b"true", b"ttcf"].iter().any(|magic| bytes.starts_with(magic));
    let face = known.then(|| Face::new(bytes.to_vec(), 0)).flatten().ok_or_else(|| {
        Diag::new(Code::FontUnknown, "not a TrueType or OpenType font").hint("export or download it again")
    })?;
    if face.outline_glyphs().is_empty() {
        let message = "it has no outlines, or they cannot be read";
        return Err(
            Diag::new(Code::FontNoOutlines, message).hint("bitmap fonts and damaged ones cannot be used")
        );
    }
    Ok(face)
}

/// The glyph of each character that the font has, and under zero the one for those it does not have.
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
        return Err(Diag::new(Code::FontEmpty, format!("it has none of the characters {}", charset.show()))
            .hint("set font.charset to characters that it has; all takes every one"));
    }
    if let Some(example) = example {
        let message = format!(
            "{missing} of the characters that were asked for are missing, U+{:04X} first",
            u32::from(example)
        );
        warnings.push(
            Diag::new(Code::FontMissingCharacters, message)
                .hint("leave them out of font.charset, or use another font"),
        );
    }
    Ok(found)
}

/// The pairs of characters whose glyphs make a pair.
fn kerning(
    face: &Face,
    characters: &BTreeMap<u32, GlyphId>,
    em: &impl Fn(f64) -> f32,
    warnings: &mut Vec<Diag>,
) -> Result<Vec<Pair>, Diag> {
    let too_many = || {
        Diag::new(Code::FontTooLarge, "it has far too many pairs of characters with kerning")
            .hint("set font.charset to fewer characters")
    };
    // What stands for missing characters has no neighbours of its own.
    let mut by_glyph: BTreeMap<GlyphId, Vec<u32>> = BTreeMap::new();
    for (&codepoint, &glyph) in characters.iter().filter(|(codepoint, _)| **codepoint != 0) {
        by_glyph.entry(glyph).or_default().push(codepoint);
    }
    let pairs = match kerning::pairs(&face.tables(), &by_glyph.keys().copied().collect()) {
        Ok(pairs) => pairs,
        Err(kerning::Fault::TooMany) => return Err(too_many()),
        Err(kerning::Fault::Broken(error)) => {
            let message = format!("its kerning cannot be read, and is left out: {error}");
            warnings.push(Diag::new(Code::FontKerning, message).hint("export or download it again"));
            return Ok(vec![]);
        }
    };
    let mut found = Vec::new();
    for ((left, right), units) in pairs {
        let (lefts, rights) = (&by_glyph[&left], &by_glyph[&right]);
        if found.len() + lefts.len().saturating_mul(rights.len()) > MOST_PAIRS {
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

/// Draws glyphs.
struct Artist<'a> {
    face: &'a Face,
    settings: &'a Settings,
    scale: f64,
}

impl Artist<'_> {
    fn contours(&self, glyph: GlyphId) -> Result<Vec<Contour>, Diag> {
        let broken = |why: &dyn std::fmt::Display| {
            Diag::new(Code::FontOutline, format!("the outline of glyph {glyph} cannot be read: {why}"))
                .hint("export or download the font again")
        };
        // Also a glyph without an outline has an entry; what has none is made of itself, or of far too many others.
        let outline = self.face.outline_glyphs().get(glyph).ok_or_else(|| broken(&"it is damaged"))?;
        let mut pen = Pen::new(self.scale);
        outline
            .draw(&DrawOptions::default(), DrawMemory::Scratch, &mut pen)
            .map_err(|error| broken(&error))?;
        pen.finish().ok_or_else(|| too_complex(glyph))
    }

    /// The box of every glyph, and a place for it in the atlas.
    fn lay_out(&self, glyphs: &[GlyphId]) -> Result<(Vec<Option<Frame>>, atlas::Packed), Diag> {
        let measured: Vec<(Option<Frame>, u64)> = glyphs
            .par_iter()
            .map(|&glyph| {
                let contours = self.contours(glyph)?;
                let pieces = contours.iter().map(|contour| contour.len() as u64).sum::<u64>();
                Ok((Frame::around(&contours, self.settings.spread), pieces * pieces))
            })
            .collect::<Result<_, Diag>>()?;
        let work = measured.iter().fold(0u64, |sum, (_, work)| sum.saturating_add(*work));
        let too_large = |what: &str| {
            let Settings { size, spread, .. } = self.settings;
            Diag::new(
                Code::FontTooLarge,
                format!("{} glyphs at size {size} with spread {spread} {what}", glyphs.len()),
            )
            .hint("set font.size lower, or font.charset to fewer characters")
        };
        if work > MOST_WORK {
            return Err(too_large("have far too many curves"));
        }
        let frames: Vec<Option<Frame>> = measured.into_iter().map(|(frame, _)| frame).collect();
        let nothing = Frame { left: 0, bottom: 0, width: 0, height: 0 };
        let boxes: Vec<Frame> = frames.iter().map(|frame| frame.unwrap_or(nothing)).collect();
        let side = atlas::MOST_SIDE;
        let packed =
            atlas::pack(&boxes).ok_or_else(|| too_large(&format!("do not fit {side}x{side} texels")))?;
        Ok((frames, packed))
    }

    fn draw(
        &self,
        glyphs: &[GlyphId],
        frames: &[Option<Frame>],
        packed: &atlas::Packed,
    ) -> Result<Atlas, Diag> {
        let (width, height) = (packed.width, packed.height);
        let mut rgba = vec![0; width as usize * height as usize * 4];
        // Tiles are drawn side by side and put down one after another, a few at a time.
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
        let plain = field::distances(frame, &contours, &edges, reach);
        let texel = |distance: f64| field::quantise(distance, reach);
        if !self.settings.multi_channel {
            return Ok(plain.iter().flat_map(|&distance| [texel(distance); 4]).collect());
        }
        let multi = multi::distances(frame, &edges, &plain, reach);
        let texels = multi.iter().zip(&plain).flat_map(|([r, g, b], plain)| [*r, *g, *b, *plain].map(texel));
        Ok(texels.collect())
    }
}

fn too_complex(glyph: GlyphId) -> Diag {
    Diag::new(
        Code::FontOutline,
        format!("the outline of glyph {glyph} is far too intricate, or no outline at all"),
    )
    .hint("leave the character out of font.charset, or simplify it")
}
