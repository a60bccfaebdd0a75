//! ETC1 hints: flip, precision, modifier tables and bias, for eight blocks at once.
//!
//! All four layouts (halves side by side or above each other, differential or individual base colours) are
//! tried with all eight tables. The error follows from the transcoder's own rule for selecting modifiers. For
//! the best layout the bias is solved for: with the modifiers fixed, each channel of each half has an ideal
//! base, and the 32 bias codes are compared by their distance to it.

use crate::batch::{Batch, Stage};
use crate::block::Block;
use crate::effort::Effort;
use crate::lanes::Lanes;
use crate::modes::MODES;
use crate::principal_axis::Texels;
use kiln_transcode::etc1::{BIASES, MODIFIERS as ETC1_MODIFIERS};

/// The stage that finds the ETC1 hints of blocks.
pub(crate) struct Etc1;

/// The best layout so far: base colours as stored (four or five bits), its error and its parameters.
#[derive(Clone, Copy)]
struct Layout<L> {
    error: L,
    flip: L,
    fine: L,
    base: [[L; 3]; 2],
}

impl Stage for Etc1 {
    type Block = Block;
    type Effort = Effort;
    #[inline(always)]
    fn run<L: Lanes>(&self, blocks: &mut [Block], batch: &Batch, effort: &Effort) {
        let px: Texels<L, 3> = batch.channels([0, 1, 2]);
        let zero = [[L::zero(); 3]; 2];
        let mut best = Layout { error: L::splat(1e30), flip: L::zero(), fine: L::zero(), base: zero };
        for flip in 0..2 {
            for fine in usize::from(!effort.coarse_etc1)..2 {
                let layout = layout(&px, flip, fine);
                let better = layout.error.less(best.error);
                best.error = best.error.min(layout.error);
                best.flip = layout.flip.or(better, best.flip);
                best.fine = layout.fine.or(better, best.fine);
                for h in 0..2 {
                    for c in 0..3 {
                        best.base[h][c] = layout.base[h][c].or(better, best.base[h][c]);
                    }
                }
            }
        }
        let second = second_half::<L>(best.flip);
        let is_fine = L::splat(0.5).less(best.fine);
        let mut value = zero;
        for h in 0..2 {
            for c in 0..3 {
                value[h][c] = widen(best.base[h][c], is_fine);
            }
        }
        let chosen = tables(&px, &value, &second);
        let ideal = ideal_bases(&px, &value, &second, &chosen);
        let can = batch.words(blocks, |b| MODES[usize::from(b.fields.mode)].has_long_hints().into());
        let can = L::bit(&can, 0);
        let (code, nudged) = nearest_bias(&best.base, &value, &ideal, is_fine, can);
        let [first, second] = tables(&px, &nudged, &second);

        let (flip, fine, code) = (best.flip.to_words(), best.fine.to_words(), code.to_words());
        let (first, second) = (first.index.to_words(), second.index.to_words());
        for (lane, id) in batch.lanes() {
            let hints = &mut blocks[id].fields.hints;
            hints.etc1 = (flip[lane] | fine[lane] << 1 | first[lane] << 2 | second[lane] << 5) as u8;
            hints.etc1_bias = code[lane] as u8;
        }
    }
}

/// The texels of each half: left and right, or upper and lower if flipped.
const HALVES: [[[usize; 8]; 2]; 2] = [
    [[0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15]],
    [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]],
];

/// Returns one layout with the best tables for its halves.
#[inline(always)]
fn layout<L: Lanes>(px: &Texels<L, 3>, flip: usize, fine: usize) -> Layout<L> {
    let top = if fine == 1 { 31.0 } else { 15.0 };
    let is_fine = L::splat(0.5).less(L::splat(fine as f32));
    let mut base = [[L::zero(); 3]; 2];
    for h in 0..2 {
        for c in 0..3 {
            let mut sum = L::zero();
            for i in HALVES[flip][h] {
                sum = sum + px[c][i];
            }
            base[h][c] = (sum * L::splat(top / 2040.0) + L::splat(0.5)).floor();
        }
    }
    if fine == 1 {
        for c in 0..3 {
            base[1][c] = base[0][c] + (base[1][c] - base[0][c]).clamp(-4.0, 3.0);
        }
    }
    let mut error = L::zero();
    for h in 0..2 {
        let mut texels = [[L::zero(); 2]; 8];
        for (k, i) in HALVES[flip][h].into_iter().enumerate() {
            let mut squares = L::zero();
            let mut d = [L::zero(); 3];
            for c in 0..3 {
                d[c] = px[c][i] - widen(base[h][c], is_fine);
                squares = squares + d[c].squared();
            }
            error = error + squares;
            texels[k] = luma_difference(d);
        }
        let (mut least, peak) = (L::splat(1e30), peak(&texels));
        for table in 0..8 {
            if table > 0 && !peak.can_gain(table) {
                break;
            }
            let mut sum = L::zero();
            for [bright, lean] in texels {
                sum = sum + gain(bright, lean, table);
            }
            least = least.min(sum);
        }
        error = error + least;
    }
    Layout { error, flip: L::splat(flip as f32), fine: L::splat(fine as f32), base }
}

/// Expands a base of five or four bits to eight.
#[inline(always)]
fn widen<L: Lanes>(base: L, is_fine: L::Mask) -> L {
    (base * L::splat(8.25)).floor().or(is_fine, base * L::splat(17.0))
}

/// Returns the luma difference of a texel from its base, and twice the sum of its channel differences, both
/// with the sign that makes the luma difference positive.
#[inline(always)]
fn luma_difference<L: Lanes>(d: [L; 3]) -> [L; 2] {
    let luma = luma(d);
    let lean = (d[0] + d[1] + d[2]) * L::splat(2.0);
    let dark = luma.less(L::zero());
    [luma.abs(), (L::zero() - lean).or(dark, lean)]
}

/// Returns the luma that transcoders use.
#[inline(always)]
fn luma<L: Lanes>(d: [L; 3]) -> L {
    d[0] * L::splat(54.0 / 256.0) + d[1] * L::splat(183.0 / 256.0) + d[2] * L::splat(19.0 / 256.0)
}

/// Returns the change of a texel's squared error by a table's modifier, selected by luma; negative if it
/// helps.
#[inline(always)]
fn gain<L: Lanes>(bright: L, lean: L, table: usize) -> L {
    let (small, large) = (ETC1_MODIFIERS[table][2] as f32, ETC1_MODIFIERS[table][3] as f32);
    let near = bright.less(L::splat((small + large) * 0.5));
    let modifier = L::splat(small).or(near, L::splat(large));
    modifier * (modifier * L::splat(3.0) - lean)
}

/// The largest luma difference and channel differences of some texels.
struct Peak<L> {
    bright: L,
    lean: L,
}

/// Returns the largest differences of texels.
#[inline(always)]
fn peak<L: Lanes>(texels: &[[L; 2]]) -> Peak<L> {
    let mut peak = Peak { bright: texels[0][0], lean: texels[0][1] };
    for texel in &texels[1..] {
        (peak.bright, peak.lean) = (peak.bright.max(texel[0]), peak.lean.max(texel[1]));
    }
    peak
}

impl<L: Lanes> Peak<L> {
    /// Returns false if every texel is better off with the table before this one: with both it gets the small modifier,
    /// and that of the table before is already as large as its mean difference.
    #[inline(always)]
    fn can_gain(&self, table: usize) -> bool {
        let [.., small, large] = ETC1_MODIFIERS[table - 1];
        let (small, large) = (small as f32, large as f32);
        let far = !self.bright.less(L::splat((small + large) * 0.5));
        L::any(far | L::splat(6.0 * small).less(self.lean))
    }
}

/// Returns masks of the texels in the second half.
#[inline(always)]
fn second_half<L: Lanes>(flip: L) -> [L::Mask; 16] {
    let flipped = L::splat(0.5).less(flip);
    let mut second = [flipped; 16];
    for (i, second) in second.iter_mut().enumerate() {
        let (right, below) = (i % 4 >= 2, i >= 8);
        *second = match (right, below) {
            (true, true) => flipped | !flipped,
            (false, false) => flipped & !flipped,
            (true, false) => !flipped,
            (false, true) => flipped,
        };
    }
    second
}

/// A modifier table: its index and its two modifiers.
#[derive(Clone, Copy)]
struct Table<L> {
    index: L,
    small: L,
    large: L,
}

/// Returns the difference of a texel from the base of its half.
#[inline(always)]
fn difference<L: Lanes>(px: &Texels<L, 3>, value: &[[L; 3]; 2], second: L::Mask, i: usize) -> [L; 3] {
    let mut d = [L::zero(); 3];
    for c in 0..3 {
        d[c] = px[c][i] - value[1][c].or(second, value[0][c]);
    }
    d
}

/// Returns the best table of each half for given bases.
#[inline(always)]
fn tables<L: Lanes>(px: &Texels<L, 3>, value: &[[L; 3]; 2], second: &[L::Mask; 16]) -> [Table<L>; 2] {
    let mut texels = [[L::zero(); 2]; 16];
    for i in 0..16 {
        texels[i] = luma_difference(difference(px, value, second[i], i));
    }
    let (mut least, peak) = ([L::splat(1e30); 2], peak(&texels));
    let mut chosen = [Table { index: L::zero(), small: L::zero(), large: L::zero() }; 2];
    for table in 0..8 {
        if table > 0 && !peak.can_gain(table) {
            break;
        }
        let mut sums = [L::zero(); 2];
        for i in 0..16 {
            let gain = gain(texels[i][0], texels[i][1], table);
            sums[0] = sums[0] + gain;
            sums[1] = sums[1] + gain.only(second[i]);
        }
        sums[0] = sums[0] - sums[1];
        for h in 0..2 {
            let better = sums[h].less(least[h]);
            least[h] = least[h].min(sums[h]);
            chosen[h].index = L::splat(table as f32).or(better, chosen[h].index);
            chosen[h].small = L::splat(ETC1_MODIFIERS[table][2] as f32).or(better, chosen[h].small);
            chosen[h].large = L::splat(ETC1_MODIFIERS[table][3] as f32).or(better, chosen[h].large);
        }
    }
    chosen
}

/// Returns the ideal bases for the modifiers that the texels get: the averages of the remainders.
#[inline(always)]
fn ideal_bases<L: Lanes>(
    px: &Texels<L, 3>,
    value: &[[L; 3]; 2],
    second: &[L::Mask; 16],
    tables: &[Table<L>; 2],
) -> [[L; 3]; 2] {
    let mut ideal = [[L::zero(); 3]; 2];
    for i in 0..16 {
        let d = difference(px, value, second[i], i);
        let luma = luma(d);
        let small = tables[1].small.or(second[i], tables[0].small);
        let large = tables[1].large.or(second[i], tables[0].large);
        let size = small.or(luma.abs().less((small + large) * L::splat(0.5)), large);
        let modifier = (L::zero() - size).or(luma.less(L::zero()), size);
        for c in 0..3 {
            // Each half has eight texels.
            let left = (px[c][i] - modifier) * L::splat(1.0 / 8.0);
            ideal[0][c] = ideal[0][c] + left;
            ideal[1][c] = ideal[1][c] + left.only(second[i]);
        }
    }
    for c in 0..3 {
        ideal[0][c] = ideal[0][c] - ideal[1][c];
    }
    ideal
}

/// Returns the code whose bias brings the bases nearest to the ideal ones, and the biased bases of the
/// transcoder. A block whose mode has no bias field keeps its bases.
#[inline(always)]
fn nearest_bias<L: Lanes>(
    base: &[[L; 3]; 2],
    value: &[[L; 3]; 2],
    ideal: &[[L; 3]; 2],
    is_fine: L::Mask,
    can: L::Mask,
) -> (L, [[L; 3]; 2]) {
    let top = L::splat(31.0).or(is_fine, L::splat(15.0));
    // The results of one step down, none, and one up. At the ends of the range a bias is reversed.
    let mut reached = [[[L::zero(); 3]; 3]; 2];
    let mut cost = [[[L::zero(); 3]; 3]; 2];
    for h in 0..2 {
        for c in 0..3 {
            for step in 0..3 {
                let inward = L::splat(1.0).only(base[h][c].less(L::splat(0.5)))
                    - L::splat(1.0).only((top - L::splat(0.5)).less(base[h][c]));
                let moved = base[h][c] + L::splat(step as f32 - 1.0) + inward;
                reached[h][c][step] = widen(moved, is_fine);
                cost[h][c][step] = (reached[h][c][step] - ideal[h][c]).squared();
            }
        }
    }
    let mut best = (L::splat(1e30), L::splat(13.0), *value);
    for (code, bias) in BIASES.iter().enumerate() {
        if bias[0][0] < -1 {
            continue;
        }
        let mut sum = L::zero();
        for h in 0..2 {
            for c in 0..3 {
                sum = sum + cost[h][c][(bias[h][c] + 1) as usize];
            }
        }
        let better = sum.less(best.0) & can;
        best.0 = sum.or(better, best.0);
        best.1 = L::splat(code as f32).or(better, best.1);
        for h in 0..2 {
            for c in 0..3 {
                best.2[h][c] = reached[h][c][(bias[h][c] + 1) as usize].or(better, best.2[h][c]);
            }
        }
    }
    (best.1, best.2)
}
