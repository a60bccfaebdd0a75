//! Rows of BC1, BC3, BC4, BC5 and BC7 blocks to texels; `kiln-uastc` decodes the blocks.

use super::DdsFormat;
use kiln_uastc::bc;

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
    let (eight, sixteen) = (block.try_into().ok(), block.try_into().ok());
    Some(match format {
        DdsFormat::Bc1 => bc::decode_bc1(eight?),
        DdsFormat::Bc3 => bc::decode_bc3(sixteen?),
        DdsFormat::Bc4 => bc::decode_bc4(eight?).map(|red| [red, red, red, u8::MAX]),
        DdsFormat::Bc5 => bc::decode_bc5(sixteen?).map(|[red, green]| [red, green, 0, u8::MAX]),
        DdsFormat::Bc7 => return kiln_uastc::bc7::decode_block(sixteen?),
        _ => return None,
    })
}
