//! The watcher of a directory of runtime files: `assetc watch --notify ADDRESS` tells it which files have changed.
//!
//! Files are renamed into place before the notification, so what is loaded then is complete.

use async_channel::Sender;
use bevy_asset::io::file::FileAssetReader;
use bevy_asset::io::{AssetSourceBuilder, AssetSourceEvent, AssetWatcher};
use serde::Deserialize;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// A line of the protocol: docs/guide/watch.md.
#[derive(Deserialize)]
struct Notification {
    changed: Vec<PathBuf>,
    removed: Vec<PathBuf>,
}

/// Returns an asset source that reads a directory and reloads what the watch at `address` says has changed.
pub fn source(directory: impl Into<PathBuf>, address: Option<String>) -> AssetSourceBuilder {
    let directory = directory.into();
    let source = AssetSourceBuilder::new(move || Box::new(FileAssetReader::new(&directory)));
    source.with_watcher(move |sender| Some(Box::new(Watch::start(address.clone()?, sender))))
}

/// A running watcher; it ends when it is dropped.
struct Watch(Arc<AtomicBool>);

impl AssetWatcher for Watch {}

impl Watch {
    fn start(address: String, sender: Sender<AssetSourceEvent>) -> Watch {
        let stopped = Arc::new(AtomicBool::new(false));
        let seen = stopped.clone();
        std::thread::spawn(move || {
            // Connects again when the watch is restarted.
            while !seen.load(Relaxed) && !sender.is_closed() {
                if let Ok(stream) = TcpStream::connect(&address) {
                    for line in BufReader::new(stream).lines().map_while(Result::ok) {
                        let Ok(Notification { changed, removed }) = serde_json::from_str(&line) else {
                            continue;
                        };
                        let changed = changed.into_iter().map(AssetSourceEvent::ModifiedAsset);
                        let events = changed.chain(removed.into_iter().map(AssetSourceEvent::RemovedAsset));
                        if events.map(|event| sender.send_blocking(event)).any(|sent| sent.is_err()) {
                            return;
                        }
                    }
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Watch(stopped)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
