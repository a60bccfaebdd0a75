//! File system events of the platform (inotify, FSEvents, ReadDirectoryChangesW), which wake a watch.
//!
//! The only information used is that something may have changed. Changes without an event (a network share, too many
//! watched directories, a queue that overflowed) are found later by the polling of the watch.

use super::WakeSignal;
use kiln_engine::{Code, Diag};
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{Config, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// A directory whose events are requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedDirectory {
    /// The directory, absolute; it need not exist.
    pub path: PathBuf,
    /// True if events of all files below the directory are requested, not only those of its own entries.
    pub recursive: bool,
}

/// A source of file events, which calls [`WakeSignal::notify`] when a file may have changed.
pub trait FileEvents {
    /// Requests events of these directories and of no others. Called before each snapshot, so that no change in
    /// between goes unnoticed. Returns new warnings, each once.
    fn watch_directories(&mut self, directories: &[WatchedDirectory]) -> Vec<Diag>;
}

/// No events at all: polling finds every change.
impl FileEvents for () {
    fn watch_directories(&mut self, _directories: &[WatchedDirectory]) -> Vec<Diag> {
        vec![]
    }
}

/// The file events of the platform.
pub struct PlatformEvents {
    watcher: Option<RecommendedWatcher>,
    /// The reason why there is no watcher, until it is reported.
    init_error: Option<notify::Error>,
    watched: Watched,
}

/// The watched directories, each with its identity. A remove or rename event removes the entry of its directory.
type Watched = Arc<Mutex<BTreeMap<PathBuf, Identity>>>;

/// Inode and creation time, which distinguish a directory from a later one of the same name.
type Identity = (u64, Option<SystemTime>);

impl PlatformEvents {
    /// Connects the events of the platform to a signal. A failure is reported by the first
    /// [`watch_directories`](FileEvents::watch_directories).
    pub fn new(wake: WakeSignal) -> PlatformEvents {
        let watched = Watched::default();
        let seen = watched.clone();
        let handler = move |event: notify::Result<Event>| {
            if let Ok(event) = &event {
                if !is_change(&event.kind) {
                    return;
                }
                if matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))) {
                    let mut watched = lock(&seen);
                    event.paths.iter().for_each(|path| _ = watched.remove(path));
                }
            }
            wake.notify();
        };
        // Targets of links inside the input are watched anyway; targets outside it must not be.
        let config = Config::default().with_follow_symlinks(false);
        let (watcher, init_error) = match RecommendedWatcher::new(handler, config) {
            Ok(watcher) => (Some(watcher), None),
            Err(error) => (None, Some(error)),
        };
        PlatformEvents { watcher, init_error, watched }
    }
}

impl FileEvents for PlatformEvents {
    fn watch_directories(&mut self, directories: &[WatchedDirectory]) -> Vec<Diag> {
        let mut warnings: Vec<Diag> =
            self.init_error.take().iter().map(|error| unavailable(error, None)).collect();
        let Some(watcher) = &mut self.watcher else { return warnings };
        let before = lock(&self.watched).clone();
        let is_requested = |path: &Path| directories.iter().any(|directory| directory.path == path);
        for path in before.keys().filter(|path| !is_requested(path)) {
            let _ = watcher.unwatch(path);
            lock(&self.watched).remove(path);
        }
        for WatchedDirectory { path, recursive } in directories {
            let found = identity(path);
            if found.is_some() && before.get(path) == found.as_ref() {
                continue;
            }
            // The earlier directory of that name may have been removed; the error is then expected.
            let _ = watcher.unwatch(path);
            let Some(found) = found else {
                lock(&self.watched).remove(path);
                continue;
            };
            // Inserted before it is watched: an event that removes the entry must find it.
            lock(&self.watched).insert(path.clone(), found);
            let mode = if *recursive { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            if let Err(error) = watcher.watch(path, mode) {
                warnings.push(unavailable(&error, Some(path)));
            }
        }
        warnings
    }
}

fn lock(watched: &Mutex<BTreeMap<PathBuf, Identity>>) -> MutexGuard<'_, BTreeMap<PathBuf, Identity>> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether an event can mean a change. A read is not one: every snapshot would cause the next one.
fn is_change(kind: &EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => *kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let meta = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&meta);
    #[cfg(not(unix))]
    let number = 0;
    Some((number, meta.created().ok()))
}

fn unavailable(error: &notify::Error, directory: Option<&Path>) -> Diag {
    let at = error.paths.first().map(PathBuf::as_path).or(directory);
    let why = match &error.kind {
        ErrorKind::Io(error) => error.to_string(),
        ErrorKind::MaxFilesWatch => "the system limit of watched directories is reached".to_owned(),
        ErrorKind::Generic(why) => why.clone(),
        ErrorKind::PathNotFound => "the directory was not found".to_owned(),
        ErrorKind::WatchNotFound => "the directory is not watched".to_owned(),
        ErrorKind::InvalidConfig(_) => "the watcher does not support its configuration".to_owned(),
    };
    let hint = match &error.kind {
        ErrorKind::MaxFilesWatch => {
            "raise fs.inotify.max_user_watches; without events, polling finds changes a few seconds late"
        }
        _ => "polling finds changes without events, a few seconds late",
    };
    let diag = Diag::new(Code::WatchEventsUnavailable, format!("file system events are unavailable: {why}"));
    diag.path(at.map(|path| path.display().to_string()).unwrap_or_default()).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::super::Wakeup;
    use super::*;
    use std::fs;
    use std::time::Duration;

    /// Long enough for any machine; a test that succeeds does not wait for it.
    const LONG: Duration = Duration::from_secs(60);

    fn recursive(path: &Path) -> WatchedDirectory {
        WatchedDirectory { path: path.to_owned(), recursive: true }
    }

    /// Watches directories, changes something, and waits for the event.
    fn assert_notifies(
        events: &mut PlatformEvents,
        wake: &WakeSignal,
        directories: &[WatchedDirectory],
        change: impl FnOnce(),
    ) {
        assert_eq!(events.watch_directories(directories), []);
        while wake.wait(Duration::from_millis(20)) == Wakeup::Notified {}
        change();
        assert_eq!(wake.wait(LONG), Wakeup::Notified);
    }

    #[test]
    fn follows_directories_that_are_removed_recreated_and_moved() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let art = root.join("art");
        let directories = [recursive(&art), WatchedDirectory { path: root.clone(), recursive: false }];
        let wake = WakeSignal::default();
        let mut events = PlatformEvents::new(wake.clone());
        let mut notifies = |change: &dyn Fn()| assert_notifies(&mut events, &wake, &directories, change);
        notifies(&|| fs::create_dir(&art).unwrap());
        notifies(&|| fs::write(art.join("a"), "1").unwrap());
        notifies(&|| fs::create_dir(art.join("deep")).unwrap());
        notifies(&|| fs::write(art.join("deep/b"), "1").unwrap());
        notifies(&|| fs::rename(art.join("deep"), art.join("other")).unwrap());
        notifies(&|| fs::write(art.join("other/b"), "2").unwrap());
        notifies(&|| fs::remove_dir_all(&art).unwrap());
        notifies(&|| fs::create_dir(&art).unwrap());
        notifies(&|| fs::write(art.join("a"), "2").unwrap());
        notifies(&|| fs::rename(&art, root.join("away")).unwrap());
        notifies(&|| fs::create_dir(&art).unwrap());
        notifies(&|| fs::write(art.join("c"), "").unwrap());
    }

    #[test]
    fn reads_do_not_notify() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "1").unwrap();
        let wake = WakeSignal::default();
        let mut events = PlatformEvents::new(wake.clone());
        assert_eq!(events.watch_directories(&[recursive(dir.path())]), []);
        assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"1");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert_eq!(wake.wait(Duration::from_millis(100)), Wakeup::Timeout);
    }
}
