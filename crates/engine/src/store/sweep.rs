//! Size and LRU eviction of the local cache.
//!
//! Records and blobs are evicted by the same rule. A record whose blob was evicted is a miss, and the action runs again.

use super::local::{CacheFile, Kind, Local};
use std::time::{Duration, SystemTime};

/// The minimum time between two automatic evictions.
const SWEEP_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// The number and size of the entries of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of records: results of actions, shared results and path sets.
    pub records: usize,
    /// The number of blobs.
    pub blobs: usize,
    /// The total size in bytes.
    pub bytes: u64,
    /// The time of last use of the least recently used file.
    pub oldest: Option<SystemTime>,
}

/// The result of an eviction or of a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// The number of evicted files.
    pub removed: usize,
    /// The size of the evicted files in bytes.
    pub freed: u64,
    /// The remaining size in bytes.
    pub left: u64,
}

pub(super) fn stats(local: &Local) -> Stats {
    let mut stats = Stats::default();
    for kind in Kind::ALL {
        for CacheFile { used, len, .. } in local.files(kind) {
            *(if kind == Kind::Record { &mut stats.records } else { &mut stats.blobs }) += 1;
            stats.bytes += len;
            stats.oldest = Some(stats.oldest.map_or(used, |oldest| oldest.min(used)));
        }
    }
    stats
}

pub(super) fn sweep(local: &Local, max_bytes: u64, dry_run: bool) -> Swept {
    let mut files: Vec<_> = Kind::ALL.into_iter().flat_map(|kind| local.files(kind)).collect();
    files.sort();
    let mut swept = Swept { left: files.iter().map(|file| file.len).sum(), ..Swept::default() };
    for CacheFile { len, kind, hash, .. } in files {
        if swept.left <= max_bytes {
            break;
        }
        if dry_run || local.remove(kind, hash) {
            swept.removed += 1;
            swept.freed += len;
            swept.left -= len;
        }
    }
    if !dry_run {
        local.sweep();
        local.note_swept();
    }
    swept
}

/// Returns whether the last eviction was more than a day ago. The first day starts with the first build.
pub(super) fn is_due(local: &Local) -> bool {
    match local.swept_at() {
        Some(at) => at.elapsed().is_ok_and(|age| age > SWEEP_INTERVAL),
        None => {
            local.note_swept();
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hash;
    use std::fs::File;

    #[test]
    fn evicts_least_recently_used_files_first() {
        let dir = tempfile::tempdir().unwrap();
        let local = Local::open(dir.path()).unwrap();
        let now = SystemTime::now();
        for n in 0..10u8 {
            let kind = Kind::ALL[usize::from(n % 2)];
            local.put(kind, Hash::of(&[n]), &[n; 100]).unwrap();
            let name = Hash::of(&[n]).to_string();
            let path = dir.path().join(kind.name()).join(&name[..2]).join(name);
            let used = now - Duration::from_secs(1000 * u64::from(n));
            File::options().write(true).open(path).unwrap().set_modified(used).unwrap();
        }
        let before = stats(&local);
        assert_eq!((before.records, before.blobs, before.bytes), (5, 5, 1000));
        let would = sweep(&local, 350, true);
        assert_eq!(would, Swept { removed: 7, freed: 700, left: 300 });
        assert_eq!(stats(&local), before);
        assert_eq!(sweep(&local, 350, false), would);
        let left: Vec<Hash> =
            Kind::ALL.into_iter().flat_map(|kind| local.files(kind)).map(|file| file.hash).collect();
        assert!((0..3u8).all(|n| left.contains(&Hash::of(&[n]))) && left.len() == 3, "{left:?}");
        assert_eq!(sweep(&local, 0, false).left, 0);
        assert!(!is_due(&local));
    }
}
