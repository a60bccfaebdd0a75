//! Running games that want to know what changed: `assetc watch --notify`. `docs/watch.md` has the protocol.
//!
//! Only programs on this machine are let in: the address is a loopback one, or a socket in the file system. Nothing they
//! send is read. Each has a queue of its own; one whose queue is full, or that is gone, is let go, and nobody waits.

use kiln_engine::{Code, Diag};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many lines may wait for one program.
const QUEUE: usize = 64;
/// How many programs there may be; the oldest makes room for another.
const CLIENTS: usize = 64;
/// How long one line may take on its way.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where programs come to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// A port of this machine.
    Tcp(SocketAddr),
    /// A socket in the file system.
    #[cfg(unix)]
    Unix(PathBuf),
}

/// `7750`, `127.0.0.1:7750`, `[::1]:7750`, `localhost:7750`; on Unix also a path with a slash.
pub(super) fn address(text: &str) -> Result<Address, String> {
    #[cfg(unix)]
    if text.contains('/') {
        return Ok(Address::Unix(PathBuf::from(text)));
    }
    let local = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let port = text.strip_prefix("localhost:").unwrap_or(text).parse().ok();
    let Some(address) = port.map(local).or_else(|| text.parse().ok()) else {
        return Err("expected a port, or an address such as 127.0.0.1:7750".to_owned());
    };
    match address.ip().is_loopback() {
        true => Ok(Address::Tcp(address)),
        false => Err(format!("{} can be reached from other machines; use 127.0.0.1", address.ip())),
    }
}

/// The programs that listen.
pub(super) struct Audience {
    stage: Arc<Mutex<Stage>>,
    /// Where it is, as a client has to name it.
    pub(super) address: String,
    /// The socket in the file system, to be removed in the end.
    socket: Option<PathBuf>,
}

struct Stage {
    seats: VecDeque<Seat>,
    /// What a program is told when it comes: how things stand.
    standing: Arc<str>,
}

struct Seat {
    lines: SyncSender<Arc<str>>,
    line: Line,
}

impl Audience {
    /// Opens the doors; `standing` is the first line of whoever comes before the first build. A path is relative to
    /// `dir`.
    pub(super) fn open(dir: &Path, address: &Address, standing: &str) -> Result<Audience, Diag> {
        let refused = |shown: &str, e: &dyn std::fmt::Display| {
            Diag::new(Code::Notify, format!("cannot listen at {shown}: {e}"))
                .hint("another watch may be running; choose another address with --notify")
        };
        #[cfg(not(unix))]
        let _ = dir;
        let stage = Stage { seats: VecDeque::new(), standing: standing.into() };
        let stage = Arc::new(Mutex::new(stage));
        let (shown, socket) = match address {
            Address::Tcp(address) => {
                let fault = |e: io::Error| refused(&address.to_string(), &e);
                let listener = TcpListener::bind(address).map_err(fault)?;
                let shown = listener.local_addr().map_err(fault)?.to_string();
                let accept = move || listener.accept().map(|(stream, _)| Line::Tcp(stream));
                attend(stage.clone(), accept).map_err(fault)?;
                (shown, None)
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                let path = dir.join(path);
                let fault = |e: io::Error| refused(&path.display().to_string(), &e);
                let listener = bind(&path).map_err(fault)?;
                let accept = move || listener.accept().map(|(stream, _)| Line::Unix(stream));
                attend(stage.clone(), accept).map_err(fault)?;
                (path.display().to_string(), Some(path))
            }
        };
        Ok(Audience { stage, address: shown, socket })
    }

    /// Tells everybody a line; whoever comes later is told `standing` first.
    pub(super) fn tell(&self, line: &str, standing: &str) {
        let line: Arc<str> = line.into();
        let mut stage = lock(&self.stage);
        stage.standing = standing.into();
        stage.seats.retain(|seat| seat.lines.try_send(line.clone()).is_ok() || seat.line.close());
    }

    /// Takes the socket out of the file system: the watch ends.
    pub(super) fn leave(&self) {
        if let Some(socket) = &self.socket {
            let _ = std::fs::remove_file(socket);
        }
    }
}

fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A socket at a path. One that was left behind by a watch that was killed is replaced; nothing else is.
#[cfg(unix)]
fn bind(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::FileTypeExt;
    let bound = UnixListener::bind(path);
    let in_use = bound.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::AddrInUse);
    let is_socket = || std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    let nobody = || UnixStream::connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
    if !(in_use && is_socket() && nobody()) {
        return bound;
    }
    std::fs::remove_file(path)?;
    UnixListener::bind(path)
}

/// Lets programs in, in a thread of its own, for as long as this one runs.
fn attend(
    stage: Arc<Mutex<Stage>>,
    accept: impl Fn() -> io::Result<Line> + Send + 'static,
) -> io::Result<()> {
    let admit = move || {
        loop {
            // A failure is one of the connection, or too many open files: either passes.
            let Ok(line) = accept() else {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            let (sender, lines) = sync_channel(QUEUE);
            let Ok(pen) = line.another() else { continue };
            let mut stage = lock(&stage);
            let _ = sender.try_send(stage.standing.clone());
            let write = move || write(pen, &lines);
            if std::thread::Builder::new().name("client".to_owned()).spawn(write).is_ok() {
                stage.seats.push_back(Seat { lines: sender, line });
            }
            while stage.seats.len() > CLIENTS {
                let oldest = stage.seats.pop_front();
                _ = oldest.map(|seat| seat.line.close());
            }
        }
    };
    std::thread::Builder::new().name("clients".to_owned()).spawn(admit).map(|_| ())
}

/// Writes line after line until the program is gone or let go.
fn write(mut pen: Line, lines: &Receiver<Arc<str>>) {
    while let Ok(line) = lines.recv() {
        if pen.send(line.as_bytes()).is_err() {
            pen.close();
            return;
        }
    }
}

/// A connection.
enum Line {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Line {
    fn another(&self) -> io::Result<Line> {
        match self {
            Line::Tcp(stream) => {
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.try_clone().map(Line::Tcp)
            }
            #[cfg(unix)]
            Line::Unix(stream) => {
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.try_clone().map(Line::Unix)
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Line::Tcp(stream) => stream.write_all(bytes).and_then(|()| stream.write_all(b"\n")),
            #[cfg(unix)]
            Line::Unix(stream) => stream.write_all(bytes).and_then(|()| stream.write_all(b"\n")),
        }
    }

    /// Hangs up; a write that waits ends. Nobody is kept: it says `false`.
    fn close(&self) -> bool {
        let _ = match self {
            Line::Tcp(stream) => stream.shutdown(Shutdown::Both),
            #[cfg(unix)]
            Line::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_an_address() {
        let tcp = |text: &str| Ok(Address::Tcp(text.parse().unwrap()));
        assert_eq!(address("7750"), tcp("127.0.0.1:7750"));
        assert_eq!(address("localhost:7750"), tcp("127.0.0.1:7750"));
        assert_eq!(address("127.0.0.9:1"), tcp("127.0.0.9:1"));
        assert_eq!(address("[::1]:7750"), tcp("[::1]:7750"));
        for text in ["0.0.0.0:7750", "[::]:7750", "192.168.0.2:7750", "8.8.8.8:53", "", "70000", "game:1"] {
            assert!(address(text).is_err(), "{text}");
        }
        #[cfg(unix)]
        assert_eq!(address("./game.sock"), Ok(Address::Unix("./game.sock".into())));
    }
    fn lines(stream: impl io::Read) -> impl Iterator<Item = String> {
        io::BufRead::lines(io::BufReader::new(stream)).map(Result::unwrap)
    }

    #[test]
    fn whoever_does_not_listen_is_let_go_and_holds_nobody_up() {
        let any = address("127.0.0.1:0").unwrap();
        let audience = Audience::open(Path::new("/"), &any, "0").unwrap();
        let deaf = TcpStream::connect(&audience.address).unwrap();
        let seated = |count| {
            while lock(&audience.stage).seats.len() != count {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        seated(1);
        // More than any buffer on the way takes: the last of these find nobody.
        let long = "x".repeat(1 << 20);
        (0..200).for_each(|_| audience.tell(&long, "200"));
        assert_eq!(lock(&audience.stage).seats.len(), 0);
        let mut keen = lines(TcpStream::connect(&audience.address).unwrap());
        assert_eq!(keen.next().unwrap(), "200", "how things stand");
        audience.tell("201", "201");
        assert_eq!(keen.next().unwrap(), "201");
        drop(deaf);
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_that_was_left_behind_is_taken_over_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("game.sock");
        let open = || Audience::open(dir.path(), &address("./game.sock").unwrap(), "0");
        drop(UnixListener::bind(&path).unwrap());
        let audience = open().unwrap();
        let client = lines(UnixStream::connect(&path).unwrap());
        assert_eq!(open().err().unwrap().code, Code::Notify, "it is in use");
        audience.tell("1", "1");
        assert!(client.take(1).all(|line| line == "0" || line == "1"));
        audience.leave();
        assert!(!path.exists());
        std::fs::write(&path, "precious").unwrap();
        assert_eq!(open().err().unwrap().code, Code::Notify);
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }
}
