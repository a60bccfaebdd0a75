//! The folders that one thread has read, one after the other in a few large buffers.
//!
//! Buffers of their own would cost five allocations for each folder, and the memory of a thread would grow in steps of a page.

use super::folder::{Asset, Child, Folder, FolderView, Sub};
use crate::documents::Ref;
use kiln_engine::Diag;

/// Folders of the project.
#[derive(Default)]
pub(crate) struct FolderBatch {
    /// The path of each folder, followed by its strings.
    strings: String,
    children: Vec<Child>,
    assets: Vec<Asset>,
    subs: Vec<Sub>,
    refs: Vec<Ref>,
    folders: Vec<Ends>,
}

/// The end of a folder in the buffers of a batch. A folder starts at the end of the one before it.
struct Ends {
    stamp: u64,
    path: usize,
    strings: usize,
    children: usize,
    assets: usize,
    subs: usize,
    refs: usize,
    diags: Vec<Diag>,
}

impl FolderBatch {
    /// Moves a folder into the batch. The folder is empty then and keeps its buffers for the next one.
    pub(crate) fn push(&mut self, folder: &mut Folder) {
        self.strings.push_str(&folder.path);
        let path = self.strings.len();
        self.strings.push_str(&folder.strings);
        self.children.extend_from_slice(&folder.children);
        self.assets.extend_from_slice(&folder.assets);
        self.subs.extend_from_slice(&folder.subs);
        self.refs.extend_from_slice(&folder.refs);
        self.folders.push(Ends {
            stamp: folder.stamp,
            path,
            strings: self.strings.len(),
            children: self.children.len(),
            assets: self.assets.len(),
            subs: self.subs.len(),
            refs: self.refs.len(),
            diags: std::mem::take(&mut folder.diags),
        });
        folder.clear();
    }

    /// Returns the number of folders.
    pub(crate) fn len(&self) -> usize {
        self.folders.len()
    }

    /// Iterates over the folders.
    pub(crate) fn views(&self) -> impl Iterator<Item = FolderView<'_>> {
        let mut start = (0, 0, 0, 0, 0);
        self.folders.iter().map(move |end| {
            let (strings, children, assets, subs, refs) = start;
            start = (end.strings, end.children, end.assets, end.subs, end.refs);
            FolderView {
                path: &self.strings[strings..end.path],
                stamp: end.stamp,
                strings: &self.strings[end.path..end.strings],
                children: &self.children[children..end.children],
                assets: &self.assets[assets..end.assets],
                subs: &self.subs[subs..end.subs],
                refs: &self.refs[refs..end.refs],
                diags: &end.diags,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &str, names: &[&str]) -> Folder {
        let mut folder = Folder { path: path.to_owned(), stamp: path.len() as u64, ..Folder::default() };
        for name in names {
            let name = folder.intern(name);
            folder.children.push(Child { name, ..Child::default() });
            folder.subs.push(Sub { file_id: name.at.into(), class_id: 1, name });
        }
        folder
    }

    #[test]
    fn folders_of_a_batch_equal_those_that_were_pushed() {
        let all =
            || [folder("Assets", &["a", "bc"]), folder("Assets/empty", &[]), folder("P/é", &["ü", "x"])];
        let mut batch = FolderBatch::default();
        let mut buffer = Folder::default();
        for each in all() {
            buffer = Folder { strings: each.strings, children: each.children, subs: each.subs, ..buffer };
            (buffer.path, buffer.stamp) = (each.path, each.stamp);
            batch.push(&mut buffer);
            assert!(buffer.path.is_empty() && buffer.children.is_empty() && buffer.strings.is_empty());
        }
        assert_eq!(batch.len(), 3);
        for (view, expected) in batch.views().zip(all()) {
            assert!(view.means(&expected.view()), "{}", view.path);
            assert_eq!(view.stamp, expected.stamp);
        }
    }
}
