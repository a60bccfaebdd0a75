//! `assetc explain`: which recipe a source has, where each setting comes from, what it read, and whether the next
//! build would cook it. No program is run for it, not even for its version: whoever only looks at a project is not to
//! start anything that the project or the environment names.

use crate::config::{Resolver, Roots};
use crate::graph::standing;
use crate::output::{JOURNAL, at_root};
use crate::plan::{UNASKED, Versions, plan};
use crate::runtime::read_records;
use crate::tools::Tools;
use kiln_engine::stale::{Verdict, judge};
use kiln_engine::{
    Action, Code, Diag, DirectorySink, Fs, Real, RelPath, Severity, Sink, SourceTree, Tree, Why,
};

/// Everything there is to say about one source.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The file or directory, relative to the input.
    pub source: RelPath,
    /// The recipe's name and version.
    pub recipe: (&'static str, u32),
    /// Setting, value and the layer it came from.
    pub settings: Vec<(String, String, String)>,
    /// What its last cook depended on, each with how it stood.
    pub inputs: Vec<(String, &'static str)>,
    /// What its last cook wrote; before the first, what it is going to write.
    pub outputs: Vec<String>,
    /// Why it was last built, if it ever was.
    pub last: Option<String>,
    /// Why the next build would cook it, or `None` when it would not.
    pub next: Option<Why>,
    /// The programs whose version is assumed to be that of the last build.
    pub assumed: Vec<String>,
}

/// Explains the source at a path relative to the input.
pub fn explain(
    roots: &Roots,
    resolver: &Resolver,
    tools: &Tools,
    source: &RelPath,
    waiting: &dyn Fn(),
) -> Result<Explained, Diag> {
    roots.check_input()?;
    let fault = |e| at_root(Code::Unreadable, &roots.input, &e);
    let src = Real::open(&roots.input).map_err(fault)?;
    let src_tree = src.walk(None).map_err(fault)?;
    let planned = plan(&src_tree, resolver, tools, Versions::Unasked);
    let mut refused = planned.conflicts.into_iter().chain(planned.unread);
    if let Some((_, diag)) = refused.find(|(path, _)| path == source) {
        // What a build only warns about leaves nothing to explain.
        return Err(match diag.severity() {
            Severity::Error => diag,
            Severity::Warning => {
                Diag::new(Code::NotASource, diag.message).path(source).hint(diag.hint.unwrap_or_default())
            }
        });
    }
    let Some(asset) = planned.assets.iter().find(|asset| &asset.source == source) else {
        return Err(no_source(&src_tree, source, planned.assets.iter().map(|a| &a.source)));
    };

    let recipe = asset.recipe;
    let settings = asset.resolved.rows(recipe.sections());
    let settings = settings
        .map(|row| (format!("{}.{}", row.key.section, row.key.name), row.value, row.layer.to_string()));
    let mut explained = Explained {
        source: source.clone(),
        recipe: (recipe.name(), recipe.version()),
        settings: settings.collect(),
        inputs: vec![],
        outputs: recipe.output(source).iter().map(RelPath::to_string).collect(),
        last: None,
        next: Some(Why::New),
        assumed: vec![],
    };
    if !roots.output.is_dir() {
        return Ok(explained);
    }
    let records = read_records(&roots.output, waiting)?;
    let out = Real::open(&roots.output).map_err(fault)?;
    let out_tree = out.walk(Some(JOURNAL)).map_err(fault)?;
    if let Some(record) = records.get(source.as_str()) {
        explained.last = Some(record.why.to_string());
        explained.inputs =
            record.inputs.iter().map(|input| (input.path.to_string(), standing(input.seen))).collect();
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

/// The fingerprint with the versions of programs as an earlier one has them, and the names of these programs. A program
/// that the earlier one does not have stays without a version.
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

fn no_source<'a>(tree: &Tree, path: &RelPath, sources: impl Iterator<Item = &'a RelPath>) -> Diag {
    let mut sources = sources;
    if let Some(owner) = sources.find(|source| path.is_under(source)) {
        return Diag::new(Code::NotASource, format!("it is part of the source {owner}"))
            .path(path)
            .hint(format!("ask for {owner}"));
    }
    match tree.get(path.as_str()) {
        Some(_) => Diag::new(Code::NotASource, "no recipe takes it: builds pass it over")
            .path(path)
            .hint("sources are told by their names, such as *.png, *.n.png, *.hdr, *.lut.cube, *.ttf, *.env/, *.array/ and *.shader/"),
        None => Diag::new(Code::FileMissing, "there is no such source")
            .path(path)
            .hint("name it relative to the input directory"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_programs_are_those_of_the_last_build() {
        let asked = format!("shader 3\na=1\ntool.dxc={UNASKED}\ntool.spirv-opt=none\n");
        let recorded = "shader 3\na=1\ntool.dxc=1.8 = x\ntool.spirv-opt=none\n";
        assert_eq!(assume_versions(&asked, recorded), (recorded.to_owned(), vec!["dxc".to_owned()]));
        let other = "shader 3\na=1\ntool.slangc=2\n";
        assert_eq!(assume_versions(&asked, other), (asked.clone(), vec![]));
    }
}
