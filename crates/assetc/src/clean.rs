//! `assetc clean`: removes what builds wrote, and nothing else.

use crate::config::Roots;
use crate::output::{JOURNAL, PACK, at_root, journal_path};
use crate::pack::{self, beside, get_stamp};
use kiln_engine::fs::Occupant;
use kiln_engine::record::Output;
use kiln_engine::{Code, Diag, Fs, Hash, Journal, Real, RelPath, Stamp};
use std::collections::BTreeMap;
use std::io;

/// What was removed and what was not.
#[derive(Clone, Debug, Default)]
pub struct Cleaned {
    /// How many files were removed.
    pub removed: usize,
    /// Files that a build wrote but someone changed since; they are left alone.
    pub kept: Vec<Diag>,
}

/// Removes every output that the journal lists, the pack, and the journal itself.
pub fn clean(roots: &Roots, waiting: &dyn Fn()) -> Result<Cleaned, Diag> {
    let mut cleaned = Cleaned::default();
    if !roots.output.join(JOURNAL).is_file() {
        return Ok(cleaned);
    }
    let fault = |e| at_root(Code::Unwritable, &roots.output, &e);
    let taken = Real::open(&roots.output).and_then(|out| {
        let journal = Journal::open(&out, &journal_path(), waiting)?;
        Ok((out, journal))
    });
    let (out, journal) = match taken {
        // Another `clean` was faster.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(cleaned),
        taken => taken.map_err(fault)?,
    };
    pack::sweep(roots);
    let records = journal.records();
    let mut outputs: BTreeMap<RelPath, Vec<Output<'_>>> = BTreeMap::new();
    for output in records.names().into_iter().filter_map(|name| records.get(name)).flat_map(|r| r.outputs) {
        // What is hidden is no output, whatever a journal says.
        let Some(path) = RelPath::new(&*output.path).ok().filter(|path| !path.is_hidden()) else { continue };
        outputs.entry(path).or_default().push(output);
    }
    for (path, recorded) in outputs {
        match state(&out, &path, &recorded).map_err(fault)? {
            State::Built => {
                out.remove(&path).map_err(fault)?;
                cleaned.removed += 1;
            }
            State::Changed(why) => {
                let kept = Diag::new(Code::CleanKept, format!("kept: {why}"));
                cleaned.kept.push(kept.path(&path).hint("remove it by hand if it is not needed"));
            }
            State::Foreign => {}
        }
    }
    if let Some(stamp) = records.get(PACK).and_then(|record| get_stamp(&record.summary)) {
        let (dir, name) = beside(&roots.pack)?;
        if dir.stamp(&name).map_err(fault)? == Some(stamp) {
            dir.remove(&name).map_err(fault)?;
            cleaned.removed += 1;
        }
    }
    out.remove(&journal_path()).map_err(fault)?;
    // Gone only if nothing foreign is in it.
    let _ = std::fs::remove_dir(out.root());
    Ok(cleaned)
}

/// The state of an output that the journal records.
enum State {
    /// The file is the one that a build wrote.
    Built,
    /// A build wrote it, and someone changed or replaced it since.
    Changed(&'static str),
    /// No build is known to have written what is there, if anything is.
    Foreign,
}

fn state(out: &dyn Fs, path: &RelPath, recorded: &[Output<'_>]) -> io::Result<State> {
    let occupant = match out.occupant(path) {
        // A link or a file is in the place of a directory: what is behind it is not ours.
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => return Ok(State::Foreign),
        occupant => occupant?,
    };
    // An output without a stamp was announced, and never known to be in place.
    let placed = recorded.iter().any(|output| output.stamp != Stamp::NONE);
    match occupant {
        Occupant::Nothing | Occupant::Directory => return Ok(State::Foreign),
        Occupant::Link | Occupant::Special if placed => {
            return Ok(State::Changed("it is no regular file any more"));
        }
        Occupant::Link | Occupant::Special => return Ok(State::Foreign),
        Occupant::File => {}
    }
    let stamp = out.stamp(path)?;
    let content = || out.read(path).map(|bytes| Hash::of(&bytes)).ok();
    let untouched = recorded.iter().any(|output| Some(output.stamp) == stamp);
    let built = untouched || content().is_some_and(|hash| recorded.iter().any(|output| output.hash == hash));
    Ok(match () {
        () if built => State::Built,
        () if placed => State::Changed("it was changed since it was built"),
        () => State::Foreign,
    })
}
