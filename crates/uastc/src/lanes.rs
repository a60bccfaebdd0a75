//! SIMD lanes: the eight-wide arithmetic of the search.
//!
//! The search runs on eight blocks in parallel, one block in each lane, and is written once against
//! [`Lanes`]. There are four implementations: AVX2 and SSE2, NEON, and arrays for every other machine, which
//! compilers vectorise for their baseline (SIMD128). All do the same IEEE operations in the same order and none
//! uses fused multiply-add, so all give the same bits. Lanes are independent, so a block's result does not
//! depend on its neighbours in the batch.
//!
//! Every further instruction set costs half a minute of compilation, and nearly all desktop processors since
//! 2015 have AVX2: so there is none in between.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

use std::fmt::Debug;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// The number of lanes, and of blocks in a batch.
pub(crate) const WIDTH: usize = 8;

/// 1.5 * 2^23: adding it rounds away the fraction, where no instruction does.
#[cfg_attr(target_arch = "aarch64", allow(dead_code))]
const ROUNDING_MAGIC: f32 = 12_582_912.0;

/// Eight `f32` lanes. Rounding is exact only below 2^22 in magnitude, which no value here reaches.
pub(crate) trait Lanes:
    Copy + Debug + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// A boolean for each lane.
    type Mask: Copy
        + Debug
        + BitAnd<Output = Self::Mask>
        + BitOr<Output = Self::Mask>
        + Not<Output = Self::Mask>;

    /// Returns lanes that all hold `value`.
    fn splat(value: f32) -> Self;
    /// Loads the lanes from memory.
    fn load(values: &[f32; WIDTH]) -> Self;
    /// Stores the lanes to memory.
    fn store(self) -> [f32; WIDTH];
    /// Converts byte `index` of each word to a number.
    fn byte(words: &[u32; WIDTH], index: u32) -> Self;
    /// Converts the lanes, which must not be negative, to integers.
    fn to_words(self) -> [u32; WIDTH];
    /// Tests bit `index` of each word.
    fn bit(words: &[u32; WIDTH], index: u32) -> Self::Mask;
    /// Returns the minimum of each lane.
    fn min(self, other: Self) -> Self;
    /// Returns the maximum of each lane.
    fn max(self, other: Self) -> Self;
    /// Rounds each lane down.
    fn floor(self) -> Self;
    /// Rounds each lane to the nearest integer, ties to even.
    fn round(self) -> Self;
    /// Returns the square root of each lane.
    fn sqrt(self) -> Self;
    /// Returns the absolute value of each lane.
    fn abs(self) -> Self;
    /// Returns the lanes in which `self` is smaller.
    fn less(self, other: Self) -> Self::Mask;
    /// Returns `self` where the mask is set, zero elsewhere.
    fn only(self, mask: Self::Mask) -> Self;
    /// Returns `self` where the mask is set, `other` elsewhere.
    fn or(self, mask: Self::Mask, other: Self) -> Self;
    /// Returns the mask as bits, lane 0 lowest.
    fn bits(mask: Self::Mask) -> u32;
    /// Runs a kernel compiled for these lanes.
    fn enter<K: Kernel<Self>>(kernel: K) -> K::Output;

    /// Returns lanes that all hold zero.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }

    /// Returns true if any lane is set.
    #[inline(always)]
    fn any(mask: Self::Mask) -> bool {
        Self::bits(mask) != 0
    }

    /// Clamps each lane to `low..=high`.
    #[inline(always)]
    fn clamp(self, low: f32, high: f32) -> Self {
        self.max(Self::splat(low)).min(Self::splat(high))
    }

    /// Returns the square of each lane.
    #[inline(always)]
    fn squared(self) -> Self {
        self * self
    }
}

/// Code that is compiled once for each [`Lanes`] implementation.
///
/// [`Lanes::enter`] calls `run` from a function with the instruction set enabled. `run` and all it calls must
/// be inlined into it, or be entered in turn.
pub(crate) trait Kernel<L: Lanes> {
    /// The result of the kernel.
    type Output;
    /// Runs the kernel.
    fn run(self) -> Self::Output;
}

/// The instruction sets that the encoders are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Arrays of eight numbers, vectorised by the compiler.
    #[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    Portable,
    /// SSE2: two registers of four numbers each.
    #[cfg(target_arch = "x86_64")]
    Sse2,
    /// AVX2: one register of eight numbers.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// NEON: two registers of four numbers each.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Path {
    /// Iterates over the paths that this machine can run, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        let mut all = Vec::new();
        #[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
        all.push(Self::Portable);
        #[cfg(target_arch = "x86_64")]
        all.push(Self::Sse2);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            all.push(Self::Avx2);
        }
        #[cfg(target_arch = "aarch64")]
        all.push(Self::Neon);
        all.into_iter()
    }

    /// Returns the fastest path that this machine can run.
    pub(crate) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        return if std::arch::is_x86_feature_detected!("avx2") { Self::Avx2 } else { Self::Sse2 };
        #[cfg(target_arch = "aarch64")]
        return Self::Neon;
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        return Self::Portable;
    }

    /// Runs `task` with the lanes of this path, or with those of the baseline if the machine lacks it.
    pub(crate) fn run<T: Task>(self, task: T) {
        match self {
            #[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
            Self::Portable => task.run::<portable::Array>(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 if std::arch::is_x86_feature_detected!("avx2") => task.run::<avx2::Avx>(),
            #[cfg(target_arch = "x86_64")]
            Self::Sse2 | Self::Avx2 => task.run::<sse2::Sse>(),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => task.run::<neon::Neon>(),
        }
    }
}

/// A computation that is generic over [`Lanes`].
pub(crate) trait Task {
    /// Runs the computation with the given lanes.
    fn run<L: Lanes>(self);
}
