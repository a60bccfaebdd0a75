//! Decides whether an action has to run again, and gives the reason.

use crate::RelPath;
use crate::fs::Stamp;
use crate::hash::Hash;
use crate::inputs::{SourceTree, listing, seen_file};
use crate::record::{Output, Record, Seen};
use std::fmt;

/// The reason why an action runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing is remembered of it.
    New,
    /// The recipe or a setting is another one; the text says which.
    KeyChanged(String),
    /// Something it read, looked for or listed is not what it was.
    InputChanged(RelPath),
    /// Something it wrote is gone.
    OutputMissing(RelPath),
    /// Something it wrote has been changed by someone else.
    OutputChanged(RelPath),
    /// The user asked for it.
    Forced,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::New => f.write_str("new"),
            Why::KeyChanged(what) => f.write_str(what),
            Why::InputChanged(path) => write!(f, "{path} changed"),
            Why::OutputMissing(path) => write!(f, "output {path} is missing"),
            Why::OutputChanged(path) => write!(f, "output {path} was changed"),
            Why::Forced => f.write_str("forced"),
        }
    }
}

/// The verdict on a record.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Its artifacts are what a run would return; the record as it should be remembered, if stamps moved.
    Fresh(Option<Record<'a>>),
    /// Its action has to run.
    Stale(Why),
}

/// Judges a record: by its fingerprint, its inputs, and what `find` says of each recorded output. Stamps of inputs decide
/// where they agree; where they do not, content does. `hint` is where the last search for an input ended.
pub fn judge<'a>(
    sources: SourceTree<'_>,
    fingerprint: &str,
    mut record: Record<'a>,
    hint: &mut usize,
    mut find: impl FnMut(&Output<'a>) -> Result<Stamp, Why>,
) -> Verdict<'a> {
    if record.fingerprint.is_empty() {
        return Verdict::Stale(Why::New);
    }
    if record.fingerprint != fingerprint {
        return Verdict::Stale(Why::KeyChanged(key_change(&record.fingerprint, fingerprint)));
    }
    let mut moved = false;
    for input in &mut record.inputs {
        match unchanged(sources, &input.path, input.seen, hint) {
            Some(None) => {}
            Some(Some(seen)) => {
                input.seen = seen;
                moved = true;
            }
            None => {
                let why = RelPath::new(&*input.path).map_or(Why::New, Why::InputChanged);
                return Verdict::Stale(why);
            }
        }
    }
    for output in &mut record.outputs {
        match find(output) {
            Ok(stamp) => {
                moved |= output.stamp != stamp;
                output.stamp = stamp;
            }
            Err(why) => return Verdict::Stale(why),
        }
    }
    Verdict::Fresh(moved.then_some(record))
}

/// `Some(None)` when an input is unchanged by its stamp, `Some(Some(_))` when only its stamp has to be recorded again,
/// `None` when it changed.
fn unchanged(sources: SourceTree<'_>, path: &str, seen: Seen, hint: &mut usize) -> Option<Option<Seen>> {
    match seen {
        Seen::Absent => sources.tree.stamp(path).is_none().then_some(None),
        Seen::Listing(old) => (listing(sources.tree, &RelPath::new(path).ok()?) == old).then_some(None),
        Seen::File { stamp: old, racy, hash: old_hash } => {
            let stamp = sources.tree.stamp_near(path, hint)?;
            if stamp == old && !racy {
                return Some(None);
            }
            if stamp.len != old.len {
                return None;
            }
            let now_ns = sources.fs.now_ns();
            let again = seen_file(stamp, now_ns, old_hash);
            let bytes = sources.fs.read(&RelPath::new(path).ok()?).ok()?;
            (Hash::of(&bytes) == old_hash).then_some((again != seen).then_some(again))
        }
    }
}

/// The lines in which two fingerprints differ, as one readable line: `texture.compress = true, was false`.
fn key_change(old: &str, new: &str) -> String {
    let mut changes = Vec::new();
    for line in new.lines().filter(|line| !old.lines().any(|other| other == *line)) {
        let key = line.split('=').next().unwrap_or(line);
        let before = old.lines().find_map(|other| other.split_once('=').filter(|(k, _)| *k == key));
        match (line.split_once('='), before) {
            (Some((key, value)), Some((_, old))) => {
                changes.push(format!("{} = {}, was {}", key.trim(), value.trim(), old.trim()))
            }
            _ => changes.push(format!("now {}", line.trim())),
        }
    }
    if changes.is_empty() { "the recipe changed".to_owned() } else { changes.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_change_says_what_changed() {
        let old = "texture 1\ntexture.compress=true\ntexture.mips=true";
        assert_eq!(
            key_change(old, "texture 1\ntexture.compress=false\ntexture.mips=true"),
            "texture.compress = false, was true"
        );
        assert_eq!(key_change(old, "texture 2\ntexture.compress=true\ntexture.mips=true"), "now texture 2");
        assert_eq!(key_change(old, "texture 1\ntexture.compress=true"), "the recipe changed");
    }
}
