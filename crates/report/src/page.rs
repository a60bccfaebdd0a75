//! The HTML page: a constant template filled with style, script, data and blobs.
//!
//! The content security policy allows the script and the style by hash. Markup in a name, should it ever get
//! past the escaping, could neither run a script nor load anything.

use crate::previous::DATA;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kiln_engine::Json;
use sha2::{Digest, Sha256};

const HTML: &str = include_str!("../web/report.html");
const CSS: &str = include_str!("../web/report.css");
/// The scripts, in dependency order.
const JS: [&str; 7] = [
    include_str!("../web/formats.js"),
    include_str!("../web/image.js"),
    include_str!("../web/viewer.js"),
    include_str!("../web/data.js"),
    include_str!("../web/fonts.js"),
    include_str!("../web/panels.js"),
    include_str!("../web/report.js"),
];

/// Binary blobs, embedded as base64 and addressed by ID.
#[derive(Default)]
pub(crate) struct Blobs {
    html: String,
    count: usize,
}

impl Blobs {
    /// Adds a blob and returns its ID.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> usize {
        self.html += &format!("<script type=\"text/plain\" id=\"b{}\">", self.count);
        BASE64_STANDARD.encode_string(bytes, &mut self.html);
        self.html += "</script>\n";
        self.count += 1;
        self.count - 1
    }
}

/// Renders the whole page.
pub(crate) fn page(title: &str, data: &Json, blobs: Blobs, has_tiles: bool) -> String {
    let script = format!("\"use strict\";\n(() => {{\n{}}})();\n", JS.concat());
    // Images beside the page: 'self' for a server, file: for a page on disk.
    let beside = if has_tiles { " 'self' file:" } else { "" };
    let policy = format!(
        "default-src 'none'; img-src blob: data:{beside}; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        source(CSS),
        source(&script)
    );
    let data = format!("{}{}{}", DATA[0], escape_json(data), DATA[1]);
    let mut out =
        String::with_capacity(HTML.len() + script.len() + CSS.len() + data.len() + blobs.html.len());
    // A single pass over the template: inserted text is not scanned again.
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

/// Serialises the data without any character that could end a script or start markup. JSON has none of them
/// outside its strings.
fn escape_json(data: &Json) -> String {
    let mut out = String::new();
    for c in data.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\'' | '\u{2028}' | '\u{2029}' => out += &format!("\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out
}

/// Returns the hash source of a script or a style for the content security policy.
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
    fn script_and_style_cannot_close_their_elements() {
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
    fn escapes_data() {
        let data = Json::object([("<!--", "</script>&amp; it's\u{2028}\u{2029}\"\\\n".into())]);
        let text = escape_json(&data);
        assert!(!text.contains(['<', '>', '&', '\'', '\u{2028}', '\u{2029}', '\n']), "{text}");
        assert_eq!(Json::parse(&text), Ok(data));
    }

    #[test]
    fn escapes_title() {
        let page = page("</title><script>{{data}}", &Json::Null, Blobs::default(), false);
        assert!(page.contains("&lt;/title&gt;&lt;script&gt;{{data}}"));
        assert_eq!(page.matches("<title>").count(), 1);
    }
}
