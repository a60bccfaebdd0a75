//! One channel as BC4: two endpoints of eight bits and sixteen selectors of three.
//!
//! The endpoints are the smallest and the largest value, and each texel takes the nearest of the eight values
//! between them. BC3 stores alpha in such a block, BC5 two channels in two of them.

/// Encodes sixteen values in raster order.
#[inline]
pub(crate) fn encode(values: &[u8; 16]) -> [u8; 8] {
    let (mut low, mut high) = (values[0], values[0]);
    for &value in values {
        low = low.min(value);
        high = high.max(value);
    }
    // The rank of a value among the eight levels is the number of midpoints below it. In fourteenths of the range
    // all of them are integers; the four decides between equal distances as the reference does.
    let range = i16::from(high) - i16::from(low);
    let mut selectors = 0;
    if range > 0 {
        let mut ranks = [0u8; 16];
        for (rank, &value) in ranks.iter_mut().zip(values) {
            let scaled = (i16::from(value) - i16::from(low)) * 14 + 4;
            let mut count = 0;
            for midpoint in [1, 3, 5, 7, 9, 11, 13] {
                count += u8::from(scaled >= range * midpoint);
            }
            *rank = count;
        }
        for (i, &rank) in ranks.iter().enumerate() {
            selectors |= SELECTORS[usize::from(rank & 7)] << (3 * i);
        }
    }
    (selectors << 16 | u64::from(low) << 8 | u64::from(high)).to_le_bytes()
}

/// The selector of each rank: 0 is the first endpoint (the largest value), 1 the second.
const SELECTORS: [u64; 8] = [1, 7, 6, 5, 4, 3, 2, 0];
