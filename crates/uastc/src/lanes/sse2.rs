//! Lanes in two SSE2 registers, which every x86-64 processor has.
//!
//! Arrays would do the same work, but compilers take two to three times as long to vectorise them.
//!
//! # Safety
//! Every `unsafe` here calls an intrinsic that works on registers alone: none reads or writes through a
//! pointer, except the unaligned loads and stores of half an array each. SSE2 is part of the baseline of
//! x86-64, so that an intrinsic can be run everywhere that this file is compiled for.
#![allow(unsafe_code)]

use super::{Kernel, Lanes, ROUNDING_MAGIC, WIDTH};
use std::arch::x86_64::*;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// Two registers of four numbers, lane 0 first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sse(__m128, __m128);

/// A mask in two registers: all ones or all zeros for each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SseMask(__m128, __m128);

macro_rules! operator {
    ($type:ident, $trait:ident, $method:ident, $intrinsic:ident) => {
        impl $trait for $type {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: registers only; see the head of the file.
                unsafe { Self($intrinsic(self.0, other.0), $intrinsic(self.1, other.1)) }
            }
        }
    };
}
operator!(Sse, Add, add, _mm_add_ps);
operator!(Sse, Sub, sub, _mm_sub_ps);
operator!(Sse, Mul, mul, _mm_mul_ps);
operator!(Sse, Div, div, _mm_div_ps);
operator!(SseMask, BitAnd, bitand, _mm_and_ps);
operator!(SseMask, BitOr, bitor, _mm_or_ps);

impl Not for SseMask {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: registers only.
        unsafe {
            let ones = _mm_castsi128_ps(_mm_set1_epi32(-1));
            Self(_mm_xor_ps(self.0, ones), _mm_xor_ps(self.1, ones))
        }
    }
}

/// Loads eight words into two registers.
#[inline(always)]
fn words(words: &[u32; WIDTH]) -> [__m128i; 2] {
    // SAFETY: four words each, of eight.
    unsafe { [_mm_loadu_si128(words.as_ptr().cast()), _mm_loadu_si128(words[4..].as_ptr().cast())] }
}

// SAFETY of the blocks below: registers only, or loads and stores of four numbers each of an array of eight.
impl Lanes for Sse {
    type Mask = SseMask;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        unsafe { Self(_mm_set1_ps(value), _mm_set1_ps(value)) }
    }
    #[inline(always)]
    fn load(values: &[f32; WIDTH]) -> Self {
        unsafe { Self(_mm_loadu_ps(values.as_ptr()), _mm_loadu_ps(values[4..].as_ptr())) }
    }
    #[inline(always)]
    fn store(self) -> [f32; WIDTH] {
        let mut out = [0.0; WIDTH];
        unsafe {
            _mm_storeu_ps(out.as_mut_ptr(), self.0);
            _mm_storeu_ps(out[4..].as_mut_ptr(), self.1);
        }
        out
    }
    #[inline(always)]
    fn byte(from: &[u32; WIDTH], index: u32) -> Self {
        let [low, high] = words(from).map(|half| unsafe {
            let shifted = _mm_srl_epi32(half, _mm_cvtsi32_si128(8 * index as i32));
            _mm_cvtepi32_ps(_mm_and_si128(shifted, _mm_set1_epi32(255)))
        });
        Self(low, high)
    }
    #[inline(always)]
    fn to_words(self) -> [u32; WIDTH] {
        let mut out = [0; WIDTH];
        unsafe {
            _mm_storeu_si128(out.as_mut_ptr().cast(), _mm_cvttps_epi32(self.0));
            _mm_storeu_si128(out[4..].as_mut_ptr().cast(), _mm_cvttps_epi32(self.1));
        }
        out
    }
    #[inline(always)]
    fn bit(from: &[u32; WIDTH], index: u32) -> SseMask {
        let [low, high] = words(from).map(|half| unsafe {
            let bit = _mm_set1_epi32(1 << index);
            _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_and_si128(half, bit), bit))
        });
        SseMask(low, high)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        unsafe { Self(_mm_min_ps(self.0, other.0), _mm_min_ps(self.1, other.1)) }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        unsafe { Self(_mm_max_ps(self.0, other.0), _mm_max_ps(self.1, other.1)) }
    }
    #[inline(always)]
    fn floor(self) -> Self {
        let near = self.round();
        near - Self::splat(1.0).only(self.less(near))
    }
    // The instruction that rounds is part of SSE4.1.
    #[inline(always)]
    fn round(self) -> Self {
        (self + Self::splat(ROUNDING_MAGIC)) - Self::splat(ROUNDING_MAGIC)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        unsafe { Self(_mm_sqrt_ps(self.0), _mm_sqrt_ps(self.1)) }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        unsafe {
            let sign = _mm_set1_ps(-0.0);
            Self(_mm_andnot_ps(sign, self.0), _mm_andnot_ps(sign, self.1))
        }
    }
    #[inline(always)]
    fn less(self, other: Self) -> SseMask {
        unsafe { SseMask(_mm_cmplt_ps(self.0, other.0), _mm_cmplt_ps(self.1, other.1)) }
    }
    #[inline(always)]
    fn only(self, mask: SseMask) -> Self {
        unsafe { Self(_mm_and_ps(self.0, mask.0), _mm_and_ps(self.1, mask.1)) }
    }
    #[inline(always)]
    fn or(self, mask: SseMask, other: Self) -> Self {
        let select =
            |mask, one, other| unsafe { _mm_or_ps(_mm_and_ps(mask, one), _mm_andnot_ps(mask, other)) };
        Self(select(mask.0, self.0, other.0), select(mask.1, self.1, other.1))
    }
    #[inline(always)]
    fn bits(mask: SseMask) -> u32 {
        unsafe { (_mm_movemask_ps(mask.0) | _mm_movemask_ps(mask.1) << 4) as u32 }
    }
    #[inline(always)]
    fn enter<K: Kernel<Self>>(kernel: K) -> K::Output {
        kernel.run()
    }
}
