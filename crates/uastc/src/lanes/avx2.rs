//! Lanes in an AVX2 register.
//!
//! # Safety
//! Every `unsafe` here calls an intrinsic that works on registers alone: none reads or writes through a
//! pointer, except the unaligned loads and stores of whole arrays. An intrinsic may be run only where its
//! instruction set exists. Values of these types are created only by kernels that [`super::Path::run`]
//! starts, and it starts them only after the processor has reported AVX2.
#![allow(unsafe_code)]

use super::{Kernel, Lanes, WIDTH};
use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// An AVX register of eight numbers.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Avx(__m256);

/// A mask in an AVX register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AvxMask(__m256);

macro_rules! operator {
    ($type:ident, $trait:ident, $method:ident, $intrinsic:ident) => {
        impl $trait for $type {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: registers only; see the head of the file.
                unsafe { Self($intrinsic(self.0, other.0)) }
            }
        }
    };
}
operator!(Avx, Add, add, _mm256_add_ps);
operator!(Avx, Sub, sub, _mm256_sub_ps);
operator!(Avx, Mul, mul, _mm256_mul_ps);
operator!(Avx, Div, div, _mm256_div_ps);
operator!(AvxMask, BitAnd, bitand, _mm256_and_ps);
operator!(AvxMask, BitOr, bitor, _mm256_or_ps);

impl Not for AvxMask {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: registers only.
        unsafe { Self(_mm256_xor_ps(self.0, _mm256_castsi256_ps(_mm256_set1_epi32(-1)))) }
    }
}

#[target_feature(enable = "avx2")]
fn enter_avx<K: Kernel<Avx>>(kernel: K) -> K::Output {
    kernel.run()
}

// SAFETY of the blocks below: registers only, or a load or store of a whole array of eight.
impl Lanes for Avx {
    type Mask = AvxMask;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        unsafe { Self(_mm256_set1_ps(value)) }
    }
    #[inline(always)]
    fn load(values: &[f32; WIDTH]) -> Self {
        unsafe { Self(_mm256_loadu_ps(values.as_ptr())) }
    }
    #[inline(always)]
    fn store(self) -> [f32; WIDTH] {
        let mut out = [0.0; WIDTH];
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), self.0) };
        out
    }
    #[inline(always)]
    fn byte(words: &[u32; WIDTH], index: u32) -> Self {
        unsafe {
            let words = _mm256_loadu_si256(words.as_ptr().cast());
            let shifted = _mm256_srl_epi32(words, _mm_cvtsi32_si128(8 * index as i32));
            Self(_mm256_cvtepi32_ps(_mm256_and_si256(shifted, _mm256_set1_epi32(255))))
        }
    }
    #[inline(always)]
    fn to_words(self) -> [u32; WIDTH] {
        let mut out = [0; WIDTH];
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_cvttps_epi32(self.0)) };
        out
    }
    #[inline(always)]
    fn bit(words: &[u32; WIDTH], index: u32) -> AvxMask {
        unsafe {
            let words = _mm256_loadu_si256(words.as_ptr().cast());
            let bit = _mm256_set1_epi32(1 << index);
            AvxMask(_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(words, bit), bit)))
        }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        unsafe { Self(_mm256_min_ps(self.0, other.0)) }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        unsafe { Self(_mm256_max_ps(self.0, other.0)) }
    }
    #[inline(always)]
    fn floor(self) -> Self {
        unsafe { Self(_mm256_floor_ps(self.0)) }
    }
    #[inline(always)]
    fn round(self) -> Self {
        unsafe { Self(_mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0)) }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        unsafe { Self(_mm256_sqrt_ps(self.0)) }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        unsafe { Self(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0)) }
    }
    #[inline(always)]
    fn less(self, other: Self) -> AvxMask {
        unsafe { AvxMask(_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0)) }
    }
    #[inline(always)]
    fn only(self, mask: AvxMask) -> Self {
        unsafe { Self(_mm256_and_ps(self.0, mask.0)) }
    }
    #[inline(always)]
    fn or(self, mask: AvxMask, other: Self) -> Self {
        unsafe { Self(_mm256_blendv_ps(other.0, self.0, mask.0)) }
    }
    #[inline(always)]
    fn bits(mask: AvxMask) -> u32 {
        unsafe { _mm256_movemask_ps(mask.0) as u32 }
    }
    #[inline(always)]
    fn enter<K: Kernel<Self>>(kernel: K) -> K::Output {
        // SAFETY: code that holds or names these lanes is inside a kernel started by `Path::run`.
        unsafe { enter_avx(kernel) }
    }
}
