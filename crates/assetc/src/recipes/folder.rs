//! A folder of pictures that is one source: the faces of a cubemap, the layers of an array.

use super::texture::{read_image, weigh};
use crate::config::Settings;
use kiln_import::Imported;
use kiln_import::faces::Sized;
use kiln_ir::Image;
use kiln_kit::{Cook, Diag, Entry, RelPath, World};

/// Reads the pictures of the folder that is cooked: those that `pick` chooses by name, in its order.
pub(crate) fn read<'a, I: Into<Vec<usize>>>(
    cx: &mut Cook<'a>,
    pick: impl Fn(&[&str]) -> Result<Imported<I>, Diag>,
) -> Result<Vec<(&'a str, Image)>, Diag> {
    let paths = files(cx.list(cx.source())?.into_iter());
    let names: Vec<&str> = paths.iter().map(|path| path.file_name()).collect();
    let picked = pick(&names)?;
    picked.warnings.into_iter().for_each(|warning| cx.warn(warning));
    let read = |index: usize| Ok((names[index], read_image(cx, paths[index])?));
    picked.value.into().into_iter().map(read).collect()
}

/// The names and sizes of pictures.
pub(crate) fn sizes<'a>(pictures: &[(&'a str, Image)]) -> Vec<Sized<'a>> {
    let size =
        |(name, image): &(&'a str, Image)| Sized { name, width: image.width(), height: image.height() };
    pictures.iter().map(size).collect()
}

/// The memory it takes to cook a folder.
pub(crate) fn weight(source: &RelPath, settings: &Settings, world: World<'_>) -> u64 {
    weigh(&files(world.src_tree.children(source)), settings, world)
}

fn files<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<&'a RelPath> {
    entries.filter(|entry| entry.file.is_some()).map(|entry| &entry.path).collect()
}
