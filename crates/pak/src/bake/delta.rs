//! Delta patches: finds the bytes of a new pak in an old one, and writes a patch of the others.
//!
//! The old file is indexed by the hash of its chunks; the new one is scanned with a rolling hash of the same width, and
//! every match is extended in both directions. So the patch is about as large as the changed content, wherever it moved:
//! a compressed asset counts as a whole block of at most 1 MiB, an uncompressed one byte by byte.

use super::compression::{Compression, compress};
use crate::checksum::checksum;
use crate::source::Source;
use crate::{Codec, Error, Kind, Options, PakBuf};
use kiln_format::pak::patch::{
    LITERAL, LITERALS_KEY, OPERATIONS_KEY, PatchHead, PatchOperation, VERSION, write as write_operations,
};
use kiln_format::pak::write::{self, AssetBlocks, FIRST_PAYLOAD, next_payload};
use std::path::Path;

/// The smallest chunk of the old file that is found again, in bytes.
const MIN_CHUNK: usize = 64;
/// The maximum number of chunks in the table: larger files have larger chunks.
const MAX_CHUNKS: usize = 1 << 22;
/// The multiplier of the rolling hash: an odd number without structure.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A patch and its figures.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PatchFile {
    /// The content of the patch: a pak.
    pub bytes: Vec<u8>,
    /// The bytes of the new pak that the old one does not have, before compression.
    pub new_len: u64,
    /// The bytes of the new pak that are copied from the old one.
    pub copied_len: u64,
}

/// Makes the patch that turns one pak into another. The result was applied and compared with the new pak.
///
/// # Errors
/// As for [`PakBuf::open`], and [`Error::Patch`] if one of the files changes meanwhile.
pub fn make_patch(old: &Path, new: &Path) -> Result<PatchFile, Error> {
    let head = |path: &Path| PakBuf::open(path).map(|pak| (pak.file_len(), pak.header_checksum()));
    let ((old_len, old_checksum), (new_len, new_checksum)) = (head(old)?, head(new)?);
    let map = |path| Source::file(path, None, true);
    let (old_source, new_source) = (map(old)?, map(new)?);
    let changed = || Error::Patch { why: "a pak changed while it was read".to_owned() };
    let old_bytes = old_source.in_place(0, old_len).filter(|bytes| bytes.len() as u64 == old_len);
    let new_bytes = new_source.in_place(0, new_len).filter(|bytes| bytes.len() as u64 == new_len);
    let (old_bytes, new_bytes) = (old_bytes.ok_or_else(changed)?, new_bytes.ok_or_else(changed)?);
    let (operations, literals) = delta(&old_bytes, &new_bytes);
    let literal_len = literals.len() as u64;
    let count = u32::try_from(operations.len());
    let head = PatchHead {
        version: VERSION,
        operations: count
            .map_err(|_| Error::Patch { why: "the paks have too many differences".to_owned() })?,
        old_len,
        old_checksum,
        new_len,
        new_checksum,
    };
    let blobs = [(LITERALS_KEY, literals), (OPERATIONS_KEY, write_operations(head, &operations))];
    let bytes = pak_of(blobs)?;
    let patch = PakBuf::from_bytes_with(&bytes, Options::default().max_decoded(u64::MAX))?;
    let applied = PakBuf::patched(PakBuf::open(old)?, patch, Options::default())?;
    let mut at = 0;
    applied.copy_to(&mut Compare { expected: &new_bytes, at: &mut at })?;
    match at as u64 == new_len {
        true => Ok(PatchFile { bytes, new_len: literal_len, copied_len: new_len - literal_len }),
        false => Err(changed()),
    }
}

/// A writer that compares what it gets with expected bytes.
struct Compare<'a> {
    expected: &'a [u8],
    at: &'a mut usize,
}

impl std::io::Write for Compare<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.expected.get(*self.at..).is_some_and(|rest| rest.starts_with(bytes)) {
            true => *self.at += bytes.len(),
            false => return Err(std::io::Error::other("the patched pak differs from the new one")),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Returns a pak of blobs, compressed where it helps.
fn pak_of<const N: usize>(blobs: [(&str, Vec<u8>); N]) -> Result<Vec<u8>, Error> {
    let compression = Compression { quality: 15, ..Compression::of(Codec::Zstd) };
    let (mut assets, mut keys, mut payloads) = (Vec::new(), Vec::new(), Vec::new());
    for (id, (key, content)) in (0..).zip(blobs) {
        let compressed = compress(content, compression);
        let stored = compressed.stored;
        assets.push(AssetBlocks {
            kind: Kind::Blob,
            len: stored.len,
            codec: stored.codec,
            block_log2: stored.block_log2,
            blocks: stored.format_blocks(),
            refs: vec![],
        });
        keys.push((key.to_owned(), Kind::Blob, id));
        payloads.push(compressed.bytes);
    }
    let index = write::index(&assets, &[], &mut keys)?;
    let end = payloads.iter().fold(FIRST_PAYLOAD, |at, bytes| next_payload(at + bytes.len() as u64));
    let mut out = write::header(end, index.len() as u64, checksum(&index), checksum);
    for bytes in payloads {
        out.resize(next_payload(out.len() as u64) as usize, 0);
        out.extend(bytes);
    }
    out.resize(end as usize, 0);
    out.extend(index);
    Ok(out)
}

/// Returns the operations that make `new` from `old`, and the new bytes they take.
fn delta(old: &[u8], new: &[u8]) -> (Vec<PatchOperation>, Vec<u8>) {
    let chunks = ChunkTable::new(old);
    let width = chunks.width;
    let (mut operations, mut literals) = (Vec::new(), Vec::new());
    // Everything before `done` is covered by an operation; `at` is the start of the window.
    let (mut done, mut at) = (0, 0);
    let mut hash = RollingHash::new(width);
    hash.reset(new.get(..width).unwrap_or_default());
    let mut literal = |operations: &mut Vec<PatchOperation>, bytes: &[u8]| {
        if !bytes.is_empty() {
            operations.push(PatchOperation { old_offset: LITERAL, len: bytes.len() as u64 });
            literals.extend_from_slice(bytes);
        }
    };
    while let Some(window) = new.get(at..at + width) {
        let Some(found) = chunks.find(hash.value, window) else {
            if let Some(next) = new.get(at + width) {
                hash.roll(new[at], *next);
            }
            at += 1;
            continue;
        };
        let back =
            old[..found].iter().rev().zip(new[done..at].iter().rev()).take_while(|(a, b)| a == b).count();
        let ahead = old[found..].iter().zip(&new[at..]).take_while(|(a, b)| a == b).count();
        literal(&mut operations, &new[done..at - back]);
        operations.push(PatchOperation { old_offset: (found - back) as u64, len: (back + ahead) as u64 });
        done = at + ahead;
        at = done;
        hash.reset(new.get(at..at + width).unwrap_or_default());
    }
    literal(&mut operations, &new[done..]);
    (operations, literals)
}

/// The chunks of the old file by hash, with open addressing. Of equal chunks the first is kept.
struct ChunkTable<'a> {
    old: &'a [u8],
    width: usize,
    /// The number of a chunk plus one; 0 is empty. The length is a power of two.
    slots: Vec<u32>,
}

/// The number of slots that a lookup tries.
const PROBES: usize = 8;

impl<'a> ChunkTable<'a> {
    fn new(old: &'a [u8]) -> ChunkTable<'a> {
        let width = (old.len() / MAX_CHUNKS).next_power_of_two().max(MIN_CHUNK);
        let count = old.len() / width;
        let mut table = ChunkTable { old, width, slots: vec![0; (2 * count).next_power_of_two().max(2)] };
        let mut hash = RollingHash::new(width);
        for (number, chunk) in (1..).zip(old.chunks_exact(width)) {
            hash.reset(chunk);
            if table.find(hash.value, chunk).is_none() {
                let free = table.probes(hash.value).find(|slot| table.slots[*slot] == 0);
                if let Some(slot) = free {
                    table.slots[slot] = number;
                }
            }
        }
        table
    }

    fn probes(&self, hash: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.slots.len() - 1;
        // The high bits of the product depend on all bits of the hash.
        let first = (hash.wrapping_mul(BASE) >> 32) as usize;
        (0..PROBES).map(move |probe| (first + probe) & mask)
    }

    /// Returns the offset of a chunk with these bytes.
    fn find(&self, hash: u64, bytes: &[u8]) -> Option<usize> {
        let chunks = self.probes(hash).map(|slot| self.slots[slot]).take_while(|number| *number != 0);
        let mut offsets = chunks.map(|number| (number as usize - 1) * self.width);
        offsets.find(|offset| self.old[*offset..*offset + self.width] == *bytes)
    }
}

/// A polynomial hash of a window that moves byte by byte.
struct RollingHash {
    value: u64,
    /// The factor of the byte that leaves the window.
    last: u64,
}

impl RollingHash {
    fn new(width: usize) -> RollingHash {
        RollingHash { value: 0, last: (1..width).fold(1, |power: u64, _| power.wrapping_mul(BASE)) }
    }

    fn reset(&mut self, window: &[u8]) {
        let add = |value: u64, byte: &u8| value.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1);
        self.value = window.iter().fold(0, add);
    }

    fn roll(&mut self, gone: u8, next: u8) {
        let rest = self.value.wrapping_sub((u64::from(gone) + 1).wrapping_mul(self.last));
        self.value = rest.wrapping_mul(BASE).wrapping_add(u64::from(next) + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes without repetition, from a linear congruential generator.
    fn noise(seed: u64, len: usize) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    fn apply(old: &[u8], operations: &[PatchOperation], literals: &[u8]) -> Vec<u8> {
        let mut rest = literals;
        let mut out = Vec::new();
        for operation in operations {
            let len = operation.len as usize;
            match operation.old_offset {
                LITERAL => out.extend(rest.split_off(..len).unwrap()),
                offset => out.extend(&old[offset as usize..offset as usize + len]),
            }
        }
        assert!(rest.is_empty());
        out
    }

    #[test]
    fn rolling_hash_equals_that_of_the_window() {
        let bytes = noise(1, 1000);
        let (mut rolling, mut fresh) = (RollingHash::new(64), RollingHash::new(64));
        rolling.reset(&bytes[..64]);
        for at in 0..bytes.len() - 64 {
            fresh.reset(&bytes[at..at + 64]);
            assert_eq!(rolling.value, fresh.value, "{at}");
            rolling.roll(bytes[at], bytes[at + 64]);
        }
    }

    #[test]
    fn delta_finds_moved_and_changed_bytes() {
        let old = noise(1, 100_000);
        let inserted = [&old[..30_000], &noise(2, 777), &old[30_000..]].concat();
        let moved = [&old[60_000..], &old[..60_000]].concat();
        let mut changed = old.clone();
        changed[50_000] ^= 1;
        for (new, most) in [
            (old.clone(), 0),
            (inserted, 777),
            (moved, 0),
            (changed, 1),
            (noise(3, 5000), 5000),
            (vec![], 0),
            (old[10_000..10_100].to_vec(), 100),
            ([&old[..], &vec![0; 10_000], &old[..]].concat(), 10_000),
        ] {
            let (operations, literals) = delta(&old, &new);
            assert_eq!(apply(&old, &operations, &literals), new);
            assert!(literals.len() <= most, "{} of {most}", literals.len());
        }
        let (operations, literals) = delta(&[], b"new");
        assert_eq!((operations.len(), &literals[..]), (1, &b"new"[..]));
        // Many equal chunks: the table keeps one of them.
        let zeros = vec![0; 1 << 20];
        let (operations, literals) = delta(&zeros, &zeros);
        assert_eq!((apply(&zeros, &operations, &literals) == zeros, literals.len()), (true, 0));
    }
}
