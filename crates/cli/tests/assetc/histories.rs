//! Random histories of edits: after every few of them the incremental build has to be what a build from nothing is,
//! byte for byte, and has to have left alone what is not its own.
//!
//! `KILN_HISTORIES` sets how many histories are told (400 without it) and `KILN_HISTORY` tells a single one by its
//! seed.

use crate::edits::{Edit, Editor};
use crate::project::Project;
use crate::random::Random;
use ::assetc::build::{Request, build};
use ::assetc::config::{Config, Roots};
use ::assetc::tools::Tools;
use kiln_kit::State;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const MANIFEST: &str = "assets.hman";

/// How a build ended: which sources there are, which failed, how many were cooked.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ended {
    sources: BTreeSet<String>,
    failed: BTreeSet<String>,
    built: usize,
}

fn build_here(project: &Project, pack: bool) -> Result<Ended, String> {
    let config = Config::discover(project.root()).unwrap();
    let preset = config.select_preset(None).unwrap();
    let roots = Roots::locate(&config, preset, None).unwrap();
    let resolver = config.resolver(preset);
    let tools = Tools::default();
    let request = Request {
        roots: &roots,
        resolver: &resolver,
        tools: &tools,
        jobs: 2,
        force: false,
        verify: false,
        pack,
        store: None,
        shard: None,
        manifest: assetc::config::Manifest::Textures,
        events: &(),
    };
    let report = build(&request).map_err(|diag| diag.to_string())?;
    let failed = |state: &State| matches!(state, State::Failed(_));
    if report.is_ok() != (report.failed() == 0) {
        return Err(format!("{:?}", report.problems));
    }
    Ok(Ended {
        sources: report.assets.iter().map(|asset| asset.source.to_string()).collect(),
        failed: report.assets.iter().filter(|a| failed(&a.state)).map(|a| a.source.to_string()).collect(),
        built: report.built(),
    })
}

/// The output of a source, by the rules of the manual.
fn output_of(source: &str) -> String {
    if let Some(stem) = source.strip_suffix(".array") {
        return format!("{stem}.arr.ktx2");
    }
    match source.rsplit_once('.') {
        Some((_, "env")) | None => format!("{source}.ktx2"),
        Some((stem, _)) => format!("{stem}.ktx2"),
    }
}

struct History<'a> {
    editor: Editor<'a>,
    project: &'a Project,
    /// Outputs, and the sources that the journal has them from.
    owners: BTreeMap<String, String>,
    /// Whether the journal was hurt since the last build.
    ledger_lost: bool,
    /// Whether nothing was done since the last build that calls for cooking.
    idle: bool,
    tally: Tally,
}

/// What histories were made of, so that none of it can go missing unnoticed.
#[derive(Debug, Default)]
struct Tally {
    builds: usize,
    /// Builds in which nothing failed, so that manifest and pack were compared as well.
    whole: usize,
    /// Builds that had nothing to do.
    idle: usize,
    /// Builds after damage to the journal.
    lost: usize,
}

impl History<'_> {
    fn note(&mut self, edit: Edit, story: &mut Vec<String>) {
        self.ledger_lost |= edit.ledger_lost;
        self.idle &= edit.idle;
        story.push(edit.story);
    }

    /// Builds on top of what is there and from nothing, and compares.
    fn check(&mut self, story: &mut Vec<String>) -> Result<(), String> {
        self.tally.builds += 1;
        self.tally.lost += usize::from(self.ledger_lost);
        self.tally.idle += usize::from(self.idle);
        let project = self.project;
        let before = project.tree("runtime");
        let old_pack = std::fs::read(project.path("runtime.hpack")).ok();
        let pack = self.editor.random.one_in(8);
        let by_executable = self.editor.random.one_in(10);
        story.push(format!("build{}", if pack { " --pack" } else { "" }));
        let ended = if by_executable { None } else { Some(build_here(project, pack)?) };
        let code = by_executable.then(|| {
            let ran = project.run(if pack { &["--pack"] } else { &[] });
            story.push(ran.stdout + &ran.stderr);
            ran.code
        });
        let after = project.tree("runtime");

        if self.ledger_lost {
            // Whatever was not written anew may be unknown to the journal from now on.
            let stayed = before.iter().filter(|(path, bytes)| after.get(*path) == Some(bytes));
            let theirs = &self.editor.foreign;
            let stayed = stayed.filter(|(path, _)| !theirs.contains_key(*path));
            self.editor.forgotten.extend(stayed.map(|(path, bytes)| (path.clone(), bytes.clone())));
            self.owners.clear();
        }

        let clean = Project::in_memory();
        copy(&project.path("assets"), &clean.path("assets"));
        clean.write("assetc.yml", project.read("assetc.yml"));
        let seeds = self.editor.foreign.iter().chain(&self.editor.forgotten);
        for (path, bytes) in seeds.filter(|(path, _)| after.contains_key(*path)) {
            clean.write(&format!("runtime/{path}"), bytes);
        }
        let fresh = build_here(&clean, pack)?;
        if let Some(ended) = &ended {
            if (&ended.sources, &ended.failed) != (&fresh.sources, &fresh.failed) {
                return Err(format!("{ended:?}, from nothing {fresh:?}"));
            }
            if self.idle && ended.built > 0 {
                return Err(format!("{} built though nothing changed", ended.built));
            }
        }
        if let Some(code) = code
            && code != i32::from(!fresh.failed.is_empty())
        {
            return Err(format!("exit code {code}, from nothing {fresh:?}"));
        }
        let expected = clean.tree("runtime");
        let ok = fresh.failed.is_empty();
        self.tally.whole += usize::from(ok);
        self.compare(&before, &after, &expected, &fresh)?;
        let new_pack = std::fs::read(project.path("runtime.hpack")).ok();
        if ok && pack && new_pack != Some(clean.read("runtime.hpack")) {
            return Err("the packs differ".into());
        }
        if !ok && new_pack != old_pack {
            return Err("packed though something failed".into());
        }
        self.settle(&after, &fresh);

        // Nothing is left to do, and a build knows it.
        if self.editor.random.one_in(4) {
            let again = build_here(project, false)?;
            if again.built > 0 || again.failed != fresh.failed || project.tree("runtime") != after {
                return Err(format!("a second build was not idle: {again:?}"));
            }
        }
        Ok(())
    }

    fn compare(
        &self,
        before: &BTreeMap<String, Vec<u8>>,
        after: &BTreeMap<String, Vec<u8>>,
        expected: &BTreeMap<String, Vec<u8>>,
        fresh: &Ended,
    ) -> Result<(), String> {
        for (path, bytes) in expected {
            match after.get(path) {
                None => return Err(format!("{path} is missing")),
                Some(there) if there != bytes => return Err(format!("{path} has other bytes")),
                Some(_) => {}
            }
        }
        // What failed keeps its old output, as far as the journal knows it; and the manifest stays as it was.
        let failed: Vec<(String, &String)> =
            fresh.failed.iter().map(|source| (output_of(source), source)).collect();
        for (path, _) in failed.iter().filter(|(path, source)| self.owners.get(path) == Some(source)) {
            if before.contains_key(path) && after.get(path) != before.get(path) {
                return Err(format!("{path} of a failed source has changed"));
            }
        }
        if !failed.is_empty() && after.get(MANIFEST) != before.get(MANIFEST) {
            return Err("linked though something failed".into());
        }
        for (path, bytes) in after.iter().filter(|(path, _)| !expected.contains_key(*path)) {
            let kept =
                failed.iter().any(|(output, _)| output == path) || (path == MANIFEST && !failed.is_empty());
            if !kept || before.get(path) != Some(bytes) {
                return Err(format!("{path} is not in a build from nothing"));
            }
        }
        match self.editor.foreign.keys().find(|path| !after.contains_key(*path)) {
            Some(path) => Err(format!("foreign {path} is gone")),
            None => Ok(()),
        }
    }

    /// What the model knows after a build: what was written is owned, what the journal forgot is nobody's.
    fn settle(&mut self, after: &BTreeMap<String, Vec<u8>>, fresh: &Ended) {
        self.owners.retain(|_, source| fresh.sources.contains(source));
        let healthy = fresh.sources.difference(&fresh.failed);
        self.owners.extend(healthy.map(|source| (output_of(source), source.clone())));
        let owned = |path: &String| {
            path == MANIFEST || self.owners.get(path).is_some_and(|source| !fresh.failed.contains(source))
        };
        self.editor.forgotten.retain(|path, _| after.contains_key(path) && !owned(path));
        self.ledger_lost = false;
        self.idle = true;
    }
}

/// Copies a tree as it is, links included.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy(&source, &target);
        } else if kind.is_file() {
            std::fs::copy(source, target).unwrap();
        } else {
            #[cfg(unix)]
            std::os::unix::fs::symlink(std::fs::read_link(source).unwrap(), target).unwrap();
        }
    }
}

/// Tells one history.
fn tell(tally: Tally, seed: u64) -> Tally {
    let project = Project::in_memory();
    std::fs::create_dir(project.path("assets")).unwrap();
    let editor = Editor {
        project: &project,
        random: Random::new(seed),
        foreign: BTreeMap::new(),
        forgotten: BTreeMap::new(),
    };
    let mut history = History {
        editor,
        project: &project,
        owners: BTreeMap::new(),
        ledger_lost: false,
        idle: false,
        tally,
    };
    let mut story = Vec::new();
    let edit = history.editor.configure();
    history.note(edit, &mut story);
    let first = 3 + history.editor.random.below(6);
    for step in 0..8 {
        let edits = if step == 0 { first } else { 1 + history.editor.random.below(3) };
        for _ in 0..edits {
            let edit = history.editor.edit();
            history.note(edit, &mut story);
        }
        if let Err(why) = history.check(&mut story) {
            panic!("history {seed}: {why}; after\n  {}", story.join("\n  "));
        }
    }
    history.tally
}

/// The seeds to tell in one of two threads.
fn seeds(half: u64) -> Vec<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("KILN_HISTORY") {
        Some(seed) => Vec::from_iter((seed % 2 == half).then_some(seed)),
        None => (0..number("KILN_HISTORIES").unwrap_or(400)).filter(|seed| seed % 2 == half).collect(),
    }
}

fn tell_all(seeds: &[u64]) {
    let tally = seeds.iter().copied().fold(Tally::default(), tell);
    let Tally { builds, whole, idle, lost } = tally;
    assert_eq!(builds, seeds.len() * 8);
    let enough =
        whole * 3 > builds && (builds - whole) * 6 > builds && idle * 100 > builds && lost * 20 > builds;
    assert!(enough || builds < 1000, "{tally:?}");
}

#[test]
fn even_histories_end_like_builds_from_nothing() {
    tell_all(&seeds(0));
}

#[test]
fn odd_histories_end_like_builds_from_nothing() {
    tell_all(&seeds(1));
}
