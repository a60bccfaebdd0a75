//! Unreachable, silent and misbehaving servers: every request fails within its deadline.

#![cfg(all(feature = "object-store", feature = "reapi"))]

use kiln_engine::Hash;
use kiln_engine::remote::{Address, Blob, Fault, Name, Remote};
use kiln_remote_cache::{Bucket, Reapi};
use kiln_remote_cache::{ClientOptions, Credentials};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// A request takes a second at most; the margin is for a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(10);

const SECRET: &str = "hush-hush";

/// Makes clients of both protocols for one port.
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

/// Sends every kind of request; returns the failures.
fn faults(remote: &dyn Remote) -> Vec<Fault> {
    let (blob, key) = (Blob::of(b"blob"), Hash::of(b"key"));
    let requests: [&dyn Fn() -> Option<Fault>; 7] = [
        &|| remote.get(Name::Record(key), 1000, Duration::ZERO).err(),
        &|| remote.get(Name::Blob(blob), blob.len, Duration::ZERO).err(),
        &|| remote.get_blobs(&[blob, Blob::of(b"other")], Duration::ZERO).err(),
        &|| remote.has(Name::Record(key)).err(),
        &|| remote.missing(&[blob]).err(),
        &|| remote.put(Name::Record(key), b"").err(),
        &|| remote.put_blobs(&[(blob, b"blob".to_vec())]).err(),
    ];
    let mut faults = Vec::new();
    for request in requests {
        let start = Instant::now();
        faults.extend(request());
        assert!(start.elapsed() < TIME_LIMIT, "{} took {:?}", remote.name(), start.elapsed());
    }
    assert_eq!(faults.len(), requests.len(), "{}: a request succeeded", remote.name());
    assert!(!faults.iter().any(|fault| fault.to_string().contains(SECRET)), "{faults:?}");
    faults
}

#[test]
fn unreachable_server() {
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
fn silent_server() {
    // The kernel accepts connections, and no program reads them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for remote in remotes(listener.local_addr().unwrap().port()) {
        let faults = faults(&*remote);
        assert!(faults.iter().all(|fault| *fault == Fault::Slow), "{}: {faults:?}", remote.name());
    }
}

#[test]
fn invalid_responses_and_errors() {
    let responses: [&'static [u8]; 4] = [
        b"\x15\x03\x01\x00\x02\x02\x50",
        b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
        b"",
    ];
    for response in responses {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]).and_then(|_| stream.write_all(response));
            }
        });
        remotes(port).iter().for_each(|remote| drop(faults(&**remote)));
    }
}

/// Without credentials, all threads together wait once for the metadata server of the cloud.
#[test]
fn silent_metadata_server() {
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
    assert!(start.elapsed() < TIME_LIMIT, "{:?}", start.elapsed());
}

/// An endpoint other than loopback must use TLS, whatever the environment says.
#[test]
fn rejects_plaintext_endpoints() {
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
    let error = bucket.has(Name::Record(Hash::of(b"key"))).unwrap_err();
    assert!(matches!(&error, Fault::Refused(why) if why.contains("not be encrypted")), "{error}");
}
