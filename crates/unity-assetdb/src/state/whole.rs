//! Whether a state is whole, as a bake needs it: it takes over what it does not read again.

use super::blocks::Damage;
use super::{
    ChildRec, DiagRec, EntryRec, FolderRec, OUT_OF_ORDER, Record, RefRec, Section, State, SubRec, crc_of,
};
use crate::store::db_path;
use std::path::Path;

impl State {
    /// Checks every block, every byte of the database, and that the parts fit together.
    pub(crate) fn verify(&self, out_dir: &Path) -> Result<(), Damage> {
        let (whole, db) = rayon::join(
            || self.blocks.get(0, self.blocks.raw().len()).and_then(|_| self.adds_up()),
            || crc_of(&db_path(out_dir)),
        );
        whole?;
        let same = db.is_ok_and(|crc| crc == self.head.db_crc);
        if same { Ok(()) } else { Err(Damage("not of this asset-db.bin")) }
    }

    /// Every record belongs to one other and every text to one record. Checksums keep accidents out; a file that was made
    /// to be right in all of them could still name one long text a million times, and fill the memory with it.
    fn adds_up(&self) -> Result<(), Damage> {
        let mut texts = u64::from(self.head.note.1);
        let mut children = Ascending::to(self.count::<ChildRec>(Section::Children));
        for rec in self.all::<FolderRec>(Section::Folders) {
            let rec = rec?;
            children.next(rec.first_child)?;
            texts += u64::from(rec.path_len);
        }
        for rec in self.all::<ChildRec>(Section::Children) {
            texts += u64::from(rec?.name_len);
        }
        let mut subs = Ascending::to(self.count::<SubRec>(Section::Subs));
        let mut refs = Ascending::to(self.count::<RefRec>(Section::Refs));
        for rec in self.all::<EntryRec>(Section::Entries) {
            let rec = rec?;
            subs.next(rec.first_sub)?;
            refs.next(rec.first_ref)?;
        }
        for rec in self.all::<SubRec>(Section::Subs) {
            texts += u64::from(rec?.raw_len);
        }
        for rec in self.all::<DiagRec>(Section::Diags) {
            let rec = rec?;
            let lens = [rec.code_len, rec.path_len, rec.at_len, rec.message_len, rec.hint_len];
            texts += lens.map(u64::from).iter().sum::<u64>();
        }
        let (_, len) = self.head.sections[Section::Texts as usize];
        if texts <= len { Ok(()) } else { Err(Damage("of more texts than it has room for")) }
    }

    fn all<R: Record>(&self, section: Section) -> impl Iterator<Item = Result<R, Damage>> {
        (0..self.count::<R>(section) as u32).map(move |at| self.must(section, at))
    }
}

/// Numbers of records, none smaller than the one before it, and none beyond the last.
struct Ascending {
    least: u32,
    most: usize,
}

impl Ascending {
    fn to(most: usize) -> Ascending {
        Ascending { least: 0, most }
    }

    fn next(&mut self, number: u32) -> Result<(), Damage> {
        if number < self.least || number as usize > self.most {
            return Err(OUT_OF_ORDER);
        }
        self.least = number;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::write::Writer;
    use crate::state::{Head, mtime_ns};
    use crate::store::{Temporary, cache_path};
    use std::fs;

    /// A state with these folders (the first child of each), entries (the first part of each) and parts (the length of
    /// the name of each), two children without names, and ten bytes of texts.
    fn verified(folders: &[u32], entries: &[u32], subs: &[u32]) -> Result<(), Damage> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(db_path(dir.path()), "").unwrap();
        let mut out = Writer::new(Temporary::beside(&cache_path(dir.path())).unwrap());
        out.section(Section::Folders);
        for first_child in folders {
            out.put(&FolderRec { first_child: *first_child, ..FolderRec::default() }).unwrap();
        }
        out.section(Section::Children);
        [ChildRec::default(); 2].iter().for_each(|child| out.put(child).unwrap());
        out.section(Section::Entries);
        for first_sub in entries {
            out.put(&EntryRec { first_sub: *first_sub, ..EntryRec::default() }).unwrap();
        }
        out.section(Section::Subs);
        for raw_len in subs {
            out.put(&SubRec { raw_len: *raw_len, ..SubRec::default() }).unwrap();
        }
        out.section(Section::Texts);
        out.bytes(b"ten  bytes").unwrap();
        let db_mtime_ns = mtime_ns(&fs::metadata(db_path(dir.path())).unwrap());
        let written = out.finish(Head { db_mtime_ns, ..Head::default() }).unwrap();
        written.publish(&cache_path(dir.path())).unwrap();
        State::open(dir.path()).unwrap().verify(dir.path())
    }

    #[test]
    fn a_state_that_would_cost_more_than_it_is_large_is_refused() {
        assert_eq!(verified(&[0, 2], &[0, 1, 1], &[4, 6]), Ok(()));
        assert_eq!(verified(&[], &[], &[]), Ok(()));
        // One text, named by everyone.
        assert!(verified(&[], &[0], &[10, 1]).is_err());
        assert!(verified(&[], &[0], &[10; 1000]).is_err());
        // Children and parts that belong to several, or to nobody.
        for bad in [[2, 0, 2], [0, 2, 1], [0, 1, 3], [0, 0, u32::MAX]] {
            assert!(verified(&bad, &[], &[]).is_err(), "{bad:?}");
            assert!(verified(&[], &bad, &[1, 1]).is_err(), "{bad:?}");
        }
    }
}
