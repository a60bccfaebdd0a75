//! The index of a server: refreshed when a file changed, and otherwise only opened.

use super::folder_watch::FolderWatch;
use super::{Failure, Session, bake};
use ::unity_assetdb::index::Index;
use std::cell::RefCell;
use std::path::Path;

/// The number of refreshes in which new folders may appear before a request is answered without a watch.
const MAX_ROUNDS: usize = 4;

/// The index of a server, as far as it is known to be up to date.
#[derive(Default)]
pub(super) struct WarmIndex(RefCell<Warmth>);

#[derive(Default)]
enum Warmth {
    /// Nothing is known yet.
    #[default]
    Cold,
    /// All folders are watched. The flag is true if the index was refreshed after the last change.
    Watched(FolderWatch, bool),
    /// The folders cannot be watched: every request refreshes.
    Unavailable,
}

impl WarmIndex {
    /// Opens the index of a project, refreshed if a file may have changed since the last call.
    pub(super) fn open(&self, session: &Session, root: &Path, out_dir: &Path) -> Result<Index, Failure> {
        let warmth = &mut *self.0.borrow_mut();
        let mut watch = match std::mem::take(warmth) {
            Warmth::Watched(mut watch, is_current) if watch.is_of(root) => {
                let is_current = is_current && !watch.changed() && !session.rebuild.get();
                if is_current && let Ok(index) = Index::open(out_dir) {
                    *warmth = Warmth::Watched(watch, true);
                    return Ok(index.assume_fresh());
                }
                watch
            }
            Warmth::Unavailable => {
                *warmth = Warmth::Unavailable;
                return bake::refresh(session, root, out_dir);
            }
            _ => match FolderWatch::new(root) {
                Some(watch) => watch,
                None => {
                    *warmth = Warmth::Unavailable;
                    return bake::refresh(session, root, out_dir);
                }
            },
        };
        let mut rounds = 0;
        loop {
            // Changes from here on are events of the next call.
            watch.changed();
            let index = match bake::refresh(session, root, out_dir) {
                Ok(index) => index,
                Err(failure) => {
                    *warmth = Warmth::Watched(watch, false);
                    return Err(failure);
                }
            };
            rounds += 1;
            match watch.add_folders(&index) {
                None => *warmth = Warmth::Unavailable,
                // A file may have been written to a new folder before it was watched.
                Some(true) if rounds < MAX_ROUNDS => continue,
                Some(any) => *warmth = Warmth::Watched(watch, !any),
            }
            return Ok(index);
        }
    }
}
