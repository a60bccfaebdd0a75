//! The modes T and H of ETC2: two base colours in four bits per channel, and a distance along the grey axis.
//!
//! T has the first base, and the second one at three intensities; H has both at two intensities each. Texels are divided
//! into two clusters, once by their colour and once by their chroma. The averages of the clusters are the first bases,
//! which then move by the average of the differences to the colours that texels chose, as the bases of halves do.

use super::Rgb;
use crate::Effort;

/// The distances of both modes.
pub(super) const DISTANCES: [i32; 8] = [3, 6, 11, 16, 23, 32, 41, 64];

/// The colours of a mode in the order of the selectors: the number of a base, and the factor of the distance.
type Mode = [(usize, i32); 4];
pub(super) const T: Mode = [(0, 0), (1, 1), (1, 0), (1, -1)];
pub(super) const H: Mode = [(0, 1), (0, -1), (1, 1), (1, -1)];

/// The bases of a block, in steps of four bits.
type Bases = [Rgb; 2];

/// Returns the colours of a block in the order of the selectors.
pub(super) fn palette(mode: Mode, bases: Bases, distance: i32) -> [Rgb; 4] {
    mode.map(|(base, factor)| bases[base].map(|value| (value * 17 + factor * distance).clamp(0, 255)))
}

/// Returns a base as one number: the order of both bases of an H block is the low bit of its distance.
pub(super) const fn number([r, g, b]: Rgb) -> i32 {
    r << 8 | g << 4 | b
}

/// Offers the best blocks of both modes.
pub(super) fn offer(rgb: &[Rgb; 16], effort: Effort, best: &mut (i32, [u8; 8])) {
    let by_colour = clusters(rgb, |[r, g, b]| 3 * (r * r + g * g + b * b));
    let by_chroma = clusters(rgb, chroma);
    search(rgb, by_colour, effort, best);
    if by_chroma != by_colour && by_chroma != !by_colour {
        search(rgb, by_chroma, effort, best);
    }
}

/// Returns three times the squared distance from the grey axis.
const fn chroma([r, g, b]: Rgb) -> i32 {
    3 * (r * r + g * g + b * b) - (r + g + b) * (r + g + b)
}

/// Divides the texels into two clusters by k-means; returns the second one as a bit set. The first centres are the texel
/// that is farthest from the average and the texel that is farthest from it.
fn clusters(rgb: &[Rgb; 16], squared: impl Fn(Rgb) -> i32) -> u16 {
    // Centres are sixteen times as large as texels, so that averages keep fractions.
    let distance = |texel: &Rgb, centre: &Rgb| squared(std::array::from_fn(|c| 16 * texel[c] - centre[c]));
    let farthest = |from: &Rgb| {
        let texel = rgb.iter().max_by_key(|texel| distance(texel, from)).unwrap_or(&rgb[0]);
        texel.map(|value| 16 * value)
    };
    let first = farthest(&average(rgb, 0xFFFF));
    let mut centres = [first, farthest(&first)];
    let mut members = 0u16;
    for _ in 0..4 {
        let before = members;
        members = 0;
        for (i, texel) in rgb.iter().enumerate() {
            members |= u16::from(distance(texel, &centres[1]) < distance(texel, &centres[0])) << i;
        }
        if members == before || members == 0 {
            break;
        }
        centres = [average(rgb, !members), average(rgb, members)];
    }
    members
}

/// Returns sixteen times the average of some texels.
fn average(rgb: &[Rgb; 16], members: u16) -> Rgb {
    let mut sums = [0; 3];
    for (i, texel) in rgb.iter().enumerate() {
        let is_member = i32::from(members >> i & 1);
        (0..3).for_each(|c| sums[c] += is_member * texel[c]);
    }
    let count = members.count_ones().max(1) as i32;
    sums.map(|sum| 16 * sum / count)
}

/// Offers the best blocks of one division into clusters: H, and T with each of them as the single colour.
fn search(rgb: &[Rgb; 16], members: u16, effort: Effort, best: &mut (i32, [u8; 8])) {
    let averages = [average(rgb, !members), average(rgb, members)];
    // No distance along the grey axis reduces the differences in chroma from the averages.
    let residual = |(i, texel): (usize, &Rgb)| {
        let average = averages[usize::from(members >> i & 1)];
        chroma(std::array::from_fn(|c| 16 * texel[c] - average[c])) / (3 * 16 * 16)
    };
    if rgb.iter().enumerate().map(residual).sum::<i32>() >= best.0 {
        return;
    }
    let quantise = |sixteenths: Rgb| sixteenths.map(|value| ((value + 136) / 272).clamp(0, 15));
    let means = averages.map(quantise);
    let (passes, steps) = if effort == Effort::High { (3, true) } else { (2, false) };
    for (mode, start) in [(T, means), (T, [means[1], means[0]]), (H, means)] {
        let mut found = None;
        for index in 0..DISTANCES.len() {
            let mut bases = start;
            for _ in 0..passes {
                let (error, moved) = evaluate(rgb, mode, bases, index, best.0);
                if error < best.0 {
                    best.0 = error;
                    found = Some((bases, index));
                }
                if moved == bases {
                    break;
                }
                bases = moved;
            }
        }
        if let Some((mut bases, index)) = found {
            if steps {
                step(rgb, mode, &mut bases, index, &mut best.0);
            }
            best.1 = write(rgb, mode, bases, index);
        }
    }
}

/// Returns the squared error of two bases and a distance, and the bases that fit the texels that chose them. Stops at an
/// error from `limit` on.
fn evaluate(rgb: &[Rgb; 16], mode: Mode, bases: Bases, index: usize, limit: i32) -> (i32, Bases) {
    // Equal bases have the order of odd distances.
    if mode == H && bases[0] == bases[1] && index.is_multiple_of(2) {
        return (i32::MAX, bases);
    }
    let distance = DISTANCES[index];
    let palette = palette(mode, bases, distance);
    let (mut error, mut sums, mut counts) = (0, [[0; 3]; 2], [0; 2]);
    for texel in rgb {
        let mut least = i32::MAX;
        for (k, colour) in palette.iter().enumerate() {
            let [r, g, b] = [texel[0] - colour[0], texel[1] - colour[1], texel[2] - colour[2]];
            least = least.min((r * r + g * g + b * b) << 2 | k as i32);
        }
        error += least >> 2;
        if error >= limit {
            return (error, bases);
        }
        let (base, factor) = mode[(least & 3) as usize];
        counts[base] += 1;
        (0..3).for_each(|c| sums[base][c] += texel[c] - factor * distance);
    }
    let fitted = |k: usize| match counts[k] {
        0 => bases[k],
        count => sums[k].map(|sum| ((2 * sum + 17 * count) / (34 * count)).clamp(0, 15)),
    };
    (error, [fitted(0), fitted(1)])
}

/// Tries single steps of each channel of the bases while the error decreases.
fn step(rgb: &[Rgb; 16], mode: Mode, bases: &mut Bases, index: usize, error: &mut i32) {
    for _ in 0..3 {
        let before = *error;
        for (k, c, by) in (0..12).map(|n| (n / 6, n / 2 % 3, if n % 2 == 0 { -1 } else { 1 })) {
            let mut now = *bases;
            now[k][c] = (now[k][c] + by).clamp(0, 15);
            let (found, _) = evaluate(rgb, mode, now, index, *error);
            if found < *error {
                (*bases, *error) = (now, found);
            }
        }
        if *error == before {
            break;
        }
    }
}

/// Packs a block. The bits between the bases make red overflow in a T block, and only green in an H block, which is what
/// selects the mode.
fn write(rgb: &[Rgb; 16], mode: Mode, mut bases: Bases, index: usize) -> [u8; 8] {
    if mode == H && (number(bases[0]) >= number(bases[1])) != (index % 2 == 1) {
        bases.swap(0, 1);
    }
    let [[r1, g1, b1], [r2, g2, b2]] = bases.map(|base| base.map(|value| value as u64));
    let index_bits = index as u64;
    // A sum of two fields of two bits overflows upwards below seven, and downwards above zero.
    let overflow = |a: u64, b: u64, at: u32| if a + b >= 4 { 7 << at } else { 1 << (at - 3) };
    let mut bits = 1 << 33;
    if mode == T {
        bits |= (r1 >> 2) << 59 | (r1 & 3) << 56 | g1 << 52 | b1 << 48 | r2 << 44 | g2 << 40 | b2 << 36;
        bits |= (index_bits >> 1) << 34 | (index_bits & 1) << 32;
        bits |= overflow(r1 >> 2, r1 & 3, 61);
    } else {
        bits |= r1 << 59 | (g1 >> 1) << 56 | (g1 & 1) << 52 | (b1 >> 3) << 51 | (b1 & 7) << 47;
        bits |= r2 << 43 | g2 << 39 | b2 << 35 | (index_bits >> 2) << 34 | (index_bits >> 1 & 1) << 32;
        // The sign of red's difference decides the top bit of its base.
        bits |= (g1 >> 3) << 63;
        bits |= overflow((g1 & 1) << 1 | b1 >> 3, b1 >> 1 & 3, 53);
    }
    let palette = palette(mode, bases, DISTANCES[index]);
    for (i, texel) in rgb.iter().enumerate() {
        let error = |k: &usize| -> i32 { (0..3).map(|c| (texel[c] - palette[*k][c]).pow(2)).sum() };
        let selector = (0..4).min_by_key(error).unwrap_or(0) as u64;
        let place = i % 4 * 4 + i / 4;
        bits |= (selector >> 1) << (16 + place) | (selector & 1) << place;
    }
    bits.to_be_bytes()
}
