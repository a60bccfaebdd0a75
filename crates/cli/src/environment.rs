//! Variables of the environment.

use std::ffi::OsString;

/// Looks a variable of the environment up; those that are empty count as unset.
pub type Var<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The environment of this process.
pub fn env(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
