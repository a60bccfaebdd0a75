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
const MODEL_BC7: u8 = 134;
const MODEL_UASTC: u8 = 166;
const PRIMARIES_UNSPECIFIED: u8 = 0;
const PRIMARIES_BT709: u8 = 1;
const FLAG_PREMULTIPLIED: u8 = 1;
const CHANNEL_ALPHA: u8 = 15;
const CHANNEL_BC7_COLOUR: u8 = 0;
const LINEAR: u8 = 0x10;
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
        model: match payload {
            Payload::Uastc { .. } => MODEL_UASTC,
            Payload::Bc7 => MODEL_BC7,
            Payload::Rgba8 | Payload::Rgba16F => MODEL_RGBSDA,
        },
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

fn samples(payload: Payload, transfer: Transfer) -> impl Iterator<Item = Sample> {
    let count = if payload.block_side() > 1 { 1 } else { 4 };
    (0..count).map(move |i| {
        let positions = [0; 4];
        let channel = [0, 1, 2, CHANNEL_ALPHA][i];
        match payload {
            Payload::Uastc { .. } | Payload::Bc7 => Sample {
                bit_offset: 0,
                bit_length: 127,
                channel: match payload {
                    Payload::Uastc { channels } => channels as u8,
                    _ => CHANNEL_BC7_COLOUR,
                },
                positions,
                lower: 0,
                upper: u32::MAX,
            },
            Payload::Rgba8 => Sample {
                bit_offset: 8 * i as u16,
                bit_length: 7,
                // Alpha is always linear; the qualifier is required if the colours are not.
                channel: match (channel, transfer) {
                    (CHANNEL_ALPHA, Transfer::Srgb) => CHANNEL_ALPHA | LINEAR,
                    _ => channel,
                },
                positions,
                lower: 0,
                upper: 255,
            },
            Payload::Rgba16F => Sample {
                bit_offset: 16 * i as u16,
                bit_length: 15,
                channel: channel | SIGNED_FLOAT,
                positions,
                lower: (-1.0f32).to_bits(),
                upper: 1.0f32.to_bits(),
            },
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
    let payload = match (vk_format, found.model) {
        (0, MODEL_UASTC) => Payload::Uastc { channels: peek_channels(*reader)? },
        (37 | 43, MODEL_RGBSDA) => Payload::Rgba8,
        (97, MODEL_RGBSDA) => Payload::Rgba16F,
        (145 | 146, MODEL_BC7) => Payload::Bc7,
        (0, model) => return Err(bad(offset_of!(Descriptor, model), "model", model, "166 (UASTC)")),
        (37 | 43 | 97, model) => {
            return Err(bad(offset_of!(Descriptor, model), "model", model, "1 (RGBSDA)"));
        }
        (145 | 146, model) => return Err(bad(offset_of!(Descriptor, model), "model", model, "134 (BC7)")),
        (format, _) => {
            return Err(Error::Value {
                at: offset_of!(super::Header, vk_format) as u64,
                field: "vk_format",
                found: format.into(),
                expected: "0 (UASTC), 37 or 43 (RGBA8), 97 (RGBA16F), 145 or 146 (BC7)",
            });
        }
    };
    let transfer = match found.transfer {
        1 => Transfer::Linear,
        2 => Transfer::Srgb,
        other => {
            return Err(bad(offset_of!(Descriptor, transfer), "transfer", other, "1 (linear) or 2 (sRGB)"));
        }
    };
    if payload.vk_format(transfer) != vk_format
        || (payload == Payload::Rgba16F && transfer != Transfer::Linear)
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
