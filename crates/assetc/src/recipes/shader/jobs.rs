//! The entry points of a shader folder: which file, stage and function each module is compiled from.
//!
//! The stage of a source is its extension (`sky.vert`) or its stem (`vertex.glsl`), with the entry point `main` unless the
//! source marks or names another one of that stage. A `.wgsl`, `.hlsl` or `.slang` without a stage in its name compiles
//! to all its entry points. All other files of the folder are for includes. Two equal entry points are an error.

use super::{check_deadline, text};
use crate::config::Settings;
use crate::recipes::folder;
use crate::tools::Tools;
use kiln_engine::{ActionContext, Code, Diag, RelPath};
use kiln_shader::{
    Language, Reference, Stage, entry_points, has_function, language_of, references, stage_of,
};
use std::collections::BTreeSet;

/// The name of the entry point in sources that have one.
const MAIN: &str = "main";

/// One entry point of one source.
pub(super) struct Job {
    pub(super) path: RelPath,
    pub(super) language: Language,
    pub(super) stage: Stage,
    /// The name of the function in the source.
    pub(super) entry: String,
}

impl Job {
    /// Returns the file name of the module: after the stage, and if other entry points have the same stage, after both.
    pub(super) fn output(&self, jobs: &[Job]) -> String {
        let stage = self.stage.name();
        match jobs.iter().filter(|job| job.stage == self.stage).count() {
            1 => format!("{stage}.spv"),
            _ => format!("{}.{stage}.spv", self.entry),
        }
    }
}

/// Lists the entry points to compile, sorted by stage and name.
pub(super) fn jobs(cx: &mut ActionContext<'_>, settings: &Settings, tools: &Tools) -> Result<Vec<Job>, Diag> {
    let files = folder::files(cx.inputs.list(cx.source())?.into_iter(), settings);
    let files: Vec<RelPath> = files.into_iter().cloned().collect();
    let included = included_files(cx, &files)?;
    let mut jobs: Vec<Job> = Vec::new();
    for path in files {
        let Some(language) = language_of(path.file_name()) else { continue };
        let found = match (language, stage_of(path.file_name())) {
            (Language::Hlsl | Language::Slang, stage) => {
                let is_included = included.contains(path.file_name());
                functions(&lossy_text(cx, &path)?, language, stage, is_included)
            }
            (_, Some(stage)) => vec![(stage, MAIN.to_owned())],
            (Language::Wgsl, None) => {
                let text = text(cx, &path)?;
                let found = tools.wgsl_stages(path.as_str(), &text, cx.inputs.deadline());
                check_deadline(cx, &path)?;
                found?
            }
            _ => continue,
        };
        let job = |(stage, entry)| Job { path: path.clone(), language, stage, entry };
        jobs.extend(found.into_iter().map(job));
    }
    jobs.sort_by(|a, b| (a.stage, &a.entry, &a.path).cmp(&(b.stage, &b.entry, &b.path)));
    check_unique(&jobs)?;
    if jobs.is_empty() {
        return Err(Diag::new(
            Code::ShaderNoStage,
            "the shader folder contains no file that is named after a stage, and no HLSL, Slang or WGSL entry point",
        )
        .hint(
            "name the sources vertex.glsl and fragment.glsl, or x.vert and x.frag, or mark the entry points of HLSL and \
             Slang with [shader(\"vertex\")]",
        ));
    }
    Ok(jobs)
}

/// Returns the entry points of an HLSL or Slang source. A file without a stage in its name that others include is a
/// module only if it marks entry points.
fn functions(
    text: &str,
    language: Language,
    stage: Option<Stage>,
    is_included: bool,
) -> Vec<(Stage, String)> {
    let found = entry_points(text, language);
    let has_attributes = found.iter().any(|entry| entry.has_attribute);
    let found = found.into_iter().filter(|entry| entry.has_attribute || !has_attributes);
    let found = found.map(|entry| (entry.has_attribute, entry.stage, entry.name));
    let Some(stage) = stage else {
        let found = found.filter(|(has_attribute, ..)| *has_attribute || !is_included);
        return found.map(|(_, stage, name)| (stage, name)).collect();
    };
    // A source with a stage in its name may define `main` without an attribute, beside functions of any name.
    let has_main = has_function(text, MAIN);
    let found = found.filter(|(has_attribute, own, _)| *own == stage && (*has_attribute || !has_main));
    let found: Vec<(Stage, String)> = found.map(|(_, stage, name)| (stage, name)).collect();
    if found.is_empty() { vec![(stage, MAIN.to_owned())] } else { found }
}

/// Returns the names of the files that HLSL and Slang sources of the folder include.
fn included_files(cx: &mut ActionContext<'_>, files: &[RelPath]) -> Result<BTreeSet<String>, Diag> {
    let mut included = BTreeSet::new();
    for path in files {
        let language = language_of(path.file_name());
        if !matches!(language, Some(Language::Hlsl | Language::Slang)) {
            continue;
        }
        for reference in references(&lossy_text(cx, path)?, language == Some(Language::Slang)) {
            if let Reference::Include(name) | Reference::Import(name) = reference {
                included.extend(name.rsplit('/').next().map(str::to_owned));
            }
        }
    }
    Ok(included)
}

/// Reads a source; what is not UTF-8 is an error only where the file is compiled.
fn lossy_text(cx: &mut ActionContext<'_>, path: &RelPath) -> Result<String, Diag> {
    Ok(String::from_utf8_lossy(&cx.inputs.read(path)?).into_owned())
}

fn check_unique(jobs: &[Job]) -> Result<(), Diag> {
    // File systems that fold case have one file for both.
    let is_same = |a: &Job, b: &Job| a.stage == b.stage && a.entry.eq_ignore_ascii_case(&b.entry);
    let pairs = jobs.iter().enumerate().flat_map(|(n, a)| jobs[n + 1..].iter().map(move |b| (a, b)));
    let Some((first, second)) = pairs.into_iter().find(|(a, b)| is_same(a, b)) else { return Ok(()) };
    let (one, other, stage) = (first.path.file_name(), second.path.file_name(), first.stage.name());
    let message = match (first.entry.as_str(), one == other) {
        (MAIN, false) => format!("{one} and {other} are both the {stage} shader of this folder"),
        (entry, _) => {
            format!("{one} and {other} both have the {stage} entry point {entry}, or differ in case only")
        }
    };
    Err(Diag::new(Code::ShaderStageDuplicate, message).hint("remove or rename one of them"))
}
