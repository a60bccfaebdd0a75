//! Servers in front of a test server: an HTTP proxy, and a TLS front end that requires a client certificate.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const CA: &[u8] = include_bytes!("certificates/ca.pem");
pub(crate) const CLIENT_CERTIFICATE: &[u8] = include_bytes!("certificates/client.pem");
pub(crate) const CLIENT_KEY: &[u8] = include_bytes!("certificates/client.key");

/// The name in the certificate of the server.
pub(crate) const HOST: &str = "cache.kiln.test";

/// Starts a proxy whose tunnels all lead to one local port; returns its port, and the heads of the requests.
pub(crate) fn connect_proxy(target: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, seen) = (stream.unwrap(), seen.clone());
            std::thread::spawn(move || tunnel(stream, target, &seen));
        }
    });
    (port, heads)
}

fn tunnel(mut stream: TcpStream, target: u16, seen: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("CONNECT "), "{head}");
    seen.lock().unwrap().push(head);
    let mut upstream = TcpStream::connect(("127.0.0.1", target))?;
    stream.set_nodelay(true)?;
    upstream.set_nodelay(true)?;
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (mut from_client, mut to_server) = (stream.try_clone()?, upstream.try_clone()?);
    std::thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Both);
    });
    let _ = io::copy(&mut upstream, &mut stream);
    stream.shutdown(Shutdown::Both)
}

/// Starts a TLS server that requires the client certificate; returns its port.
pub(crate) fn tls_front(target: u16) -> u16 {
    let certificates = |pem| CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>().unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(CA));
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(
            certificates(include_bytes!("certificates/server.pem")),
            PrivateKeyDer::from_pem_slice(include_bytes!("certificates/server.key")).unwrap(),
        );
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, config) = (stream.unwrap(), config.clone());
            std::thread::spawn(move || forward(stream, config, target));
        }
    });
    port
}

/// Forwards in both directions alternately, with short read timeouts.
fn forward(stream: TcpStream, config: Arc<ServerConfig>, target: u16) -> io::Result<()> {
    let mut upstream = TcpStream::connect(("127.0.0.1", target))?;
    for socket in [&stream, &upstream] {
        socket.set_read_timeout(Some(Duration::from_millis(2)))?;
        socket.set_nodelay(true)?;
    }
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut client = StreamOwned::new(connection, stream);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let pairs: [(&mut dyn Read, bool); 2] = [(&mut client, true), (&mut upstream, false)];
        let mut moved = Vec::new();
        for (from, is_client) in pairs {
            match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(n) => moved.push((is_client, buffer[..n].to_vec())),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(e) => return Err(e),
            }
        }
        for (is_client, bytes) in moved {
            match is_client {
                true => upstream.write_all(&bytes)?,
                // Flushed only here: a flush during the handshake waits for the peer.
                false => client.write_all(&bytes).and_then(|()| client.flush())?,
            }
        }
    }
}
