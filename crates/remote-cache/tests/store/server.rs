//! An in-memory server of the HTTP cache protocol with fault injection.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No response.
    BlackHole,
    /// One byte per second.
    Trickle,
    /// The head and half of the body, then no more bytes.
    Stall,
    /// The connection is closed in the middle of the body.
    Reset,
    /// The connection is closed before the announced length.
    Truncated,
    /// The connection is closed without a response.
    Closed,
    /// A response with this status.
    Status(u16),
    /// `HEAD` finds every object, `GET` none.
    HeadOnly,
    /// One bit of the body is flipped.
    WrongBytes,
    /// The body of another object of the same kind.
    Another,
    /// An endless chunked body.
    Bomb,
    /// A `Content-Length` of ten gigabytes.
    Huge,
    /// A response that is not HTTP.
    Garbage,
    /// Every response is delayed by this many milliseconds.
    Latency(u64),
    /// A status with `Retry-After` in seconds, for this many requests.
    Busy(u16, u64, usize),
    /// An unsolicited second response follows the first one.
    LeftOver,
    /// The object is truncated by ten bytes.
    Cut,
}

/// The requests with a fault: those whose method and kind match, after the first `after` of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct When {
    pub(crate) method: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) after: usize,
}

#[derive(Default)]
struct Shared {
    objects: Mutex<HashMap<String, Vec<u8>>>,
    fault: Mutex<Option<(Fault, When)>>,
    matching: AtomicUsize,
    requests: AtomicUsize,
    seen: Mutex<Vec<String>>,
    headers: Mutex<Vec<(String, String)>>,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    ended: AtomicBool,
}

/// A running server; it stops when dropped.
pub(crate) struct Server {
    shared: Arc<Shared>,
    port: u16,
}

impl Server {
    pub(crate) fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let ours = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ours.ended.load(Relaxed) {
                    return;
                }
                let (stream, shared) = (stream.unwrap(), ours.clone());
                // Head and body are separate writes: the body must not wait until the head is acknowledged.
                stream.set_nodelay(true).unwrap();
                std::thread::spawn(move || serve(&stream, &shared));
            }
        });
        Server { shared, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/team", self.port)
    }

    pub(crate) fn inject_fault(&self, fault: Fault, when: When) {
        *self.shared.fault.lock().unwrap() = Some((fault, when));
    }

    /// Returns the number of requests.
    pub(crate) fn requests(&self) -> usize {
        self.shared.requests.load(Relaxed)
    }

    /// Returns all objects by path.
    pub(crate) fn kept(&self) -> HashMap<String, Vec<u8>> {
        self.shared.objects.lock().unwrap().clone()
    }

    /// Replaces all objects.
    pub(crate) fn keep(&self, objects: HashMap<String, Vec<u8>>) {
        *self.shared.objects.lock().unwrap() = objects;
    }

    /// Removes the fault.
    pub(crate) fn recover(&self) {
        *self.shared.fault.lock().unwrap() = None;
    }

    /// Returns every received header, with its name in lower case.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        self.shared.headers.lock().unwrap().clone()
    }

    /// Returns the largest number of concurrent requests.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.shared.most_in_flight.load(Relaxed)
    }

    /// Returns the local port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the values of the header `Authorization`, one for each request.
    pub(crate) fn authorizations(&self) -> Vec<String> {
        self.shared.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ended.store(true, Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        let mut words = line.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (mut length, mut expects) = (0, false);
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok().filter(|n| *n > 0)?;
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            let name = name.to_ascii_lowercase();
            match name.as_str() {
                "content-length" => length = value.parse().unwrap(),
                "authorization" => shared.seen.lock().unwrap().push(value.to_owned()),
                "expect" => expects = true,
                _ => {}
            }
            shared.headers.lock().unwrap().push((name, value.to_owned()));
        }
        shared.requests.fetch_add(1, Relaxed);
        let in_flight = shared.in_flight.fetch_add(1, Relaxed) + 1;
        shared.most_in_flight.fetch_max(in_flight, Relaxed);
        let fault = shared.fault.lock().unwrap().and_then(|(fault, when)| {
            let matches = method.starts_with(when.method) && path.contains(when.kind);
            let before = if matches { shared.matching.fetch_add(1, Relaxed) } else { 0 };
            let over = matches!(fault, Fault::Busy(.., count) if before >= when.after + count);
            (matches && before >= when.after && !over).then_some(fault)
        });
        if fault == Some(Fault::BlackHole) {
            return hold(stream);
        }
        if let Some(Fault::Latency(ms)) = fault {
            std::thread::sleep(Duration::from_millis(ms));
        }
        let mut body = Vec::new();
        let rejected = expects && matches!(fault, Some(Fault::Status(_)));
        if expects && !rejected {
            (&mut &*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
        }
        if !rejected {
            body.resize(length, 0);
            reader.read_exact(&mut body).ok()?;
        }
        let responded = respond(stream, shared, &method, &path, body, fault);
        shared.in_flight.fetch_sub(1, Relaxed);
        responded.filter(|()| !rejected)?;
    }
}

/// Keeps a connection open for longer than any client should wait.
fn hold(stream: &TcpStream) -> Option<()> {
    std::thread::sleep(Duration::from_secs(30));
    stream.shutdown(Shutdown::Both).ok()
}

fn respond(
    mut stream: &TcpStream,
    shared: &Shared,
    method: &str,
    path: &str,
    body: Vec<u8>,
    fault: Option<Fault>,
) -> Option<()> {
    let mut objects = shared.objects.lock().unwrap();
    let found = objects.get(path).cloned();
    let (mut status, mut bytes) = match (method, found) {
        ("PUT", _) => (201, vec![]),
        (_, Some(bytes)) => (200, bytes),
        (_, None) => (404, b"not found".to_vec()),
    };
    match fault {
        Some(Fault::Status(other) | Fault::Busy(other, ..)) => (status, bytes) = (other, b"error".to_vec()),
        Some(Fault::Cut) if status == 200 => bytes.truncate(bytes.len().saturating_sub(10)),
        Some(Fault::HeadOnly) if method == "HEAD" => status = 200,
        Some(Fault::HeadOnly) if method == "GET" => (status, bytes) = (404, vec![]),
        Some(Fault::WrongBytes) if status == 200 => *bytes.last_mut()? ^= 1,
        Some(Fault::Another) if status == 200 => {
            let kind = if path.contains("/ac/") { "/ac/" } else { "/cas/" };
            let mut others: Vec<_> =
                objects.iter().filter(|(at, _)| at.contains(kind) && *at != path).collect();
            others.sort();
            bytes = others.first()?.1.clone();
        }
        _ => {}
    }
    // An acknowledged upload is stored.
    let acknowledges = matches!(
        fault,
        None | Some(
            Fault::Latency(_)
                | Fault::LeftOver
                | Fault::WrongBytes
                | Fault::Another
                | Fault::Cut
                | Fault::HeadOnly
                | Fault::Stall
                | Fault::Reset
        )
    );
    if method == "PUT" && acknowledges {
        objects.insert(path.to_owned(), body);
    }
    drop(objects);
    let length = match fault {
        Some(Fault::Huge) => (10u64 << 30).to_string(),
        Some(Fault::Truncated) => (bytes.len() + 1000).to_string(),
        _ => bytes.len().to_string(),
    };
    let mut head = format!("HTTP/1.1 {status} Whatever\r\nContent-Length: {length}\r\n\r\n");
    if let Some(Fault::Busy(_, seconds, _)) = fault {
        head.insert_str(head.len() - 2, &format!("Retry-After: {seconds}\r\n"));
    }
    if method == "HEAD" {
        bytes.clear();
    }
    let half = bytes.len() / 2;
    match fault {
        Some(Fault::Closed) => return None,
        Some(Fault::Garbage) => {
            stream.write_all(b"\x15\x03\x01\x00\x02\x02\x50 not HTTP\r\n\r\n").ok()?;
            return None;
        }
        Some(Fault::Trickle) => {
            for byte in head.bytes().chain(bytes).take(30) {
                stream.write_all(&[byte]).ok()?;
                std::thread::sleep(Duration::from_secs(1));
            }
            return None;
        }
        Some(Fault::Bomb) => {
            head = format!("HTTP/1.1 {status} Whatever\r\nTransfer-Encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes()).ok()?;
            let chunk = [b"10000\r\n".as_slice(), &[0; 0x10000], b"\r\n"].concat();
            loop {
                stream.write_all(&chunk).ok()?;
            }
        }
        _ => {}
    }
    stream.write_all(head.as_bytes()).ok()?;
    match fault {
        Some(Fault::Stall) => {
            stream.write_all(&bytes[..half]).ok()?;
            return hold(stream);
        }
        Some(Fault::Reset) => {
            stream.write_all(&bytes[..half]).ok()?;
            return None;
        }
        Some(Fault::LeftOver) => {
            // In one write with the body, so that the client has received it when the response ends.
            bytes.extend(b"HTTP/1.1 200 Whatever\r\nContent-Length: 5\r\n\r\nwrong");
            stream.write_all(&bytes).ok()?;
        }
        _ => stream.write_all(&bytes).ok()?,
    }
    (fault != Some(Fault::Truncated)).then_some(())
}
