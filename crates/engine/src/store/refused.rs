//! Records that were not used although they are whole: results that no build could have stored, and records without our
//! signature. They are counted for one warning each, and replaced on the server by a build that may write.

use crate::cache_entry::Rejected;
use crate::{Code, Diag, Hash};
use std::collections::HashSet;

/// Records that were not used although they are whole.
#[derive(Default)]
pub(super) struct Refused {
    /// The number of results that the tool refused, and the first by key, with the reason.
    rejected: usize,
    first_rejected: Option<(Hash, Rejected)>,
    /// Records of the server without our signature.
    unsigned: HashSet<Hash>,
    /// Records that the server has and that are replaced there by what is made here.
    replaced: HashSet<Hash>,
}

impl Refused {
    /// Adds a result that the tool refused.
    pub(super) fn reject(&mut self, key: Hash, why: Rejected) {
        self.rejected += 1;
        self.replaced.insert(key);
        if self.first_rejected.as_ref().is_none_or(|(first, _)| key < *first) {
            self.first_rejected = Some((key, why));
        }
    }

    /// Adds a record of the server that does not have our signature.
    pub(super) fn unsigned(&mut self, key: Hash) {
        self.unsigned.insert(key);
        self.replaced.insert(key);
    }

    /// Notes that a record is wrong wherever it is, and is to be replaced on the server.
    pub(super) fn replace(&mut self, key: Hash) {
        self.replaced.insert(key);
    }

    /// Returns whether a record is uploaded although the server says that it has it.
    pub(super) fn is_replaced(&self, key: Hash) -> bool {
        self.replaced.contains(&key)
    }

    pub(super) fn rejected_warning(&self) -> Option<Diag> {
        let (key, why) = self.first_rejected.as_ref()?;
        let message = match self.rejected {
            1 => {
                format!("the cache entry ac/{key} was not used, because no build could have stored it: {why}")
            }
            n => format!(
                "{n} cache entries were not used, because no build could have stored them; the first is ac/{key}: {why}"
            ),
        };
        let hint = "find out who can write to the shared cache, and set KILN_CACHE_SIGNING_KEY to use signed entries only";
        Some(Diag::new(Code::CacheEntryRejected, message).hint(hint))
    }

    pub(super) fn unsigned_warning(&self) -> Option<Diag> {
        let first = self.unsigned.iter().min()?;
        let message = format!(
            "the server has records that KILN_CACHE_SIGNING_KEY did not sign, which were not used: {}, the first is \
             ac/{first}",
            self.unsigned.len()
        );
        let hint = "give all who write to the server the same key; whoever has it and may write replaces the records";
        Some(Diag::new(Code::CacheEntryUnsigned, message).hint(hint))
    }
}
