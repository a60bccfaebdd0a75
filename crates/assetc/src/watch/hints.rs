//! Where hints come from: the platform's own events, as far as they reach.
//!
//! Nothing is believed but that something may have happened. What a platform cannot tell (a network share, too many
//! directories, a queue that overflowed) is found by the sweep of the watch, later.

use super::Bell;
use kiln_engine::{Code, Diag};
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{Config, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// A directory of which hints are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory, absolute; it need not exist.
    pub path: PathBuf,
    /// Whether all that is below it counts, not only what lies in it.
    pub deep: bool,
}

/// Gives hints by ringing a [`Bell`].
pub trait Hints {
    /// From now on hints are wanted of these places alone. Called before every look at them, so that nothing changes
    /// unseen in between. Returns what deserves to be said, once.
    fn follow(&mut self, places: &[Place]) -> Vec<Diag>;
}

/// Never gives one: the sweep finds all changes.
impl Hints for () {
    fn follow(&mut self, _places: &[Place]) -> Vec<Diag> {
        vec![]
    }
}

/// The events of the platform.
pub struct Listener {
    watcher: Option<RecommendedWatcher>,
    /// Why there is no watcher, until it is said.
    refused: Option<notify::Error>,
    followed: Followed,
}

/// What is followed, with what was found there. Whatever is no longer there is struck out by the event that says so.
type Followed = Arc<Mutex<BTreeMap<PathBuf, Identity>>>;

/// What tells a directory from another one that took its name.
type Identity = (u64, Option<SystemTime>);

impl Listener {
    /// Rings this bell.
    pub fn new(bell: Bell) -> Listener {
        let followed = Followed::default();
        let heard = followed.clone();
        let handler = move |event: notify::Result<Event>| {
            if let Ok(event) = &event {
                if !matters(&event.kind) {
                    return;
                }
                if matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))) {
                    let mut followed = lock(&heard);
                    event.paths.iter().for_each(|path| _ = followed.remove(path));
                }
            }
            bell.hint();
        };
        // Where a link leads inside the input is followed anyway; where it leads out is not wanted.
        let config = Config::default().with_follow_symlinks(false);
        let (watcher, refused) = match RecommendedWatcher::new(handler, config) {
            Ok(watcher) => (Some(watcher), None),
            Err(error) => (None, Some(error)),
        };
        Listener { watcher, refused, followed }
    }
}

impl Hints for Listener {
    fn follow(&mut self, places: &[Place]) -> Vec<Diag> {
        let mut said: Vec<Diag> = self.refused.take().iter().map(|error| deaf(error, None)).collect();
        let Some(watcher) = &mut self.watcher else { return said };
        let before = lock(&self.followed).clone();
        for path in before.keys().filter(|path| places.iter().all(|place| place.path != **path)) {
            let _ = watcher.unwatch(path);
            lock(&self.followed).remove(path);
        }
        for place in places {
            let found = identity(&place.path);
            if found.is_some() && before.get(&place.path) == found.as_ref() {
                continue;
            }
            // Whatever had the name before may be gone, and then this is an error that says nothing.
            let _ = watcher.unwatch(&place.path);
            let Some(found) = found else {
                lock(&self.followed).remove(&place.path);
                continue;
            };
            // Before it is watched: an event that strikes it out must find it.
            lock(&self.followed).insert(place.path.clone(), found);
            let mode = if place.deep { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            if let Err(error) = watcher.watch(&place.path, mode) {
                said.push(deaf(&error, Some(&place.path)));
            }
        }
        said
    }
}

fn lock(followed: &Mutex<BTreeMap<PathBuf, Identity>>) -> MutexGuard<'_, BTreeMap<PathBuf, Identity>> {
    followed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether an event can mean a change. Reading is none: every look would be the cause of the next one.
fn matters(kind: &EventKind) -> bool {
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

fn deaf(error: &notify::Error, place: Option<&Path>) -> Diag {
    let at = error.paths.first().map(PathBuf::as_path).or(place);
    let why = match &error.kind {
        ErrorKind::Io(error) => error.to_string(),
        ErrorKind::MaxFilesWatch => "the system's limit of watched directories is reached".to_owned(),
        ErrorKind::Generic(why) => why.clone(),
        kind => format!("{kind:?}"),
    };
    let hint = match &error.kind {
        ErrorKind::MaxFilesWatch => "raise fs.inotify.max_user_watches, or live with the delay",
        _ => "changes are found all the same, a few seconds late",
    };
    let diag = Diag::new(Code::WatchDeaf, format!("the system does not tell of all changes: {why}"));
    diag.path(at.map(|path| path.display().to_string()).unwrap_or_default()).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::super::Woken;
    use super::*;
    use std::fs;
    use std::time::Duration;

    /// Long enough for any machine; a test that succeeds does not wait for it.
    const LONG: Duration = Duration::from_secs(60);

    fn deep(path: &Path) -> Place {
        Place { path: path.to_owned(), deep: true }
    }

    /// Listens, does something, and waits for the hint.
    fn told(listener: &mut Listener, bell: &Bell, places: &[Place], act: impl FnOnce()) {
        assert_eq!(listener.follow(places), []);
        while bell.wait(Duration::from_millis(20)) == Woken::Hint {}
        act();
        assert_eq!(bell.wait(LONG), Woken::Hint);
    }

    #[test]
    fn a_directory_that_is_removed_made_again_and_moved_is_followed_on() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let art = root.join("art");
        let places = [deep(&art), Place { path: root.clone(), deep: false }];
        let bell = Bell::default();
        let mut listener = Listener::new(bell.clone());
        let mut told = |act: &dyn Fn()| told(&mut listener, &bell, &places, act);
        told(&|| fs::create_dir(&art).unwrap());
        told(&|| fs::write(art.join("a"), "1").unwrap());
        told(&|| fs::create_dir(art.join("deep")).unwrap());
        told(&|| fs::write(art.join("deep/b"), "1").unwrap());
        told(&|| fs::rename(art.join("deep"), art.join("other")).unwrap());
        told(&|| fs::write(art.join("other/b"), "2").unwrap());
        told(&|| fs::remove_dir_all(&art).unwrap());
        told(&|| fs::create_dir(&art).unwrap());
        told(&|| fs::write(art.join("a"), "2").unwrap());
        told(&|| fs::rename(&art, root.join("away")).unwrap());
        told(&|| fs::create_dir(&art).unwrap());
        told(&|| fs::write(art.join("c"), "").unwrap());
    }

    #[test]
    fn reading_is_no_hint() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "1").unwrap();
        let bell = Bell::default();
        let mut listener = Listener::new(bell.clone());
        assert_eq!(listener.follow(&[deep(dir.path())]), []);
        assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"1");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert_eq!(bell.wait(Duration::from_millis(100)), Woken::Silence);
    }
}
