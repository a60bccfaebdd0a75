//! A wrapper for values with checked invariants, and the error of an invariant that does not hold.

use std::fmt;
use std::ops::Deref;

/// A value with checked invariants. Only a `validate` method creates one, and the value cannot be modified.
#[derive(Clone, Debug, PartialEq)]
pub struct Valid<T>(pub(crate) T);

impl<T> Valid<T> {
    /// Unwraps the value, to modify it.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Valid<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// The error of a value that violates an invariant: the first violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationError {
    /// The place in the model: `meshes[0].primitives[2].normals`.
    pub at: String,
    /// The violation, as a sentence without the place.
    pub message: String,
}

impl ValidationError {
    pub(crate) fn new(at: impl fmt::Display, message: impl fmt::Display) -> ValidationError {
        ValidationError { at: at.to_string(), message: message.to_string() }
    }

    /// Prefixes the place with that of the value that contains it.
    pub(crate) fn within(self, holder: impl fmt::Display) -> ValidationError {
        ValidationError { at: format!("{holder}.{}", self.at), message: self.message }
    }
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

impl std::error::Error for ValidationError {}

/// Checks that an index is less than `count`.
pub(crate) fn check_id(id: u32, count: usize, at: impl fmt::Display) -> Result<(), ValidationError> {
    if (id as usize) < count {
        return Ok(());
    }
    Err(ValidationError::new(
        at,
        format_args!(
            "index {id} is out of range: the list has {count} {}",
            plural(count, "entry", "entries")
        ),
    ))
}

/// Checks that all numbers are finite.
pub(crate) fn check_finite<'a, const N: usize>(
    values: impl IntoIterator<Item = &'a [f32; N]>,
    at: &str,
) -> Result<(), ValidationError> {
    match values.into_iter().position(|value| !value.iter().all(|v| v.is_finite())) {
        None => Ok(()),
        Some(index) => Err(ValidationError::new(format_args!("{at}[{index}]"), "the value is not finite")),
    }
}

/// Returns the form of a noun that goes with a number.
pub(crate) fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}
