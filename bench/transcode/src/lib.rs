//! The formats of all three transcoders, by the same names.

use basis_universal::transcoding::{
    DecodeFlags, LowLevelUastcTranscoder, SliceParametersUastc, TranscoderBlockFormat,
};
use basisu::etc::{uastc_to_etc1::transcode_uastc_to_etc1, uastc_to_etc2::transcode_uastc_to_etc2_rgba};
use basisu::uastc::{astc_pack, bc1, bc3_bc5, bc4, bc7, eac, unpack};
use kiln_transcode::{Channel, Target};

const RED_AND_ALPHA: [Channel; 2] = [Channel::Red, Channel::Alpha];

/// A format: its name, ours, and that of the reference.
pub const FORMATS: [(&str, Target, Option<TranscoderBlockFormat>); 11] = [
    // The reference transcodes blocks; texels come from its tables of block colours.
    ("RGBA8", Target::Rgba8, None),
    ("ASTC 4x4", Target::Astc4x4, Some(TranscoderBlockFormat::ASTC_4x4)),
    ("BC7", Target::Bc7, Some(TranscoderBlockFormat::BC7)),
    ("BC1", Target::Bc1, Some(TranscoderBlockFormat::BC1)),
    ("BC3", Target::Bc3, Some(TranscoderBlockFormat::BC3)),
    ("BC4", Target::Bc4(Channel::Red), Some(TranscoderBlockFormat::BC4)),
    ("BC5", Target::Bc5(RED_AND_ALPHA), Some(TranscoderBlockFormat::BC5)),
    ("ETC1", Target::Etc1, Some(TranscoderBlockFormat::ETC1)),
    ("ETC2 with EAC alpha", Target::Etc2Rgba, Some(TranscoderBlockFormat::ETC2_RGBA)),
    ("EAC R11", Target::EacR11(Channel::Red), Some(TranscoderBlockFormat::ETC2_EAC_R11)),
    ("EAC RG11", Target::EacRg11(RED_AND_ALPHA), Some(TranscoderBlockFormat::ETC2_EAC_RG11)),
];

/// Transcodes a row of blocks with the reference in C++. `None` if it rejects one of them.
pub fn reference(
    transcoder: &LowLevelUastcTranscoder,
    blocks: &[[u8; 16]],
    format: TranscoderBlockFormat,
) -> Option<Vec<u8>> {
    let count = blocks.len() as u32;
    let parameters = SliceParametersUastc {
        num_blocks_x: count,
        num_blocks_y: 1,
        has_alpha: true,
        original_width: count * 4,
        original_height: 4,
    };
    transcoder.transcode_slice(blocks.as_flattened(), parameters, DecodeFlags::empty(), format).ok()
}

/// Transcodes a block with the port of the reference. False if it rejects the block.
pub fn port(block: &[u8; 16], target: Target, out: &mut [u8]) -> bool {
    fn put<const N: usize>(result: Option<[u8; N]>, out: &mut [u8]) -> bool {
        result.map(|bytes| out.copy_from_slice(&bytes)).is_some()
    }
    match target {
        Target::Rgba8 => {
            let texels = unpack::unpack_uastc(block, false).map(|texels| texels.map(|texel| texel.c));
            texels.map(|texels| out.copy_from_slice(texels.as_flattened())).is_some()
        }
        Target::Astc4x4 => put(astc_pack::transcode_uastc_to_astc(block), out),
        Target::Bc7 => put(bc7::transcode_uastc_to_bc7(block), out),
        Target::Bc1 => put(bc1::transcode_uastc_to_bc1(block, false), out),
        Target::Bc3 => put(bc3_bc5::transcode_uastc_to_bc3(block, false), out),
        Target::Bc4(c) => put(bc4::transcode_uastc_to_bc4(block, false, c as usize), out),
        Target::Bc5([a, b]) => {
            put(bc3_bc5::transcode_uastc_to_bc5(block, false, a as usize, b as usize), out)
        }
        Target::Etc1 => put(transcode_uastc_to_etc1(block), out),
        Target::Etc2Rgba => put(transcode_uastc_to_etc2_rgba(block), out),
        Target::EacR11(c) => put(eac::transcode_uastc_to_etc2_eac_r11(block, false, c as usize), out),
        Target::EacRg11([a, b]) => {
            put(eac::transcode_uastc_to_etc2_eac_rg11(block, false, a as usize, b as usize), out)
        }
        other => panic!("{other:?} is not compared"),
    }
}
