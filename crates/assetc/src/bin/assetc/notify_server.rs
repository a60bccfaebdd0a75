//! The notification server of `assetc watch --notify`, for hot reload in running games. `docs/guide/watch.md` has the protocol.
//!
//! Only clients on this machine can connect: the address is a loopback address or a Unix domain socket. Nothing that a
//! client sends is read. Each client has a bounded queue; a client whose queue is full or whose connection is closed is
//! disconnected, so that no client delays a build.

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

/// Most lines in the queue of one client.
const QUEUE_LINES: usize = 64;
/// Most clients; a further one replaces the oldest.
const MAX_CLIENTS: usize = 64;
/// The timeout for writing one line to a client.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The address of the server: a loopback port or a socket path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// A loopback address and port.
    Tcp(SocketAddr),
    /// The path of a Unix domain socket.
    #[cfg(unix)]
    Unix(PathBuf),
}

/// Parses `7750`, `127.0.0.1:7750`, `[::1]:7750` or `localhost:7750`; on Unix also a path with a slash.
pub(super) fn parse_address(text: &str) -> Result<Address, String> {
    #[cfg(unix)]
    if text.contains('/') {
        return Ok(Address::Unix(PathBuf::from(text)));
    }
    let local = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let port = text.strip_prefix("localhost:").unwrap_or(text).parse().ok();
    let Some(address) = port.map(local).or_else(|| text.parse().ok()) else {
        return Err("expected a port, a loopback address such as 127.0.0.1:7750, or a socket path".to_owned());
    };
    match address.ip().is_loopback() {
        true => Ok(Address::Tcp(address)),
        false => Err(format!("{} is reachable from other machines; use 127.0.0.1", address.ip())),
    }
}

/// A server that sends one line per build to all connected clients.
pub(super) struct NotifyServer {
    clients: Arc<Mutex<ClientList>>,
    /// The address to connect to.
    pub(super) address: String,
    /// The path of the Unix domain socket, removed at the end.
    socket: Option<PathBuf>,
}

struct ClientList {
    clients: VecDeque<Client>,
    /// The first line for a new client: the status after the last build.
    status: Arc<str>,
}

struct Client {
    lines: SyncSender<Arc<str>>,
    connection: Connection,
}

impl NotifyServer {
    /// Starts the server; `status` is the first line for clients that connect before the first build. The path of a
    /// socket is relative to `dir`.
    pub(super) fn start(dir: &Path, address: &Address, status: &str) -> Result<NotifyServer, Diag> {
        let refused = |shown: &str, e: &dyn std::fmt::Display| {
            Diag::new(Code::Notify, format!("cannot listen on {shown}: {e}"))
                .hint("another watch may be running; choose another address with --notify")
        };
        #[cfg(not(unix))]
        let _ = dir;
        let clients = ClientList { clients: VecDeque::new(), status: status.into() };
        let clients = Arc::new(Mutex::new(clients));
        let (shown, socket) = match address {
            Address::Tcp(address) => {
                let fault = |e: io::Error| refused(&address.to_string(), &e);
                let listener = TcpListener::bind(address).map_err(fault)?;
                let shown = listener.local_addr().map_err(fault)?.to_string();
                let accept = move || listener.accept().map(|(stream, _)| Connection::Tcp(stream));
                accept_clients(clients.clone(), accept).map_err(fault)?;
                (shown, None)
            }
            #[cfg(unix)]
            Address::Unix(path) => {
                let path = dir.join(path);
                let fault = |e: io::Error| refused(&path.display().to_string(), &e);
                let listener = bind(&path).map_err(fault)?;
                let accept = move || listener.accept().map(|(stream, _)| Connection::Unix(stream));
                accept_clients(clients.clone(), accept).map_err(fault)?;
                (path.display().to_string(), Some(path))
            }
        };
        Ok(NotifyServer { clients, address: shown, socket })
    }

    /// Sends a line to all clients; clients that connect later get `status` as their first line.
    pub(super) fn broadcast(&self, line: &str, status: &str) {
        let line: Arc<str> = line.into();
        let mut list = lock(&self.clients);
        list.status = status.into();
        list.clients.retain(|client| {
            let is_queued = client.lines.try_send(line.clone()).is_ok();
            if !is_queued {
                client.connection.close();
            }
            is_queued
        });
    }

    /// Removes the Unix domain socket when the watch ends.
    pub(super) fn remove_socket(&self) {
        if let Some(socket) = &self.socket {
            let _ = std::fs::remove_file(socket);
        }
    }
}

fn lock(clients: &Mutex<ClientList>) -> MutexGuard<'_, ClientList> {
    clients.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Binds a socket at a path. A stale socket of a killed watch is replaced; any other file is not.
#[cfg(unix)]
fn bind(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::FileTypeExt;
    let bound = UnixListener::bind(path);
    let in_use = bound.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::AddrInUse);
    let is_socket = || std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    let is_stale = || UnixStream::connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
    if !(in_use && is_socket() && is_stale()) {
        return bound;
    }
    std::fs::remove_file(path)?;
    UnixListener::bind(path)
}

/// Accepts clients on a thread of its own until the process ends.
fn accept_clients(
    clients: Arc<Mutex<ClientList>>,
    accept: impl Fn() -> io::Result<Connection> + Send + 'static,
) -> io::Result<()> {
    let accept_loop = move || {
        loop {
            // The errors are temporary: a failed connection, or too many open files.
            let Ok(connection) = accept() else {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            let (sender, lines) = sync_channel(QUEUE_LINES);
            let Ok(writer) = connection.clone_for_writing() else { continue };
            let mut list = lock(&clients);
            let _ = sender.try_send(list.status.clone());
            let write = move || write_lines(writer, &lines);
            if std::thread::Builder::new().name("client".to_owned()).spawn(write).is_ok() {
                list.clients.push_back(Client { lines: sender, connection });
            }
            while list.clients.len() > MAX_CLIENTS {
                if let Some(oldest) = list.clients.pop_front() {
                    oldest.connection.close();
                }
            }
        }
    };
    std::thread::Builder::new().name("clients".to_owned()).spawn(accept_loop).map(|_| ())
}

/// Writes the lines of a queue until the client disconnects or is removed from the list.
fn write_lines(mut connection: Connection, lines: &Receiver<Arc<str>>) {
    while let Ok(line) = lines.recv() {
        if connection.send(line.as_bytes()).is_err() {
            connection.close();
            return;
        }
    }
}

/// The connection to one client.
enum Connection {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Connection {
    /// Clones the connection and sets its write timeout.
    fn clone_for_writing(&self) -> io::Result<Connection> {
        match self {
            Connection::Tcp(stream) => {
                stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
                stream.try_clone().map(Connection::Tcp)
            }
            #[cfg(unix)]
            Connection::Unix(stream) => {
                stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
                stream.try_clone().map(Connection::Unix)
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Connection::Tcp(stream) => stream.write_all(bytes).and_then(|()| stream.write_all(b"\n")),
            #[cfg(unix)]
            Connection::Unix(stream) => stream.write_all(bytes).and_then(|()| stream.write_all(b"\n")),
        }
    }

    /// Closes the connection; a blocked write returns with an error.
    fn close(&self) {
        let _ = match self {
            Connection::Tcp(stream) => stream.shutdown(Shutdown::Both),
            #[cfg(unix)]
            Connection::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_only_local_addresses() {
        let tcp = |text: &str| Ok(Address::Tcp(text.parse().unwrap()));
        assert_eq!(parse_address("7750"), tcp("127.0.0.1:7750"));
        assert_eq!(parse_address("localhost:7750"), tcp("127.0.0.1:7750"));
        assert_eq!(parse_address("127.0.0.9:1"), tcp("127.0.0.9:1"));
        assert_eq!(parse_address("[::1]:7750"), tcp("[::1]:7750"));
        for text in ["0.0.0.0:7750", "[::]:7750", "192.168.0.2:7750", "8.8.8.8:53", "", "70000", "game:1"] {
            assert!(parse_address(text).is_err(), "{text}");
        }
        #[cfg(unix)]
        assert_eq!(parse_address("./game.sock"), Ok(Address::Unix("./game.sock".into())));
    }

    fn lines(stream: impl io::Read) -> impl Iterator<Item = String> {
        io::BufRead::lines(io::BufReader::new(stream)).map(Result::unwrap)
    }

    #[test]
    fn disconnects_client_that_does_not_read() {
        let any = parse_address("127.0.0.1:0").unwrap();
        let server = NotifyServer::start(Path::new("/"), &any, "0").unwrap();
        let stalled = TcpStream::connect(&server.address).unwrap();
        while lock(&server.clients).clients.len() != 1 {
            std::thread::sleep(Duration::from_millis(1));
        }
        // More than all buffers on the way hold: the client is disconnected before the last line.
        let long = "x".repeat(1 << 20);
        (0..200).for_each(|_| server.broadcast(&long, "200"));
        assert_eq!(lock(&server.clients).clients.len(), 0);
        let mut reading = lines(TcpStream::connect(&server.address).unwrap());
        assert_eq!(reading.next().unwrap(), "200", "the status");
        server.broadcast("201", "201");
        assert_eq!(reading.next().unwrap(), "201");
        drop(stalled);
    }

    #[cfg(unix)]
    #[test]
    fn replaces_stale_socket_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("game.sock");
        let start = || NotifyServer::start(dir.path(), &parse_address("./game.sock").unwrap(), "0");
        drop(UnixListener::bind(&path).unwrap());
        let server = start().unwrap();
        let client = lines(UnixStream::connect(&path).unwrap());
        assert_eq!(start().err().unwrap().code, Code::Notify, "the socket is in use");
        server.broadcast("1", "1");
        assert!(client.take(1).all(|line| line == "0" || line == "1"));
        server.remove_socket();
        assert!(!path.exists());
        std::fs::write(&path, "precious").unwrap();
        assert_eq!(start().err().unwrap().code, Code::Notify);
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }
}
