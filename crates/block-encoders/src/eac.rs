//! EAC: one channel as a base, a table of modifiers with a multiplier, and sixteen selectors of three bits.
//!
//! ETC2 stores alpha with 8 bits in such a block; R11 and RG11 store one and two channels with 11. Every table is
//! searched with the multipliers that span the values and with bases around their middle.

use crate::Effort;
use crate::levels::Levels;
use kiln_transcode::eac::MODIFIERS;

/// Selectors in ascending order of their modifiers, which is the same in every table.
const ASCENDING: [usize; 8] = [3, 2, 1, 0, 4, 5, 6, 7];

/// The widths of both kinds of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Alpha,
    Eleven,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    base: i32,
    table: usize,
    multiplier: i32,
    error: i32,
}

/// Encodes the alpha of an ETC2 block.
#[must_use]
pub fn encode_alpha(values: &[u8; 16], effort: Effort) -> [u8; 8] {
    encode(&values.map(i32::from), Kind::Alpha, effort)
}

/// Encodes one channel of 8 bits as R11.
#[must_use]
pub fn encode_r11(values: &[u8; 16], effort: Effort) -> [u8; 8] {
    encode(&values.map(|value| (i32::from(value) * 2047 + 127) / 255), Kind::Eleven, effort)
}

/// Encodes two channels of 8 bits as RG11.
#[must_use]
pub fn encode_rg11(texels: &[[u8; 2]; 16], effort: Effort) -> [u8; 16] {
    let mut out = [0; 16];
    out[..8].copy_from_slice(&encode_r11(&texels.map(|texel| texel[0]), effort));
    out[8..].copy_from_slice(&encode_r11(&texels.map(|texel| texel[1]), effort));
    out
}

/// Decodes the alpha of an ETC2 block.
#[must_use]
pub fn decode_alpha(block: &[u8; 8]) -> [u8; 16] {
    decode(block, Kind::Alpha).map(|value| value as u8)
}

/// Decodes an R11 block to 11 bits per texel.
#[must_use]
pub fn decode_r11(block: &[u8; 8]) -> [u16; 16] {
    decode(block, Kind::Eleven).map(|value| value as u16)
}

/// Returns the value of a modifier.
#[inline]
fn value(kind: Kind, base: i32, modifier: i32, multiplier: i32) -> i32 {
    match kind {
        Kind::Alpha => (base + modifier * multiplier).clamp(0, 255),
        // A multiplier of zero stands for an eighth.
        Kind::Eleven if multiplier == 0 => (base * 8 + 4 + modifier).clamp(0, 2047),
        Kind::Eleven => (base * 8 + 4 + modifier * multiplier * 8).clamp(0, 2047),
    }
}

fn decode(block: &[u8; 8], kind: Kind) -> [i32; 16] {
    let bits = u64::from_be_bytes(*block);
    let (base, multiplier, table) =
        ((bits >> 56) as i32, (bits >> 52 & 15) as i32, (bits >> 48 & 15) as usize);
    // Selectors are stored by columns, the first highest.
    std::array::from_fn(|i| {
        let place = i % 4 * 4 + i / 4;
        let selector = (bits >> (45 - 3 * place) & 7) as usize;
        value(kind, base, MODIFIERS[table][selector].into(), multiplier)
    })
}

/// Returns the values of a candidate in ascending order.
#[inline]
fn palette(kind: Kind, base: i32, table: usize, multiplier: i32) -> [i32; 8] {
    ASCENDING.map(|selector| value(kind, base, MODIFIERS[table][selector].into(), multiplier))
}

fn encode(values: &[i32; 16], kind: Kind, effort: Effort) -> [u8; 8] {
    let levels = Levels::new(values);
    let (low, high) = (levels.low(), levels.high());
    // Steps of the base and of a multiplier of one.
    let unit = if kind == Kind::Alpha { 1 } else { 8 };
    let half = if kind == Kind::Alpha { 0 } else { 4 };
    let mut best = Candidate { base: 0, table: 13, multiplier: 1, error: i32::MAX };
    let mut offer = |base: i32, table: usize, multiplier: i32| {
        let base = base.clamp(0, 255);
        let error = levels.error(&palette(kind, base, table, multiplier), best.error);
        if error < best.error {
            best = Candidate { base, table, multiplier, error };
        }
    };
    let reach = match effort {
        Effort::Fast => 0,
        Effort::Default => 1,
        Effort::High => 3,
    };
    if low == high {
        // Table 13 has a modifier of zero.
        let base = (low - half + unit / 2).div_euclid(unit);
        offer(base, 13, 1);
        if kind == Kind::Eleven {
            (0..16).for_each(|table| (base - 1..=base + 1).for_each(|base| offer(base, table, 0)));
        }
    } else {
        for table in 0..16 {
            let (least, most) = (i32::from(MODIFIERS[table][3]), i32::from(MODIFIERS[table][7]));
            let width = (most - least) * unit;
            let nearest = (2 * (high - low) + width) / (2 * width);
            let lowest = if kind == Kind::Alpha { 1 } else { 0 };
            for multiplier in
                (nearest - reach.min(2)).max(lowest)..=(nearest + reach.min(2)).clamp(lowest, 15)
            {
                let step = if multiplier == 0 { 1 } else { multiplier * unit };
                // The base at which the middle of the table is the middle of the values.
                let middle = (low + high - (least + most) * step) / 2 - half;
                let base = (middle + unit / 2).div_euclid(unit);
                for by in -reach..=reach {
                    offer(base + by, table, multiplier);
                }
            }
        }
    }
    write(values, kind, &best)
}

fn write(values: &[i32; 16], kind: Kind, candidate: &Candidate) -> [u8; 8] {
    let Candidate { base, table, multiplier, .. } = *candidate;
    let palette = palette(kind, base, table, multiplier);
    let mut out = (base as u64) << 56 | (multiplier as u64) << 52 | (table as u64) << 48;
    for (i, value) in values.iter().enumerate() {
        let nearest = (0..8).min_by_key(|at| (palette[*at] - value).abs()).unwrap_or(0);
        out |= (ASCENDING[nearest] as u64) << (45 - 3 * (i % 4 * 4 + i / 4));
    }
    out.to_be_bytes()
}
