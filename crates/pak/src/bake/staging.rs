//! The staging area of a bake: finished payloads in one temporary file, in order of completion, so that memory holds only
//! the payloads in flight.

use kiln_engine::Real;
use kiln_engine::fs::Fill;
use kiln_engine::remote::Blob;
use kiln_engine::temporary::TemporaryFile;
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A temporary file that holds staged payloads.
pub(super) struct Staging<'a> {
    dir: &'a Real,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    file: Option<TemporaryFile>,
    end: u64,
    offsets: HashMap<Blob, u64>,
}

impl<'a> Staging<'a> {
    /// Creates an empty staging area; the file is created on the first write.
    pub(super) fn new(dir: &'a Real) -> Staging<'a> {
        Staging { dir, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a payload, unless it is already staged.
    pub(super) fn put(&self, blob: Blob, fill: Fill<'_>) -> io::Result<()> {
        let mut state = self.lock();
        if state.offsets.contains_key(&blob) {
            return Ok(());
        }
        if state.file.is_none() {
            state.file = Some(self.dir.temporary_file()?);
        }
        let (end, file) = (state.end, state.file.as_ref().ok_or(io::ErrorKind::NotFound)?);
        let mut file = file.file();
        file.seek(SeekFrom::Start(end))?;
        fill(&mut file)?;
        if file.stream_position()? != end + blob.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        state.end += blob.len;
        state.offsets.insert(blob, end);
        Ok(())
    }

    /// Copies a staged payload to `out`; returns `false` if it is not staged.
    pub(super) fn copy(&self, blob: Blob, out: &mut dyn Write) -> io::Result<bool> {
        let state = self.lock();
        let (Some(offset), Some(file)) = (state.offsets.get(&blob), &state.file) else { return Ok(false) };
        let mut file = file.file();
        file.seek(SeekFrom::Start(*offset))?;
        copy(&mut file, blob.len, out).map(|()| true)
    }
}

/// Copies `len` bytes through a small buffer; the pages of a mapped file would count as resident memory.
pub(super) fn copy(from: &mut dyn Read, mut len: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut buffer = vec![0; 256 << 10];
    while len > 0 {
        let part = &mut buffer[..len.min(256 << 10) as usize];
        from.read_exact(part)?;
        out.write_all(part)?;
        len -= part.len() as u64;
    }
    Ok(())
}
