//! An older report, read back: which files it was about, and what became of them.
//!
//! Only the data that a report carries is looked at, never its markup. Refuses pages without such data, data that is
//! not JSON, other versions, and files without a path or a size.

use kiln_engine::json::{Fault, Json};
use std::collections::BTreeMap;
use std::fmt;

/// The version of the data in a report.
pub(crate) const VERSION: u64 = 1;
/// What stands before the data in a report, and what stands after it.
pub(crate) const DATA: [&str; 2] = ["<script type=\"application/json\" id=\"kiln-report\">", "</script>"];

/// The files of an older report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Since {
    /// What it called itself.
    pub(crate) title: String,
    /// Its files by path.
    pub(crate) files: BTreeMap<String, Old>,
}

/// A file of an older report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Old {
    pub(crate) size: u64,
    /// Of its content, if it could be read.
    pub(crate) hash: Option<String>,
    pub(crate) ext: String,
}

/// Why a page is no report to compare with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SinceError {
    /// There is no data of a report in it.
    NoData,
    /// The data is not JSON.
    Syntax {
        /// Bytes from the start of the page.
        at: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// It is of another version.
    Version(Option<u64>),
    /// A file has no path, no size, or a path that is there twice.
    File(usize),
}

impl fmt::Display for SinceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SinceError::NoData => f.write_str("it is no report: it carries no data of one"),
            SinceError::Syntax { at, why } => write!(f, "its data is damaged at byte {at}: {why}"),
            SinceError::Version(Some(found)) => write!(f, "its data is of version {found}, not {VERSION}"),
            SinceError::Version(None) => write!(f, "its data has no version"),
            SinceError::File(n) => {
                write!(f, "its data is damaged: file {n} has no size, or no path of its own")
            }
        }
    }
}

impl std::error::Error for SinceError {}

impl Since {
    /// Reads the data out of the page that a report is.
    pub fn read(html: &str) -> Result<Since, SinceError> {
        let start = html.find(DATA[0]).ok_or(SinceError::NoData)? + DATA[0].len();
        let text = &html[start..];
        let text = &text[..text.find(DATA[1]).ok_or(SinceError::NoData)?];
        let syntax = |fault: Fault| SinceError::Syntax { at: start + fault.at, why: fault.why };
        let data = Json::parse(text).map_err(syntax)?;
        let version = data.get("kiln_report").and_then(Json::number);
        if version != Some(VERSION) {
            return Err(SinceError::Version(version));
        }
        let title = data.get("title").and_then(Json::text).unwrap_or_default().to_owned();
        let mut since = Since { title, files: BTreeMap::new() };
        for (n, file) in data.get("files").and_then(Json::items).unwrap_or_default().iter().enumerate() {
            let text = |name: &str| file.get(name).and_then(Json::text).map(str::to_owned);
            let path = text("path").ok_or(SinceError::File(n))?;
            let size = file.get("size").and_then(Json::number).ok_or(SinceError::File(n))?;
            let old = Old { size, hash: text("hash"), ext: text("ext").unwrap_or_default() };
            if since.files.insert(path, old).is_some() {
                return Err(SinceError::File(n));
            }
        }
        Ok(since)
    }

    /// The size of everything.
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
    fn what_is_read_and_what_is_not() {
        let good = r#"{"kiln_report":1,"title":"t","files":[{"path":"a","size":7,"hash":"x","more":[]}]}"#;
        let since = Since::read(&page(good)).unwrap();
        assert_eq!((since.title.as_str(), since.size()), ("t", 7));
        assert_eq!(since.files["a"].hash.as_deref(), Some("x"));

        assert_eq!(Since::read(""), Err(SinceError::NoData));
        assert_eq!(Since::read(DATA[0]), Err(SinceError::NoData));
        assert_eq!(Since::read(&page("{}")), Err(SinceError::Version(None)));
        assert_eq!(Since::read(&page(r#"{"kiln_report":2}"#)), Err(SinceError::Version(Some(2))));
        assert!(matches!(Since::read(&page("{")), Err(SinceError::Syntax { .. })));
        let twice = r#"{"kiln_report":1,"files":[{"path":"a","size":7},{"path":"a","size":7}]}"#;
        assert_eq!(Since::read(&page(twice)), Err(SinceError::File(1)));
        let less = r#"{"kiln_report":1,"files":[{"path":"a","size":-7}]}"#;
        assert_eq!(Since::read(&page(less)), Err(SinceError::File(0)));
    }

    #[test]
    fn every_cut_is_an_error() {
        let whole = page(r#"{"kiln_report":1,"title":"ü","files":[{"path":"a","size":7}]}"#);
        let end = whole.rfind("</script>").unwrap() + "</script>".len();
        for cut in (0..end).filter(|cut| whole.is_char_boundary(*cut)) {
            assert!(Since::read(&whole[..cut]).is_err(), "{cut}");
        }
        assert!(Since::read(&whole[..end]).is_ok());
    }
}
