//! Checks that a server can be used as a shared cache: sends every request of a build and prints its latency.
//!
//! ```text
//! cargo run -p kiln-remote-cache --all-features --example probe -- grpc://127.0.0.1:8980/instance
//! cargo run -p kiln-remote-cache --all-features --example probe -- s3://bucket/prefix
//! ```

#![allow(clippy::print_stdout, reason = "an example that prints its result")]

#[cfg(all(feature = "object-store", feature = "reapi"))]
fn main() {
    use kiln_engine::Hash;
    use kiln_engine::remote::{Address, Blob, Name, Remote, Scheme};
    use kiln_remote_cache::{ClientOptions, Http, Redis};
    use std::time::{Duration, Instant};

    let url = std::env::args().nth(1).expect("usage: probe URL");
    let address = Address::parse(&url, false).expect("a valid URL");
    let remote: Box<dyn Remote> = match address.scheme {
        Scheme::Http => Box::new(Http::new(address, None)),
        Scheme::Redis => Box::new(Redis::new(address, None)),
        Scheme::Grpc => Box::new(
            kiln_remote_cache::Reapi::new(address, None, &ClientOptions::default())
                .expect("a client for the server"),
        ),
        _ => Box::new(
            kiln_remote_cache::Bucket::new(address, std::env::vars(), false, ClientOptions::default())
                .expect("a client for the bucket"),
        ),
    };
    let timed =
        |what: &str, start: Instant| println!("{what}: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let worth = Duration::from_secs(10);
    // Different in each run, so that the server has none of them: a small blob, one for a batch, one that is streamed.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_nanos();
    let fill = |len: usize| (0..len).map(|n| (n as u128 * 31 + now + len as u128) as u8).collect::<Vec<u8>>();
    let blobs: Vec<(Blob, Vec<u8>)> =
        [10, 100_000, 9_000_001].map(fill).into_iter().map(|bytes| (Blob::of(&bytes), bytes)).collect();
    let names: Vec<Blob> = blobs.iter().map(|(blob, _)| *blob).collect();

    let start = Instant::now();
    assert_eq!(
        remote.missing(&names).expect("a response"),
        names,
        "the server has blobs that were never uploaded"
    );
    timed("find missing blobs", start);
    let start = Instant::now();
    assert_eq!(remote.get(Name::Blob(names[0]), names[0].len, worth), Ok(None));
    assert_eq!(remote.get(Name::Blob(names[2]), names[2].len, worth), Ok(None));
    timed("two cache misses", start);
    for (what, part) in [("two small blobs", &blobs[..2]), ("a large blob", &blobs[2..])] {
        let start = Instant::now();
        remote.put_blobs(part).expect("a successful upload");
        timed(&format!("upload {what}"), start);
        let start = Instant::now();
        let wanted: Vec<Blob> = part.iter().map(|(blob, _)| *blob).collect();
        let got = remote.get_blobs(&wanted, worth).expect("a response");
        assert!(
            got.iter().zip(part).all(|(got, (_, bytes))| got.as_ref() == Some(bytes)),
            "the downloaded bytes differ"
        );
        timed(&format!("download {what}"), start);
    }
    assert_eq!(remote.missing(&names), Ok(vec![]), "the server lost a blob");
    // A record is an `ActionResult` with its body in `stdout_raw`.
    let (key, record) = (Hash::of(&now.to_le_bytes()), [&[0x2a, 100][..], &fill(100)].concat());
    let start = Instant::now();
    assert_eq!(remote.get(Name::Record(key), 1000, worth), Ok(None));
    assert_eq!(remote.has(Name::Record(key)), Ok(false));
    remote.put(Name::Record(key), &record).expect("a successful upload");
    assert_eq!(remote.has(Name::Record(key)), Ok(true));
    assert_eq!(remote.get(Name::Record(key), 1000, worth), Ok(Some(record)), "the downloaded record differs");
    timed("look up, upload and download a record", start);
    println!("{} can be used", remote.name());
}

#[cfg(not(all(feature = "object-store", feature = "reapi")))]
fn main() {
    eprintln!("build this example with --all-features");
}
