//! Objects of the cache that were not used: damaged objects of a server, entries that no build could have stored, and
//! records without a valid signature.
//!
//! Each is a cache miss. A damaged object is a record that does not parse or belongs to another key, or a blob with another
//! content or length. The keys are remembered for the run, so that a build with write access replaces the objects although
//! the server has them.

use super::Name;
use crate::{Code, Diag, Hash, counted};
use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of damaged objects from which on a server with more damaged than sound objects is disabled.
const MANY: u64 = 8;

/// The number of keys in a warning about damaged objects.
const NAMED: usize = 3;

/// The objects that were not used in one run.
#[derive(Default)]
pub(crate) struct RejectedObjects(Mutex<State>);

#[derive(Default)]
struct State {
    /// Damaged objects of the server that have not been replaced yet.
    damaged: HashSet<Name>,
    first_damaged: Vec<Name>,
    damaged_count: u64,
    replaced_count: u64,
    sound_count: u64,
    /// The number of entries that the tool rejected, and the smallest key with the reason.
    rejected_count: usize,
    first_rejected: Option<(Hash, String)>,
    /// Records of the server without a valid signature.
    unsigned: HashSet<Hash>,
    /// Records that are uploaded although the server has them.
    outdated: HashSet<Hash>,
}

impl RejectedObjects {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a damaged object of the server; returns whether so many are damaged that the server should be disabled.
    pub(crate) fn add_damaged(&self, name: Name) -> bool {
        let mut state = self.lock();
        if state.damaged.insert(name) {
            state.damaged_count += 1;
            if state.first_damaged.len() < NAMED {
                state.first_damaged.push(name);
            }
        }
        state.damaged_count >= MANY && state.damaged_count > state.sound_count
    }

    /// Counts an object of the server that was verified.
    pub(crate) fn count_sound(&self) {
        self.lock().sound_count += 1;
    }

    /// Adds an entry that the tool rejected.
    pub(crate) fn add_rejected(&self, key: Hash, reason: String) {
        let mut state = self.lock();
        state.rejected_count += 1;
        state.outdated.insert(key);
        if state.first_rejected.as_ref().is_none_or(|(first, _)| key < *first) {
            state.first_rejected = Some((key, reason));
        }
    }

    /// Adds a record of the server without a valid signature.
    pub(crate) fn add_unsigned(&self, key: Hash) {
        let mut state = self.lock();
        state.unsigned.insert(key);
        state.outdated.insert(key);
    }

    /// Marks a record to be replaced on the server, because this run has another result.
    pub(crate) fn mark_outdated(&self, key: Hash) {
        self.lock().outdated.insert(key);
    }

    /// Returns whether an object is uploaded although the server has it.
    pub(crate) fn must_replace(&self, name: Name) -> bool {
        let state = self.lock();
        let outdated = matches!(name, Name::Record(key) if state.outdated.contains(&key));
        outdated || state.damaged.contains(&name)
    }

    /// Records that an object was uploaded.
    pub(crate) fn mark_uploaded(&self, name: Name) {
        let mut state = self.lock();
        if state.damaged.remove(&name) {
            state.replaced_count += 1;
        }
        if let Name::Record(key) = name {
            state.outdated.remove(&key);
        }
    }

    /// Returns the warning about damaged objects of a server, with their number and the first keys.
    pub(crate) fn damaged_warning(&self, server: &str, writes: bool) -> Option<Diag> {
        let state = self.lock();
        if state.damaged_count == 0 {
            return None;
        }
        let names: Vec<String> = state.first_damaged.iter().map(Name::to_string).collect();
        let more = state.damaged_count - state.first_damaged.len() as u64;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let objects = counted(state.damaged_count as usize, "damaged object", "damaged objects");
        let message = format!("{server} has {objects}: {}{more}", names.join(", "));
        let hint = match (writes, state.replaced_count == state.damaged_count) {
            (true, true) => "their results were built locally, and the objects were replaced",
            (true, false) => "their results were built locally; build again to replace the remaining objects",
            (false, _) => {
                "their results were built locally; a build with KILN_CACHE_POLICY=write replaces the objects"
            }
        };
        Some(Diag::new(Code::CacheDamagedObject, message).hint(hint))
    }

    /// Returns the warning about entries that the tool rejected, with their number and the first key.
    pub(crate) fn rejected_warning(&self) -> Option<Diag> {
        let state = self.lock();
        let (key, reason) = state.first_rejected.as_ref()?;
        let message = match state.rejected_count {
            1 => format!(
                "the cache entry ac/{key} was not used, because no build could have stored it: {reason}"
            ),
            n => format!(
                "{n} cache entries were not used, because no build could have stored them; the first is \
                 ac/{key}: {reason}"
            ),
        };
        let hint = "check who has write access to the shared cache, and set KILN_CACHE_SIGNING_KEY to use signed \
                    entries only";
        Some(Diag::new(Code::CacheEntryRejected, message).hint(hint))
    }

    /// Returns the warning about records without a valid signature, with their number and the first key.
    pub(crate) fn unsigned_warning(&self) -> Option<Diag> {
        let state = self.lock();
        let first = state.unsigned.iter().min()?;
        let count = state.unsigned.len();
        let message = match count {
            1 => format!(
                "the record ac/{first} of the server was not used, because it is not signed with \
                 KILN_CACHE_SIGNING_KEY"
            ),
            n => format!(
                "{n} records of the server were not used, because they are not signed with \
                 KILN_CACHE_SIGNING_KEY; the first is ac/{first}"
            ),
        };
        let hint = "give every writer of the server the same key; a build with the key and write access replaces \
                    the records";
        Some(Diag::new(Code::CacheEntryUnsigned, message).hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u64) -> Hash {
        Hash::of(&n.to_le_bytes())
    }

    fn record(n: u64) -> Name {
        Name::Record(key(n))
    }

    #[test]
    fn a_few_damaged_objects_do_not_disable_the_server() {
        let damaged = RejectedObjects::default();
        (0..MANY - 1).for_each(|n| assert!(!damaged.add_damaged(record(n)), "{n}"));
        assert!(!damaged.add_damaged(record(0)), "an object counts once");
        assert!(damaged.add_damaged(record(MANY)));
        let mostly_sound = RejectedObjects::default();
        (0..100).for_each(|_| mostly_sound.count_sound());
        (0..100).for_each(|n| assert!(!mostly_sound.add_damaged(record(n)), "{n}"));
        assert!(mostly_sound.add_damaged(record(100)));
    }

    #[test]
    fn warning_has_the_first_keys_and_the_number() {
        let damaged = RejectedObjects::default();
        assert!(damaged.damaged_warning("server", true).is_none());
        (0..5).for_each(|n| _ = damaged.add_damaged(record(n)));
        let warning = damaged.damaged_warning("server", false).unwrap();
        assert!(warning.message.contains("5 damaged objects") && warning.message.ends_with("and 2 more"));
        assert!(warning.message.contains(&record(0).to_string()));
        (0..5).for_each(|n| damaged.mark_uploaded(record(n)));
        let warning = damaged.damaged_warning("server", true).unwrap();
        assert!(warning.hint.as_deref().is_some_and(|hint| hint.contains("were replaced")));
        assert!(!damaged.must_replace(record(0)));
    }

    #[test]
    fn rejected_and_unsigned_records_are_replaced() {
        let rejected = RejectedObjects::default();
        rejected.add_rejected(key(1), "it writes b.ktx2".to_owned());
        rejected.add_unsigned(key(2));
        rejected.mark_outdated(key(3));
        assert!((1..=3).all(|n| rejected.must_replace(record(n))) && !rejected.must_replace(record(4)));
        assert!(rejected.rejected_warning().unwrap().message.ends_with("it writes b.ktx2"));
        assert!(rejected.unsigned_warning().unwrap().message.starts_with("the record ac/"));
        rejected.mark_uploaded(record(1));
        assert!(!rejected.must_replace(record(1)));
    }
}
