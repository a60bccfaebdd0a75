//! A bake with nothing to do, found out without reading a single description: every file that the last bake read is as
//! it was, no file came or went, and the output is the one it wrote.

use super::places::Places;
use super::plan::{Plan, VERSION};
use super::{Baked, BakedAsset, is_task};
use kiln_kit::record::{Input, Output, Record};
use kiln_kit::stale::{Hints, Verdict, judge};
use kiln_kit::wire::{Reader, Writer};
use kiln_kit::{Cache, Cook, Diag, Entry, Hash, Real, RelPath, Stamp, Tree, World};
use std::collections::BTreeMap;

/// What decides a bake beside the content of the files it reads: the content file, and which files there are.
pub(super) fn fingerprint(text: &str, tree: &Tree, own: &dyn Fn(&RelPath) -> bool) -> String {
    let files = tree.files().map(|(path, _)| path).filter(|path| !own(path));
    let files = Hash::of_fields(files.map(|path| path.as_str().as_bytes()));
    format!("version={VERSION}\ncontent={}\nfiles={files}\n", Hash::of(text.as_bytes()))
}

/// What the last bake said, if all is as it was.
pub(super) fn unchanged(
    src: &Real,
    tree: &Tree,
    places: &Places,
    cache: &mut Cache,
    fingerprint: &str,
) -> Result<Option<Baked>, Diag> {
    let Some(record) = cache.records().get(super::LINK) else { return Ok(None) };
    let Some(mut baked) = decode(&record.payload) else { return Ok(None) };
    baked.warnings = record.warnings.clone();
    let output = Entry { path: places.name.clone(), file: places.stamp() };
    let out_tree = Tree::new(vec![output], vec![]);
    let world = World { src, src_tree: tree, out: &places.out, out_tree: &out_tree };
    match judge(world, fingerprint, record, false, &mut Hints::default()) {
        Verdict::Stale(_) => Ok(None),
        Verdict::Fresh(moved) => {
            if let Some(moved) = moved.map(Record::into_owned) {
                places.remember(cache, moved)?;
            }
            Ok(Some(baked))
        }
    }
}

/// What is remembered of a bake.
pub(super) fn record(
    fingerprint: &str,
    cx: &Cook<'_>,
    plan: &Plan,
    cache: &Cache,
    places: &Places,
    baked: &Baked,
) -> Record<'static> {
    let mut inputs: BTreeMap<String, Input<'static>> = BTreeMap::new();
    let mut add = |input: Input<'static>| drop(inputs.insert(input.path.to_string(), input));
    cx.inputs().into_iter().for_each(&mut add);
    for node in plan.nodes.iter().filter(|node| is_task(&node.recipe)) {
        let record = cache.records().get(node.name.as_str()).map(Record::into_owned);
        record.into_iter().flat_map(|record| record.inputs).for_each(&mut add);
    }
    // Its content is known by its stamp alone: a file that was touched is looked into by the bake.
    let output = Output {
        path: places.name.to_string().into(),
        stamp: places.stamp().unwrap_or(Stamp::NONE),
        hash: Hash::of(b""),
        work: None,
    };
    Record {
        fingerprint: fingerprint.to_owned().into(),
        inputs: inputs.into_values().collect(),
        outputs: vec![output],
        payload: encode(baked).into(),
        warnings: baked.warnings.clone(),
        ..Record::default()
    }
}

fn encode(baked: &Baked) -> Vec<u8> {
    let mut out = Writer::new();
    out.u64(baked.keys as u64);
    out.u64(baked.file_len);
    out.count(baked.assets.len());
    baked.assets.iter().for_each(|asset| out.text(&asset.name));
    out.finish()
}

fn decode(payload: &[u8]) -> Option<Baked> {
    let mut from = Reader::new(payload);
    let (keys, file_len) = (usize::try_from(from.u64()?).ok()?, from.u64()?);
    let count = from.count()?;
    let mut assets = Vec::new();
    for _ in 0..count {
        assets.push(BakedAsset { name: from.text()?.to_owned(), why: None });
    }
    from.is_empty().then_some(Baked { assets, warnings: vec![], keys, file_len, unchanged: true })
}
