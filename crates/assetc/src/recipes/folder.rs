//! Folders of images that are one source: the faces of a cubemap, the layers of an array.

use super::ktx::{self, memory_settings, weigh};
use crate::config::Settings;
use crate::recipe::suffix;
use kiln_engine::MemoryBudget;
use kiln_engine::{ActionContext, Diag, Entry, RelPath, SourceTree};
use kiln_import::Imported;
use kiln_import::faces::ImageSize;
use kiln_import::image::{self, Header};
use kiln_ir::Image;

/// Reads the images of the source folder that `pick` selects by name, in its order. All images are in memory at the same
/// time, so the sizes in their headers are charged to the memory limit before an image is decoded.
pub(crate) fn read<'a, I: Into<Vec<usize>>>(
    cx: &mut ActionContext<'a>,
    cube: bool,
    settings: &Settings,
    pick: impl Fn(&[&str]) -> Result<Imported<I>, Diag>,
) -> Result<Vec<(&'a str, Image)>, Diag> {
    let paths = files(cx.inputs.list(cx.source())?.into_iter(), settings);
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
            ktx::memory_of(header, picked.len() as u32, cube, &memory_settings(settings))
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

/// Returns the names and sizes of images.
pub(crate) fn sizes<'a>(images: &[(&'a str, Image)]) -> Vec<ImageSize<'a>> {
    let size =
        |(name, image): &(&'a str, Image)| ImageSize { name, width: image.width(), height: image.height() };
    images.iter().map(size).collect()
}

/// Estimates the peak memory of compiling a folder, in bytes.
pub(crate) fn weight(source: &RelPath, cube: bool, settings: &Settings, sources: SourceTree<'_>) -> u64 {
    weigh(&files(sources.tree.children(source), settings), cube, settings, sources)
}

/// Returns the paths of the files that are not excluded.
pub(crate) fn files<'a>(entries: impl Iterator<Item = &'a Entry>, settings: &Settings) -> Vec<&'a RelPath> {
    let is_used = |entry: &&Entry| entry.file.is_some() && !settings.roles.excludes(entry.path.as_str());
    entries.filter(is_used).map(|entry| &entry.path).collect()
}
