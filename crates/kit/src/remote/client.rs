//! A client of HTTP/1.1 for one server, small because its time is what counts: every wait, from the name lookup to the
//! last byte, draws on the [`Patience`] of its request, and a body is never read beyond what was asked for.
//!
//! It follows no redirections, decodes no encodings and keeps connections open for the next request.

use super::Fault;
use super::address::Address;
use super::patience::Patience;
use super::pool::Pool;
use super::wire::Wire;
use std::time::Duration;

/// The longest head of a response.
const LONGEST_HEAD: usize = 32 << 10;

/// The longest body of a response that is not a success: it is read only to use the connection again, or for its words.
pub(crate) const LONGEST_REST: u64 = 64 << 10;

/// A client of one server.
pub struct Client(Pool);

/// What is asked of a server.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// `GET`, `HEAD`, `PUT` or `POST`.
    pub method: &'a str,
    /// With a leading slash, and the query if there is one; nothing in it needs quoting any more.
    pub target: &'a str,
    /// Headers beside those of the connection and the body.
    pub headers: &'a [(&'a str, &'a str)],
    /// What is sent.
    pub body: &'a [u8],
    /// How many bytes the body of a success may have.
    pub limit: u64,
    /// About how long it is worth waiting for it.
    pub worth: Duration,
}

/// What a server answered.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body; empty if that of a failure was too long or broke off.
    pub body: Vec<u8>,
}

/// The head of a response.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    length: Length,
    keep: bool,
    headers: Vec<(String, String)>,
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Known(u64),
    Chunked,
    UntilClosed,
}

impl Client {
    /// A client of the server at an address, whose path does not matter. Nothing is sent yet.
    pub fn new(address: Address) -> Client {
        Client(Pool::new(address))
    }

    /// The address.
    pub fn address(&self) -> &Address {
        self.0.address()
    }

    /// Sends a request and reads the response.
    pub fn ask(&self, request: &Request<'_>) -> Result<Response, Fault> {
        let Request { method, body, limit, worth, .. } = *request;
        let mut patience = Patience::new(limit.max(body.len() as u64), worth);
        let text = self.head(request)?;
        let (mut head, mut wire) = self.0.on_wire(&mut patience, |wire, patience| {
            wire.send(text.as_bytes(), body, patience)?;
            read_head(wire, patience)
        })?;
        if method == "HEAD" || matches!(head.status, 204 | 304) {
            head.length = Length::Known(0);
        }
        let success = (200..300).contains(&head.status);
        let limit = if success { limit } else { LONGEST_REST };
        let read = match read_body(&mut wire, head.length, limit, &mut patience) {
            Err(fault) if success => return Err(fault),
            read => read.ok(),
        };
        if read.is_some() && head.keep && head.length != Length::UntilClosed {
            self.0.keep(wire);
        }
        Ok(Response { status: head.status, headers: head.headers, body: read.unwrap_or_default() })
    }

    fn head(&self, request: &Request<'_>) -> Result<String, Fault> {
        let Request { method, target, headers, body, .. } = *request;
        let mut head = format!("{method} {target} HTTP/1.1\r\n");
        let mut add = |name: &str, value: &str| {
            if value.bytes().any(|b| b < 0x20 || b == 0x7f) {
                return Err(Fault::Unreachable("a header would break the request".to_owned()));
            }
            head.extend([name, ": ", value, "\r\n"]);
            Ok(())
        };
        let given = |wanted: &str| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        if !given("Host") {
            add("Host", &self.address().authority())?;
        }
        if !given("User-Agent") {
            add("User-Agent", "kiln")?;
        }
        if !given("Accept") {
            add("Accept", "*/*")?;
        }
        if !given("Content-Length") && (!body.is_empty() || matches!(method, "PUT" | "POST")) {
            add("Content-Length", &body.len().to_string())?;
        }
        headers.iter().try_for_each(|(name, value)| add(name, value))?;
        Ok(head + "\r\n")
    }
}

fn read_head(wire: &mut Wire, patience: &mut Patience) -> Result<Head, Fault> {
    loop {
        let end = loop {
            if let Some(at) = wire.ahead().windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if wire.ahead().len() > LONGEST_HEAD {
                return Err(Fault::Garbled("the head of its response has no end"));
            }
            if wire.more(patience.until().ok_or(Fault::Slow)?)? == 0 {
                return Err(Fault::Broken("it closed the connection".to_owned()));
            }
        };
        let head = parse_head(&wire.ahead()[..end]).ok_or(Fault::Garbled("its response is not HTTP"))?;
        wire.skip(end);
        // An interim response; the one that counts follows.
        if !(100..200).contains(&head.status) {
            return Ok(head);
        }
    }
}

fn parse_head(bytes: &[u8]) -> Option<Head> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut lines = text.split("\r\n");
    let (version, rest) = lines.next()?.split_once(' ')?;
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") {
        return None;
    }
    let status = rest.get(..3).filter(|code| code.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()?;
    let keep = version == "HTTP/1.1";
    let mut head = Head { status, length: Length::UntilClosed, keep, headers: vec![] };
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            // Two lengths that differ are an old trick; two that agree are harmless.
            "content-length" => {
                let len: u64 = value.bytes().all(|b| b.is_ascii_digit()).then(|| value.parse().ok())??;
                head.length = match head.length {
                    Length::Known(other) if other != len => return None,
                    Length::Chunked => Length::Chunked,
                    _ => Length::Known(len),
                };
            }
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => head.length = Length::Chunked,
            "transfer-encoding" | "content-encoding" if !value.eq_ignore_ascii_case("identity") => {
                return None;
            }
            "connection" if value.eq_ignore_ascii_case("close") => head.keep = false,
            _ => {}
        }
        head.headers.push((name, value.to_owned()));
    }
    Some(head)
}

fn read_body(wire: &mut Wire, length: Length, limit: u64, patience: &mut Patience) -> Result<Vec<u8>, Fault> {
    const LONG: Fault = Fault::Garbled("it sends more than it should");
    const SHORT: &str = "it closed the connection in the middle";
    let mut bytes = Vec::new();
    match length {
        Length::Known(len) if len > limit => return Err(LONG),
        Length::Known(len) => {
            if !wire.take(len, &mut bytes, patience)? {
                return Err(Fault::Broken(SHORT.to_owned()));
            }
        }
        Length::UntilClosed => {
            if wire.take(limit + 1, &mut bytes, patience)? {
                return Err(LONG);
            }
        }
        Length::Chunked => loop {
            let line = wire.line(patience)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size =
                u64::from_str_radix(size, 16).map_err(|_| Fault::Garbled("its response is not HTTP"))?;
            if size == 0 {
                // Trailers, up to an empty line.
                while !wire.line(patience)?.is_empty() {}
                break;
            }
            if size > limit.saturating_sub(bytes.len() as u64) {
                return Err(LONG);
            }
            if !wire.take(size, &mut bytes, patience)? {
                return Err(Fault::Broken(SHORT.to_owned()));
            }
            if !wire.line(patience)?.is_empty() {
                return Err(Fault::Garbled("its response is not HTTP"));
            }
        },
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let parse = |text: &str| parse_head(format!("{text}\r\n\r\n").as_bytes());
        let read = |text: &str| parse(text).map(|head| (head.status, head.length, head.keep));
        let head = |status, length, keep| Some((status, length, keep));
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 12"), head(200, Length::Known(12), true));
        assert_eq!(read("HTTP/1.0 404 No"), head(404, Length::UntilClosed, false));
        assert_eq!(read("HTTP/1.1 200 \r\ntransfer-ENCODING: Chunked"), head(200, Length::Chunked, true));
        assert_eq!(
            read("HTTP/1.1 201 x\r\nConnection: close\r\ncontent-length:0"),
            head(201, Length::Known(0), false)
        );
        for bad in [
            "",
            "HTTP/2 200 OK",
            "HTTP/1.1 2x0 OK",
            "HTTP/1.1 20",
            "ICY 200 OK",
            "HTTP/1.1 200 OK\r\nContent-Length: -1",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip",
            "HTTP/1.1 200 OK\r\nno colon",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
        let headers = parse("HTTP/1.1 200 OK\r\nETag:  \"x\"\r\nX-Y: z").unwrap().headers;
        assert_eq!(headers, [("etag".to_owned(), "\"x\"".to_owned()), ("x-y".to_owned(), "z".to_owned())]);
    }

    #[test]
    fn no_value_breaks_out_of_its_header() {
        let client = Client::new(Address::parse("http://localhost", false).unwrap());
        let headers = [("Authorization", "a\r\nHost: b")];
        let request = Request {
            method: "GET",
            target: "/",
            headers: &headers,
            body: &[],
            limit: 0,
            worth: Duration::ZERO,
        };
        assert!(matches!(client.ask(&request), Err(Fault::Unreachable(_))));
    }
}
