//! Atlas packing: shelves of decreasing height, in the smallest power-of-two square that fits.

use crate::sdf::Frame;

/// The maximum side of an atlas in texels, which every GPU of the last ten years supports.
pub(crate) const MAX_SIDE: u32 = 8192;
const MIN_SIDE: u32 = 64;

/// The top left corner of each box, and the size of the atlas.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) places: Vec<(u32, u32)>,
}

/// Packs boxes; returns `None` if no atlas can hold them. Boxes may touch: each has a margin of its own.
pub(crate) fn pack(boxes: &[Frame]) -> Option<Packed> {
    let mut order: Vec<usize> = (0..boxes.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse((boxes[i].height, boxes[i].width)), i));
    let sides = std::iter::successors(Some(MIN_SIDE), |side| Some(side * 2));
    sides.take_while(|side| *side <= MAX_SIDE).find_map(|side| shelves(boxes, &order, side))
}

fn shelves(boxes: &[Frame], order: &[usize], side: u32) -> Option<Packed> {
    let mut places = vec![(0, 0); boxes.len()];
    let (mut x, mut y, mut shelf) = (0u32, 0u32, 0u32);
    for &i in order {
        let Frame { width, height, .. } = boxes[i];
        if width > side {
            return None;
        }
        if x + width > side {
            (x, y, shelf) = (0, y + shelf, 0);
        }
        places[i] = (x, y);
        x += width;
        shelf = shelf.max(height);
        if height > side || y + shelf > side {
            return None;
        }
    }
    Some(Packed { width: side, height: (y + shelf).max(1).next_multiple_of(4), places })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(width: u32, height: u32) -> Frame {
        Frame { left: 0, bottom: 0, width, height }
    }

    #[test]
    fn packed_boxes_do_not_overlap() {
        let boxes: Vec<Frame> = (0..300u32).map(|i| sized(3 + i * 7 % 40, 5 + i * 13 % 50)).collect();
        let packed = pack(&boxes).unwrap();
        assert!(packed.height <= packed.width && packed.width.is_power_of_two());
        let mut taken = vec![false; (packed.width * packed.height) as usize];
        for (frame, (left, top)) in boxes.iter().zip(&packed.places) {
            for y in *top..top + frame.height {
                for x in *left..left + frame.width {
                    assert!(x < packed.width && y < packed.height);
                    assert!(!std::mem::replace(&mut taken[(y * packed.width + x) as usize], true));
                }
            }
        }
        let filled = taken.iter().filter(|taken| **taken).count();
        assert!(filled * 5 > taken.len() * 4, "{filled} of {}", taken.len());
    }

    #[test]
    fn rejects_boxes_that_do_not_fit() {
        assert!(pack(&[sized(MAX_SIDE, MAX_SIDE)]).is_some());
        assert!(pack(&[sized(MAX_SIDE + 1, 1)]).is_none());
        assert!(pack(&[sized(1, u32::MAX)]).is_none());
        assert!(pack(&[sized(MAX_SIDE, MAX_SIDE), sized(1, 1)]).is_none());
        assert_eq!(pack(&[]), Some(Packed { width: 64, height: 4, places: vec![] }));
    }
}
