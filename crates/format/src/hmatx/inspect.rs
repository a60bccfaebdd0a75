//! The [`Format`] implementation of material extensions: `info`, `check` and dumps.

use super::{HmatxView, MAGIC};
use crate::hpack::PackKind;
use crate::table::{FormatId, format_entry};
use crate::{Error, Format};

#[cfg(feature = "tools")]
use super::{
    FLAG_NAMES, Filter, MaterialExtension, MaterialTexture, MipFilter, TextRange, TextureSlot, VERSION, Wrap,
};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, Lookup, Problem, chunks, error::Count, hmat};

format_entry!(
    HMatX,
    FormatId {
        name: "hmatx",
        magic: &MAGIC,
        title: "material extensions",
        noun: "material extension table",
        kind: PackKind::Other
    }
);

impl Format for HMatX {
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        HmatxView::read(bytes)?.verify()
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HmatxView::read(bytes)?;
        write!(
            out,
            "v{VERSION} | {} | {}",
            Count(view.rows().len() as u64, "material", "materials"),
            Count(view.all_textures().len() as u64, "texture", "textures")
        )?;
        for (bit, name) in FLAG_NAMES.iter().enumerate() {
            let count = count(&view, bit);
            if count > 0 {
                write!(out, " | {name} {count}")?;
            }
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let view = HmatxView::read(bytes)?;
        each("version", Fact::Number(VERSION.into()));
        each("materials", Fact::Number(view.rows().len() as u64));
        each("textures", Fact::Number(view.all_textures().len() as u64));
        for (bit, name) in FLAG_NAMES.iter().enumerate() {
            each(name, Fact::Number(count(&view, bit)));
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HmatxView::read(bytes)?;
        writeln!(out, "hmatx v{VERSION}, {}", Count(view.rows().len() as u64, "material", "materials"))?;
        for (i, row) in view.rows().iter().enumerate() {
            write!(out, "material {i} {:?}", view.text(row.name))?;
            for (bit, name) in FLAG_NAMES.iter().enumerate().filter(|(bit, _)| row.flags >> bit & 1 != 0) {
                write!(out, "{}{name}", if row.flags & ((1 << bit) - 1) == 0 { " " } else { "+" })?;
            }
            writeln!(out)?;
            let plain = MaterialExtension::default().numbers();
            for ((name, number), plain) in NUMBERS.iter().zip(row.numbers()).zip(plain) {
                if number.to_bits() != plain.to_bits() {
                    writeln!(out, "  {name} {number:?}")?;
                }
            }
            if row.extras.size > 0 {
                writeln!(out, "  extras {:?}", view.text(row.extras))?;
            }
            for texture in view.textures(&row).iter() {
                dump_texture(&texture, out)?;
            }
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        const LAYOUTS: &[Layout] = &[
            chunks::LAYOUTS[0],
            chunks::LAYOUTS[1],
            TextRange::LAYOUT,
            MaterialExtension::LAYOUT,
            MaterialTexture::LAYOUT,
        ];
        LAYOUTS
    }

    #[cfg(feature = "tools")]
    fn check_references(
        &self,
        path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let view = HmatxView::read(bytes)?;
        let (table, rows) = at.companion(path, "hmat", hmat::row_count);
        if let Ok(rows) = rows.map(Option::unwrap_or_default)
            && rows != view.rows().len()
        {
            bad(Problem {
                code: kiln_diagnostics::Code::MaterialExtensionCount,
                message: alloc::format!(
                    "the table has {}, but the companion material table {table} has {}",
                    Count(view.rows().len() as u64, "row", "rows"),
                    Count(rows as u64, "row", "rows")
                ),
                hint: "run the build again: the material table and its extensions are from different builds",
            });
        }
        let rows = view.rows();
        let rows = rows.iter().enumerate().flat_map(|(row, material)| {
            view.textures(&material).iter().map(move |texture| (row, texture.texture))
        });
        hmat::check_textures(rows, at, bad);
        Ok(())
    }
}

/// Returns the number of rows with an extension.
#[cfg(feature = "tools")]
fn count(view: &HmatxView<'_>, bit: usize) -> u64 {
    view.rows().iter().filter(|row| row.flags >> bit & 1 != 0).count() as u64
}

/// The names of [`MaterialExtension::numbers`].
#[cfg(feature = "tools")]
const NUMBERS: [&str; 26] = [
    "emissive_strength",
    "ior",
    "dispersion",
    "transmission_factor",
    "clearcoat_factor",
    "clearcoat_roughness_factor",
    "clearcoat_normal_scale",
    "thickness_factor",
    "attenuation_distance",
    "attenuation_color.r",
    "attenuation_color.g",
    "attenuation_color.b",
    "sheen_color_factor.r",
    "sheen_color_factor.g",
    "sheen_color_factor.b",
    "sheen_roughness_factor",
    "specular_factor",
    "specular_color_factor.r",
    "specular_color_factor.g",
    "specular_color_factor.b",
    "iridescence_factor",
    "iridescence_ior",
    "iridescence_thickness_minimum",
    "iridescence_thickness_maximum",
    "anisotropy_strength",
    "anisotropy_rotation",
];

#[cfg(feature = "tools")]
fn dump_texture(texture: &MaterialTexture, out: &mut dyn core::fmt::Write) -> Result<(), Error> {
    let slot = TextureSlot::from_number(texture.slot).map_or("", TextureSlot::name);
    let filter = |number| Filter::from_number(number).map_or("", Filter::name);
    let wrap = |number| Wrap::from_number(number).map_or("", Wrap::name);
    writeln!(
        out,
        "  {slot} {:#018x} uv {} transform {:?} mag {} min {} mip {} wrap {} {}",
        texture.texture,
        texture.uv_set,
        texture.transform,
        filter(texture.mag_filter),
        filter(texture.min_filter),
        MipFilter::from_number(texture.mip_filter).map_or("", MipFilter::name),
        wrap(texture.wrap_u),
        wrap(texture.wrap_v)
    )?;
    Ok(())
}
