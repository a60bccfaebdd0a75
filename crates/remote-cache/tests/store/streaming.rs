//! Large blobs are streamed: the memory of a transfer does not depend on their length.

use kiln_engine::Hash;
use kiln_engine::remote::{Address, Blob, Remote};
use kiln_remote_cache::Http;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

const LEN: u64 = 300 << 20;
const VARIABLE: &str = "KILN_TEST_STREAMING_URL";

/// Returns a blob of zeros.
fn blob() -> Blob {
    let (mut sha, zeros) = (Sha256::new(), [0; 64 << 10]);
    (0..LEN / zeros.len() as u64).for_each(|_| sha.update(zeros));
    Blob { hash: Hash(sha.finalize().into()), len: LEN }
}

/// Accepts every upload, and responds to every `GET` with zeros.
fn serve(stream: &TcpStream) -> std::io::Result<()> {
    let (mut reader, mut writer, zeros) = (BufReader::new(stream), stream, vec![0; 64 << 10]);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        if head.starts_with("PUT") {
            writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            let taken = std::io::copy(&mut (&mut reader).take(LEN), &mut std::io::sink())?;
            assert_eq!(taken, LEN);
            writer.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")?;
        } else {
            write!(writer, "HTTP/1.1 200 OK\r\nContent-Length: {LEN}\r\n\r\n")?;
            (0..LEN / zeros.len() as u64).try_for_each(|_| writer.write_all(&zeros))?;
        }
    }
}

/// A writer that hashes its input.
struct Hashed(Sha256);

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs the transfers, in a process whose memory is measured.
fn transfer(url: &str) {
    let (http, blob) = (Http::new(Address::parse(url, false).unwrap(), None), blob());
    let file = tempfile::tempfile().unwrap();
    file.set_len(LEN).unwrap();
    assert_eq!(http.put_from(blob, &file), Ok(()));
    let mut received = Hashed(Sha256::new());
    assert_eq!(http.get_to(blob, &mut received, Duration::from_secs(600)), Ok(true));
    assert_eq!(Hash(received.0.finalize().into()), blob.hash);
}

#[test]
#[cfg(target_os = "linux")]
fn large_blobs_are_streamed() {
    if let Ok(url) = std::env::var(VARIABLE) {
        transfer(&url);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(peak < 64 << 10, "{peak} KiB for a blob of {} KiB", LEN >> 10);
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            serve(&stream.unwrap()).unwrap();
        }
    });
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "streaming::large_blobs_are_streamed", "--test-threads", "1"]).env(VARIABLE, url);
    let ran = child.output().unwrap();
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && stdout.contains("1 passed"), "{stdout}");
}
