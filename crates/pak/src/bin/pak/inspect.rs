//! The `pak info` and `pak verify` commands.

use super::facts::{Fact, facts};
use super::ship::public_key;
use super::{damaged, damaged_asset, find, open, options, unopened};
use ::pak::{Entry, PakBuf};
use kiln_cli::progress::Verbosity;
use kiln_cli::render;
use kiln_cli::reporter::{FAILED, OK, Reporter};
use kiln_engine::{Code, Diag, Json};
use std::path::Path;

pub(super) fn entry_json(entry: &Entry<'_>) -> Json {
    Json::object([
        ("key", Some(entry.key).filter(|key| !key.is_empty()).into()),
        ("kind", entry.kind.name().into()),
        ("id", entry.id.into()),
        ("len", entry.len.into()),
        ("stored", entry.stored_len.into()),
        ("codec", entry.codec.name().into()),
        ("blocks", entry.blocks.len().into()),
    ])
}

pub(super) fn info(reporter: &Reporter, path: &Path, key: &str) -> Result<u8, Diag> {
    let pak = open(path)?;
    let entry = find(&pak, path, key)?;
    let facts = facts(&pak, entry.kind, entry.id).map_err(|error| damaged_asset(path, key, &error))?;
    if reporter.json {
        let facts = Json::list(facts.iter().map(Fact::json));
        reporter.print_json(Json::object([("entry", entry_json(&entry)), ("facts", facts)]));
        return Ok(OK);
    }
    let mut out = reporter.out();
    out.line(&out.style.strong(&format!("{} {}", entry.kind.name(), render::printable(key))));
    let blocks = entry.blocks.len();
    out.line(&format!(
        "  stored: {} of {} as {} in {}",
        render::size(entry.stored_len),
        render::size(entry.len),
        entry.codec.name(),
        render::count(blocks, "block", "blocks")
    ));
    for fact in facts {
        out.line(&format!("  {}: {}", fact.name, fact.text));
    }
    Ok(OK)
}

/// Verifies a pak, and its signature if a public key is given.
pub(super) fn verify(reporter: &Reporter, path: &Path, key: Option<&Path>) -> Result<u8, Diag> {
    let pak = match key {
        None => open(path)?,
        Some(key) => {
            let pak = PakBuf::open_signed(path, &public_key(key)?, options());
            pak.map_err(|error| unopened(path, error))?
        }
    };
    let whole = pak.validate_hash().map_err(|error| damaged(path, &error))?;
    let mut bad = Vec::new();
    for entry in pak.assets() {
        if let Err(error) = facts(&pak, entry.kind, entry.id) {
            reporter.say(&damaged_asset(path, &entry.name(), &error));
            bad.push(entry.name());
        }
    }
    if !whole && bad.is_empty() {
        reporter
            .say(&Diag::new(Code::PakDamaged, "the padding between assets is not zero").path(path.display()));
    }
    let fine = whole && bad.is_empty();
    if reporter.json {
        let keys = Json::list(bad.iter().map(String::as_str));
        reporter.print_json(Json::object([("ok", fine.into()), ("damaged", keys)]));
    } else if reporter.verbosity > Verbosity::Quiet {
        let count = render::count(pak.keys().len(), "key", "keys");
        let word = match (fine, key) {
            (true, None) => "ok",
            (true, Some(_)) => "ok, the signature is valid",
            (false, _) => "damaged",
        };
        reporter.out().line(&format!(
            "{}: {word}, {count}, {}",
            path.display(),
            render::size(pak.file_len())
        ));
    }
    Ok(if fine { OK } else { FAILED })
}
