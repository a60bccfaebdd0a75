//! `.hfont`: the metrics of a font whose glyphs lie in a texture of distances.
//!
//! Implements `docs/formats/hfont.md`. Refuses any length but that of its records, glyphs and pairs out of order, a
//! font without the glyph for what it lacks, numbers that are not finite, and places outside the atlas; the check also
//! refuses pairs of characters that have no glyph.

mod inspect;

use core::mem::offset_of;

use crate::bytes::{Reader, record};
use crate::error::finite;
use crate::pod::pod;
use crate::{Array, Error};
#[cfg(feature = "tools")]
use crate::{Layout, pod::as_bytes};
#[cfg(feature = "tools")]
use alloc::vec::Vec;

pub use inspect::HFont;

/// The first bytes of a font.
pub const MAGIC: [u8; 4] = *b"HFNT";
/// The only version there is.
pub const VERSION: u32 = 1;
/// The bit of the flags that says that red, green and blue of the atlas hold three distances.
pub const MULTI_CHANNEL: u32 = 1;
/// The codepoint of the glyph that is drawn for characters the font does not have.
pub const NOTDEF: u32 = 0;

/// The last codepoint that Unicode has room for.
const LAST_CODEPOINT: u32 = 0x10_ffff;

record! {
    /// The start of the file; glyphs follow it, then pairs.
    struct Header {
        magic: [u8; 4],
        version: u32,
        glyph_count: u32,
        kerning_count: u32,
        atlas_tex: u64,
        ascent: f32,
        descent: f32,
        line_gap: f32,
        distance_range: f32,
        edge_value: f32,
        atlas_width: u16,
        atlas_height: u16,
        flags: u32,
    }
}

pod! {
    /// A character: how far it moves the pen, and the part of the atlas that shows it.
    pub struct Glyph {
        /// The character; [`NOTDEF`] stands for those that are missing.
        pub codepoint: u32,
        /// How far the pen moves, in em.
        pub advance: f32,
        /// Left, bottom, right and top of the quad around the pen's place, in em, y up. All zero: nothing to draw.
        pub plane: [f32; 4],
        /// Left, top, right and bottom of the quad in the atlas, from 0 to 1, y down.
        pub uv: [f32; 4],
    }
}

pod! {
    /// A pair of characters that stand closer or wider than their advances say.
    pub struct Pair {
        /// The character that comes first.
        pub left: u32,
        /// The one that follows.
        pub right: u32,
        /// What is added to the advance of the first, in em.
        pub advance: f32,
    }
}

impl Glyph {
    /// Whether there is anything to draw; a space has nothing.
    pub fn is_visible(&self) -> bool {
        self.plane != [0.0; 4]
    }
}

/// What holds for all glyphs of a font.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// The hash of the reference of the atlas.
    pub atlas_tex: u64,
    /// How far letters reach above the baseline, in em.
    pub ascent: f32,
    /// How far they reach below it, in em; below is negative.
    pub descent: f32,
    /// The space between the lines, in em.
    pub line_gap: f32,
    /// How many texels of the atlas apart the values 0 and 1 are.
    pub distance_range: f32,
    /// The value of the atlas on the outline; inside it is greater.
    pub edge_value: f32,
    /// Texels in a row of the atlas.
    pub atlas_width: u16,
    /// Rows of the atlas.
    pub atlas_height: u16,
    /// Whether red, green and blue hold three distances, of which the median counts; otherwise they are equal.
    pub multi_channel: bool,
}

impl Metrics {
    /// From one baseline to the next, in em.
    pub fn line_height(&self) -> f32 {
        self.ascent - self.descent + self.line_gap
    }
}

/// A font that was read: glyphs and pairs are known to be sound and sorted.
#[derive(Clone, Copy, Debug)]
pub struct HfontView<'a> {
    metrics: Metrics,
    glyphs: Array<'a, Glyph>,
    kerning: Array<'a, Pair>,
}

impl<'a> HfontView<'a> {
    /// Checks the whole file.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let header = Header::read(&mut reader)?;
        if header.magic != MAGIC {
            return Err(Error::Magic { found: header.magic, format: "hfont" });
        }
        let metrics = metrics(&header)?;
        let glyphs = reader.take(u64::from(header.glyph_count) * Glyph::SIZE as u64, "glyphs")?;
        let kerning_at = reader.at();
        let kerning = reader.take(u64::from(header.kerning_count) * Pair::SIZE as u64, "kerning")?;
        reader.finish()?;
        let view = HfontView { metrics, glyphs: Array::new(glyphs), kerning: Array::new(kerning) };
        let mut last = None;
        for (i, glyph) in view.glyphs.iter().enumerate() {
            let at = (Header::SIZE + i * Glyph::SIZE) as u64;
            check_glyph(&glyph, at)?;
            if last.is_some_and(|last| last >= glyph.codepoint) {
                return Err(Error::Order { at, field: "codepoint" });
            }
            last = Some(glyph.codepoint);
        }
        let mut last = None;
        for (i, pair) in view.kerning.iter().enumerate() {
            let at = kerning_at + (i * Pair::SIZE) as u64;
            finite(at + offset_of!(Pair, advance) as u64, "advance", &[pair.advance])?;
            if last.is_some_and(|last| last >= (pair.left, pair.right)) {
                return Err(Error::Order { at, field: "left and right" });
            }
            last = Some((pair.left, pair.right));
        }
        Ok(view)
    }

    /// What holds for all glyphs.
    pub fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// The glyphs, by codepoint; the first is [`NOTDEF`].
    pub fn glyphs(&self) -> Array<'a, Glyph> {
        self.glyphs
    }

    /// The pairs, by first and second codepoint.
    pub fn pairs(&self) -> Array<'a, Pair> {
        self.kerning
    }

    /// The glyph of a character, if the font has it.
    pub fn find(&self, codepoint: u32) -> Option<Glyph> {
        search(&self.glyphs, |glyph| glyph.codepoint.cmp(&codepoint))
    }

    /// The glyph of a character, or the one that stands for what is missing.
    pub fn glyph(&self, character: char) -> Option<Glyph> {
        self.find(character.into()).or_else(|| self.glyphs.get(0))
    }

    /// What is added to the advance of `left` before `right`, in em.
    pub fn kerning(&self, left: char, right: char) -> f32 {
        let wanted = (u32::from(left), u32::from(right));
        search(&self.kerning, |pair| (pair.left, pair.right).cmp(&wanted)).map_or(0.0, |pair| pair.advance)
    }

    /// Checks what no accessor depends on: that the characters of every pair have glyphs.
    pub fn verify(&self) -> Result<(), Error> {
        let start = Header::SIZE + self.glyphs.len() * Glyph::SIZE;
        for (i, pair) in self.kerning.iter().enumerate() {
            let at = (start + i * Pair::SIZE) as u64;
            for (offset, field, codepoint) in
                [(offset_of!(Pair, left), "left", pair.left), (offset_of!(Pair, right), "right", pair.right)]
            {
                if self.find(codepoint).is_none() {
                    let at = at + offset as u64;
                    return Err(Error::Fault { at, field, why: "is a character that has no glyph" });
                }
            }
        }
        Ok(())
    }
}

fn search<T: crate::Pod>(sorted: &Array<'_, T>, order: impl Fn(&T) -> core::cmp::Ordering) -> Option<T> {
    let (mut low, mut high) = (0, sorted.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let found = sorted.get(middle)?;
        match order(&found) {
            core::cmp::Ordering::Less => low = middle + 1,
            core::cmp::Ordering::Greater => high = middle,
            core::cmp::Ordering::Equal => return Some(found),
        }
    }
    None
}

fn metrics(header: &Header) -> Result<Metrics, Error> {
    let Header { ascent, descent, line_gap, distance_range, edge_value, .. } = *header;
    let bad = |at: usize, field, found: u32, expected| {
        Err(Error::Value { at: at as u64, field, found: found.into(), expected })
    };
    if header.version != VERSION {
        return bad(offset_of!(Header, version), "version", header.version, "1");
    }
    if header.glyph_count == 0 {
        return bad(offset_of!(Header, glyph_count), "glyph_count", 0, "at least 1");
    }
    for (offset, field, number) in [
        (offset_of!(Header, ascent), "ascent", ascent),
        (offset_of!(Header, descent), "descent", descent),
        (offset_of!(Header, line_gap), "line_gap", line_gap),
        (offset_of!(Header, distance_range), "distance_range", distance_range),
        (offset_of!(Header, edge_value), "edge_value", edge_value),
    ] {
        finite(offset as u64, field, &[number])?;
    }
    let fault = |at: usize, field, why| Err(Error::Fault { at: at as u64, field, why });
    if distance_range <= 0.0 {
        return fault(offset_of!(Header, distance_range), "distance_range", "is not above 0");
    }
    if !(0.0..=1.0).contains(&edge_value) {
        return fault(offset_of!(Header, edge_value), "edge_value", "is not from 0 to 1");
    }
    for (offset, field, side) in [
        (offset_of!(Header, atlas_width), "atlas_width", header.atlas_width),
        (offset_of!(Header, atlas_height), "atlas_height", header.atlas_height),
    ] {
        if side == 0 {
            return bad(offset, field, 0, "at least 1");
        }
    }
    if header.flags > MULTI_CHANNEL {
        return bad(offset_of!(Header, flags), "flags", header.flags, "0 or 1");
    }
    Ok(Metrics {
        atlas_tex: header.atlas_tex,
        ascent,
        descent,
        line_gap,
        distance_range,
        edge_value,
        atlas_width: header.atlas_width,
        atlas_height: header.atlas_height,
        multi_channel: header.flags & MULTI_CHANNEL != 0,
    })
}

fn check_glyph(glyph: &Glyph, at: u64) -> Result<(), Error> {
    let place = |offset: usize| at + offset as u64;
    let first = at == Header::SIZE as u64;
    if glyph.codepoint > LAST_CODEPOINT || first && glyph.codepoint != NOTDEF {
        let expected = if first { "0, for what is missing" } else { "at most 1114111" };
        let (at, found) = (place(offset_of!(Glyph, codepoint)), glyph.codepoint.into());
        return Err(Error::Value { at, field: "codepoint", found, expected });
    }
    finite(place(offset_of!(Glyph, advance)), "advance", &[glyph.advance])?;
    finite(place(offset_of!(Glyph, plane)), "plane", &glyph.plane)?;
    let [left, bottom, right, top] = glyph.plane;
    if left > right || bottom > top {
        let at = place(offset_of!(Glyph, plane));
        return Err(Error::Fault { at, field: "plane", why: "ends before it starts" });
    }
    let [left, top, right, bottom] = glyph.uv;
    let inside = glyph.uv.iter().all(|uv| (0.0..=1.0).contains(uv));
    if !inside || left > right || top > bottom {
        let at = place(offset_of!(Glyph, uv));
        return Err(Error::Fault { at, field: "uv", why: "is no part of the atlas" });
    }
    Ok(())
}

/// The bytes of a font; glyphs and pairs are sorted already.
#[cfg(feature = "tools")]
pub fn write(metrics: &Metrics, glyphs: &[Glyph], kerning: &[Pair]) -> Result<Vec<u8>, Error> {
    let count = |field, len: usize| {
        u32::try_from(len).map_err(|_| Error::TooLarge { field, found: len as u64, max: u32::MAX.into() })
    };
    let mut out = Vec::with_capacity(Header::SIZE + size_of_val(glyphs) + size_of_val(kerning));
    Header {
        magic: MAGIC,
        version: VERSION,
        glyph_count: count("glyph_count", glyphs.len())?,
        kerning_count: count("kerning_count", kerning.len())?,
        atlas_tex: metrics.atlas_tex,
        ascent: metrics.ascent,
        descent: metrics.descent,
        line_gap: metrics.line_gap,
        distance_range: metrics.distance_range,
        edge_value: metrics.edge_value,
        atlas_width: metrics.atlas_width,
        atlas_height: metrics.atlas_height,
        flags: if metrics.multi_channel { MULTI_CHANNEL } else { 0 },
    }
    .put(&mut out);
    out.extend_from_slice(as_bytes(glyphs));
    out.extend_from_slice(as_bytes(kerning));
    HfontView::read(&out)?.verify()?;
    Ok(out)
}

#[cfg(feature = "tools")]
const LAYOUTS: &[Layout] = &[Header::LAYOUT, Glyph::LAYOUT, Pair::LAYOUT];

#[cfg(all(test, feature = "tools"))]
mod tests;
