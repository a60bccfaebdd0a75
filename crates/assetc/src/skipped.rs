//! The files of the input directory that a build does not use.

use crate::plan::PlannedAsset;
use kiln_engine::{RelPath, journal::Records};
use std::collections::{BTreeMap, HashSet};

/// Returns the files that neither a recipe compiles nor an asset reads, sorted by path. `unclaimed` are the files that no
/// recipe compiles.
pub(crate) fn skipped(
    unclaimed: Vec<RelPath>,
    assets: &[PlannedAsset<'_>],
    records: &Records,
) -> Vec<RelPath> {
    let mut unused: HashSet<&str> = unclaimed.iter().map(RelPath::as_str).collect();
    for asset in assets.iter().filter(|asset| asset.recipe.info().reads_other_files) {
        if unused.is_empty() {
            break;
        }
        let record = records.get(asset.source.as_str());
        for input in record.iter().flat_map(|record| &record.inputs) {
            unused.remove(input.path.as_ref());
        }
    }
    let unused: Vec<bool> = unclaimed.iter().map(|path| unused.contains(path.as_str())).collect();
    unclaimed.into_iter().zip(unused).filter(|(_, unused)| *unused).map(|(path, _)| path).collect()
}

/// Counts files by extension, the most frequent first. The extension is in lower case and has its dot; it is empty for
/// names without one.
pub(crate) fn by_extension(paths: &[RelPath]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in paths {
        let extension = path.file_name().rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        let extension = extension.map_or(String::new(), |(_, ext)| format!(".{}", ext.to_lowercase()));
        *counts.entry(extension).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_extensions_ignoring_case() {
        let paths = ["a.WAV", "b/c.psd", "d.wav", "LICENSE", "x.tar.gz"].map(|p| RelPath::new(p).unwrap());
        let counts = by_extension(&paths);
        let counts: Vec<(&str, usize)> = counts.iter().map(|(ext, n)| (ext.as_str(), *n)).collect();
        assert_eq!(counts, [(".wav", 2), ("", 1), (".gz", 1), (".psd", 1)]);
    }
}
