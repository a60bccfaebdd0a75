//! A connection to a server, plain or encrypted, on which nothing waits beyond a given moment.
//!
//! The limit is enforced below the encryption: a handshake that trickles ends in time as well.

use super::Fault;
use super::address::Address;
use super::patience::Patience;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How much is sent or received at a time.
const PIECE: usize = 64 << 10;

/// The longest line of a protocol that has lines.
const LONGEST_LINE: usize = 32 << 10;

/// What encrypted connections share: the certificates that this system trusts, read when first needed.
#[derive(Default)]
pub(crate) struct Tls(OnceLock<Result<Arc<ClientConfig>, String>>);

impl Tls {
    fn config(&self) -> Result<Arc<ClientConfig>, Fault> {
        let made = self.0.get_or_init(|| {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err("this system has no certificates to trust".to_owned());
            }
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let versions = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(|e| e.to_string())?;
            Ok(Arc::new(versions.with_root_certificates(roots).with_no_client_auth()))
        });
        made.clone().map_err(Fault::Unreachable)
    }
}

/// A socket that waits until a moment and no longer.
struct Timed {
    socket: TcpStream,
    until: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(self.left()?))?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(self.left()?))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

enum Stream {
    Plain(Timed),
    Tls(Box<StreamOwned<ClientConnection, Timed>>),
}

impl Stream {
    fn until(&mut self, until: Instant) {
        match self {
            Stream::Plain(timed) => timed.until = until,
            Stream::Tls(tls) => tls.sock.until = until,
        }
    }
}

/// A connection, and what was received on it and not yet used.
pub(crate) struct Wire {
    stream: Stream,
    buffer: Vec<u8>,
    at: usize,
    /// Whether the other side knows who we are, in protocols where that is said once.
    pub(crate) known: bool,
}

impl Wire {
    pub(crate) fn connect(
        socket: &SocketAddr,
        address: &Address,
        tls: &Tls,
        until: Instant,
    ) -> Result<Wire, Fault> {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let socket = TcpStream::connect_timeout(socket, left).map_err(|e| match e.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => Fault::Slow,
            _ => Fault::Unreachable(e.to_string()),
        })?;
        let _ = socket.set_nodelay(true);
        let timed = Timed { socket, until };
        let stream = if address.tls {
            let name = ServerName::try_from(address.host.clone());
            let name =
                name.map_err(|_| Fault::Unreachable("its name cannot be in a certificate".to_owned()))?;
            let session = ClientConnection::new(tls.config()?, name);
            let session = session.map_err(|e| Fault::Unreachable(e.to_string()))?;
            Stream::Tls(Box::new(StreamOwned::new(session, timed)))
        } else {
            Stream::Plain(timed)
        };
        Ok(Wire { stream, buffer: vec![], at: 0, known: false })
    }

    /// What was received and not yet skipped.
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Whether nothing is left over, so that the next response can be told from this one.
    pub(crate) fn is_clear(&self) -> bool {
        self.ahead().is_empty()
    }

    pub(crate) fn skip(&mut self, bytes: usize) {
        self.at += bytes;
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
        }
    }

    /// Receives more; 0 when the other side has closed.
    pub(crate) fn more(&mut self, until: Instant) -> Result<usize, Fault> {
        self.stream.until(until);
        let old = self.buffer.len();
        self.buffer.resize(old + PIECE, 0);
        let read = loop {
            let buffer = &mut self.buffer[old..];
            let read = match &mut self.stream {
                Stream::Plain(timed) => timed.read(buffer),
                Stream::Tls(tls) => tls.read(buffer),
            };
            match read {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // Many servers end an encrypted connection without saying so; lengths tell whether all was there.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => break Ok(0),
                read => break read,
            }
        };
        self.buffer.truncate(old + *read.as_ref().unwrap_or(&0));
        read.map_err(fault)
    }

    /// Sends a head and a body.
    pub(crate) fn send(&mut self, head: &[u8], body: &[u8], patience: &mut Patience) -> Result<(), Fault> {
        for piece in std::iter::once(head).chain(body.chunks(PIECE)) {
            self.write_all(piece, patience.until().ok_or(Fault::Slow)?)?;
            patience.earn(piece.len());
        }
        self.flush(patience.until().ok_or(Fault::Slow)?)
    }

    /// Takes `len` bytes; `false` when the connection ends before.
    pub(crate) fn take(
        &mut self,
        len: u64,
        bytes: &mut Vec<u8>,
        patience: &mut Patience,
    ) -> Result<bool, Fault> {
        let mut left = len;
        while left > 0 {
            if self.ahead().is_empty() {
                let got = self.more(patience.until().ok_or(Fault::Slow)?)?;
                patience.earn(got);
                if got == 0 {
                    return Ok(false);
                }
            }
            let n = usize::try_from(left).unwrap_or(usize::MAX).min(self.ahead().len());
            bytes.extend_from_slice(&self.ahead()[..n]);
            self.skip(n);
            left -= n as u64;
        }
        Ok(true)
    }

    /// Takes a line, without its end.
    pub(crate) fn line(&mut self, patience: &mut Patience) -> Result<String, Fault> {
        loop {
            if let Some(at) = self.ahead().windows(2).position(|two| two == b"\r\n") {
                let line = String::from_utf8_lossy(&self.ahead()[..at]).into_owned();
                self.skip(at + 2);
                return Ok(line);
            }
            if self.ahead().len() > LONGEST_LINE {
                return Err(Fault::Garbled("its response has a line without end"));
            }
            if self.more(patience.until().ok_or(Fault::Slow)?)? == 0 {
                return Err(Fault::Broken("it closed the connection".to_owned()));
            }
        }
    }

    fn write_all(&mut self, bytes: &[u8], until: Instant) -> Result<(), Fault> {
        self.stream.until(until);
        let written = match &mut self.stream {
            Stream::Plain(timed) => timed.write_all(bytes),
            Stream::Tls(tls) => tls.write_all(bytes),
        };
        written.map_err(fault)
    }

    fn flush(&mut self, until: Instant) -> Result<(), Fault> {
        self.stream.until(until);
        let flushed = match &mut self.stream {
            Stream::Plain(timed) => timed.flush(),
            Stream::Tls(tls) => tls.flush(),
        };
        flushed.map_err(fault)
    }
}

fn fault(error: io::Error) -> Fault {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Fault::Slow,
        // What the encryption has against the other side.
        ErrorKind::InvalidData => Fault::Unreachable(error.to_string()),
        _ => Fault::Broken(error.to_string()),
    }
}
