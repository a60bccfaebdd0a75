//! Parsing of the `[bitmap-font]` table: an AngelCode definition in text, XML or binary form, and the images of its pages.
//!
//! Rejects damaged definitions, and pages that are not numbered from 0.

use super::super::compression::Compression;
use super::super::toml_document::Fields;
use super::bitmap::{BitmapSpec, ImageUse};
use super::{NodeId, Planner, Recipe, Reference, angelcode, part};
use kiln_engine::{Code, Diag, RelPath};
use kiln_format::pak::{Color, Kind};

impl Planner<'_, '_> {
    pub(super) fn font(
        &mut self,
        path: &RelPath,
        fields: Fields<'_>,
        compression: Compression,
    ) -> Result<NodeId, Diag> {
        let src = self.src(path, &fields, &["fon", "fnt"])?;
        fields.finish();
        let bad = |message: String| Diag::new(Code::PakFont, message).path(&src);
        if self.is_accepted_missing(&src) {
            return Ok(self.blob_node(path, src, compression));
        }
        let bytes = self.inputs.read(&src)?;
        let def = angelcode::to_text(bytes)
            .map_err(|message| bad(message).hint("export the definition again, in text form"))?;
        let pages = pages(&def).map_err(bad)?;
        let mut nodes = Vec::new();
        for (number, file) in pages.iter().enumerate() {
            let page = RelPath::resolve(src.parent().as_ref(), file);
            let page = page.map_err(|why| bad(format!("page {number}: {file:?}: {why}")))?;
            if self.tree.stamp(page.as_str()).is_none() && !self.is_accepted_missing(&page) {
                return Err(bad(format!("page {number}: the file {page} does not exist")));
            }
            // Glyph coverage and masks are linear data, and every channel may be used: all channels are kept.
            let plain = BitmapSpec::plain(Reference { path: page, part: None }, ImageUse::Color);
            let spec = BitmapSpec { color: Color::Linear, ..plain };
            nodes.push(self.bitmap_node(&part(path, format_args!("page {number}")), spec, compression));
        }
        let lines = format!("def={}\npages={nodes:?}\n", kiln_engine::Hash::of(def.as_bytes()));
        Ok(self.node(path, Kind::BitmapFont, Recipe::Font(def, nodes), compression, &lines))
    }
}

/// Returns the image files of the pages, in page order.
fn pages(def: &str) -> Result<Vec<String>, String> {
    let mut pages: Vec<(u32, String)> = Vec::new();
    for line in def.lines() {
        let Some(rest) = line.trim().strip_prefix("page").filter(|rest| rest.starts_with([' ', '\t'])) else {
            continue;
        };
        let (mut id, mut file) = (None, None);
        for (key, value) in attributes(rest) {
            match key {
                "id" => id = value.parse().ok(),
                "file" => file = Some(value.to_owned()),
                _ => {}
            }
        }
        let (Some(id), Some(file)) = (id, file) else {
            return Err(format!("a page has no id or no file: {line}"));
        };
        pages.push((id, file));
    }
    pages.sort();
    if pages.is_empty() {
        return Err(
            "the file has no pages: it is not an AngelCode font definition, or a damaged one".to_owned()
        );
    }
    if !pages.iter().enumerate().all(|(n, (id, _))| n as u32 == *id) {
        return Err("the pages of the font are not numbered from 0".to_owned());
    }
    Ok(pages.into_iter().map(|(_, file)| file).collect())
}

/// Parses `key=value` pairs; a quoted value may contain blanks.
fn attributes(mut text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    while let Some((key, rest)) = text.split_once('=') {
        let value;
        (value, text) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        found.push((key.trim(), value));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_pages_in_order() {
        let def = "info face=\"a b\" size=3\ncommon pages=2\npage id=1 file=\"b c.png\"\npage id=0 file=a.png\nchar id=65";
        assert_eq!(pages(def), Ok(vec!["a.png".to_owned(), "b c.png".to_owned()]));
        assert!(pages("page id=1 file=\"a.png\"").is_err());
        assert!(pages("<font/>").is_err());
        assert!(pages("page file=\"a.png\"").is_err());
    }
}
