//! Environment variables, behind a function so that tests can replace them.

use std::ffi::OsString;

/// Looks up an environment variable; an empty variable counts as unset.
pub type Var<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Returns a variable of the environment of this process; `None` if it is unset or empty.
pub fn env(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
