//! Progress of a build on standard error: a progress bar on a terminal, plain lines elsewhere.

mod line;

use crate::render::{self, printable};
use crate::terminal::{Color, Style, columns};
use kiln_engine::{Event, Events};
use line::Snapshot;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The minimum time between two redraws of the progress bar.
const REDRAW: Duration = Duration::from_millis(50);

/// The amount of output on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Print errors only.
    Quiet,
    /// Print progress, warnings and a summary.
    Normal,
    /// Also the reason and the duration of each rebuild.
    Verbose,
}

/// Prints the [events](Events) of a run.
pub struct Progress {
    verbosity: Verbosity,
    bar: bool,
    style: Style,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The time when the actions were checked.
    started: Option<Instant>,
    total: usize,
    finished: usize,
    failed: usize,
    running: Vec<String>,
    drawn: Option<Instant>,
    shown: bool,
}

impl Progress {
    /// Makes a progress display on standard error; the bar is drawn on terminals only.
    pub fn new(verbosity: Verbosity, color: Color) -> Progress {
        let stderr = io::stderr();
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let bar = verbosity > Verbosity::Quiet && stderr.is_terminal() && !dumb;
        Progress { verbosity, bar, style: Style::of(&stderr, color), state: Mutex::default() }
    }

    /// Erases the progress bar, so that other output can start on an empty line.
    pub fn clear(&self) {
        self.erase(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn erase(&self, state: &mut State) {
        if std::mem::take(&mut state.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn print(&self, state: &mut State, line: &str) {
        self.erase(state);
        let _ = writeln!(io::stderr(), "{line}");
        state.drawn = None;
    }

    fn draw(&self, state: &mut State) {
        if !self.bar || state.drawn.is_some_and(|at| at.elapsed() < REDRAW) {
            return;
        }
        let run = Snapshot {
            total: state.total,
            finished: state.finished,
            failed: state.failed,
            elapsed: state.started.map(|started| started.elapsed()).unwrap_or_default(),
            running: &state.running,
        };
        // A line of the full width would wrap on some terminals.
        let line = line::line(&run, columns().saturating_sub(1));
        let _ = write!(io::stderr(), "\r\x1b[K{line}");
        state.drawn = Some(Instant::now());
        state.shown = true;
    }
}

impl Events for Progress {
    fn on(&self, event: Event<'_>) {
        if self.verbosity == Verbosity::Quiet {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Waiting => {
                self.print(&mut state, "waiting for another build to release the output directory")
            }
            Event::Judged { total, stale } => {
                (state.total, state.finished, state.failed) = (stale, 0, 0);
                state.started = Some(Instant::now());
                if self.verbosity == Verbosity::Verbose {
                    let line =
                        format!("{} of {} out of date", stale, render::count(total, "asset", "assets"));
                    self.print(&mut state, &line);
                }
            }
            Event::Started { source } => {
                state.running.push(printable(source.as_str()).into_owned());
                self.draw(&mut state);
            }
            Event::Finished { source, why, fetched, error, took, notes } => {
                state.finished += 1;
                state.failed += usize::from(error.is_some());
                let name = printable(source.as_str());
                state.running.retain(|running| *running != name);
                let word = match error {
                    Some(_) => self.style.error("failed"),
                    None => self.style.good(if fetched { "fetched" } else { "built" }),
                };
                if self.verbosity == Verbosity::Verbose {
                    let note = self.style.faint(&format!(
                        "({}; {})",
                        printable(&why.to_string()),
                        render::time(took)
                    ));
                    self.print(&mut state, &format!("{word} {} {note}", printable(source.as_str())));
                    for note in notes {
                        let note = self.style.faint(&printable(note));
                        self.print(&mut state, &format!("  {note}"));
                    }
                } else if !self.bar {
                    self.print(&mut state, &format!("{word} {}", printable(source.as_str())));
                }
                self.draw(&mut state);
            }
            _ => {}
        }
    }
}
