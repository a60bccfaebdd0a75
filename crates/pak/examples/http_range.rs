//! Reads a pak from an HTTP server with range requests: the header, the index, and the assets that are needed.
//!
//! The server is part of the example and listens on the loopback interface. The client is a [`ReadAt`] of 30 lines on a
//! plain socket; a game would use its HTTP client. Run with `cargo run -p kiln-pak --features bake --example http_range`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use pak::bake::Bake;
use pak::{Pak, PakBuf, ReadAt};
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file on an HTTP server.
#[derive(Debug)]
struct HttpFile {
    server: SocketAddr,
    path: String,
    len: u64,
    /// The bytes of all responses.
    received: AtomicU64,
}

impl HttpFile {
    /// Asks for the length of the file.
    fn open(server: SocketAddr, path: &str) -> io::Result<HttpFile> {
        let file = HttpFile { server, path: path.to_owned(), len: 0, received: AtomicU64::new(0) };
        let (len, _) = file.request("HEAD", "")?;
        Ok(HttpFile { len, ..file })
    }

    /// Sends a request; returns the content length and the body.
    fn request(&self, method: &str, header: &str) -> io::Result<(u64, BufReader<TcpStream>)> {
        let mut socket = TcpStream::connect(self.server)?;
        let path = &self.path;
        write!(socket, "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n")?;
        let mut response = BufReader::new(socket);
        let (mut len, mut line) = (None, String::new());
        response.read_line(&mut line)?;
        if !line.contains(" 200 ") && !line.contains(" 206 ") {
            return Err(io::Error::other(format!("the server answers {}", line.trim())));
        }
        while !line.trim().is_empty() {
            line.clear();
            response.read_line(&mut line)?;
            let field = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            len = field.and_then(|(_, value)| value.trim().parse().ok()).or(len);
        }
        Ok((len.ok_or_else(|| io::Error::other("the response has no length"))?, response))
    }
}

impl ReadAt for HttpFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let range = format!("Range: bytes={offset}-{}\r\n", offset + out.len() as u64 - 1);
        let (len, mut body) = self.request("GET", &range)?;
        if len != out.len() as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.received.fetch_add(len, Ordering::Relaxed);
        body.read_exact(out)
    }
}

/// Answers requests for ranges of a file, one connection after the other.
fn serve(listener: &TcpListener, file: &File) -> io::Result<()> {
    for socket in listener.incoming() {
        let socket = socket?;
        let mut request = BufReader::new(socket.try_clone()?);
        let (mut line, mut head, mut range) = (String::new(), false, None);
        while request.read_line(&mut line)? > 2 {
            head |= line.starts_with("HEAD ");
            let bytes = line.strip_prefix("Range: bytes=").and_then(|bytes| bytes.trim().split_once('-'));
            range = bytes.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?))).or(range);
            line.clear();
        }
        let (start, end): (u64, u64) = range.unwrap_or((0, file.size()? - 1));
        let status = if range.is_some() { "206 Partial Content" } else { "200 OK" };
        let mut socket = socket;
        write!(
            socket,
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            end + 1 - start
        )?;
        if !head {
            let mut body = vec![0; (end + 1 - start) as usize];
            file.read_at(start, &mut body)?;
            socket.write_all(&body)?;
        }
    }
    Ok(())
}

/// Serves a pak, and reads a small asset and a range of a large one from it.
#[allow(unreachable_pub, reason = "a test runs the example")]
pub fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("game.toml"), "[content]\n[[content.group]]\nassets = ['*.txt', '*.bin']\n")?;
    std::fs::write(path("hello.txt"), "hello")?;
    std::fs::write(path("large.bin"), vec![7; 8 << 20])?;
    Bake::new(path("game.toml"), path("game.pak")).run()?;

    let listener = TcpListener::bind("127.0.0.1:0")?;
    let server = listener.local_addr()?;
    let file = File::open(path("game.pak"))?;
    std::thread::spawn(move || serve(&listener, &file));

    let http = Arc::new(HttpFile::open(server, "/game.pak")?);
    let pak = PakBuf::from_source(Arc::clone(&http))?;
    let hello = pak.read_blob("hello.txt")?;
    assert_eq!(*hello, *b"hello");
    let received = http.received.load(Ordering::Relaxed);
    println!("read hello.txt with {received} of {} bytes", http.len);
    assert!(received < 1 << 10, "the index and one asset");

    // A range of a large blob: only the blocks that contain it.
    let mut large = pak.stream_blob("large.bin")?;
    io::Seek::seek(&mut large, io::SeekFrom::Start(5 << 20))?;
    let mut some = [0; 100];
    large.read_exact(&mut some)?;
    assert_eq!(some, [7; 100]);
    let received = http.received.load(Ordering::Relaxed);
    println!("read 100 bytes of large.bin with {received} of {} bytes", http.len);
    assert!(received < 5 << 20, "one block");
    Ok(())
}
