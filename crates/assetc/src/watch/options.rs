//! The options of a watch: what is built, and the timing of builds.

use crate::builder::available_cores;
use crate::config::Config;
use crate::tools::Tools;
use kiln_engine::{Events, Limits, Store};
use std::path::Path;
use std::time::Duration;

/// The timing of a watch: debouncing of events, and polling without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DebounceConfig {
    /// The time without another event after which a build starts. 50 ms by default.
    pub quiet_period: Duration,
    /// The longest time from the first event to the start of a build. 500 ms by default.
    pub max_delay: Duration,
    /// The time after which the trees are polled without an event, 2 s by default; longer for a tree so large that
    /// polling it takes more than a hundredth of this time.
    pub poll_interval: Duration,
}

impl Default for DebounceConfig {
    fn default() -> DebounceConfig {
        let ms = Duration::from_millis;
        DebounceConfig { quiet_period: ms(50), max_delay: ms(500), poll_interval: ms(2000) }
    }
}

impl DebounceConfig {
    /// Sets the time after which the trees are polled without an event.
    #[must_use]
    pub fn poll_interval(self, poll_interval: Duration) -> DebounceConfig {
        DebounceConfig { poll_interval, ..self }
    }
}

/// A watch of one project, configured step by step and started with [`run`](Watch::run).
///
/// ```no_run
/// use assetc::watch::{PlatformEvents, WakeSignal, Watch};
/// use std::ops::ControlFlow;
/// use std::path::Path;
///
/// # fn main() -> Result<(), assetc::Diag> {
/// let wake = WakeSignal::default();
/// // `wake.clone().stop()` ends the watch from another thread.
/// let mut events = PlatformEvents::new(wake.clone());
/// Watch::new(Path::new("/home/me/game")).jobs(4).run(&wake, &mut events, &mut |cycle| {
///     for path in &cycle.changed {
///         println!("reload {path}");
///     }
///     ControlFlow::Continue(())
/// })
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    pub(super) start: &'a Path,
    pub(super) preset: Option<&'a str>,
    pub(super) output: Option<&'a Path>,
    pub(super) home: Option<&'a Path>,
    pub(super) is_trusted: &'a dyn Fn(&Config) -> bool,
    pub(super) tools: &'a dyn Fn(&Config) -> Tools,
    pub(super) jobs: usize,
    pub(super) pack: bool,
    pub(super) overwrite: bool,
    pub(super) cache: Option<&'a Store>,
    pub(super) limits: Limits,
    pub(super) debounce: DebounceConfig,
    pub(super) events: &'a dyn Events,
}

impl<'a> Watch<'a> {
    /// Watches the project of the nearest `assetc.yml`, in `start` or above it. `start` is absolute.
    pub fn new(start: &'a Path) -> Watch<'a> {
        Watch {
            start,
            preset: None,
            output: None,
            home: None,
            is_trusted: &|_| false,
            tools: &|_| Tools::default(),
            jobs: available_cores(),
            pack: false,
            overwrite: false,
            cache: None,
            limits: Limits::default(),
            debounce: DebounceConfig::default(),
            events: &(),
        }
    }

    /// Selects a preset; `None` selects the one that the configuration names.
    #[must_use]
    pub fn preset(self, preset: Option<&'a str>) -> Watch<'a> {
        Watch { preset, ..self }
    }

    /// Sets the output directory, absolute; `None` takes that of the configuration.
    #[must_use]
    pub fn output(self, output: Option<&'a Path>) -> Watch<'a> {
        Watch { output, ..self }
    }

    /// Sets the home directory, which is refused as an output.
    #[must_use]
    pub fn home(self, home: Option<&'a Path>) -> Watch<'a> {
        Watch { home, ..self }
    }

    /// Sets the function that decides whether the user trusts a project. No project is trusted by default.
    #[must_use]
    pub fn is_trusted(self, is_trusted: &'a dyn Fn(&Config) -> bool) -> Watch<'a> {
        Watch { is_trusted, ..self }
    }

    /// Sets the function that finds external programs for a configuration. There are none by default.
    #[must_use]
    pub fn tools(self, tools: &'a dyn Fn(&Config) -> Tools) -> Watch<'a> {
        Watch { tools, ..self }
    }

    /// Sets the number of threads. One per core by default.
    #[must_use]
    pub fn jobs(self, jobs: usize) -> Watch<'a> {
        Watch { jobs, ..self }
    }

    /// Writes a pack after every build, also if the configuration does not ask for one.
    #[must_use]
    pub fn pack(self, pack: bool) -> Watch<'a> {
        Watch { pack, ..self }
    }

    /// Replaces regular files at the paths of outputs that no recorded build wrote.
    #[must_use]
    pub fn overwrite(self, overwrite: bool) -> Watch<'a> {
        Watch { overwrite, ..self }
    }

    /// Sets the build cache.
    #[must_use]
    pub fn cache(self, cache: Option<&'a Store>) -> Watch<'a> {
        Watch { cache, ..self }
    }

    /// Sets the limits on each source.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Watch<'a> {
        Watch { limits, ..self }
    }

    /// Sets the debounce and polling times.
    #[must_use]
    pub fn debounce(self, debounce: DebounceConfig) -> Watch<'a> {
        Watch { debounce, ..self }
    }

    /// Sets the receiver of build events, for progress.
    #[must_use]
    pub fn events(self, events: &'a dyn Events) -> Watch<'a> {
        Watch { events, ..self }
    }
}
