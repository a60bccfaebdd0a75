//! `assetc explain` and `graph`.

use super::Session;
use ::assetc::{Explanation, GraphNode};
use kiln_cli::reporter::OK;
use kiln_cli::terminal::Out;
use kiln_engine::{Code, Diag, Json, RelPath};
use std::path::Path;

pub(super) fn explain(session: &Session, source: &Path) -> Result<u8, Diag> {
    let (config, roots) = session.project()?;
    let resolver = config.resolver(session.preset(&config)?);
    let source = source_path(session, &roots.input, source)?;
    let tools = session.tools(&config, &session.user()?);
    config.ignored_tools().iter().for_each(|warning| session.report(warning));
    let explained = ::assetc::explain(&roots, &resolver, &tools, &source, &|| session.waiting())?;
    match session.reporter.json {
        true => session.reporter.print_json(explained_json(&explained)),
        false => print_explained(&mut session.reporter.out(), &explained),
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
        ("recipe_version", u64::from(explained.recipe.1).into()),
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
    session.reporter.print_json(Json::object([("sources", Json::list(graph.nodes.iter().map(node)))]));
    Ok(OK)
}
