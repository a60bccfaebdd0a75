//! Builds what a table needs, runs its programs one after another, and keeps what they print.

use crate::block;
use crate::results::{self, Results, Run};
use crate::rivals::Rivals;
use crate::tables::{self, Setting};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Options of a run.
pub struct Plan {
    pub root: PathBuf,
    pub data: Option<PathBuf>,
    pub only: Vec<String>,
    pub quick: bool,
    pub build: bool,
}

/// Runs the tables that are wanted; results are kept after each. Returns those of the tables that were run.
pub fn all(plan: &Plan) -> Result<Results, String> {
    let wanted = |name: &&str| plan.only.is_empty() || plan.only.iter().any(|only| only == name);
    let names: Vec<&str> = tables::NAMES.into_iter().filter(|name| wanted(name)).collect();
    let path = match plan.quick {
        true => target(&plan.root).join("bench-quick.json"),
        false => plan.root.join("bench/results.json"),
    };
    let mut results = Results::read(&path)?;
    // Everything is built before anything is measured: compilers leave a machine warm and its memory full.
    if plan.build {
        build(plan, &names)?;
    }
    let rivals = match names.contains(&"mesh") {
        true => Rivals::get(&plan.root, &target(&plan.root).join("bench-rivals")),
        false => Rivals::default(),
    };
    let (mut failed, mut new) = (Vec::new(), Results::default());
    for name in names {
        match table(plan, name, &rivals) {
            Ok(run) => {
                eprintln!("{name}: {} s", run.seconds);
                new.put(name, run.clone());
                results.put(name, run);
                results.write(&path)?;
            }
            Err(why) => {
                eprintln!("{name}: {why}");
                failed.push(name);
            }
        }
    }
    eprintln!("results: {}", path.display());
    if failed.is_empty() { Ok(new) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// The directory in which cargo puts what belongs to the workspace at `place`.
fn target(place: &Path) -> PathBuf {
    let named = std::env::var_os("CARGO_TARGET_DIR").and_then(|dir| std::path::absolute(dir).ok());
    named.unwrap_or_else(|| place.join("target"))
}

/// Builds the executables of the tools.
const TOOLS: [&str; 10] = [
    "build",
    "--release",
    "-p",
    "assetc",
    "-p",
    "kiln-pak",
    "-p",
    "kiln-unity-assetdb",
    "--features",
    "kiln-pak/cli",
];

fn build(plan: &Plan, names: &[&str]) -> Result<(), String> {
    let mut packages: Vec<&str> = names.iter().flat_map(|name| tables::packages(name)).copied().collect();
    packages.sort_unstable();
    packages.dedup();
    if packages.contains(&"bench-assetc") {
        cargo(&plan.root, &TOOLS)?;
    }
    // One after another: features of crates that two of them use are not united.
    for package in packages {
        let profile = tables::profile(package);
        cargo(&plan.root.join("bench"), &["build", "--profile", profile, "--bins", "-p", package])?;
    }
    Ok(())
}

fn cargo(place: &Path, words: &[&str]) -> Result<(), String> {
    let what = format!("cargo {} in {}", words.join(" "), place.display());
    eprintln!("{what}");
    let mut command = Command::new("cargo");
    command.args(words).current_dir(place).env("CARGO_TARGET_DIR", target(place));
    // What cargo says to this program about itself would make build scripts that look at it run again.
    let about_us = |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(about_us)) {
        command.env_remove(name);
    }
    let done = command.status().map_err(|e| format!("cargo: {e}"))?;
    if done.success() { Ok(()) } else { Err(format!("{what}: failed")) }
}

/// Runs the programs of one table.
fn table(plan: &Plan, name: &str, rivals: &Rivals) -> Result<Run, String> {
    let scratch = std::env::temp_dir().join(format!("kiln-bench-{}", std::process::id()));
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let setting = Setting {
        data: plan.data.as_deref(),
        root: &plan.root,
        scratch: &scratch,
        quick: plan.quick,
        rivals,
    };
    let (programs, missing) = tables::programs(name, &setting);
    let mut run = Run {
        when: results::now(),
        load: results::load(),
        machine: results::machine(),
        files: results::scratch(),
        missing,
        ..Run::default()
    };
    let tidy = |text: &str| without_places(text, plan, &scratch);
    let start = Instant::now();
    let mut text = String::new();
    let mut outcome = Ok(());
    for words in programs {
        run.commands.push(tidy(&words.join(" ")));
        match said(plan, name, &words, &scratch) {
            Ok(more) => text += &more,
            Err(why) => outcome = Err(why),
        }
    }
    let _ = fs::remove_dir_all(&scratch);
    outcome?;
    run.seconds = start.elapsed().as_secs();
    let (blocks, more) = block::parse(&tidy(&text), name);
    run.blocks = blocks;
    run.missing.extend(more);
    Ok(run)
}

/// Runs a program and returns its output, which is also printed.
fn said(plan: &Plan, table: &str, words: &[String], scratch: &Path) -> Result<String, String> {
    let built = target(&plan.root.join("bench"));
    let places = tables::packages(table).iter().map(|package| built.join(tables::profile(package)));
    let program = places.map(|place| place.join(&words[0])).find(|program| program.exists());
    let program = program.ok_or_else(|| format!("{} was not built", words[0]))?;
    let mut command = Command::new(program);
    command.args(&words[1..]).current_dir(scratch).stderr(Stdio::inherit());
    command.env("KILN_ASSETC", target(&plan.root).join("release/assetc"));
    command.env("KILN_BASISU", built.join(tables::profile("uastc-bench")).join("basisu_tree"));
    let done = command.output().map_err(|e| format!("{}: {e}", words[0]))?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    eprint!("{text}");
    if done.status.success() {
        Ok(text)
    } else {
        Err(format!("{} ended with {}", words.join(" "), done.status))
    }
}

/// The same text without the places of this machine.
fn without_places(text: &str, plan: &Plan, scratch: &Path) -> String {
    let mut text = text.to_owned();
    let target = target(&plan.root);
    let places = [
        (Some(scratch), "<scratch>"),
        (plan.data.as_deref(), "<data>"),
        (Some(&target), "target"),
        (Some(&plan.root), "."),
    ];
    for (place, name) in places {
        if let Some(place) = place {
            text = text.replace(&place.display().to_string(), name);
        }
    }
    text
}
