//! No input panics, and lengths are checked.

use kiln_transcode::{Channel, Error, Target, transcode, uastc_len};
use proptest::prelude::*;

const TARGETS: [Target; 11] = [
    Target::Rgba8,
    Target::Astc4x4,
    Target::Bc7,
    Target::Bc1,
    Target::Bc3,
    Target::Bc4(Channel::Blue),
    Target::Bc5([Channel::Red, Channel::Green]),
    Target::Etc1,
    Target::Etc2Rgba,
    Target::EacR11(Channel::Green),
    Target::EacRg11([Channel::Red, Channel::Alpha]),
];

proptest! {
    #[test]
    fn any_bytes_transcode_or_are_rejected(
        mut bytes in prop::collection::vec(any::<u8>(), 0..1700),
        fits in prop::bool::weighted(0.9),
        width in 0u32..40,
        height in 0u32..40,
    ) {
        if fits {
            bytes.resize(uastc_len(width, height).unwrap(), 0x17);
        }
        for target in TARGETS {
            let mut out = vec![0; target.image_len(width, height).unwrap()];
            let expected = uastc_len(width, height).unwrap();
            match transcode(&bytes, width, height, target, &mut out) {
                Err(Error::InputLength { expected: e, found }) => {
                    prop_assert!(e == expected && found == bytes.len() && e != found);
                }
                Err(Error::Block { index }) => prop_assert!(index < expected / 16),
                Ok(()) => prop_assert_eq!(bytes.len(), expected),
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }

    /// Images whose sides are not multiples of four: every texel is that of its block.
    #[test]
    fn rgba8_crops_the_last_blocks(width in 1u32..30, height in 1u32..30, seed in any::<u64>()) {
        let columns = width.div_ceil(4);
        let blocks: Vec<[u8; 16]> = (0..columns * height.div_ceil(4))
            .map(|i| {
                // Solid-colour blocks of colours that differ.
                let colour = seed.wrapping_mul(u64::from(i) * 2 + 1) as u32;
                (u128::from(colour) << 5 | 0x17).to_le_bytes()
            })
            .collect();
        let mut out = vec![0; (width * height * 4) as usize];
        transcode(blocks.as_flattened(), width, height, Target::Rgba8, &mut out).unwrap();
        for (i, texel) in out.chunks(4).enumerate() {
            let (x, y) = (i as u32 % width, i as u32 / width);
            let block = &blocks[(y / 4 * columns + x / 4) as usize];
            let decoded = kiln_transcode::uastc::decode_block(block).unwrap();
            prop_assert_eq!(texel, &decoded[(y % 4 * 4 + x % 4) as usize][..]);
        }
    }
}

#[test]
fn wrong_output_lengths_are_errors() {
    let block = (0x17u128).to_le_bytes();
    for target in TARGETS {
        let len = target.block_bytes();
        for wrong in [0, len - 1, len + 1] {
            let result = transcode(&block, 4, 4, target, &mut vec![0; wrong]);
            assert_eq!(result, Err(Error::OutputLength { expected: len, found: wrong }));
        }
    }
    assert_eq!(transcode(&[], 0, 7, Target::Rgba8, &mut []), Ok(()));
    assert_eq!(transcode(&[], u32::MAX, 0, Target::Bc1, &mut []), Ok(()));
}
