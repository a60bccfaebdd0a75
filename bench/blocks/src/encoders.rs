//! Ours and the rivals, and the decoders.

use crate::Input;
use intel_tex_2::{RSurface, RgSurface, RgbaSurface};
use kiln_block_encoders::{Effort, bc1, bc4, bc6h, eac, etc2};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Bc1,
    Bc3,
    Bc4,
    Bc5,
    Bc6h,
    Etc2,
    EacR11,
}

type Encode = fn(&Input, &mut [u8]);

pub const ENCODERS: &[(Format, &str, Encode)] = &[
    (Format::Bc1, "intel", |i, out| intel_tex_2::bc1::compress_blocks_into(&rgba(i, &i.rgba), out)),
    (Format::Bc1, "texpresso range fit", |i, out| {
        texpresso(i, texpresso::Format::Bc1, texpresso::Algorithm::RangeFit, out)
    }),
    (Format::Bc1, "texpresso cluster fit", |i, out| {
        texpresso(i, texpresso::Format::Bc1, texpresso::Algorithm::ClusterFit, out)
    }),
    (Format::Bc1, "texpresso iterative", |i, out| {
        texpresso(i, texpresso::Format::Bc1, texpresso::Algorithm::IterativeClusterFit, out)
    }),
    (Format::Bc1, "ours fast", |i, out| ours(i, out, |t| bc1::encode(&opaque(t), Effort::Fast))),
    (Format::Bc1, "ours default", |i, out| ours(i, out, |t| bc1::encode(&opaque(t), Effort::Default))),
    (Format::Bc1, "ours high", |i, out| ours(i, out, |t| bc1::encode(&opaque(t), Effort::High))),
    (Format::Bc3, "intel", |i, out| intel_tex_2::bc3::compress_blocks_into(&rgba(i, &i.rgba), out)),
    (Format::Bc3, "ours fast", |i, out| ours(i, out, |t| bc1::encode_with_alpha(t, Effort::Fast))),
    (Format::Bc3, "ours default", |i, out| ours(i, out, |t| bc1::encode_with_alpha(t, Effort::Default))),
    (Format::Bc3, "ours high", |i, out| ours(i, out, |t| bc1::encode_with_alpha(t, Effort::High))),
    (Format::Bc4, "intel", |i, out| {
        let data = channel(i, 1);
        let surface =
            RSurface { data: &data, width: i.width as u32, height: i.height as u32, stride: i.width as u32 };
        intel_tex_2::bc4::compress_blocks_into(&surface, out);
    }),
    (Format::Bc4, "ours fast", |i, out| ours(i, out, |t| bc4::encode(&t.map(|t| t[0]), Effort::Fast))),
    (Format::Bc4, "ours default", |i, out| ours(i, out, |t| bc4::encode(&t.map(|t| t[0]), Effort::Default))),
    (Format::Bc4, "ours high", |i, out| ours(i, out, |t| bc4::encode(&t.map(|t| t[0]), Effort::High))),
    (Format::Bc5, "intel", |i, out| {
        let data = channel(i, 2);
        let surface = RgSurface {
            data: &data,
            width: i.width as u32,
            height: i.height as u32,
            stride: 2 * i.width as u32,
        };
        intel_tex_2::bc5::compress_blocks_into(&surface, out);
    }),
    (Format::Bc5, "ours default", |i, out| {
        ours(i, out, |t| bc4::encode_two(&t.map(|t| [t[0], t[1]]), Effort::Default))
    }),
    (Format::Bc6h, "intel very fast", |i, out| intel_bc6h(i, intel_tex_2::bc6h::very_fast_settings(), out)),
    (Format::Bc6h, "intel fast", |i, out| intel_bc6h(i, intel_tex_2::bc6h::fast_settings(), out)),
    (Format::Bc6h, "intel basic", |i, out| intel_bc6h(i, intel_tex_2::bc6h::basic_settings(), out)),
    (Format::Bc6h, "intel slow", |i, out| intel_bc6h(i, intel_tex_2::bc6h::slow_settings(), out)),
    (Format::Bc6h, "ours fast", |i, out| ours_bc6h(i, out, Effort::Fast)),
    (Format::Bc6h, "ours default", |i, out| ours_bc6h(i, out, Effort::Default)),
    (Format::Bc6h, "ours high", |i, out| ours_bc6h(i, out, Effort::High)),
    (Format::Etc2, "intel ETC1 slow", |i, out| {
        intel_tex_2::etc1::compress_blocks_into(&intel_tex_2::etc1::slow_settings(), &rgba(i, &i.rgba), out)
    }),
    (Format::Etc2, "ours fast", |i, out| ours(i, out, |t| etc2::encode(t, Effort::Fast))),
    (Format::Etc2, "ours default", |i, out| ours(i, out, |t| etc2::encode(t, Effort::Default))),
    (Format::Etc2, "ours high", |i, out| ours(i, out, |t| etc2::encode(t, Effort::High))),
    (Format::EacR11, "ours fast", |i, out| ours(i, out, |t| eac::encode_r11(&t.map(|t| t[0]), Effort::Fast))),
    (Format::EacR11, "ours default", |i, out| {
        ours(i, out, |t| eac::encode_r11(&t.map(|t| t[0]), Effort::Default))
    }),
    (Format::EacR11, "ours high", |i, out| ours(i, out, |t| eac::encode_r11(&t.map(|t| t[0]), Effort::High))),
];

fn rgba<'a>(input: &Input, data: &'a [u8]) -> RgbaSurface<'a> {
    RgbaSurface {
        data,
        width: input.width as u32,
        height: input.height as u32,
        stride: 4 * input.width as u32,
    }
}

fn channel(input: &Input, count: usize) -> Vec<u8> {
    input.rgba.chunks_exact(4).flat_map(|texel| &texel[..count]).copied().collect()
}

fn opaque(texels: &[[u8; 4]; 16]) -> [[u8; 4]; 16] {
    texels.map(|[r, g, b, _]| [r, g, b, 255])
}

fn texpresso(input: &Input, format: texpresso::Format, algorithm: texpresso::Algorithm, out: &mut [u8]) {
    let rgba: Vec<u8> = input.rgba.chunks_exact(4).flat_map(|t| [t[0], t[1], t[2], 255]).collect();
    let params = texpresso::Params { algorithm, weights: [1.0; 3], weigh_colour_by_alpha: false };
    format.compress(&rgba, input.width, input.height, params, out);
}

/// Calls `each` with every block.
fn blocks<const N: usize>(input: &Input, out: &mut [u8], mut each: impl FnMut(usize, usize) -> [u8; N]) {
    let places = (0..input.height / 4).flat_map(|y| (0..input.width / 4).map(move |x| (x, y)));
    for ((x, y), out) in places.zip(out.as_chunks_mut::<N>().0) {
        *out = each(4 * x, 4 * y);
    }
}

fn ours<const N: usize>(input: &Input, out: &mut [u8], encode: impl Fn(&[[u8; 4]; 16]) -> [u8; N]) {
    let texels = input.rgba.as_chunks::<4>().0;
    blocks(input, out, |x, y| {
        encode(&std::array::from_fn(|i| texels[(y + i / 4) * input.width + x + i % 4]))
    });
}

fn ours_bc6h(input: &Input, out: &mut [u8], effort: Effort) {
    blocks(input, out, |x, y| {
        let texels = std::array::from_fn(|i| {
            let at = ((y + i / 4) * input.width + x + i % 4) * 4;
            [input.halves[at], input.halves[at + 1], input.halves[at + 2]]
        });
        bc6h::encode(&texels, false, effort)
    });
}

fn intel_bc6h(input: &Input, settings: intel_tex_2::bc6h::EncodeSettings, out: &mut [u8]) {
    let data: Vec<u8> = input.halves.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let stride = 8 * input.width as u32;
    let surface = RgbaSurface { data: &data, width: input.width as u32, height: input.height as u32, stride };
    intel_tex_2::bc6h::compress_blocks_into(&settings, &surface, out);
}

impl Format {
    pub const ALL: [Format; 7] =
        [Format::Bc1, Format::Bc3, Format::Bc4, Format::Bc5, Format::Bc6h, Format::Etc2, Format::EacR11];

    pub fn name(self) -> &'static str {
        ["BC1", "BC3", "BC4", "BC5", "BC6H", "ETC2", "EAC R11"][self as usize]
    }

    pub fn block_bytes(self) -> usize {
        match self {
            Format::Bc1 | Format::Bc4 | Format::Etc2 | Format::EacR11 => 8,
            Format::Bc3 | Format::Bc5 | Format::Bc6h => 16,
        }
    }

    /// Decibels over the channels that the format stores.
    pub fn psnr(self, input: &Input, out: &[u8]) -> f64 {
        let (mut squares, mut count) = (0.0, 0.0);
        let mut add = |a: f64, b: f64| {
            squares += (a - b) * (a - b);
            count += 1.0;
        };
        for (n, block) in out.chunks_exact(self.block_bytes()).enumerate() {
            let (x, y) = (n % (input.width / 4) * 4, n / (input.width / 4) * 4);
            let mut texels = [0u8; 64];
            let mut halves = [0u16; 48];
            match self {
                Format::Bc1 => bcdec_rs::bc1(block, &mut texels, 16),
                Format::Bc3 => bcdec_rs::bc3(block, &mut texels, 16),
                Format::Bc4 => {
                    let mut red = [0; 16];
                    bcdec_rs::bc4(block, &mut red, 4, false);
                    red.iter().zip(texels.chunks_exact_mut(4)).for_each(|(red, texel)| texel[0] = *red);
                }
                Format::Bc5 => {
                    let mut both = [0; 32];
                    bcdec_rs::bc5(block, &mut both, 8, false);
                    both.chunks_exact(2)
                        .zip(texels.chunks_exact_mut(4))
                        .for_each(|(a, t)| t[..2].copy_from_slice(a));
                }
                Format::Bc6h => bcdec_rs::bc6h_half(block, &mut halves, 12, false),
                Format::Etc2 => {
                    let mut pixels = [0u32; 16];
                    texture2ddecoder::decode_etc2_rgb(block, 4, 4, &mut pixels).expect("a block");
                    for (pixel, texel) in pixels.iter().zip(texels.chunks_exact_mut(4)) {
                        let [b, g, r, a] = pixel.to_le_bytes();
                        texel.copy_from_slice(&[r, g, b, a]);
                    }
                }
                Format::EacR11 => {
                    let red = eac::decode_r11(block.try_into().expect("a block"));
                    for (red, texel) in red.iter().zip(texels.chunks_exact_mut(4)) {
                        texel[0] = ((u32::from(*red) * 255 + 1023) / 2047) as u8;
                    }
                }
            }
            let channels = match self {
                Format::Bc1 | Format::Etc2 | Format::Bc6h => 3,
                Format::Bc3 => 4,
                Format::Bc4 | Format::EacR11 => 1,
                Format::Bc5 => 2,
            };
            for i in 0..16 {
                let at = ((y + i / 4) * input.width + x + i % 4) * 4;
                for c in 0..channels {
                    match self {
                        Format::Bc6h => add(f64::from(input.halves[at + c]), f64::from(halves[3 * i + c])),
                        _ => add(f64::from(input.rgba[at + c]), f64::from(texels[4 * i + c])),
                    }
                }
            }
        }
        let peak = if self == Format::Bc6h { f64::from(0x7BFF) } else { 255.0 };
        (10.0 * (peak * peak * count / squares.max(1e-9)).log10()).min(99.0)
    }
}
