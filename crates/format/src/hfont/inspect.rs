//! Fonts in the table of formats: what `info`, `check` and the dumps say about them.

use super::{HfontView, MAGIC};
use crate::hpack::PackKind;
use crate::{Error, Format, table::sealed::Sealed};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, Lookup, Problem, hfont, hman, ktx2::Ktx2View};
#[cfg(feature = "tools")]
use alloc::format;

/// The row of the format table.
#[derive(Clone, Copy, Debug)]
pub struct HFont;

impl Sealed for HFont {}

impl Format for HFont {
    fn name(&self) -> &'static str {
        "hfont"
    }

    fn ext(&self) -> &'static str {
        "hfont"
    }

    fn magic(&self) -> &'static [u8] {
        &MAGIC
    }

    fn title(&self) -> &'static str {
        "fonts"
    }

    fn pack_kind(&self) -> PackKind {
        PackKind::Font
    }

    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        HfontView::read(bytes)?.verify()
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HfontView::read(bytes)?;
        let metrics = view.metrics();
        write!(
            out,
            "v{} | {} glyphs | {} kerning pairs | atlas: {}x{} {} | line: {:.3} em",
            hfont::VERSION,
            view.glyphs().len(),
            view.pairs().len(),
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
        writeln!(out, "hfont v{}, {} glyphs, {} pairs", hfont::VERSION, glyphs.len(), pairs.len())?;
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
    fn cross(
        &self,
        _path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let metrics = HfontView::read(bytes)?.metrics();
        let hash = metrics.atlas_tex;
        let Some(manifest) = at.bytes(hman::PATH) else {
            bad(Problem {
                code: kiln_diagnostics::Code::FontWithoutManifest,
                message: format!("no {} found, but the atlas is named by hash", hman::PATH),
                hint: "build again: the manifest was deleted, or the last build failed",
            });
            return Ok(());
        };
        // A manifest that cannot be read is reported under its own name.
        let Ok(manifest) = hman::HmanView::read(&manifest) else { return Ok(()) };
        let Some(entry) = manifest.find(hash) else {
            bad(Problem {
                code: kiln_diagnostics::Code::FontUnknownAtlas,
                message: format!("atlas ref {hash:#018x} not in manifest"),
                hint: "build again: font and manifest are from different builds",
            });
            return Ok(());
        };
        let Some(atlas) = at.bytes(entry.path) else {
            bad(Problem {
                code: kiln_diagnostics::Code::FontMissingAtlas,
                message: format!("atlas ref {hash:#018x} -> missing {:?}", entry.path),
                hint: "build again: the texture was deleted",
            });
            return Ok(());
        };
        // A texture that cannot be read is reported under its own name.
        let Ok(atlas) = Ktx2View::read(&atlas) else { return Ok(()) };
        let (found, expected) = (atlas.shape(), (metrics.atlas_width, metrics.atlas_height));
        if (found.width, found.height) != (expected.0.into(), expected.1.into()) {
            bad(Problem {
                code: kiln_diagnostics::Code::FontAtlasSize,
                message: format!(
                    "the atlas {:?} is {}x{}, but the font was made for {}x{}",
                    entry.path, found.width, found.height, expected.0, expected.1
                ),
                hint: "build again: font and atlas are from different builds",
            });
        }
        Ok(())
    }
}

/// What the texels are called.
#[cfg(feature = "tools")]
fn field(view: &HfontView<'_>) -> &'static str {
    if view.metrics().multi_channel { "MSDF" } else { "SDF" }
}
