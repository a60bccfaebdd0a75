//! The journal: one log file in the output tree that remembers every source's [`Record`].
//!
//! ```text
//! header   "KILNJRNL", version u32, reserved u32
//! change   length u32 of the body, CRC-32 u32 of the body, body
//! body     name (length u32, UTF-8), then a record, or nothing when the name is forgotten;
//!          or the empty name, then a text that records name by its key
//! ```
//!
//! Changes are only ever appended, and the last one for a name counts. A kill can tear the last change at
//! most; what follows the first damaged byte is cut off and its sources are built again. When more than a
//! quarter of the file is out of date it is rewritten as a whole, under a new name first: every build reads it.

use crate::RelPath;
use crate::fs::{Fs, Held, Log};
use crate::record::{Record, TextKey};
use crate::wire::{Reader, Writer};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::ops::Range;

const MAGIC: &[u8; 8] = b"KILNJRNL";
const VERSION: u32 = 5;
const HEADER: usize = 16;
const PREFIX: usize = 8;

/// Below this size the journal is not worth rewriting.
const SMALL: usize = 64 << 10;

/// The records of an output tree, by name.
#[derive(Default)]
pub struct Records {
    bytes: Vec<u8>,
    index: HashMap<Box<str>, Range<usize>>,
    texts: HashMap<TextKey, Range<usize>>,
    live: usize,
    cut: bool,
    /// Kept for as long as the records are looked at.
    #[allow(dead_code, reason = "dropping it is its use")]
    held: Option<Held>,
}

impl Records {
    /// Reads the records of a tree that is only looked at. While they live, no run changes the tree.
    pub fn read(fs: &dyn Fs, name: &RelPath, waiting: &dyn Fn()) -> io::Result<Records> {
        let (bytes, held) = fs.read_log(name, waiting)?;
        Ok(Records { held: Some(held), ..Records::parse(bytes) })
    }

    /// Takes everything up to the first damage. A file that is no journal of ours has no records.
    fn parse(bytes: Vec<u8>) -> Records {
        let mut records = Records::default();
        if !is_ours(&bytes) {
            records.cut = !bytes.is_empty();
            records.bytes = header();
            return records;
        }
        records.bytes = bytes;
        // Some two hundred bytes are a record: rather too many places than moving them all.
        records.index.reserve(records.bytes.len() / 192);
        let mut at = HEADER;
        while let Some(end) = records.take(at) {
            at = end;
        }
        records.cut = at < records.bytes.len();
        records.bytes.truncate(at);
        records
    }

    /// Indexes the change at an offset; `None` at the end or where the bytes are damaged.
    fn take(&mut self, at: usize) -> Option<usize> {
        let mut r = Reader::new(self.bytes.get(at..)?);
        let (len, crc) = (r.u32()? as usize, r.u32()?);
        let body = self.bytes.get(at + PREFIX..)?.get(..len)?;
        if crc32fast::hash(body) != crc {
            return None;
        }
        let name = Reader::new(body).text()?;
        let end = at + PREFIX + len;
        let rest = end - len + 4 + name.len()..end;
        let name: Box<str> = name.into();
        self.note(name, rest)?;
        Some(end)
    }

    fn note(&mut self, name: Box<str>, rest: Range<usize>) -> Option<()> {
        let cost = |name: &str, rest: &Range<usize>| PREFIX + 4 + name.len() + rest.len();
        if name.is_empty() {
            self.live += cost(&name, &rest);
            let text = std::str::from_utf8(&self.bytes[rest.clone()]).ok()?;
            self.texts.insert(TextKey::of(text), rest);
            return Some(());
        }
        if let Some(old) = self.index.remove(&name) {
            self.live -= cost(&name, &old);
        }
        if !rest.is_empty() {
            self.live += cost(&name, &rest);
            self.index.insert(name, rest);
        }
        Some(())
    }

    fn text(&self, key: TextKey) -> Option<&str> {
        std::str::from_utf8(&self.bytes[self.texts.get(&key)?.clone()]).ok()
    }

    /// The record under a name.
    pub fn get(&self, name: &str) -> Option<Record<'_>> {
        Record::decode(&self.bytes[self.index.get(name)?.clone()], |key| self.text(key))
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.index.keys().map(|name| &**name).collect();
        names.sort_unstable();
        names
    }

    /// Whether part of the journal was damaged and left out.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whether something is remembered under a name.
    pub fn contains(&self, name: &str) -> bool {
        self.index.contains_key(name)
    }

    /// How many names are remembered.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }
}

/// The journal of an output tree, held by one process at a time.
pub struct Journal {
    records: Records,
    log: Box<dyn Log>,
}

impl Journal {
    /// Takes hold of the journal and loads it; waits (after calling `waiting`) while another process holds it.
    pub fn open(fs: &dyn Fs, name: &RelPath, waiting: &dyn Fn()) -> io::Result<Journal> {
        Journal::load(fs.open_log(name, waiting)?)
    }

    /// What messages call it.
    pub fn name(&self) -> String {
        self.log.name()
    }

    /// Loads a journal that is held already, and cuts off a damaged tail.
    pub fn load(mut log: Box<dyn Log>) -> io::Result<Journal> {
        let bytes = log.read()?;
        let (len, ours) = (bytes.len(), is_ours(&bytes));
        let records = Records::parse(bytes);
        if !ours {
            log.replace(&records.bytes)?;
        } else if records.bytes.len() < len {
            log.truncate(records.bytes.len() as u64)?;
        }
        Ok(Journal { records, log })
    }

    /// What is remembered.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Remembers or, with `None`, forgets; all of it or, after a kill, a leading part of it.
    pub fn append(&mut self, changes: &[(&str, Option<&Record<'_>>)]) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut notes = Vec::with_capacity(changes.len());
        let mut told = HashSet::new();
        for (name, record) in changes {
            let text = record.map(|record| &*record.fingerprint);
            if let Some(text) = text.filter(|text| self.is_untold(text, &mut told)) {
                put_change(&mut bytes, "", text.as_bytes());
                let end = self.records.bytes.len() + bytes.len();
                notes.push(("", end - text.len()..end));
            }
            let record = record.map(Record::encode).unwrap_or_default();
            put_change(&mut bytes, name, &record);
            let end = self.records.bytes.len() + bytes.len();
            notes.push((*name, end - record.len()..end));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.log.append(&bytes) {
            // A torn change must not stay in front of the next one.
            let _ = self.log.truncate(self.records.bytes.len() as u64);
            return Err(error);
        }
        self.records.bytes.extend_from_slice(&bytes);
        for (name, record) in notes {
            self.records.note(name.into(), record);
        }
        Ok(())
    }

    /// Whether neither the journal nor the changes that are about to be appended have a text.
    fn is_untold(&self, text: &str, told: &mut HashSet<TextKey>) -> bool {
        let key = TextKey::of(text);
        !self.records.texts.contains_key(&key) && told.insert(key)
    }

    /// Rewrites the journal when much of it is out of date.
    pub fn compact(&mut self) -> io::Result<()> {
        let records = &self.records;
        if records.bytes.len() < SMALL || records.bytes.len() / 4 * 3 < records.live {
            return Ok(());
        }
        let names = records.names();
        let texts: BTreeSet<String> =
            names.iter().filter_map(|name| records.get(name)).map(|r| r.fingerprint.into_owned()).collect();
        let mut bytes = header();
        for text in texts {
            put_change(&mut bytes, "", text.as_bytes());
        }
        for name in names {
            put_change(&mut bytes, name, &records.bytes[records.index[name].clone()]);
        }
        self.log.replace(&bytes)?;
        self.records = Records::parse(bytes);
        Ok(())
    }
}

fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(&header())
}

fn header() -> Vec<u8> {
    let mut w = Writer::new();
    w.raw(MAGIC);
    w.u32(VERSION);
    w.u32(0);
    w.finish()
}

fn put_change(bytes: &mut Vec<u8>, name: &str, record: &[u8]) {
    let mut body = Writer::new();
    body.text(name);
    body.raw(record);
    let body = body.finish();
    let mut prefix = Writer::new();
    prefix.count(body.len());
    prefix.u32(crc32fast::hash(&body));
    bytes.extend_from_slice(&prefix.finish());
    bytes.extend_from_slice(&body);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::Mem;

    const NAME: &str = ".journal";

    fn open(mem: &Mem) -> Journal {
        Journal::open(mem, &RelPath::new(NAME).unwrap(), &|| ()).unwrap()
    }

    fn record(why: &str) -> Record<'static> {
        Record { why: why.to_owned().into(), ..Record::default() }
    }

    fn why(journal: &Journal, name: &str) -> Option<String> {
        journal.records().get(name).map(|r| r.why.into_owned())
    }

    #[test]
    fn the_last_change_counts() {
        let mem = Mem::new();
        let mut journal = open(&mem);
        journal.append(&[("a", Some(&record("1"))), ("b", Some(&record("2")))]).unwrap();
        journal.append(&[("a", Some(&record("3"))), ("b", None)]).unwrap();
        for journal in [journal, open(&mem)] {
            assert_eq!(why(&journal, "a").as_deref(), Some("3"));
            assert_eq!(why(&journal, "b"), None);
            assert_eq!(journal.records().names(), ["a"]);
        }
    }

    #[test]
    fn a_tail_torn_or_flipped_anywhere_costs_only_what_comes_after() {
        let mem = Mem::new();
        let mut journal = open(&mem);
        journal.append(&[("a", Some(&record("1")))]).unwrap();
        let first = mem.get(NAME).unwrap().len();
        journal.append(&[("b", Some(&record("2")))]).unwrap();
        drop(journal);
        let whole = mem.get(NAME).unwrap();
        for at in first..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            for (damaged, cut) in [(whole[..at].to_vec(), at > first), (flipped, true)] {
                assert_eq!(Records::parse(damaged.clone()).is_cut(), cut, "{at}");
                mem.put(NAME, damaged);
                let mut journal = open(&mem);
                assert_eq!(why(&journal, "a").as_deref(), Some("1"), "{at}");
                assert_eq!(why(&journal, "b"), None, "{at}");
                journal.append(&[("c", Some(&record("3")))]).unwrap();
                assert_eq!(open(&mem).records().names(), ["a", "c"], "{at}");
            }
        }
    }

    #[test]
    fn a_foreign_file_is_no_journal() {
        let mem = Mem::new();
        mem.put(NAME, b"HCAC\x01\0\0\0\0\0\0\0\0\0\0\0".to_vec());
        let mut journal = open(&mem);
        assert!(journal.records().is_empty());
        journal.append(&[("a", Some(&record("1")))]).unwrap();
        assert_eq!(why(&open(&mem), "a").as_deref(), Some("1"));
    }

    #[test]
    fn rewriting_keeps_what_counts_and_sheds_the_rest() {
        let mem = Mem::new();
        let mut journal = open(&mem);
        for round in 0..2000 {
            journal
                .append(&[("a", Some(&record(&format!("{round}")))), ("b", Some(&record("kept")))])
                .unwrap();
        }
        let before = mem.get(NAME).unwrap().len();
        journal.compact().unwrap();
        let after = mem.get(NAME).unwrap().len();
        assert!(after * 100 < before, "{before} -> {after}");
        for journal in [journal, open(&mem)] {
            assert_eq!(why(&journal, "a").as_deref(), Some("1999"));
            assert_eq!(why(&journal, "b").as_deref(), Some("kept"));
        }
    }
}
