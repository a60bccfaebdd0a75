//! Random blocks of every mode beside the independent transcoder of Basis Universal, in every format.
//!
//! `bench/transcode` compares ten million blocks with it and with the reference in C++.

use basisu::etc::{uastc_to_etc1::transcode_uastc_to_etc1, uastc_to_etc2::transcode_uastc_to_etc2_rgba};
use basisu::uastc::{astc_pack, bc1, bc3_bc5, bc4, bc7, eac, tables, unpack};
use kiln_transcode::{Channel, Error, Target, transcode};

/// Random blocks of each of the nineteen modes and of the reserved prefix code in turn.
fn blocks(seed: u128) -> impl Iterator<Item = [u8; 16]> {
    let mut state = seed;
    (0..200_000).map(move |i| {
        state = state.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645).wrapping_add(1);
        let mut bytes = (state ^ state >> 64).to_le_bytes();
        let [code, bits] = tables::MODE_HUFF_CODES.get(i % 20).copied().unwrap_or([69, 7]);
        bytes[0] = bytes[0] & !(((1 << bits) - 1) as u8) | code as u8;
        bytes
    })
}

fn compare<const N: usize>(target: Target, theirs: impl Fn(&[u8; 16]) -> Option<[u8; N]>) {
    let mut rejected = 0;
    for block in blocks(target.block_bytes() as u128) {
        let mut out = [0; N];
        let ours = transcode(&block, 4, 4, target, &mut out).map(|()| out);
        let theirs = theirs(&block).ok_or(Error::Block { index: 0 });
        assert_eq!(ours, theirs, "{target:?} of {block:02x?}");
        rejected += usize::from(ours.is_err());
    }
    assert!(rejected > 10_000, "{rejected} blocks were rejected");
}

#[test]
fn rgba8_matches_the_independent_transcoder() {
    compare::<64>(Target::Rgba8, |block| {
        let texels = unpack::unpack_uastc(block, false)?;
        texels.map(|texel| texel.c).as_flattened().try_into().ok()
    });
}

#[test]
fn astc_and_bc7_match_the_independent_transcoder() {
    compare(Target::Astc4x4, astc_pack::transcode_uastc_to_astc);
    compare(Target::Bc7, bc7::transcode_uastc_to_bc7);
}

#[test]
fn bc1_and_bc3_match_the_independent_transcoder() {
    compare(Target::Bc1, |block| bc1::transcode_uastc_to_bc1(block, false));
    compare(Target::Bc3, |block| bc3_bc5::transcode_uastc_to_bc3(block, false));
}

#[test]
fn bc4_and_bc5_match_the_independent_transcoder() {
    use Channel::{Alpha, Blue, Green, Red};
    for channel in [Red, Green, Blue, Alpha] {
        compare(Target::Bc4(channel), |block| bc4::transcode_uastc_to_bc4(block, false, channel as usize));
    }
    compare(Target::Bc5([Red, Alpha]), |block| bc3_bc5::transcode_uastc_to_bc5(block, false, 0, 3));
    compare(Target::Bc5([Red, Green]), |block| bc3_bc5::transcode_uastc_to_bc5(block, false, 0, 1));
}

#[test]
fn etc1_and_etc2_match_the_independent_transcoder() {
    compare(Target::Etc1, transcode_uastc_to_etc1);
    compare(Target::Etc2Rgba, transcode_uastc_to_etc2_rgba);
}

#[test]
fn eac_matches_the_independent_transcoder() {
    use Channel::{Alpha, Green, Red};
    for channel in [Red, Alpha] {
        let target = Target::EacR11(channel);
        compare(target, |block| eac::transcode_uastc_to_etc2_eac_r11(block, false, channel as usize));
    }
    compare(Target::EacRg11([Red, Green]), |block| eac::transcode_uastc_to_etc2_eac_rg11(block, false, 0, 1));
    compare(Target::EacRg11([Red, Alpha]), |block| eac::transcode_uastc_to_etc2_eac_rg11(block, false, 0, 3));
}
