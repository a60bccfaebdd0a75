//! A folder of pictures that is one source: the faces of a cubemap, the layers of an array.

use super::ktx::{self, texture_settings, weigh};
use crate::config::Settings;
use crate::recipe::suffix;
use kiln_engine::limits::MemoryBudget;
use kiln_engine::{ActionContext, Diag, Entry, RelPath, SourceTree};
use kiln_import::Imported;
use kiln_import::faces::Sized;
use kiln_import::image::{self, Header};
use kiln_ir::Image;

/// Reads the images of the folder that is cooked: those that `pick` chooses by name, in its order. All of them are in
/// memory at the same time, so what their headers state is added up before any is decoded.
pub(crate) fn read<'a, I: Into<Vec<usize>>>(
    cx: &mut ActionContext<'a>,
    cube: bool,
    settings: &Settings,
    pick: impl Fn(&[&str]) -> Result<Imported<I>, Diag>,
) -> Result<Vec<(&'a str, Image)>, Diag> {
    let paths = files(cx.inputs.list(cx.source())?.into_iter());
    let names: Vec<&str> = paths.iter().map(|path| path.file_name()).collect();
    let picked = pick(&names)?;
    picked.warnings.into_iter().for_each(|warning| cx.warn(warning));
    let picked: Vec<usize> = picked.value.into();
    let budget = MemoryBudget::new(*cx.inputs.limits());
    let mut images = Vec::with_capacity(picked.len());
    for index in &picked {
        cx.inputs.check_deadline()?;
        let mut decoded = 0;
        let path = paths[*index];
        let bytes = cx.inputs.read(path)?;
        let extension = suffix(path).map_or("", |s| s.ext);
        let memory = |header| {
            let Header { width, height, channel_bytes } = header;
            decoded =
                u64::from(width).saturating_mul(height.into()).saturating_mul(4 * u64::from(channel_bytes));
            ktx::memory_of(header, picked.len() as u32, cube, &texture_settings(settings))
        };
        ktx::needed(&bytes, extension, cx.inputs.limits(), memory)?;
        budget.charge(decoded, format_args!("the texels of {} images", picked.len()))?;
        let imported =
            image::import(&bytes, extension, cx.inputs.limits()).map_err(|diag| diag.path(path))?;
        imported.warnings.into_iter().for_each(|warning| cx.warn(warning.path(path)));
        images.push((names[*index], imported.value));
    }
    Ok(images)
}

/// The names and sizes of pictures.
pub(crate) fn sizes<'a>(pictures: &[(&'a str, Image)]) -> Vec<Sized<'a>> {
    let size =
        |(name, image): &(&'a str, Image)| Sized { name, width: image.width(), height: image.height() };
    pictures.iter().map(size).collect()
}

/// The memory it takes to cook a folder.
pub(crate) fn weight(source: &RelPath, cube: bool, settings: &Settings, sources: SourceTree<'_>) -> u64 {
    weigh(&files(sources.tree.children(source)), cube, settings, sources)
}

fn files<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<&'a RelPath> {
    entries.filter(|entry| entry.file.is_some()).map(|entry| &entry.path).collect()
}
