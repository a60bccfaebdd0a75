//! Light: `*.hdr` and `*.exr` to a `.ktx2` of half floats; `*.env.hdr` and `*.env.exr`, pictures of all directions, to a
//! cubemap `.env.ktx2`, and if it is wanted to `.irr.ktx2`, the light that falls on matt surfaces.

use super::ktx;
use super::texture::{HEAD, texture_settings};
use crate::config::{self, Settings, Supercompress};
use crate::link::Row;
use crate::recipe::{Recipe, Suffix, suffix};
use crate::tools::Tools;
use kiln_format::hman::Colorspace;
use kiln_import::image::Limits;
use kiln_import::light::{self, LIGHT_EXTENSIONS};
use kiln_ir::LightMap;
use kiln_kit::{Cook, Diag, RelPath, World};
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

    fn weight(&self, source: &RelPath, _: &Settings, world: World<'_>) -> u64 {
        weigh(source, world)
    }

    fn cook(&self, cx: &mut Cook<'_>, settings: &Settings, _: &Tools) -> Result<Vec<Row>, Diag> {
        let map = read(cx)?;
        let kiln_texture::Settings { mips, max_size, .. } = texture_settings(settings);
        let zstd = settings.texture.supercompress == Supercompress::Zstd;
        let encoded = kiln_texture::encode_light(map, mips, max_size, zstd);
        ktx::emit(cx, self.output(cx.source()), encoded)?;
        Ok(vec![])
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

    fn weight(&self, source: &RelPath, settings: &Settings, world: World<'_>) -> u64 {
        let side = settings.environment.size.map_or(0, config::Pixels::get);
        weigh(source, world)
            .saturating_add(u64::from(side).saturating_mul(u64::from(side)).saturating_mul(6 * 40))
    }

    fn cook(&self, cx: &mut Cook<'_>, settings: &Settings, _: &Tools) -> Result<Vec<Row>, Diag> {
        let source = cx.source();
        let map = read(cx)?;
        let (width, height) = (map.width(), map.height());
        if u64::from(width) != 2 * u64::from(height) {
            let message =
                format!("{width}x{height} texels, but a picture of all directions is twice as wide as high");
            return Err(Diag::error("environment-shape", message)
                .hint("export it as an equirectangular panorama, or name it without .env"));
        }
        let kiln_texture::Settings { mips, max_size, .. } = texture_settings(settings);
        let zstd = settings.texture.supercompress == Supercompress::Zstd;
        let wanted = &settings.environment;
        let (cube, matt) = kiln_texture::encode_environment(
            &map,
            &EnvironmentSettings {
                size: wanted.size.map(config::Pixels::get),
                specular: wanted.specular,
                irradiance: wanted.irradiance,
                mips,
                max_size,
                zstd,
            },
        )
        .map_err(|error| Diag::error("texture", error.to_string()))?;
        ktx::emit(cx, self.output(source), Ok(cube))?;
        if let Some(matt) = matt {
            ktx::emit(cx, irradiance(source), Ok(matt))?;
        }
        Ok(vec![])
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

fn read(cx: &mut Cook<'_>) -> Result<LightMap, Diag> {
    let imported = light::import(&cx.read(cx.source())?, &Limits::default())?;
    imported.warnings.into_iter().for_each(|warning| cx.warn(warning));
    Ok(imported.value)
}

/// The file, its texels in floats twice over, and the levels.
fn weigh(source: &RelPath, world: World<'_>) -> u64 {
    let file = world.src_tree.stamp(source.as_str()).map_or(0, |stamp| stamp.len);
    let size = world.src.peek(source, HEAD).ok().and_then(|head| light::probe(&head));
    let (width, height) = size.unwrap_or_default();
    let texels = u64::from(width).saturating_mul(height.into());
    file.saturating_add(texels.saturating_mul(16 * 2 + 16))
}
