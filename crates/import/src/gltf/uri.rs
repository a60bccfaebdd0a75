//! URIs of a document: `data:` URIs are decoded, relative ones are files of the project.
//!
//! Paths are percent-decoded and resolved relative to the document. Nothing outside the root of the project is opened:
//! [`Files`] rejects such paths in any spelling, and every scheme but `data:` is rejected before any file is looked up.

use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use base64::{DecodeError, Engine};
use kiln_diagnostics::{Code, Diag};

use super::value::Value;
use crate::excerpt;
use crate::files::{Files, Lookup};

/// The content that a URI refers to.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    /// The path of the file, or empty when the bytes are inline.
    pub(super) path: String,
    /// The media type of a data URI, or empty.
    pub(super) media: String,
}

/// Reads the bytes that a URI refers to.
pub(super) fn fetch(at: Value<'_>, files: &mut Files<'_>) -> Result<Content, Diag> {
    let uri = at.string()?;
    if let Some(rest) = strip_scheme(uri, "data") {
        let (media, bytes) = inline(rest)
            .map_err(|why| at.error(Code::GltfUri, format_args!("the data URI is invalid: {why}")))?;
        return Ok(Content { bytes, path: String::new(), media: media.to_owned() });
    }
    let reject = |why: String| {
        at.error(Code::GltfUri, format_args!("the URI {} is rejected: {why}", excerpt(uri)))
            .hint("use a path relative to this file, inside the project")
    };
    if let Some((scheme, _)) = uri.split_once(':')
        && !scheme.contains(['/', '\\'])
    {
        return Err(reject(format!(
            "the scheme {:?} does not refer to a file of the project",
            format!("{scheme}:")
        )));
    }
    let plain = uri.replace('\\', "/");
    let decoded = String::from_utf8(percent_decode(&plain))
        .map_err(|_| reject("the percent-encoded bytes are not UTF-8".to_owned()))?;
    let mut lookup = files.lookup(&decoded)?;
    // Some exporters do not percent-encode names that contain percent signs.
    if let (Lookup::Missing(_), true) = (&lookup, decoded != plain)
        && let found @ Lookup::Found(..) = files.lookup(&plain)?
    {
        lookup = found;
    }
    match lookup {
        Lookup::Found(path, bytes) => Ok(Content { bytes, path: path.to_string(), media: String::new() }),
        Lookup::Rejected(why) => Err(reject(why)),
        Lookup::Missing(path) => Err(at
            .error(Code::FileMissing, format_args!("the referenced file {path} does not exist"))
            .hint("copy the file there, or export the model as one .glb; file names are case-sensitive")),
    }
}

fn strip_scheme<'a>(uri: &'a str, scheme: &str) -> Option<&'a str> {
    let (found, rest) = uri.split_once(':')?;
    found.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Decodes the part of a URI after `data:` into its media type and bytes (RFC 2397).
fn inline(rest: &str) -> Result<(&str, Vec<u8>), String> {
    let (head, body) = rest.split_once(',').ok_or("the comma is missing")?;
    let media = head.split(';').next().unwrap_or_default();
    let is_base64 = head.rsplit(';').next().is_some_and(|last| last.eq_ignore_ascii_case("base64"));
    let bytes = match (is_base64, body.contains('%')) {
        (true, false) => base64(body.as_bytes())?,
        (true, true) => base64(&percent_decode(body))?,
        (false, _) => percent_decode(body),
    };
    Ok((media, bytes))
}

/// Decodes percent-encoding; a percent sign without two hexadecimal digits after it stays.
fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
        let (byte, length) = match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => ((high << 4 | low) as u8, 3),
            (byte, ..) => (byte, 1),
        };
        decoded.push(byte);
        at += length;
    }
    decoded
}

/// Decodes base64 (RFC 4648), in either alphabet, with or without padding.
fn base64(text: &[u8]) -> Result<Vec<u8>, String> {
    const ENGINE: GeneralPurpose =
        GeneralPurpose::new(&STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));
    let padding = text.iter().rev().take(2).take_while(|&&byte| byte == b'=').count();
    let standard = |byte: &u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    };
    let text: Vec<u8> = text[..text.len() - padding].iter().map(standard).collect();
    ENGINE.decode(text).map_err(|error| match error {
        DecodeError::InvalidByte(at, byte) => {
            format!("character {:?} at offset {at} is not base64", char::from(byte))
        }
        _ => "the base64 data ends in the middle of a byte".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;
    use crate::{MemoryFiles, Recorder};
    use kiln_diagnostics::RelPath;

    /// Fetches a URI of `models/a/x.gltf`; also returns the record of the files that were read for it.
    fn fetch(paths: &[&str], uri: &str) -> (Result<Content, Diag>, Recorder<MemoryFiles>) {
        let mut files = MemoryFiles::new();
        for path in paths {
            files.insert(path, *path).unwrap();
        }
        let mut recorder = Recorder::new(files);
        let source = RelPath::new("models/a/x.gltf").unwrap();
        let json = json::Json::String(uri.into());
        let found = super::fetch(Value::new(&json), &mut Files::beside(&mut recorder, &source));
        (found, recorder)
    }

    fn opens(file: &str, uri: &str) {
        let (found, recorder) = fetch(&[file], uri);
        let content = found.unwrap_or_else(|error| panic!("{uri}: {error}"));
        assert_eq!((content.path.as_str(), content.bytes.as_slice()), (file, file.as_bytes()), "{uri}");
        assert_eq!(recorder.files_read(), [RelPath::new(file).unwrap()]);
    }

    #[test]
    fn opens_files_of_the_project() {
        opens("models/a/b.bin", "b.bin");
        opens("models/a/b.bin", "./b.bin");
        opens("models/tex/b c.png", "../tex/b%20c.png");
        opens("models/tex/b c.png", "../tex/b c.png");
        opens("b.bin", "../../b.bin");
        opens("b.bin", "%2e%2E/..%2fb.bin");
        opens("models/a/tex/b.png", "tex\\b.png");
        opens("models/a/\u{e9}\u{4e16}.bin", "\u{e9}%E4%B8%96.bin");
        opens("models/a/100%.bin", "100%.bin");
        opens("models/a/b%20c.bin", "b%20c.bin");
        opens("models/a/what?x#y.bin", "what?x#y.bin");
    }

    #[test]
    fn rejects_other_uris_before_looking_up_files() {
        for uri in [
            "../../../b.bin",
            "..\\..\\..\\b.bin",
            "a/../../../../b.bin",
            "%2e%2e/%2E%2e/%2e%2e/b.bin",
            "..%2f..%2f..%2fb.bin",
            "/etc/passwd",
            "%2fetc/passwd",
            "\\\\server\\share\\b.bin",
            "//server/b.bin",
            "file:///etc/passwd",
            "FILE:b.bin",
            "http://example.com/b.bin",
            "https:b.bin",
            "C:\\b.bin",
            "C:/b.bin",
            "c%3a/b.bin",
            "a%5cb.bin",
            "b%00.bin",
            "b%0a.bin",
            "b%ff.bin",
            "",
        ] {
            let (found, recorder) = fetch(&["b.bin", "models/a/b.bin"], uri);
            let error = found.err().unwrap_or_else(|| panic!("{uri} is opened"));
            assert_eq!(error.code, Code::GltfUri, "{uri}: {error}");
            assert!(recorder.files_read().is_empty(), "{uri} reads {:?}", recorder.files_read());
            assert_eq!(recorder.files_missing().count(), 0, "{uri}");
        }
    }

    #[test]
    fn reports_missing_files_and_git_lfs_pointers() {
        let error = fetch(&[], "b%20c.bin").0.err().unwrap();
        assert_eq!(error.code, Code::FileMissing);
        assert!(error.message.contains("models/a/b c.bin"), "{error}");
        let mut files = MemoryFiles::new();
        files.insert("b.bin", "version https://git-lfs.github.com/spec/v1\n").unwrap();
        let source = RelPath::new("x.gltf").unwrap();
        let json = json::Json::String("b.bin".into());
        let error = super::fetch(Value::new(&json), &mut Files::beside(&mut files, &source)).err().unwrap();
        assert_eq!(
            (error.code.as_str(), error.path.as_deref().unwrap_or_default()),
            ("lfs-pointer", "b.bin")
        );
    }

    #[test]
    fn decodes_data_uris() {
        let data = |uri: &str| fetch(&[], uri).0.map(|c| (c.media, c.bytes));
        let plain = |media: &str, bytes: &[u8]| (media.to_owned(), bytes.to_vec());
        assert_eq!(data("data:image/png;base64,AAEC/w==").unwrap(), plain("image/png", &[0, 1, 2, 255]));
        assert_eq!(data("data:image/png;base64,AAEC_w").unwrap(), plain("image/png", &[0, 1, 2, 255]));
        assert_eq!(data("DATA:;Base64,aGk%3D").unwrap(), plain("", b"hi"));
        assert_eq!(
            data("data:application/octet-stream;x=y;base64,").unwrap(),
            plain("application/octet-stream", b"")
        );
        assert_eq!(data("data:text/plain,a%20b").unwrap(), plain("text/plain", b"a b"));
        for bad in ["data:", "data:;base64", "data:;base64,A", "data:;base64,AA*A", "data:;base64,AAAA=AAA"] {
            assert_eq!(data(bad).unwrap_err().code, Code::GltfUri, "{bad}");
        }
    }

    #[test]
    fn base64_decodes_the_rfc_4648_vectors() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(base64(text.as_bytes()).unwrap(), bytes.as_bytes());
        }
    }
}
