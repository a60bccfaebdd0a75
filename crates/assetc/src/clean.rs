//! `assetc clean`: removes the files that builds wrote, and no others.

use crate::config::Roots;
use crate::output::{JOURNAL, PACK, at_root, journal_path};
use crate::pack::{self, beside, get_stamp};
use crate::size_target;
use kiln_engine::fs::Occupant;
use kiln_engine::record::Output;
use kiln_engine::{Code, Diag, Fs, Hash, Journal, Real, RelPath, Stamp};
use std::collections::BTreeMap;
use std::io;

/// The result of a clean.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CleanReport {
    /// The number of files that were removed.
    pub removed: usize,
    /// A warning for each file that was kept because it was modified after the build.
    pub kept: Vec<Diag>,
}

/// Removes every output that the journal lists, the pack, and the journal itself; calls `waiting` when a build holds
/// the lock of the directory.
///
/// # Errors
///
/// The output directory, or a file in it, cannot be read or removed.
pub fn clean(roots: &Roots, waiting: &dyn Fn()) -> Result<CleanReport, Diag> {
    let curves = size_target::directory(&roots.output);
    if curves.join(JOURNAL).is_file() {
        let mut of_curves = roots.clone();
        of_curves.output = curves;
        clean(&of_curves, waiting)?;
    }
    let mut cleaned = CleanReport::default();
    if !roots.output.join(JOURNAL).is_file() {
        return Ok(cleaned);
    }
    let fault = |e| at_root(Code::Unwritable, &roots.output, &e);
    let locked = Real::open(&roots.output).and_then(|out| {
        let journal = Journal::open(&out, &journal_path(), waiting)?;
        Ok((out, journal))
    });
    let (out, journal) = match locked {
        // A concurrent `clean` removed the directory first.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(cleaned),
        locked => locked.map_err(fault)?,
    };
    pack::sweep(roots);
    let records = journal.records();
    let mut outputs: BTreeMap<RelPath, Vec<Output<'_>>> = BTreeMap::new();
    for output in records.names().into_iter().filter_map(|name| records.get(name)).flat_map(|r| r.outputs) {
        // A hidden file is never an output, even if a forged journal lists it.
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
                let kept = Diag::new(Code::CleanKept, format!("kept the file, because {why}"));
                cleaned.kept.push(kept.path(&path).hint("remove the file by hand if it is not needed"));
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
    // Closed first: a removed file that is still open can keep its name on Windows.
    drop(journal);
    out.remove_lock(&journal_path());
    // Fails, as it should, if foreign files are left in the directory.
    let _ = std::fs::remove_dir(out.root());
    Ok(cleaned)
}

/// The state of an output that the journal records.
enum State {
    /// The file has the bytes that a build wrote.
    Built,
    /// A build wrote the file, and it was modified or replaced since.
    Changed(&'static str),
    /// No build is known to have written the file, or there is none.
    Foreign,
}

fn state(out: &dyn Fs, path: &RelPath, recorded: &[Output<'_>]) -> io::Result<State> {
    let occupant = match out.occupant(path) {
        // A link or a file is in the place of a parent directory: anything behind it is foreign.
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => return Ok(State::Foreign),
        occupant => occupant?,
    };
    // An output without a stamp was recorded as intended, and is not known to be in place.
    let placed = recorded.iter().any(|output| output.stamp != Stamp::NONE);
    match occupant {
        Occupant::Nothing | Occupant::Directory => return Ok(State::Foreign),
        Occupant::Link | Occupant::Special if placed => {
            return Ok(State::Changed("it is no longer a regular file"));
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
        () if placed => State::Changed("it was modified after the build"),
        () => State::Foreign,
    })
}
