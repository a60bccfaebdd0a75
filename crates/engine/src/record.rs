//! The record of an action in the journal: its dependencies, artifacts and warnings.

use crate::fs::Stamp;
use crate::hash::Hash;
use crate::shared_results::WorkKey;
use crate::wire::{Reader, Writer};
use crate::{Diag, RelPath};
use std::borrow::Cow;

/// The state of a path when an action accessed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A file with this content.
    File {
        /// The stamp before the read.
        stamp: Stamp,
        /// True if the stamp was so recent that a later edit could get the same stamp.
        racy: bool,
        /// The hash of the content.
        hash: Hash,
    },
    /// No file: a failed lookup is a dependency as well.
    Absent,
    /// A directory listing, hashed.
    Listing(Hash),
}

/// A dependency of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input<'a> {
    /// The path relative to the source root.
    pub path: Cow<'a, str>,
    /// The state of the path.
    pub seen: Seen,
}

/// An artifact of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output<'a> {
    /// The name: in a directory, the path relative to the output root.
    pub path: Cow<'a, str>,
    /// The stamp after publishing; [`Stamp::NONE`] while only the intent is recorded.
    pub stamp: Stamp,
    /// The hash of the content.
    pub hash: Hash,
    /// The key of the shared work that made it, if other actions may use it.
    pub work: Option<WorkKey>,
    /// The serialized [`crate::Metadata`].
    pub metadata: Cow<'a, [u8]>,
}

impl Output<'_> {
    fn into_owned(self) -> Output<'static> {
        let Output { path, stamp, hash, work, metadata } = self;
        let (path, metadata) = (Cow::Owned(path.into_owned()), Cow::Owned(metadata.into_owned()));
        Output { path, stamp, hash, work, metadata }
    }
}

/// The key of a fingerprint: the first half of its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextKey(pub [u8; 16]);

impl TextKey {
    /// Returns the key of a fingerprint.
    pub fn of(text: &str) -> TextKey {
        let hash = Hash::of(text.as_bytes()).0;
        TextKey(std::array::from_fn(|n| hash[n]))
    }
}

/// The journal entry of one action; borrowed from the journal, or owned after a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record<'a> {
    /// The recipe, its version and the resolved settings, as lines. Empty if only the intent to publish outputs is recorded:
    /// then only their paths and hashes are valid.
    pub fingerprint: Cow<'a, str>,
    /// The reason for the last run.
    pub why: Cow<'a, str>,
    /// The dependencies.
    pub inputs: Vec<Input<'a>>,
    /// The artifacts.
    pub outputs: Vec<Output<'a>>,
    /// The state of a link step; empty in records of actions.
    pub summary: Cow<'a, [u8]>,
    /// The warnings, repeated by runs that do not rebuild.
    pub warnings: Vec<Diag>,
}

impl<'a> Record<'a> {
    /// Serializes the record. Thousands of records share a fingerprint, so a record has only its key.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        self.put(TextKey::of(&self.fingerprint), &mut w);
        w.finish()
    }

    /// Appends the serialized record, of whose fingerprint `key` is the key.
    pub(crate) fn put(&self, key: TextKey, w: &mut Writer) {
        w.raw(&key.0);
        w.text(&self.why);
        w.count(self.inputs.len());
        for input in &self.inputs {
            w.text(&input.path);
            match &input.seen {
                Seen::File { stamp, racy, hash } => {
                    w.u8(if *racy { 1 } else { 0 });
                    put_stamp(w, *stamp);
                    w.raw(&hash.0);
                }
                Seen::Absent => w.u8(2),
                Seen::Listing(hash) => {
                    w.u8(3);
                    w.raw(&hash.0);
                }
            }
        }
        w.count(self.outputs.len());
        for output in &self.outputs {
            w.text(&output.path);
            put_stamp(w, output.stamp);
            w.raw(&output.hash.0);
            w.u8(output.work.is_some().into());
            if let Some(work) = &output.work {
                w.raw(&work.0);
            }
            w.bytes(&output.metadata);
        }
        w.bytes(&self.summary);
        put_diags(w, &self.warnings);
    }

    /// Copies the record out of the journal.
    pub fn into_owned(self) -> Record<'static> {
        let own = |text: Cow<'a, str>| Cow::Owned(text.into_owned());
        Record {
            fingerprint: own(self.fingerprint),
            why: own(self.why),
            inputs: self.inputs.into_iter().map(|i| Input { path: own(i.path), seen: i.seen }).collect(),
            outputs: self.outputs.into_iter().map(Output::into_owned).collect(),
            summary: Cow::Owned(self.summary.into_owned()),
            warnings: self.warnings,
        }
    }

    /// Deserializes a record; `None` if the bytes are invalid or `text` does not know its fingerprint.
    pub fn decode(bytes: &'a [u8], text: impl FnOnce(TextKey) -> Option<&'a str>) -> Option<Record<'a>> {
        let mut r = Reader::new(bytes);
        let record = Record {
            fingerprint: text(TextKey(r.array()?))?.into(),
            why: r.text()?.into(),
            inputs: list(&mut r, get_input)?,
            outputs: list(&mut r, get_output)?,
            summary: r.bytes()?.into(),
            warnings: get_diags(&mut r)?,
        };
        r.is_empty().then_some(record)
    }
}

fn list<'a, T>(r: &mut Reader<'a>, mut item: impl FnMut(&mut Reader<'a>) -> Option<T>) -> Option<Vec<T>> {
    let count = r.count()?;
    (0..count).map(|_| item(r)).collect()
}

fn get_input<'a>(r: &mut Reader<'a>) -> Option<Input<'a>> {
    let path = get_path(r)?;
    let seen = match r.u8()? {
        racy @ 0..=1 => Seen::File { racy: racy == 1, stamp: get_stamp(r)?, hash: Hash(r.array()?) },
        2 => Seen::Absent,
        3 => Seen::Listing(Hash(r.array()?)),
        _ => return None,
    };
    Some(Input { path, seen })
}

fn get_output<'a>(r: &mut Reader<'a>) -> Option<Output<'a>> {
    let (path, stamp, hash) = (get_path(r)?, get_stamp(r)?, Hash(r.array()?));
    let work = match r.u8()? {
        0 => None,
        1 => Some(WorkKey(r.array()?)),
        _ => return None,
    };
    Some(Output { path, stamp, hash, work, metadata: r.bytes()?.into() })
}

/// Reads a path and validates it again, because recorded paths decide which files are deleted.
fn get_path<'a>(r: &mut Reader<'a>) -> Option<Cow<'a, str>> {
    let path = r.text()?;
    RelPath::check(path).ok()?;
    Some(path.into())
}

pub(crate) fn put_diags(w: &mut Writer, diags: &[Diag]) {
    w.count(diags.len());
    diags.iter().for_each(|diag| w.diag(diag));
}

pub(crate) fn get_diags(r: &mut Reader<'_>) -> Option<Vec<Diag>> {
    list(r, Reader::diag)
}

pub(crate) fn put_stamp(w: &mut Writer, stamp: Stamp) {
    w.i64(stamp.mtime_ns);
    w.i64(stamp.changed_ns);
    w.u64(stamp.len);
}

pub(crate) fn get_stamp(r: &mut Reader<'_>) -> Option<Stamp> {
    Some(Stamp { mtime_ns: r.i64()?, changed_ns: r.i64()?, len: r.u64()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn round_trips_and_rejects_every_prefix() {
        let stamp = Stamp { mtime_ns: -5, changed_ns: 6, len: 7 };
        let record = Record {
            fingerprint: "texture 1\ncompress=true".into(),
            why: "new".into(),
            inputs: vec![
                Input { path: "a.png".into(), seen: Seen::File { stamp, racy: true, hash: Hash::of(b"a") } },
                Input { path: "b".into(), seen: Seen::Absent },
                Input { path: "c".into(), seen: Seen::Listing(Hash::of(b"c")) },
            ],
            outputs: vec![
                Output {
                    path: "a.ktx2".into(),
                    stamp,
                    hash: Hash::of(b"o"),
                    work: None,
                    metadata: b"sRGB".into(),
                },
                Output {
                    path: "b".into(),
                    stamp,
                    hash: Hash::of(b"p"),
                    work: Some(WorkKey([7; 16])),
                    metadata: b"".into(),
                },
            ],
            summary: b"keys".into(),
            warnings: vec![Diag::new(Code::SymlinkIgnored, "very").path("a.png").at("3").hint("correct it")],
        };
        let bytes = record.encode();
        let text = |key| (key == TextKey::of(&record.fingerprint)).then_some(&*record.fingerprint);
        assert_eq!(Record::decode(&bytes, text).as_ref(), Some(&record));
        assert_eq!(Record::decode(&bytes, |_| None), None);
        for end in 0..bytes.len() {
            assert_eq!(Record::decode(&bytes[..end], text), None);
        }
    }

    #[test]
    fn rejects_paths_outside_the_root() {
        let output = Output {
            path: "../x".into(),
            stamp: Stamp { mtime_ns: 0, changed_ns: 0, len: 0 },
            hash: Hash::of(b""),
            work: None,
            metadata: b"".into(),
        };
        let record = Record { outputs: vec![output], ..Record::default() };
        assert_eq!(Record::decode(&record.encode(), |_| Some("")), None);
    }
}
