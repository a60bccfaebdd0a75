//! Buffers and their views: the bytes of a document, and a bound on how many it may be decoded into.
//!
//! A buffer is loaded when something first needs it: a document may state buffers that it does not use, whose data is
//! defined by an extension or was left behind. Refused are buffers with fewer bytes than they state, and views that do
//! not fit into their buffer.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;

use kiln_engine::limits::MemoryBudget;
use kiln_engine::{Code, Diag};

use super::at::{At, List};
use super::document::Document;
use super::meshopt;
use super::uri::{self, Content};
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
    /// The binary chunk of the container.
    binary: Option<&'a [u8]>,
    /// Gets the bytes that a URI of the document stands for.
    resolve: RefCell<Box<Resolve<'a>>>,
    data: Vec<OnceCell<Cow<'a, [u8]>>>,
    unpacked: Vec<OnceCell<Vec<u8>>>,
    /// The accessors that something was read through.
    used: RefCell<BTreeSet<u32>>,
    left: Cell<u64>,
    memory: MemoryBudget,
}

type Resolve<'a> = dyn FnMut(At<'a>) -> Result<Content, Diag> + 'a;

/// Some bytes, and the distance between elements in them if it is stated.
#[derive(Clone, Copy)]
pub(super) struct View<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) stride: Option<usize>,
}

impl<'a> Buffers<'a> {
    /// The buffers of a document, not yet loaded; `binary` is the chunk of its container.
    pub(super) fn new(
        document: &Document<'a>,
        binary: Option<&'a [u8]>,
        files: &'a mut Files<'_, '_>,
    ) -> Result<Buffers<'a>, Diag> {
        for buffer in document.buffers.iter() {
            buffer.need("byteLength")?.uint()?;
        }
        let memory = MemoryBudget::new(*files.limits());
        Ok(Buffers {
            views: document.buffer_views,
            buffers: document.buffers,
            binary,
            resolve: RefCell::new(Box::new(|at| uri::fetch(at, files))),
            data: document.buffers.iter().map(|_| OnceCell::new()).collect(),
            unpacked: document.buffer_views.iter().map(|_| OnceCell::new()).collect(),
            used: RefCell::default(),
            left: Cell::new(DECODED_BYTES),
            memory,
        })
    }

    /// The bytes that a URI of the document stands for.
    pub(super) fn fetch(&self, uri: At<'a>) -> Result<Content, Diag> {
        (self.resolve.borrow_mut())(uri)
    }

    /// The bytes of a buffer.
    fn buffer(&self, reference: At<'a>) -> Result<&[u8], Diag> {
        let (id, at) = reference.refer(self.buffers, "buffer")?;
        let cell = &self.data[id as usize];
        if cell.get().is_none() {
            let bytes = self.load(id, at)?;
            self.left.set(self.left.get().saturating_add((bytes.len() as u64).saturating_mul(DECODED_RATIO)));
            // Set twice by nobody: there is one thread.
            let _ = cell.set(truncate(bytes, at.need("byteLength")?.uint()?));
        }
        Ok(cell.get().map(Cow::as_ref).unwrap_or_default())
    }

    fn load(&self, id: u32, at: At<'a>) -> Result<Cow<'a, [u8]>, Diag> {
        let length = at.need("byteLength")?.uint()?;
        // A stand-in for readers that cannot unpack: nothing that we read is in it.
        let fallback = meshopt::extension(at).map_or(Ok(false), |extension| extension.is("fallback"))?;
        let bytes: Cow<'a, [u8]> = match (at.get("uri"), self.binary) {
            (Some(uri), _) if !fallback => self.fetch(uri)?.bytes.into(),
            (None, Some(binary)) if id == 0 && !fallback => binary.into(),
            _ => {
                let diag = at.fault(Code::GltfBuffer, "the buffer has no data");
                return Err(diag.hint("its \"uri\" is missing"));
            }
        };
        if bytes.len() < length {
            let message = format!("the buffer should have {length} bytes, and {} are there", bytes.len());
            let diag = at.fault(Code::GltfBuffer, message);
            return Err(diag.hint("the file is cut off: export or copy it again"));
        }
        Ok(bytes)
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

    /// Whether a reference names a view that is packed.
    pub(super) fn is_packed(&self, reference: At<'a>) -> bool {
        let view = reference.refer(self.views, "buffer view");
        view.is_ok_and(|(_, at)| meshopt::extension(at).is_some())
    }

    /// Records that an accessor is read.
    pub(super) fn record_use(&self, accessor: u32) {
        self.used.borrow_mut().insert(accessor);
    }

    /// The accessors that were read so far, ascending.
    pub(super) fn used_accessors(&self) -> Vec<u32> {
        self.used.borrow().iter().copied().collect()
    }

    /// The bytes that `buffer`, `byteOffset` and `byteLength` name, in a view or in its extension.
    fn slice(&self, at: At<'a>) -> Result<&[u8], Diag> {
        let data = self.buffer(at.need("buffer")?)?;
        let (offset, length) = (at.uint_or("byteOffset", 0)?, at.need("byteLength")?.uint()?);
        let end = offset.checked_add(length);
        end.and_then(|end| data.get(offset..end)).ok_or_else(|| {
            let message =
                format!("{length} bytes from {offset} on do not fit into a buffer of {}", data.len());
            at.fault(Code::GltfBuffer, message).hint("the file is damaged: export it again")
        })
    }

    /// Accounts for memory that is about to be taken because a document says so.
    pub(super) fn spend(&self, bytes: usize, at: At<'_>) -> Result<(), Diag> {
        match self.left.get().checked_sub(bytes as u64) {
            Some(left) => {
                let what = "the decoded accessors and views";
                self.memory.charge(bytes as u64, what).map_err(|diag| diag.at(at.pointer()))?;
                self.left.set(left);
                Ok(())
            }
            None => {
                Err(at.fault(Code::GltfTooLarge, "with this, the model is too large for a file of its size"))
            }
        }
    }

    /// What may still be taken.
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
