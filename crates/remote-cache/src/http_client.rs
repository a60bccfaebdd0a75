//! The HTTP/1.1 client: `ureq` with the deadline budget of `connection.rs` below it.
//!
//! `ureq` brings proxies (CONNECT and SOCKS), client certificates, chunked and streamed bodies and the connection pool.
//! A request follows no redirects and decodes no encodings, and a response is never read beyond the limit of the
//! request. Bodies are streamed: the memory of a transfer is its buffers, whatever the length of the blob.
//!
//! `ureq` replaced an own client: the deadline budget is the only thing that available clients lack, and a transport below
//! TLS provides it. This file and `connection.rs` replaced 611 lines by 429, and the suite of injected faults
//! (`tests/store/faults.rs`) passes. The price is three small crates, and that `ureq` may change its transport traits
//! in a minor version, so the workspace accepts patch versions only.

use crate::budget::DeadlineBudget;
use crate::connection::{Exchange, chain};
use crate::options::ClientOptions;
use kiln_engine::remote::Address;
use kiln_engine::remote::Fault;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::sync::OnceLock;
use std::time::Duration;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::{Agent, AsSendBody, Error, SendBody, http};

/// The longest body of an error response in bytes: it is read to reuse the connection, and for its message.
pub(crate) const LONGEST_ERROR_BODY: u64 = 64 << 10;

/// The failure of an object that is longer than expected.
pub(crate) const TOO_LONG: Fault = Fault::Damaged("the object is longer than expected");

/// An HTTP client of one server.
pub struct Client {
    address: Address,
    options: ClientOptions,
    agent: OnceLock<Result<Agent, String>>,
}

/// An HTTP request.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// `GET`, `HEAD`, `PUT`, `POST` or `DELETE`.
    pub method: &'a str,
    /// The path with a leading slash, and the query if there is one, percent-encoded.
    pub target: &'a str,
    /// Headers beside those of the connection and the body.
    pub headers: &'a [(&'a str, &'a str)],
    /// The request body.
    pub body: RequestBody<'a>,
    /// The longest accepted body of a successful response, in bytes.
    pub limit: u64,
    /// The build time that the response saves: the transfer may take about that long.
    pub worth: Duration,
}

/// The body of a request.
#[derive(Clone, Copy)]
pub enum RequestBody<'a> {
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A file from its start, of this length.
    File(&'a File, u64),
}

impl RequestBody<'_> {
    fn len(&self) -> u64 {
        match self {
            RequestBody::Bytes(bytes) => bytes.len() as u64,
            RequestBody::File(_, len) => *len,
        }
    }
}

/// A response whose body has not been read yet.
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body; that of an error is in memory, and empty if it was too long or incomplete.
    pub body: ResponseBody,
}

/// The body of a response, as it arrives. Reading draws on the deadline budget of its request.
pub struct ResponseBody {
    source: Source,
    exchange: Exchange,
    left: u64,
}

enum Source {
    Network(ureq::BodyReader<'static>),
    Memory(Cursor<Vec<u8>>),
}

impl Client {
    /// Makes a client of the server at an address; the path is ignored. Nothing is sent yet.
    pub fn new(address: Address, options: ClientOptions) -> Client {
        Client { address, options, agent: OnceLock::new() }
    }

    /// Returns the address of the server.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the options of the client.
    pub fn options(&self) -> &ClientOptions {
        &self.options
    }

    fn agent(&self) -> Result<&Agent, Fault> {
        let made = self.agent.get_or_init(|| {
            let config = self.options.config(self.address.tls, true)?;
            Ok(Agent::with_parts(config, chain(), DefaultResolver::default()))
        });
        made.as_ref().map_err(|why| Fault::Unreachable(why.clone()))
    }

    /// Sends a request and reads the head of the response. A request on a pooled connection that turns out to be broken
    /// is sent once more on a new one: a server may close an idle connection at any time.
    ///
    /// # Errors
    ///
    /// If the server is unreachable, stalls, closes the connection, does not speak HTTP, or announces a body that is longer
    /// than the limit.
    pub fn send(&self, request: &Request<'_>) -> Result<Response, Fault> {
        let agent = self.agent()?;
        let len = request.limit.max(request.body.len());
        let budget = DeadlineBudget::new(self.options.limits.timeout, len, request.worth);
        let exchange = Exchange::new(budget);
        let (parts, body) = match self.attempt(agent, request, &exchange, true) {
            Err(Fault::Broken(_)) if !exchange.opened() => self.attempt(agent, request, &exchange, false)?,
            response => response?,
        }
        .into_parts();
        let status = parts.status.as_u16();
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers: Vec<(String, String)> =
            parts.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        let length = body.content_length();
        let source = Source::Network(body.into_with_config().limit(u64::MAX).reader());
        let mut body = ResponseBody { source, exchange, left: request.limit };
        if !parts.status.is_success() {
            body.left = LONGEST_ERROR_BODY;
            let message = body.read_all().unwrap_or_default();
            body = ResponseBody {
                left: LONGEST_ERROR_BODY,
                source: Source::Memory(Cursor::new(message)),
                ..body
            };
        } else if parts.headers.get("content-encoding").is_some_and(|value| value != "identity") {
            return Err(Fault::Garbled("the response has a content encoding that was not requested"));
        } else if request.method != "HEAD" && length.is_some_and(|length| length > request.limit) {
            return Err(TOO_LONG);
        }
        Ok(Response { status, headers, body })
    }

    fn attempt(
        &self,
        agent: &Agent,
        request: &Request<'_>,
        exchange: &Exchange,
        pooled: bool,
    ) -> Result<http::Response<ureq::Body>, Fault> {
        let scheme = if self.address.tls { "https" } else { "http" };
        let uri = format!("{scheme}://{}{}", self.address.authority(), request.target);
        let mut builder = http::Request::builder().method(request.method).uri(uri);
        for (name, value) in request.headers {
            builder = builder.header(*name, *value);
        }
        let given = |name: &str| request.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let len = request.body.len();
        let has_body = len > 0 || matches!(request.method, "PUT" | "POST");
        if has_body && !given("content-length") {
            builder = builder.header("content-length", len);
        }
        let sent = match request.body {
            _ if !has_body => run(agent, builder, (), exchange, pooled),
            RequestBody::Bytes(mut bytes) => {
                run(agent, builder, SendBody::from_reader(&mut bytes), exchange, pooled)
            }
            RequestBody::File(mut file, len) => {
                file.seek(SeekFrom::Start(0)).map_err(|e| Fault::Disk(e.to_string()))?;
                // A server can reject a large body before it is sent.
                let builder = builder.header("expect", "100-continue");
                run(agent, builder, SendBody::from_reader(&mut file.take(len)), exchange, pooled)
            }
        };
        sent.map_err(|error| exchange.fault(error))
    }
}

fn run(
    agent: &Agent,
    builder: http::request::Builder,
    body: impl AsSendBody,
    exchange: &Exchange,
    pooled: bool,
) -> Result<http::Response<ureq::Body>, Error> {
    let request = builder.body(body)?;
    exchange.run(|| match pooled {
        true => agent.run(request),
        false => agent.run(agent.configure_request(request).max_idle_age(Duration::ZERO).build()),
    })
}

impl ResponseBody {
    /// Reads the whole body into memory.
    ///
    /// # Errors
    ///
    /// If the transfer stalls or breaks, or the body is longer than the limit of the request.
    pub fn read_all(&mut self) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        self.copy_to(&mut bytes)?;
        Ok(bytes)
    }

    /// Copies the body to a writer; returns its length.
    ///
    /// # Errors
    ///
    /// Those of [`read_all`](Self::read_all), and [`Fault::Disk`] if the writer fails.
    pub fn copy_to(&mut self, into: &mut dyn Write) -> Result<u64, Fault> {
        let mut buffer = vec![0; 64 << 10];
        let mut copied = 0;
        loop {
            match self.next(&mut buffer)? {
                0 => return Ok(copied),
                n => {
                    into.write_all(&buffer[..n]).map_err(|e| Fault::Disk(e.to_string()))?;
                    copied += n as u64;
                }
            }
        }
    }

    /// Reads the next bytes; returns 0 at the end.
    ///
    /// # Errors
    ///
    /// Those of [`read_all`](Self::read_all).
    pub fn next(&mut self, buffer: &mut [u8]) -> Result<usize, Fault> {
        let read = match &mut self.source {
            Source::Network(reader) => self.exchange.run(|| reader.read(buffer)),
            Source::Memory(cursor) => cursor.read(buffer),
        };
        let read = match read {
            Ok(read) => read as u64,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(Fault::Broken("unexpected end of the response".to_owned()));
            }
            Err(error) => return Err(self.exchange.fault(Error::from(error))),
        };
        self.left = self.left.checked_sub(read).ok_or(TOO_LONG)?;
        Ok(read as usize)
    }
}
