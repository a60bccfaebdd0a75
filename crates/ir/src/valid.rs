//! The mark of something whose invariants were checked, and what is said when they do not hold.

use std::fmt;
use std::ops::Deref;

/// A value whose invariants were checked. Only a `validate` method makes one, and it cannot be changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Valid<T>(pub(crate) T);

impl<T> Valid<T> {
    /// Gives up the mark, to change the value.
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

/// The first invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The place in the model: `meshes[0].primitives[2].normals`.
    pub at: String,
    /// What is wrong with it.
    pub what: String,
}

impl Flaw {
    pub(crate) fn new(at: impl fmt::Display, what: impl fmt::Display) -> Flaw {
        Flaw { at: at.to_string(), what: what.to_string() }
    }

    /// The same flaw, seen from the thing that holds the one that has it.
    pub(crate) fn within(self, holder: impl fmt::Display) -> Flaw {
        Flaw { at: format!("{holder}.{}", self.at), what: self.what }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

impl std::error::Error for Flaw {}

/// Whether an index names one of `count` things.
pub(crate) fn check_id(id: u32, count: usize, at: impl fmt::Display) -> Result<(), Flaw> {
    if (id as usize) < count {
        return Ok(());
    }
    Err(Flaw::new(at, format_args!("{id} is not one of {count}")))
}

/// Whether all numbers are finite.
pub(crate) fn check_finite<'a, const N: usize>(
    values: impl IntoIterator<Item = &'a [f32; N]>,
    at: &str,
) -> Result<(), Flaw> {
    match values.into_iter().position(|value| !value.iter().all(|v| v.is_finite())) {
        None => Ok(()),
        Some(index) => Err(Flaw::new(format_args!("{at}[{index}]"), "it is not finite")),
    }
}
