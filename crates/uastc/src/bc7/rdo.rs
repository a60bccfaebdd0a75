//! The parts of RDO that depend on BC7: which weights can be replaced, and the errors of weights.

use super::decode::{interpolate, texels, weight_64ths};
use super::modes::{Fields, MODES};
use super::packing::{pack, unpack};
use crate::rdo::{ALPHA, Repeated, WeightErrors};

/// The second plane of weights comes after sixteen weights of the first.
const SECOND: usize = 16;

impl Repeated for Fields {
    const KEEPS_OPAQUE: bool = true;

    fn describe(bytes: &[u8; 16]) -> ([[u8; 4]; 16], Option<Self>) {
        let fields = unpack(bytes);
        (fields.as_ref().map_or([[0; 4]; 16], texels), fields)
    }

    fn has_weights_of(&self, other: &Self) -> bool {
        (self.mode, self.pattern, self.rotation, self.swapped)
            == (other.mode, other.pattern, other.rotation, other.swapped)
    }

    fn weight_bytes(&self) -> u32 {
        let mode = &MODES[usize::from(self.mode)];
        // The weights of anchors, one in each subset and plane, have one bit less.
        let anchors = mode.subsets as u32 + u32::from(mode.planes);
        (16 * (mode.weight_bits + mode.second_bits) - anchors) / 8
    }

    fn weight_errors(&self, source: &[[u8; 4]; 16]) -> WeightErrors {
        let mode = &MODES[usize::from(self.mode)];
        let partition = mode.partition(self.pattern);
        let (colour_bits, alpha_bits) = self.weight_bits(mode);
        let mut errors = [[0; 32]; 32];
        for (i, texel) in source.iter().enumerate() {
            let mut texel = *texel;
            if self.rotation != 0 {
                texel.swap(3, usize::from(self.rotation & 3) - 1);
            }
            let [low, high] = self.ends[usize::from(partition.subset[i])].map(u32::to_le_bytes);
            for (channel, wanted) in texel.into_iter().enumerate() {
                let second = mode.planes && channel == 3;
                // Alpha is where the rotation puts it.
                let is_alpha = channel == [3, 0, 1, 2][usize::from(self.rotation & 3)];
                let weight = if is_alpha { ALPHA } else { 1 };
                let bits = if second { alpha_bits } else { colour_bits };
                let row = &mut errors[i + if second { SECOND } else { 0 }];
                for (index, error) in row.iter_mut().enumerate().take(1 << bits) {
                    let value = interpolate(low[channel], high[channel], weight_64ths(bits, index as u32));
                    *error += u32::from(wanted.abs_diff(value)).pow(2) * weight;
                }
            }
        }
        errors
    }

    fn error(&self, errors: &WeightErrors) -> u32 {
        let planes = MODES[usize::from(self.mode)].planes;
        let mut error = 0;
        for i in 0..16 {
            error += errors[i][(self.weights >> (4 * i) & 15) as usize];
            if planes {
                error += errors[i + SECOND][(self.second >> (4 * i) & 15) as usize];
            }
        }
        error
    }

    fn with_weights(&self, other: &Self) -> [u8; 16] {
        pack(&Fields { weights: other.weights, second: other.second, ..*self })
    }
}
