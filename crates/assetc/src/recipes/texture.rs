//! Images: `*.png` colour, `*.n.png` normals, `*.ao.png`, `*.h.png` and `*.r.png` greyscale, and the same for the
//! other image formats, to `.ktx2`.

use super::ktx;
use super::mesh::materials::colorspace;
use crate::config::{self, Settings};
use crate::link::Row;
use crate::recipe::{Recipe, Suffix, suffix};
use crate::tools::Tools;
use kiln_format::hman::Colorspace;
use kiln_import::image::{self, Header, IMAGE_EXTENSIONS};
use kiln_kit::{Cook, Diag, RelPath, World};
use kiln_texture::Mode;

/// How much of a file is looked at to learn its dimensions.
pub(crate) const HEAD: usize = 64 << 10;

/// An image of one mode.
pub(crate) struct Texture(pub(crate) Mode);

impl Recipe for Texture {
    fn name(&self) -> &'static str {
        mode_name(self.0)
    }

    fn sections(&self) -> &'static [&'static str] {
        &["texture"]
    }

    fn version(&self) -> u32 {
        ktx::VERSION
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        is_file && suffix.mode == self.0 && suffix.is(IMAGE_EXTENSIONS)
    }

    fn output(&self, source: &RelPath) -> Option<RelPath> {
        RelPath::new(format!("{}.ktx2", suffix(source)?.stem)).ok()
    }

    fn colorspace(&self) -> Option<Colorspace> {
        Some(colorspace(self.0))
    }

    fn weight(&self, source: &RelPath, settings: &Settings, world: World<'_>) -> u64 {
        weigh(&[source], false, settings, world)
    }

    fn cook(&self, cx: &mut Cook<'_>, settings: &Settings, _: &Tools) -> Result<Vec<Row>, Diag> {
        let source = cx.source();
        let bytes = cx.read(source)?;
        let output = self.output(source).ok_or_else(ktx::nameless)?;
        let picture = ktx::Picture { bytes: &bytes, extension: suffix(source).map_or("", |s| s.ext) };
        for warning in ktx::emit_picture(cx, &output, picture, self.0, settings)? {
            cx.warn(warning);
        }
        Ok(vec![])
    }
}

/// What a mode is called in cache keys and listings.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Color => "color",
        Mode::LinearColor => "linear",
        Mode::Normal => "normal",
        Mode::Grayscale => "grayscale",
    }
}

/// Returns whether a mode is called like this.
pub(crate) fn is_mode_name(name: &str) -> bool {
    let modes = [Mode::Color, Mode::LinearColor, Mode::Normal, Mode::Grayscale];
    modes.into_iter().any(|mode| mode_name(mode) == name)
}

/// The memory it takes to cook these images together, by what their headers state.
pub(crate) fn weigh(paths: &[&RelPath], cube: bool, settings: &Settings, world: World<'_>) -> u64 {
    let header = |path: &&RelPath| {
        let extension = suffix(path).map_or("", |s| s.ext);
        world.src.peek(path, HEAD).ok().and_then(|head| image::probe(&head, extension))
    };
    let larger = |a: Header, b: Header| Header {
        width: a.width.max(b.width),
        height: a.height.max(b.height),
        channel_bytes: a.channel_bytes.max(b.channel_bytes),
    };
    let files: u64 = paths.iter().filter_map(|path| world.src_tree.stamp(path.as_str())).map(|s| s.len).sum();
    // A header may claim any size; one that is beyond the limits is refused when it is read.
    let images =
        paths.iter().filter_map(header).reduce(larger).map_or(0, |largest| {
            ktx::memory_of(largest, paths.len() as u32, cube, &texture_settings(settings))
        });
    files.saturating_add(images)
}

/// The settings of the file as the texture crate takes them.
pub(crate) fn texture_settings(settings: &Settings) -> kiln_texture::Settings {
    let texture = &settings.texture;
    kiln_texture::Settings {
        compress: texture.compress,
        format: match texture.format {
            config::BlockFormat::Uastc => kiln_texture::BlockFormat::Uastc,
            config::BlockFormat::Bc7 => kiln_texture::BlockFormat::Bc7,
        },
        mips: match texture.mips {
            config::Mips::Full => kiln_texture::Mips::Full,
            config::Mips::Levels(count) => kiln_texture::Mips::Count(count),
        },
        max_size: texture.max_size.map(config::Pixels::get),
        quality: match texture.quality {
            config::Quality::Fast => kiln_texture::Quality::Fast,
            config::Quality::Default => kiln_texture::Quality::Default,
            config::Quality::High => kiln_texture::Quality::High,
        },
        rdo: Some(texture.rdo.get()).filter(|lambda| *lambda > 0.0),
        // Raw texels are always packed: that is what makes the pixel-exact path bearable.
        zstd: !texture.compress || texture.supercompress == config::Supercompress::Zstd,
        alpha_coverage: texture.alpha_coverage.map(config::CutOff::get),
        deadline: None,
    }
}
