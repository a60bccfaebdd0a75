//! The `[content]` table: the files to bake and their compression.
//!
//! Rejects patterns that leave the root, unknown codecs, and settings that the codec does not have. Patterns that match no
//! file are warnings.

use super::compression::Compression;
use super::toml_document::{Document, Fields, Value};
use kiln_engine::glob::{Dialect, Glob};
use kiln_engine::{Code, Diag, RelPath, Tree};
use kiln_format::pak::Codec;
use std::collections::{BTreeMap, BTreeSet};

/// A file to bake and its compression settings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Listed {
    pub(crate) path: RelPath,
    pub(crate) compression: Compression,
}

/// Returns the files that a content file lists, sorted by path. `own` matches files that are never assets.
pub(crate) fn listed(
    document: &Document<'_>,
    tree: &Tree,
    own: &dyn Fn(&RelPath) -> bool,
) -> Result<Vec<Listed>, Diag> {
    let file = document.fields();
    let content = file.get("content").ok_or_else(|| {
        file.error(Code::PakTable, "the file has no [content] table")
            .hint("a content file lists the assets to bake: see docs/reference/pak.md")
    })?;
    let content = content.fields()?;
    let compression = compression(&content, Compression::default())?;
    let mut groups = Vec::new();
    for group in content.read("group", |value| value.list())?.unwrap_or_default() {
        let fields = group.fields()?;
        let compression = self::compression(&fields, compression)?;
        let assets = fields.read("assets", |value| value.list())?.unwrap_or_default();
        let exclude = fields.read("exclude", |value| value.list())?.unwrap_or_default();
        let enabled = fields.flag("enabled", true)?;
        fields.finish();
        if enabled {
            groups.push((compression, assets, exclude));
        }
    }
    content.finish();
    file.finish();

    let exclude =
        groups.iter().flat_map(|(_, _, exclude)| exclude).map(glob).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<&RelPath> = tree.files().map(|(path, _)| path).filter(|path| !own(path)).collect();
    let mut found: BTreeMap<&RelPath, Compression> = BTreeMap::new();
    for (compression, assets, _) in &groups {
        for pattern in assets {
            let glob = glob(pattern)?;
            let matches: Vec<_> = files.iter().filter(|path| glob.matches(path.as_str())).collect();
            if matches.is_empty() {
                let message = format!("the pattern {:?} matches no file", glob.pattern());
                let near = kiln_engine::nearest(glob.pattern(), files.iter().map(|path| path.as_str()));
                let diag = pattern.error(Code::PakNoMatch, message);
                let is_directory = tree.get(glob.pattern()).is_some_and(|entry| entry.file.is_none());
                document.warn(match near {
                    _ if is_directory => {
                        let files = format!("{}/**/*", glob.pattern());
                        diag.hint(format!("it is a directory; {files:?} matches the files in it"))
                    }
                    Some(near) => diag.hint(format!("did you mean {near:?}?")),
                    None => {
                        diag.hint("patterns are relative to the root: the directory of this file, or --dir")
                    }
                });
            }
            for path in matches {
                if !exclude.iter().any(|exclude| exclude.matches(path.as_str())) {
                    // The first group that lists a file decides its compression.
                    found.entry(path).or_insert(*compression);
                }
            }
        }
    }
    Ok(found.into_iter().map(|(path, compression)| Listed { path: path.clone(), compression }).collect())
}

/// Returns the folders, relative to the root, in which files may match the patterns: the part of each pattern before its
/// first wildcard.
pub(crate) fn folders(document: &Document<'_>) -> Result<BTreeSet<String>, Diag> {
    let file = document.fields();
    let Some(content) = file.get("content") else { return Ok(BTreeSet::new()) };
    let mut folders = BTreeSet::new();
    for group in content.fields()?.read("group", |value| value.list())?.unwrap_or_default() {
        let fields = group.fields()?;
        let enabled = fields.flag("enabled", true)?;
        for pattern in fields.read("assets", |value| value.list())?.unwrap_or_default() {
            let glob = glob(&pattern)?;
            let fixed = glob.pattern().split(['*', '?', '[']).next().unwrap_or_default();
            if enabled {
                folders.insert(fixed.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned());
            }
        }
    }
    Ok(folders)
}

/// Parses a glob pattern relative to the root.
fn glob(value: &Value<'_>) -> Result<Glob, Diag> {
    let text = value.string()?.trim_start_matches('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop().ok_or_else(|| {
                value
                    .error(Code::PakPath, format_args!("the pattern {text:?} leaves the root directory"))
                    .hint("move the files below the root directory")
            })?),
            part => parts.push(part),
        }
    }
    let pattern = parts.join("/");
    Glob::new(&pattern, Dialect::Pak).map_err(|e| value.error(Code::PakValue, format_args!("{text:?}: {e}")))
}

fn compression(fields: &Fields<'_>, default: Compression) -> Result<Compression, Diag> {
    let codecs = Codec::ALL.map(|codec| (codec.name(), codec));
    let codec = fields.read("compression", |value| value.word(&codecs))?;
    // A different codec starts from its own defaults.
    let mut compression = match codec {
        Some(codec) if codec != default.codec => Compression::of(codec),
        _ => default,
    };
    let codec = compression.codec;
    let only = |value: &Value<'_>, fits: bool| {
        let message = format!("the compression {:?} has no such setting", codec.name());
        if fits {
            Ok(())
        } else {
            Err(value
                .error(Code::PakValue, message)
                .hint("remove the setting, or set compression to a codec that has it"))
        }
    };
    if let Some(value) = fields.get("quality") {
        only(&value, matches!(codec, Codec::Brotli | Codec::Zstd))?;
        compression.quality =
            if codec == Codec::Brotli { value.number(0..=11)? } else { value.number(1..=22)? };
    }
    if let Some(value) = fields.get("window-size") {
        only(&value, codec == Codec::Brotli)?;
        compression.window = value.number(10..=24)?;
    }
    if let Some(value) = fields.get("buffer-size") {
        only(&value, codec == Codec::Brotli)?;
        // Accepted and ignored: blocks are compressed from memory, without an I/O buffer.
        value.number(1..=u32::MAX)?;
    }
    Ok(compression)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_engine::{Entry, Stamp};

    fn list(text: &str, files: &[&str]) -> Result<Vec<(String, Codec, u32)>, String> {
        let entry = |path: &&str| Entry { path: RelPath::new(*path).unwrap(), file: Some(Stamp::NONE) };
        let tree = Tree::new(files.iter().map(entry).collect(), vec![]);
        let document = Document::parse("pak.toml".into(), None, text).map_err(|d| d.to_string())?;
        let listed =
            listed(&document, &tree, &|path| path.as_str() == "pak.toml").map_err(|d| d.to_string())?;
        let warnings: Vec<String> = document.take_warnings().iter().map(ToString::to_string).collect();
        if !warnings.is_empty() {
            return Err(warnings.join("\n"));
        }
        Ok(listed.iter().map(|l| (l.path.to_string(), l.compression.codec, l.compression.quality)).collect())
    }

    const FILES: [&str; 5] = ["a/x.png", "a/b/y.png", "a/b/z.ogg", "pak.toml", "[odd]/q.bin"];

    #[test]
    fn groups_select_compress_and_exclude_files() {
        let text = "[content]\ncompression = 'brotli'\nquality = 3\n[[content.group]]\nassets = ['a/**/*.png', './a/x.png']\n\
                    [[content.group]]\nassets = ['**/*.ogg', '*.toml', '**/*.png']\ncompression = 'none'\n\
                    [[content.group]]\nassets = ['nothing']\nenabled = false\n";
        let error = list(text, &FILES).unwrap_err();
        assert!(
            error.contains(
                "pak.toml:7:23: content.group[1].assets[1]: the pattern \"*.toml\" matches no file"
            ),
            "{error}"
        );
        let found = list(&text.replace("'*.toml', ", ""), &FILES).unwrap();
        assert_eq!(
            found,
            [
                ("a/b/y.png".to_owned(), Codec::Brotli, 3),
                ("a/b/z.ogg".to_owned(), Codec::None, 0),
                ("a/x.png".to_owned(), Codec::Brotli, 3),
            ]
        );
        let text = "[content]\n[[content.group]]\nassets = ['**/*']\nexclude = ['a/b/*']";
        let found: Vec<_> = list(text, &FILES).unwrap().into_iter().map(|f| f.0).collect();
        assert_eq!(found, ["[odd]/q.bin", "a/x.png"]);
    }

    #[test]
    fn reports_invalid_content_tables() {
        for (text, expected) in [
            ("[content]\ncompression = 'snapp'", "2:15: content.compression: expected one of"),
            ("[content]\nquality = 3", "the compression \"none\" has no such setting"),
            (
                "[content]\ncompression = 'brotli'\nquality = 12",
                "expected an integer from 0 to 11, found the integer 12",
            ),
            ("[contents]\n", "the file has no [content] table"),
            ("[content]\n[[content.group]]\nasset = ['x']", "(did you mean \"assets\"?)"),
            ("[content]\n[[content.group]]\nassets = ['../x']", "leaves the root directory"),
            ("[content]\n[[content.group]]\nassets = ['a/[x']", "'['"),
            ("[content]\n[[content.group]]\nassets = ['a/x.pgn']", "(did you mean \"a/x.png\"?)"),
            ("[content]\n[mesh]", "unknown field \"mesh\" in the top-level table"),
        ] {
            let error = list(text, &FILES).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
