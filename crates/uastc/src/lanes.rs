//! SIMD lanes: the eight-wide arithmetic of the search.
//!
//! The search runs on eight blocks in parallel, one block in each lane, and is written once against
//! [`Lanes`]. There are three implementations: AVX2, NEON, and arrays for every other machine, which compilers
//! vectorise for their baseline (SSE2, SIMD128). All do the same IEEE operations in the same order and none
//! uses fused multiply-add, so all give the same bits. Lanes are independent, so a block's result does not
//! depend on its neighbours in the batch.
//!
//! Every further instruction set costs half a minute of compilation, and nearly all desktop processors since
//! 2015 have AVX2: so there is none in between.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
pub(crate) mod portable;

use std::fmt::Debug;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// The number of lanes, and of blocks in a batch.
pub(crate) const WIDTH: usize = 8;

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
    Portable,
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
        #[cfg(target_arch = "x86_64")]
        let all = [Some(Self::Portable), std::arch::is_x86_feature_detected!("avx2").then_some(Self::Avx2)];
        #[cfg(target_arch = "aarch64")]
        let all = [Some(Self::Portable), Some(Self::Neon)];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let all = [Some(Self::Portable)];
        all.into_iter().flatten()
    }

    /// Returns the fastest path that this machine can run.
    pub(crate) fn best() -> Self {
        Self::available().last().unwrap_or(Self::Portable)
    }

    /// Runs `task` with the lanes of this path, or the portable ones if the machine lacks it.
    pub(crate) fn run<T: Task>(self, task: T) {
        match self {
            Self::Portable => task.run::<portable::Array>(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 if std::arch::is_x86_feature_detected!("avx2") => task.run::<avx2::Avx>(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => task.run::<portable::Array>(),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns numbers of every kind that occur in the search.
    fn samples() -> Vec<[f32; WIDTH]> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 14) as f32 - 512.0
        };
        let mut all: Vec<_> = (0..200).map(|_| std::array::from_fn(|_| next())).collect();
        all.push([0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 255.0]);
        all.push([1e6, -1e6, 1e-20, -1e-20, 3.999_999_8, 4.0, 4.000_000_5, 0.499_999_97]);
        all
    }

    struct Compare;
    impl Task for Compare {
        fn run<L: Lanes>(self) {
            L::enter(CompareKernel(std::marker::PhantomData::<L>));
        }
    }
    struct CompareKernel<L>(std::marker::PhantomData<L>);
    impl<L: Lanes> Kernel<L> for CompareKernel<L> {
        type Output = ();
        fn run(self) {
            let all = samples();
            for (a, b) in all.iter().zip(all.iter().rev()) {
                let (x, y) = (L::load(a), L::load(b));
                let check = |name: &str, got: L, want: &dyn Fn(f32, f32) -> f32| {
                    let got = got.store();
                    for i in 0..WIDTH {
                        let want = want(a[i], b[i]);
                        assert!(got[i].to_bits() == want.to_bits() || got[i] == want, "{name} {a:?} {b:?}");
                    }
                };
                check("add", x + y, &|a, b| a + b);
                check("sub", x - y, &|a, b| a - b);
                check("mul", x * y, &|a, b| a * b);
                check("div", x / y.abs().max(L::splat(1e-3)), &|a, b| a / b.abs().max(1e-3));
                check("min", x.min(y), &|a, b| a.min(b));
                check("max", x.max(y), &|a, b| a.max(b));
                check("floor", x.floor(), &|a, _| a.floor());
                check("round", x.round(), &|a, _| a.round_ties_even());
                check("sqrt", x.abs().sqrt(), &|a, _| a.abs().sqrt());
                check("only", x.only(x.less(y)), &|a, b| if a < b { a } else { 0.0 });
                check("or", x.or(!x.less(y), y), &|a, b| if a < b { b } else { a });
                let less: u32 = (0..WIDTH).map(|i| u32::from(a[i] < b[i]) << i).sum();
                assert_eq!(L::bits(x.less(y)), less);
                let words: [u32; WIDTH] = std::array::from_fn(|i| a[i].to_bits());
                for k in 0..4 {
                    let want = words.map(|w| (w >> (8 * k) & 255) as f32);
                    assert_eq!(L::byte(&words, k).store(), want);
                    assert_eq!(L::byte(&words, k).to_words(), want.map(|v| v as u32));
                }
                for k in 0..32 {
                    let want: u32 = (0..WIDTH).map(|i| (words[i] >> k & 1) << i).sum();
                    assert_eq!(L::bits(L::bit(&words, k)), want);
                }
            }
        }
    }

    #[test]
    fn all_paths_compute_the_same_bits() {
        for path in Path::available() {
            path.run(Compare);
        }
    }
}
