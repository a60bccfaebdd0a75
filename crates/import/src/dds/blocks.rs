//! Decoders of BC1, BC3, BC4 and BC5 blocks (Direct3D 11 functional specification, section 19.5); BC7 is that of
//! `kiln-uastc`.

use super::DdsFormat;

type Texel = [u8; 4];

/// Decodes rows of blocks to texels; `None` if a BC7 block has the reserved mode.
pub(super) fn decode(format: DdsFormat, blocks: &[u8], width: usize, out: &mut [Texel]) -> Option<()> {
    let wide = width.div_ceil(4);
    let height = out.len() / width;
    for (n, block) in blocks.chunks_exact(format.block_len() as usize).enumerate() {
        let texels = decode_block(format, block)?;
        let (x, y) = (n % wide * 4, n / wide * 4);
        let inside = (width - x).min(4);
        for (row, texels) in texels.chunks_exact(4).enumerate().take(height.saturating_sub(y)) {
            out[(y + row) * width + x..][..inside].copy_from_slice(&texels[..inside]);
        }
    }
    Some(())
}

fn decode_block(format: DdsFormat, block: &[u8]) -> Option<[Texel; 16]> {
    let half = |at: usize| block.get(at..at + 8)?.try_into().ok();
    Some(match format {
        DdsFormat::Bc1 => colours(half(0)?, true),
        DdsFormat::Bc3 => {
            let (alpha, mut texels) = (channel(half(0)?), colours(half(8)?, false));
            texels.iter_mut().zip(alpha).for_each(|(texel, alpha)| texel[3] = alpha);
            texels
        }
        DdsFormat::Bc4 => channel(half(0)?).map(|red| [red, red, red, u8::MAX]),
        DdsFormat::Bc5 => {
            let (red, green) = (channel(half(0)?), channel(half(8)?));
            std::array::from_fn(|i| [red[i], green[i], 0, u8::MAX])
        }
        DdsFormat::Bc7 => return kiln_uastc::bc7::decode_block(block.try_into().ok()?),
        _ => return None,
    })
}

/// Decodes a colour block. In BC1 the order of the endpoints selects between four colours and three with transparent black.
fn colours(block: [u8; 8], punch_through: bool) -> [Texel; 16] {
    let ends = [u16::from_le_bytes([block[0], block[1]]), u16::from_le_bytes([block[2], block[3]])];
    let rgb = ends.map(|end| {
        let expand = |value: u16, bits: u32| {
            let value = u32::from(value & ((1 << bits) - 1));
            value << (8 - bits) | value >> (2 * bits - 8)
        };
        [expand(end >> 11, 5), expand(end >> 5, 6), expand(end, 5)]
    });
    let mix = |a: u32, b: u32| {
        let [r, g, b] =
            std::array::from_fn(|c| ((rgb[0][c] * a + rgb[1][c] * b + (a + b) / 2) / (a + b)) as u8);
        [r, g, b, u8::MAX]
    };
    let palette = if punch_through && ends[0] <= ends[1] {
        [mix(1, 0), mix(0, 1), mix(1, 1), [0; 4]]
    } else {
        [mix(1, 0), mix(0, 1), mix(2, 1), mix(1, 2)]
    };
    let indices = u32::from_le_bytes([block[4], block[5], block[6], block[7]]);
    std::array::from_fn(|i| palette[(indices >> (2 * i) & 3) as usize])
}

/// Decodes a block of one channel: BC4, half of BC5, or the alpha of BC3.
fn channel(block: [u8; 8]) -> [u8; 16] {
    let [a, b] = [u32::from(block[0]), u32::from(block[1])];
    let steps = if a > b { 7 } else { 5 };
    let palette: [u8; 8] = std::array::from_fn(|i| match i as u32 {
        0 => a as u8,
        1 => b as u8,
        6 if steps == 5 => 0,
        7 if steps == 5 => u8::MAX,
        i => (((steps + 1 - i) * a + (i - 1) * b + steps / 2) / steps) as u8,
    });
    let indices = u64::from_le_bytes(block) >> 16;
    std::array::from_fn(|i| palette[(indices >> (3 * i) & 7) as usize])
}
