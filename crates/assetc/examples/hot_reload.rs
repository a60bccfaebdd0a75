//! Hot reload in a game: the client side of `assetc watch --notify 7750`.
//!
//! `cargo run -p assetc --example hot_reload -- 127.0.0.1:7750 runtime`. The example uses only the standard library; a
//! game with a JSON parser would use that. `docs/guide/watch.md` documents the protocol.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The changed and removed files of one build.
pub(crate) struct Change {
    ok: bool,
    pub(crate) changed: Vec<String>,
    pub(crate) removed: Vec<String>,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let address = args.next().unwrap_or_else(|| "127.0.0.1:7750".to_owned());
    let runtime = PathBuf::from(args.next().unwrap_or_else(|| "runtime".to_owned()));
    let changes = listen(address);
    // The loaded assets of the game; here, just their bytes.
    let mut loaded: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    loop {
        // Once per frame, without blocking.
        for change in changes.try_iter() {
            apply(&mut loaded, &runtime, &change);
        }
        std::thread::sleep(Duration::from_millis(16));
    }
}

/// Receives notifications on a background thread, and reconnects when the watch is restarted.
pub(crate) fn listen(address: String) -> Receiver<Change> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        loop {
            if let Ok(stream) = TcpStream::connect(&address) {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let ok = line.contains("\"ok\":true");
                    let (changed, removed) = (strings(&line, "changed"), strings(&line, "removed"));
                    if sender.send(Change { ok, changed, removed }).is_err() {
                        return;
                    }
                }
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    });
    receiver
}

#[allow(clippy::print_stdout, reason = "an example program")]
pub(crate) fn apply(loaded: &mut BTreeMap<String, Vec<u8>>, runtime: &Path, change: &Change) {
    if !change.ok {
        println!("the last build had errors; the outputs of all other sources are up to date");
    }
    for path in &change.removed {
        loaded.remove(path);
        println!("removed {path}");
    }
    for path in &change.changed {
        // Files are renamed into place, so a read returns the old or the new content, and never a mixture.
        if let Ok(bytes) = std::fs::read(runtime.join(path)) {
            println!("loaded {path}, {} bytes", bytes.len());
            loaded.insert(path.clone(), bytes);
        }
    }
}

/// Returns the list of strings of a member, in an object as the watch writes it: on one line, without spaces or duplicate
/// members.
fn strings(line: &str, name: &str) -> Vec<String> {
    let mut list = Vec::new();
    let Some((_, rest)) = line.split_once(&format!("\"{name}\":[")) else { return list };
    let mut chars = rest.chars();
    while chars.next() == Some('"') {
        let mut text = String::new();
        loop {
            match chars.next() {
                Some('"') => break,
                Some('\\') => match chars.next() {
                    Some('n') => text.push('\n'),
                    Some('u') => {
                        let code: String = chars.by_ref().take(4).collect();
                        text.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
                    }
                    other => text.extend(other),
                },
                Some(c) => text.push(c),
                None => return list,
            }
        }
        list.push(text);
        if chars.next() != Some(',') {
            break;
        }
    }
    list
}
