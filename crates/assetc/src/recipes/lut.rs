//! `*.lut.cube`: a colour lookup table to a 3D texture, `.lut.ktx2`.

use super::ktx;
use crate::config::{LutDepth, Settings, Supercompress};
use crate::link::Row;
use crate::recipe::{Recipe, Suffix, suffix};
use crate::tools::Tools;
use kiln_format::hman::Colorspace;
use kiln_kit::{Code, Cook, Diag, RelPath, World};

/// A lookup table.
pub(crate) struct Lut;

impl Recipe for Lut {
    fn name(&self) -> &'static str {
        "lut"
    }

    fn sections(&self) -> &'static [&'static str] {
        &["lut", "texture"]
    }

    fn version(&self) -> u32 {
        ktx::VERSION
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        let name = suffix.stem.rsplit('/').next().unwrap_or_default();
        let marked = name
            .rsplit_once('.')
            .is_some_and(|(before, marker)| !before.is_empty() && marker.eq_ignore_ascii_case("lut"));
        is_file && marked && suffix.is(&["cube"])
    }

    fn output(&self, source: &RelPath) -> Option<RelPath> {
        RelPath::new(format!("{}.ktx2", suffix(source)?.stem)).ok()
    }

    fn colorspace(&self) -> Option<Colorspace> {
        Some(Colorspace::Linear)
    }

    fn weight(&self, source: &RelPath, _: &Settings, world: World<'_>) -> u64 {
        // A line of text, some twenty bytes, becomes twelve bytes of floats and then a texel.
        world.src_tree.stamp(source.as_str()).map_or(0, |stamp| stamp.len * 3)
    }

    fn cook(&self, cx: &mut Cook<'_>, settings: &Settings, _: &Tools) -> Result<Vec<Row>, Diag> {
        let source = cx.source();
        let imported = kiln_import::cube::import(&cx.read(source)?)?;
        for warning in imported.warnings {
            cx.warn(warning);
        }
        let depth = match settings.lut.depth {
            LutDepth::Unorm8 => kiln_texture::LutDepth::Unorm8,
            LutDepth::Float16 => kiln_texture::LutDepth::Float16,
        };
        let zstd = settings.texture.supercompress == Supercompress::Zstd;
        let encoded = kiln_texture::encode_lut(&imported.value, depth, zstd);
        let clamped = encoded.as_ref().map_or(0, |(_, clamped)| *clamped);
        if clamped > 0 {
            cx.warn(
                Diag::new(Code::LutClamped, format!("{clamped} values are out of range and were clamped"))
                    .hint("set lut.depth to float16 to keep values outside 0 to 1"),
            );
        }
        ktx::emit(cx, self.output(source), encoded.map(|(encoded, _)| encoded))?;
        Ok(vec![])
    }
}
