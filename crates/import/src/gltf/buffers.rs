//! Buffers and their views: where the bytes of a document are, and how many it may turn them into.
//!
//! Buffers are loaded before anything else, so that every later answer is a slice of what is there. Refused are
//! buffers with fewer bytes than they state, and views that do not fit into their buffer.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use kiln_kit::Diag;

use super::at::{At, List};
use super::document::Document;
use super::meshopt;
use super::uri;
use crate::files::Files;

/// What any document may be decoded into, however small it is.
const DECODED_BYTES: u64 = 256 << 20;

/// How many times its own size a document may be decoded into besides. Good packers reach 20, and exporters use
/// accessors more than once.
const DECODED_RATIO: u64 = 64;

/// The bytes of a document.
pub(super) struct Buffers<'a> {
    views: List<'a>,
    buffers: List<'a>,
    data: Vec<Option<Cow<'a, [u8]>>>,
    unpacked: Vec<OnceCell<Vec<u8>>>,
    left: Cell<u64>,
}

/// Some bytes, and the distance between elements in them if it is stated.
#[derive(Clone, Copy)]
pub(super) struct View<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) stride: Option<usize>,
}

impl<'a> Buffers<'a> {
    /// Loads all buffers; `binary` is that of the container.
    pub(super) fn load(
        document: &Document<'a>,
        binary: Option<&'a [u8]>,
        files: &mut Files<'_, '_>,
    ) -> Result<Buffers<'a>, Diag> {
        let mut data = Vec::with_capacity(document.buffers.len());
        let mut total = 0;
        for (index, at) in document.buffers.iter().enumerate() {
            let length = at.need("byteLength")?.uint()?;
            // A stand-in for readers that cannot unpack: nothing that we read is in it.
            let fallback = meshopt::extension(at).map_or(Ok(false), |extension| extension.is("fallback"))?;
            let bytes: Option<Cow<'a, [u8]>> = match (at.get("uri"), binary) {
                _ if fallback => None,
                (Some(uri), _) => Some(uri::fetch(uri, files)?.bytes.into()),
                (None, Some(binary)) if index == 0 => Some(binary.into()),
                (None, _) => None,
            };
            if let Some(bytes) = &bytes {
                if bytes.len() < length {
                    let message =
                        format!("the buffer should have {length} bytes, and {} are there", bytes.len());
                    return Err(at
                        .fault("gltf-buffer", message)
                        .hint("the file is cut off: export or copy it again"));
                }
                total += bytes.len() as u64;
            }
            data.push(bytes.map(|bytes| truncate(bytes, length)));
        }
        Ok(Buffers {
            views: document.buffer_views,
            buffers: document.buffers,
            data,
            unpacked: document.buffer_views.iter().map(|_| OnceCell::new()).collect(),
            left: Cell::new(DECODED_BYTES + total.saturating_mul(DECODED_RATIO)),
        })
    }

    /// The view that a reference names, unpacked if it is packed.
    pub(super) fn view(&self, reference: At<'a>) -> Result<View<'_>, Diag> {
        let (id, at) = reference.refer(self.views, "buffer view")?;
        let stride = at.get("byteStride").map(At::uint).transpose()?.filter(|&stride| stride != 0);
        let Some(extension) = meshopt::extension(at) else {
            return Ok(View { bytes: self.slice(at)?, stride });
        };
        let cell = &self.unpacked[id as usize];
        if cell.get().is_none() {
            let data = self.slice(extension)?;
            let packed = meshopt::Packed::new(extension, data.len())?;
            self.spend(packed.size, extension)?;
            // Set twice by nobody: there is one thread.
            let _ = cell.set(packed.decode(data)?);
        }
        Ok(View { bytes: cell.get().map(Vec::as_slice).unwrap_or_default(), stride })
    }

    /// The bytes that `buffer`, `byteOffset` and `byteLength` name, in a view or in its extension.
    fn slice(&self, at: At<'a>) -> Result<&[u8], Diag> {
        let (id, buffer) = at.need("buffer")?.refer(self.buffers, "buffer")?;
        let (offset, length) = (at.uint_or("byteOffset", 0)?, at.need("byteLength")?.uint()?);
        let Some(data) = &self.data[id as usize] else {
            return Err(buffer.fault("gltf-buffer", "the buffer has no data").hint("its \"uri\" is missing"));
        };
        let end = offset.checked_add(length);
        end.and_then(|end| data.get(offset..end)).ok_or_else(|| {
            let message =
                format!("{length} bytes from {offset} on do not fit into a buffer of {}", data.len());
            at.fault("gltf-buffer", message).hint("the file is damaged: export it again")
        })
    }

    /// Accounts for memory that is about to be taken because a document says so.
    pub(super) fn spend(&self, bytes: usize, at: At<'_>) -> Result<(), Diag> {
        match self.left.get().checked_sub(bytes as u64) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                Err(at.fault("gltf-too-large", "with this, the model is too large for a file of its size"))
            }
        }
    }

    /// What may still be taken.
    pub(super) fn left(&self) -> u64 {
        self.left.get()
    }
}

fn truncate(bytes: Cow<'_, [u8]>, length: usize) -> Cow<'_, [u8]> {
    match bytes {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..length]),
        Cow::Owned(mut bytes) => {
            bytes.truncate(length);
            Cow::Owned(bytes)
        }
    }
}
