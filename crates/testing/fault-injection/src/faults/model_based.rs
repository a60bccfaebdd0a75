//! Model-based tests of incremental builds: random edits of an `assetc` project. After every few edits the incremental
//! build has to equal a clean build byte for byte, and must not touch foreign files.

use super::case::{Case, NotRun, random};
use super::edits::{Edit, Editor};
use super::files;
use super::incremental_vs_clean::Fixture;
use super::project::{BuildResult, Project};
use super::{Setup, Suite};
use crate::random::Random;
use kiln_format::hman::{self, HmanView};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The `model-based` suite.
pub const SUITE: Suite = Suite {
    name: "model-based",
    summary: "random edits: incremental builds equal clean builds",
    unit: "edit sequences",
    cases,
};

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    let count = setup.of(20, 2000);
    let cases = (0..count).map(|n| {
        let (seed, assetc) = (setup.seed.wrapping_mul(1_000_000) + n, setup.tools.assetc.clone());
        let steps = setup.of(8, 20);
        Case::new(format!("assetc {seed}"), move |dir| {
            run_random_edits(&assetc, dir, Tally::default(), seed, steps);
        })
    });
    let mut cases: Vec<Case> = cases.collect();
    for fixture in Fixture::all(&setup.tools) {
        for n in 0..setup.of(8, 300) {
            let (name, fixture, seed) = (format!("{} {n}", fixture.name), fixture.clone(), setup.seed);
            let steps = setup.of(6, 20);
            cases.push(Case::new(name.clone(), move |dir| {
                fixture.run_random_edits(&mut random(seed, &name), steps, dir)
            }));
        }
    }
    Ok(cases)
}

const MANIFEST: &str = "assets.hman";

/// Returns the output path of a source, by the documented rules.
fn output_of(source: &str) -> String {
    if let Some(stem) = source.strip_suffix(".array") {
        return format!("{stem}.arr.ktx2");
    }
    match source.rsplit_once('.') {
        Some((_, "env")) | None => format!("{source}.ktx2"),
        Some((stem, _)) => format!("{stem}.ktx2"),
    }
}

/// The model of a project: its expected outputs and their owners.
struct Model<'a> {
    editor: Editor<'a>,
    project: &'a Project,
    /// The outputs, and their source according to the journal.
    owners: BTreeMap<String, String>,
    /// True if the journal was corrupted since the last build.
    journal_lost: bool,
    /// True if no edit since the last build requires a rebuild.
    idle: bool,
    tally: Tally,
}

/// Statistics of the generated builds, so that a test can assert their coverage.
#[derive(Debug, Default)]
pub struct Tally {
    /// The number of builds.
    pub builds: usize,
    /// The number of builds without failures, in which manifest and pack were compared as well.
    pub whole: usize,
    /// The number of builds that were up to date.
    pub idle: usize,
    /// The number of builds after journal corruption.
    pub lost: usize,
}

impl Model<'_> {
    fn note(&mut self, edit: Edit, log: &mut Vec<String>) {
        self.journal_lost |= edit.journal_lost;
        self.idle &= edit.idle;
        log.push(edit.log);
    }

    /// Builds incrementally and from scratch, and compares the outputs.
    fn check(&mut self, log: &mut Vec<String>) -> Result<(), String> {
        self.tally.builds += 1;
        self.tally.lost += usize::from(self.journal_lost);
        self.tally.idle += usize::from(self.idle);
        let project = self.project;
        let before = project.tree("runtime");
        let old_pack = fs::read(project.path("runtime.hpack")).ok();
        let pack = self.editor.random.one_in(8);
        log.push(format!("build{}", if pack { " --pack" } else { "" }));
        let ended = project.build(pack)?;
        let after = project.tree("runtime");

        if self.journal_lost {
            // Outputs that were not rewritten may be unknown to the journal from now on.
            let stayed = before.iter().filter(|(path, bytes)| after.get(*path) == Some(bytes));
            let theirs = &self.editor.foreign;
            let stayed = stayed.filter(|(path, _)| !theirs.contains_key(*path));
            self.editor.unowned.extend(stayed.map(|(path, bytes)| (path.clone(), bytes.clone())));
            self.owners.clear();
        }

        let clean = Project::new(project.root().with_extension("clean"), project.assetc());
        copy(&project.path("assets"), &clean.path("assets"));
        clean.write("assetc.yml", project.read("assetc.yml"));
        let seeds = self.editor.foreign.iter().chain(&self.editor.unowned);
        for (path, bytes) in seeds.filter(|(path, _)| after.contains_key(*path)) {
            clean.write(&format!("runtime/{path}"), bytes);
        }
        let fresh = clean.build(pack)?;
        if (&ended.sources, &ended.failed) != (&fresh.sources, &fresh.failed) {
            return Err(format!("{ended:?}, clean build {fresh:?}"));
        }
        if self.idle && ended.built > 0 {
            return Err(format!("{} sources were rebuilt although nothing changed", ended.built));
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
            return Err("the pack was written although a source failed".into());
        }
        files::remove(clean.root());
        self.settle(&after, &fresh);

        // A second build is up to date.
        if self.editor.random.one_in(4) {
            let again = project.build(false)?;
            if again.built > 0 || again.failed != fresh.failed || project.tree("runtime") != after {
                return Err(format!("a second build was not up to date: {again:?}"));
            }
        }
        Ok(())
    }

    fn compare(
        &self,
        before: &BTreeMap<String, Vec<u8>>,
        after: &BTreeMap<String, Vec<u8>>,
        expected: &BTreeMap<String, Vec<u8>>,
        fresh: &BuildResult,
    ) -> Result<(), String> {
        for (path, bytes) in expected.iter().filter(|(path, _)| *path != MANIFEST || fresh.failed.is_empty())
        {
            match after.get(path) {
                None => return Err(format!("{path} is missing")),
                Some(found) if found != bytes => return Err(format!("{path} has different content")),
                Some(_) => {}
            }
        }
        // A failed source keeps its old output and its rows in the manifest if the journal knows it.
        let failed: Vec<(String, &String)> =
            fresh.failed.iter().map(|source| (output_of(source), source)).collect();
        for (path, _) in failed.iter().filter(|(path, source)| self.owners.get(path) == Some(source)) {
            if before.contains_key(path) && after.get(path) != before.get(path) {
                return Err(format!("{path} of a failed source has changed"));
            }
        }
        // A file of another format is not replaced if the journal does not know it.
        let is_foreign = after
            .get(MANIFEST)
            .is_some_and(|bytes| !bytes.starts_with(&hman::MAGIC) && before.get(MANIFEST) == Some(bytes));
        if !failed.is_empty() && !is_foreign {
            let (new, clean) = (rows(after.get(MANIFEST))?, rows(expected.get(MANIFEST))?);
            if let Some(path) = clean.keys().find(|path| new.get(*path) != clean.get(*path)) {
                return Err(format!("the manifest lacks the row of {path}, or it differs"));
            }
            for path in new.keys().filter(|path| !clean.contains_key(*path)) {
                if !failed.iter().any(|(output, _)| output == path) || !after.contains_key(path) {
                    return Err(format!("the manifest has a row of {path}, which no source has written"));
                }
            }
        }
        for (path, bytes) in after.iter().filter(|(path, _)| !expected.contains_key(*path)) {
            let kept = failed.iter().any(|(output, _)| output == path);
            if !kept || before.get(path) != Some(bytes) {
                return Err(format!("{path} is not part of a clean build"));
            }
        }
        match self.editor.foreign.keys().find(|path| !after.contains_key(*path)) {
            Some(path) => Err(format!("the foreign file {path} was removed")),
            None => Ok(()),
        }
    }

    /// Updates the model after a build: written outputs are owned; the others that the journal lost are not.
    fn settle(&mut self, after: &BTreeMap<String, Vec<u8>>, fresh: &BuildResult) {
        self.owners.retain(|_, source| fresh.sources.contains(source));
        let healthy = fresh.sources.difference(&fresh.failed);
        self.owners.extend(healthy.map(|source| (output_of(source), source.clone())));
        let owned = |path: &String| {
            path == MANIFEST || self.owners.get(path).is_some_and(|source| !fresh.failed.contains(source))
        };
        self.editor.unowned.retain(|path, _| after.contains_key(path) && !owned(path));
        self.journal_lost = false;
        self.idle = true;
    }
}

/// Returns the rows of a manifest by path; none if there is no manifest.
fn rows(manifest: Option<&Vec<u8>>) -> Result<BTreeMap<String, (u64, u8, u8)>, String> {
    let view = manifest.map(|bytes| HmanView::read(bytes)).transpose();
    let view = view.map_err(|error| format!("the manifest is invalid: {error}"))?;
    let entries = view.iter().flat_map(HmanView::entries);
    Ok(entries.map(|e| (e.path.to_owned(), (e.hash, e.kind as u8, e.colorspace as u8))).collect())
}

/// Copies a tree, symbolic links included.
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

/// Runs one sequence of random edits with `steps` builds in an empty directory.
pub fn run_random_edits(assetc: &Path, dir: &Path, tally: Tally, seed: u64, steps: usize) -> Tally {
    let project = Project::new(dir.join("p"), assetc);
    let editor = Editor {
        project: &project,
        random: Random::new(seed),
        foreign: BTreeMap::new(),
        unowned: BTreeMap::new(),
    };
    let mut model =
        Model { editor, project: &project, owners: BTreeMap::new(), journal_lost: false, idle: false, tally };
    let mut log = Vec::new();
    let edit = model.editor.configure();
    model.note(edit, &mut log);
    let first = 3 + model.editor.random.below(6);
    for step in 0..steps {
        let edits = if step == 0 { first } else { 1 + model.editor.random.below(3) };
        for _ in 0..edits {
            let edit = model.editor.edit();
            model.note(edit, &mut log);
        }
        if let Err(why) = model.check(&mut log) {
            panic!("seed {seed}: {why}; after\n  {}", log.join("\n  "));
        }
    }
    files::remove(project.root());
    model.tally
}
