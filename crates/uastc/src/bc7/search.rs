//! Mode selection for BC7: the order of the stages for each class, and the blocks that each stage runs on.

use super::block::Block;
use super::effort::Effort;
use super::stages::{
    ChoosePlanes, ChooseThree, ChooseTwo, DualPlane, SingleSubset, Subsets, THREE_4, THREE_8, TWO_4, TWO_8,
};
use crate::batch::run;
use crate::block::Class;
use crate::lanes::Lanes;

/// Finds the best candidate for every block that is not a solid colour. `alpha`: opaque blocks have to stay
/// opaque.
pub(crate) fn search<L: Lanes>(blocks: &mut [Block], effort: &Effort, alpha: bool) {
    if blocks.iter().any(opaque) {
        rgb::<L>(blocks, effort, alpha);
    }
    if blocks.iter().any(translucent) {
        rgba::<L>(blocks, effort);
    }
}

fn opaque(block: &Block) -> bool {
    matches!(block.class, Class::Rgb | Class::Grey)
}

fn translucent(block: &Block) -> bool {
    matches!(block.class, Class::Rgba | Class::GreyAlpha)
}

fn rgb<L: Lanes>(blocks: &mut [Block], effort: &Effort, alpha: bool) {
    match alpha {
        true => run::<L, _>(&SingleSubset::<3, true>, blocks, effort, opaque),
        false => run::<L, _>(&SingleSubset::<3, false>, blocks, effort, opaque),
    }
    if effort.opaque_planes_above < f32::INFINITY {
        planes::<L>(blocks, effort, &[1, 0, 2], |b| opaque(b) && b.error > effort.opaque_planes_above);
    }
    if effort.split_above == f32::INFINITY {
        return;
    }
    run::<L, _>(&ChooseTwo::<3>, blocks, effort, |b| opaque(b) && b.error > effort.split_above);
    for rank in 0..effort.patterns[TWO_8] {
        let stage = Subsets::<1, 3, 8, 2> { list: TWO_8, rank };
        run::<L, _>(&stage, blocks, effort, |b| opaque(b) && pattern_may_win(b, TWO_8, rank, effort));
    }
    for rank in 0..effort.patterns[TWO_4] {
        let stage = Subsets::<3, 3, 4, 2> { list: TWO_4, rank };
        run::<L, _>(&stage, blocks, effort, |b| opaque(b) && pattern_may_win(b, TWO_4, rank, effort));
    }
    if effort.patterns[THREE_8] == 0 {
        return;
    }
    run::<L, _>(&ChooseThree, blocks, effort, |b| opaque(b) && b.error > effort.split_above);
    for rank in 0..effort.patterns[THREE_8] {
        let stage = Subsets::<0, 3, 8, 3> { list: THREE_8, rank };
        run::<L, _>(&stage, blocks, effort, |b| opaque(b) && pattern_may_win(b, THREE_8, rank, effort));
    }
    for rank in 0..effort.patterns[THREE_4] {
        let stage = Subsets::<2, 3, 4, 3> { list: THREE_4, rank };
        run::<L, _>(&stage, blocks, effort, |b| opaque(b) && pattern_may_win(b, THREE_4, rank, effort));
    }
}

/// Tries dual-plane modes with each of the channels in the second plane.
fn planes<L: Lanes>(
    blocks: &mut [Block],
    effort: &Effort,
    channels: &[usize],
    pass: impl Fn(&Block) -> bool,
) {
    run::<L, _>(&ChoosePlanes, blocks, effort, &pass);
    for &second_channel in channels {
        let pass = |b: &Block| pass(b) && b.planes[second_channel] * effort.plane_slack < b.error;
        run::<L, _>(&DualPlane::<5, 4, 4> { second_channel }, blocks, effort, pass);
        let [others, second] = effort.fine_planes;
        if second {
            run::<L, _>(&DualPlane::<4, 4, 8> { second_channel }, blocks, effort, pass);
        }
        if others {
            run::<L, _>(&DualPlane::<4, 8, 4> { second_channel }, blocks, effort, pass);
        }
    }
}

fn rgba<L: Lanes>(blocks: &mut [Block], effort: &Effort) {
    run::<L, _>(&SingleSubset::<4, false>, blocks, effort, translucent);
    planes::<L>(blocks, effort, &[3, 1, 0, 2], |b| translucent(b) && b.error > 0.0);
    if effort.split_above == f32::INFINITY {
        return;
    }
    run::<L, _>(&ChooseTwo::<4>, blocks, effort, |b| translucent(b) && b.error > effort.split_above);
    for rank in 0..effort.patterns[TWO_4] {
        let stage = Subsets::<7, 4, 4, 2> { list: TWO_4, rank };
        run::<L, _>(&stage, blocks, effort, |b| translucent(b) && pattern_may_win(b, TWO_4, rank, effort));
    }
}

/// Returns true if a pattern may beat the best candidate.
fn pattern_may_win(block: &Block, list: usize, rank: usize, effort: &Effort) -> bool {
    block.error > effort.split_above && block.choices[list][rank].score * effort.slack < block.error
}
