//! The journal: a log file in the output directory with the [`Record`] of every action.
//!
//! ```text
//! header   "KILNJRNL", version u32, reserved u32
//! change   length u32 of the body, CRC-32 u32 of the body, body
//! body     name (length u32, UTF-8), then a record, or nothing when the record is removed;
//!          or the empty name, then a fingerprint that records refer to by its key;
//!          or "//checkpoint", then a checkpoint, the length u64 of the change and "KILNCHKP"
//! ```
//!
//! The log is append-only, and the last change of a name counts. A killed process can leave at most the last change torn; the
//! log is truncated at the first damaged change, and the sources after it are built again. When more than a quarter of the
//! file is out of date it is compacted: rewritten under a temporary name and renamed into place, because every build reads it.
//!
//! A checkpoint is what a tool wants to know about the last run that had nothing to do. It is the last change of the log, and
//! is found from its end without reading the rest; the next change replaces it. So it describes the records before it, or
//! does not exist.

use crate::RelPath;
use crate::fs::{Fs, Log, LogGuard};
use crate::record::{Record, TextKey};
use crate::wire::{Reader, Writer};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::ops::Range;

const MAGIC: &[u8; 8] = b"KILNJRNL";
const VERSION: u32 = 5;
const HEADER: usize = 16;
const PREFIX: usize = 8;

/// The name of a checkpoint. No action has it: paths of sources do not start with a slash.
const CHECKPOINT: &str = "//checkpoint";
const CHECKPOINT_MAGIC: &[u8; 8] = b"KILNCHKP";
/// The length of a change and the magic at the end of a checkpoint, in bytes.
const TRAILER: usize = 16;

/// The usual length of a change with a record in bytes, to reserve memory for many.
const TYPICAL_CHANGE_LEN: usize = 320;

/// The size in bytes below which the journal is not compacted.
const MIN_COMPACT_LEN: usize = 64 << 10;

/// The records of an output tree, by name.
#[derive(Default)]
pub struct Records {
    bytes: Vec<u8>,
    index: HashMap<Box<str>, Range<usize>>,
    fingerprints: HashMap<TextKey, Range<usize>>,
    live: usize,
    truncated: bool,
    /// True if a checkpoint follows the bytes in the log.
    checkpoint: bool,
    /// Held as long as the records are in use.
    #[allow(dead_code, reason = "dropping it is its use")]
    held: Option<LogGuard>,
}

impl Records {
    /// Reads the records of an output directory with a shared lock. While they live, no run changes the directory.
    ///
    /// # Errors
    /// If the journal cannot be read or locked.
    pub fn read(fs: &dyn Fs, name: &RelPath, waiting: &dyn Fn()) -> io::Result<Records> {
        let (bytes, held) = fs.read_log(name, waiting)?;
        Ok(Records { held: Some(held), ..Records::parse(bytes) })
    }

    /// Parses all changes up to the first damaged one. A file without the header of a journal has no records.
    fn parse(bytes: Vec<u8>) -> Records {
        let mut records = Records::default();
        if !has_header(&bytes) {
            records.truncated = !bytes.is_empty();
            records.bytes = header();
            return records;
        }
        records.bytes = bytes;
        // A record has about 200 bytes; a table that is too large is cheaper than rehashing.
        records.index.reserve(records.bytes.len() / 192);
        let (mut last, mut at) = (HEADER, HEADER);
        while let Some(end) = records.parse_change(at) {
            (last, at) = (at, end);
        }
        records.truncated = at < records.bytes.len();
        records.checkpoint = !records.truncated && checkpoint(&records.bytes[last..]).is_some();
        records.bytes.truncate(if records.checkpoint { last } else { at });
        records
    }

    /// Indexes the change at an offset and returns its end; `None` at the end of the log or if the change is damaged.
    fn parse_change(&mut self, at: usize) -> Option<usize> {
        let mut r = Reader::new(self.bytes.get(at..)?);
        let (len, crc) = (r.u32()? as usize, r.u32()?);
        let body = self.bytes.get(at + PREFIX..)?.get(..len)?;
        if crc32fast::hash(body) != crc {
            return None;
        }
        let name = Reader::new(body).text()?;
        let end = at + PREFIX + len;
        let rest = end - len + 4 + name.len()..end;
        // A checkpoint is no record, and one that another version left in the middle is not valid.
        if name != CHECKPOINT {
            let name: Box<str> = name.into();
            self.index_change(name, rest)?;
        }
        Some(end)
    }

    fn index_change(&mut self, name: Box<str>, rest: Range<usize>) -> Option<()> {
        let cost = |name: &str, rest: &Range<usize>| PREFIX + 4 + name.len() + rest.len();
        if name.is_empty() {
            self.live += cost(&name, &rest);
            let text = std::str::from_utf8(&self.bytes[rest.clone()]).ok()?;
            self.fingerprints.insert(TextKey::of(text), rest);
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

    fn fingerprint(&self, key: TextKey) -> Option<&str> {
        std::str::from_utf8(&self.bytes[self.fingerprints.get(&key)?.clone()]).ok()
    }

    /// Returns the record of a name.
    pub fn get(&self, name: &str) -> Option<Record<'_>> {
        Record::decode(&self.bytes[self.index.get(name)?.clone()], |key| self.fingerprint(key))
    }

    /// Returns all names, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.index.keys().map(|name| &**name).collect();
        names.sort_unstable();
        names
    }

    /// Returns whether the journal was truncated at a damaged change.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Returns whether there is a record of a name.
    pub fn contains(&self, name: &str) -> bool {
        self.index.contains_key(name)
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }
}

/// The journal of an output directory, locked by one process at a time.
pub struct Journal {
    records: Records,
    log: Box<dyn Log>,
    changed: bool,
}

/// The checkpoint at the end of a log.
pub struct Checkpoint {
    change: Vec<u8>,
    content: Range<usize>,
}

impl Checkpoint {
    /// Reads the checkpoint of a locked log, and nothing else; `None` if the last change of the log is not a checkpoint.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn read(log: &mut dyn Log) -> io::Result<Option<Checkpoint>> {
        let len = log.byte_len()?;
        if len < (HEADER + TRAILER) as u64 || !has_header(&log.read_at(0, HEADER as u64)?) {
            return Ok(None);
        }
        let trailer = log.read_at(len - TRAILER as u64, TRAILER as u64)?;
        let mut r = Reader::new(&trailer);
        let (Some(change_len), Some(magic)) = (r.u64(), r.array()) else { return Ok(None) };
        if magic != *CHECKPOINT_MAGIC || change_len > len - HEADER as u64 {
            return Ok(None);
        }
        let change = log.read_at(len - change_len, change_len)?;
        let content = checkpoint(&change);
        Ok(content.map(|content| Checkpoint { change, content }))
    }

    /// Returns the bytes that the tool wrote.
    pub fn content(&self) -> &[u8] {
        &self.change[self.content.clone()]
    }
}

/// Returns the place of the content in a change that is a valid checkpoint.
fn checkpoint(change: &[u8]) -> Option<Range<usize>> {
    let mut r = Reader::new(change);
    let (len, crc) = (r.u32()? as usize, r.u32()?);
    let body = change.get(PREFIX..).filter(|body| body.len() == len)?;
    let start = PREFIX + 4 + CHECKPOINT.len();
    let end = change.len().checked_sub(TRAILER).filter(|end| start <= *end)?;
    let is_checkpoint = r.text()? == CHECKPOINT
        && change[end..][..8] == (change.len() as u64).to_le_bytes()
        && change[end + 8..] == *CHECKPOINT_MAGIC;
    (is_checkpoint && crc32fast::hash(body) == crc).then_some(start..end)
}

impl Journal {
    /// Locks and loads the journal; calls `waiting` once and blocks while another process holds the lock.
    ///
    /// # Errors
    /// If the journal cannot be opened, locked, read or repaired.
    pub fn open(fs: &dyn Fs, name: &RelPath, waiting: &dyn Fn()) -> io::Result<Journal> {
        Journal::load(fs.open_log(name, waiting)?)
    }

    /// Returns the name for messages.
    pub fn name(&self) -> String {
        self.log.name()
    }

    /// Loads a journal that is already locked, and truncates it at the first damaged change.
    ///
    /// # Errors
    /// If the log cannot be read or truncated.
    pub fn load(mut log: Box<dyn Log>) -> io::Result<Journal> {
        let len = log.byte_len()?;
        let bytes = log.read_at(0, len)?;
        let is_journal = has_header(&bytes);
        let records = Records::parse(bytes);
        if !is_journal {
            log.replace(&records.bytes)?;
        } else if records.truncated {
            log.truncate(records.bytes.len() as u64)?;
        }
        let changed = !is_journal || records.truncated;
        Ok(Journal { records, log, changed })
    }

    /// Returns whether the log was changed since it was opened: appended to, compacted or repaired.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Writes a checkpoint, which describes the records as they are now. It is removed by the next change.
    ///
    /// # Errors
    /// If writing fails; then there is no checkpoint.
    pub fn write_checkpoint(&mut self, content: &[u8]) -> io::Result<()> {
        let len = PREFIX + 4 + CHECKPOINT.len() + content.len() + TRAILER;
        if u32::try_from(len).is_err() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.remove_checkpoint()?;
        let mut record = Vec::with_capacity(content.len() + TRAILER);
        record.extend_from_slice(content);
        record.extend_from_slice(&(len as u64).to_le_bytes());
        record.extend_from_slice(CHECKPOINT_MAGIC);
        let mut bytes = Vec::new();
        put_change(&mut bytes, CHECKPOINT, |w| w.raw(&record));
        self.append_bytes(&bytes)?;
        self.records.checkpoint = true;
        Ok(())
    }

    fn remove_checkpoint(&mut self) -> io::Result<()> {
        if self.records.checkpoint {
            self.log.truncate(self.records.bytes.len() as u64)?;
            self.records.checkpoint = false;
        }
        Ok(())
    }

    /// Appends to the log. A torn change would hide all changes after it, so the log is truncated if writing fails.
    fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.log.append(bytes).inspect_err(|_| _ = self.log.truncate(self.records.bytes.len() as u64))
    }

    /// Returns the records.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Appends changes: a record or, with `None`, its removal. If the process is killed, a prefix of them is in the log.
    ///
    /// # Errors
    /// If writing fails; the log is then truncated to its old length.
    pub fn append(&mut self, changes: &[(&str, Option<&Record<'_>>)]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(changes.len() * TYPICAL_CHANGE_LEN);
        let mut indexed = Vec::with_capacity(changes.len());
        let mut written = HashSet::new();
        let mut last: Option<(&str, TextKey)> = None;
        let start = self.records.bytes.len();
        let mut put = |name, put: &dyn Fn(&mut Writer)| {
            let record = put_change(&mut bytes, name, put);
            indexed.push((name, start + record.start..start + record.end));
        };
        for (name, record) in changes {
            let Some(record) = record else {
                put(name, &|_| ());
                continue;
            };
            let text = &*record.fingerprint;
            // Neighbours nearly always share a fingerprint, and hashing one takes as long as writing the record.
            let key = match last {
                Some((last, key)) if last == text => key,
                _ => TextKey::of(text),
            };
            last = Some((text, key));
            if !self.records.fingerprints.contains_key(&key) && written.insert(key) {
                put("", &|w| w.raw(text.as_bytes()));
            }
            put(name, &|w| record.put(key, w));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        self.remove_checkpoint()?;
        self.append_bytes(&bytes)?;
        self.changed = true;
        // Not doubled: of a large journal, a run that changes little would double its memory.
        let spare = self.records.bytes.capacity() - self.records.bytes.len();
        if spare < bytes.len() {
            self.records.bytes.reserve_exact(bytes.len().max(self.records.bytes.len() / 8));
        }
        self.records.bytes.extend_from_slice(&bytes);
        for (name, record) in indexed {
            self.records.index_change(name.into(), record);
        }
        Ok(())
    }

    /// Compacts the journal if more than a quarter of it is out of date.
    ///
    /// # Errors
    /// If writing fails; the old journal is kept.
    pub fn compact(&mut self) -> io::Result<()> {
        let records = &self.records;
        if records.bytes.len() < MIN_COMPACT_LEN || records.bytes.len() / 4 * 3 < records.live {
            return Ok(());
        }
        let names = records.names();
        let texts: BTreeSet<String> =
            names.iter().filter_map(|name| records.get(name)).map(|r| r.fingerprint.into_owned()).collect();
        let mut bytes = header();
        for text in texts {
            put_change(&mut bytes, "", |w| w.raw(text.as_bytes()));
        }
        for name in names {
            put_change(&mut bytes, name, |w| w.raw(&records.bytes[records.index[name].clone()]));
        }
        self.log.replace(&bytes)?;
        self.changed = true;
        self.records = Records::parse(bytes);
        Ok(())
    }
}

fn has_header(bytes: &[u8]) -> bool {
    bytes.starts_with(&header())
}

fn header() -> Vec<u8> {
    let mut w = Writer::new();
    w.raw(MAGIC);
    w.u32(VERSION);
    w.u32(0);
    w.finish()
}

/// Appends a change whose record `put` writes; returns the place of the record.
fn put_change(bytes: &mut Vec<u8>, name: &str, put: impl FnOnce(&mut Writer)) -> Range<usize> {
    let mut w = Writer::appending(std::mem::take(bytes));
    let at = w.len();
    w.raw(&[0; PREFIX]);
    w.text(name);
    let start = w.len();
    put(&mut w);
    let record = start..w.len();
    let body = at + PREFIX;
    let crc = crc32fast::hash(w.from(body));
    w.set_u32(at, u32::try_from(record.end - body).expect("a change has fewer than 2^32 bytes"));
    w.set_u32(at + 4, crc);
    *bytes = w.finish();
    record
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
    fn last_change_of_a_name_counts() {
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
    fn truncates_at_the_first_damaged_change() {
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
            for (damaged, truncated) in [(whole[..at].to_vec(), at > first), (flipped, true)] {
                assert_eq!(Records::parse(damaged.clone()).is_truncated(), truncated, "{at}");
                mem.put(NAME, damaged);
                let mut journal = open(&mem);
                assert_eq!(why(&journal, "a").as_deref(), Some("1"), "{at}");
                assert_eq!(why(&journal, "b"), None, "{at}");
                journal.append(&[("c", Some(&record("3")))]).unwrap();
                assert_eq!(open(&mem).records().names(), ["a", "c"], "{at}");
            }
        }
    }

    fn content(mem: &Mem) -> Option<Vec<u8>> {
        let mut log = mem.open_log(&RelPath::new(NAME).unwrap(), &|| ()).unwrap();
        Checkpoint::read(&mut *log).unwrap().map(|checkpoint| checkpoint.content().to_vec())
    }

    #[test]
    fn next_change_replaces_the_checkpoint() {
        let mem = Mem::new();
        let mut journal = open(&mem);
        assert_eq!(content(&mem), None);
        journal.append(&[("a", Some(&record("1")))]).unwrap();
        let without = mem.get(NAME).unwrap();
        for text in ["first", "", "second"] {
            journal.write_checkpoint(text.as_bytes()).unwrap();
            assert_eq!(content(&mem).as_deref(), Some(text.as_bytes()));
        }
        journal = open(&mem);
        assert!(!journal.is_changed() && !journal.records().is_truncated());
        assert_eq!(journal.records().names(), ["a"]);
        assert_eq!(content(&mem).as_deref(), Some(&b"second"[..]), "loading keeps it");
        journal.append(&[]).unwrap();
        assert_eq!(content(&mem).as_deref(), Some(&b"second"[..]), "nothing was appended");
        journal.append(&[("b", Some(&record("2")))]).unwrap();
        assert_eq!(content(&mem), None);
        assert!(mem.get(NAME).unwrap().starts_with(&without) && journal.is_changed());
        assert_eq!(open(&mem).records().names(), ["a", "b"]);
    }

    #[test]
    fn damaged_checkpoint_is_none_and_is_truncated() {
        let mem = Mem::new();
        let mut journal = open(&mem);
        journal.append(&[("a", Some(&record("1")))]).unwrap();
        let start = mem.get(NAME).unwrap().len();
        journal.write_checkpoint(b"content").unwrap();
        drop(journal);
        let whole = mem.get(NAME).unwrap();
        for at in start..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            for damaged in [whole[..at].to_vec(), flipped] {
                mem.put(NAME, damaged);
                assert_eq!(content(&mem), None, "{at}");
                let mut journal = open(&mem);
                journal.append(&[("b", Some(&record("2")))]).unwrap();
                assert_eq!(open(&mem).records().names(), ["a", "b"], "{at}");
            }
        }
        // A version that does not know checkpoints appends behind it.
        let mut mixed = whole;
        put_change(&mut mixed, "c", |w| w.raw(&record("3").encode()));
        mem.put(NAME, mixed);
        assert_eq!(content(&mem), None);
        assert_eq!(open(&mem).records().names(), ["a", "c"]);
    }

    #[test]
    fn foreign_file_has_no_records() {
        let mem = Mem::new();
        mem.put(NAME, b"HCAC\x01\0\0\0\0\0\0\0\0\0\0\0".to_vec());
        let mut journal = open(&mem);
        assert!(journal.records().is_empty());
        journal.append(&[("a", Some(&record("1")))]).unwrap();
        assert_eq!(why(&open(&mem), "a").as_deref(), Some("1"));
    }

    #[test]
    fn compaction_keeps_current_records_only() {
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
