//! xxHash64, by which Unity makes the fileIDs of what is inside a model.
//!
//! Implements the specification of the algorithm with seed 0.

const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P3: u64 = 0x1656_67B1_9E37_79F9;
const P4: u64 = 0x85EB_CA77_C2B2_AE63;
const P5: u64 = 0x27D4_EB2F_1656_67C5;

/// The hash of some bytes.
pub(crate) fn xxh64(bytes: &[u8]) -> u64 {
    let (stripes, rest) = bytes.as_chunks::<32>();
    let mut hash = match stripes {
        [] => P5,
        _ => {
            let mut lanes = [P1.wrapping_add(P2), P2, 0, 0u64.wrapping_sub(P1)];
            for stripe in stripes {
                for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
                    *lane = round(*lane, u64::from_le_bytes(*word));
                }
            }
            let turned = [1, 7, 12, 18].iter().zip(lanes).map(|(by, lane)| lane.rotate_left(*by));
            let merged = turned.fold(0u64, u64::wrapping_add);
            lanes.iter().fold(merged, |hash, lane| (hash ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4))
        }
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash = (hash ^ round(0, u64::from_le_bytes(*word))).rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        let half = u64::from(u32::from_le_bytes(*half)).wrapping_mul(P1);
        hash = (hash ^ half).rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(P2);
    hash = (hash ^ hash >> 29).wrapping_mul(P3);
    hash ^ hash >> 32
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_xxhash64() {
        // The specification's own vectors.
        assert_eq!(xxh64(b""), 0xEF46_DB37_51D8_E999);
        assert_eq!(xxh64(b"abc"), 0x44BC_2CF5_AD77_0999);
        assert_eq!(xxh64(b"Nobody inspects the spammish repetition"), 0xFBCE_A83C_8A37_8BF1);
    }

    #[test]
    fn is_what_unity_makes_file_ids_of() {
        // fileIDs of real projects.
        assert_eq!(xxh64(b"Type:GameObject->//RootNode/root0") as i64, 919_132_149_155_446_097);
        assert_eq!(xxh64(b"Type:Transform->//RootNode/root/Transform0") as i64, -8_679_921_383_154_817_045);
        assert_eq!(xxh64(b"Type:GameObject->//RootNode0") as i64, -927_199_367_670_048_503);
    }
}
