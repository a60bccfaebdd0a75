//! Decides whether an action has to run again, and gives the reason.

use crate::RelPath;
use crate::fs::Stamp;
use crate::hash::Hash;
use crate::inputs::{SourceTree, listing, seen_file};
use crate::record::{Output, Record, Seen};
use std::fmt;

/// The reason to run an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RebuildReason {
    /// The journal has no record of the action.
    New,
    /// The recipe or a setting changed; the string describes the change.
    KeyChanged(String),
    /// A dependency changed: a file that was read or looked up, or a directory that was listed.
    InputChanged(RelPath),
    /// An output does not exist.
    OutputMissing(RelPath),
    /// An output was modified by another program.
    OutputChanged(RelPath),
    /// The user forced a rebuild.
    Forced,
}

impl fmt::Display for RebuildReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RebuildReason::New => f.write_str("new"),
            RebuildReason::KeyChanged(what) => f.write_str(what),
            RebuildReason::InputChanged(path) => write!(f, "{path} changed"),
            RebuildReason::OutputMissing(path) => write!(f, "output {path} is missing"),
            RebuildReason::OutputChanged(path) => write!(f, "output {path} was modified"),
            RebuildReason::Forced => f.write_str("forced"),
        }
    }
}

/// The result of checking a record.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// The action is up to date; has the updated record if stamps changed.
    Fresh(Option<Record<'a>>),
    /// The action must run.
    Stale(RebuildReason),
}

/// Checks whether a record is up to date: compares its fingerprint, its inputs, and the recorded outputs by `find`. Inputs with
/// equal stamps are unchanged; otherwise their content is compared. `hint` is the index after the last input found, for fast
/// lookups in sorted order.
pub fn judge<'a>(
    sources: SourceTree<'_>,
    fingerprint: &str,
    mut record: Record<'a>,
    hint: &mut usize,
    mut find: impl FnMut(&Output<'a>) -> Result<Stamp, RebuildReason>,
) -> Verdict<'a> {
    if record.fingerprint.is_empty() {
        return Verdict::Stale(RebuildReason::New);
    }
    if record.fingerprint != fingerprint {
        return Verdict::Stale(RebuildReason::KeyChanged(key_change(&record.fingerprint, fingerprint)));
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
                let why = RelPath::new(&*input.path).map_or(RebuildReason::New, RebuildReason::InputChanged);
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

/// Compares an input with the sources: `Some(None)` if its stamp is unchanged, `Some(Some(_))` if only its stamp changed,
/// `None` if its content changed.
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

/// Describes the difference of two fingerprints in one line: `texture.compress = true, was false`.
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
    fn describes_changed_settings() {
        let old = "texture 1\ntexture.compress=true\ntexture.mips=true";
        assert_eq!(
            key_change(old, "texture 1\ntexture.compress=false\ntexture.mips=true"),
            "texture.compress = false, was true"
        );
        assert_eq!(key_change(old, "texture 2\ntexture.compress=true\ntexture.mips=true"), "now texture 2");
        assert_eq!(key_change(old, "texture 1\ntexture.compress=true"), "the recipe changed");
    }
}
