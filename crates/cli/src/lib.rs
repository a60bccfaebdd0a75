//! What the command lines of Kiln's tools share: how they speak, progress, manuals, the user's configuration, the cache.
//! Each tool's arguments and exit codes are with its executable, in the package of its library. Everything else is in the
//! libraries: only the executables and this crate print or read the environment.

#[cfg(feature = "cache")]
mod cache_client;
pub mod environment;
pub mod limits;
pub mod manual;
pub mod progress;
pub mod render;
#[cfg(feature = "cache")]
pub mod store;
pub mod terminal;
#[cfg(feature = "cache")]
pub mod user;
pub mod voice;

use kiln_engine::{Code, Diag};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a command of a tool. A defect that no asset can be blamed for ends it with the error `internal`, not with a trace.
fn guarded<T, E: From<Diag>>(tool: &str, run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = format!("{tool} panicked: {}", text.unwrap_or("no message"));
        Err(Diag::new(Code::Internal, message).hint("this is a defect of Kiln: please report it").into())
    })
}

/// A panic inside a cook is reported as that asset's error; the default message would only come in between.
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
    fn a_defect_is_an_error_with_its_message() {
        let told = |run: fn() -> Result<(), Diag>| guarded("tool", run).unwrap_err();
        assert_eq!(told(|| panic!("no {}", 7)).message, "tool panicked: no 7");
        assert_eq!(told(|| panic!("plain")).code, Code::Internal);
        assert_eq!(told(|| Err(Diag::new(Code::Usage, "as it is"))).code, Code::Usage);
        assert_eq!(guarded::<_, Diag>("tool", || Ok(3)).ok(), Some(3));
    }
}
