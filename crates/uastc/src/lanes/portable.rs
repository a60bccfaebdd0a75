//! Lanes as arrays: for machines whose instructions no other file names, and the reference for those.
//!
//! The loops are written so that a compiler can vectorise them for its baseline (SIMD128, ...): rounding
//! by adding and subtracting a large number, selection by bits.

use super::{Kernel, Lanes, ROUNDING_MAGIC, WIDTH};
use std::array::from_fn;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// Eight numbers in an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array([f32; WIDTH]);

/// All ones or all zeros for each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask([u32; WIDTH]);

macro_rules! operator {
    ($trait:ident, $method:ident, $op:tt) => {
        impl $trait for Array {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(from_fn(|i| self.0[i] $op other.0[i]))
            }
        }
    };
}
operator!(Add, add, +);
operator!(Sub, sub, -);
operator!(Mul, mul, *);
operator!(Div, div, /);

impl BitAnd for Mask {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(from_fn(|i| self.0[i] & other.0[i]))
    }
}

impl BitOr for Mask {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(from_fn(|i| self.0[i] | other.0[i]))
    }
}

impl Not for Mask {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self(from_fn(|i| !self.0[i]))
    }
}

#[inline(always)]
const fn mask(yes: bool) -> u32 {
    if yes { u32::MAX } else { 0 }
}

impl Lanes for Array {
    type Mask = Mask;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; WIDTH])
    }
    #[inline(always)]
    fn load(values: &[f32; WIDTH]) -> Self {
        Self(*values)
    }
    #[inline(always)]
    fn store(self) -> [f32; WIDTH] {
        self.0
    }
    #[inline(always)]
    fn byte(words: &[u32; WIDTH], index: u32) -> Self {
        Self(from_fn(|i| ((words[i] >> (8 * index)) & 255) as i32 as f32))
    }
    #[inline(always)]
    fn to_words(self) -> [u32; WIDTH] {
        from_fn(|i| self.0[i] as u32)
    }
    #[inline(always)]
    fn bit(words: &[u32; WIDTH], index: u32) -> Mask {
        Mask(from_fn(|i| mask((words[i] >> index) & 1 != 0)))
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(from_fn(|i| if self.0[i] < other.0[i] { self.0[i] } else { other.0[i] }))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(from_fn(|i| if self.0[i] > other.0[i] { self.0[i] } else { other.0[i] }))
    }
    #[inline(always)]
    fn floor(self) -> Self {
        let near = self.round();
        near - Self::splat(1.0).only(self.less(near))
    }
    #[inline(always)]
    fn round(self) -> Self {
        Self(from_fn(|i| (self.0[i] + ROUNDING_MAGIC) - ROUNDING_MAGIC))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(from_fn(|i| self.0[i].sqrt()))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(from_fn(|i| self.0[i].abs()))
    }
    #[inline(always)]
    fn less(self, other: Self) -> Mask {
        Mask(from_fn(|i| mask(self.0[i] < other.0[i])))
    }
    #[inline(always)]
    fn only(self, mask: Mask) -> Self {
        Self(from_fn(|i| f32::from_bits(self.0[i].to_bits() & mask.0[i])))
    }
    #[inline(always)]
    fn or(self, mask: Mask, other: Self) -> Self {
        Self(from_fn(|i| {
            f32::from_bits((self.0[i].to_bits() & mask.0[i]) | (other.0[i].to_bits() & !mask.0[i]))
        }))
    }
    #[inline(always)]
    fn bits(mask: Mask) -> u32 {
        let mut bits = 0;
        for (i, lane) in mask.0.iter().enumerate() {
            bits |= (lane & 1) << i;
        }
        bits
    }
    #[inline(always)]
    fn enter<K: Kernel<Self>>(kernel: K) -> K::Output {
        kernel.run()
    }
}
