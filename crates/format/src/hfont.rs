//! `.hfont`: the metrics of a font with an SDF or MSDF atlas.
//!
//! Implements `docs/reference/formats/hfont.md`. Rejects any length other than that of its records, glyphs and kerning
//! pairs out of order, a font without a `.notdef` glyph, numbers that are not finite, and UV rectangles
//! outside the atlas. [`HfontView::verify`] also rejects kerning pairs of characters that have no glyph.

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

/// The magic number of font files.
pub const MAGIC: [u8; 4] = *b"HFNT";
/// The only supported version.
pub const VERSION: u32 = 1;
/// The flag bit of an MSDF atlas: red, green and blue hold three distances.
pub const MULTI_CHANNEL: u32 = 1;
/// The codepoint of `.notdef`, the glyph that is drawn for characters missing from the font.
pub const NOTDEF: u32 = 0;

/// The last codepoint of Unicode.
const LAST_CODEPOINT: u32 = 0x10_ffff;

record! {
    /// The file header; the glyphs follow it, then the kerning pairs.
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
    /// A glyph: its advance width and its rectangles in em and in the atlas.
    pub struct Glyph {
        /// The Unicode codepoint; [`NOTDEF`] for the glyph of missing characters.
        pub codepoint: u32,
        /// The horizontal advance in em.
        pub advance: f32,
        /// Left, bottom, right and top of the quad relative to the pen position, in em, y up. All zero for a
        /// glyph without an outline, such as the space.
        pub plane: [f32; 4],
        /// Left, top, right and bottom of the quad in the atlas, as UV coordinates from 0 to 1, y down.
        pub uv: [f32; 4],
    }
}

pod! {
    /// A kerning pair of two characters.
    pub struct Pair {
        /// The codepoint of the first character.
        pub left: u32,
        /// The codepoint of the second character.
        pub right: u32,
        /// The kerning in em, added to the advance of the first character.
        pub advance: f32,
    }
}

impl Glyph {
    /// Returns whether the glyph has an outline; a space has none.
    pub fn is_visible(&self) -> bool {
        self.plane != [0.0; 4]
    }
}

/// The metrics of the whole font.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// The hash of the atlas texture's asset reference.
    pub atlas_tex: u64,
    /// The ascent above the baseline in em.
    pub ascent: f32,
    /// The descent below the baseline in em; negative.
    pub descent: f32,
    /// The line gap in em.
    pub line_gap: f32,
    /// The distance range in texels of the atlas: the distance between the values 0 and 1.
    pub distance_range: f32,
    /// The value of the atlas on the outline; values inside are greater.
    pub edge_value: f32,
    /// The width of the atlas in texels.
    pub atlas_width: u16,
    /// The height of the atlas in texels.
    pub atlas_height: u16,
    /// Selects MSDF: red, green and blue hold three distances, and the shader takes their median. In an SDF
    /// atlas all three are equal.
    pub multi_channel: bool,
}

impl Metrics {
    /// Returns the distance between baselines in em.
    pub fn line_height(&self) -> f32 {
        self.ascent - self.descent + self.line_gap
    }
}

/// A checked font: glyphs and kerning pairs are valid and sorted.
#[derive(Clone, Copy, Debug)]
pub struct HfontView<'a> {
    metrics: Metrics,
    glyphs: Array<'a, Glyph>,
    kerning: Array<'a, Pair>,
}

impl<'a> HfontView<'a> {
    /// Checks the whole file.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file is truncated, has trailing bytes, is not sorted or holds an invalid value.
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

    /// Returns the font-wide metrics.
    pub fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// Returns the glyphs by codepoint; the first is [`NOTDEF`].
    pub fn glyphs(&self) -> Array<'a, Glyph> {
        self.glyphs
    }

    /// Returns the kerning pairs by left and right codepoint.
    pub fn pairs(&self) -> Array<'a, Pair> {
        self.kerning
    }

    /// Looks up the glyph of a codepoint.
    pub fn find(&self, codepoint: u32) -> Option<Glyph> {
        search(&self.glyphs, |glyph| glyph.codepoint.cmp(&codepoint))
    }

    /// Looks up the glyph of a character, falling back to [`NOTDEF`].
    pub fn glyph(&self, character: char) -> Option<Glyph> {
        self.find(character.into()).or_else(|| self.glyphs.get(0))
    }

    /// Returns the kerning between two characters in em; 0 without a pair.
    pub fn kerning(&self, left: char, right: char) -> f32 {
        let wanted = (u32::from(left), u32::from(right));
        search(&self.kerning, |pair| (pair.left, pair.right).cmp(&wanted)).map_or(0.0, |pair| pair.advance)
    }

    /// Checks what no accessor depends on: both characters of every kerning pair have glyphs.
    ///
    /// # Errors
    ///
    /// [`Error::Fault`] at the first kerning pair with a missing glyph.
    pub fn verify(&self) -> Result<(), Error> {
        let start = Header::SIZE + self.glyphs.len() * Glyph::SIZE;
        for (i, pair) in self.kerning.iter().enumerate() {
            let at = (start + i * Pair::SIZE) as u64;
            for (offset, field, codepoint) in
                [(offset_of!(Pair, left), "left", pair.left), (offset_of!(Pair, right), "right", pair.right)]
            {
                if self.find(codepoint).is_none() {
                    let at = at + offset as u64;
                    return Err(Error::Fault {
                        at,
                        field,
                        why: "is the codepoint of a character without a glyph",
                    });
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
        return fault(offset_of!(Header, distance_range), "distance_range", "is not greater than 0");
    }
    if !(0.0..=1.0).contains(&edge_value) {
        return fault(offset_of!(Header, edge_value), "edge_value", "is not between 0 and 1");
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
        let expected = if first { "0 (.notdef) for the first glyph" } else { "at most 1114111" };
        let (at, found) = (place(offset_of!(Glyph, codepoint)), glyph.codepoint.into());
        return Err(Error::Value { at, field: "codepoint", found, expected });
    }
    finite(place(offset_of!(Glyph, advance)), "advance", &[glyph.advance])?;
    finite(place(offset_of!(Glyph, plane)), "plane", &glyph.plane)?;
    let [left, bottom, right, top] = glyph.plane;
    if left > right || bottom > top {
        let at = place(offset_of!(Glyph, plane));
        return Err(Error::Fault { at, field: "plane", why: "has its maximum below its minimum" });
    }
    let [left, top, right, bottom] = glyph.uv;
    let inside = glyph.uv.iter().all(|uv| (0.0..=1.0).contains(uv));
    if !inside || left > right || top > bottom {
        let at = place(offset_of!(Glyph, uv));
        return Err(Error::Fault { at, field: "uv", why: "is not a rectangle inside the atlas" });
    }
    Ok(())
}

/// Encodes a font. The caller sorts the glyphs by codepoint and the pairs by left and right codepoint.
///
/// # Errors
///
/// [`Error`] if the result would not pass [`HfontView::read`] and [`HfontView::verify`].
#[cfg(feature = "tools")]
pub fn write(metrics: &Metrics, glyphs: &[Glyph], kerning: &[Pair]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(Header::SIZE + size_of_val(glyphs) + size_of_val(kerning));
    Header {
        magic: MAGIC,
        version: VERSION,
        glyph_count: crate::count_u32("glyph_count", glyphs.len())?,
        kerning_count: crate::count_u32("kerning_count", kerning.len())?,
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
