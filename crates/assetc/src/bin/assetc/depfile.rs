//! `assetc build --depfile`: the inputs of the build in the syntax of make and ninja.

use super::Session;
use ::assetc::MANIFEST;
use ::assetc::config::{Config, Roots};
use ::assetc::depfile::depfile;
use kiln_cli::publish::publish_file;
use kiln_engine::Diag;
use std::collections::BTreeSet;
use std::path::Path;

/// Writes the depfile of a successful build. The target is the pack or, without one, the manifest. The prerequisites
/// are the configuration, every file that a source read, and every directory with sources, which changes when a source
/// is added or removed.
pub(super) fn write(
    session: &Session,
    config: &Config,
    roots: &Roots,
    pack: Option<&Path>,
    file: &Path,
    target: Option<&str>,
) -> Result<(), Diag> {
    let manifest = roots.output.join(MANIFEST);
    let target = target.map_or_else(|| session.shown(pack.unwrap_or(&manifest)), str::to_owned);
    let mut found: BTreeSet<String> = BTreeSet::from([session.shown(&roots.input)]);
    found.extend(config.file().map(|file| session.shown(file)));
    // A project without sources has no graph.
    let nodes =
        ::assetc::graph(roots, None, &|| session.waiting()).map(|graph| graph.nodes).unwrap_or_default();
    for node in &nodes {
        let read = node.read().map(|path| roots.input.join(path));
        for path in read {
            found.insert(session.shown(&path));
            let dirs = path.ancestors().skip(1).take_while(|dir| *dir != roots.input);
            found.extend(dirs.filter(|dir| dir.starts_with(&roots.input)).map(|dir| session.shown(dir)));
        }
    }
    let prerequisites: Vec<&String> = found.iter().filter(|path| **path != target).collect();
    publish_file(&session.dir.join(file), depfile(&target, &prerequisites).as_bytes(), "depfile")
}
