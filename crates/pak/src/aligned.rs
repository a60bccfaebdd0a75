//! Heap buffers for decoded assets: aligned like payloads in the file, zeroed by the system, with fallible allocation
//! instead of an abort.

#![allow(unsafe_code, reason = "no safe way allocates aligned bytes, or reports that there are none")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// The alignment of decoded content in bytes, the same as that of payloads in the file.
pub(crate) const ALIGNMENT: usize = 16;

/// A heap buffer aligned to 16 bytes.
pub(crate) struct Aligned {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it owns its bytes, as a boxed slice does.
unsafe impl Send for Aligned {}
// SAFETY: shared references only read them.
unsafe impl Sync for Aligned {}

impl Aligned {
    /// Allocates `len` zeroed bytes; `None` if the allocation fails.
    pub(crate) fn zeroed(len: usize) -> Option<Aligned> {
        let layout = Layout::from_size_align(len.max(1), ALIGNMENT).ok()?;
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Aligned { start, len })
    }
}

impl std::ops::Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes were allocated and zeroed at `start`, and live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl std::ops::DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        if let Ok(layout) = Layout::from_size_align(self.len.max(1), ALIGNMENT) {
            // SAFETY: allocated with this layout, and nobody else has it.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocates_aligned_zeroed_memory_or_returns_none() {
        for len in [0, 1, 15, 4096, 100_001] {
            let mut memory = Aligned::zeroed(len).unwrap();
            assert_eq!((memory.len(), memory.as_ptr().addr() % 16), (len, 0));
            assert!(memory.iter().all(|&byte| byte == 0));
            memory.fill(7);
            assert!(memory.iter().all(|&byte| byte == 7));
        }
        assert!(Aligned::zeroed(usize::MAX).is_none());
        // Miri aborts on an allocation of this size.
        assert!(cfg!(miri) || Aligned::zeroed(isize::MAX as usize - 15).is_none());
    }
}
