//! URIs of a document into bytes: `data:` inline, everything else a file of the project.
//!
//! Names are percent-decoded and looked for beside the document. Nothing outside the root of the project is opened,
//! whatever the document says: [`Files`] sees to that, in any spelling, and every scheme but `data:` is refused
//! by name, before a file system is asked.

use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use base64::{DecodeError, Engine};
use kiln_engine::{Code, Diag};

use super::at::At;
use crate::excerpt;
use crate::files::{Files, Sought};

/// What a URI stands for.
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    /// The path of the file, or empty when the bytes stand in the document.
    pub(super) path: String,
    /// The media type that the URI states, or empty.
    pub(super) media: String,
}

/// The bytes that the URI at a place stands for.
pub(super) fn fetch(at: At<'_>, files: &mut Files<'_, '_>) -> Result<Content, Diag> {
    let uri = at.text()?;
    if let Some(rest) = strip_scheme(uri, "data") {
        let (media, bytes) = inline(rest)
            .map_err(|why| at.fault(Code::GltfUri, format_args!("the data URI is broken: {why}")))?;
        return Ok(Content { bytes, path: String::new(), media: media.to_owned() });
    }
    let refuse = |why: String| {
        at.fault(Code::GltfUri, format_args!("{} is refused: {why}", excerpt(uri)))
            .hint("refer to a file inside the project by a path relative to this one")
    };
    if let Some((scheme, _)) = uri.split_once(':')
        && !scheme.contains(['/', '\\'])
    {
        return Err(refuse(format!("{:?} does not name a file of the project", format!("{scheme}:"))));
    }
    let plain = uri.replace('\\', "/");
    let decoded = String::from_utf8(percent_decode(&plain))
        .map_err(|_| refuse("its percent-encoded bytes are not UTF-8".to_owned()))?;
    let mut sought = files.seek(&decoded)?;
    // Some exporters write names as they are, percent signs and all.
    if let (Sought::Missing(_), true) = (&sought, decoded != plain)
        && let found @ Sought::Found(..) = files.seek(&plain)?
    {
        sought = found;
    }
    match sought {
        Sought::Found(path, bytes) => Ok(Content { bytes, path: path.to_string(), media: String::new() }),
        Sought::Refused(why) => Err(refuse(why)),
        Sought::Missing(path) => Err(at
            .fault(Code::FileMissing, format_args!("it refers to {path}, and there is no such file"))
            .hint("names are case-sensitive; copy the file there, or export the model as one .glb")),
    }
}

fn strip_scheme<'a>(uri: &'a str, scheme: &str) -> Option<&'a str> {
    let (found, rest) = uri.split_once(':')?;
    found.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// The media type and the bytes of what follows `data:` (RFC 2397).
fn inline(rest: &str) -> Result<(&str, Vec<u8>), String> {
    let (head, body) = rest.split_once(',').ok_or("it has no comma")?;
    let media = head.split(';').next().unwrap_or_default();
    let is_base64 = head.rsplit(';').next().is_some_and(|last| last.eq_ignore_ascii_case("base64"));
    let bytes = match (is_base64, body.contains('%')) {
        (true, false) => base64(body.as_bytes())?,
        (true, true) => base64(&percent_decode(body))?,
        (false, _) => percent_decode(body),
    };
    Ok((media, bytes))
}

/// Bytes with `%41` turned into `A`; a percent sign that no two hexadecimal digits follow stays.
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
        DecodeError::InvalidByte(at, byte) => format!("{:?} at {at} is not base64", char::from(byte)),
        _ => "it ends in the middle of a byte".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;
    use kiln_engine::mem::Mem;
    use kiln_engine::{Fs, Inputs, RelPath, SourceTree};

    /// What a URI in `models/a/x.gltf` gives, and which files were read for it.
    fn fetch(files: &[&str], uri: &str) -> (Result<Content, Diag>, Vec<String>) {
        let src = Mem::new();
        for file in files {
            src.put(file, file.as_bytes());
        }
        let tree = src.walk(None).unwrap();
        let source = RelPath::new("models/a/x.gltf").unwrap();
        let mut cx = Inputs::new(SourceTree { fs: &src, tree: &tree });
        let json = json::Json::String(uri.into());
        let mut files = Files::beside(&mut cx, &source);
        let found = super::fetch(At::new(&json), &mut files);
        (found, src.take_reads())
    }

    fn opens(file: &str, uri: &str) {
        let (found, reads) = fetch(&[file], uri);
        let content = found.unwrap_or_else(|error| panic!("{uri}: {error}"));
        assert_eq!((content.path.as_str(), content.bytes.as_slice()), (file, file.as_bytes()), "{uri}");
        assert_eq!(reads, [file]);
    }

    #[test]
    fn files_of_the_project_are_opened() {
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
    fn nothing_else_is_even_looked_for() {
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
            let (found, reads) = fetch(&["b.bin", "models/a/b.bin"], uri);
            let error = found.err().unwrap_or_else(|| panic!("{uri} is opened"));
            assert_eq!(error.code, Code::GltfUri, "{uri}: {error}");
            assert!(reads.is_empty(), "{uri} reads {reads:?}");
        }
    }

    #[test]
    fn what_is_not_there_is_said_so() {
        let error = fetch(&[], "b%20c.bin").0.err().unwrap();
        assert_eq!(error.code, Code::FileMissing);
        assert!(error.message.contains("models/a/b c.bin"), "{error}");
        let src = Mem::new();
        src.put("b.bin", "version https://git-lfs.github.com/spec/v1\n");
        let tree = src.walk(None).unwrap();
        let source = RelPath::new("x.gltf").unwrap();
        let json = json::Json::String("b.bin".into());
        let mut cx = Inputs::new(SourceTree { fs: &src, tree: &tree });
        let error = super::fetch(At::new(&json), &mut Files::beside(&mut cx, &source)).err().unwrap();
        assert_eq!(
            (error.code.as_str(), error.path.as_deref().unwrap_or_default()),
            ("lfs-pointer", "b.bin")
        );
    }

    #[test]
    fn inline_data() {
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
    fn base64_has_the_vectors_of_its_document() {
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
