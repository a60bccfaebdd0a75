//! One attack: its name, and what it does in a directory of its own. Rows make cases, the runner runs them side by side,
//! keeps the directories of those that failed and says how to have each again alone.

use super::report::{Failure, Tally};
use super::{Row, Setup};
use crate::random::Random;
use std::any::Any;
use std::cell::RefCell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Why a row could not be run here. That is no success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRun(pub String);

type Run = Box<dyn Fn(&Path) -> usize + Send + Sync>;

/// One attack.
pub struct Case {
    /// Unique in its row.
    pub name: String,
    run: Run,
}

impl Case {
    /// A case that counts for one.
    pub fn new(name: impl Into<String>, run: impl Fn(&Path) + Send + Sync + 'static) -> Case {
        Case::counted(name, move |dir| {
            run(dir);
            1
        })
    }

    /// A case that says how many it counts for; 0 when what it is about did not come to pass.
    pub fn counted(name: impl Into<String>, run: impl Fn(&Path) -> usize + Send + Sync + 'static) -> Case {
        Case { name: name.into(), run: Box::new(run) }
    }
}

/// The randomness of one case.
pub fn random(seed: u64, name: &str) -> Random {
    Random::new(seed ^ xxhash_rust::xxh3::xxh3_64(name.as_bytes()))
}

thread_local! {
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps what panics say for the report, in place of printing it.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        SAID.with(|said| *said.borrow_mut() = info.to_string());
    }));
}

fn said(panic: &(dyn Any + Send)) -> String {
    let kept = SAID.with(|said| std::mem::take(&mut *said.borrow_mut()));
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    if kept.is_empty() { text.unwrap_or("no message").to_owned() } else { kept }
}

/// Runs the cases of a row, or only those with this name.
pub fn run_row(row: &Row, setup: &Setup, only: Option<&str>, tell: &(dyn Fn(&Failure) + Sync)) -> Tally {
    let start = Instant::now();
    let mut tally = Tally::of(row, setup.seed);
    let made = catch_unwind(AssertUnwindSafe(|| (row.cases)(setup)));
    let mut cases = match made {
        Ok(Ok(cases)) => cases,
        Ok(Err(NotRun(why))) => {
            tally.not_run = Some(why);
            return tally;
        }
        Err(panic) => {
            let failure =
                Failure { case: "(making the cases)".into(), why: said(&*panic), dir: setup.room.clone() };
            tell(&failure);
            tally.failures.push(failure);
            return tally;
        }
    };
    cases.retain(|case| only.is_none_or(|only| case.name == only));
    let (next, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = Mutex::new(Vec::new());
    let work = || {
        while let Some((number, case)) = {
            let n = next.fetch_add(1, Ordering::Relaxed);
            cases.get(n).map(|case| (n, case))
        } {
            let dir = setup.room.join(format!("{}-{number}", row.name));
            fs::create_dir_all(&dir).unwrap();
            match catch_unwind(AssertUnwindSafe(|| (case.run)(&dir))) {
                Ok(units) => {
                    count.fetch_add(units, Ordering::Relaxed);
                    super::files::remove(&dir);
                }
                Err(panic) => {
                    count.fetch_add(1, Ordering::Relaxed);
                    let failure = Failure { case: case.name.clone(), why: said(&*panic), dir };
                    tell(&failure);
                    failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    tally.cases = count.into_inner();
    tally.failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    tally.failures.sort_by(|a, b| a.case.cmp(&b.case));
    tally.took = start.elapsed();
    tally
}
