//! Tests only: a plain BC7 decoder, to check the model of transcoding and to measure.
//!
//! After Khronos Data Format 1.3, chapter 20. Only the modes that transcoders of UASTC write.

use basisu::uastc::bc7_tables as tables;

struct Bits(u128);

impl Bits {
    fn take(&mut self, bits: u32) -> u32 {
        let out = (self.0 & ((1 << bits) - 1)) as u32;
        self.0 >>= bits;
        out
    }
}

/// The texels of a BC7 block.
pub(crate) fn decode_bc7(block: &[u8; 16]) -> [[u8; 4]; 16] {
    let mode = block[0].trailing_zeros() as usize;
    let mut bits = Bits(u128::from_le_bytes(*block) >> (mode + 1));
    // Subsets, partition bits, colour bits, alpha bits, lowest bits (1: for each end, 2: shared), index bits.
    let (subsets, partition_bits, colour, alpha, lowest, index) = match mode {
        1 => (2, 6, 6, 0, 2, 3),
        2 => (3, 6, 5, 0, 0, 2),
        3 => (2, 6, 7, 0, 1, 2),
        5 => (1, 0, 7, 8, 0, 2),
        6 => (1, 0, 7, 7, 1, 4),
        7 => (2, 6, 5, 5, 1, 2),
        _ => panic!("transcoders do not write BC7 mode {mode}"),
    };
    let rotation = if mode == 5 { bits.take(2) as usize } else { 0 };
    let partition = bits.take(partition_bits) as usize;
    let channels = if alpha > 0 { 4 } else { 3 };
    let mut ends = [[[255u32; 4]; 2]; 3];
    for c in 0..channels {
        for s in 0..subsets {
            for e in 0..2 {
                ends[s][e][c] = bits.take(if c == 3 { alpha } else { colour });
            }
        }
    }
    let mut low = [[0; 2]; 3];
    for s in 0..subsets {
        match lowest {
            1 => low[s] = [bits.take(1), bits.take(1)],
            2 => low[s] = [bits.take(1); 2],
            _ => {}
        }
    }
    for s in 0..subsets {
        for e in 0..2 {
            for c in 0..channels {
                let width = if c == 3 { alpha } else { colour };
                let (value, width) = if lowest > 0 {
                    (ends[s][e][c] << 1 | low[s][e], width + 1)
                } else {
                    (ends[s][e][c], width)
                };
                let high = value << (8 - width);
                ends[s][e][c] = high | high >> width;
            }
        }
    }
    let subset = |i: usize| -> usize {
        match subsets {
            2 => tables::G_BC7_PARTITION2[partition * 16 + i].into(),
            3 => tables::G_BC7_PARTITION3[partition * 16 + i].into(),
            _ => 0,
        }
    };
    let is_anchor = |i: usize| match subsets {
        2 => i == 0 || i == usize::from(tables::G_BC7_ANCHOR_SECOND[partition]),
        3 => {
            i == 0
                || i == usize::from(tables::G_BC7_ANCHOR_THIRD_1[partition])
                || i == usize::from(tables::G_BC7_ANCHOR_THIRD_2[partition])
        }
        _ => i == 0,
    };
    let mut weights = [[0; 16]; 2];
    for (plane, weights) in weights.iter_mut().enumerate().take(if mode == 5 { 2 } else { 1 }) {
        for (i, weight) in weights.iter_mut().enumerate() {
            let short = if plane == 1 { i == 0 } else { is_anchor(i) };
            *weight = bits.take(index - u32::from(short));
        }
    }
    let of_64 = |w: u32| match index {
        2 => [0, 21, 43, 64][w as usize],
        3 => [0, 9, 18, 27, 37, 46, 55, 64][w as usize],
        _ => [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64][w as usize],
    };
    std::array::from_fn(|i| {
        let [a, b] = ends[subset(i)];
        let mut texel: [u8; 4] = std::array::from_fn(|c| {
            let w = of_64(weights[usize::from(mode == 5 && c == 3)][i]);
            ((a[c] * (64 - w) + b[c] * w + 32) >> 6) as u8
        });
        if rotation > 0 {
            texel.swap(3, rotation - 1);
        }
        texel
    })
}
