//! Lanes in two NEON registers, which every aarch64 processor has.
//!
//! # Safety
//! Every `unsafe` here calls an intrinsic that works on registers alone: none reads or writes through a
//! pointer, except the loads and stores of half an array each. NEON is part of the baseline of aarch64, so
//! that an intrinsic can be run everywhere that this file is compiled for.
#![allow(unsafe_code)]

use super::{Kernel, Lanes, WIDTH};
use std::arch::aarch64::*;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// Two registers of four numbers, lane 0 first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neon(float32x4_t, float32x4_t);

/// A mask in two registers: all ones or all zeros for each lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeonMask(uint32x4_t, uint32x4_t);

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
operator!(Neon, Add, add, vaddq_f32);
operator!(Neon, Sub, sub, vsubq_f32);
operator!(Neon, Mul, mul, vmulq_f32);
operator!(Neon, Div, div, vdivq_f32);
operator!(NeonMask, BitAnd, bitand, vandq_u32);
operator!(NeonMask, BitOr, bitor, vorrq_u32);

impl Not for NeonMask {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: registers only.
        unsafe { Self(vmvnq_u32(self.0), vmvnq_u32(self.1)) }
    }
}

/// Loads eight words into two registers.
#[inline(always)]
fn words(words: &[u32; WIDTH]) -> [uint32x4_t; 2] {
    // SAFETY: four words each, of eight.
    unsafe { [vld1q_u32(words.as_ptr()), vld1q_u32(words[4..].as_ptr())] }
}

// SAFETY of the blocks below: registers only, or loads and stores of four numbers each of an array of eight.
impl Lanes for Neon {
    type Mask = NeonMask;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        unsafe { Self(vdupq_n_f32(value), vdupq_n_f32(value)) }
    }
    #[inline(always)]
    fn load(values: &[f32; WIDTH]) -> Self {
        unsafe { Self(vld1q_f32(values.as_ptr()), vld1q_f32(values[4..].as_ptr())) }
    }
    #[inline(always)]
    fn store(self) -> [f32; WIDTH] {
        let mut out = [0.0; WIDTH];
        unsafe {
            vst1q_f32(out.as_mut_ptr(), self.0);
            vst1q_f32(out[4..].as_mut_ptr(), self.1);
        }
        out
    }
    #[inline(always)]
    fn byte(from: &[u32; WIDTH], index: u32) -> Self {
        let [low, high] = words(from).map(|half| unsafe {
            let shifted = vshlq_u32(half, vdupq_n_s32(-8 * index as i32));
            vcvtq_f32_u32(vandq_u32(shifted, vdupq_n_u32(255)))
        });
        Self(low, high)
    }
    #[inline(always)]
    fn to_words(self) -> [u32; WIDTH] {
        let mut out = [0; WIDTH];
        unsafe {
            vst1q_u32(out.as_mut_ptr(), vcvtq_u32_f32(self.0));
            vst1q_u32(out[4..].as_mut_ptr(), vcvtq_u32_f32(self.1));
        }
        out
    }
    #[inline(always)]
    fn bit(from: &[u32; WIDTH], index: u32) -> NeonMask {
        let [low, high] = words(from).map(|half| unsafe { vtstq_u32(half, vdupq_n_u32(1 << index)) });
        NeonMask(low, high)
    }
    // Not `vminq_f32`: that of two zeros is the negative one, here it is the second.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.or(self.less(other), other)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.or(other.less(self), other)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        unsafe { Self(vrndmq_f32(self.0), vrndmq_f32(self.1)) }
    }
    #[inline(always)]
    fn round(self) -> Self {
        unsafe { Self(vrndnq_f32(self.0), vrndnq_f32(self.1)) }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        unsafe { Self(vsqrtq_f32(self.0), vsqrtq_f32(self.1)) }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        unsafe { Self(vabsq_f32(self.0), vabsq_f32(self.1)) }
    }
    #[inline(always)]
    fn less(self, other: Self) -> NeonMask {
        unsafe { NeonMask(vcltq_f32(self.0, other.0), vcltq_f32(self.1, other.1)) }
    }
    #[inline(always)]
    fn only(self, mask: NeonMask) -> Self {
        let and =
            |value, mask| unsafe { vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(value), mask)) };
        Self(and(self.0, mask.0), and(self.1, mask.1))
    }
    #[inline(always)]
    fn or(self, mask: NeonMask, other: Self) -> Self {
        unsafe { Self(vbslq_f32(mask.0, self.0, other.0), vbslq_f32(mask.1, self.1, other.1)) }
    }
    #[inline(always)]
    fn bits(mask: NeonMask) -> u32 {
        const POWERS: [u32; WIDTH] = [1, 2, 4, 8, 16, 32, 64, 128];
        let [low, high] = words(&POWERS);
        unsafe { vaddvq_u32(vorrq_u32(vandq_u32(mask.0, low), vandq_u32(mask.1, high))) }
    }
    #[inline(always)]
    fn any(mask: NeonMask) -> bool {
        unsafe { vmaxvq_u32(vorrq_u32(mask.0, mask.1)) != 0 }
    }
    #[inline(always)]
    fn enter<K: Kernel<Self>>(kernel: K) -> K::Output {
        kernel.run()
    }
}
