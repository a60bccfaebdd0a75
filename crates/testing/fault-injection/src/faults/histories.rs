//! Histories: random edits of a project of `assetc`. After every few of them the incremental build has to be what a build
//! from nothing is, byte for byte, and has to have left alone what is not its own.

use super::case::{Case, NotRun, random};
use super::edits::{Edit, Editor};
use super::files;
use super::project::{Ended, Project};
use super::wander::World;
use super::{Row, Setup};
use crate::random::Random;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// This row.
pub const ROW: Row = Row {
    name: "histories",
    what: "random edits, built incrementally and from nothing",
    unit: "histories",
    cases,
};

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    let count = setup.of(20, 2000);
    let cases = (0..count).map(|n| {
        let (seed, assetc) = (setup.seed.wrapping_mul(1_000_000) + n, setup.tools.assetc.clone());
        let steps = setup.of(8, 20);
        Case::new(format!("assetc {seed}"), move |dir| {
            tell(&assetc, dir, Tally::default(), seed, steps);
        })
    });
    let mut cases: Vec<Case> = cases.collect();
    for world in World::all(&setup.tools) {
        for n in 0..setup.of(8, 300) {
            let (name, world, seed) = (format!("{} {n}", world.name), world.clone(), setup.seed);
            let steps = setup.of(6, 20);
            cases
                .push(Case::new(name.clone(), move |dir| world.wander(&mut random(seed, &name), steps, dir)));
        }
    }
    Ok(cases)
}

const MANIFEST: &str = "assets.hman";

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
pub struct Tally {
    /// All builds.
    pub builds: usize,
    /// Builds in which nothing failed, so that manifest and pack were compared as well.
    pub whole: usize,
    /// Builds that had nothing to do.
    pub idle: usize,
    /// Builds after damage to the journal.
    pub lost: usize,
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
        let old_pack = fs::read(project.path("runtime.hpack")).ok();
        let pack = self.editor.random.one_in(8);
        story.push(format!("build{}", if pack { " --pack" } else { "" }));
        let ended = project.build(pack)?;
        let after = project.tree("runtime");

        if self.ledger_lost {
            // Whatever was not written anew may be unknown to the journal from now on.
            let stayed = before.iter().filter(|(path, bytes)| after.get(*path) == Some(bytes));
            let theirs = &self.editor.foreign;
            let stayed = stayed.filter(|(path, _)| !theirs.contains_key(*path));
            self.editor.forgotten.extend(stayed.map(|(path, bytes)| (path.clone(), bytes.clone())));
            self.owners.clear();
        }

        let clean = Project::new(project.root().with_extension("clean"), project.assetc());
        copy(&project.path("assets"), &clean.path("assets"));
        clean.write("assetc.yml", project.read("assetc.yml"));
        let seeds = self.editor.foreign.iter().chain(&self.editor.forgotten);
        for (path, bytes) in seeds.filter(|(path, _)| after.contains_key(*path)) {
            clean.write(&format!("runtime/{path}"), bytes);
        }
        let fresh = clean.build(pack)?;
        if (&ended.sources, &ended.failed) != (&fresh.sources, &fresh.failed) {
            return Err(format!("{ended:?}, from nothing {fresh:?}"));
        }
        if self.idle && ended.built > 0 {
            return Err(format!("{} built though nothing changed", ended.built));
        }
        let expected = clean.tree("runtime");
        let ok = fresh.failed.is_empty();
        self.tally.whole += usize::from(ok);
        self.compare(&before, &after, &expected, &fresh)?;
        let new_pack = fs::read(project.path("runtime.hpack")).ok();
        if ok && pack && new_pack != Some(clean.read("runtime.hpack")) {
            return Err("the packs differ".into());
        }
        if !ok && new_pack != old_pack {
            return Err("packed though something failed".into());
        }
        files::remove(clean.root());
        self.settle(&after, &fresh);

        // Nothing is left to do, and a build knows it.
        if self.editor.random.one_in(4) {
            let again = project.build(false)?;
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
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy(&source, &target);
        } else if kind.is_file() {
            fs::copy(source, target).unwrap();
        } else {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(source).unwrap(), target).unwrap();
        }
    }
}

/// Tells one history, of so many builds, in an empty directory.
pub fn tell(assetc: &Path, dir: &Path, tally: Tally, seed: u64, steps: usize) -> Tally {
    let project = Project::new(dir.join("p"), assetc);
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
    for step in 0..steps {
        let edits = if step == 0 { first } else { 1 + history.editor.random.below(3) };
        for _ in 0..edits {
            let edit = history.editor.edit();
            history.note(edit, &mut story);
        }
        if let Err(why) = history.check(&mut story) {
            panic!("history {seed}: {why}; after\n  {}", story.join("\n  "));
        }
    }
    files::remove(project.root());
    history.tally
}
