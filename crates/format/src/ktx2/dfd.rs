//! The data format descriptor of a texture: a basic descriptor block of the Khronos Data Format
//! Specification.
//!
//! Each payload has exactly one valid descriptor, except for the colour primaries, the premultiplied flag,
//! and `bytesPlane0` under supercompression, which older revisions of KTX required to be zero. Everything
//! else is rejected.

use core::mem::offset_of;

use super::shape::{Channels, Payload, Supercompression, Transfer};
use crate::Error;
use crate::bytes::{Reader, record};

record! {
    /// The descriptor without its samples.
    struct Descriptor {
        total_size: u32,
        vendor_and_type: u32,
        version: u16,
        block_size: u16,
        model: u8,
        primaries: u8,
        transfer: u8,
        flags: u8,
        block_dimensions: [u8; 4],
        bytes_planes: [u8; 8],
    }
}

record! {
    /// A sample: the bit range and the meaning of a channel.
    struct Sample {
        bit_offset: u16,
        bit_length: u8,
        channel: u8,
        positions: [u8; 4],
        lower: u32,
        upper: u32,
    }
}

const MODEL_RGBSDA: u8 = 1;
const MODEL_BC1: u8 = 128;
const MODEL_BC3: u8 = 130;
const MODEL_BC4: u8 = 131;
const MODEL_BC5: u8 = 132;
const MODEL_BC6H: u8 = 133;
const MODEL_BC7: u8 = 134;
const MODEL_ETC2: u8 = 161;
const MODEL_ASTC: u8 = 162;
const MODEL_UASTC: u8 = 166;
const PRIMARIES_UNSPECIFIED: u8 = 0;
const PRIMARIES_BT709: u8 = 1;
const FLAG_PREMULTIPLIED: u8 = 1;
const CHANNEL_ALPHA: u8 = 15;
const CHANNEL_BC7_COLOUR: u8 = 0;
const CHANNEL_BC1_ALPHA: u8 = 1;
const CHANNEL_ETC2_COLOUR: u8 = 2;
const LINEAR: u8 = 0x10;
const FLOAT: u8 = 0x80;
const SIGNED_FLOAT: u8 = 0xC0;

/// The contents of a decoded descriptor.
pub(super) struct DecodedDescriptor {
    pub(super) payload: Payload,
    pub(super) transfer: Transfer,
    pub(super) premultiplied: bool,
}

/// Returns the descriptor of a payload. Colour textures have BT.709 (sRGB) primaries. Linear textures hold
/// data, for which primaries are meaningless, and `ktx validate --gltf-basisu` accepts them only with
/// unspecified primaries.
fn descriptor(payload: Payload, transfer: Transfer) -> Descriptor {
    let size = (Descriptor::SIZE + samples(payload, transfer).count() * Sample::SIZE) as u32;
    Descriptor {
        total_size: size,
        vendor_and_type: 0,
        version: 2,
        block_size: size as u16 - size_of::<u32>() as u16,
        model: model(payload),
        primaries: match transfer {
            Transfer::Srgb => PRIMARIES_BT709,
            Transfer::Linear => PRIMARIES_UNSPECIFIED,
        },
        transfer: transfer.khr_df(),
        flags: 0,
        block_dimensions: [payload.block_side() as u8 - 1, payload.block_side() as u8 - 1, 0, 0],
        bytes_planes: [payload.block_len() as u8, 0, 0, 0, 0, 0, 0, 0],
    }
}

/// Returns the colour model of a payload.
const fn model(payload: Payload) -> u8 {
    match payload {
        Payload::Uastc { .. } => MODEL_UASTC,
        Payload::Bc7 => MODEL_BC7,
        Payload::Bc1 => MODEL_BC1,
        Payload::Bc3 => MODEL_BC3,
        Payload::Bc4 => MODEL_BC4,
        Payload::Bc5 => MODEL_BC5,
        Payload::Bc6h | Payload::Bc6hSigned => MODEL_BC6H,
        Payload::Astc4x4 => MODEL_ASTC,
        Payload::Etc2Rgb | Payload::Etc2Rgba | Payload::EacR11 | Payload::EacRg11 => MODEL_ETC2,
        Payload::Rgba8 | Payload::Rgba16F | Payload::R16 | Payload::Rg16 | Payload::Rgba16 => MODEL_RGBSDA,
    }
}

fn samples(payload: Payload, transfer: Transfer) -> impl Iterator<Item = Sample> {
    let count = match payload {
        Payload::Uastc { .. } | Payload::Bc7 | Payload::Bc1 | Payload::Bc4 | Payload::R16 => 1,
        Payload::Bc6h | Payload::Bc6hSigned | Payload::Astc4x4 | Payload::Etc2Rgb | Payload::EacR11 => 1,
        Payload::Bc3 | Payload::Bc5 | Payload::Rg16 | Payload::Etc2Rgba | Payload::EacRg11 => 2,
        Payload::Rgba8 | Payload::Rgba16F | Payload::Rgba16 => 4,
    };
    let sample = |bit_offset: usize, bits: u8, channel: u8, lower: u32, upper: u32| Sample {
        bit_offset: bit_offset as u16,
        bit_length: bits - 1,
        channel,
        positions: [0; 4],
        lower,
        upper,
    };
    // Alpha is always linear; the qualifier is required if the colours are not.
    let alpha = match transfer {
        Transfer::Srgb => CHANNEL_ALPHA | LINEAR,
        Transfer::Linear => CHANNEL_ALPHA,
    };
    (0..count).map(move |i| {
        let unorm_channel = [0, 1, 2, alpha][i];
        match payload {
            Payload::Uastc { channels } => sample(0, 128, channels as u8, 0, u32::MAX),
            Payload::Bc7 | Payload::Astc4x4 => sample(0, 128, CHANNEL_BC7_COLOUR, 0, u32::MAX),
            Payload::Bc6h => sample(0, 128, FLOAT, 0, 1.0f32.to_bits()),
            Payload::Bc6hSigned => sample(0, 128, SIGNED_FLOAT, (-1.0f32).to_bits(), 1.0f32.to_bits()),
            Payload::Etc2Rgb => sample(0, 64, CHANNEL_ETC2_COLOUR, 0, u32::MAX),
            Payload::Etc2Rgba => sample(64 * i, 64, [alpha, CHANNEL_ETC2_COLOUR][i], 0, u32::MAX),
            Payload::Bc1 => sample(0, 64, CHANNEL_BC1_ALPHA, 0, u32::MAX),
            // The alpha block comes before the colour block.
            Payload::Bc3 => sample(64 * i, 64, [alpha, 0][i], 0, u32::MAX),
            Payload::Bc4 | Payload::Bc5 | Payload::EacR11 | Payload::EacRg11 => {
                sample(64 * i, 64, i as u8, 0, u32::MAX)
            }
            Payload::Rgba8 => sample(8 * i, 8, unorm_channel, 0, 255),
            Payload::R16 | Payload::Rg16 | Payload::Rgba16 => {
                sample(16 * i, 16, unorm_channel, 0, u16::MAX.into())
            }
            Payload::Rgba16F => {
                let channel = [0, 1, 2, CHANNEL_ALPHA][i] | SIGNED_FLOAT;
                sample(16 * i, 16, channel, (-1.0f32).to_bits(), 1.0f32.to_bits())
            }
        }
    })
}

/// Reads the descriptor of a texture with this `vk_format`.
pub(super) fn read(
    reader: &mut Reader<'_>,
    vk_format: u32,
    supercompression: Supercompression,
) -> Result<DecodedDescriptor, Error> {
    let at = reader.at();
    let found = Descriptor::read(reader)?;
    let bad = |offset: usize, field, found: u8, expected| Error::Value {
        at: at + offset as u64,
        field,
        found: found.into(),
        expected,
    };
    let payload = match vk_format {
        0 if found.model == MODEL_UASTC => Payload::Uastc { channels: peek_channels(*reader)? },
        0 => return Err(bad(offset_of!(Descriptor, model), "model", found.model, "166 (UASTC)")),
        format => {
            let has_format = |payload: &Payload| {
                Transfer::ALL.into_iter().any(|transfer| payload.vk_format(transfer) == format)
            };
            Payload::NUMBERED.into_iter().find(has_format).ok_or(Error::Value {
                at: offset_of!(super::Header, vk_format) as u64,
                field: "vk_format",
                found: format.into(),
                expected: "0 (UASTC), 37 or 43 (RGBA8), 70, 77 or 91 (R16, RG16, RGBA16), 97 (RGBA16F), 133 to 146 without 135 and 136 and signed BC4 and BC5 (BC1 to BC7), 147 to 155 (ETC2 and EAC), 157 or 158 (ASTC 4x4)",
            })?
        }
    };
    if found.model != model(payload) {
        let expected = "the colour model of the vk_format";
        return Err(bad(offset_of!(Descriptor, model), "model", found.model, expected));
    }
    let transfer = match found.transfer {
        1 => Transfer::Linear,
        2 => Transfer::Srgb,
        other => {
            return Err(bad(offset_of!(Descriptor, transfer), "transfer", other, "1 (linear) or 2 (sRGB)"));
        }
    };
    if payload.vk_format(transfer) != vk_format || (payload.is_linear_only() && transfer != Transfer::Linear)
    {
        let expected = "the transfer function of the vk_format";
        return Err(bad(offset_of!(Descriptor, transfer), "transfer", found.transfer, expected));
    }
    if found.primaries > PRIMARIES_BT709 {
        let expected = "0 (unspecified) or 1 (BT.709)";
        return Err(bad(offset_of!(Descriptor, primaries), "primaries", found.primaries, expected));
    }
    if found.flags & !FLAG_PREMULTIPLIED != 0 {
        return Err(bad(offset_of!(Descriptor, flags), "flags", found.flags, "0 or 1 (premultiplied)"));
    }

    let mut expected = descriptor(payload, transfer);
    expected.primaries = found.primaries;
    expected.flags = found.flags;
    if supercompression != Supercompression::None && found.bytes_planes[0] == 0 {
        expected.bytes_planes[0] = 0;
    }
    found.must_equal(expected, at)?;
    for expected in samples(payload, transfer) {
        let at = reader.at();
        Sample::read(reader)?.must_equal(expected, at)?;
    }
    Ok(DecodedDescriptor { payload, transfer, premultiplied: found.flags != 0 })
}

fn peek_channels(mut reader: Reader<'_>) -> Result<Channels, Error> {
    let at = reader.at() + offset_of!(Sample, channel) as u64;
    let found = Sample::read(&mut reader)?.channel;
    Channels::ALL.into_iter().find(|&c| c as u8 == found).ok_or(Error::Value {
        at,
        field: "channel",
        found: found.into(),
        expected: "0, 3, 4, 5 or 6",
    })
}

#[cfg(feature = "tools")]
pub(super) fn put(payload: Payload, transfer: Transfer, out: &mut alloc::vec::Vec<u8>) {
    descriptor(payload, transfer).put(out);
    samples(payload, transfer).for_each(|sample| sample.put(out));
}
