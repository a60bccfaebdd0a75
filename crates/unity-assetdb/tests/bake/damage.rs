//! Damage to the state: every answer is correct or an error, and a rebuild recovers.

use crate::project::{Project, guid, number};
use kiln_engine::{Diag, Severity};
use std::fs;
use std::path::Path;
use unity_assetdb::bake::{Extra, refresh};
use unity_assetdb::index::{Index, IndexError, Result};
use unity_assetdb::query::graph::why;

/// A project with at least one record in every section of the state.
fn sample() -> Project {
    let project = Project::new();
    project.object("Assets/A.asset", 1, 50);
    project.asset("Assets/B.png", 2, "TextureImporter:\n  spriteMode: 1\n  textureType: 8\n", "");
    project.asset("Assets/D/B.png", 3, "TextureImporter:\n", "");
    project.asset(
        "Assets/bad.mat",
        4,
        "NativeFormatImporter:\n",
        format!("<<<<<<< HEAD\nguid: {}\n", guid(2)),
    );
    project.rest();
    project.bake();
    project
}

/// Everything that an index answers.
fn answers(index: &Index) -> Result<String> {
    let mut out = format!("{} {:?} {}\n", index.len(), index.note()?, index.has_strict_names());
    for entry in index.entries() {
        let entry = entry?;
        let (name, hint) = (entry.name()?, entry.hint()?);
        out += &format!("{:x} {name} {hint} {} {:?}", entry.guid(), entry.type_name()?, entry.subs()?);
        out += &format!("{:?} {:?}\n", entry.references()?, entry.main_file_id());
        let uses = index.uses(entry.guid())?;
        let uses = uses.iter().map(|(source, reference)| Ok((source.hint()?, *reference)));
        out += &format!("{:?}\n", uses.collect::<Result<Vec<_>>>()?);
        assert_eq!(index.find_by_guid(entry.guid())?.map(|found| found.guid()), Some(entry.guid()));
        assert_eq!(index.find_by_hint(&hint)?.map(|found| found.guid()), Some(entry.guid()));
        let named = index.find_by_name(name)?;
        assert!(named.iter().any(|found| found.entry().guid() == entry.guid()));
    }
    for target in index.targets() {
        let (guid, count, entry) = target?;
        out += &format!("{guid:x} {count} {}\n", entry.is_some());
    }
    for file in index.files() {
        let file = file?;
        out += &format!("{}/{} {} {}\n", file.folder, file.name, file.has_meta, file.is_file);
    }
    for each in index.named_like("", |_| true)? {
        out += &format!("{} {}\n", each.name()?, each.entry().hint()?);
        let chain = why(index, Path::new("/nowhere"), each.entry(), false)?;
        out += &format!(
            "{:?}\n",
            chain.map(|steps| steps.iter().map(|step| step.hint.clone()).collect::<Vec<_>>())
        );
    }
    for kind in index.types()? {
        for each in index.of_type(kind)? {
            out += &format!("{kind:?} {}\n", each?.name()?);
        }
    }
    out += &index.warnings()?.iter().map(Diag::to_string).collect::<String>();
    Ok(out)
}

fn refreshed(project: &Project, no_cache: bool) -> Index {
    let extra = Extra::default().no_cache(no_cache).jobs(1);
    refresh(project.root(), &project.out(), extra, &|_| None).unwrap()
}

/// Compares the answers from a damaged state with those from a good one; returns whether the damage was detected.
fn check(index: Result<Index>, expected: &str) -> bool {
    match index.and_then(|index| answers(&index)) {
        Ok(found) => assert_eq!(found, expected),
        Err(IndexError::Unusable(_)) => return true,
        Err(error) => panic!("{error}"),
    }
    false
}

#[test]
fn every_flipped_byte_of_a_state_is_detected_or_harmless() {
    let project = sample();
    let state = project.out().join("asset-db.cache.bin");
    let (good, db) = (fs::read(&state).unwrap(), fs::read(project.out().join("asset-db.bin")).unwrap());
    let expected = answers(&project.index()).unwrap();
    assert!(project.index().warnings().unwrap().iter().all(|diag| diag.severity() == Severity::Warning));
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(&state, &bad).unwrap();
        assert!(check(Index::open(&project.out()), &expected), "byte {at} is covered by no checksum");
        // A refresh rebuilds the state, or leaves damage that it did not read to the next reader.
        if check(Ok(refreshed(&project, false)), &expected) {
            assert!(!check(Ok(refreshed(&project, true)), &expected), "byte {at}");
        }
        assert_eq!(fs::read(project.out().join("asset-db.bin")).unwrap(), db);
    }
}

#[test]
fn every_truncated_state_is_detected() {
    let project = sample();
    let state = project.out().join("asset-db.cache.bin");
    let good = fs::read(&state).unwrap();
    let expected = answers(&project.index()).unwrap();
    for len in 0..good.len() {
        fs::write(&state, &good[..len]).unwrap();
        assert!(check(Index::open(&project.out()), &expected), "{len} bytes");
    }
    assert!(!check(Ok(refreshed(&project, false)), &expected));
}

/// A state of several pages: a lookup succeeds while a page that it does not read is damaged, and fails otherwise.
#[test]
fn a_lookup_verifies_only_the_pages_that_it_reads() {
    const PAGE: usize = 16 << 10;
    let project = Project::new();
    let path = |n: u128| format!("Assets/{}{n}.txt", "a-rather-long-name-".repeat(8));
    for n in 1..250 {
        project.asset(&path(n), n, "", "");
    }
    project.rest();
    project.bake();
    let state = project.out().join("asset-db.cache.bin");
    let good = fs::read(&state).unwrap();
    let expected = answers(&project.index()).unwrap();
    let (mut found, mut detected) = (0, 0);
    for page in 0..good.len() / PAGE {
        for offset in [513, PAGE / 2, PAGE - 1] {
            let mut bad = good.clone();
            bad[page * PAGE + offset] ^= 0x80;
            fs::write(&state, &bad).unwrap();
            assert!(check(Index::open(&project.out()), &expected), "a scan of the index reads every page");
            let index = Index::open(&project.out()).unwrap();
            match index.find_by_guid(number(77)).and_then(|entry| entry.unwrap().hint()) {
                Ok(hint) => {
                    found += 1;
                    assert_eq!(hint, path(77));
                }
                Err(IndexError::Unusable(_)) => detected += 1,
                Err(error) => panic!("{error}"),
            }
            drop(index);
            // A bake verifies everything.
            assert!(project.bake().wrote);
            assert!(!check(Index::open(&project.out()), &expected));
        }
    }
    assert!(found > 0 && detected > 0, "{found} found, {detected} detected");
}
