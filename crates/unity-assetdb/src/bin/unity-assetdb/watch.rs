//! The `watch` command: keeps the index up to date while files change, so that queries need no refresh of their own.
//!
//! File events only wake the watch; a refresh finds out what changed, as before a query. A refresh after at most a minute
//! finds changes that had no event, for example on a network share. A query asks the watch by its socket and waits until
//! the index is up to date, so that it sees every change before it.

use super::freshness_socket::{self, Query};
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
    session.keep_warm();
    let (wake, events) = channel();
    let queries = wake.clone();
    let handler = move |event: notify::Result<notify::Event>| {
        // Reads are no changes, and the refresh itself reads.
        if !matches!(event, Ok(event) if matches!(event.kind, EventKind::Access(_))) {
            let _ = wake.send(Wake::Change);
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
    let mut is_listening = false;
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
        // After the first refresh, which creates the directory.
        if !is_listening {
            is_listening = true;
            let queries = queries.clone();
            let listening = freshness_socket::listen(&session.out_dir(&root), move |query| {
                queries.send(Wake::Query(query)).is_ok()
            });
            if let Err(error) = listening {
                session.reporter.note(&format!("queries refresh the index themselves: {error}"));
            }
        }
        if !wait(session, &events, &root) {
            return Ok(OK);
        }
    }
}

/// A reason to do something.
enum Wake {
    Change,
    Query(Query),
}

/// Answers queries until an event and the end of its burst. Returns false if the project is gone or nobody reads the output.
fn wait(session: &Session, events: &Receiver<Wake>, root: &Path) -> bool {
    let mut change: Option<Instant> = None;
    let started = Instant::now();
    loop {
        if stdout_is_closed() {
            return false;
        }
        let timeout = match change {
            Some(first) if first.elapsed() >= MAX_DELAY => break,
            Some(_) => DEBOUNCE,
            None => POLL.saturating_sub(started.elapsed()),
        };
        match events.recv_timeout(timeout) {
            Ok(Wake::Change) => drop(change.get_or_insert_with(Instant::now)),
            Ok(Wake::Query(query)) => {
                let index = session.index_with_duplicates();
                session.forget_rebuild();
                query.answer(index.is_ok());
            }
            Err(RecvTimeoutError::Timeout) => break,
            // No watcher: poll.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(POLL);
                break;
            }
        }
    }
    root.is_dir()
}
