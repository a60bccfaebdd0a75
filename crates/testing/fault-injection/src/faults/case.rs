//! Test cases and their runner. A suite generates cases; the runner executes them in parallel, each in its own directory,
//! and keeps the directories of failed cases.

use super::report::{Failure, Tally};
use super::{Setup, Suite};
use crate::random::Random;
use std::any::Any;
use std::cell::RefCell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The reason why a suite could not be run here, which does not count as success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRun(pub String);

type Run = Box<dyn Fn(&Path) -> usize + Send + Sync>;

/// One test case.
pub struct Case {
    /// The name, unique in its suite.
    pub name: String,
    run: Run,
}

impl Case {
    /// Creates a case that counts as one.
    pub fn new(name: impl Into<String>, run: impl Fn(&Path) + Send + Sync + 'static) -> Case {
        Case::counted(name, move |dir| {
            run(dir);
            1
        })
    }

    /// Creates a case that returns how many units it counts for; 0 if the fault did not occur.
    pub fn counted(name: impl Into<String>, run: impl Fn(&Path) -> usize + Send + Sync + 'static) -> Case {
        Case { name: name.into(), run: Box::new(run) }
    }
}

/// Returns the random number generator of one case.
pub fn random(seed: u64, name: &str) -> Random {
    Random::new(seed ^ xxhash_rust::xxh3::xxh3_64(name.as_bytes()))
}

thread_local! {
    static PANIC_MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs a panic hook that keeps the message for the report instead of printing it.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        PANIC_MESSAGE.with(|message| *message.borrow_mut() = info.to_string());
    }));
}

/// Returns the message of a panic, with its location if the hook recorded it.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let kept = PANIC_MESSAGE.with(|message| std::mem::take(&mut *message.borrow_mut()));
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref().copied());
    if kept.is_empty() { text.unwrap_or("no message").to_owned() } else { kept }
}

/// Runs the cases of a suite, or only the one with this name.
pub fn run_suite(row: &Suite, setup: &Setup, only: Option<&str>, tell: &(dyn Fn(&Failure) + Sync)) -> Tally {
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
            let failure = Failure {
                case: "(generating the cases)".into(),
                why: panic_message(&*panic),
                dir: setup.work_dir.clone(),
            };
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
            let dir = setup.work_dir.join(format!("{}-{number}", row.name));
            fs::create_dir_all(&dir).unwrap();
            match catch_unwind(AssertUnwindSafe(|| (case.run)(&dir))) {
                Ok(units) => {
                    count.fetch_add(units, Ordering::Relaxed);
                    super::files::remove(&dir);
                }
                Err(panic) => {
                    count.fetch_add(1, Ordering::Relaxed);
                    let failure = Failure { case: case.name.clone(), why: panic_message(&*panic), dir };
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
