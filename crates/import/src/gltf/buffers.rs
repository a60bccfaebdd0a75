//! Buffers and buffer views: the bytes of a document, and a bound on the memory that they are decoded into.
//!
//! A buffer is loaded on first use: a document may declare buffers that it does not use, whose data is defined by an
//! extension or was not shipped. Rejects buffers with fewer bytes than `byteLength`, and views that do not fit into
//! their buffer.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;

use kiln_diagnostics::{Code, Diag, MemoryBudget};

use super::document::Document;
use super::meshopt;
use super::uri::{self, Content};
use super::value::{List, Value};
use crate::files::Files;

/// The number of bytes that any document may be decoded into, however small it is.
const DECODED_BYTES: u64 = 256 << 20;

/// The ratio of decoded to loaded bytes that a document may have besides. Good compressors reach 20, and exporters use
/// accessors more than once.
const DECODED_RATIO: u64 = 64;

/// The buffers of a document.
pub(super) struct Buffers<'a> {
    views: List<'a>,
    buffers: List<'a>,
    /// The binary chunk of the container.
    binary: Option<&'a [u8]>,
    /// Reads the bytes that a URI of the document refers to.
    resolve: RefCell<Box<Resolve<'a>>>,
    data: Vec<OnceCell<Cow<'a, [u8]>>>,
    decompressed: Vec<OnceCell<Vec<u8>>>,
    /// The accessors that were decoded.
    used: RefCell<BTreeSet<u32>>,
    left: Cell<u64>,
    memory: MemoryBudget,
}

type Resolve<'a> = dyn FnMut(Value<'a>) -> Result<Content, Diag> + 'a;

/// The bytes of a buffer view, and its stride if it has one.
#[derive(Clone, Copy)]
pub(super) struct View<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) stride: Option<usize>,
}

impl<'a> Buffers<'a> {
    /// Creates the buffers of a document without loading them; `binary` is the BIN chunk of its container.
    pub(super) fn new(
        document: &Document<'a>,
        binary: Option<&'a [u8]>,
        files: &'a mut Files<'_>,
    ) -> Result<Buffers<'a>, Diag> {
        for buffer in document.buffers.iter() {
            buffer.required("byteLength")?.uint()?;
        }
        let memory = MemoryBudget::new(*files.limits());
        Ok(Buffers {
            views: document.buffer_views,
            buffers: document.buffers,
            binary,
            resolve: RefCell::new(Box::new(|at| uri::fetch(at, files))),
            data: document.buffers.iter().map(|_| OnceCell::new()).collect(),
            decompressed: document.buffer_views.iter().map(|_| OnceCell::new()).collect(),
            used: RefCell::default(),
            left: Cell::new(DECODED_BYTES),
            memory,
        })
    }

    /// Reads the bytes that a URI of the document refers to.
    pub(super) fn fetch(&self, uri: Value<'a>) -> Result<Content, Diag> {
        (self.resolve.borrow_mut())(uri)
    }

    /// Returns the bytes of a buffer, loaded on first use.
    fn buffer(&self, reference: Value<'a>) -> Result<&[u8], Diag> {
        let (id, at) = reference.resolve(self.buffers, "buffer")?;
        let cell = &self.data[id as usize];
        if cell.get().is_none() {
            let bytes = self.load(id, at)?;
            self.left.set(self.left.get().saturating_add((bytes.len() as u64).saturating_mul(DECODED_RATIO)));
            // Never set twice: there is one thread.
            let _ = cell.set(truncate(bytes, at.required("byteLength")?.uint()?));
        }
        Ok(cell.get().map(Cow::as_ref).unwrap_or_default())
    }

    fn load(&self, id: u32, at: Value<'a>) -> Result<Cow<'a, [u8]>, Diag> {
        let length = at.required("byteLength")?.uint()?;
        // The fallback buffer is for readers without meshopt compression.
        let fallback = meshopt::extension(at).map_or(Ok(false), |extension| extension.is_true("fallback"))?;
        let bytes: Cow<'a, [u8]> = match (at.get("uri"), self.binary) {
            (Some(uri), _) if !fallback => self.fetch(uri)?.bytes.into(),
            (None, Some(binary)) if id == 0 && !fallback => binary.into(),
            _ => {
                let diag = at.error(Code::GltfBuffer, "the buffer has no data: its \"uri\" is missing");
                return Err(diag.hint("export the model again"));
            }
        };
        if bytes.len() < length {
            let message = format!("the buffer needs {length} bytes, and its data has {}", bytes.len());
            let diag = at.error(Code::GltfBuffer, message);
            return Err(diag.hint("the file is truncated: export or copy it again"));
        }
        Ok(bytes)
    }

    /// Returns the view that an index refers to, decompressed if it has meshopt compression.
    pub(super) fn view(&self, reference: Value<'a>) -> Result<View<'_>, Diag> {
        let (id, at) = reference.resolve(self.views, "buffer view")?;
        let stride = at.get("byteStride").map(Value::uint).transpose()?.filter(|&stride| stride != 0);
        let Some(extension) = meshopt::extension(at) else {
            return Ok(View { bytes: self.slice(at)?, stride });
        };
        let cell = &self.decompressed[id as usize];
        if cell.get().is_none() {
            let data = self.slice(extension)?;
            let compressed = meshopt::CompressedView::new(extension, data.len())?;
            self.charge(compressed.size, extension)?;
            // Never set twice: there is one thread.
            let _ = cell.set(compressed.decode(data)?);
        }
        Ok(View { bytes: cell.get().map(Vec::as_slice).unwrap_or_default(), stride })
    }

    /// Returns `true` if an index refers to a view with meshopt compression.
    pub(super) fn is_compressed(&self, reference: Value<'a>) -> bool {
        let view = reference.resolve(self.views, "buffer view");
        view.is_ok_and(|(_, at)| meshopt::extension(at).is_some())
    }

    /// Records that an accessor is used.
    pub(super) fn record_use(&self, accessor: u32) {
        self.used.borrow_mut().insert(accessor);
    }

    /// Returns the accessors that were used so far, in ascending order.
    pub(super) fn used_accessors(&self) -> Vec<u32> {
        self.used.borrow().iter().copied().collect()
    }

    /// Returns the bytes that `buffer`, `byteOffset` and `byteLength` select, in a view or in its extension.
    fn slice(&self, at: Value<'a>) -> Result<&[u8], Diag> {
        let data = self.buffer(at.required("buffer")?)?;
        let (offset, length) = (at.uint_or("byteOffset", 0)?, at.required("byteLength")?.uint()?);
        let end = offset.checked_add(length);
        end.and_then(|end| data.get(offset..end)).ok_or_else(|| {
            let message = format!(
                "{length} bytes from offset {offset} do not fit into a buffer of {} bytes",
                data.len()
            );
            at.error(Code::GltfBuffer, message).hint("the file is damaged: export it again")
        })
    }

    /// Charges memory that is about to be allocated for decoded data.
    pub(super) fn charge(&self, bytes: usize, at: Value<'_>) -> Result<(), Diag> {
        match self.left.get().checked_sub(bytes as u64) {
            Some(left) => {
                let what = "the decoded accessors and buffer views";
                self.memory.charge(bytes as u64, what).map_err(|diag| diag.at(at.pointer()))?;
                self.left.set(left);
                Ok(())
            }
            None => {
                Err(at.error(Code::GltfTooLarge, "the decoded model is too large for a file of this size"))
            }
        }
    }

    /// Returns the number of bytes that may still be allocated.
    pub(super) fn left(&self) -> u64 {
        self.left.get().min(self.memory.left())
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
