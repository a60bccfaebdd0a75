//! The formats of all three transcoders, by the same names.

use basis_universal::transcoding::{TranscoderBlockFormat as Format, transcoder_init};
use basis_universal_sys as sys;
use basisu::etc::{uastc_to_etc1::transcode_uastc_to_etc1, uastc_to_etc2::transcode_uastc_to_etc2_rgba};
use basisu::uastc::{astc_pack, bc1, bc3_bc5, bc4, bc7, eac, unpack};
use kiln_transcode::{Channel, Target};

const RED_AND_ALPHA: [Channel; 2] = [Channel::Red, Channel::Alpha];

/// A format: its name, ours, and that of the reference.
pub const FORMATS: [(&str, Target, Format); 11] = [
    ("RGBA8", Target::Rgba8, Format::RGBA32),
    ("ASTC 4x4", Target::Astc4x4, Format::ASTC_4x4),
    ("BC7", Target::Bc7, Format::BC7),
    ("BC1", Target::Bc1, Format::BC1),
    ("BC3", Target::Bc3, Format::BC3),
    ("BC4", Target::Bc4(Channel::Red), Format::BC4),
    ("BC5", Target::Bc5(RED_AND_ALPHA), Format::BC5),
    ("ETC1", Target::Etc1, Format::ETC1),
    ("ETC2 with EAC alpha", Target::Etc2Rgba, Format::ETC2_RGBA),
    ("EAC R11", Target::EacR11(Channel::Red), Format::ETC2_EAC_R11),
    ("EAC RG11", Target::EacRg11(RED_AND_ALPHA), Format::ETC2_EAC_RG11),
];

/// The reference transcoder in C++.
pub struct Reference(*mut sys::LowLevelUastcTranscoder);

impl Default for Reference {
    fn default() -> Self {
        transcoder_init();
        // SAFETY: the library is initialised.
        Self(unsafe { sys::low_level_uastc_transcoder_new() })
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // SAFETY: the pointer is that of `new`, and is not used again.
        unsafe { sys::low_level_uastc_transcoder_delete(self.0) }
    }
}

impl Reference {
    /// Transcodes a row of blocks. False if the reference rejects one of them.
    pub fn transcode(&self, blocks: &[[u8; 16]], target: Target, format: Format, out: &mut [u8]) -> bool {
        let count = blocks.len() as u32;
        assert_eq!(out.len(), blocks.len() * target.block_bytes());
        let (stride, pitch) = match target {
            Target::Rgba8 => (4, count * 4),
            _ => (target.block_bytes() as u32, count),
        };
        // SAFETY: the output has room for all blocks or rows of texels, as asserted above; the state is optional.
        unsafe {
            sys::low_level_uastc_transcoder_transcode_slice(
                self.0,
                out.as_mut_ptr().cast(),
                count,
                1,
                blocks.as_ptr().cast(),
                count * 16,
                format as sys::basist_block_format,
                stride,
                false,
                true,
                count * 4,
                4,
                pitch,
                std::ptr::null_mut(),
                4,
                0,
                3,
                0,
            )
        }
    }
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
