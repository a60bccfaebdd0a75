//! A pak for development: baked from its sources on demand, for hot reload.

use super::{Bake, BakeError, Baked};
use crate::{Change, Options, PakBuf};
use kiln_engine::{Code, Diag};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A pak that is baked again when its sources change. As the top layer of an [`Overlay`](crate::Overlay) it enables hot
/// reload during development.
#[derive(Debug)]
pub struct DevPak {
    src: PathBuf,
    dst: PathBuf,
    dir: Option<PathBuf>,
    pak: Arc<PakBuf>,
}

/// An event of [`DevPak::watch`].
#[derive(Debug)]
#[non_exhaustive]
pub enum WatchEvent {
    /// The pak was baked again, and these keys differ from the pak before.
    Changed {
        /// The keys, sorted.
        keys: Vec<(String, Change)>,
        /// The report of the bake.
        baked: Baked,
    },
    /// The bake failed; the pak of the last successful bake stays open.
    Failed(BakeError),
}

impl DevPak {
    /// Bakes the content file `src` into the pak `dst` and opens it. The pak is kept, so that the next bake is
    /// incremental.
    ///
    /// # Errors
    /// As for [`Bake::run`], and `unreadable` if the new pak cannot be opened.
    pub fn open(src: impl Into<PathBuf>, dst: impl Into<PathBuf>) -> Result<DevPak, BakeError> {
        DevPak::open_in(src.into(), dst.into(), None)
    }

    /// Bakes the content file `src` into the pak `dst`, with paths relative to `dir`, and opens it.
    ///
    /// # Errors
    /// As for [`DevPak::open`].
    pub fn open_with_dir(
        src: impl Into<PathBuf>,
        dst: impl Into<PathBuf>,
        dir: impl Into<PathBuf>,
    ) -> Result<DevPak, BakeError> {
        DevPak::open_in(src.into(), dst.into(), Some(dir.into()))
    }

    fn open_in(src: PathBuf, dst: PathBuf, dir: Option<PathBuf>) -> Result<DevPak, BakeError> {
        bake(&src, &dst, dir.as_ref()).run()?;
        let pak = open(&dst)?;
        Ok(DevPak { src, dst, dir, pak })
    }

    /// Returns the pak of the last bake.
    pub fn pak(&self) -> Arc<PakBuf> {
        self.pak.clone()
    }

    /// Bakes the assets that changed and opens the new pak if any did. A clone of the old [`Arc`] stays valid.
    ///
    /// # Errors
    /// As for [`DevPak::open`]. The pak of the last successful bake stays open then.
    pub fn refresh(&mut self) -> Result<Baked, BakeError> {
        let baked = bake(&self.src, &self.dst, self.dir.as_ref()).run()?;
        if !baked.unchanged {
            self.pak = open(&self.dst)?;
        }
        Ok(baked)
    }

    /// Polls the sources, bakes again when they changed, and reports the keys that differ, until `on_event` returns
    /// [`ControlFlow::Break`]. The thread sleeps for `interval` between two polls; a poll without changes compares
    /// timestamps only. A failure is reported once, until the sources change again.
    pub fn watch(
        &mut self,
        interval: Duration,
        mut on_event: impl FnMut(&DevPak, WatchEvent) -> ControlFlow<()>,
    ) {
        let mut last_failure = None;
        loop {
            std::thread::sleep(interval);
            let old = self.pak();
            let event = match self.refresh() {
                Ok(baked) => {
                    last_failure = None;
                    let keys = self.pak.changes_since(&old);
                    if keys.is_empty() {
                        continue;
                    }
                    WatchEvent::Changed { keys, baked }
                }
                Err(error) => {
                    let message = Some(error.to_string());
                    if last_failure == message {
                        continue;
                    }
                    last_failure = message;
                    WatchEvent::Failed(error)
                }
            };
            if on_event(self, event).is_break() {
                return;
            }
        }
    }
}

fn bake<'a>(src: &Path, dst: &Path, dir: Option<&PathBuf>) -> Bake<'a> {
    let bake = Bake::new(src, dst);
    match dir {
        Some(dir) => bake.dir(dir),
        None => bake,
    }
}

/// Another name of [`DevPak`].
pub type Loose = DevPak;

fn open(path: &Path) -> Result<Arc<PakBuf>, BakeError> {
    // Windows does not replace a mapped file, and the next bake replaces this one.
    let pak = PakBuf::open_with(path, Options::default().mapped(!cfg!(windows)));
    let pak = pak
        .map_err(|e| Diag::new(Code::Unreadable, format!("cannot open the pak: {e}")).path(path.display()))?;
    Ok(Arc::new(pak))
}
