//! Whether a server will do for the shared cache: asks it everything that a build does, and says how long each took.
//!
//! ```text
//! cargo run -p kiln-remote-cache --all-features --example probe -- grpc://127.0.0.1:8980/instance
//! cargo run -p kiln-remote-cache --all-features --example probe -- s3://bucket/prefix
//! ```

#![allow(clippy::print_stdout, reason = "an example speaks")]

#[cfg(all(feature = "object-store", feature = "reapi"))]
fn main() {
    use kiln_engine::Hash;
    use kiln_engine::remote::{Address, Blob, Name, Remote, Scheme};
    use kiln_remote_cache::{ClientOptions, Http, Redis};
    use std::time::{Duration, Instant};

    let url = std::env::args().nth(1).expect("the address of a server");
    let address = Address::parse(&url, false).expect("an address");
    let remote: Box<dyn Remote> = match address.scheme {
        Scheme::Http => Box::new(Http::new(address, None)),
        Scheme::Redis => Box::new(Redis::new(address, None)),
        Scheme::Grpc => Box::new(
            kiln_remote_cache::Reapi::new(address, None, &ClientOptions::default()).expect("a server"),
        ),
        _ => Box::new(
            kiln_remote_cache::Bucket::new(address, std::env::vars(), false, ClientOptions::default())
                .expect("a bucket"),
        ),
    };
    let timed =
        |what: &str, start: Instant| println!("{what}: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let worth = Duration::from_secs(10);
    // Different at each run, so that nothing is there yet; a small one, one for a batch, one that goes in pieces.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock").as_nanos();
    let fill = |len: usize| (0..len).map(|n| (n as u128 * 31 + now + len as u128) as u8).collect::<Vec<u8>>();
    let blobs: Vec<(Blob, Vec<u8>)> =
        [10, 100_000, 9_000_001].map(fill).into_iter().map(|bytes| (Blob::of(&bytes), bytes)).collect();
    let names: Vec<Blob> = blobs.iter().map(|(blob, _)| *blob).collect();

    let start = Instant::now();
    assert_eq!(remote.missing(&names).expect("an answer"), names, "it has what nobody gave it");
    timed("what is missing", start);
    let start = Instant::now();
    assert_eq!(remote.get(Name::Blob(names[0]), names[0].len, worth), Ok(None));
    assert_eq!(remote.get(Name::Blob(names[2]), names[2].len, worth), Ok(None));
    timed("two that are not there", start);
    for (what, part) in [("two small ones", &blobs[..2]), ("a large one", &blobs[2..])] {
        let start = Instant::now();
        remote.put_blobs(part).expect("room");
        timed(&format!("{what}, sent"), start);
        let start = Instant::now();
        let wanted: Vec<Blob> = part.iter().map(|(blob, _)| *blob).collect();
        let got = remote.get_blobs(&wanted, worth).expect("an answer");
        assert!(got.iter().zip(part).all(|(got, (_, bytes))| got.as_ref() == Some(bytes)), "other bytes");
        timed(&format!("{what}, fetched"), start);
    }
    assert_eq!(remote.missing(&names), Ok(vec![]), "it lost something");
    // A record: an `ActionResult` with bytes in its standard output, which is all that servers have to keep of it.
    let (key, record) = (Hash::of(&now.to_le_bytes()), [&[0x2a, 100][..], &fill(100)].concat());
    let start = Instant::now();
    assert_eq!(remote.get(Name::Record(key), 1000, worth), Ok(None));
    assert_eq!(remote.has(Name::Record(key)), Ok(false));
    remote.put(Name::Record(key), &record).expect("room");
    assert_eq!(remote.has(Name::Record(key)), Ok(true));
    assert_eq!(remote.get(Name::Record(key), 1000, worth), Ok(Some(record)), "another record");
    timed("a record, looked for, sent and fetched", start);
    println!("{} will do", remote.name());
}

#[cfg(not(all(feature = "object-store", feature = "reapi")))]
fn main() {
    eprintln!("build it with --all-features");
}
