//! The `lsp` command: a Language Server Protocol server on standard input and output, for editors.
//!
//! Hover, go to definition, find references and document links on references in Unity's YAML, `.meta` files, assembly
//! definitions and on GUIDs in C# strings. Text of open documents comes from the editor. Positions are UTF-16, the default of
//! the protocol. The index is refreshed when a request comes more than two seconds after the last refresh.
//!
//! The loop is [`json_rpc`] and not `lsp-server`: that crate with `lsp-types` is 19 crates and 24 s of CPU time to compile
//! (release, cold), against 101 s for all of this executable, and the server has a dozen methods.

use super::json_rpc::{self, Framing, INTERNAL_ERROR, METHOD_NOT_FOUND, Message, RpcError};
use super::{Failure, Session};
use ::unity_assetdb::guid::{self, Guid};
use ::unity_assetdb::index::Index;
use ::unity_assetdb::query::annotate::label;
use ::unity_assetdb::query::inner::Inner;
use ::unity_assetdb::refs;
use kiln_cli::reporter::{FAILED, OK};
use kiln_engine::{Code, Diag, Json};
use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time after which the index is refreshed again.
const FRESH: Duration = Duration::from_secs(2);
/// The maximum size of a document, in bytes.
const MAX_DOCUMENT: u64 = 256 << 20;
/// The maximum number of links in one document, and of references in one answer.
const MAX_RESULTS: usize = 10_000;

pub(super) fn lsp(session: &Session) -> Result<u8, Failure> {
    session.keep_warm();
    let mut server = Server { session, root: None, index: None, open: HashMap::new(), shut_down: false };
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut exited = false;
    json_rpc::serve(Framing::Headers, &mut input, &mut output, |message| {
        if message.method == "exit" {
            exited = true;
            return None;
        }
        Some(server.request(message))
    })
    .map_err(|error| Diag::new(Code::Stdout, format!("the connection failed: {error}")))?;
    // As the protocol has it: 1 for an exit without a shutdown.
    Ok(if exited && !server.shut_down { FAILED } else { OK })
}

struct Server<'a> {
    session: &'a Session,
    /// The project, if the client named it.
    root: Option<PathBuf>,
    index: Option<(PathBuf, Index, Instant)>,
    /// The text of open documents by URI.
    open: HashMap<String, String>,
    shut_down: bool,
}

/// A reference in a document.
struct Found {
    guid: u128,
    file_id: i64,
    range: Range<usize>,
}

impl Server<'_> {
    fn request(&mut self, message: &Message) -> Result<Json, RpcError> {
        let params = &message.params;
        match &*message.method {
            "initialize" => {
                self.root = root_of(params);
                Ok(capabilities())
            }
            "shutdown" => {
                self.shut_down = true;
                Ok(Json::Null)
            }
            "textDocument/didOpen" => {
                let document = params.get("textDocument");
                let part = |name: &str| document.and_then(|document| document.get(name)).and_then(Json::text);
                if let (Some(uri), Some(text)) = (part("uri"), part("text")) {
                    self.open.insert(uri.to_owned(), text.to_owned());
                }
                Ok(Json::Null)
            }
            "textDocument/didChange" => {
                // The capability asks for whole documents.
                let text =
                    params.get("contentChanges").and_then(Json::items).and_then(|changes| changes.last());
                if let (Some(uri), Some(text)) =
                    (uri_of(params), text.and_then(|text| text.get("text")?.text()))
                {
                    self.open.insert(uri.to_owned(), text.to_owned());
                }
                Ok(Json::Null)
            }
            "textDocument/didClose" => {
                if let Some(uri) = uri_of(params) {
                    self.open.remove(uri);
                }
                Ok(Json::Null)
            }
            "textDocument/hover" => self.at_position(params, Self::hover),
            "textDocument/definition" => self.at_position(params, Self::definition),
            "textDocument/references" => self.at_position(params, Self::references),
            "textDocument/documentLink" => self.document_links(params).map_err(failed),
            method if message.id.is_none() || method.starts_with("$/") => Ok(Json::Null),
            method => Err(RpcError::new(METHOD_NOT_FOUND, format!("unknown method {method:?}"))),
        }
    }

    /// Opens the index, refreshed if it may be out of date.
    fn refresh(&mut self) -> Result<(), Failure> {
        let is_fresh = self.index.as_ref().is_some_and(|(_, _, at)| at.elapsed() < FRESH);
        if !is_fresh {
            let (root, index) = self.session.index_of(self.root.as_deref())?;
            self.index = Some((root, index, Instant::now()));
        }
        Ok(())
    }

    fn text(&self, uri: &str) -> Option<String> {
        if let Some(text) = self.open.get(uri) {
            return Some(text.clone());
        }
        let (root, ..) = self.index.as_ref()?;
        let path = path_of(uri)?;
        // Only files of the project are read.
        path.canonicalize().ok().filter(|path| path.starts_with(root))?;
        let mut bytes = Vec::new();
        kiln_engine::regular_file::open(&path).ok()?.take(MAX_DOCUMENT).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Answers a request about the reference at a position; `null` if there is none.
    fn at_position(
        &mut self,
        params: &Json,
        answer: impl Fn(&Self, &str, &Found) -> Result<Json, Failure>,
    ) -> Result<Json, RpcError> {
        let mut run = || -> Result<Json, Failure> {
            self.refresh()?;
            let Some(uri) = uri_of(params) else { return Ok(Json::Null) };
            let Some(text) = self.text(uri) else { return Ok(Json::Null) };
            let position = params.get("position");
            let number = |name: &str| position.and_then(|position| position.get(name)).and_then(Json::number);
            let (Some(line), Some(character)) = (number("line"), number("character")) else {
                return Ok(Json::Null);
            };
            let Some(offset) = offset_of(&text, line as usize, character as usize) else {
                return Ok(Json::Null);
            };
            let found = references_in(uri, &text);
            match found.iter().find(|found| found.range.contains(&offset) || found.range.end == offset) {
                Some(found) => answer(self, &text, found),
                None => Ok(Json::Null),
            }
        };
        run().map_err(failed)
    }

    fn project(&self) -> Option<(&Path, &Index)> {
        self.index.as_ref().map(|(root, index, _)| (&**root, index))
    }

    fn hover(&self, text: &str, found: &Found) -> Result<Json, Failure> {
        let Some((root, index)) = self.project() else { return Ok(Json::Null) };
        let Some(label) = label(index, &mut Inner::new(index, root), found.guid, found.file_id)? else {
            return Ok(Json::Null);
        };
        let uses = kiln_cli::render::count(index.uses(found.guid)?.len(), "reference", "references");
        let value = format!("{label}\n\n{uses} in the project, GUID {}", Guid(found.guid));
        // Plain text: names of objects are untrusted.
        let contents = Json::object([("kind", "plaintext".into()), ("value", value.into())]);
        Ok(Json::object([("contents", contents), ("range", range(text, &found.range))]))
    }

    fn definition(&self, _: &str, found: &Found) -> Result<Json, Failure> {
        let Some((root, index)) = self.project() else { return Ok(Json::Null) };
        let Some(entry) = index.find_by_guid(found.guid)? else { return Ok(Json::Null) };
        let path = root.join(entry.hint()?);
        let line = anchor_line(&path, found.file_id).unwrap_or(0);
        Ok(location(&path, line))
    }

    fn references(&self, _: &str, found: &Found) -> Result<Json, Failure> {
        let Some((root, index)) = self.project() else { return Ok(Json::Null) };
        let mut places = Vec::new();
        for (source, reference) in index.uses(found.guid)? {
            // A GUID without a fileID stands for the whole asset.
            if found.file_id != 0 && reference.file_id != found.file_id {
                continue;
            }
            let hint = source.hint()?;
            let path = if reference.in_meta { format!("{hint}.meta") } else { hint };
            places.push((path, reference.line));
        }
        places.sort();
        places.dedup();
        let locations = places
            .iter()
            .take(MAX_RESULTS)
            .map(|(path, line)| location(&root.join(path), line.saturating_sub(1) as usize));
        Ok(Json::list(locations))
    }

    fn document_links(&mut self, params: &Json) -> Result<Json, Failure> {
        self.refresh()?;
        let text = uri_of(params).and_then(|uri| Some((uri, self.text(uri)?)));
        let (Some((uri, text)), Some((root, index))) = (text, self.project()) else { return Ok(Json::Null) };
        let mut links = Vec::new();
        for found in references_in(uri, &text).into_iter().take(MAX_RESULTS) {
            if let Some(entry) = index.find_by_guid(found.guid)? {
                let hint = entry.hint()?;
                links.push(Json::object([
                    ("range", range(&text, &found.range)),
                    ("target", uri_of_path(&root.join(&hint)).into()),
                    ("tooltip", hint.into()),
                ]));
            }
        }
        Ok(Json::List(links))
    }
}

fn failed(failure: Failure) -> RpcError {
    let text: Vec<String> = failure.diags.iter().map(Diag::to_string).collect();
    RpcError::new(INTERNAL_ERROR, text.join("\n"))
}

fn capabilities() -> Json {
    let sync = Json::object([("openClose", true.into()), ("change", 1u32.into())]);
    let capabilities = Json::object([
        ("textDocumentSync", sync),
        ("hoverProvider", true.into()),
        ("definitionProvider", true.into()),
        ("referencesProvider", true.into()),
        ("documentLinkProvider", Json::object([("resolveProvider", false.into())])),
    ]);
    let info =
        Json::object([("name", "unity-assetdb".into()), ("version", env!("CARGO_PKG_VERSION").into())]);
    Json::object([("capabilities", capabilities), ("serverInfo", info)])
}

/// Returns the directory that the client opened.
fn root_of(params: &Json) -> Option<PathBuf> {
    let folder = params.get("workspaceFolders").and_then(Json::items).and_then(|folders| folders.first());
    let uri = folder.and_then(|folder| folder.get("uri")).or_else(|| params.get("rootUri"))?;
    path_of(uri.text()?)
}

fn uri_of(params: &Json) -> Option<&str> {
    params.get("textDocument")?.get("uri")?.text()
}

/// Returns the references of a document, by offset. In C#, every string of 32 hexadecimal digits counts.
fn references_in(uri: &str, text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    refs::scan(text.as_bytes(), 0, |each| {
        let range = each.span(text.as_bytes());
        found.push(Found { guid: each.guid, file_id: each.file_id, range });
    });
    if uri.ends_with(".cs") {
        for (at, _) in text.match_indices('"') {
            let digits = text.as_bytes().get(at + 1..at + 33);
            if let Some(digits) = digits
                && text.as_bytes().get(at + 33) == Some(&b'"')
                && let Some(guid) = std::str::from_utf8(digits).ok().and_then(guid::parse)
            {
                found.push(Found { guid, file_id: 0, range: at + 1..at + 33 });
            }
        }
    }
    found
}

/// Returns the line, counted from 0, of the object with a fileID in a file in Unity's YAML.
fn anchor_line(path: &Path, file_id: i64) -> Option<usize> {
    let mut text = Vec::new();
    kiln_engine::regular_file::open(path).ok()?.take(MAX_DOCUMENT).read_to_end(&mut text).ok()?;
    let anchor = format!("&{file_id}");
    let is_anchor = |line: &[u8]| {
        line.starts_with(b"--- !u!")
            && line.trim_ascii_end().split(|b| *b == b' ').any(|word| word == anchor.as_bytes())
    };
    text.split(|b| *b == b'\n').position(is_anchor)
}

/// Returns the byte offset of a position in UTF-16 units.
fn offset_of(text: &str, line: usize, character: usize) -> Option<usize> {
    let start = match line {
        0 => 0,
        line => text.match_indices('\n').nth(line - 1)?.0 + 1,
    };
    let mut units = 0;
    for (at, c) in text[start..].char_indices() {
        if units >= character || c == '\n' {
            return Some(start + at);
        }
        units += c.len_utf16();
    }
    Some(text.len())
}

fn position(text: &str, offset: usize) -> Json {
    let before = &text[..text.floor_char_boundary(offset)];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|b| *b == b'\n').count();
    let character: usize = before[start..].chars().map(char::len_utf16).sum();
    Json::object([("line", line.into()), ("character", character.into())])
}

fn range(text: &str, range: &Range<usize>) -> Json {
    Json::object([("start", position(text, range.start)), ("end", position(text, range.end))])
}

fn location(path: &Path, line: usize) -> Json {
    let start = Json::object([("line", line.into()), ("character", 0u32.into())]);
    let range = Json::object([("start", start.clone()), ("end", start)]);
    Json::object([("uri", uri_of_path(path).into()), ("range", range)])
}

/// Returns the path of a `file:` URI.
fn path_of(uri: &str) -> Option<PathBuf> {
    let encoded = uri.strip_prefix("file://")?;
    let mut bytes = Vec::new();
    let mut rest = encoded.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    let path = String::from_utf8(bytes).ok()?;
    // On Windows, `/C:/x` is a path with a drive.
    let drive = path.strip_prefix('/').filter(|path| path.as_bytes().get(1) == Some(&b':'));
    Some(PathBuf::from(drive.unwrap_or(&path)))
}

fn uri_of_path(path: &Path) -> String {
    let keep = |b: u8| b.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&b);
    let text = path.to_string_lossy().replace('\\', "/");
    let encoded: String =
        text.bytes().map(|b| if keep(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect();
    format!("file://{}{encoded}", if encoded.starts_with('/') { "" } else { "/" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_utf16() {
        let text = "a\nü😀x\n";
        assert_eq!(offset_of(text, 1, 3), Some(2 + 2 + 4));
        assert_eq!(offset_of(text, 1, 99), Some(2 + 2 + 4 + 1));
        assert_eq!(offset_of(text, 9, 0), None);
        assert_eq!(position(text, 8).to_string(), "{\"line\":1,\"character\":3}");
    }

    #[test]
    fn uris_and_paths() {
        let path = Path::new("/a b/ü#.mat");
        assert_eq!(uri_of_path(path), "file:///a%20b/%C3%BC%23.mat");
        assert_eq!(path_of("file:///a%20b/%C3%BC%23.mat").as_deref(), Some(path));
        assert_eq!(path_of("file:///C%3A/x").as_deref(), Some(Path::new("C:/x")));
        assert_eq!(path_of("untitled:1"), None);
    }
}
