//! Views of texels: sizes that exceed the buffer, and the blocks at the edges.

use kiln_uastc::View;

#[test]
fn rejects_sizes_that_exceed_the_buffer() {
    let bytes = [0; 64];
    assert!(View::tight(&bytes, 4, 4).is_some());
    assert!(View::tight(&bytes, 4, 5).is_none());
    assert!(View::tight(&bytes, 0, 4).is_none());
    assert!(View::tight(&bytes, 4, 0).is_none());
    assert!(View::new(&bytes, 4, 2, 48).is_some(), "the last row may end before its stride does");
    assert!(View::new(&bytes, 4, 2, 49).is_none());
    assert!(View::new(&bytes, 4, 2, 15).is_none(), "rows overlap");
    assert!(View::new(&bytes, u32::MAX, u32::MAX, usize::MAX).is_none());
}

#[test]
fn edge_texels_repeat() {
    // Texel (x, y) holds x + 16 y in red.
    let mut bytes = vec![0; 6 * 5 * 4];
    for (i, texel) in bytes.chunks_exact_mut(4).enumerate() {
        texel[0] = (i % 6 + i / 6 * 16) as u8;
    }
    let view = View::tight(&bytes, 6, 5).expect("the bytes suffice");
    let reds = |bx, by| view.block(bx, by).map(|w| w & 255);
    assert_eq!(reds(0, 0), [0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51]);
    assert_eq!(reds(1, 0)[..4], [4, 5, 5, 5]);
    assert_eq!(reds(1, 1), [68, 69, 69, 69, 68, 69, 69, 69, 68, 69, 69, 69, 68, 69, 69, 69]);
}
