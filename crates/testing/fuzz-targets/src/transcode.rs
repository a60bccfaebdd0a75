//! The target of the transcoder and of the decoders of blocks.

use std::hint::black_box;

use kiln_block_encoders::{astc, bc6h, eac, etc2};
use kiln_transcode::ktx2::{LoadError, Texture, load_level};
use kiln_transcode::{Channel, Target, transcode as transcode_image, uastc};

const TARGETS: [Target; 11] = [
    Target::Rgba8,
    Target::Astc4x4,
    Target::Bc7,
    Target::Bc1,
    Target::Bc3,
    Target::Bc4(Channel::Red),
    Target::Bc5([Channel::Red, Channel::Green]),
    Target::Etc1,
    Target::Etc2Rgba,
    Target::EacR11(Channel::Green),
    Target::EacRg11([Channel::Red, Channel::Alpha]),
];

/// The largest mip level that is loaded: larger ones are a matter of the memory.
const LIMIT: usize = 1 << 20;

/// Loads the mip levels of a file, and transcodes and decodes the bytes as blocks.
pub(crate) fn transcode(bytes: &[u8]) {
    levels(bytes);
    for block in bytes.as_chunks::<16>().0.iter().take(64) {
        let valid = uastc::decode_block(block).is_some();
        for target in TARGETS {
            let mut out = vec![0; target.block_bytes()];
            let result = transcode_image(block, 4, 4, target, &mut out);
            assert_eq!(result.is_ok(), valid, "{target:?} of {block:02x?}");
        }
        decode(block);
    }
}

/// Decodes a block in every format: all bytes are valid.
fn decode(block: &[u8; 16]) {
    black_box(astc::decode(block));
    let largest = [false, true]
        .map(|signed| bc6h::decode(block, signed).as_flattened().iter().map(|v| v & 0x7FFF).max());
    assert!(largest.iter().flatten().all(|bits| *bits < 0x7C00), "{block:02x?} decodes to finite values");
    for half in block.as_chunks::<8>().0 {
        black_box((etc2::decode(half), eac::decode_alpha(half)));
        assert!(eac::decode_r11(half).iter().all(|value| *value < 2048));
    }
}

fn levels(bytes: &[u8]) {
    let texture = match Texture::read(bytes) {
        Ok(texture) => texture,
        Err(LoadError::NeedMoreBytes { total }) => return assert!(total > bytes.len() as u64),
        Err(error) => return drop(black_box(error)),
    };
    let available = texture.available_levels();
    for level in 0..texture.view().level_count() {
        for target in TARGETS {
            let Ok(layout) = texture.layout(level, target) else { continue };
            if layout.output_len.max(layout.stored_len) > LIMIT {
                continue;
            }
            match load_level(bytes, level, target) {
                Ok(loaded) => {
                    assert!(available.contains(&level));
                    assert_eq!(loaded.bytes.len(), layout.output_len);
                }
                Err(LoadError::NeedMoreBytes { total }) => {
                    assert!(!available.contains(&level) && total > bytes.len() as u64);
                }
                Err(error) => assert!(available.contains(&level), "{error}"),
            }
        }
    }
}
