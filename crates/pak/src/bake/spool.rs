//! Baked content on its way into a file: kept on disk in the order in which it was finished, so that memory holds only
//! what is being worked on.

use super::compress::{Packed, Stored};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A temporary file of contents.
pub(crate) struct Spool {
    path: PathBuf,
    inner: Mutex<Inner>,
}

struct Inner {
    file: Option<File>,
    end: u64,
    places: HashMap<Stored, u64>,
}

impl Spool {
    /// An empty one; the file appears when something is put into it.
    pub(crate) fn new(path: PathBuf) -> Spool {
        Spool { path, inner: Mutex::new(Inner { file: None, end: 0, places: HashMap::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps content; what is there already is not kept twice.
    pub(crate) fn put(&self, packed: &Packed) -> io::Result<()> {
        let mut inner = self.lock();
        if inner.places.contains_key(&packed.stored) {
            return Ok(());
        }
        if inner.file.is_none() {
            // New: what is at this name is not ours, and a link there is not followed.
            let file = File::options().read(true).write(true).create_new(true).open(&self.path)?;
            inner.file = Some(file);
        }
        let end = inner.end;
        if let Some(file) = &mut inner.file {
            file.seek(SeekFrom::Start(end))?;
            file.write_all(&packed.bytes)?;
        }
        inner.end += packed.bytes.len() as u64;
        inner.places.insert(packed.stored.clone(), end);
        Ok(())
    }

    /// Whether some content is here.
    pub(crate) fn contains(&self, stored: &Stored) -> bool {
        self.lock().places.contains_key(stored)
    }

    /// Copies content that is here.
    pub(crate) fn copy(&self, stored: &Stored, out: &mut dyn Write) -> io::Result<()> {
        let mut inner = self.lock();
        let place = inner.places.get(stored).copied().ok_or(io::ErrorKind::NotFound)?;
        let Some(file) = &mut inner.file else { return Err(io::ErrorKind::NotFound.into()) };
        file.seek(SeekFrom::Start(place))?;
        copy(file, stored.stored_len(), out)
    }
}

/// Copies that many bytes through a small buffer: a mapped file would count as memory.
pub(crate) fn copy(from: &mut dyn Read, mut len: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut buffer = vec![0; 256 << 10];
    while len > 0 {
        let part = &mut buffer[..len.min(256 << 10) as usize];
        from.read_exact(part)?;
        out.write_all(part)?;
        len -= part.len() as u64;
    }
    Ok(())
}

impl Drop for Spool {
    fn drop(&mut self) {
        if self.lock().file.take().is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}
