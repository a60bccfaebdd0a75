//! The arithmetic of every instruction set, which is private: this includes its source. Tests inside of the library
//! would compile the encoders a second time, which takes a minute.

#[allow(dead_code, unreachable_pub, reason = "the encoders use the rest")]
#[path = "../src"]
mod encoders {
    pub(crate) mod lanes;
}

use encoders::lanes::{Kernel, Lanes, Path, Task, WIDTH};

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
