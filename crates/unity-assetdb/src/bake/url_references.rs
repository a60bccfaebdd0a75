//! References by path in style sheets and UI documents: `url("/Assets/a.png")`, `@import url("b.uss")`, `src="c.uxml"`,
//! `project://database/Assets/d.png`.
//!
//! Such a reference has no GUID, so that of its target is read from the `.meta` of the target. A file with references by path
//! is read by every bake, because its target can move without a trace in the file itself.

use super::dir::Root;
use crate::file_name::extension;
use crate::meta;
use memchr::memmem;
use std::io::Read;
use std::path::Path;

/// The maximum size of a file that is searched, in bytes.
pub(crate) const MAX_SIZE: u64 = 16 << 20;
/// The maximum length of a path in bytes.
const MAX_PATH: usize = 1024;
/// The maximum number of bytes of a `.meta` that are read for its GUID, which is in its second line.
const MAX_META: u64 = 4 << 10;

/// Returns whether files with this extension refer to others by path.
pub(crate) fn has_urls(name: &str) -> bool {
    let ext = extension(name);
    ["uss", "tss", "uxml"].iter().any(|known| ext.eq_ignore_ascii_case(known))
}

/// Returns the paths that a text refers to, relative to the project, with their lines. `folder` is that of the file.
pub(crate) fn paths(text: &[u8], folder: &str) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for (key, ends) in
        [(&b"url("[..], &b")"[..]), (&b"src=\""[..], &b"\""[..]), (&b"path=\""[..], &b"\""[..])]
    {
        for at in memmem::find_iter(text, key) {
            let rest = &text[at + key.len()..];
            let Some(end) = memmem::find(&rest[..rest.len().min(MAX_PATH)], ends) else { continue };
            if let Some(path) = std::str::from_utf8(&rest[..end]).ok().and_then(|url| path_of(url, folder)) {
                found.push((path, memchr::memchr_iter(b'\n', &text[..at]).count() as u32 + 1));
            }
        }
    }
    found.sort();
    found
}

/// Returns the path of a URL, relative to the project; `None` if it has a GUID or does not point into the project.
fn path_of(url: &str, folder: &str) -> Option<String> {
    let url = url.replace("&quot;", "").replace("&apos;", "").replace("&amp;", "&");
    let url = url.trim().trim_matches(['"', '\'']);
    if url.contains("guid=") {
        return None;
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let full = match path.strip_prefix("project://database/").or_else(|| path.strip_prefix("project:/")) {
        Some(path) => path.trim_start_matches('/').to_owned(),
        None if path.contains("://") || path.is_empty() => return None,
        None => match path.strip_prefix('/') {
            Some(path) => path.to_owned(),
            None => format!("{folder}/{path}"),
        },
    };
    let mut parts: Vec<&str> = Vec::new();
    let full = decode(&full);
    for part in full.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let inside = matches!(parts.first(), Some(&"Assets" | &"Packages")) && parts.len() > 1;
    inside.then(|| parts.join("/"))
}

/// Decodes `%20` and the like.
fn decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| bytes[at] == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the GUID of the asset at a path of the project.
pub(crate) fn guid_of(root: &Root, path: &str) -> Option<u128> {
    let path = Path::new(path);
    let (folder, name) = (path.parent()?.to_str()?, path.file_name()?.to_str()?);
    let (file, _) = root.dir(folder).ok()?.open(&format!("{name}.meta")).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_META).read_to_end(&mut bytes).ok()?;
    meta::parse(&bytes).guid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_project() {
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(path_of(url, "Assets/UI").as_deref(), expected, "{url}");
        };
        check("\"/Assets/a.png\"", Some("Assets/a.png"));
        check("'/Assets/Inter 18pt.asset'", Some("Assets/Inter 18pt.asset"));
        check("Styles/b.uss", Some("Assets/UI/Styles/b.uss"));
        check("../c%20d.uss", Some("Assets/c d.uss"));
        check("project://database/Assets/e.png#e", Some("Assets/e.png"));
        check("project:/Packages/p/f.uss", Some("Packages/p/f.uss"));
        check("&quot;project://database/Assets/g.png?fileID=1&amp;guid=0&amp;type=3&quot;", None);
        check("unity-theme://default", None);
        check("../../../../etc/passwd", None);
        check("/Library/x.uss", None);
        check("", None);
        check("%", Some("Assets/UI/%"));
    }

    #[test]
    fn finds_urls_and_attributes() {
        let text = b"@import url(\"b.uss\");\n.x { background-image: url('/Assets/a.png'); }\n<Style src=\"c.uss\"/>\nurl(";
        let expected = [("Assets/UI/b.uss", 1), ("Assets/UI/c.uss", 3), ("Assets/a.png", 2)];
        assert_eq!(paths(text, "Assets/UI"), expected.map(|(path, line)| (path.to_owned(), line)));
    }
}
