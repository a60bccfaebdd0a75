//! Decides whether a source has to be cooked again, and says why.

use crate::RelPath;
use crate::cook::{listing, seen_file};
use crate::fs::{Fs, Tree};
use crate::hash::Hash;
use crate::record::{Record, Seen};
use std::fmt;

/// Why a source is cooked.
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

/// What is known of the trees when sources are judged.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// Where sources are read.
    pub src: &'a dyn Fs,
    /// The sources as they were when the run began.
    pub src_tree: &'a Tree,
    /// Where outputs are written.
    pub out: &'a dyn Fs,
    /// The outputs as they were when the run began.
    pub out_tree: &'a Tree,
}

/// The verdict on a record.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Its outputs are what a cook would write; the record as it should be remembered, if stamps moved.
    Fresh(Option<Record<'a>>),
    /// It has to be cooked.
    Stale(Why),
}

/// Where searches in the two trees last ended, for judging sources in the order of their paths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints {
    src: usize,
    out: usize,
}

/// Judges a record against the trees. Stamps decide where they agree (of outputs, only unless `verify` is set);
/// where they do not, content does.
pub fn judge<'a>(
    world: World<'_>,
    fingerprint: &str,
    mut record: Record<'a>,
    verify: bool,
    hints: &mut Hints,
) -> Verdict<'a> {
    if record.fingerprint.is_empty() {
        return Verdict::Stale(Why::New);
    }
    if record.fingerprint != fingerprint {
        return Verdict::Stale(Why::KeyChanged(key_change(&record.fingerprint, fingerprint)));
    }
    let mut moved = false;
    for input in &mut record.inputs {
        match unchanged(world, &input.path, input.seen, &mut hints.src) {
            Some(None) => {}
            Some(Some(seen)) => {
                input.seen = seen;
                moved = true;
            }
            None => return Verdict::Stale(why(&input.path, Why::InputChanged)),
        }
    }
    for output in &mut record.outputs {
        let Some(stamp) = world.out_tree.stamp_near(&output.path, &mut hints.out) else {
            return Verdict::Stale(why(&output.path, Why::OutputMissing));
        };
        if stamp != output.stamp || verify {
            if stamp.len != output.stamp.len || hash(world.out, &output.path) != Some(output.hash) {
                return Verdict::Stale(why(&output.path, Why::OutputChanged));
            }
            moved |= output.stamp != stamp;
            output.stamp = stamp;
        }
    }
    Verdict::Fresh(moved.then_some(record))
}

/// `Some(None)` when an input is plainly as it was, `Some(Some(_))` when only its stamp needs remembering anew,
/// `None` when it changed.
fn unchanged(world: World<'_>, path: &str, seen: Seen, hint: &mut usize) -> Option<Option<Seen>> {
    match seen {
        Seen::Absent => world.src_tree.stamp(path).is_none().then_some(None),
        Seen::Listing(old) => (listing(world.src_tree, &RelPath::new(path).ok()?) == old).then_some(None),
        Seen::File { stamp: old, racy, hash: old_hash } => {
            let stamp = world.src_tree.stamp_near(path, hint)?;
            if stamp == old && !racy {
                return Some(None);
            }
            if stamp.len != old.len {
                return None;
            }
            let now_ns = world.src.now_ns();
            let again = seen_file(stamp, now_ns, old_hash);
            (hash(world.src, path)? == old_hash).then_some((again != seen).then_some(again))
        }
    }
}

fn hash(fs: &dyn Fs, path: &str) -> Option<Hash> {
    fs.read(&RelPath::new(path).ok()?).ok().map(|bytes| Hash::of(&bytes))
}

fn why(path: &str, make: fn(RelPath) -> Why) -> Why {
    RelPath::new(path).map_or(Why::New, make)
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
