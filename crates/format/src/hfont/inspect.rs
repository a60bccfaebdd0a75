//! The [`Format`] implementation of fonts: `info`, `check` and dumps.

use super::{HfontView, MAGIC};
use crate::hpack::PackKind;
use crate::table::{FormatId, format_entry};
use crate::{Error, Format};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, Lookup, Problem, error::Count, hfont, hman, ktx2::Ktx2View};
#[cfg(feature = "tools")]
use alloc::format;

format_entry!(
    HFont,
    FormatId { name: "hfont", magic: &MAGIC, title: "fonts", noun: "font", kind: PackKind::Font }
);

impl Format for HFont {
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        HfontView::read(bytes)?.verify()
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HfontView::read(bytes)?;
        let metrics = view.metrics();
        write!(
            out,
            "v{} | {} | {} | atlas: {}x{} {} | line: {:.3} em",
            hfont::VERSION,
            Count(view.glyphs().len() as u64, "glyph", "glyphs"),
            Count(view.pairs().len() as u64, "kerning pair", "kerning pairs"),
            metrics.atlas_width,
            metrics.atlas_height,
            field(&view),
            metrics.line_height()
        )?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let view = HfontView::read(bytes)?;
        let metrics = view.metrics();
        each("version", Fact::Number(hfont::VERSION.into()));
        each("glyphs", Fact::Total(view.glyphs().len() as u64));
        each("kerning_pairs", Fact::Total(view.pairs().len() as u64));
        each("atlas_width", Fact::Number(metrics.atlas_width.into()));
        each("atlas_height", Fact::Number(metrics.atlas_height.into()));
        each("field", Fact::Text(field(&view)));
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HfontView::read(bytes)?;
        let m = view.metrics();
        let (glyphs, pairs) = (view.glyphs(), view.pairs());
        writeln!(
            out,
            "hfont v{}, {}, {}",
            hfont::VERSION,
            Count(glyphs.len() as u64, "glyph", "glyphs"),
            Count(pairs.len() as u64, "kerning pair", "kerning pairs")
        )?;
        writeln!(out, "ascent {:?}, descent {:?}, line_gap {:?}", m.ascent, m.descent, m.line_gap)?;
        writeln!(
            out,
            "atlas {:#018x} {}x{} {}, distance_range {:?}, edge_value {:?}",
            m.atlas_tex,
            m.atlas_width,
            m.atlas_height,
            field(&view),
            m.distance_range,
            m.edge_value
        )?;
        for g in glyphs {
            writeln!(
                out,
                "glyph U+{:04X} advance {:?}, plane {:?}, uv {:?}",
                g.codepoint, g.advance, g.plane, g.uv
            )?;
        }
        for pair in pairs {
            writeln!(out, "pair U+{:04X} U+{:04X} {:?}", pair.left, pair.right, pair.advance)?;
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        hfont::LAYOUTS
    }

    #[cfg(feature = "tools")]
    fn check_references(
        &self,
        _path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let metrics = HfontView::read(bytes)?.metrics();
        let hash = metrics.atlas_tex;
        let Some(manifest) = at.bytes(hman::PATH) else {
            if !at.has_texture(hash) {
                bad(Problem {
                    code: kiln_diagnostics::Code::FontWithoutManifest,
                    message: format!(
                        "the atlas {hash:#018x} is not among the files, and there is no manifest {} that lists it",
                        hman::PATH
                    ),
                    hint: "run the build again, or convert the font again: the atlas was deleted",
                });
            }
            return Ok(());
        };
        // An unreadable manifest is reported for the manifest itself.
        let Ok(manifest) = hman::HmanView::read(&manifest) else { return Ok(()) };
        let Some(entry) = manifest.find(hash) else {
            bad(Problem {
                code: kiln_diagnostics::Code::FontUnknownAtlas,
                message: format!(
                    "the font references the atlas {hash:#018x}, which the manifest does not list"
                ),
                hint: "run the build again: font and manifest are from different builds",
            });
            return Ok(());
        };
        let Some(atlas) = at.bytes(entry.path) else {
            bad(Problem {
                code: kiln_diagnostics::Code::FontMissingAtlas,
                message: format!(
                    "the font references the atlas {hash:#018x}, but its file {:?} does not exist",
                    entry.path
                ),
                hint: "run the build again: the texture was deleted",
            });
            return Ok(());
        };
        // An unreadable texture is reported for the texture itself.
        let Ok(atlas) = Ktx2View::read(&atlas) else { return Ok(()) };
        let (found, expected) = (atlas.shape(), (metrics.atlas_width, metrics.atlas_height));
        if (found.width, found.height) != (expected.0.into(), expected.1.into()) {
            bad(Problem {
                code: kiln_diagnostics::Code::FontAtlasSize,
                message: format!(
                    "the atlas {:?} is {}x{} texels, but the font was built for {}x{}",
                    entry.path, found.width, found.height, expected.0, expected.1
                ),
                hint: "run the build again: font and atlas are from different builds",
            });
        }
        Ok(())
    }
}

/// Returns the kind of distance field in the atlas.
#[cfg(feature = "tools")]
fn field(view: &HfontView<'_>) -> &'static str {
    if view.metrics().multi_channel { "MSDF" } else { "SDF" }
}
