//! A UASTC block during the search: its texels, its class, and the best candidate so far.

use crate::batch::{Batch, Searched};
use crate::lanes::{Lanes, WIDTH};
use crate::packing::{Fields, Hints};
use crate::ranking::RANKS;

/// The class of a block's texels, which decides the modes to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A single colour in all texels.
    Solid,
    /// Opaque, with red equal to green and blue.
    Grey,
    /// Opaque, with any colours.
    Rgb,
    /// Red equal to green and blue; alpha varies or is not 255.
    GreyAlpha,
    /// Any other block: RGBA.
    Rgba,
}

impl Class {
    /// Classifies sixteen RGBA words.
    pub(crate) fn of(texels: &[u32; 16]) -> Self {
        let (mut all, mut differ, mut tint) = (u32::MAX, 0, 0);
        for &texel in texels {
            all &= texel;
            differ |= texel ^ texels[0];
            tint |= (texel ^ (texel >> 8)) & 0xFFFF;
        }
        match (differ == 0, all >> 24 == 255, tint == 0) {
            (true, ..) => Self::Solid,
            (_, true, true) => Self::Grey,
            (_, true, false) => Self::Rgb,
            (_, false, true) => Self::GreyAlpha,
            (_, false, false) => Self::Rgba,
        }
    }
}

/// Returns true if no channel spans more than six levels. Such blocks get additional attempts, and batches of them
/// alone: a single one makes the others of its batch wait.
pub(crate) fn is_smooth(texels: &[u32; 16]) -> bool {
    let (mut low, mut high) = ([u8::MAX; 4], [0; 4]);
    for texel in texels {
        for (c, value) in texel.to_le_bytes().into_iter().enumerate() {
            (low[c], high[c]) = (low[c].min(value), high[c].max(value));
        }
    }
    (0..4).all(|c| high[c].saturating_sub(low[c]) <= 6)
}

/// A partition pattern and the fit of principal axes through its subsets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    /// Index among the patterns of its list.
    pub(crate) pattern: u8,
    /// Sum of squared distances from the principal axes.
    pub(crate) across: f32,
    /// Sum of squared distances along the principal axes.
    pub(crate) along: f32,
}

impl Choice {
    /// The initial value: no pattern.
    pub(crate) const NONE: Self = Self { pattern: 0, across: 1e30, along: 0.0 };
}

/// The number of lists of patterns.
pub(crate) const LISTS: usize = 4;

/// A block and the state of its search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// RGBA words in raster order.
    pub(crate) texels: [u32; 16],
    /// The class of the texels.
    pub(crate) class: Class,
    /// True if the texels differ little: see [`is_smooth`].
    pub(crate) smooth: bool,
    /// The cost of the best candidate: its error plus its weighted error after transcoding to BC7.
    pub(crate) cost: f32,
    /// The squared error of the best candidate, over all four channels.
    pub(crate) error: f32,
    /// The fields of the best candidate.
    pub(crate) fields: Fields,
    /// The estimated error of a single subset with 4, 8 and 32 weights.
    pub(crate) single_subset: [f32; 3],
    /// The fit of dual-plane modes, by the channel of the second plane.
    pub(crate) planes: [Choice; 4],
    /// The most promising patterns of each list of [`crate::search`].
    pub(crate) choices: [[Choice; RANKS]; LISTS],
}

impl Block {
    /// A block before the search.
    pub(crate) const EMPTY: Self = Self {
        texels: [0; 16],
        class: Class::Solid,
        smooth: false,
        cost: 1e30,
        error: 1e30,
        fields: Fields {
            mode: 0,
            pattern: 0,
            channel: 0,
            endpoints: [0; 18],
            weights: [0; 32],
            hints: Hints::NEUTRAL,
        },
        single_subset: [0.0; 3],
        planes: [Choice::NONE; 4],
        choices: [[Choice::NONE; RANKS]; LISTS],
    };

    /// Resets the block to other texels. What a stage reads is written by a stage before it.
    #[inline]
    pub(crate) fn restart(&mut self, texels: [u32; 16]) {
        self.texels = texels;
        self.class = Class::of(&texels);
        self.smooth = is_smooth(&texels);
        self.cost = 1e30;
        self.error = 1e30;
        self.fields.hints = Hints::NEUTRAL;
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

/// The factor by which an error counts as much larger, in addition to [`MARGIN`].
const FACTOR: f32 = 4.0;
/// The difference by which an error counts as much larger: sixteen texels that are off by one in one channel.
const MARGIN: f32 = 16.0;

/// A candidate for the eight blocks of a batch.
pub(crate) struct Candidate<'a, L> {
    /// The mode number.
    pub(crate) mode: u8,
    /// The pattern of each block.
    pub(crate) pattern: [u32; WIDTH],
    /// The channel of the second plane of each block.
    pub(crate) channel: [u32; WIDTH],
    /// Endpoint values in the order of [`Fields::endpoints`].
    pub(crate) endpoints: &'a [L],
    /// Weight indices of each plane.
    pub(crate) weights: &'a [[L; 16]],
    /// The squared error of the decoded texels.
    pub(crate) error: L,
    /// The cost that selection compares.
    pub(crate) cost: L,
}

impl<L: Lanes> Candidate<'_, L> {
    /// Replaces the best candidate of each block where this one is better: its cost is lower and its error
    /// not much larger, or its error is much smaller. So a small gain as BC7 never ruins the UASTC block
    /// itself.
    #[inline(always)]
    pub(crate) fn offer(&self, blocks: &mut [Block], batch: &Batch) {
        let cost = batch.gather::<L, _>(blocks, |block| block.cost);
        let error = batch.gather::<L, _>(blocks, |block| block.error);
        let (much, little) = (L::splat(FACTOR), L::splat(MARGIN));
        let not_much_larger = self.error.less(error * much + little);
        let much_smaller = (self.error * much + little).less(error);
        let better = L::bits((self.cost.less(cost) & not_much_larger) | much_smaller);
        if better == 0 {
            return;
        }
        let (cost, error) = (self.cost.store(), self.error.store());
        // Packs four weights into a word of five bits each: an eighth of the words to scatter.
        let mut rows = [[[0; WIDTH]; 4]; 2];
        for (rows, weights) in rows.iter_mut().zip(self.weights) {
            for (row, w) in rows.iter_mut().zip(weights.chunks_exact(4)) {
                let (first, second) = (w[0] + w[1] * L::splat(32.0), w[2] + w[3] * L::splat(32.0));
                *row = (first + second * L::splat(1024.0)).to_words();
            }
        }
        let mut endpoints = [[0; WIDTH]; 18];
        for (words, &value) in endpoints.iter_mut().zip(self.endpoints) {
            *words = value.to_words();
        }
        let planes = self.weights.len();
        for (lane, id) in batch.lanes() {
            if better >> lane & 1 == 0 {
                continue;
            }
            let block = &mut blocks[id];
            block.cost = cost[lane];
            block.error = error[lane];
            let fields = &mut block.fields;
            fields.mode = self.mode;
            fields.pattern = self.pattern[lane] as u8;
            fields.channel = self.channel[lane] as u8;
            for (value, words) in fields.endpoints.iter_mut().zip(&endpoints) {
                *value = words[lane] as u8;
            }
            for (plane, rows) in rows.iter().enumerate().take(planes) {
                for (y, row) in rows.iter().enumerate() {
                    for x in 0..4 {
                        let weight = row[lane] >> (5 * x) & 31;
                        fields.weights[(y * 4 + x) * planes + plane] = weight as u8;
                    }
                }
            }
        }
    }
}
