//! The up-to-date check of a whole bake, without parsing any description: every file that the last bake read is
//! unchanged, no file was added or removed, and the pak is the one it wrote.

use super::bake_paths::BakePaths;
use super::plan::{Plan, VERSION};
use super::{Baked, BakedAsset, is_action};
use kiln_engine::record::{Input, Output, Record, Seen};
use kiln_engine::run::up_to_date;
use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{Diag, Hash, Inputs, Journal, RebuildReason, RelPath, SourceTree, Stamp, Tree};
use std::collections::BTreeMap;

/// Returns the fingerprint of a bake beside the content of the files it reads: the content file and the list of files.
pub(super) fn fingerprint(text: &str, tree: &Tree, own: &dyn Fn(&RelPath) -> bool) -> String {
    let files = tree.files().map(|(path, _)| path).filter(|path| !own(path));
    let files = Hash::of_fields(files.map(|path| path.as_str().as_bytes()));
    format!("version={VERSION}\ncontent={}\nfiles={files}\n", Hash::of(text.as_bytes()))
}

/// Returns the report of the last bake if nothing changed since.
pub(super) fn unchanged(
    sources: SourceTree<'_>,
    paths: &BakePaths,
    journal: &mut Journal,
    fingerprint: &str,
) -> Result<Option<Baked>, Diag> {
    // A modified pak is left to the bake, which validates its payloads.
    let find = |output: &Output<'_>| match paths.stamp() {
        Some(stamp) if stamp == output.stamp => Ok(stamp),
        Some(_) => Err(RebuildReason::OutputChanged(paths.name.clone())),
        None => Err(RebuildReason::OutputMissing(paths.name.clone())),
    };
    let record = up_to_date(sources, journal, super::LINK, fingerprint, find)?;
    Ok(record.and_then(|record| Some(Baked { warnings: record.warnings, ..decode(&record.summary)? })))
}

/// Creates the journal record of a bake: every input with the state it had.
pub(super) fn record(
    fingerprint: &str,
    inputs: &Inputs<'_>,
    plan: &Plan,
    journal: &Journal,
    paths: &BakePaths,
    baked: &Baked,
) -> Record<'static> {
    let records = journal.records();
    let tasks = plan.nodes.iter().filter(|node| is_action(&node.recipe));
    let actions = tasks.filter_map(|node| records.get(node.name.as_str()).map(Record::into_owned));
    let inputs = merged(inputs.recorded().into_iter().chain(actions.flat_map(|record| record.inputs)));
    // A record without a fingerprint never matches.
    let fingerprint = if inputs.is_some() { fingerprint } else { "" };
    // The content of the pak is identified by its stamp alone.
    let output = Output {
        path: paths.name.to_string().into(),
        stamp: paths.stamp().unwrap_or(Stamp::NONE),
        hash: Hash::of(b""),
        work: None,
        metadata: Default::default(),
    };
    Record {
        fingerprint: fingerprint.to_owned().into(),
        inputs: inputs.unwrap_or_default(),
        outputs: vec![output],
        summary: encode(baked).into(),
        warnings: baked.warnings.clone(),
        ..Record::default()
    }
}

/// Merges the inputs of all actions; `None` if two actions saw different content of one file: it was modified during
/// the bake, and the pak matches neither version.
fn merged(all: impl Iterator<Item = Input<'static>>) -> Option<Vec<Input<'static>>> {
    let mut inputs: BTreeMap<String, Input<'static>> = BTreeMap::new();
    for input in all {
        let same = |known: &Input<'_>| match (known.seen, input.seen) {
            (Seen::File { hash: a, .. }, Seen::File { hash: b, .. }) => a == b,
            (a, b) => a == b,
        };
        match inputs.get(&*input.path) {
            Some(known) if !same(known) => return None,
            Some(_) => {}
            None => drop(inputs.insert(input.path.to_string(), input)),
        }
    }
    Some(inputs.into_values().collect())
}

fn encode(baked: &Baked) -> Vec<u8> {
    let mut out = Writer::new();
    out.u64(baked.keys as u64);
    out.u64(baked.file_len);
    out.count(baked.assets.len());
    baked.assets.iter().for_each(|asset| out.text(&asset.name));
    out.finish()
}

fn decode(summary: &[u8]) -> Option<Baked> {
    let mut from = Reader::new(summary);
    let (keys, file_len) = (usize::try_from(from.u64()?).ok()?, from.u64()?);
    let count = from.count()?;
    let mut assets = Vec::new();
    for _ in 0..count {
        assets.push(BakedAsset { name: from.text()?.to_owned(), reason: None, fetched: false });
    }
    from.is_empty().then_some(Baked { assets, warnings: vec![], keys, file_len, unchanged: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &'static str, content: &str, mtime_ns: i64) -> Input<'static> {
        let stamp = Stamp { mtime_ns, changed_ns: mtime_ns, len: content.len() as u64 };
        let seen = Seen::File { stamp, racy: false, hash: Hash::of(content.as_bytes()) };
        Input { path: path.into(), seen }
    }

    #[test]
    fn file_modified_during_the_bake_is_not_recorded() {
        let absent = Input { path: "c".into(), seen: Seen::Absent };
        let agreed = vec![file("b", "2", 1), file("a", "1", 1), file("b", "2", 5), absent.clone()];
        let paths: Vec<_> = merged(agreed.into_iter()).unwrap().into_iter().map(|input| input.path).collect();
        assert_eq!(paths, ["a", "b", "c"]);
        assert_eq!(merged([file("b", "2", 1), file("b", "3", 1)].into_iter()), None);
        assert_eq!(merged([absent, file("c", "1", 1)].into_iter()), None);
    }

    #[test]
    fn rebakes_after_a_version_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("pak.toml"), "[content]\n[[content.group]]\nassets = ['a.bin']\n").unwrap();
        std::fs::write(path("a.bin"), "x").unwrap();
        let bake = super::super::Bake::new(path("pak.toml"), path("a.pak"));
        assert_eq!(bake.run().unwrap().built(), 1);
        assert!(bake.run().unwrap().unchanged);
        {
            let mut cache = BakePaths::new(&bake).unwrap().open(&|| ()).unwrap();
            for name in [super::super::LINK, "a.bin"] {
                let mut record = cache.records().get(name).unwrap().into_owned();
                let older = record.fingerprint.replace(&format!("version={VERSION}"), "version=0");
                assert_ne!(older, record.fingerprint);
                record.fingerprint = older.into();
                cache.append(&[(name, Some(&record))]).unwrap();
            }
        }
        let again = bake.run().unwrap();
        let reason = again.assets[0].reason.as_ref().map(ToString::to_string);
        assert_eq!(reason.as_deref(), Some(&*format!("version = {VERSION}, was 0")));
        assert!(bake.run().unwrap().unchanged);
    }

    #[test]
    fn report_round_trips() {
        let assets = vec![BakedAsset { name: "a.png".to_owned(), reason: None, fetched: false }];
        let baked = Baked { assets, warnings: vec![], keys: 7, file_len: 1 << 40, unchanged: false };
        let bytes = encode(&baked);
        let again = decode(&bytes).unwrap();
        assert_eq!((again.keys, again.file_len, again.unchanged), (7, 1 << 40, true));
        assert_eq!(again.assets, baked.assets);
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_none());
        }
    }
}
