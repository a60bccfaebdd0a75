//! The previous report, read back: its files and their sizes and hashes.
//!
//! Only the JSON data of a report is read, never its markup. Rejects pages without such data, data that is
//! not JSON, other versions, and files without a path or a size.

use crate::tiles::is_tile_name;
use kiln_engine::json::{Json, JsonError};
use std::collections::BTreeMap;
use std::fmt;

/// The version of the data in a report.
pub(crate) const VERSION: u64 = 1;
/// The markup before and after the data in a report.
pub(crate) const DATA: [&str; 2] = ["<script type=\"application/json\" id=\"kiln-report\">", "</script>"];

/// The files of a previous report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreviousReport {
    /// The title of the previous report.
    pub(crate) title: String,
    /// The files by path.
    pub(crate) files: BTreeMap<String, PreviousFile>,
}

/// A file of the previous report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PreviousFile {
    pub(crate) size: u64,
    /// The hash of its contents, if it could be read.
    pub(crate) hash: Option<String>,
    pub(crate) ext: String,
    /// The URL of its tile, relative to the page.
    tile: Option<String>,
}

/// The reason why a page cannot be used as the previous report.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PreviousReportError {
    /// The page contains no report data.
    NoData,
    /// The data is not JSON.
    Syntax {
        /// Byte offset in the page.
        at: usize,
        /// The description of the syntax error.
        why: &'static str,
    },
    /// The data has another version.
    Version(Option<u64>),
    /// A file has no path, no size, or a duplicate path.
    File(usize),
}

impl fmt::Display for PreviousReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PreviousReportError::NoData => {
                f.write_str("the page is not a report: it contains no report data")
            }
            PreviousReportError::Syntax { at, why } => {
                write!(f, "the report data is not valid JSON at byte {at}: {why}")
            }
            PreviousReportError::Version(Some(found)) => {
                write!(f, "the report data has version {found}, expected version {VERSION}")
            }
            PreviousReportError::Version(None) => write!(f, "the report data has no version"),
            PreviousReportError::File(n) => {
                write!(f, "file {n} of the report data has no size, or its path is missing or a duplicate")
            }
        }
    }
}

impl std::error::Error for PreviousReportError {}

impl PreviousReport {
    /// Extracts the data from the HTML of a report.
    ///
    /// # Errors
    ///
    /// [`PreviousReportError`] if the page has no data, or if the data is not that of a report of this version.
    pub fn read(html: &str) -> Result<PreviousReport, PreviousReportError> {
        let start = html.find(DATA[0]).ok_or(PreviousReportError::NoData)? + DATA[0].len();
        let text = &html[start..];
        let text = &text[..text.find(DATA[1]).ok_or(PreviousReportError::NoData)?];
        let syntax = |fault: JsonError| PreviousReportError::Syntax { at: start + fault.at, why: fault.why };
        let data = Json::parse(text).map_err(syntax)?;
        let version = data.get("kiln_report").and_then(Json::number);
        if version != Some(VERSION) {
            return Err(PreviousReportError::Version(version));
        }
        let title = data.get("title").and_then(Json::text).unwrap_or_default().to_owned();
        let mut since = PreviousReport { title, files: BTreeMap::new() };
        for (n, file) in data.get("files").and_then(Json::items).unwrap_or_default().iter().enumerate() {
            let text = |name: &str| file.get(name).and_then(Json::text).map(str::to_owned);
            let path = text("path").ok_or(PreviousReportError::File(n))?;
            let size = file.get("size").and_then(Json::number).ok_or(PreviousReportError::File(n))?;
            let old = PreviousFile {
                size,
                hash: text("hash"),
                ext: text("ext").unwrap_or_default(),
                tile: text("tile"),
            };
            if since.files.insert(path, old).is_some() {
                return Err(PreviousReportError::File(n));
            }
        }
        Ok(since)
    }

    /// Returns the file names of the tiles that the page loads from this folder, a URL relative to the page.
    pub fn tiles(&self, folder: &str) -> impl Iterator<Item = &str> {
        let urls = self.files.values().filter_map(|file| file.tile.as_deref());
        urls.filter_map(move |url| url.strip_prefix(folder)?.strip_prefix('/'))
            .filter(|name| is_tile_name(name))
    }

    /// Returns the total size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.files.values().map(|old| old.size).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(data: &str) -> String {
        format!("<!doctype html><p>{}{data}{}<p>", DATA[0], DATA[1])
    }

    #[test]
    fn accepts_info_json_and_rejects_others() {
        let good = r#"{"kiln_report":1,"title":"t","files":[{"path":"a","size":7,"hash":"x","more":[]}]}"#;
        let since = PreviousReport::read(&page(good)).unwrap();
        assert_eq!((since.title.as_str(), since.size()), ("t", 7));
        assert_eq!(since.files["a"].hash.as_deref(), Some("x"));

        assert_eq!(PreviousReport::read(""), Err(PreviousReportError::NoData));
        assert_eq!(PreviousReport::read(DATA[0]), Err(PreviousReportError::NoData));
        assert_eq!(PreviousReport::read(&page("{}")), Err(PreviousReportError::Version(None)));
        assert_eq!(
            PreviousReport::read(&page(r#"{"kiln_report":2}"#)),
            Err(PreviousReportError::Version(Some(2)))
        );
        assert!(matches!(PreviousReport::read(&page("{")), Err(PreviousReportError::Syntax { .. })));
        let twice = r#"{"kiln_report":1,"files":[{"path":"a","size":7},{"path":"a","size":7}]}"#;
        assert_eq!(PreviousReport::read(&page(twice)), Err(PreviousReportError::File(1)));
        let less = r#"{"kiln_report":1,"files":[{"path":"a","size":-7}]}"#;
        assert_eq!(PreviousReport::read(&page(less)), Err(PreviousReportError::File(0)));
    }

    #[test]
    fn names_only_tiles_of_the_folder() {
        let data = r#"{"kiln_report":1,"files":[
            {"path":"a","size":7,"tile":"t/0123456789abcdef-1-1024-1.png"},
            {"path":"b","size":7,"tile":"t/../0123456789abcdef-1-1024-1.png"},
            {"path":"c","size":7,"tile":"u/0123456789abcdef-2-1024-1.png"},
            {"path":"d","size":7,"tile":"t/photo.png"},
            {"path":"e","size":7}]}"#;
        let since = PreviousReport::read(&page(data)).unwrap();
        assert_eq!(since.tiles("t").collect::<Vec<_>>(), ["0123456789abcdef-1-1024-1.png"]);
    }

    #[test]
    fn rejects_truncated_json() {
        let whole = page(r#"{"kiln_report":1,"title":"ü","files":[{"path":"a","size":7}]}"#);
        let end = whole.rfind("</script>").unwrap() + "</script>".len();
        for cut in (0..end).filter(|cut| whole.is_char_boundary(*cut)) {
            assert!(PreviousReport::read(&whole[..cut]).is_err(), "{cut}");
        }
        assert!(PreviousReport::read(&whole[..end]).is_ok());
    }
}
