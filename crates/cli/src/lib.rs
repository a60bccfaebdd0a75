//! The parts that the command lines of Kiln's tools share: reporting diagnostics and results, progress, completion scripts
//! and manual pages, limits, and (feature `cache`) the user's configuration and the build cache.
//!
//! The libraries never print, exit or read environment variables; the executables do so through this crate. Each tool
//! parses its own arguments and passes a closure for the command to [`reporter::Reporter::run`], which reports errors, catches
//! panics and returns the exit code:
//!
//! ```
//! use kiln_cli::diagnostics::DiagnosticArgs;
//! use kiln_cli::progress::Verbosity;
//! use kiln_cli::terminal::Color;
//! use kiln_cli::reporter::{OK, Reporter};
//! use kiln_engine::Diag;
//!
//! let reporter = Reporter::new(false, Color::Never, Verbosity::Normal, &DiagnosticArgs::default());
//! let exit_code = reporter.run("tool", |diag| reporter.say(diag), || Ok::<u8, Diag>(OK));
//! # let _ = exit_code;
//! ```

#[cfg(feature = "cache")]
mod cache_client;
pub mod diagnostics;
pub mod environment;
pub mod interrupt;
pub mod json_events;
pub mod limits;
pub mod manual;
pub mod progress;
pub mod publish;
#[cfg(feature = "cache")]
pub mod remote_execution;
pub mod render;
pub mod reporter;
#[cfg(feature = "cache")]
pub mod store;
pub mod terminal;
pub mod timings;
#[cfg(feature = "cache")]
pub mod user;
mod version;

use kiln_engine::{Code, Diag};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a command of a tool and turns a panic into the error `internal`.
fn guarded<T, E: From<Diag>>(tool: &str, run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = format!("{tool} panicked: {}", text.unwrap_or("no message"));
        Err(Diag::new(Code::Internal, message)
            .hint("this is an internal error in Kiln; please report it")
            .into())
    })
}

/// Silences the panic hook on worker threads: the panic of an action is reported as the error of its asset.
pub fn quiet_panics() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let in_pool = std::thread::current().name().is_some_and(|name| name.starts_with("kiln-"));
        if !in_pool {
            default(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_a_panic_as_an_internal_error() {
        let error = |run: fn() -> Result<(), Diag>| guarded("tool", run).unwrap_err();
        assert_eq!(error(|| panic!("no {}", 7)).message, "tool panicked: no 7");
        assert_eq!(error(|| panic!("plain")).code, Code::Internal);
        assert_eq!(error(|| Err(Diag::new(Code::Usage, "unchanged"))).code, Code::Usage);
        assert_eq!(guarded::<_, Diag>("tool", || Ok(3)).ok(), Some(3));
    }
}
