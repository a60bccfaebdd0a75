//! The `[content]` table: which files are baked, and how they are packed.
//!
//! Refused are patterns that match nothing or leave the root, unknown codecs, and settings that the codec does not
//! have.

use super::compress::Packing;
use super::document::{Document, Fields, Value};
use kiln_engine::glob::{Dialect, Glob};
use kiln_engine::{Code, Diag, RelPath, Tree};
use kiln_format::pak::Codec;
use std::collections::BTreeMap;

/// A file to be baked, and how.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Listed {
    pub(crate) path: RelPath,
    pub(crate) packing: Packing,
}

/// The files that a content file lists, by path. `own` are files that are never assets.
pub(crate) fn listed(
    document: &Document<'_>,
    tree: &Tree,
    own: &dyn Fn(&RelPath) -> bool,
) -> Result<Vec<Listed>, Diag> {
    let file = document.fields();
    let content = file.get("content").ok_or_else(|| {
        file.fault(Code::PakTable, "there is no [content] table")
            .hint("this file lists what is baked: see docs/pak.md")
    })?;
    let content = content.fields()?;
    let packing = packing(&content, Packing::default())?;
    let mut groups = Vec::new();
    for group in content.read("group", |value| value.list())?.unwrap_or_default() {
        let fields = group.fields()?;
        let packing = self::packing(&fields, packing)?;
        let assets = fields.read("assets", |value| value.list())?.unwrap_or_default();
        let exclude = fields.read("exclude", |value| value.list())?.unwrap_or_default();
        let enabled = fields.flag("enabled", true)?;
        fields.finish()?;
        if enabled {
            groups.push((packing, assets, exclude));
        }
    }
    content.finish()?;
    file.finish()?;

    let exclude =
        groups.iter().flat_map(|(_, _, exclude)| exclude).map(glob).collect::<Result<Vec<_>, _>>()?;
    let files: Vec<&RelPath> = tree.files().map(|(path, _)| path).filter(|path| !own(path)).collect();
    let mut found: BTreeMap<&RelPath, Packing> = BTreeMap::new();
    for (packing, assets, _) in &groups {
        for pattern in assets {
            let glob = glob(pattern)?;
            let matches: Vec<_> = files.iter().filter(|path| glob.matches(path.as_str())).collect();
            if matches.is_empty() {
                let message = format!("{:?} matches no file", glob.pattern());
                let near = kiln_engine::nearest(glob.pattern(), files.iter().map(|path| path.as_str()));
                let diag = pattern.fault(Code::PakNoMatch, message);
                return Err(match near {
                    Some(near) => diag.hint(format!("did you mean {near:?}?")),
                    None => diag.hint("patterns are relative to the root, which is the folder of this file"),
                });
            }
            for path in matches {
                if !exclude.iter().any(|exclude| exclude.matches(path.as_str())) {
                    // The first group that lists a file says how it is packed.
                    found.entry(path).or_insert(*packing);
                }
            }
        }
    }
    Ok(found.into_iter().map(|(path, packing)| Listed { path: path.clone(), packing }).collect())
}

/// A pattern, relative to the root.
fn glob(value: &Value<'_>) -> Result<Glob, Diag> {
    let text = value.text()?.trim_start_matches('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop().ok_or_else(|| {
                value
                    .fault(Code::PakPath, format_args!("{text:?} leaves the root"))
                    .hint("put the files below the root")
            })?),
            part => parts.push(part),
        }
    }
    let pattern = parts.join("/");
    Glob::new(&pattern, Dialect::Pak).map_err(|e| value.fault(Code::PakValue, format_args!("{text:?}: {e}")))
}

fn packing(fields: &Fields<'_>, default: Packing) -> Result<Packing, Diag> {
    let codecs = Codec::ALL.map(|codec| (codec.name(), codec));
    let codec = fields.read("compression", |value| value.word(&codecs))?;
    // Another codec starts from its own defaults.
    let mut packing = match codec {
        Some(codec) if codec != default.codec => Packing::of(codec),
        _ => default,
    };
    let codec = packing.codec;
    let only = |value: &Value<'_>, fits: bool| {
        let message = format!("{} has no such setting", codec.name());
        if fits {
            Ok(())
        } else {
            Err(value.fault(Code::PakValue, message).hint("leave it out, or set compression"))
        }
    };
    if let Some(value) = fields.get("quality") {
        only(&value, matches!(codec, Codec::Brotli | Codec::Zstd))?;
        packing.quality =
            if codec == Codec::Brotli { value.number(0..=11)? } else { value.number(1..=22)? };
    }
    if let Some(value) = fields.get("window-size") {
        only(&value, codec == Codec::Brotli)?;
        packing.window = value.number(10..=24)?;
    }
    if let Some(value) = fields.get("buffer-size") {
        only(&value, codec == Codec::Brotli)?;
        // Blocks are compressed from memory: there is no buffer whose size would matter.
        value.number(1..=u32::MAX)?;
    }
    Ok(packing)
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
        Ok(listed.iter().map(|l| (l.path.to_string(), l.packing.codec, l.packing.quality)).collect())
    }

    const FILES: [&str; 5] = ["a/x.png", "a/b/y.png", "a/b/z.ogg", "pak.toml", "[odd]/q.bin"];

    #[test]
    fn groups_are_matched_packed_and_excluded() {
        let text = "[content]\ncompression = 'brotli'\nquality = 3\n[[content.group]]\nassets = ['a/**/*.png', './a/x.png']\n\
                    [[content.group]]\nassets = ['**/*.ogg', '*.toml', '**/*.png']\ncompression = 'none'\n\
                    [[content.group]]\nassets = ['nothing']\nenabled = false\n";
        let error = list(text, &FILES).unwrap_err();
        assert!(
            error.contains("pak.toml:7:23: content.group[1].assets[1]: \"*.toml\" matches no file"),
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
    fn mistakes_are_named() {
        for (text, expected) in [
            ("[content]\ncompression = 'snapp'", "2:15: content.compression: \"snapp\" is not one of"),
            ("[content]\nquality = 3", "none has no such setting"),
            ("[content]\ncompression = 'brotli'\nquality = 12", "12 is not a whole number from 0 to 11"),
            ("[contents]\n", "there is no [content] table"),
            ("[content]\n[[content.group]]\nasset = ['x']", "(did you mean \"assets\"?)"),
            ("[content]\n[[content.group]]\nassets = ['../x']", "leaves the root"),
            ("[content]\n[[content.group]]\nassets = ['a/[x']", "never closed"),
            ("[content]\n[[content.group]]\nassets = ['a/x.pgn']", "(did you mean \"a/x.png\"?)"),
            ("[content]\n[mesh]", "this file has no field \"mesh\""),
        ] {
            let error = list(text, &FILES).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
