//! A temporary file with payloads in order of completion.

use kiln_engine::Real;
use kiln_engine::fs::Fill;
use kiln_engine::remote::Blob;
use kiln_engine::temporary::TemporaryFile;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// The payloads for which there is no room in memory.
pub(super) struct SpillFile<'a> {
    dir: &'a Real,
    file: Option<TemporaryFile>,
    end: u64,
    offsets: HashMap<Blob, u64>,
}

impl<'a> SpillFile<'a> {
    /// Creates an empty list; the file is created on the first write.
    pub(super) fn new(dir: &'a Real) -> SpillFile<'a> {
        SpillFile { dir, file: None, end: 0, offsets: HashMap::new() }
    }

    pub(super) fn contains(&self, blob: Blob) -> bool {
        self.offsets.contains_key(&blob)
    }

    /// Writes a payload.
    pub(super) fn put(&mut self, blob: Blob, fill: Fill<'_>) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(self.dir.temporary_file()?);
        }
        let mut file = self.file.as_ref().ok_or(io::ErrorKind::NotFound)?.file();
        file.seek(SeekFrom::Start(self.end))?;
        fill(&mut file)?;
        if file.stream_position()? != self.end + blob.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.offsets.insert(blob, self.end);
        self.end += blob.len;
        Ok(())
    }

    /// Copies a payload to `out`; returns `false` if the file does not contain it.
    pub(super) fn copy(&self, blob: Blob, out: &mut dyn Write) -> io::Result<bool> {
        let (Some(offset), Some(file)) = (self.offsets.get(&blob), &self.file) else { return Ok(false) };
        copy(file.file(), *offset, blob.len, out).map(|()| true)
    }
}

/// Copies `len` bytes at an offset through a small buffer; the pages of a mapped file would count as resident memory.
pub(in super::super) fn copy(
    mut from: &File,
    offset: u64,
    mut len: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    from.seek(SeekFrom::Start(offset))?;
    let mut buffer = vec![0; len.min(256 << 10) as usize];
    while len > 0 {
        let part = &mut buffer[..len.min(256 << 10) as usize];
        from.read_exact(part)?;
        out.write_all(part)?;
        len -= part.len() as u64;
    }
    Ok(())
}
