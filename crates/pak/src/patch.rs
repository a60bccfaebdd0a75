//! Delta patches applied on the fly: the old pak and a patch read as the new pak, without a copy of it.
//!
//! `pak patch` and `bake::write_patch` write a patch, which is itself a pak.

use crate::error::Error;
use crate::{BlobId, Options, Overlay, Pak, PakBuf, ReadAt};
use kiln_format::pak::patch::{LITERAL, LITERALS_KEY, OPERATIONS_KEY, PatchView};
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

/// The bytes of the new pak: ranges of the old pak and of the literals.
#[derive(Debug)]
struct PatchedSource {
    old: Arc<PakBuf>,
    patch: PakBuf,
    literals: BlobId,
    ranges: Vec<PatchedRange>,
    len: u64,
}

/// A range of the new pak.
#[derive(Debug)]
struct PatchedRange {
    /// The offset in the new pak.
    start: u64,
    /// The offset in the old pak, or in the literals.
    from: u64,
    is_literal: bool,
}

impl ReadAt for PatchedSource {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        let mut number = self.ranges.partition_point(|range| range.start <= offset).saturating_sub(1);
        while !out.is_empty() {
            let range = self.ranges.get(number).ok_or(io::ErrorKind::UnexpectedEof)?;
            let end = self.ranges.get(number + 1).map_or(self.len, |next| next.start);
            let left =
                end.checked_sub(offset).filter(|left| *left > 0).ok_or(io::ErrorKind::UnexpectedEof)?;
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
            let (part, rest) = out.split_at_mut(count);
            let from = range.from + (offset - range.start);
            if range.is_literal {
                let mut literals = self.patch.stream_blob_id(self.literals)?;
                literals.seek(SeekFrom::Start(from))?;
                literals.read_exact(part)?;
            } else {
                self.old.read_stored(from, part)?;
            }
            (out, offset, number) = (rest, offset + count as u64, number + 1);
        }
        Ok(())
    }
}

impl PakBuf {
    /// Returns whether this pak is a delta patch, whose assets are for [`PakBuf::patched`] alone.
    pub fn is_patch(&self) -> bool {
        [OPERATIONS_KEY, LITERALS_KEY].iter().all(|key| self.blob_id(key).is_some())
    }

    /// Applies a delta patch to an old pak, without writing the new one: assets are read from both files on demand. The
    /// result has the keys, ids and bytes of the new pak.
    ///
    /// # Errors
    /// [`Error::Patch`] if `patch` is not a patch, or one for another pak; otherwise as for [`PakBuf::open`].
    pub fn patched(old: impl Into<Arc<PakBuf>>, patch: PakBuf, options: Options) -> Result<PakBuf, Error> {
        let old = old.into();
        let refused = |why: &str| Error::Patch { why: why.to_owned() };
        let (Some(operations), Some(literals)) = (patch.blob_id(OPERATIONS_KEY), patch.blob_id(LITERALS_KEY))
        else {
            return Err(refused("the pak is not a patch"));
        };
        let operations = patch.read_blob_id(operations)?;
        let view = PatchView::read(&operations).map_err(|error| refused(&error.to_string()))?;
        if (view.head.old_len, view.head.old_checksum) != (old.file_len(), old.header_checksum()) {
            return Err(refused("the patch was made for another pak"));
        }
        if patch.stream_blob_id(literals)?.len() != view.literal_len {
            return Err(refused("the new bytes do not match the operations"));
        }
        let (mut start, mut literal) = (0, 0);
        let ranges = view.operations.iter().map(|operation| {
            let is_literal = operation.old_offset == LITERAL;
            let from = if is_literal { literal } else { operation.old_offset };
            let range = PatchedRange { start, from, is_literal };
            start += operation.len;
            literal += if is_literal { operation.len } else { 0 };
            range
        });
        let (ranges, head) = (ranges.collect(), view.head);
        let source = PatchedSource { old, patch, literals, ranges, len: head.new_len };
        let new = PakBuf::from_source_with(source, options)?;
        match new.header_checksum() == head.new_checksum {
            true => Ok(new),
            false => Err(refused("the result is not the new pak of the patch")),
        }
    }

    /// Writes the whole file, byte by byte as it is: the offline application of a patch.
    ///
    /// # Errors
    /// [`Error::Io`] if the source cannot be read or `out` cannot be written.
    pub fn copy_to(&self, out: &mut dyn io::Write) -> Result<(), Error> {
        let mut buffer = vec![0; 1 << 20];
        let mut at = 0;
        while at < self.file_len() {
            let count = (self.file_len() - at).min(buffer.len() as u64) as usize;
            self.read_stored(at, &mut buffer[..count])?;
            out.write_all(&buffer[..count])?;
            at += count as u64;
        }
        Ok(())
    }
}

impl Overlay {
    /// Replaces the pak of a layer, counted from the bottom, by itself with a delta patch applied on the fly. Ids that were
    /// looked up before are invalid afterwards.
    ///
    /// # Errors
    /// [`Error::Patch`] if there is no such layer; otherwise as for [`PakBuf::patched`].
    pub fn patch(&mut self, layer: usize, patch: PakBuf, options: Options) -> Result<(), Error> {
        let old = self
            .layer_pak(layer)
            .ok_or_else(|| Error::Patch { why: format!("there is no layer {layer}") })?;
        let new = PakBuf::patched(old, patch, options)?;
        self.replace(layer, new);
        Ok(())
    }
}
