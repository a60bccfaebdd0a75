//! `.hmat`: a material table with one row per material slot of the companion mesh.
//!
//! Implements `docs/reference/formats/hmat.md`. Rejects any length other than that of its rows, unknown alpha modes,
//! reserved bits that are set, and factors that are not finite.

mod inspect;

pub use self::inspect::HMat;
#[cfg(feature = "tools")]
pub(crate) use self::inspect::{check_textures, row_count};

use core::mem::offset_of;

use crate::bytes::{Reader, record};
use crate::error::{equal, finite};
use crate::numbered::numbered;
#[cfg(feature = "tools")]
use crate::pod::as_bytes;
use crate::pod::pod;
use crate::{Array, Error, refs};
#[cfg(feature = "tools")]
use alloc::vec::Vec;

/// The magic number of material tables.
pub const MAGIC: [u8; 4] = *b"HMAT";
/// The only supported version.
pub const VERSION: u32 = 1;
/// The bit of [`GpuMaterial::flags`] of a double-sided material.
pub const DOUBLE_SIDED: u32 = 1;

/// The bit position of the alpha mode in [`GpuMaterial::flags`].
const ALPHA_SHIFT: u32 = 1;

record! {
    /// The file header; the rows follow it.
    struct Header {
        magic: [u8; 4],
        version: u32,
        count: u32,
        flags: u32,
    }
}

pod! {
    /// One material: factors, and the hashes of the asset references of its textures (0 for none).
    pub struct GpuMaterial {
        /// Base colour factor: linear red, green, blue, and alpha.
        pub base_color_factor: [f32; 4],
        /// Emissive factor: linear red, green, blue.
        pub emissive_factor: [f32; 3],
        /// Multiplies the blue channel of the metallic-roughness texture.
        pub metallic_factor: f32,
        /// Multiplies the green channel of the metallic-roughness texture.
        pub roughness_factor: f32,
        /// Multiplies x and y of the normal map.
        pub normal_scale: f32,
        /// Strength of the occlusion, which is the red channel of the occlusion texture.
        pub occlusion_strength: f32,
        /// Alpha cutoff in mode [`AlphaMode::Mask`]: fragments with a lower alpha are discarded.
        pub alpha_cutoff: f32,
        /// [`DOUBLE_SIDED`] and the alpha mode; see [`flags`].
        pub flags: u32,
        /// Padding; zero in every valid file.
        pub pad: u32,
        /// Base colour and alpha, sRGB.
        pub base_color_tex: u64,
        /// Roughness in green, metallic in blue; also occlusion in red if it is the occlusion texture as
        /// well.
        pub metallic_roughness_tex: u64,
        /// Tangent-space normal map: x in red, y in green.
        pub normal_tex: u64,
        /// The occlusion texture, in red.
        pub occlusion_tex: u64,
        /// Emissive colour, sRGB.
        pub emissive_tex: u64,
    }
}

impl Default for GpuMaterial {
    /// The defaults of glTF: white, opaque, fully metallic and rough, no textures.
    fn default() -> Self {
        GpuMaterial {
            base_color_factor: [1.0; 4],
            emissive_factor: [0.0; 3],
            metallic_factor: 1.0,
            roughness_factor: 1.0,
            normal_scale: 1.0,
            occlusion_strength: 1.0,
            alpha_cutoff: 0.5,
            flags: flags(AlphaMode::Opaque, false),
            pad: 0,
            base_color_tex: refs::NO_REF,
            metallic_roughness_tex: refs::NO_REF,
            normal_tex: refs::NO_REF,
            occlusion_tex: refs::NO_REF,
            emissive_tex: refs::NO_REF,
        }
    }
}

impl GpuMaterial {
    /// Returns whether both sides are drawn.
    pub fn double_sided(&self) -> bool {
        self.flags & DOUBLE_SIDED != 0
    }

    /// Returns the alpha mode. Mode 3, which readers reject, is returned as opaque.
    pub fn alpha_mode(&self) -> AlphaMode {
        AlphaMode::from_number((self.flags >> ALPHA_SHIFT) as u8 & 3).unwrap_or(AlphaMode::Opaque)
    }

    /// Returns the hashes of the textures, in the order of [`SLOTS`].
    pub fn textures(&self) -> [u64; SLOTS.len()] {
        [
            self.base_color_tex,
            self.metallic_roughness_tex,
            self.normal_tex,
            self.occlusion_tex,
            self.emissive_tex,
        ]
    }
}

/// The short names of the textures of a material, in file order.
pub const SLOTS: [&str; 5] = ["base", "mr", "normal", "occ", "emissive"];

numbered! {
    /// The alpha mode of a material.
    pub enum AlphaMode: u8 {
        /// Alpha is ignored: the surface is opaque.
        Opaque = "opaque",
        /// Alpha test: drawn if alpha is at least the cutoff.
        Mask = "mask",
        /// Alpha blending with the background.
        Blend = "blend",
    }
}

/// Encodes alpha mode and sidedness as [`GpuMaterial::flags`].
pub const fn flags(alpha_mode: AlphaMode, double_sided: bool) -> u32 {
    (alpha_mode as u32) << ALPHA_SHIFT | if double_sided { DOUBLE_SIDED } else { 0 }
}

/// A checked material table: all rows are valid.
#[derive(Clone, Copy, Debug)]
pub struct HmatView<'a> {
    rows: Array<'a, GpuMaterial>,
}

impl<'a> HmatView<'a> {
    /// Checks the whole file.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file is truncated, has trailing bytes or holds an invalid value.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let header = Header::read(&mut reader)?;
        if header.magic != MAGIC {
            return Err(Error::Magic { found: header.magic, format: "hmat" });
        }
        if header.version != VERSION {
            let (at, found) = (offset_of!(Header, version) as u64, header.version.into());
            return Err(Error::Value { at, field: "version", found, expected: "1" });
        }
        header.must_equal(Header { flags: 0, ..header }, 0)?;
        let rows = reader.take(u64::from(header.count) * GpuMaterial::SIZE as u64, "materials")?;
        reader.finish()?;
        let rows: Array<'a, GpuMaterial> = Array::new(rows);
        for (i, row) in rows.iter().enumerate() {
            check(&row, (Header::SIZE + i * GpuMaterial::SIZE) as u64)?;
        }
        Ok(HmatView { rows })
    }

    /// Returns the materials by slot.
    pub fn materials(&self) -> Array<'a, GpuMaterial> {
        self.rows
    }
}

fn check(row: &GpuMaterial, at: u64) -> Result<(), Error> {
    let at = |offset: usize| at + offset as u64;
    finite(at(offset_of!(GpuMaterial, base_color_factor)), "base_color_factor", &row.base_color_factor)?;
    finite(at(offset_of!(GpuMaterial, emissive_factor)), "emissive_factor", &row.emissive_factor)?;
    for (offset, field, factor) in [
        (offset_of!(GpuMaterial, metallic_factor), "metallic_factor", row.metallic_factor),
        (offset_of!(GpuMaterial, roughness_factor), "roughness_factor", row.roughness_factor),
        (offset_of!(GpuMaterial, normal_scale), "normal_scale", row.normal_scale),
        (offset_of!(GpuMaterial, occlusion_strength), "occlusion_strength", row.occlusion_strength),
        (offset_of!(GpuMaterial, alpha_cutoff), "alpha_cutoff", row.alpha_cutoff),
    ] {
        finite(at(offset), field, &[factor])?;
    }
    if row.flags >> ALPHA_SHIFT >= AlphaMode::ALL.len() as u32 {
        let (at, found) = (at(offset_of!(GpuMaterial, flags)), row.flags.into());
        return Err(Error::Value {
            at,
            field: "flags",
            found,
            expected: "an alpha mode below 3 in bits 1 and 2",
        });
    }
    equal(at(offset_of!(GpuMaterial, pad)), "pad", row.pad, 0u32)
}

/// Encodes a table of these materials, in slot order.
///
/// # Errors
///
/// [`Error::TooLarge`] if there are more than 2³²−1 rows, otherwise the errors of [`HmatView::read`].
#[cfg(feature = "tools")]
pub fn write(materials: &[GpuMaterial]) -> Result<Vec<u8>, Error> {
    let count = crate::count_u32("count", materials.len())?;
    let mut out = Vec::with_capacity(Header::SIZE + size_of_val(materials));
    Header { magic: MAGIC, version: VERSION, count, flags: 0 }.put(&mut out);
    out.extend_from_slice(as_bytes(materials));
    HmatView::read(&out)?;
    Ok(out)
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;

    pub(super) const TEXTURED: [&str; 2] = ["court/tex_0.ktx2", "court/tex_1.ktx2"];

    pub(super) fn textured_row() -> GpuMaterial {
        let [first, second] = TEXTURED.map(refs::hash_runtime_path);
        GpuMaterial {
            flags: flags(AlphaMode::Mask, true),
            base_color_tex: first,
            metallic_roughness_tex: second,
            occlusion_tex: second,
            ..GpuMaterial::default()
        }
    }

    #[test]
    fn encodes_documented_bytes() {
        let row = GpuMaterial {
            base_color_factor: [1.0, 2.0, 3.0, 4.0],
            emissive_factor: [5.0, 6.0, 7.0],
            metallic_factor: 8.0,
            roughness_factor: 9.0,
            normal_scale: 10.0,
            occlusion_strength: 11.0,
            alpha_cutoff: 12.0,
            flags: 0b101,
            pad: 0,
            base_color_tex: 0x0102,
            metallic_roughness_tex: 0x0304,
            normal_tex: 0x0506,
            occlusion_tex: 0x0708,
            emissive_tex: 0x090a,
        };
        let mut expected = b"HMAT\x01\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
        (1..=12u8).for_each(|n| expected.extend(f32::from(n).to_le_bytes()));
        expected.extend(b"\x05\0\0\0\0\0\0\0");
        for (a, b) in [(2, 1), (4, 3), (6, 5), (8, 7), (10, 9)] {
            expected.extend([a, b, 0, 0, 0, 0, 0, 0]);
        }
        assert_eq!(write(&[row]).unwrap(), expected);
        assert_eq!(expected.len(), 16 + 96);
        assert_eq!(HmatView::read(&expected).unwrap().materials().get(0), Some(row));
        assert_eq!((row.alpha_mode(), row.double_sided()), (AlphaMode::Blend, true));
        assert_eq!(write(&[]).unwrap().len(), 16);
    }

    #[test]
    fn defaults_match_document() {
        let row = GpuMaterial::default();
        assert_eq!((row.base_color_factor, row.emissive_factor), ([1.0; 4], [0.0; 3]));
        assert_eq!([row.metallic_factor, row.roughness_factor, row.alpha_cutoff], [1.0, 1.0, 0.5]);
        assert_eq!([row.normal_scale, row.occlusion_strength], [1.0, 1.0]);
        assert_eq!(
            (row.alpha_mode(), row.double_sided(), row.textures()),
            (AlphaMode::Opaque, false, [0; 5])
        );
        for (i, mode) in AlphaMode::ALL.into_iter().enumerate() {
            assert_eq!(flags(mode, false), i as u32 * 2);
            assert_eq!(flags(mode, true), i as u32 * 2 + 1);
        }
    }

    #[test]
    fn rejects_invalid_fields() {
        let good = write(&[GpuMaterial::default(), textured_row()]).unwrap();
        let broken = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            HmatView::read(&bytes).unwrap_err()
        };
        assert_eq!(broken(3, b'N'), Error::Magic { found: *b"HMAN", format: "hmat" });
        assert_eq!(broken(4, 2), Error::Value { at: 4, field: "version", found: 2, expected: "1" });
        assert_eq!(broken(12, 1), Error::Mismatch { at: 12, field: "flags", found: 1, expected: 0 });
        assert_eq!(broken(8, 1), Error::Trailing { at: 112, extra: 96 });
        assert!(matches!(broken(8, 3), Error::Truncated { field: "materials", needed: 288, .. }));
        assert!(matches!(broken(11, 255), Error::Truncated { field: "materials", .. }));
        assert!(matches!(broken(16 + 48, 6), Error::Value { at: 64, field: "flags", found: 6, .. }));
        assert!(matches!(broken(16 + 48, 8), Error::Value { at: 64, field: "flags", found: 8, .. }));
        assert_eq!(broken(16 + 52, 1), Error::Mismatch { at: 68, field: "pad", found: 1, expected: 0 });
        // Every factor of the second row, set to infinity.
        let fields = [
            (0, "base_color_factor"),
            (12, "base_color_factor"),
            (24, "emissive_factor"),
            (28, "metallic_factor"),
            (32, "roughness_factor"),
            (36, "normal_scale"),
            (40, "occlusion_strength"),
            (44, "alpha_cutoff"),
        ];
        for (offset, name) in fields {
            let mut bytes = good.clone();
            bytes[112 + offset..][..4].copy_from_slice(&f32::INFINITY.to_le_bytes());
            let error = HmatView::read(&bytes).unwrap_err();
            assert!(matches!(error, Error::Fault { field, .. } if field == name), "{error}");
        }
    }

    #[test]
    fn writer_rejects_invalid_values() {
        let row = GpuMaterial::default();
        for bad in [
            GpuMaterial { flags: 6, ..row },
            GpuMaterial { pad: 1, ..row },
            GpuMaterial { metallic_factor: f32::NAN, ..row },
        ] {
            assert!(write(&[row, bad]).is_err(), "{bad:?}");
        }
    }
}
