//! The `watch` command: keeps the index up to date while files change, so that queries with `--no-refresh` are both fast and
//! right.
//!
//! File events only wake the watch; a refresh finds out what changed, as before a query. A refresh after at most a minute
//! finds changes that had no event, for example on a network share.

use super::{Failure, Session};
use kiln_cli::reporter::OK;
use kiln_cli::terminal::stdout_is_closed;
use kiln_engine::{Code, Diag};
use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The time without an event after which a burst of changes is over.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// The longest time that a burst may delay a refresh.
const MAX_DELAY: Duration = Duration::from_secs(2);
/// The time between refreshes without an event.
const POLL: Duration = Duration::from_secs(60);

pub(super) fn watch(session: &Session) -> Result<u8, Failure> {
    let root = session.root()?;
    let (wake, events) = channel();
    let handler = move |event: notify::Result<notify::Event>| {
        // Reads are no changes, and the refresh itself reads.
        if !matches!(event, Ok(event) if matches!(event.kind, EventKind::Access(_))) {
            let _ = wake.send(());
        }
    };
    let mut watcher = RecommendedWatcher::new(handler, Config::default().with_follow_symlinks(false)).ok();
    for folder in ["Assets", "Packages", "ProjectSettings"] {
        let folder = root.join(folder);
        let watched = watcher.as_mut().map(|watcher| watcher.watch(&folder, RecursiveMode::Recursive));
        if !matches!(watched, Some(Ok(()))) && folder.is_dir() {
            let message = "file events are not available, so that changes are found once a minute";
            session.reporter.say(&Diag::new(Code::WatchEventsUnavailable, message).path(folder.display()));
        }
    }
    loop {
        let started = Instant::now();
        match session.index_with_duplicates() {
            Ok((_, index)) => {
                let line =
                    format!("{} assets, refreshed in {} ms", index.len(), started.elapsed().as_millis());
                let mut out = session.reporter.out();
                out.line(&line);
            }
            // A project in the middle of a checkout; the next event tries again.
            Err(failure) => failure.diags.iter().for_each(|diag| session.reporter.say(diag)),
        }
        session.forget_rebuild();
        if stdout_is_closed() || !wait(&events, &root) {
            return Ok(OK);
        }
    }
}

/// Waits for an event and the end of its burst. Returns false if the project is gone.
fn wait(events: &Receiver<()>, root: &Path) -> bool {
    match events.recv_timeout(POLL) {
        Ok(()) => {
            let first = Instant::now();
            while first.elapsed() < MAX_DELAY && events.recv_timeout(DEBOUNCE).is_ok() {}
        }
        Err(RecvTimeoutError::Timeout) => {}
        // No watcher: poll.
        Err(RecvTimeoutError::Disconnected) => std::thread::sleep(POLL),
    }
    root.is_dir()
}
