//! Servers that are not there, say nothing or speak nonsense: each question ends in a fault, in time.

#![cfg(all(feature = "object-store", feature = "reapi"))]

use kiln_engine::Hash;
use kiln_engine::remote::{Address, Blob, Fault, Name, Remote};
use kiln_remote_cache::{Bucket, Reapi};
use kiln_remote_cache::{ClientOptions, Credentials};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// A question takes a second; this is for a busy machine.
const FAR_TOO_LONG: Duration = Duration::from_secs(10);

const SECRET: &str = "hush-hush";

/// Both kinds of server at one port.
fn remotes(port: u16) -> Vec<Box<dyn Remote>> {
    let endpoint = format!("http://127.0.0.1:{port}");
    let vars = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", "me"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_SESSION_TOKEN", SECRET),
    ];
    let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let bucket = Bucket::new(
        Address::parse("s3://bucket/team", false).unwrap(),
        vars,
        false,
        ClientOptions::default(),
    );
    let credentials = Credentials::token(SECRET);
    let address = Address::parse(&format!("grpc://127.0.0.1:{port}/kiln"), false).unwrap();
    let reapi = Reapi::new(address, credentials.as_ref(), &ClientOptions::default());
    vec![Box::new(bucket.unwrap()), Box::new(reapi.unwrap())]
}

/// Asks everything that can be asked; returns what went wrong.
fn faults(remote: &dyn Remote) -> Vec<Fault> {
    let (blob, key) = (Blob::of(b"blob"), Hash::of(b"key"));
    let asked: [&dyn Fn() -> Option<Fault>; 7] = [
        &|| remote.get(Name::Record(key), 1000, Duration::ZERO).err(),
        &|| remote.get(Name::Blob(blob), blob.len, Duration::ZERO).err(),
        &|| remote.get_blobs(&[blob, Blob::of(b"other")], Duration::ZERO).err(),
        &|| remote.has(Name::Record(key)).err(),
        &|| remote.missing(&[blob]).err(),
        &|| remote.put(Name::Record(key), b"").err(),
        &|| remote.put_blobs(&[(blob, b"blob".to_vec())]).err(),
    ];
    let mut faults = Vec::new();
    for ask in asked {
        let start = Instant::now();
        faults.extend(ask());
        assert!(start.elapsed() < FAR_TOO_LONG, "{} took {:?}", remote.name(), start.elapsed());
    }
    assert_eq!(faults.len(), asked.len(), "{}: something was answered", remote.name());
    assert!(!faults.iter().any(|fault| fault.to_string().contains(SECRET)), "{faults:?}");
    faults
}

#[test]
fn nobody_there() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for remote in remotes(port) {
        let faults = faults(&*remote);
        assert!(
            faults.iter().all(|fault| matches!(fault, Fault::Unreachable(_))),
            "{}: {faults:?}",
            remote.name()
        );
    }
}

#[test]
fn nothing_said() {
    // Connections are taken by the system, and nobody ever looks at them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for remote in remotes(listener.local_addr().unwrap().port()) {
        let faults = faults(&*remote);
        assert!(faults.iter().all(|fault| *fault == Fault::Slow), "{}: {faults:?}", remote.name());
    }
}

#[test]
fn nonsense_and_refusals() {
    let answers: [&'static [u8]; 4] = [
        b"\x15\x03\x01\x00\x02\x02\x50",
        b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
        b"",
    ];
    for answer in answers {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]).and_then(|_| stream.write_all(answer));
            }
        });
        remotes(port).iter().for_each(|remote| drop(faults(&**remote)));
    }
}

/// Whoever has no credentials waits once for the server that gives them to machines in the cloud, on all threads together.
#[test]
fn nobody_gives_credentials() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let vars = [("AWS_ENDPOINT_URL", &endpoint), ("AWS_METADATA_ENDPOINT", &endpoint)];
    let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let bucket =
        Bucket::new(Address::parse("s3://bucket", false).unwrap(), vars, false, ClientOptions::default())
            .unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for n in 0..16u8 {
            let has = |n| bucket.has(Name::Record(Hash::of(&[n])));
            scope.spawn(move || assert!(has(n).is_err()));
        }
    });
    assert!(start.elapsed() < FAR_TOO_LONG, "{:?}", start.elapsed());
}

/// A service that is not this machine has to be encrypted, wherever the environment says it is.
#[test]
fn plain_endpoints_elsewhere_are_refused() {
    let vars = [
        ("AWS_ENDPOINT_URL", "http://192.0.2.1:9"),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "me"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
    ];
    let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let bucket =
        Bucket::new(Address::parse("s3://bucket", false).unwrap(), vars, false, ClientOptions::default())
            .unwrap();
    let refused = bucket.has(Name::Record(Hash::of(b"key"))).unwrap_err();
    assert!(matches!(&refused, Fault::Refused(why) if why.contains("not encrypted")), "{refused}");
}
