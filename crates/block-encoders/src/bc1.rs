//! BC1, and the colours of BC3: two 5:6:5 endpoints and sixteen selectors of two bits.
//!
//! The endpoints start at the ends of the principal axis of the colours and are improved by least squares, with four
//! colours and with three. [`Effort::High`] also tries every division of the texels, in the order of the axis, into
//! clusters of the same selector (cluster fit), and single steps of the endpoints. Blocks of one colour are taken from a
//! table. Texels of BC1 with an alpha below one half become transparent black.

mod cluster_fit;

use crate::{Effort, bc4};
use std::sync::LazyLock;

/// A colour of five, six and five bits.
type Colour565 = [i32; 3];

/// The largest value of each channel of a [`Colour565`].
const TOP: [i32; 3] = [31, 63, 31];

/// The opaque texels of a block.
#[derive(Clone, Copy, Debug)]
struct Opaque {
    rgb: [[i32; 3]; 16],
    /// The index in the block of each texel.
    at: [usize; 16],
    len: usize,
}

/// Endpoints with the selectors of the texels and the squared error. Selectors are positions from the first endpoint to
/// the second.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    ends: [Colour565; 2],
    /// The number of colours: four or three.
    colours: usize,
    positions: [u8; 16],
    error: i32,
}

/// Encodes a BC1 block. Alpha becomes 0 or 255; a texel with alpha 0 is black.
#[must_use]
pub fn encode(texels: &[[u8; 4]; 16], effort: Effort) -> [u8; 8] {
    let mut opaque = Opaque { rgb: [[0; 3]; 16], at: [0; 16], len: 0 };
    for (i, [r, g, b, a]) in texels.iter().enumerate() {
        if *a >= 128 {
            opaque.rgb[opaque.len] = [*r, *g, *b].map(i32::from);
            opaque.at[opaque.len] = i;
            opaque.len += 1;
        }
    }
    match opaque.len {
        0 => [0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF],
        16 => {
            let four = fit(&opaque, 4, effort);
            // Three colours rarely win, and only where four leave an error.
            let three = (effort != Effort::Fast && four.error > 0).then(|| fit(&opaque, 3, effort));
            let best = three.filter(|three| three.error < four.error).unwrap_or(four);
            write(&opaque, &best, 0)
        }
        _ => write(&opaque, &fit(&opaque, 3, effort), u32::MAX),
    }
}

/// Encodes a BC3 block: colours with four interpolated values, and alpha as BC4.
#[must_use]
pub fn encode_with_alpha(texels: &[[u8; 4]; 16], effort: Effort) -> [u8; 16] {
    let rgb = texels.map(|[r, g, b, _]| [r, g, b].map(i32::from));
    let all = Opaque { rgb, at: std::array::from_fn(|i| i), len: 16 };
    let mut out = [0; 16];
    out[..8].copy_from_slice(&bc4::encode(&texels.map(|texel| texel[3]), effort));
    out[8..].copy_from_slice(&write(&all, &fit(&all, 4, effort), 0));
    out
}

/// Returns a colour in eight bits per channel.
fn expand([r, g, b]: Colour565) -> [i32; 3] {
    [r << 3 | r >> 2, g << 2 | g >> 4, b << 3 | b >> 2]
}

/// Returns the colours from the first endpoint to the second.
fn palette(ends: &[Colour565; 2], colours: usize) -> [[i32; 3]; 4] {
    let [a, b] = ends.map(expand);
    let mix = |x: i32, y: i32| {
        let sum = x + y;
        std::array::from_fn(|c| (a[c] * x + b[c] * y + sum / 2) / sum)
    };
    if colours == 4 { [a, mix(2, 1), mix(1, 2), b] } else { [a, mix(1, 1), b, b] }
}

/// Assigns every texel to its nearest colour.
fn assign(texels: &Opaque, ends: [Colour565; 2], colours: usize) -> Candidate {
    let palette = palette(&ends, colours);
    let mut positions = [0; 16];
    let mut total = 0;
    for (texel, position) in texels.rgb[..texels.len].iter().zip(&mut positions) {
        let mut least = i32::MAX;
        for (k, colour) in palette.iter().enumerate() {
            let [r, g, b] = [texel[0] - colour[0], texel[1] - colour[1], texel[2] - colour[2]];
            // The distance above, the position below, so that one minimum finds both.
            least = least.min((r * r + g * g + b * b) << 2 | k as i32);
        }
        *position = (least & 3) as u8;
        total += least >> 2;
    }
    // The fourth of three colours is the third again.
    if colours == 3 {
        positions.iter_mut().for_each(|position| *position = (*position).min(2));
    }
    Candidate { ends, colours, positions, error: total }
}

/// Finds the best endpoints for this number of colours.
fn fit(texels: &Opaque, colours: usize, effort: Effort) -> Candidate {
    let all = &texels.rgb[..texels.len];
    if all.iter().all(|texel| *texel == all[0]) {
        return solid(texels, colours);
    }
    let axis = principal_axis(all);
    let along = |texel: &[i32; 3]| (0..3).map(|c| axis[c] * texel[c] as f32).sum::<f32>();
    let (mut low, mut high) = (0, 0);
    for i in 1..texels.len {
        if along(&all[i]) < along(&all[low]) {
            low = i;
        }
        if along(&all[i]) > along(&all[high]) {
            high = i;
        }
    }
    let ends = [all[high], all[low]].map(|texel| quantise(texel.map(|value| value as f32)));
    let mut best = assign(texels, ends, colours);
    let rounds = if effort == Effort::Fast { 1 } else { 4 };
    improve(texels, &mut best, rounds);
    if effort == Effort::Fast || best.error == 0 {
        return best;
    }
    // The average of texels that are nearly one colour, between the closest endpoints.
    let average = std::array::from_fn(|c| {
        let sum: i32 = all.iter().map(|texel| texel[c]).sum();
        (sum + texels.len as i32 / 2) / texels.len as i32
    });
    offer(texels, solid_ends(average, colours), &mut best);
    if effort == Effort::High {
        let ends = cluster_fit::ends(texels, axis, colours);
        offer(texels, ends, &mut best);
        improve(texels, &mut best, rounds);
        step(texels, &mut best);
    }
    best
}

fn offer(texels: &Opaque, ends: [Colour565; 2], best: &mut Candidate) -> bool {
    let now = assign(texels, ends, best.colours);
    let better = now.error < best.error;
    if better {
        *best = now;
    }
    better
}

/// Repeats least squares while the error decreases.
fn improve(texels: &Opaque, best: &mut Candidate, rounds: usize) {
    for _ in 0..rounds {
        let Some(ends) = least_squares(texels, best) else { break };
        if ends == best.ends || !offer(texels, ends, best) {
            break;
        }
    }
}

/// Tries single steps of every channel of both endpoints while the error decreases.
fn step(texels: &Opaque, best: &mut Candidate) {
    for _ in 0..8 {
        let mut better = false;
        for end in 0..2 {
            for c in 0..3 {
                for by in [-1, 1] {
                    let mut ends = best.ends;
                    ends[end][c] = (ends[end][c] + by).clamp(0, TOP[c]);
                    better |= ends != best.ends && offer(texels, ends, best);
                }
            }
        }
        if !better {
            break;
        }
    }
}

/// Returns the endpoints with the least squared error for the positions of a candidate.
fn least_squares(texels: &Opaque, now: &Candidate) -> Option<[Colour565; 2]> {
    let steps = now.colours as i32 - 1;
    let (mut aa, mut ab, mut bb) = (0, 0, 0);
    let (mut ax, mut bx) = ([0; 3], [0; 3]);
    for (texel, &position) in texels.rgb[..texels.len].iter().zip(&now.positions) {
        let (b, a) = (i32::from(position), steps - i32::from(position));
        (aa, ab, bb) = (aa + a * a, ab + a * b, bb + b * b);
        for c in 0..3 {
            ax[c] += a * texel[c];
            bx[c] += b * texel[c];
        }
    }
    let determinant = aa * bb - ab * ab;
    if determinant == 0 {
        return None;
    }
    let scale = steps as f32 / determinant as f32;
    let first = std::array::from_fn(|c| (ax[c] * bb - bx[c] * ab) as f32 * scale);
    let second = std::array::from_fn(|c| (bx[c] * aa - ax[c] * ab) as f32 * scale);
    Some([quantise(first), quantise(second)])
}

/// Returns the nearest endpoint.
fn quantise(colour: [f32; 3]) -> Colour565 {
    std::array::from_fn(|c| ((colour[c] * (TOP[c] as f32 / 255.0) + 0.5) as i32).clamp(0, TOP[c]))
}

/// Returns the direction of the largest variance, not normalised.
fn principal_axis(texels: &[[i32; 3]]) -> [f32; 3] {
    let n = texels.len() as i32;
    let sums: [i32; 3] = std::array::from_fn(|c| texels.iter().map(|texel| texel[c]).sum());
    let covariance = |a: usize, b: usize| {
        let products: i32 = texels.iter().map(|texel| texel[a] * texel[b]).sum();
        (products * n - sums[a] * sums[b]) as f32
    };
    let (rr, rg, rb) = (covariance(0, 0), covariance(0, 1), covariance(0, 2));
    let (gg, gb, bb) = (covariance(1, 1), covariance(1, 2), covariance(2, 2));
    // The column of the largest variance is never orthogonal to the axis.
    let mut axis = if rr >= gg && rr >= bb {
        [rr, rg, rb]
    } else if gg >= bb {
        [rg, gg, gb]
    } else {
        [rb, gb, bb]
    };
    for _ in 0..6 {
        let [x, y, z] = axis;
        axis = [x * rr + y * rg + z * rb, x * rg + y * gg + z * gb, x * rb + y * gb + z * bb];
        let largest = axis.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
        axis = axis.map(|value| value / largest);
    }
    axis
}

/// The endpoints of each value of one channel for blocks of one colour: `[colours is 3][bits is 6][value]`, at the
/// position after the first endpoint.
static SOLID: LazyLock<[[[[u8; 2]; 256]; 2]; 2]> = LazyLock::new(|| {
    let mut out = [[[[0; 2]; 256]; 2]; 2];
    for (three, tables) in out.iter_mut().enumerate() {
        for (six, table) in tables.iter_mut().enumerate() {
            let (top, channel) = if six == 1 { (63, 1) } else { (31, 0) };
            let mut least = [i32::MAX; 256];
            for a in 0..=top {
                for b in 0..=top {
                    let value = palette(&[[a; 3], [b; 3]], 4 - three)[1][channel];
                    for (wanted, least) in least.iter_mut().enumerate() {
                        // Of equally near values the one between the closest endpoints: decoders round differently.
                        let error = (value - wanted as i32).abs() << 8 | (a - b).abs();
                        if error < *least {
                            *least = error;
                            table[wanted] = [a as u8, b as u8];
                        }
                    }
                }
            }
        }
    }
    out
});

fn solid_ends(colour: [i32; 3], colours: usize) -> [Colour565; 2] {
    let tables = &SOLID[usize::from(colours == 3)];
    let pair = |c: usize| tables[usize::from(c == 1)][colour[c].clamp(0, 255) as usize].map(i32::from);
    let [r, g, b] = [pair(0), pair(1), pair(2)];
    [[r[0], g[0], b[0]], [r[1], g[1], b[1]]]
}

fn solid(texels: &Opaque, colours: usize) -> Candidate {
    let ends = solid_ends(texels.rgb[0], colours);
    let candidate = assign(texels, ends, colours);
    // An endpoint may be as near, but not nearer.
    Candidate { positions: [1; 16], ..candidate }
}

/// Writes a block. Texels that are not among the opaque ones take the selectors of `others`.
fn write(texels: &Opaque, candidate: &Candidate, others: u32) -> [u8; 8] {
    let packed = |[r, g, b]: Colour565| (r << 11 | g << 5 | b) as u32;
    let mut ends = candidate.ends.map(packed);
    let mut codes: [u32; 4] = if candidate.colours == 4 { [0, 2, 3, 1] } else { [0, 2, 1, 1] };
    // The larger endpoint comes first with four colours, and last with three.
    let swapped = if candidate.colours == 4 { ends[0] < ends[1] } else { ends[0] > ends[1] };
    if swapped {
        ends.swap(0, 1);
        codes = if candidate.colours == 4 { [1, 3, 2, 0] } else { [1, 2, 0, 0] };
    }
    if ends[0] == ends[1] {
        // Equal endpoints mean three colours and transparent black: only the first selector is sure.
        codes = [0; 4];
    }
    let mut selectors = others;
    for (&at, &position) in texels.at[..texels.len].iter().zip(&candidate.positions) {
        selectors = selectors & !(3 << (2 * at)) | codes[usize::from(position & 3)] << (2 * at);
    }
    (u64::from(ends[0]) | u64::from(ends[1]) << 16 | u64::from(selectors) << 32).to_le_bytes()
}
