//! Light: `*.hdr` and `*.exr` to a `.ktx2` of half floats; `*.env.hdr` and `*.env.exr`, pictures of all directions, to a
//! cubemap `.env.ktx2`, and if it is wanted to `.irr.ktx2`, the light that falls on matt surfaces.

use super::ktx::{self, HEAD, texture_settings};
use crate::artifact::FileArtifact;
use crate::config::{self, Settings, Supercompress};
use crate::recipe::{Recipe, Suffix, suffix};
use crate::tools::Tools;
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceTree};
use kiln_format::hman::Colorspace;
use kiln_import::light::{self, LIGHT_EXTENSIONS};
use kiln_ir::LightMap;
use kiln_texture::EnvironmentSettings;

/// A picture of light.
pub(crate) struct Light;

/// A picture of light from all directions.
pub(crate) struct Environment;

/// What marks a picture of all directions.
const MARKER: &str = "env";

impl Recipe for Light {
    fn name(&self) -> &'static str {
        "light"
    }

    fn sections(&self) -> &'static [&'static str] {
        &["texture"]
    }

    fn version(&self) -> u32 {
        ktx::VERSION
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        is_file && suffix.is(LIGHT_EXTENSIONS)
    }

    fn output(&self, source: &RelPath) -> Option<RelPath> {
        RelPath::new(format!("{}.ktx2", suffix(source)?.stem)).ok()
    }

    fn colorspace(&self) -> Option<Colorspace> {
        Some(Colorspace::Linear)
    }

    fn weight(&self, source: &RelPath, _: &Settings, sources: SourceTree<'_>) -> u64 {
        let header = sources.fs.peek(source, HEAD).ok().and_then(|head| light::probe(&head));
        sources.len(source).saturating_add(header.map_or(0, memory_of))
    }

    fn run(
        &self,
        cx: &mut ActionContext<'_>,
        settings: &Settings,
        _: &Tools,
    ) -> Result<Vec<FileArtifact>, Diag> {
        let map = read(cx, memory_of)?;
        let kiln_texture::Settings { mips, max_size, .. } = texture_settings(settings);
        let zstd = settings.texture.supercompress == Supercompress::Zstd;
        let encoded = kiln_texture::encode_light(map, mips, max_size, zstd, cx.inputs.deadline());
        Ok(vec![ktx::artifact(cx, self.output(cx.source()), encoded)?])
    }
}

impl Recipe for Environment {
    fn name(&self) -> &'static str {
        "environment"
    }

    fn sections(&self) -> &'static [&'static str] {
        &["environment", "texture"]
    }

    fn version(&self) -> u32 {
        ktx::VERSION
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        is_file && suffix.is(LIGHT_EXTENSIONS) && name_of(suffix.stem).is_some()
    }

    fn output(&self, source: &RelPath) -> Option<RelPath> {
        Light.output(source)
    }

    fn writes(&self, source: &RelPath, output: &RelPath) -> bool {
        [self.output(source), irradiance(source)].iter().flatten().any(|path| path == output)
    }

    fn colorspace(&self) -> Option<Colorspace> {
        Some(Colorspace::Linear)
    }

    fn weight(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>) -> u64 {
        let header = sources.fs.peek(source, HEAD).ok().and_then(|head| light::probe(&head));
        sources.len(source).saturating_add(header.map_or(0, |size| environment_memory(size, settings)))
    }

    fn run(
        &self,
        cx: &mut ActionContext<'_>,
        settings: &Settings,
        _: &Tools,
    ) -> Result<Vec<FileArtifact>, Diag> {
        let source = cx.source();
        let map = read(cx, |size| environment_memory(size, settings))?;
        let (width, height) = (map.width(), map.height());
        if u64::from(width) != 2 * u64::from(height) {
            let message =
                format!("{width}x{height} texels, but a picture of all directions is twice as wide as high");
            return Err(Diag::new(Code::EnvironmentShape, message)
                .hint("export it as an equirectangular panorama, or name it without .env"));
        }
        let kiln_texture::Settings { mips, max_size, .. } = texture_settings(settings);
        let zstd = settings.texture.supercompress == Supercompress::Zstd;
        let wanted = &settings.environment;
        let (cube, matt) = kiln_texture::encode_environment(
            map,
            &EnvironmentSettings {
                size: wanted.size.map(config::Pixels::get),
                specular: wanted.specular,
                irradiance: wanted.irradiance,
                mips,
                max_size,
                zstd,
                deadline: cx.inputs.deadline(),
            },
        )
        .map_err(|error| ktx::failed(error, cx.inputs.limits()))?;
        let mut artifacts = vec![ktx::artifact(cx, self.output(source), Ok(cube))?];
        if let Some(matt) = matt {
            artifacts.push(ktx::artifact(cx, irradiance(source), Ok(matt))?);
        }
        Ok(artifacts)
    }
}

/// The output for the irradiance of an environment map.
fn irradiance(source: &RelPath) -> Option<RelPath> {
    let name = suffix(source).and_then(|suffix| name_of(suffix.stem))?;
    RelPath::new(format!("{name}.irr.ktx2")).ok()
}

/// What comes before the marker of a picture of all directions: `sky/dusk` of `sky/dusk.env`.
fn name_of(stem: &str) -> Option<&str> {
    let (before, marker) = stem.rsplit_once('.')?;
    let named = before.rsplit('/').next().is_some_and(|name| !name.is_empty());
    (named && marker.eq_ignore_ascii_case(MARKER)).then_some(before)
}

fn read(cx: &mut ActionContext<'_>, memory: impl Fn((u32, u32)) -> u64) -> Result<LightMap, Diag> {
    let bytes = cx.inputs.read(cx.source())?;
    let fits = |size: &(u32, u32)| cx.inputs.limits().check_pixels(size.0, size.1).is_ok();
    if let Some(size) = light::probe(&bytes).filter(fits) {
        cx.inputs.limits().check_memory(memory(size), "the texels in floats and their levels")?;
    }
    let imported = light::import(&bytes, cx.inputs.limits())?;
    imported.warnings.into_iter().for_each(|warning| cx.warn(warning));
    Ok(imported.value)
}

/// The texels in floats (16 bytes) and those of the next level; the half floats of both take their place.
fn memory_of((width, height): (u32, u32)) -> u64 {
    u64::from(width).saturating_mul(height.into()).saturating_mul(16 + 6).saturating_add(SCRATCH)
}

/// The texels in floats and the cubemap that is made of them; then the levels of the cubemap, in floats and halves.
fn environment_memory((width, height): (u32, u32), settings: &Settings) -> u64 {
    let side = settings.environment.size.map_or(width / 4, config::Pixels::get);
    let texels = u64::from(width).saturating_mul(height.into()).saturating_mul(16);
    let cube = u64::from(side).saturating_mul(side.into()).saturating_mul(6 * 16);
    let levels = cube.saturating_add(cube / 3);
    texels.saturating_add(cube).max(levels.saturating_mul(2)).saturating_add(SCRATCH)
}

/// Strips and compressors of the threads.
const SCRATCH: u64 = 32 << 20;
