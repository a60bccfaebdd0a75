//! `*.env/`: six square faces to one `.env.ktx2`.

use super::ktx;
use super::texture::{read_image, texture_settings, weigh};
use crate::config::Settings;
use crate::link::Row;
use crate::recipe::{Recipe, Suffix};
use kiln_import::faces;
use kiln_ir::Image;
use kiln_kit::{Cook, Diag, Entry, RelPath, World};
use kiln_texture::Mode;

/// A folder of six faces.
pub(crate) struct Cubemap;

impl Recipe for Cubemap {
    fn name(&self) -> &'static str {
        "cubemap"
    }

    fn sections(&self) -> &'static [&'static str] {
        &["texture"]
    }

    fn version(&self) -> u32 {
        ktx::VERSION
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        !is_file && suffix.is(&["env"])
    }

    fn output(&self, source: &RelPath) -> Option<RelPath> {
        RelPath::new(format!("{source}.ktx2")).ok()
    }

    fn weight(&self, source: &RelPath, settings: &Settings, world: World<'_>) -> u64 {
        weigh(&files(world.src_tree.children(source)), settings, world)
    }

    fn cook(&self, cx: &mut Cook<'_>, settings: &Settings) -> Result<Vec<Row>, Diag> {
        let source = cx.source();
        let paths = files(cx.list(source)?.into_iter());
        let names: Vec<&str> = paths.iter().map(|path| path.file_name()).collect();
        let picked = faces::cube_faces(&names)?;
        for warning in picked.warnings {
            cx.warn(warning);
        }
        let mut images = Vec::with_capacity(6);
        for index in picked.value {
            images.push((names[index], read_image(cx, paths[index])?));
        }
        faces::cube_side(&sizes(&images))?;
        let images: Vec<Image> = images.into_iter().map(|(_, image)| image).collect();
        let images =
            images.try_into().map_err(|_| Diag::error("cubemap-face-missing", "a cubemap has six faces"))?;
        let encoded = kiln_texture::encode_cube(images, Mode::Color, &texture_settings(settings));
        ktx::emit(cx, self.output(source), encoded)?;
        Ok(vec![])
    }
}

/// The files among some entries.
pub(crate) fn files<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<&'a RelPath> {
    entries.filter(|entry| entry.file.is_some()).map(|entry| &entry.path).collect()
}

/// The sizes of named images.
pub(crate) fn sizes<'a>(images: &[(&'a str, Image)]) -> Vec<faces::Sized<'a>> {
    images
        .iter()
        .map(|(name, image)| faces::Sized { name, width: image.width(), height: image.height() })
        .collect()
}
