//! Ctrl-C (`SIGINT`) and `SIGTERM`: the work of a run is cancelled, temporary files are removed, and the process exits with
//! 128 + the number of the signal.
//!
//! A run that reports to [`InterruptibleEvents`] finishes the actions in flight and keeps all finished results. After a
//! grace period or a second signal, actions in flight are dropped, and the process exits as soon as the results of finished
//! ones are published; a third signal, or the first one without such a run, ends it at once. Outputs are published by rename,
//! so none is incomplete.

use crate::render::printable;
use kiln_engine::{Event, Events, temporary};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// The time that actions in flight have to finish after a signal.
const GRACE_PERIOD: Duration = Duration::from_secs(3);
/// The interval at which signals are polled.
const POLL: Duration = Duration::from_millis(5);

/// The exit code of the signal that was received; 0 if there was none.
static EXIT_CODE: AtomicU8 = AtomicU8::new(0);
/// The number of actions that have finished and whose results are not published yet.
static UNPUBLISHED: AtomicUsize = AtomicUsize::new(0);
/// True since a run began that can be cancelled.
static IS_CANCELLABLE: AtomicBool = AtomicBool::new(false);

/// Handles `SIGINT` and `SIGTERM` from now on. `unchanged` describes what an interrupt that ends the process at once leaves
/// as it was.
pub fn handle(unchanged: &'static str) {
    let signal = Arc::new(AtomicUsize::new(0));
    let signals = [SIGINT, SIGTERM].into_iter();
    // Without a handler a signal ends the process, as it does by default.
    let installed = signals.map(|number| flag::register_usize(number, signal.clone(), number as usize));
    if installed.filter(Result::is_ok).count() > 0 {
        let thread = std::thread::Builder::new().name("kiln-signals".to_owned());
        let _ = thread.spawn(move || wait(&signal, unchanged));
    }
}

/// Ignores `SIGINT`, which a terminal sends to all processes of a job: a worker process ends when its parent does.
pub fn ignore() {
    let _ = flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
}

/// Returns the exit code of a process that was interrupted: 130 for `SIGINT`, 143 for `SIGTERM`.
pub fn exit_code() -> Option<u8> {
    Some(EXIT_CODE.load(SeqCst)).filter(|code| *code != 0)
}

fn wait(signal: &AtomicUsize, unchanged: &str) {
    let received = || signal.swap(0, SeqCst);
    let first = loop {
        match received() {
            0 => std::thread::sleep(POLL),
            number => break number,
        }
    };
    let code = 128 + first as u8;
    EXIT_CODE.store(code, SeqCst);
    let deadline = Instant::now() + GRACE_PERIOD;
    // A run that ends in time ends the process, and this thread with it.
    let wait_until = |deadline: Instant, is_waiting: &dyn Fn() -> bool| {
        while is_waiting() && Instant::now() < deadline && received() == 0 {
            std::thread::sleep(POLL);
        }
    };
    wait_until(deadline, &|| IS_CANCELLABLE.load(SeqCst));
    // The results of finished actions wait for the batch that they are published with, and a cancelled run does not wait to
    // fill it.
    wait_until(Instant::now() + GRACE_PERIOD, &|| UNPUBLISHED.load(SeqCst) > 0);
    temporary::remove_all();
    let mut stderr = io::stderr();
    let clear = if stderr.is_terminal() { "\r\x1b[K" } else { "" };
    let _ = writeln!(stderr, "{clear}interrupted: {}", printable(unchanged));
    #[allow(clippy::exit, reason = "threads that work on dropped actions cannot be joined")]
    std::process::exit(code.into())
}

/// Passes events on, and cancels the run after a signal.
pub struct InterruptibleEvents<'a>(&'a dyn Events);

impl<'a> InterruptibleEvents<'a> {
    /// Wraps the events of a run. From now on a signal cancels the run instead of ending the process.
    pub fn new(events: &'a dyn Events) -> InterruptibleEvents<'a> {
        IS_CANCELLABLE.store(true, SeqCst);
        InterruptibleEvents(events)
    }
}

impl Events for InterruptibleEvents<'_> {
    fn on(&self, event: Event<'_>) {
        // Counted before the event is passed on: what a user has seen to be finished is kept.
        match &event {
            Event::Finished { error: None, .. } => _ = UNPUBLISHED.fetch_add(1, SeqCst),
            Event::Published { count } => _ = UNPUBLISHED.fetch_sub(*count, SeqCst),
            _ => {}
        }
        self.0.on(event);
    }

    fn is_cancelled(&self) -> bool {
        exit_code().is_some() || self.0.is_cancelled()
    }
}
