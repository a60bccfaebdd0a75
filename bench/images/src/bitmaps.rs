//! BMP and TGA files in every variant, with random texels.

use crate::noise::Noise;

/// Files by name.
pub fn all(noise: &mut Noise) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for (width, height) in [(1, 1), (5, 3), (8, 4), (13, 7), (33, 2)] {
        bmps(width, height, noise, &mut files);
        tgas(width, height, noise, &mut files);
    }
    files
}

fn bmps(width: usize, height: usize, noise: &mut Noise, files: &mut Vec<(String, Vec<u8>)>) {
    for header in [12, 40, 52, 56, 108, 124] {
        for top_down in [false, true] {
            for (bits, compression) in
                [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (24, 0), (32, 0), (8, 1), (4, 2), (16, 3), (32, 3)]
            {
                let old = header == 12;
                if old && (top_down || compression > 0 || matches!(bits, 2 | 16 | 32))
                    || top_down && matches!(compression, 1 | 2)
                {
                    continue;
                }
                let masks: &[[u32; 4]] = match (compression, bits) {
                    (3, 16) => &[
                        [0xF800, 0x7E0, 0x1F, 0],
                        [0xF00, 0xF0, 0xF, 0xF000],
                        [0x7C00, 0x3E0, 0x1F, 0x8000],
                        [0xE0, 0x1C, 0x3, 0x3F00],
                    ],
                    (3, _) => &[
                        [0xFF0000, 0xFF00, 0xFF, 0xFF000000],
                        [0xFF000000, 0xFF0000, 0xFF00, 0],
                        [0x3FF00000, 0xFFC00, 0x3FF, 0xC0000000],
                        [0x7F, 0x3F80, 0x1FC000, 0],
                    ],
                    _ => &[[0; 4]],
                };
                for (index, masks) in masks.iter().enumerate() {
                    let file = bmp(header, width, height, top_down, bits, compression, *masks, noise);
                    files.push((
                        format!("{width}x{height}-h{header}-{bits}-c{compression}-{top_down}-{index}.bmp"),
                        file,
                    ));
                }
            }
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "the fields of a header")]
fn bmp(
    header: u32,
    width: usize,
    height: usize,
    top_down: bool,
    bits: u32,
    compression: u32,
    masks: [u32; 4],
    noise: &mut Noise,
) -> Vec<u8> {
    let colours = if bits > 8 {
        0
    } else if noise.below(2) == 0 {
        0
    } else {
        1 + noise.below(1 << bits) as u32
    };
    let mut out = b"BM\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
    out.extend(header.to_le_bytes());
    if header == 12 {
        for value in [width as u16, height as u16, 1, bits as u16] {
            out.extend(value.to_le_bytes());
        }
    } else {
        let signed = if top_down { -(height as i32) } else { height as i32 };
        out.extend((width as u32).to_le_bytes());
        out.extend(signed.to_le_bytes());
        out.extend([1, 0, bits as u8, 0]);
        for value in [compression, 0, 0, 0, colours, 0] {
            out.extend(value.to_le_bytes());
        }
        masks.iter().for_each(|mask| out.extend(mask.to_le_bytes()));
        // Bit fields of the shortest header lie behind it.
        out.resize((14 + header as usize).max(if compression == 3 { 66 } else { 0 }), 0);
    }
    if bits <= 8 {
        let count = if header == 12 || colours == 0 { 1 << bits } else { colours as usize };
        out.extend(noise.bytes(count * if header == 12 { 3 } else { 4 }));
    }
    let start = out.len() as u32;
    out[10..14].copy_from_slice(&start.to_le_bytes());
    match compression {
        1 | 2 => runs(width, height, compression == 2, noise, &mut out),
        _ => out.extend(noise.bytes((width * bits as usize).div_ceil(32) * 4 * height)),
    }
    out
}

/// Runs, literals, skips, and ends of rows, mostly inside the image.
fn runs(width: usize, height: usize, nibbles: bool, noise: &mut Noise, out: &mut Vec<u8>) {
    let (mut x, mut y) = (0, 0);
    while y < height {
        match noise.below(8) {
            0 => {
                out.extend([0, 0]);
                (x, y) = (0, y + 1);
            }
            1 if noise.below(4) == 0 => {
                out.extend([0, 1]);
                return;
            }
            2 => {
                let (right, up) = (noise.below(width - x + 1), noise.below((height - y).min(3)));
                out.extend([0, 2, right as u8, up as u8]);
                (x, y) = (x + right, y + up);
            }
            3..5 if width - x >= 3 => {
                let count = 3 + noise.below((width - x - 2).min(20));
                let len: usize = if nibbles { count.div_ceil(2) } else { count };
                out.extend([0, count as u8]);
                out.extend(noise.bytes(len.next_multiple_of(2)));
                x += count;
            }
            _ if width > x => {
                let count = 1 + noise.below(width - x);
                out.extend([count as u8, noise.below(256) as u8]);
                x += count;
            }
            _ => {
                out.extend([0, 0]);
                (x, y) = (0, y + 1);
            }
        }
    }
}

fn tgas(width: usize, height: usize, noise: &mut Noise, files: &mut Vec<(String, Vec<u8>)>) {
    // Kind, depth, bits of a palette's colours, bits of alpha.
    let variants: [(u8, u8, u8, u8); 18] = [
        (1, 8, 15, 0),
        (1, 8, 16, 0),
        (1, 8, 16, 1),
        (1, 8, 24, 0),
        (1, 8, 32, 0),
        (1, 8, 32, 8),
        (1, 16, 24, 0),
        (1, 16, 32, 8),
        (1, 16, 16, 0),
        (2, 15, 0, 0),
        (2, 16, 0, 0),
        (2, 16, 0, 1),
        (2, 24, 0, 0),
        (2, 32, 0, 0),
        (2, 32, 0, 8),
        (3, 8, 0, 0),
        (3, 8, 0, 8),
        (3, 16, 0, 8),
    ];
    for (kind, depth, colour_bits, alpha) in variants {
        for coded in [false, true] {
            for corner in [0x00, 0x10, 0x20, 0x30] {
                let mapped = kind == 1;
                let palette = if mapped || noise.below(4) == 0 { 256 } else { 0 };
                let first = if mapped && noise.below(2) == 0 { 0 } else { 10 };
                let entry = if palette > 0 && !mapped { 24 } else { colour_bits };
                let comment = noise.below(20);
                let mut out = vec![comment as u8, (palette > 0) as u8, kind + if coded { 8 } else { 0 }];
                for value in [first as u16, palette as u16] {
                    out.extend(value.to_le_bytes());
                }
                out.push(entry);
                for value in [0, 0, width as u16, height as u16] {
                    out.extend(value.to_le_bytes());
                }
                out.extend([depth, corner | alpha]);
                out.extend(noise.bytes(comment + palette * usize::from(entry).div_ceil(8)));
                let len = usize::from(depth).div_ceil(8);
                let pixel = |noise: &mut Noise| match (mapped, len) {
                    (true, 1) => vec![(first + noise.below(256 - first)) as u8],
                    (true, _) => ((first + noise.below(256)) as u16).to_le_bytes().to_vec(),
                    _ => noise.bytes(len),
                };
                let mut left = width * height;
                while left > 0 {
                    // A packet may cross rows, and the last one the end.
                    let count = if coded { 1 + noise.below(128.min(left + 3)) } else { left };
                    let repeats = coded && noise.below(2) == 0;
                    if coded {
                        out.push((count - 1) as u8 | if repeats { 0x80 } else { 0 });
                    }
                    for _ in 0..if repeats { 1 } else { count } {
                        out.extend(pixel(noise));
                    }
                    left = left.saturating_sub(count);
                }
                files.push((
                    format!("{width}x{height}-k{kind}-{depth}-{colour_bits}-{alpha}-{coded}-{corner:x}.tga"),
                    out,
                ));
            }
        }
    }
}
