//! JSON-RPC 2.0 over standard input and output, in the two framings that editors and assistants use: one message per line
//! (Model Context Protocol) and `Content-Length` headers (Language Server Protocol).
//!
//! Written by hand over the engine's JSON, for two servers that answer one request at a time with a dozen methods. Measured
//! as release builds from cold on two cores: `rmcp` with its asynchronous runtime is 75 crates and 62 s of CPU time,
//! `lsp-server` with `lsp-types` 19 crates and 24 s, while all of this executable takes 101 s.

use kiln_engine::Json;
use std::io::{self, BufRead, Read, Write};

/// The maximum size of a message, in bytes.
const MAX_MESSAGE: u64 = 64 << 20;

/// The codes of errors.
pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL_ERROR: i64 = -32603;

/// The framing of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// One message per line.
    Lines,
    /// A `Content-Length` header before each message.
    Headers,
}

/// A message of the client.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    /// The identifier; `None` for a notification.
    pub(super) id: Option<Json>,
    pub(super) method: String,
    pub(super) params: Json,
}

/// An error of a request: code and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
}

impl RpcError {
    pub(super) fn new(code: i64, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into() }
    }
}

/// Runs a server: passes each request and notification to `handle`, and writes its results, until the input ends or `handle`
/// returns `None`.
///
/// # Errors
/// If the input cannot be read or the output cannot be written.
pub(super) fn serve(
    framing: Framing,
    input: &mut impl BufRead,
    output: &mut impl Write,
    mut handle: impl FnMut(&Message) -> Option<Result<Json, RpcError>>,
) -> io::Result<()> {
    while let Some(text) = read(framing, input)? {
        if text.trim().is_empty() {
            continue;
        }
        let (id, result) = match parse(&text) {
            Err(error) => (Some(Json::Null), Some(Err(error))),
            // A response: the servers send no requests.
            Ok(None) => continue,
            Ok(Some(message)) => (message.id.clone(), handle(&message)),
        };
        let Some(result) = result else { return Ok(()) };
        if let Some(id) = id {
            write(framing, output, &response(id, result))?;
        }
    }
    Ok(())
}

/// Parses a message; `None` for a response.
fn parse(text: &str) -> Result<Option<Message>, RpcError> {
    let json = Json::parse(text).map_err(|error| {
        RpcError::new(PARSE_ERROR, format!("invalid JSON at byte {}: {}", error.at, error.why))
    })?;
    let Json::Object(_) = &json else {
        return Err(RpcError::new(INVALID_REQUEST, "expected an object"));
    };
    let Some(method) = json.get("method") else {
        let is_response = json.get("result").is_some() || json.get("error").is_some();
        return if is_response {
            Ok(None)
        } else {
            Err(RpcError::new(INVALID_REQUEST, "the request has no method"))
        };
    };
    let method =
        method.text().ok_or_else(|| RpcError::new(INVALID_REQUEST, "the method must be a string"))?;
    let params = json.get("params").cloned().unwrap_or(Json::Null);
    Ok(Some(Message { id: json.get("id").cloned(), method: method.to_owned(), params }))
}

fn response(id: Json, result: Result<Json, RpcError>) -> Json {
    let (name, value) = match result {
        Ok(result) => ("result", result),
        Err(RpcError { code, message }) => {
            ("error", Json::object([("code", Json::Float(code as f64)), ("message", message.into())]))
        }
    };
    Json::object([("jsonrpc", "2.0".into()), ("id", id), (name, value)])
}

/// Reads one message; `None` at the end of the input.
fn read(framing: Framing, input: &mut impl BufRead) -> io::Result<Option<String>> {
    let too_large = || io::Error::new(io::ErrorKind::InvalidData, "the message is too large");
    match framing {
        Framing::Lines => {
            let mut line = Vec::new();
            input.by_ref().take(MAX_MESSAGE).read_until(b'\n', &mut line)?;
            if line.len() as u64 >= MAX_MESSAGE {
                return Err(too_large());
            }
            Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()))
        }
        Framing::Headers => {
            let mut length = None;
            loop {
                let mut header = Vec::new();
                input.by_ref().take(4096).read_until(b'\n', &mut header)?;
                if header.is_empty() {
                    return Ok(None);
                }
                let header = String::from_utf8_lossy(&header).trim().to_ascii_lowercase();
                if header.is_empty() {
                    break;
                }
                if let Some(value) = header.strip_prefix("content-length:") {
                    length = value.trim().parse::<u64>().ok();
                }
            }
            let missing = || io::Error::new(io::ErrorKind::InvalidData, "the message has no Content-Length");
            let length = length.ok_or_else(missing)?;
            if length > MAX_MESSAGE {
                return Err(too_large());
            }
            let mut body = Vec::new();
            input.by_ref().take(length).read_to_end(&mut body)?;
            Ok((body.len() as u64 == length).then(|| String::from_utf8_lossy(&body).into_owned()))
        }
    }
}

fn write(framing: Framing, output: &mut impl Write, message: &Json) -> io::Result<()> {
    let text = message.to_string();
    match framing {
        Framing::Lines => writeln!(output, "{text}")?,
        Framing::Headers => write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?,
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(framing: Framing, input: &str) -> String {
        let mut output = Vec::new();
        let handle = |message: &Message| match &*message.method {
            "end" => None,
            "bad" => Some(Err(RpcError::new(METHOD_NOT_FOUND, "no"))),
            method => Some(Ok(method.into())),
        };
        serve(framing, &mut input.as_bytes(), &mut output, handle).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn answers_requests_and_not_notifications() {
        let input = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n\n{\"method\":\"note\"}\n{\"id\":\"x\",\"method\":\"bad\"}\n{\"id\":9,\"result\":{}}\nnonsense\n[]\n{\"id\":2}\n{\"id\":3,\"method\":\"end\"}\n{\"id\":4,\"method\":\"a\"}\n";
        let expected = [
            r#"{"jsonrpc":"2.0","id":1,"result":"a"}"#,
            r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}"#,
        ];
        let output = run(Framing::Lines, input);
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines[..2], expected);
        assert_eq!(lines.len(), 5, "{output}");
        assert!(lines[2].contains("-32700") && lines[3].contains("-32600") && lines[4].contains("-32600"));
    }

    #[test]
    fn reads_headers_and_ends_with_the_input() {
        let body = "{\"id\":1,\"method\":\"ü\"}";
        let input = format!(
            "Content-Type: x\r\ncontent-length: {}\r\n\r\n{body}Content-Length: 99\r\n\r\n{{",
            body.len()
        );
        let result = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"ü\"}";
        assert_eq!(
            run(Framing::Headers, &input),
            format!("Content-Length: {}\r\n\r\n{result}", result.len())
        );
        let mut output = Vec::new();
        let error = serve(
            Framing::Headers,
            &mut "Content-Length: 999999999999\r\n\r\n".as_bytes(),
            &mut output,
            |_| None,
        );
        assert!(error.is_err());
    }
}
