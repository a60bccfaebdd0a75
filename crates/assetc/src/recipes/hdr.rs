//! HDR images: `*.hdr` and `*.exr` to an RGBA16F or BC6H `.ktx2`; environment maps, `*.env.hdr` and `*.env.exr`, to a cubemap
//! `.env.ktx2` and, if requested, to a cubemap of diffuse irradiance, `.irr.ktx2`.

use super::ktx::{self, HEAD, memory_settings};
use crate::config::{self, Settings, Supercompress};
use crate::recipe::{Compiled, Recipe, RecipeInfo, Suffix, suffix};
use crate::texture_format::{check_hdr_alpha, hdr_format};
use crate::tools::Tools;
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceTree};
use kiln_format::hman::Colorspace;
use kiln_import::hdr::{self, HDR_EXTENSIONS};
use kiln_ir::HdrImage;
use kiln_texture::{Choice, Encoded, EnvironmentSettings, HdrSettings, Ladder, Mips, Quality};

/// The recipe for an HDR image.
pub(crate) struct HdrTexture;

/// The recipe for an environment map: an HDR image in equirectangular projection.
pub(crate) struct Environment;

/// The name marker of environment maps.
const MARKER: &str = "env";

impl Recipe for HdrTexture {
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            // The name is part of cache keys and of `--json`, and stays what it was.
            name: "light",
            sections: &["texture"],
            version: ktx::VERSION,
            files: HDR_EXTENSIONS,
            output: "ktx2",
            colorspace: Some(Colorspace::Linear),
            is_texture: true,
            ..RecipeInfo::DEFAULT
        }
    }

    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64 {
        let header = sources.fs.peek(source, HEAD).ok().and_then(|head| hdr::probe(&head));
        sources.len(source).saturating_add(header.map_or(0, |size| memory_of(size, settings)))
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let map = read(cx, |size| memory_of(size, settings))?;
        let kiln_texture::Settings { mips, max_size, .. } = memory_settings(settings);
        let zstd = settings.texture.supercompress == Supercompress::Zstd;
        let bc6h = hdr_format(&settings.texture);
        if let Some(warning) = bc6h.and_then(|_| check_hdr_alpha(&map)) {
            cx.warn(warning);
        }
        let mut wanted = HdrSettings { mips, max_size, bc6h, zstd, deadline: cx.inputs.deadline() };
        let base = HdrSettings { mips: Mips::None, zstd: false, ..wanted };
        let longest = ktx::longest((map.width(), map.height()), max_size);
        let found = reach_quality(cx, settings, (bc6h, longest), |bc6h, max_size| {
            let max_size = max_size.or(base.max_size);
            kiln_texture::encode_hdr(map.clone(), &HdrSettings { bc6h, max_size, ..base })
        })?;
        if let Some(HdrChoice { bc6h, max_size }) = found {
            (wanted.bc6h, wanted.max_size) = (bc6h, max_size.or(wanted.max_size));
        }
        let encoded = kiln_texture::encode_hdr(map, &wanted);
        Ok(vec![ktx::artifact(cx, self.output(cx.source()), encoded)?])
    }
}

impl Recipe for Environment {
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            name: "environment",
            sections: &["environment", "texture"],
            version: ktx::VERSION,
            files: HDR_EXTENSIONS,
            output: "ktx2",
            colorspace: Some(Colorspace::Linear),
            is_texture: true,
            ..RecipeInfo::DEFAULT
        }
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        is_file && suffix.is(HDR_EXTENSIONS) && name_of(suffix.stem).is_some()
    }

    fn writes(&self, source: &RelPath, output: &RelPath) -> bool {
        [self.output(source), irradiance(source)].iter().flatten().any(|path| path == output)
    }

    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64 {
        let header = sources.fs.peek(source, HEAD).ok().and_then(|head| hdr::probe(&head));
        sources.len(source).saturating_add(header.map_or(0, |size| environment_memory(size, settings)))
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let source = cx.source();
        let map = read(cx, |size| environment_memory(size, settings))?;
        let (width, height) = (map.width(), map.height());
        if u64::from(width) != 2 * u64::from(height) {
            let message = format!(
                "an equirectangular environment map must be twice as wide as high, got {width}x{height} texels"
            );
            return Err(Diag::new(Code::EnvironmentShape, message)
                .hint("export the image as an equirectangular panorama, or remove .env from its name"));
        }
        let kiln_texture::Settings { mips, max_size, .. } = memory_settings(settings);
        let zstd = settings.texture.supercompress == Supercompress::Zstd;
        let wanted = &settings.environment;
        let mut wanted = EnvironmentSettings {
            size: wanted.size.map(config::Pixels::get),
            specular: wanted.specular,
            irradiance: wanted.irradiance,
            mips,
            max_size,
            bc6h: hdr_format(&settings.texture),
            zstd,
            deadline: cx.inputs.deadline(),
        };
        // The base level is the same with prefiltered mip levels, whose roughness starts at 0.
        let base = EnvironmentSettings {
            mips: Mips::None,
            specular: false,
            irradiance: false,
            zstd: false,
            ..wanted
        };
        let side = wanted.size.unwrap_or(width / 4).max(1);
        let longest = ktx::longest((side, side), max_size);
        let found = reach_quality(cx, settings, (wanted.bc6h, longest), |bc6h, max_size| {
            let max_size = max_size.or(base.max_size);
            let wanted = EnvironmentSettings { bc6h, max_size, ..base };
            kiln_texture::encode_environment(map.clone(), &wanted).map(|(cube, _)| cube)
        })?;
        if let Some(HdrChoice { bc6h, max_size }) = found {
            (wanted.bc6h, wanted.max_size) = (bc6h, max_size.or(wanted.max_size));
        }
        let (cube, diffuse) = kiln_texture::encode_environment(map, &wanted)
            .map_err(|error| ktx::failed(error, cx.inputs.limits()))?;
        let mut artifacts = vec![ktx::artifact(cx, self.output(source), Ok(cube))?];
        if let Some(diffuse) = diffuse {
            artifacts.push(ktx::artifact(cx, irradiance(source), Ok(diffuse))?);
        }
        Ok(artifacts)
    }
}

/// The settings that a target chooses for an HDR texture.
struct HdrChoice {
    /// The effort of BC6H; `None` for RGBA16F.
    bc6h: Option<Quality>,
    /// The longest side in texels, if the resolution is lowered.
    max_size: Option<u32>,
}

/// Finds the effort of BC6H and the longest side of `texture.size_target`, or those with which a texture reaches
/// `texture.quality`; `None` if that is no target. `encode` gets both.
fn reach_quality(
    cx: &mut ActionContext<'_>,
    settings: &Settings,
    (bc6h, longest): (Option<Quality>, u32),
    encode: impl Fn(Option<Quality>, Option<u32>) -> Result<Encoded, kiln_texture::Error>,
) -> Result<Option<HdrChoice>, Diag> {
    if !settings.texture.compress {
        return Ok(None);
    }
    if let Some(step) = settings.size_step {
        let choice = step.choice(longest, settings.texture.quality.effort());
        return Ok(Some(HdrChoice { bc6h: bc6h.map(|_| choice.quality), max_size: choice.max_size }));
    }
    let ladder = if bc6h.is_some() { Ladder::Effort } else { Ladder::Fixed };
    let effort = |choice: &Choice| bc6h.map(|_| choice.quality);
    let (limits, reference) = (*cx.inputs.limits(), || encode(None, None));
    let attempt = |choice: &Choice| encode(effort(choice), choice.max_size);
    let found = ktx::search_quality(settings, None, ladder, &limits, reference, attempt)?;
    Ok(found.map(|(choice, warning)| {
        warning.into_iter().for_each(|warning| cx.warn(warning));
        HdrChoice { bc6h: effort(&choice), max_size: choice.max_size }
    }))
}

/// Returns the output path of the diffuse irradiance of an environment map.
fn irradiance(source: &RelPath) -> Option<RelPath> {
    let name = suffix(source).and_then(|suffix| name_of(suffix.stem))?;
    RelPath::new(format!("{name}.irr.ktx2")).ok()
}

/// Returns the stem before the marker of an environment map: `sky/dusk` of `sky/dusk.env`.
fn name_of(stem: &str) -> Option<&str> {
    let (before, marker) = stem.rsplit_once('.')?;
    let named = before.rsplit('/').next().is_some_and(|name| !name.is_empty());
    (named && marker.eq_ignore_ascii_case(MARKER)).then_some(before)
}

fn read(cx: &mut ActionContext<'_>, memory: impl Fn((u32, u32)) -> u64) -> Result<HdrImage, Diag> {
    let bytes = cx.inputs.read(cx.source())?;
    let fits = |size: &(u32, u32)| cx.inputs.limits().check_pixels(size.0, size.1).is_ok();
    if let Some(size) = hdr::probe(&bytes).filter(fits) {
        cx.inputs.limits().check_memory(memory(size), "the float texels of the image and their mip chain")?;
    }
    let imported = hdr::import(&bytes, cx.inputs.limits())?;
    imported.warnings.into_iter().for_each(|warning| cx.warn(warning));
    Ok(imported.value)
}

/// Estimates the peak memory in bytes: the texels in floats (16 bytes each) and those of the next mip level, whose
/// half floats replace them.
fn memory_of((width, height): (u32, u32), settings: &Settings) -> u64 {
    let texels = u64::from(width).saturating_mul(height.into()).saturating_mul(16 + 6);
    texels.saturating_mul(ktx::attempts(settings)).saturating_add(SCRATCH)
}

/// Estimates the peak memory in bytes: the texels in floats and the cubemap that is sampled from them, then the mip
/// chain of the cubemap in floats and half floats.
fn environment_memory((width, height): (u32, u32), settings: &Settings) -> u64 {
    let side = settings.environment.size.map_or(width / 4, config::Pixels::get);
    let texels = u64::from(width).saturating_mul(height.into()).saturating_mul(16);
    let cube = u64::from(side).saturating_mul(side.into()).saturating_mul(6 * 16);
    let levels = cube.saturating_add(cube / 3);
    let needed = texels.saturating_add(cube).max(levels.saturating_mul(2));
    needed.saturating_mul(ktx::attempts(settings)).saturating_add(SCRATCH)
}

/// Working memory of the threads in bytes: image strips and Zstd contexts.
const SCRATCH: u64 = 32 << 20;
