//! `.hmatx`: material extensions: properties beyond the metallic-roughness model, and the UVs and samplers of textures.
//!
//! Implements `docs/reference/formats/hmatx.md`. A row belongs to the row with the same index in the `.hmat` of the same
//! name. Unknown chunks are ignored. [`HmatxView::read`] rejects duplicate chunks, ranges that are not contiguous, slots
//! out of order, unknown flags and sampler modes, numbers that are not finite, and text that is not UTF-8.
//!
//! ```
//! use kiln_format::hmatx::{HmatxView, TextureSlot, UNLIT};
//!
//! /// The rows that need no lighting, and those with a clear coat texture.
//! fn classify(file: &[u8]) -> Result<(usize, usize), kiln_format::Error> {
//!     let table = HmatxView::read(file)?;
//!     let unlit = table.rows().iter().filter(|row| row.flags & UNLIT != 0).count();
//!     let coated = table.rows().iter().filter(|row| table.texture(row, TextureSlot::Clearcoat).is_some());
//!     Ok((unlit, coated.count()))
//! }
//! # assert!(classify(b"HMTX").is_err());
//! ```

mod inspect;
mod records;

pub use self::inspect::HMatX;
pub use self::records::*;
#[cfg(feature = "tools")]
pub use crate::chunk_tables::TextBuilder;
pub use crate::chunk_tables::TextRange;

use core::mem::offset_of;

use crate::chunk_tables::Tables;
use crate::chunks::Kind;
use crate::error::{below, equal, finite};
use crate::{Array, Error};

/// The magic number of material extensions.
pub const MAGIC: [u8; 4] = *b"HMTX";
/// The only supported version.
pub const VERSION: u32 = 1;

const FORMAT: Kind = Kind { format: "hmatx", magic: MAGIC, version: VERSION, version_text: "1" };

/// A checked table of material extensions.
#[derive(Clone, Copy, Debug)]
pub struct HmatxView<'a> {
    tables: Tables<'a, { ChunkId::ALL.len() }>,
}

impl<'a> HmatxView<'a> {
    /// Checks everything except the layout of the chunks.
    ///
    /// # Errors
    ///
    /// [`Error`] if a chunk is duplicate or has an incomplete record, or if a table holds an invalid value.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let view = HmatxView { tables: Tables::read(bytes, FORMAT, &ChunkId::TABLES)? };
        view.check()?;
        Ok(view)
    }

    /// Checks that the chunks follow one another without gaps, and that nothing follows the last.
    ///
    /// # Errors
    ///
    /// [`Error`] at the first gap, overlap or trailing byte.
    pub fn verify(&self) -> Result<(), Error> {
        self.tables.check_layout()
    }

    /// Returns the rows, in the order of the material slots.
    pub fn rows(&self) -> Array<'a, MaterialExtension> {
        self.tables.array(ChunkId::Rows as usize)
    }

    /// Returns the textures of all rows.
    pub fn all_textures(&self) -> Array<'a, MaterialTexture> {
        self.tables.array(ChunkId::Textures as usize)
    }

    /// Returns the textures of a row of this table, by ascending slot.
    pub fn textures(&self, row: &MaterialExtension) -> Array<'a, MaterialTexture> {
        self.all_textures().range(row.first_texture, row.texture_count).unwrap_or_default()
    }

    /// Returns the texture of a row of this table in a slot.
    pub fn texture(&self, row: &MaterialExtension, slot: TextureSlot) -> Option<MaterialTexture> {
        self.textures(row).iter().find(|texture| texture.slot == slot as u8)
    }

    /// Returns a string of this table: a name, or `extras` as JSON.
    pub fn text(&self, range: TextRange) -> &'a str {
        self.tables.text(range)
    }

    fn check(&self) -> Result<(), Error> {
        let (mut texts, mut end) = (self.tables.texts(), 0u64);
        for (i, row) in self.rows().iter().enumerate() {
            let at = |offset: usize| {
                self.tables.at(ChunkId::Rows as usize) + (i * MaterialExtension::SIZE + offset) as u64
            };
            texts.next(at(0), "name", row.name)?;
            texts.next(at(offset_of!(MaterialExtension, extras)), "extras", row.extras)?;
            let (place, found) = (at(offset_of!(MaterialExtension, flags)), row.flags.into());
            if row.flags > ALL_FLAGS {
                return Err(Error::Value { at: place, field: "flags", found, expected: "at most 255" });
            }
            finite(at(offset_of!(MaterialExtension, emissive_strength)), "factor", &row.numbers())?;
            let place = at(offset_of!(MaterialExtension, first_texture));
            equal(place, "first_texture", row.first_texture, end)?;
            end += u64::from(row.texture_count);
            below(place, "textures", end, self.all_textures().len() as u64 + 1)?;
            self.check_textures(&row)?;
        }
        match self.all_textures().len() as u64 - end {
            0 => texts.finish(),
            left => {
                let (each, start) =
                    (MaterialTexture::SIZE as u64, self.tables.at(ChunkId::Textures as usize));
                Err(Error::Trailing { at: start + end * each, extra: left * each })
            }
        }
    }

    fn check_textures(&self, row: &MaterialExtension) -> Result<(), Error> {
        let mut last = None;
        for (i, texture) in self.textures(row).iter().enumerate() {
            let index = row.first_texture as usize + i;
            let at = |offset: usize| {
                self.tables.at(ChunkId::Textures as usize) + (index * MaterialTexture::SIZE + offset) as u64
            };
            for (offset, field, found, count, expected) in [
                (
                    offset_of!(MaterialTexture, slot),
                    "slot",
                    texture.slot,
                    TextureSlot::ALL.len(),
                    "at most 16",
                ),
                (offset_of!(MaterialTexture, mag_filter), "mag_filter", texture.mag_filter, 2, "0 or 1"),
                (offset_of!(MaterialTexture, min_filter), "min_filter", texture.min_filter, 2, "0 or 1"),
                (offset_of!(MaterialTexture, mip_filter), "mip_filter", texture.mip_filter, 3, "at most 2"),
                (offset_of!(MaterialTexture, wrap_u), "wrap_u", texture.wrap_u, 3, "at most 2"),
                (offset_of!(MaterialTexture, wrap_v), "wrap_v", texture.wrap_v, 3, "at most 2"),
            ] {
                if usize::from(found) >= count {
                    return Err(Error::Value { at: at(offset), field, found: found.into(), expected });
                }
            }
            equal(at(offset_of!(MaterialTexture, reserved)), "reserved", texture.reserved, 0u32)?;
            equal(at(offset_of!(MaterialTexture, pad)), "pad", texture.pad, 0u32)?;
            if last.is_some_and(|last| last >= texture.slot) {
                return Err(Error::Order { at: at(0), field: "slot" });
            }
            last = Some(texture.slot);
            finite(at(offset_of!(MaterialTexture, transform)), "transform", &texture.transform)?;
        }
        Ok(())
    }
}

/// Encodes material extensions as an `.hmatx` file. Strings are added to `text` in the order of the rows, each name
/// before its `extras`.
///
/// # Errors
///
/// [`Error`] if the result would not pass [`HmatxView::read`].
#[cfg(feature = "tools")]
pub fn write(
    rows: &[MaterialExtension],
    textures: &[MaterialTexture],
    text: &TextBuilder,
) -> Result<alloc::vec::Vec<u8>, Error> {
    use crate::pod::as_bytes;
    let payloads = [
        (ChunkId::Rows.fourcc(), as_bytes(rows)),
        (ChunkId::Textures.fourcc(), as_bytes(textures)),
        (ChunkId::Text.fourcc(), text.as_str().as_bytes()),
    ];
    let bytes = crate::chunk_tables::write(FORMAT, &payloads)?;
    HmatxView::read(&bytes)?.verify()?;
    Ok(bytes)
}
