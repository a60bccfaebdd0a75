//! The HTTP cache protocol of Bazel, which nginx, bazel-remote, BuildBuddy and others speak: `GET`, `PUT` and `HEAD` of
//! `/ac/<key>` and `/cas/<digest>`.
//!
//! The client is ours and small because its time is what counts: every wait, from the name lookup to the last byte,
//! draws on the [`Patience`] of its request, and a body is never read beyond what was asked for. It follows no
//! redirections, decodes no encodings and keeps connections open for the next request.

use super::address::Address;
use super::patience::Patience;
use super::wire::{Tls, Wire};
use super::{Fault, Name, Remote};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The longest head of a response.
const LONGEST_HEAD: usize = 32 << 10;

/// The longest body that is read only to use the connection again.
const LONGEST_REST: u64 = 64 << 10;

/// Connections that are kept open.
const IDLE: usize = 16;

/// How much is sent or received at a time.
const PIECE: usize = 64 << 10;

/// Who one is to the server. Nothing shows it: it has no `Debug`, and it is in no message.
#[derive(Clone)]
pub struct Credentials(String);

impl Credentials {
    /// A token, as `Authorization: Bearer` has it.
    pub fn token(token: &str) -> Option<Credentials> {
        Credentials::checked(format!("Bearer {token}"))
    }

    /// A user and a password, as `Authorization: Basic` has them.
    pub fn user(user: &str, password: &str) -> Option<Credentials> {
        Credentials::checked(format!("Basic {}", base64(format!("{user}:{password}").as_bytes())))
    }

    fn checked(value: String) -> Option<Credentials> {
        value.bytes().all(|b| (0x20..0x7f).contains(&b)).then_some(Credentials(value))
    }
}

/// A server that speaks the protocol.
pub struct Http {
    address: Address,
    credentials: Option<Credentials>,
    tls: Tls,
    found: OnceLock<Vec<SocketAddr>>,
    idle: Mutex<Vec<Wire>>,
}

/// The head of a response.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    length: Length,
    keep: bool,
}

/// How long a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Known(u64),
    Chunked,
    UntilClosed,
}

impl Http {
    /// A server at an address. Nothing is sent yet.
    pub fn new(address: Address, credentials: Option<Credentials>) -> Http {
        Http { address, credentials, tls: Tls::default(), found: OnceLock::new(), idle: Mutex::default() }
    }

    /// Sends a request and reads the response; a body of at most `limit` bytes with status 200, else only the status.
    fn ask(
        &self,
        method: &str,
        name: Name,
        body: &[u8],
        limit: u64,
        mut patience: Patience,
    ) -> Result<(u16, Vec<u8>), Fault> {
        let (kind, hash) = (name.kind(), name.hash());
        let authorization = match &self.credentials {
            Some(Credentials(value)) => format!("Authorization: {value}\r\n"),
            None => String::new(),
        };
        let length = match method {
            "PUT" => format!("Content-Type: application/octet-stream\r\nContent-Length: {}\r\n", body.len()),
            _ => String::new(),
        };
        let head = format!(
            "{method} {}/{kind}/{hash} HTTP/1.1\r\nHost: {}\r\nUser-Agent: kiln\r\nAccept: */*\r\n{authorization}{length}\r\n",
            self.address.path,
            self.address.authority(),
        );
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let reused = kept.is_some();
        let mut wire = match kept {
            Some(wire) => wire,
            None => self.connect(&mut patience)?,
        };
        let mut sent = send(&mut wire, head.as_bytes(), body, &mut patience);
        let mut first = sent.and_then(|()| read_head(&mut wire, &mut patience));
        if reused && matches!(&first, Err(Fault::Broken(_))) {
            // The server closed a connection that it had kept open; that says nothing about the next one.
            wire = self.connect(&mut patience)?;
            sent = send(&mut wire, head.as_bytes(), body, &mut patience);
            first = sent.and_then(|()| read_head(&mut wire, &mut patience));
        }
        let mut head = first?;
        if method == "HEAD" || matches!(head.status, 204 | 304) {
            head.length = Length::Known(0);
        }
        if head.status != 200 || method != "GET" {
            // Small bodies of errors are read so that the connection can be used again.
            if read_body(&mut wire, head.length, LONGEST_REST, &mut patience).is_ok() {
                self.keep(wire, &head);
            }
            return Ok((head.status, vec![]));
        }
        let bytes = read_body(&mut wire, head.length, limit, &mut patience)?;
        self.keep(wire, &head);
        Ok((head.status, bytes))
    }

    fn keep(&self, wire: Wire, head: &Head) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if head.keep && head.length != Length::UntilClosed && wire.is_clear() && idle.len() < IDLE {
            idle.push(wire);
        }
    }

    fn connect(&self, patience: &mut Patience) -> Result<Wire, Fault> {
        let addresses = match self.found.get() {
            Some(found) => found,
            None => {
                let found = self.look_up(patience)?;
                self.found.get_or_init(|| found)
            }
        };
        let mut last = Fault::Unreachable("its name leads nowhere".to_owned());
        for address in addresses {
            let until = patience.until().ok_or(Fault::Slow)?;
            match Wire::connect(address, &self.address, &self.tls, until) {
                Ok(wire) => return Ok(wire),
                Err(fault) => last = fault,
            }
        }
        Err(last)
    }

    /// Looks the name up on a thread of its own: the system's lookup cannot be given a limit.
    fn look_up(&self, patience: &mut Patience) -> Result<Vec<SocketAddr>, Fault> {
        let until = patience.until().ok_or(Fault::Slow)?;
        let (tell, told) = mpsc::channel();
        let name = (self.address.host.clone(), self.address.port);
        let started = std::thread::Builder::new().name("kiln-lookup".to_owned()).spawn(move || {
            let _ = tell.send(name.to_socket_addrs().map(Vec::from_iter));
        });
        started.map_err(|e| Fault::Unreachable(e.to_string()))?;
        match told.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(found) => found.map_err(|e| Fault::Unreachable(e.to_string())),
            Err(_) => Err(Fault::Slow),
        }
    }
}

impl Remote for Http {
    fn get(&self, name: Name, limit: u64, worth: Duration) -> Result<Option<Vec<u8>>, Fault> {
        match self.ask("GET", name, &[], limit, Patience::new(limit, worth))? {
            (200, bytes) => Ok(Some(bytes)),
            (404 | 410, _) => Ok(None),
            (status, _) => Err(Fault::Status(status)),
        }
    }

    fn has(&self, name: Name) -> Result<bool, Fault> {
        match self.ask("HEAD", name, &[], 0, Patience::new(0, Duration::ZERO))?.0 {
            200 | 204 => Ok(true),
            404 | 410 => Ok(false),
            status => Err(Fault::Status(status)),
        }
    }

    fn put(&self, name: Name, bytes: &[u8]) -> Result<(), Fault> {
        let patience = Patience::new(bytes.len() as u64, Duration::ZERO);
        match self.ask("PUT", name, bytes, 0, patience)?.0 {
            200..=299 => Ok(()),
            status => Err(Fault::Status(status)),
        }
    }

    fn name(&self) -> String {
        self.address.to_string()
    }
}

fn send(wire: &mut Wire, head: &[u8], body: &[u8], patience: &mut Patience) -> Result<(), Fault> {
    for piece in std::iter::once(head).chain(body.chunks(PIECE)) {
        wire.write_all(piece, patience.until().ok_or(Fault::Slow)?)?;
        patience.earn(piece.len());
    }
    wire.flush(patience.until().ok_or(Fault::Slow)?)
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
    let mut head = Head { status, length: Length::UntilClosed, keep: version == "HTTP/1.1" };
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
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
            if !take(wire, len, &mut bytes, patience)? {
                return Err(Fault::Broken(SHORT.to_owned()));
            }
        }
        Length::UntilClosed => {
            if take(wire, limit + 1, &mut bytes, patience)? {
                return Err(LONG);
            }
        }
        Length::Chunked => loop {
            let line = read_line(wire, patience)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size =
                u64::from_str_radix(size, 16).map_err(|_| Fault::Garbled("its response is not HTTP"))?;
            if size == 0 {
                // Trailers, up to an empty line.
                while !read_line(wire, patience)?.is_empty() {}
                break;
            }
            if size > limit.saturating_sub(bytes.len() as u64) {
                return Err(LONG);
            }
            if !take(wire, size, &mut bytes, patience)? {
                return Err(Fault::Broken(SHORT.to_owned()));
            }
            if !read_line(wire, patience)?.is_empty() {
                return Err(Fault::Garbled("its response is not HTTP"));
            }
        },
    }
    Ok(bytes)
}

/// Takes `len` bytes; `false` when the connection ends before.
fn take(wire: &mut Wire, len: u64, bytes: &mut Vec<u8>, patience: &mut Patience) -> Result<bool, Fault> {
    let mut left = len;
    while left > 0 {
        if wire.ahead().is_empty() {
            let got = wire.more(patience.until().ok_or(Fault::Slow)?)?;
            patience.earn(got);
            if got == 0 {
                return Ok(false);
            }
        }
        let n = usize::try_from(left).unwrap_or(usize::MAX).min(wire.ahead().len());
        bytes.extend_from_slice(&wire.ahead()[..n]);
        wire.skip(n);
        left -= n as u64;
    }
    Ok(true)
}

fn read_line(wire: &mut Wire, patience: &mut Patience) -> Result<String, Fault> {
    loop {
        if let Some(at) = wire.ahead().windows(2).position(|two| two == b"\r\n") {
            let line = String::from_utf8_lossy(&wire.ahead()[..at]).into_owned();
            wire.skip(at + 2);
            return Ok(line);
        }
        if wire.ahead().len() > LONGEST_HEAD {
            return Err(Fault::Garbled("its response is not HTTP"));
        }
        if wire.more(patience.until().ok_or(Fault::Slow)?)? == 0 {
            return Err(Fault::Broken("it closed the connection in the middle".to_owned()));
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let value = (0..3).fold(0u32, |value, n| value << 8 | u32::from(group.get(n).copied().unwrap_or(0)));
        for n in 0..4 {
            let digit = DIGITS[(value >> (18 - 6 * n)) as usize & 63];
            text.push(if n <= group.len() { digit.into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let read = |text: &str| parse_head(format!("{text}\r\n\r\n").as_bytes());
        let head = |status, length, keep| Some(Head { status, length, keep });
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
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        let check = |text: &str, expected| assert_eq!(base64(text.as_bytes()), expected);
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foo", "Zm9v");
        check("foobar", "Zm9vYmFy");
    }

    #[test]
    fn credentials_cannot_add_headers() {
        assert!(Credentials::token("ok").is_some());
        assert!(Credentials::token("a\r\nHost: b").is_none());
    }
}
