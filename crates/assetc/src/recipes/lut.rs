//! `*.lut.cube`: a colour lookup table to a 3D texture, `.lut.ktx2`.

use super::ktx;
use crate::config::{Settings, Supercompress};
use crate::recipe::{Compiled, Recipe, RecipeInfo, Suffix};
use crate::tools::Tools;
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceTree, counted};
use kiln_format::hman::Colorspace;

/// The recipe for a colour lookup table.
pub(crate) struct Lut;

impl Recipe for Lut {
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            name: "lut",
            sections: &["lut", "texture"],
            version: ktx::VERSION,
            files: &["cube"],
            output: "ktx2",
            colorspace: Some(Colorspace::Linear),
            ..RecipeInfo::DEFAULT
        }
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        let name = suffix.stem.rsplit('/').next().unwrap_or_default();
        let marked = name
            .rsplit_once('.')
            .is_some_and(|(before, marker)| !before.is_empty() && marker.eq_ignore_ascii_case("lut"));
        is_file && marked && suffix.is(&["cube"])
    }

    fn weight(&self, source: &RelPath, _: &Settings, sources: SourceTree<'_>) -> u64 {
        // A line of text, some twenty bytes, becomes twelve bytes of floats and then a texel.
        sources.tree.stamp(source.as_str()).map_or(0, |stamp| stamp.len * 3)
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let source = cx.source();
        let imported = kiln_import::cube::import(&cx.inputs.read(source)?)?;
        for warning in imported.warnings {
            cx.warn(warning);
        }
        let zstd = settings.texture.supercompress == Supercompress::Zstd;
        let encoded = kiln_texture::encode_lut(&imported.value, settings.lut.depth, zstd);
        let clamped = encoded.as_ref().map_or(0, |(_, clamped)| *clamped);
        if clamped > 0 {
            cx.warn(
                Diag::new(Code::LutClamped, out_of_range(clamped as usize))
                    .hint("set lut.depth to float16 to keep values outside 0 to 1"),
            );
        }
        Ok(vec![ktx::artifact(cx, self.output(source), encoded.map(|(encoded, _)| encoded))?])
    }
}

fn out_of_range(values: usize) -> String {
    let (one, many) =
        ("value is outside 0 to 1 and was clamped", "values are outside 0 to 1 and were clamped");
    counted(values, one, many)
}
