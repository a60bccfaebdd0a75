//! `assetc clean`: removes what builds wrote, and nothing else.

use crate::build::{JOURNAL, PACK, at_root, journal_path};
use crate::config::Roots;
use crate::pack::{self, beside, get_stamp};
use kiln_kit::{Cache, Diag, Fs, Hash, Real, RelPath};
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
    let fault = |e| at_root("unwritable", &roots.output, &e);
    let taken = Real::open(&roots.output).and_then(|out| {
        let cache = Cache::open(&out, &journal_path(), waiting)?;
        Ok((out, cache))
    });
    let (out, cache) = match taken {
        // Another `clean` was faster.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(cleaned),
        taken => taken.map_err(fault)?,
    };
    pack::sweep(roots);
    let records = cache.records();
    for output in records.names().into_iter().filter_map(|name| records.get(name)).flat_map(|r| r.outputs) {
        let Ok(path) = RelPath::new(&*output.path) else { continue };
        let Some(stamp) = out.stamp(&path).map_err(fault)? else { continue };
        if stamp == output.stamp || out.read(&path).is_ok_and(|bytes| Hash::of(&bytes) == output.hash) {
            out.remove(&path).map_err(fault)?;
            cleaned.removed += 1;
        } else {
            let kept = Diag::warning("clean-kept", "kept: it was changed since it was built");
            cleaned.kept.push(kept.path(&path).hint("remove it by hand if it is not needed"));
        }
    }
    if let Some(stamp) = records.get(PACK).and_then(|record| get_stamp(&record.payload)) {
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
