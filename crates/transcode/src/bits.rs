//! The fields of a block of sixteen bytes, from the lowest bit up.

/// Writes fields above those that were written before, or reads them in the same order.
#[derive(Default)]
pub(crate) struct Bits {
    /// The block. Fields that were read are shifted out.
    pub(crate) value: u128,
    /// The number of bits that were written.
    pub(crate) used: u32,
}

impl Bits {
    #[inline(always)]
    pub(crate) fn put(&mut self, value: u64, bits: u32) {
        debug_assert!(bits >= 64 || value >> bits == 0, "{value} does not fit {bits} bits");
        self.value |= u128::from(value) << self.used;
        self.used += bits;
    }

    pub(crate) fn take(&mut self, bits: u32) -> u64 {
        let out = (self.value & ((1 << bits) - 1)) as u64;
        self.value >>= bits;
        out
    }
}
