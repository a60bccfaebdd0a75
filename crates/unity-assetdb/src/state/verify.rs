//! Verifies all of a state and its database, as a bake does that was asked for. A query verifies the pages that it reads.

use super::pages::Damage;
use super::{DUPLICATES, State, crc_of};
use crate::store::db_path;
use std::path::Path;

impl State {
    /// Verifies the checksum of every page, and that of the database.
    ///
    /// # Errors
    /// The first damage found.
    pub(crate) fn verify(&self, out_dir: &Path) -> Result<(), Damage> {
        let (pages, db) = rayon::join(|| self.verify_pages(), || crc_of(&db_path(out_dir)));
        pages?;
        let same = db.is_ok_and(|crc| crc == self.header.db_crc) || self.header.options & DUPLICATES != 0;
        if same { Ok(()) } else { Err(Damage(OTHER_DB)) }
    }

    /// The number of bytes in all sections.
    pub(crate) fn len(&self) -> u64 {
        self.header.sections.iter().map(|(_, len)| len).sum()
    }
}

/// The state was written with another database, or the database is damaged.
pub(crate) const OTHER_DB: &str = "it does not belong to this asset-db.bin";
