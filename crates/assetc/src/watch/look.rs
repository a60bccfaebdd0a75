//! Everything a build depends on, and everything it left, at a glance.
//!
//! Two looks that are equal mean that a build would do what the last one did, so it need not run: neither to find that
//! nothing is to be done, nor to fail once more. That is only true of a look after whose build nothing more happened,
//! and whose files are old enough that another change would show ([`Look::is_sure`]).

use crate::config::{Config, Roots};
use crate::output::JOURNAL;
use kiln_engine::inputs::racy_until;
use kiln_engine::{Fs, Real, Tree};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

/// No configuration is larger; of one that is, this much tells whether it changed.
const CONFIG_BYTES: u64 = 16 << 20;

/// What was there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    config: Option<Vec<u8>>,
    input: Option<Tree>,
    output: Option<Tree>,
    pack: Option<(u64, Option<SystemTime>)>,
}

impl Look {
    /// The configuration alone, which tells where the rest is.
    pub(super) fn at_config(start: &Path) -> Look {
        let read = |file: &Path| {
            let mut bytes = Vec::new();
            let is_file = std::fs::metadata(file).is_ok_and(|meta| meta.is_file());
            let open = is_file.then(|| std::fs::File::open(file).ok()).flatten()?;
            open.take(CONFIG_BYTES).read_to_end(&mut bytes).ok()?;
            // Another file with the same text is another configuration: directories are relative to it.
            bytes.extend(file.as_os_str().as_encoded_bytes());
            Some(bytes)
        };
        Look { config: Config::find(start).and_then(|file| read(&file)), ..Look::default() }
    }

    /// All the rest.
    pub(super) fn at_trees(&mut self, roots: &Roots) {
        let walk = |dir: &Path, boundary| Real::open(dir).and_then(|real| real.walk(boundary)).ok();
        (self.input, self.output) =
            rayon::join(|| walk(&roots.input, None), || walk(&roots.output, Some(JOURNAL)));
        let meta = std::fs::metadata(&roots.pack).ok();
        self.pack = meta.map(|meta| (meta.len(), meta.modified().ok()));
    }

    /// Whether the configuration is the same.
    pub(super) fn same_config(&self, other: &Look) -> bool {
        self.config == other.config
    }

    /// Whether no file could have changed since without its stamp telling. A tree with links never is.
    pub(super) fn is_sure(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX));
        let files = self.input.iter().flat_map(Tree::files);
        files.map(|(_, stamp)| racy_until(stamp)).all(|until| until < now)
    }
}
