//! A BC7 block during the search: its texels, its class, and the best candidate so far.

use super::modes::Fields;
use crate::batch::{Batch, Searched};
use crate::block::{Class, is_smooth};
use crate::lanes::{Lanes, WIDTH};
use crate::ranking::RANKS;
use crate::subset_fit::EndpointPair;

/// A partition pattern and its expected error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// Index among the patterns of its list.
    pub(crate) pattern: u8,
    /// The expected squared error.
    pub(crate) score: f32,
}

/// A block and the state of its search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// RGBA words in raster order.
    pub(crate) texels: [u32; 16],
    /// The class of the texels.
    pub(crate) class: Class,
    /// True if the texels differ little: see [`is_smooth`].
    pub(crate) smooth: bool,
    /// The squared error of the best candidate, over all four channels.
    pub(crate) error: f32,
    /// The fields of the best candidate.
    pub(crate) fields: Fields,
    /// The estimated error of dual-plane modes, by the channel of the second plane.
    pub(crate) planes: [f32; 4],
    /// The most promising patterns, for two subsets and three, with eight weights and four.
    pub(crate) choices: [[Choice; RANKS]; 4],
}

impl Block {
    /// A block before the search.
    pub(crate) const EMPTY: Self = Self {
        texels: [0; 16],
        class: Class::Solid,
        smooth: false,
        error: 1e30,
        fields: Fields::NONE,
        planes: [1e30; 4],
        choices: [[Choice { pattern: 0, score: 1e30 }; RANKS]; 4],
    };

    /// Resets the block to other texels.
    #[inline]
    pub(crate) fn restart(&mut self, texels: [u32; 16]) {
        self.texels = texels;
        self.class = Class::of(&texels);
        self.smooth = is_smooth(&texels);
        self.error = 1e30;
    }
}

impl Searched for Block {
    #[inline(always)]
    fn texels(&self) -> &[u32; 16] {
        &self.texels
    }

    #[inline(always)]
    fn is_smooth(&self) -> bool {
        self.smooth
    }
}

/// A candidate for the eight blocks of a batch.
pub(crate) struct Candidate<'a, L> {
    /// The mode number.
    pub(crate) mode: u8,
    /// The pattern of each block.
    pub(crate) pattern: [u32; WIDTH],
    /// The rotation, as in [`Fields::rotation`].
    pub(crate) rotation: u8,
    /// The index selection, as in [`Fields::swapped`].
    pub(crate) swapped: bool,
    /// The endpoints of each subset, RGBA, after the rotation.
    pub(crate) pairs: &'a [EndpointPair<L, 4>],
    /// Weight indices of each plane.
    pub(crate) weights: &'a [[L; 16]],
    /// The squared error of the decoded texels.
    pub(crate) error: L,
}

impl<L: Lanes> Candidate<'_, L> {
    /// Replaces the best candidate of each block where the error of this one is smaller.
    #[inline(always)]
    pub(crate) fn offer(&self, blocks: &mut [Block], batch: &Batch) {
        let before = batch.gather::<L, _>(blocks, |block| block.error);
        let better = L::bits(self.error.less(before));
        if better == 0 {
            return;
        }
        let error = self.error.store();
        let mut planes = [[[0; WIDTH]; 4]; 2];
        for (rows, weights) in planes.iter_mut().zip(self.weights) {
            for (row, w) in rows.iter_mut().zip(weights.as_chunks::<4>().0) {
                let (first, second) = (w[0] + w[1] * L::splat(16.0), w[2] + w[3] * L::splat(16.0));
                *row = (first + second * L::splat(256.0)).to_words();
            }
        }
        let mut ends = [[([0; WIDTH], [0; WIDTH]); 2]; 3];
        for (out, pair) in ends.iter_mut().zip(self.pairs) {
            for (out, end) in out.iter_mut().zip([&pair.low, &pair.high]) {
                let colour = end[0] + end[1] * L::splat(256.0) + end[2] * L::splat(65_536.0);
                *out = (colour.to_words(), end[3].to_words());
            }
        }
        for (lane, id) in batch.lanes() {
            if better >> lane & 1 == 0 {
                continue;
            }
            let block = &mut blocks[id];
            block.error = error[lane];
            let nibbles = |rows: &[[u32; WIDTH]; 4]| {
                let [a, b, c, d] = rows.map(|row| u64::from(row[lane]));
                a | b << 16 | c << 32 | d << 48
            };
            block.fields = Fields {
                mode: self.mode,
                pattern: self.pattern[lane] as u8,
                rotation: self.rotation,
                swapped: self.swapped,
                ends: ends.map(|pair| pair.map(|(colour, alpha)| colour[lane] | alpha[lane] << 24)),
                weights: nibbles(&planes[0]),
                second: nibbles(&planes[1]),
            };
        }
    }
}
