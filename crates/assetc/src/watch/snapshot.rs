//! Snapshots of everything that a build reads and writes: configuration, input tree, output tree and pack.
//!
//! Two equal snapshots mean that a build would do what the last one did, so it need not run: neither to find that
//! everything is up to date, nor to fail once more. This holds only for a snapshot after whose build nothing else
//! changed, and whose files are old enough that another change would show in their timestamps
//! ([`Snapshot::is_stable`]).

use crate::config::{Config, Roots};
use crate::output::JOURNAL;
use kiln_engine::inputs::racy_until;
use kiln_engine::{Fs, Real, Tree};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

/// Most bytes of a configuration that are compared. A larger file is refused by the parser.
const CONFIG_BYTES: u64 = 16 << 20;

/// The state of a project at one moment, by content for the configuration and by timestamps for the trees.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    config: Option<Vec<u8>>,
    input: Option<Tree>,
    output: Option<Tree>,
    pack: Option<(u64, Option<SystemTime>)>,
}

impl Snapshot {
    /// Takes a snapshot of the configuration alone, which names the directories of the rest.
    pub(super) fn of_config(start: &Path) -> Snapshot {
        let read = |file: &Path| {
            let mut bytes = Vec::new();
            let is_file = std::fs::metadata(file).is_ok_and(|meta| meta.is_file());
            let open = is_file.then(|| std::fs::File::open(file).ok()).flatten()?;
            open.take(CONFIG_BYTES).read_to_end(&mut bytes).ok()?;
            // Another file with the same text is another configuration: directories are relative to it.
            bytes.extend(file.as_os_str().as_encoded_bytes());
            Some(bytes)
        };
        Snapshot { config: Config::find(start).and_then(|file| read(&file)), ..Snapshot::default() }
    }

    /// Adds the input tree, the output tree and the pack.
    pub(super) fn add_trees(&mut self, roots: &Roots) {
        let walk = |dir: &Path, boundary| Real::open(dir).and_then(|real| real.walk(boundary)).ok();
        (self.input, self.output) =
            rayon::join(|| walk(&roots.input, None), || walk(&roots.output, Some(JOURNAL)));
        let meta = std::fs::metadata(&roots.pack).ok();
        self.pack = meta.map(|meta| (meta.len(), meta.modified().ok()));
    }

    /// Returns whether two snapshots have the same configuration.
    pub(super) fn same_config(&self, other: &Snapshot) -> bool {
        self.config == other.config
    }

    /// Returns whether every later change of an input would show in its timestamps. A tree with links is never stable.
    pub(super) fn is_stable(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
        let files = self.input.iter().flat_map(Tree::files);
        files.map(|(_, stamp)| racy_until(stamp)).all(|until| until < now)
    }
}
