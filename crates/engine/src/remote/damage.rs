//! Damaged objects of a server: records that do not parse or belong to another key, blobs with other bytes or another
//! length. Each is a cache miss. Their keys are remembered for the run, so that a build that may write replaces them
//! although the server says that it has them.

use super::Name;
use crate::{Code, Diag};
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of damaged objects from which on a server with more damaged than sound objects is not used any more.
const MANY: u64 = 8;

/// The number of keys that a warning names.
const NAMED: usize = 3;

/// The damaged objects of a server, as far as this run has met them.
#[derive(Default)]
pub(crate) struct DamagedObjects(Mutex<State>);

#[derive(Default)]
struct State {
    /// Those that have not been replaced yet.
    pending: HashSet<Name>,
    first: Vec<Name>,
    count: u64,
    replaced: u64,
    sound: u64,
}

impl DamagedObjects {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an object; returns whether so many are damaged that the server should not be used any more.
    pub(crate) fn add(&self, name: Name) -> bool {
        let mut state = self.lock();
        if state.pending.insert(name) {
            state.count += 1;
            if state.first.len() < NAMED {
                state.first.push(name);
            }
        }
        state.count >= MANY && state.count > state.sound
    }

    pub(crate) fn count_sound(&self) {
        self.lock().sound += 1;
    }

    /// Returns whether an object is damaged on the server, so that it is uploaded unconditionally.
    pub(crate) fn contains(&self, name: Name) -> bool {
        self.lock().pending.contains(&name)
    }

    /// Notes that an object was uploaded.
    pub(crate) fn replaced(&self, name: Name) {
        let mut state = self.lock();
        if state.pending.remove(&name) {
            state.replaced += 1;
        }
    }

    /// Returns the warning that names the first keys and their number.
    pub(crate) fn warning(&self, server: &str, writes: bool) -> Option<Diag> {
        let state = self.lock();
        if state.count == 0 {
            return None;
        }
        let names: Vec<String> = state.first.iter().map(Name::to_string).collect();
        let more = state.count - state.first.len() as u64;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let objects = if state.count == 1 { "object" } else { "objects" };
        let message = format!("{server} has {} damaged {objects}: {}{more}", state.count, names.join(", "));
        let hint = match (writes, state.replaced == state.count) {
            (true, true) => "their results were built here, and the objects were replaced",
            (true, false) => {
                "their results were built here; build again to replace the objects that are left"
            }
            (false, _) => {
                "their results were built here; a build with KILN_CACHE_POLICY=write replaces the objects"
            }
        };
        Some(Diag::new(Code::CacheDamagedObject, message).hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hash;

    fn record(n: u64) -> Name {
        Name::Record(Hash::of(&n.to_le_bytes()))
    }

    #[test]
    fn a_few_damaged_objects_do_not_disable_the_server() {
        let damaged = DamagedObjects::default();
        (0..MANY - 1).for_each(|n| assert!(!damaged.add(record(n)), "{n}"));
        assert!(!damaged.add(record(0)), "one object counts once");
        assert!(damaged.add(record(MANY)));
        let mostly_sound = DamagedObjects::default();
        (0..100).for_each(|_| mostly_sound.count_sound());
        (0..100).for_each(|n| assert!(!mostly_sound.add(record(n)), "{n}"));
        assert!(mostly_sound.add(record(100)));
    }

    #[test]
    fn the_warning_names_the_first_keys_and_the_number() {
        let damaged = DamagedObjects::default();
        assert!(damaged.warning("server", true).is_none());
        (0..5).for_each(|n| _ = damaged.add(record(n)));
        let warning = damaged.warning("server", false).unwrap();
        assert!(warning.message.contains("5 damaged objects") && warning.message.ends_with("and 2 more"));
        assert!(warning.message.contains(&record(0).to_string()));
        (0..5).for_each(|n| damaged.replaced(record(n)));
        assert!(
            damaged
                .warning("server", true)
                .unwrap()
                .hint
                .as_deref()
                .is_some_and(|hint| hint.contains("were replaced"))
        );
        assert!(!damaged.contains(record(0)));
    }
}
