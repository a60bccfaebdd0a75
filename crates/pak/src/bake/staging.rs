//! The staging area of a bake: the payloads that are finished.
//!
//! A payload goes straight to its place in the file that becomes the pak, as soon as all payloads before it are there. One
//! that is finished early waits in memory, as far as [`HELD_BYTES`] and the memory limit permit, and otherwise in a second
//! file. So most payloads are written once, and memory holds few of them. The scheduler counts what waits.

mod spill_file;

pub(super) use spill_file::copy;

use kiln_engine::remote::Blob;
use kiln_engine::temporary::TemporaryFile;
use kiln_engine::{Real, RelPath};
use kiln_format::pak::Kind;
use kiln_format::pak::write::{FIRST_PAYLOAD, next_payload};
use spill_file::SpillFile;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most bytes of payloads that wait in memory, and their greatest share of the memory limit.
const HELD_BYTES: u64 = 64 << 20;
const HELD_SHARE: u64 = 8;

/// The message about a collision of checksums.
pub(super) const SAME_CHECKSUMS: &str = "two payloads with different content have the same checksums";

/// The assets of a pak in the order of their payloads, with their kinds. Equal payloads of one kind are stored once.
pub(super) type PayloadOrder = HashMap<RelPath, (usize, Kind)>;

/// The staged payloads.
pub(super) struct Staging<'a> {
    /// The directory of the pak.
    out: &'a Real,
    /// The places of payloads in the pak, if all of them are baked in this run; empty otherwise.
    order: PayloadOrder,
    /// The most bytes of payloads that wait in memory.
    budget: u64,
    /// The bytes that wait, for readers without the lock, which is held during writes.
    held_bytes: AtomicU64,
    state: Mutex<State<'a>>,
}

struct State<'a> {
    assembly: Assembly,
    /// Payloads that wait for others, by their number in the order.
    waiting: BTreeMap<usize, (Kind, Blob)>,
    held: HashMap<Blob, Vec<u8>>,
    held_bytes: u64,
    spilled: SpillFile<'a>,
}

/// The pak in the making: its first payloads.
#[derive(Default)]
pub(super) struct Assembly {
    file: Option<TemporaryFile>,
    /// The payloads that are in place, and the end of the last.
    payloads: Vec<Blob>,
    offsets: HashMap<Blob, u64>,
    end: u64,
    /// The number in the order that comes next, and what is stored so far.
    next: usize,
    stored: HashSet<(Kind, Blob)>,
}

impl<'a> Staging<'a> {
    /// Creates an empty staging area; files are created on the first write. `max_memory` is the memory limit of the bake.
    pub(super) fn new(out: &'a Real, cache: &'a Real, order: PayloadOrder, max_memory: u64) -> Staging<'a> {
        let state = State {
            assembly: Assembly { end: FIRST_PAYLOAD, ..Assembly::default() },
            waiting: BTreeMap::new(),
            held: HashMap::new(),
            held_bytes: 0,
            spilled: SpillFile::new(cache),
        };
        let budget = HELD_BYTES.min(max_memory / HELD_SHARE);
        Staging { out, order, budget, held_bytes: AtomicU64::new(0), state: Mutex::new(state) }
    }

    /// Returns the bytes of payloads that wait in memory.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stages the payload of an asset, unless it is already staged.
    ///
    /// # Errors
    /// If a file cannot be written, or another payload has the same identity.
    pub(super) fn put(&self, asset: &RelPath, blob: Blob, bytes: Vec<u8>) -> io::Result<()> {
        let mut state = self.lock();
        let staged = self.put_locked(&mut state, asset, blob, bytes);
        self.held_bytes.store(state.held_bytes, Relaxed);
        staged
    }

    fn put_locked(
        &self,
        state: &mut State<'a>,
        asset: &RelPath,
        blob: Blob,
        bytes: Vec<u8>,
    ) -> io::Result<()> {
        if state.contains(blob) {
            if !state.equals(blob, &bytes)? {
                return Err(io::Error::new(io::ErrorKind::InvalidData, SAME_CHECKSUMS));
            }
        } else {
            state.held_bytes += blob.len;
            state.held.insert(blob, bytes);
        }
        if let Some((number, kind)) = self.order.get(asset) {
            state.waiting.insert(*number, (*kind, blob));
            state.place(self.out)?;
        }
        match state.held_bytes > self.budget {
            true => state.spill(blob),
            false => Ok(()),
        }
    }

    /// Stages a payload whose content `fill` writes.
    pub(super) fn spill(&self, blob: Blob, fill: kiln_engine::fs::Fill<'_>) -> io::Result<()> {
        let mut state = self.lock();
        if state.contains(blob) { Ok(()) } else { state.spilled.put(blob, fill) }
    }

    /// Copies a staged payload to `out`; returns `false` if it is not staged.
    pub(super) fn copy(&self, blob: Blob, out: &mut dyn Write) -> io::Result<bool> {
        self.lock().copy(blob, out)
    }

    /// Takes the assembled file and the number of payloads in it, if they are the first ones of the pak. The file is then
    /// positioned after them.
    pub(super) fn take_assembled(
        &self,
        payloads: impl Iterator<Item = Blob>,
    ) -> io::Result<Option<(TemporaryFile, usize)>> {
        let assembly = &mut self.lock().assembly;
        let is_prefix = assembly.payloads.iter().copied().eq(payloads.take(assembly.payloads.len()));
        let Some(file) = assembly.file.take_if(|_| is_prefix) else { return Ok(None) };
        file.file().seek(SeekFrom::Start(assembly.end))?;
        Ok(Some((file, assembly.payloads.len())))
    }
}

impl State<'_> {
    fn contains(&self, blob: Blob) -> bool {
        self.held.contains_key(&blob)
            || self.assembly.offsets.contains_key(&blob)
            || self.spilled.contains(blob)
    }

    /// Moves the payloads whose turn it is to the assembled file.
    fn place(&mut self, out: &Real) -> io::Result<()> {
        while let Some((kind, blob)) = self.waiting.remove(&self.assembly.next) {
            self.assembly.next += 1;
            if !self.assembly.stored.insert((kind, blob)) {
                continue;
            }
            match self.held.remove(&blob) {
                Some(bytes) => {
                    self.held_bytes -= blob.len;
                    self.assembly.append(out, blob, &mut |file| file.write_all(&bytes))?;
                }
                // Finished while memory was full, or also an asset of another kind.
                None => {
                    let mut bytes = Vec::new();
                    self.copy(blob, &mut bytes)?;
                    self.assembly.append(out, blob, &mut |file| file.write_all(&bytes))?;
                }
            }
        }
        Ok(())
    }

    /// Moves a payload from memory to the second file.
    fn spill(&mut self, blob: Blob) -> io::Result<()> {
        let Some(bytes) = self.held.remove(&blob) else { return Ok(()) };
        self.held_bytes -= blob.len;
        self.spilled.put(blob, &mut |file| file.write_all(&bytes))
    }

    fn copy(&self, blob: Blob, out: &mut dyn Write) -> io::Result<bool> {
        if let Some(bytes) = self.held.get(&blob) {
            return out.write_all(bytes).map(|()| true);
        }
        if let (Some(offset), Some(file)) = (self.assembly.offsets.get(&blob), &self.assembly.file) {
            return copy(file.file(), *offset, blob.len, out).map(|()| true);
        }
        self.spilled.copy(blob, out)
    }

    /// Returns `true` if a staged payload has these bytes.
    fn equals(&self, blob: Blob, bytes: &[u8]) -> io::Result<bool> {
        struct Compare<'b>(&'b [u8], bool);
        impl Write for Compare<'_> {
            fn write(&mut self, staged: &[u8]) -> io::Result<usize> {
                self.1 &= self.0.split_off(..staged.len()) == Some(staged);
                Ok(staged.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut compare = Compare(bytes, true);
        self.copy(blob, &mut compare)?;
        Ok(compare.1 && compare.0.is_empty())
    }
}

impl Assembly {
    fn append(&mut self, out: &Real, blob: Blob, fill: kiln_engine::fs::Fill<'_>) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(out.temporary_file()?);
        }
        let (start, mut file) =
            (next_payload(self.end), self.file.as_ref().ok_or(io::ErrorKind::NotFound)?.file());
        // What a seek skips reads as zeros: the header, which is written last, and padding.
        file.seek(SeekFrom::Start(start))?;
        fill(&mut file)?;
        self.offsets.insert(blob, start);
        self.payloads.push(blob);
        self.end = start + blob.len;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_engine::Hash;

    const MAX: u64 = u64::MAX;

    fn path(name: &str) -> RelPath {
        RelPath::new(name).unwrap()
    }

    fn blob(name: &str) -> Blob {
        Blob { hash: Hash::of(name.as_bytes()), len: 20 }
    }

    fn content(name: &str) -> Vec<u8> {
        name.as_bytes().iter().copied().cycle().take(20).collect()
    }

    fn order(names: &[&str]) -> PayloadOrder {
        names.iter().enumerate().map(|(number, name)| (path(name), (number, Kind::Blob))).collect()
    }

    /// Whatever is finished first and however little memory there is, payloads are in the order of the pak.
    #[test]
    fn payloads_are_assembled_in_order() {
        let names = ["a", "b", "c", "d"];
        for (finished, budget) in
            [("abcd", 64), ("dcba", 64), ("bdac", 64), ("dcba", 25), ("cdba", 0), ("bdac", 0)]
        {
            let dir = tempfile::tempdir().unwrap();
            let out = Real::open(dir.path()).unwrap();
            let staging = Staging { budget, ..Staging::new(&out, &out, order(&names), MAX) };
            for name in finished.split("").filter(|name| !name.is_empty()) {
                staging.put(&path(name), blob(name), content(name)).unwrap();
            }
            for name in names {
                let mut copied = Vec::new();
                assert!(staging.copy(blob(name), &mut copied).unwrap());
                assert_eq!(copied, content(name), "{finished} {budget}");
            }
            let (file, count) = staging.take_assembled(names.iter().map(|name| blob(name))).unwrap().unwrap();
            assert_eq!(count, 4);
            let mut bytes = Vec::new();
            file.file().seek(SeekFrom::Start(0)).unwrap();
            std::io::Read::read_to_end(&mut file.file(), &mut bytes).unwrap();
            let mut expected = vec![0; FIRST_PAYLOAD as usize];
            for name in names {
                expected.resize(expected.len().next_multiple_of(16), 0);
                expected.extend(content(name));
            }
            assert_eq!(bytes, expected, "{finished} {budget}");
        }
    }

    #[test]
    fn waiting_payloads_are_counted_and_limited_by_the_memory_limit() {
        let dir = tempfile::tempdir().unwrap();
        let out = Real::open(dir.path()).unwrap();
        let staging = Staging::new(&out, &out, order(&["a", "b", "c", "d"]), 45 * HELD_SHARE);
        let put = |name: &str| {
            staging.put(&path(name), blob(name), content(name)).unwrap();
            staging.held_bytes()
        };
        assert_eq!([put("c"), put("d")], [20, 40]);
        assert_eq!(put("b"), 40, "no more than 45 bytes wait in memory");
        assert_eq!(put("a"), 0, "all are in place");
        assert_eq!(Staging::new(&out, &out, PayloadOrder::new(), MAX).budget, HELD_BYTES);
    }

    #[test]
    fn equal_payloads_of_one_kind_are_written_once() {
        let dir = tempfile::tempdir().unwrap();
        let out = Real::open(dir.path()).unwrap();
        let mut order = order(&["a", "b", "c"]);
        order.insert(path("c"), (2, Kind::Mesh));
        let staging = Staging::new(&out, &out, order, MAX);
        for name in ["b", "c", "a"] {
            staging.put(&path(name), blob("x"), content("x")).unwrap();
        }
        let (_, count) = staging.take_assembled([blob("x"), blob("x")].into_iter()).unwrap().unwrap();
        assert_eq!(count, 2, "a and b are one payload, c is of another kind");
    }

    #[test]
    fn an_unfinished_pak_is_used_as_far_as_it_is_the_start_of_the_layout() {
        let dir = tempfile::tempdir().unwrap();
        let out = Real::open(dir.path()).unwrap();
        let staging = |missing: &str| {
            let staging = Staging::new(&out, &out, order(&["a", "b", "c"]), MAX);
            for name in ["c", "b", "a"].into_iter().filter(|name| *name != missing) {
                staging.put(&path(name), blob(name), content(name)).unwrap();
            }
            staging
        };
        let all = || ["a", "b", "c"].iter().map(|name| blob(name));
        assert_eq!(staging("b").take_assembled(all()).unwrap().map(|(_, count)| count), Some(1));
        assert!(staging("a").take_assembled(all()).unwrap().is_none(), "nothing is in place");
        assert!(staging("").take_assembled(all().rev()).unwrap().is_none(), "another order");
    }

    #[test]
    fn different_content_with_one_identity_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let out = Real::open(dir.path()).unwrap();
        for budget in [0, 64] {
            let staging = Staging { budget, ..Staging::new(&out, &out, PayloadOrder::new(), MAX) };
            staging.put(&path("a"), blob("x"), content("a")).unwrap();
            staging.put(&path("b"), blob("x"), content("a")).unwrap();
            assert!(staging.put(&path("c"), blob("x"), content("b")).is_err());
        }
    }
}
