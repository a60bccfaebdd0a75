//! `assetc info`, `check`, `pack info`, `explain` and `graph`.

use super::Session;
use ::assetc::info::{FactValue, FileInfo, FormatSection, Info};
use ::assetc::pack::PackInfo;
use ::assetc::{CheckReport, Explanation, GraphNode};
use kiln_cli::diagnostics::MessageFormat;
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK};
use kiln_cli::terminal::Out;
use kiln_engine::{Code, Diag, Json, RelPath, Severity};
use std::path::{Path, PathBuf};

pub(super) fn info(session: &Session, paths: Vec<PathBuf>) -> Result<u8, Diag> {
    let targets = targets(session, paths)?;
    let dump = session.reporter.verbosity == Verbosity::Verbose;
    let mut all = Info::default();
    let unreadable = each_target(session, &targets, |target| {
        let info = ::assetc::info::info(&target.path, dump, &|| session.waiting())?;
        all.append(info, |path| target.name(path));
        Ok(())
    })?;
    if session.reporter.json {
        session.reporter.print_json(info_json(session, &all));
    } else {
        print_info(&mut session.reporter.out(), &all, &heading(session, &targets));
    }
    all.problems.iter().for_each(|problem| session.report(problem));
    Ok(if all.failed() == 0 { unreadable } else { FAILED.max(unreadable) })
}

/// An argument of `info` or `check`.
struct Target {
    path: PathBuf,
    /// The argument, if results name files by it: a single file, or one of several arguments.
    shown: Option<String>,
    is_file: bool,
}

impl Target {
    /// Returns the name in results of a file of this target.
    fn name(&self, path: &str) -> String {
        match &self.shown {
            None => path.to_owned(),
            Some(shown) if self.is_file || path == self.path.to_string_lossy() => shown.clone(),
            Some(shown) => format!("{shown}/{path}"),
        }
    }
}

/// Returns the paths to inspect: the given ones, or the output directory of the project.
fn targets(session: &Session, paths: Vec<PathBuf>) -> Result<Vec<Target>, Diag> {
    if paths.is_empty() {
        return Ok(vec![Target { path: target(session, None)?, shown: None, is_file: false }]);
    }
    let several = paths.len() > 1;
    let target = |path: PathBuf| {
        let path = session.dir.join(path);
        let is_file = ::assetc::file_format(&path).is_some();
        Target { shown: (is_file || several).then(|| session.shown(&path)), path, is_file }
    };
    Ok(paths.into_iter().map(target).collect())
}

/// Calls `inspect` for each target. With several targets, an error about one of them is reported and the others are
/// inspected. Returns the exit code of these errors.
fn each_target(
    session: &Session,
    targets: &[Target],
    mut inspect: impl FnMut(&Target) -> Result<(), Diag>,
) -> Result<u8, Diag> {
    let mut code = OK;
    for target in targets {
        match inspect(target) {
            Err(diag) if targets.len() > 1 => {
                session.report(&diag);
                code = code.max(kiln_cli::reporter::ExitStatus::report(diag).1);
            }
            done => done?,
        }
    }
    Ok(code)
}

/// Formats the arguments for the first line of the output.
fn heading(session: &Session, targets: &[Target]) -> String {
    match targets {
        [target] => session.shown(&target.path),
        targets => render::count(targets.len(), "path", "paths"),
    }
}

/// Returns the directory or pack to inspect: the given one, or the output directory of the project.
pub(super) fn target(session: &Session, path: Option<PathBuf>) -> Result<PathBuf, Diag> {
    match path {
        Some(path) => Ok(session.dir.join(path)),
        None => Ok(session.project()?.1.output),
    }
}

fn print_info(out: &mut Out, info: &Info, shown: &str) {
    out.line(&format!("Inspecting {shown}"));
    out.line("");
    for section in &info.sections {
        let heading = format!("== {} (.{}) ({})", section.title, section.ext, section.files.len());
        out.line(&out.style.strong(&heading));
        for file in &section.files {
            out.line(&format!("  {}", file.path));
            match &file.line {
                Ok(line) => {
                    let gpu = gpu_bytes(&file.facts).map(|n| format!(" | GPU memory: {}", render::size(n)));
                    out.line(&format!("    {line} | {}{}", render::size(file.size), gpu.unwrap_or_default()));
                }
                Err(why) => out.line(&format!("    {}: {why}", out.style.error("unreadable"))),
            }
            file.dump.lines().for_each(|line| out.line(&format!("      {line}")));
        }
    }
    if !info.others.is_empty() {
        out.line(&out.style.strong(&format!("== other files ({})", info.others.len())));
        for (path, size) in &info.others {
            out.line(&format!("  {path} | {}", render::size(*size)));
        }
    }
    out.line(&out.style.strong("== summary"));
    for section in &info.sections {
        let title = format!("{}:", section.title);
        let files = render::count(section.files.len(), "file", "files");
        let totals: String =
            section.totals.iter().map(|(name, n)| format!(" | {}", total(*n, name))).collect();
        out.line(&format!("  {title:<11} {files} | {}{totals}", render::size(section.size())));
    }
    if !info.others.is_empty() {
        let size = info.others.iter().map(|(_, size)| size).sum();
        out.line(&format!(
            "  {:<11} {} | {}",
            "other:",
            render::count(info.others.len(), "file", "files"),
            render::size(size)
        ));
    }
    out.line(&format!("  {:<11} {} total", "on disk:", render::size(info.size())));
    if info.failed() > 0 {
        out.line(
            &out.style.error(&format!("  {} failed to parse", render::count(info.failed(), "file", "files"))),
        );
    }
}

fn facts_json(facts: &[(&'static str, FactValue)]) -> Json {
    let value = |value: &FactValue| match value {
        FactValue::Total(n) | FactValue::Number(n) => Json::from(*n),
        FactValue::Text(text) => text.as_str().into(),
        FactValue::Rows(rows) => Json::list(rows.iter().map(|row| facts_json(row))),
        _ => Json::Null,
    };
    Json::Object(facts.iter().map(|(name, v)| ((*name).to_owned(), value(v))).collect())
}

fn info_json(session: &Session, info: &Info) -> Json {
    let file = |format: &'static str, file: &FileInfo| {
        Json::object([
            ("path", file.path.as_str().into()),
            ("format", format.into()),
            ("size", file.size.into()),
            ("error", file.line.as_ref().err().cloned().into()),
            ("facts", facts_json(&file.facts)),
        ])
    };
    let files = info.sections.iter().flat_map(|s| s.files.iter().map(|f| file(s.ext, f)));
    let others = info
        .others
        .iter()
        .map(|(path, size)| Json::object([("path", path.as_str().into()), ("size", (*size).into())]));
    let totals = |section: &FormatSection| {
        let mut members = vec![
            ("files".to_owned(), Json::from(section.files.len())),
            ("size".to_owned(), Json::from(section.size())),
        ];
        members.extend(section.totals.iter().map(|(name, n)| ((*name).to_owned(), Json::from(*n))));
        (section.ext.to_owned(), Json::Object(members))
    };
    Json::object([
        ("files", Json::list(files)),
        ("others", Json::list(others)),
        ("totals", Json::Object(info.sections.iter().map(totals).collect())),
        ("size", info.size().into()),
        ("failed", info.failed().into()),
        ("problems", session.reporter.diags_json(&info.problems)),
    ])
}

/// Returns the GPU memory of a file in bytes, if it has any.
fn gpu_bytes(facts: &[(&'static str, FactValue)]) -> Option<u64> {
    facts.iter().find_map(|(name, value)| match value {
        FactValue::Total(number) if *name == kiln_format::GPU_BYTES => Some(*number),
        _ => None,
    })
}

/// Formats a total with its name, which is a plural: `1 mesh`, `2 meshes`.
fn total(number: u64, plural: &str) -> String {
    if plural == kiln_format::GPU_BYTES {
        return format!("GPU memory: {}", render::size(number));
    }
    if number != 1 {
        return format!("{number} {plural}");
    }
    for (many, one) in
        [("vertices", "vertex"), ("indices", "index"), ("entries", "entry"), ("submeshes", "submesh")]
    {
        if plural == many {
            return format!("1 {one}");
        }
    }
    format!("1 {}", plural.strip_suffix('s').unwrap_or(plural))
}

pub(super) fn check(session: &Session, paths: Vec<PathBuf>) -> Result<u8, Diag> {
    let targets = targets(session, paths)?;
    let base = match &targets[..] {
        [Target { shown: None, path, .. }] => path,
        _ => &session.dir,
    };
    session.reporter.diagnostics.set_path_bases(&[base]);
    let mut all = CheckReport::default();
    let unreadable = each_target(session, &targets, |target| {
        let checked = ::assetc::check(&target.path, &|| session.waiting())?;
        all.append(checked, |path| target.name(path));
        Ok(())
    })?;
    let is_ok = !all.problems.iter().any(|problem| is_failure(session, problem));
    if session.reporter.json {
        session.reporter.print_json(checked_json(session, &all, is_ok));
    } else {
        print_checked(session, &mut session.reporter.summary(), &all, &heading(session, &targets));
    }
    if session.reporter.diagnostics.format() != MessageFormat::Human {
        all.problems.iter().for_each(|problem| session.report(problem));
    }
    Ok(if is_ok { unreadable } else { FAILED.max(unreadable) })
}

/// Returns whether a problem fails the check: an error, a warning that is denied, or a file that cannot be checked.
fn is_failure(session: &Session, problem: &Diag) -> bool {
    match session.reporter.diagnostics.severity(problem.code) {
        Some(Severity::Error) => true,
        Some(Severity::Warning) => {
            matches!(problem.code, Code::SymlinkIgnored | Code::PathNotPortable | Code::PathNotUtf8)
        }
        None => false,
    }
}

fn print_checked(session: &Session, out: &mut Out, checked: &CheckReport, shown: &str) {
    if session.reporter.verbosity > Verbosity::Quiet {
        out.line(&format!("Checking {shown}"));
    }
    let human = session.reporter.diagnostics.format() == MessageFormat::Human;
    let mut failures = 0;
    for problem in &checked.problems {
        let is_allowed = session.reporter.diagnostics.severity(problem.code).is_none();
        let is_failed = is_failure(session, problem);
        if is_allowed || !is_failed && session.reporter.verbosity == Verbosity::Quiet {
            continue;
        }
        failures += usize::from(is_failed);
        let word = if is_failed { out.style.error("FAIL") } else { out.style.warning("WARN") };
        let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let path = problem.path.as_deref().unwrap_or_default();
        let line = format!(
            "  {word} {}: {} [{}]{hint}",
            render::printable(&session.shown(Path::new(path))),
            render::printable(&problem.message),
            problem.code
        );
        if human {
            out.line(&line);
        }
    }
    if failures > 0 {
        out.line(&out.style.error(&format!("{} found", render::count(failures, "problem", "problems"))));
    } else if session.reporter.verbosity > Verbosity::Quiet {
        let counts = checked.counts.iter().map(|(one, many, n)| render::count(*n, one, many));
        let counts: Vec<String> = counts.collect();
        let counts = if counts.is_empty() { "no runtime files".to_owned() } else { counts.join(", ") };
        let compared = match checked.compared {
            0 => "no journal to compare with".to_owned(),
            n => {
                let with = if checked.by_digests { "assets.sha256" } else { "the journal" };
                format!("{} {with}", render::count(n, "file matches", "files match"))
            }
        };
        out.line(&format!("{}: {}; {compared}", out.style.good("integrity OK"), counts));
    }
}

fn checked_json(session: &Session, checked: &CheckReport, is_ok: bool) -> Json {
    let counts = checked.counts.iter().map(|(_, many, n)| ((*many).to_owned(), Json::from(*n))).collect();
    Json::object([
        ("ok", is_ok.into()),
        ("problems", session.reporter.diags_json(&checked.problems)),
        ("files", Json::Object(counts)),
        ("compared", checked.compared.into()),
    ])
}

pub(super) fn pack_info(session: &Session, file: Option<PathBuf>) -> Result<u8, Diag> {
    let path = match file {
        Some(file) => session.dir.join(file),
        None => session.project()?.1.pack,
    };
    let info = ::assetc::pack::pack_info(&path)?;
    let mut out = session.reporter.out();
    if session.reporter.json {
        out.line(&pack_json(&info).to_string());
    } else {
        print_pack(&mut out, &info, &session.shown(&path));
    }
    Ok(OK)
}

fn print_pack(out: &mut Out, info: &PackInfo, shown: &str) {
    let entries = render::count(info.entries.len(), "entry", "entries");
    out.line(&out.style.strong(&format!(
        "== {shown} (HPAK v{}) — {entries}, {}",
        info.version,
        render::size(info.size)
    )));
    out.line(&format!(
        "  layout: {} header + {} toc + {} payload ({} alignment padding)",
        render::size(info.header),
        render::size(info.toc),
        render::size(info.payload),
        render::size(info.padding)
    ));
    if info.shared > 0 {
        out.line(&format!("  shared: {} of identical content stored once", render::size(info.shared)));
    }
    if info.compressed > 0 {
        out.line(&format!(
            "  compressed: {}, {} of content",
            render::count(info.compressed, "file", "files"),
            render::size(info.content)
        ));
    }
    for kind in &info.kinds {
        let name = match kind.ext {
            Some(ext) => format!("{} (.{ext})", kind.kind),
            None => kind.kind.to_owned(),
        };
        out.line(&format!("  {name:<22}{:>5}  {}", kind.files, render::size(kind.size)));
    }
    out.line(&out.style.strong("== entries"));
    let width = info.entries.iter().map(|e| e.path.chars().count()).max().unwrap_or(0).clamp(20, 60);
    for entry in &info.entries {
        let size = render::size(entry.size);
        let stored = (entry.stored != entry.size).then(|| format!(" zstd {}", render::size(entry.stored)));
        out.line(&format!(
            "  {:<9} {:<width$} {size:>10}  @{}{}",
            entry.kind,
            entry.path,
            entry.offset,
            stored.unwrap_or_default()
        ));
    }
}

fn pack_json(info: &PackInfo) -> Json {
    let kinds = info.kinds.iter().map(|kind| {
        Json::object([("kind", kind.kind.into()), ("files", kind.files.into()), ("size", kind.size.into())])
    });
    let entries = info.entries.iter().map(|entry| {
        Json::object([
            ("path", entry.path.as_str().into()),
            ("kind", entry.kind.into()),
            ("size", entry.size.into()),
            ("stored", entry.stored.into()),
            ("offset", entry.offset.into()),
        ])
    });
    Json::object([
        ("version", u64::from(info.version).into()),
        ("size", info.size.into()),
        ("header", info.header.into()),
        ("toc", info.toc.into()),
        ("compressed", info.compressed.into()),
        ("content", info.content.into()),
        ("payload", info.payload.into()),
        ("padding", info.padding.into()),
        ("shared", info.shared.into()),
        ("kinds", Json::list(kinds)),
        ("entries", Json::list(entries)),
    ])
}

pub(super) fn explain(session: &Session, source: &Path) -> Result<u8, Diag> {
    let (config, roots) = session.project()?;
    let resolver = config.resolver(session.preset(&config)?);
    let source = source_path(session, &roots.input, source)?;
    let tools = session.tools(&config, &session.user()?);
    config.ignored_tools().iter().for_each(|warning| session.report(warning));
    let explained = ::assetc::explain(&roots, &resolver, &tools, &source, &|| session.waiting())?;
    let mut out = session.reporter.out();
    if session.reporter.json {
        out.line(&explained_json(&explained).to_string());
    } else {
        print_explained(&mut out, &explained);
    }
    Ok(OK)
}

/// Converts the path of a source, relative to the working directory or to the input directory, to one relative to the
/// input directory.
pub(super) fn source_path(session: &Session, input: &Path, source: &Path) -> Result<RelPath, Diag> {
    let from_here = session.dir.join(source);
    let inside = match (std::fs::canonicalize(&from_here), std::fs::canonicalize(input)) {
        (Ok(full), Ok(input)) => full.strip_prefix(&input).ok().map(Path::to_path_buf),
        _ => None,
    };
    let relative = inside.unwrap_or_else(|| source.to_path_buf());
    let text = relative.to_string_lossy().replace('\\', "/");
    RelPath::resolve(None, &text).map_err(|bad| {
        Diag::new(Code::NotASource, format!("the path is not a source: {bad}"))
            .path(source.display())
            .hint(format!("give the path of a source in {}", session.shown(input)))
    })
}

fn print_explained(out: &mut Out, explained: &Explanation) {
    out.line(&out.style.strong(explained.source.as_str()));
    out.line(&format!("  recipe: {} (version {})", explained.recipe.0, explained.recipe.1));
    let width =
        explained.settings.iter().map(|(key, value, _)| key.len() + value.len() + 3).max().unwrap_or(0);
    for (key, value, layer) in &explained.settings {
        let setting = format!("{key} = {value}");
        out.line(&format!("  {setting:<width$}  {}", out.style.faint(&format!("from {layer}"))));
    }
    match &explained.last {
        Some(why) => out.line(&format!("  last build: {why}")),
        None => out.line("  last build: none"),
    }
    for (path, access) in &explained.inputs {
        out.line(&format!("  input:  {path} ({access})"));
    }
    for path in &explained.outputs {
        out.line(&format!("  output: {path}"));
    }
    match &explained.next {
        Some(why) => out.line(&format!("  next build: rebuild ({why})")),
        None if explained.assumed.is_empty() => out.line("  next build: up to date"),
        None => out.line(&format!(
            "  next build: up to date, assuming the version of {} is unchanged (explain does not run programs)",
            explained.assumed.join(" and ")
        )),
    }
}

fn explained_json(explained: &Explanation) -> Json {
    let settings = explained.settings.iter().map(|(key, value, layer)| {
        Json::object([
            ("key", key.as_str().into()),
            ("value", value.as_str().into()),
            ("from", layer.as_str().into()),
        ])
    });
    let inputs = explained
        .inputs
        .iter()
        .map(|(path, access)| Json::object([("path", path.as_str().into()), ("how", (*access).into())]));
    Json::object([
        ("source", explained.source.as_str().into()),
        ("recipe", explained.recipe.0.into()),
        ("version", u64::from(explained.recipe.1).into()),
        ("settings", Json::list(settings)),
        ("inputs", Json::list(inputs)),
        ("outputs", Json::list(explained.outputs.iter().map(String::as_str))),
        ("last", explained.last.clone().into()),
        ("stale", explained.next.as_ref().map(ToString::to_string).into()),
        ("assumed", Json::list(explained.assumed.iter().map(String::as_str))),
    ])
}

/// Prints the dependency graph as DOT or JSON.
pub(super) fn graph(session: &Session, about: Option<&str>) -> Result<u8, Diag> {
    let (_, roots) = session.project()?;
    let graph = ::assetc::graph(&roots, about, &|| session.waiting())?;
    if !session.reporter.json {
        session.reporter.out().line(graph.dot().trim_end());
        return Ok(OK);
    }
    let node = |node: &GraphNode| {
        let input = |(path, access): &(String, &str)| {
            Json::object([("path", path.as_str().into()), ("standing", (*access).into())])
        };
        Json::object([
            ("source", node.source.as_str().into()),
            ("inputs", Json::list(node.inputs.iter().map(input))),
            ("outputs", Json::list(node.outputs.iter().map(String::as_str))),
        ])
    };
    session
        .reporter
        .out()
        .line(&Json::object([("sources", Json::list(graph.nodes.iter().map(node)))]).to_string());
    Ok(OK)
}
