//! `assetc pack info`.

use super::Session;
use ::assetc::pack::PackInfo;
use kiln_cli::render;
use kiln_cli::reporter::OK;
use kiln_cli::terminal::Out;
use kiln_engine::{Diag, Json};
use std::path::PathBuf;

pub(super) fn pack_info(session: &Session, file: Option<PathBuf>) -> Result<u8, Diag> {
    let path = match file {
        Some(file) => session.dir.join(file),
        None => session.project()?.1.pack,
    };
    let info = ::assetc::pack::pack_info(&path)?;
    match session.reporter.json {
        true => session.reporter.print_json(pack_json(&info)),
        false => print_pack(&mut session.reporter.out(), &info, &session.shown(&path)),
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
        ("pack_version", u64::from(info.version).into()),
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
