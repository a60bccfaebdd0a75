//! `assetc explain`: the recipe of a source, the origin of each setting, its inputs and outputs, and the reason why the
//! next build would rebuild it.
//!
//! No external program is run, not even for its version: inspecting a project must not start anything that the project
//! or the environment names.

use crate::config::{Resolver, Roots};
use crate::graph::access;
use crate::output::JOURNAL;
use crate::plan::{UNASKED, Versions, plan};
use crate::runtime::read_records;
use crate::size_target;
use crate::standalone::{self, ContainedImages, is_conditional};
use crate::tools::Tools;
use kiln_engine::stale::{Verdict, judge};
use kiln_engine::{
    Action, Code, Diag, DirectorySink, Fs, Limits, Real, RebuildReason, RelPath, Severity, Sink, SourceTree,
    Tree,
};

/// The recipe, settings, dependencies and state of one source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The file or directory, relative to the input.
    pub source: RelPath,
    /// The name and the version of the recipe.
    pub recipe: (&'static str, u32),
    /// Each setting with its value and the layer that set it.
    pub settings: Vec<(String, String, String)>,
    /// The dependencies of the last build of the source, each with the kind of access.
    pub inputs: Vec<(String, &'static str)>,
    /// The outputs of the last build; before the first build, the main output.
    pub outputs: Vec<String>,
    /// The reason for the last build, or `None` before the first one.
    pub last: Option<String>,
    /// The reason why the next build would rebuild the source, or `None` when it is up to date.
    pub next: Option<RebuildReason>,
    /// The external programs whose version is assumed to be that of the last build.
    pub assumed: Vec<String>,
}

/// Explains the source at a path relative to the input; calls `waiting` when a build holds the lock of the output.
///
/// # Errors
///
/// `not-a-source` or `file-missing` if no recipe compiles the path, `output-conflict` if another source has the same
/// output, and I/O errors of the input and output directories.
pub fn explain(
    roots: &Roots,
    resolver: &Resolver,
    tools: &Tools,
    source: &RelPath,
    waiting: &dyn Fn(),
) -> Result<Explanation, Diag> {
    roots.check_input()?;
    let fault = |e| roots.input_fault(&e);
    let src = Real::open(&roots.input).map_err(fault)?;
    let src_tree = src.walk(None).map_err(fault)?;
    let mut planned = plan(&src_tree, resolver, tools, Versions::Unasked);
    size_target::recall(&mut planned, &roots.output);
    let containers = standalone::containers(&planned.assets);
    let mut refused = planned.conflicts.into_iter().chain(planned.unread);
    if let Some((_, diag)) = refused.find(|(path, _)| path == source) {
        // A build only warns about a skipped file; here it is the error.
        return Err(match diag.severity() {
            Severity::Error => diag,
            Severity::Warning => {
                Diag::new(Code::NotASource, diag.message).path(source).hint(diag.hint.unwrap_or_default())
            }
        });
    }
    if let Some(glob) =
        resolver.excluded_by(source.as_str()).filter(|_| src_tree.get(source.as_str()).is_some())
    {
        return Err(Diag::new(Code::NotASource, format!("the source is left out by {glob}"))
            .path(source)
            .hint("change `exclude` in assetc.yml to compile the source"));
    }
    let Some(asset) = planned.assets.iter().find(|asset| &asset.source == source) else {
        return Err(no_source(&src_tree, source, planned.assets.iter().map(|a| &a.source)));
    };

    let recipe = asset.recipe;
    let settings = asset.resolved.rows(recipe.info().sections);
    let settings = settings
        .map(|row| (format!("{}.{}", row.key.section, row.key.name), row.value, row.layer.to_string()));
    let mut explained = Explanation {
        source: source.clone(),
        recipe: (recipe.info().name, recipe.info().version),
        settings: settings.collect(),
        inputs: vec![],
        outputs: recipe.output(source).iter().map(RelPath::to_string).collect(),
        last: None,
        next: Some(RebuildReason::New),
        assumed: vec![],
    };
    if !roots.output.is_dir() {
        return Ok(explained);
    }
    let records = read_records(&roots.output, waiting)?;
    if is_conditional(asset) {
        let scan = (SourceTree { fs: &src, tree: &src_tree }, &Limits::default());
        let is_new = |source: &RelPath| !records.contains(source.as_str());
        let contained = ContainedImages::find(&containers, &records, scan, is_new);
        if let Some(container) = contained.container(asset) {
            let message = format!("the image is a part of {container}, and not compiled on its own");
            return Err(Diag::new(Code::NotASource, message)
                .path(source)
                .hint("set `texture.standalone: all` for the image to compile it on its own, too"));
        }
    }
    let out = Real::open(&roots.output).map_err(fault)?;
    let out_tree = out.walk(Some(JOURNAL)).map_err(fault)?;
    if let Some(record) = records.get(source.as_str()) {
        explained.last = Some(record.why.to_string());
        explained.inputs =
            record.inputs.iter().map(|input| (input.path.to_string(), access(input.seen))).collect();
        explained.outputs = record.outputs.iter().map(|output| output.path.to_string()).collect();
        let sources = SourceTree { fs: &src, tree: &src_tree };
        let (sink, mut hint) = (DirectorySink::new(&out, &out_tree), 0);
        let (fingerprint, assumed) = assume_versions(asset.fingerprint(), &record.fingerprint);
        explained.assumed = assumed;
        let find = |output: &_| sink.find(output, false, &mut hint);
        explained.next = match judge(sources, &fingerprint, record, &mut 0, find) {
            Verdict::Fresh(_) => None,
            Verdict::Stale(why) => Some(why),
        };
    }
    Ok(explained)
}

/// Replaces the version placeholders of a fingerprint by the versions in an earlier one; returns it with the names of
/// these programs. A program that the earlier fingerprint does not name keeps its placeholder.
fn assume_versions(fingerprint: &str, recorded: &str) -> (String, Vec<String>) {
    let mut assumed = Vec::new();
    let line = |line: &str| {
        let known = line.strip_suffix(UNASKED).and_then(|tool| {
            let found = recorded.lines().find(|recorded| recorded.starts_with(tool))?;
            assumed.push(tool.trim_start_matches("tool.").trim_end_matches('=').to_owned());
            Some(found)
        });
        format!("{}\n", known.unwrap_or(line))
    };
    (fingerprint.lines().map(line).collect(), assumed)
}

pub(crate) fn no_source<'a>(tree: &Tree, path: &RelPath, sources: impl Iterator<Item = &'a RelPath>) -> Diag {
    let mut sources = sources;
    if let Some(owner) = sources.find(|source| path.is_under(source)) {
        return Diag::new(Code::NotASource, format!("the file is part of the source {owner}"))
            .path(path)
            .hint(format!("run `assetc explain {owner}`"));
    }
    match tree.get(path.as_str()) {
        Some(_) => Diag::new(Code::NotASource, "no recipe matches this name, so builds skip it")
            .path(path)
            .hint("recipes match names such as *.png, *.n.png, *.hdr, *.lut.cube, *.tex, *.ttf, *.env/, *.array/ and *.shader/"),
        None => Diag::new(Code::FileMissing, "the source does not exist")
            .path(path)
            .hint("give its path relative to the input directory"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumes_program_versions_of_the_last_build() {
        let asked = format!("shader 3\na=1\ntool.dxc={UNASKED}\ntool.spirv-opt=none\n");
        let recorded = "shader 3\na=1\ntool.dxc=1.8 = x\ntool.spirv-opt=none\n";
        assert_eq!(assume_versions(&asked, recorded), (recorded.to_owned(), vec!["dxc".to_owned()]));
        let other = "shader 3\na=1\ntool.slangc=2\n";
        assert_eq!(assume_versions(&asked, other), (asked.clone(), vec![]));
    }
}
