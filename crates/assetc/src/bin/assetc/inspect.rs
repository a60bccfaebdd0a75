//! `assetc info`, and the arguments that it shares with `check`.

use super::Session;
use ::assetc::info::{FactValue, FileInfo, FormatSection, Info};
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK};
use kiln_cli::terminal::Out;
use kiln_engine::{Diag, Json};
use std::path::PathBuf;

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
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// The argument, if results name files by it: a single file, or one of several arguments.
    pub(super) shown: Option<String>,
    is_file: bool,
}

impl Target {
    /// Returns the name in results of a file of this target.
    pub(super) fn name(&self, path: &str) -> String {
        match &self.shown {
            None => path.to_owned(),
            Some(shown) if self.is_file || path == self.path.to_string_lossy() => shown.clone(),
            Some(shown) => format!("{shown}/{path}"),
        }
    }
}

/// Returns the paths to inspect: the given ones, or the output directory of the project.
pub(super) fn targets(session: &Session, paths: Vec<PathBuf>) -> Result<Vec<Target>, Diag> {
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
pub(super) fn each_target(
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
pub(super) fn heading(session: &Session, targets: &[Target]) -> String {
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
