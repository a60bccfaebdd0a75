//! The page: a constant with the style, the script, the data and the blobs put in.
//!
//! The script and the style are allowed by their hashes. So markup that came in by way of a name, were it ever to get
//! past the escaping, could neither run a script nor load anything.

use crate::since::DATA;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kiln_engine::Json;
use sha2::{Digest, Sha256};

const HTML: &str = include_str!("../web/report.html");
const CSS: &str = include_str!("../web/report.css");
/// In the order in which they build on one another.
const JS: [&str; 7] = [
    include_str!("../web/formats.js"),
    include_str!("../web/picture.js"),
    include_str!("../web/viewer.js"),
    include_str!("../web/data.js"),
    include_str!("../web/fonts.js"),
    include_str!("../web/panels.js"),
    include_str!("../web/report.js"),
];

/// Bytes that the page holds as base64, each under its number.
#[derive(Default)]
pub(crate) struct Blobs {
    html: String,
    count: usize,
}

impl Blobs {
    /// Adds bytes, and gives the number that they are found under.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> usize {
        self.html += &format!("<script type=\"text/plain\" id=\"b{}\">", self.count);
        BASE64_STANDARD.encode_string(bytes, &mut self.html);
        self.html += "</script>\n";
        self.count += 1;
        self.count - 1
    }
}

/// The whole page.
pub(crate) fn page(title: &str, data: &Json, blobs: Blobs) -> String {
    let script = format!("\"use strict\";\n(() => {{\n{}}})();\n", JS.concat());
    let policy = format!(
        "default-src 'none'; img-src blob: data:; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        source(CSS),
        source(&script)
    );
    let data = format!("{}{}{}", DATA[0], harmless(data), DATA[1]);
    let mut out =
        String::with_capacity(HTML.len() + script.len() + CSS.len() + data.len() + blobs.html.len());
    // One walk over the constant: what is put in is not looked at again.
    let mut rest = HTML;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or_default();
        out += before;
        match name {
            "title" => escape(title, &mut out),
            "policy" => out += &policy,
            "style" => out += CSS,
            "data" => out += &data,
            "blobs" => out += &blobs.html,
            _ => out += &script,
        }
        rest = after;
    }
    out + rest
}

/// The data as text in which no character is left that could end a script or start markup. Outside of its texts JSON
/// has none of them.
fn harmless(data: &Json) -> String {
    let mut out = String::new();
    for c in data.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\'' | '\u{2028}' | '\u{2029}' => out += &format!("\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out
}

/// How a policy names a script or a style.
fn source(text: &str) -> String {
    let mut out = "sha256-".to_owned();
    BASE64_STANDARD.encode_string(Sha256::digest(text.as_bytes()), &mut out);
    out
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => *out += "&lt;",
            '>' => *out += "&gt;",
            '&' => *out += "&amp;",
            '"' => *out += "&quot;",
            '\'' => *out += "&#39;",
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_cannot_end_their_elements() {
        for text in JS {
            assert!(!text.contains("</script") && !text.contains("<!--"));
        }
        assert!(!CSS.contains("</style") && !CSS.contains("url(") && !CSS.contains("@import"));
        for word in [
            "http://",
            "https://",
            "//cdn",
            " src=",
            "eval(",
            "innerHTML",
            "insertAdjacent",
            "document.write",
        ] {
            assert!(!HTML.contains(word) && !JS.concat().contains(word), "{word}");
        }
        for name in ["title", "policy", "style", "data", "blobs", "script"] {
            assert!(HTML.contains(&format!("{{{{{name}}}}}")), "{name}");
        }
    }

    #[test]
    fn data_is_not_markup() {
        let data = Json::object([("<!--", "</script>&amp; it's\u{2028}\u{2029}\"\\\n".into())]);
        let text = harmless(&data);
        assert!(!text.contains(['<', '>', '&', '\'', '\u{2028}', '\u{2029}', '\n']), "{text}");
        assert_eq!(Json::parse(&text), Ok(data));
    }

    #[test]
    fn titles_are_text() {
        let page = page("</title><script>{{data}}", &Json::Null, Blobs::default());
        assert!(page.contains("&lt;/title&gt;&lt;script&gt;{{data}}"));
        assert_eq!(page.matches("<title>").count(), 1);
    }
}
