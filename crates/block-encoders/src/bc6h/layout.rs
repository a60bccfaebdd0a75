//! Packs and unpacks the fields of a BC6H block.

use super::modes::{MODES, Mode};
use super::{ANCHORS, SECOND};
use std::sync::LazyLock;

/// The fields of a block. Endpoints are as stored: the first with its precision, the others as differences in modes that
/// have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    /// Index of [`MODES`].
    pub(super) mode: usize,
    /// The endpoints, two of each subset; those after the first two are unused with one subset.
    pub(super) ends: [[i32; 3]; 4],
    /// The pattern of the subsets.
    pub(super) pattern: usize,
    /// The weight indices of the texels.
    pub(super) weights: [u8; 16],
}

/// A run of bits of one endpoint in the block.
#[derive(Clone, Copy, Debug)]
struct Run {
    end: usize,
    channel: usize,
    /// The lowest bit of the endpoint.
    shift: u32,
    count: u32,
}

/// The runs of each mode, after the mode field.
static RUNS: LazyLock<[Vec<Run>; 14]> = LazyLock::new(|| MODES.map(|mode| runs(mode.layout)));

/// Parses a layout.
fn runs(layout: &str) -> Vec<Run> {
    let mut out = Vec::new();
    for token in layout.split_ascii_whitespace() {
        let (name, range) = token.trim_end_matches(']').split_once('[').unwrap_or((token, "0"));
        let (channel, end) = name.split_at(1);
        let channel = "rgb".find(channel).unwrap_or(0);
        let end = end.parse().unwrap_or(0);
        let (first, last) = range.split_once(':').unwrap_or((range, range));
        let [first, last]: [u32; 2] = [first, last].map(|bit| bit.parse().unwrap_or(0));
        if first >= last {
            out.push(Run { end, channel, shift: last, count: first - last + 1 });
        } else {
            // The highest bit comes first.
            out.extend((first..=last).rev().map(|shift| Run { end, channel, shift, count: 1 }));
        }
    }
    out
}

impl Fields {
    /// Returns the mode.
    pub(super) fn mode(&self) -> &'static Mode {
        &MODES[self.mode]
    }

    /// Returns the subset of a texel.
    pub(super) fn subset(&self, texel: usize) -> usize {
        if self.mode().subsets == 1 { 0 } else { usize::from(SECOND[self.pattern] >> texel & 1) }
    }

    /// Returns whether a texel is an anchor, whose weight has one bit less.
    fn is_anchor(&self, texel: usize) -> bool {
        texel == 0 || (self.mode().subsets == 2 && texel == usize::from(ANCHORS[self.pattern]))
    }
}

/// Returns the mode of a block; `None` for the four reserved codes.
fn mode_of(block: u128) -> Option<usize> {
    MODES.iter().position(|mode| {
        let (code, width) = mode.code;
        block as u32 & ((1 << width) - 1) == code.into()
    })
}

/// Packs fields into a block.
pub(super) fn pack(fields: &Fields) -> [u8; 16] {
    let mode = fields.mode();
    let mut out = u128::from(mode.code.0);
    let mut at = mode.code.1;
    for run in &RUNS[fields.mode] {
        let value = fields.ends[run.end][run.channel] as u32 >> run.shift & ((1 << run.count) - 1);
        out |= u128::from(value) << at;
        at += run.count;
    }
    let width = if mode.subsets == 2 {
        out |= (fields.pattern as u128) << at;
        at += 5;
        3
    } else {
        4
    };
    for (i, &weight) in fields.weights.iter().enumerate() {
        out |= u128::from(weight) << at;
        at += width - u32::from(fields.is_anchor(i));
    }
    out.to_le_bytes()
}

/// Unpacks a block; `None` if its mode is reserved.
pub(super) fn unpack(block: &[u8; 16]) -> Option<Fields> {
    let bits = u128::from_le_bytes(*block);
    let number = mode_of(bits)?;
    let mode = &MODES[number];
    let mut at = mode.code.1;
    let mut take = |count: u32| {
        let value = (bits >> at) as u32 & ((1 << count) - 1);
        at += count;
        value
    };
    let mut fields = Fields { mode: number, ends: [[0; 3]; 4], pattern: 0, weights: [0; 16] };
    for run in &RUNS[number] {
        fields.ends[run.end][run.channel] |= (take(run.count) << run.shift) as i32;
    }
    if mode.subsets == 2 {
        fields.pattern = take(5) as usize;
    }
    let width = if mode.subsets == 2 { 3 } else { 4 };
    for i in 0..16 {
        fields.weights[i] = take(width - u32::from(fields.is_anchor(i))) as u8;
    }
    Some(fields)
}
