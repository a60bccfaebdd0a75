//! Tests of degenerate triangles and triangle checksums.

use super::*;

#[test]
fn triangle_is_degenerate_below_1e_5_radians() {
    let along = |base: [f32; 3], direction: [f32; 3], by: f64| {
        [0, 1, 2].map(|axis| (f64::from(base[axis]) + f64::from(direction[axis]) * by / 7.0) as f32)
    };
    // Two perpendicular vectors of length 7, in all rotations and signs.
    for turn in 0..3 {
        for sign in [1.0, -1.0] {
            let (mut u, mut v) = ([2.0, 3.0 * sign, 6.0], [3.0, -6.0 * sign, 2.0]);
            u.rotate_left(turn);
            v.rotate_left(turn);
            let a = [0.25, -0.5, 0.125];
            let b = along(a, u, 0.75);
            for (x, y, expected) in [
                (0.5, 0.0, false),
                (0.5, 0.4e-5, false),
                (0.5, 0.65e-5, true),
                (0.5, 0.5e-3, true),
                (0.25, 0.5, true),
                (-0.5, 0.1, true),
            ] {
                let c = along(along(a, u, x), v, y);
                assert_eq!(has_area([a, b, c]), expected, "{x} along {u:?} and {y} across");
            }
            assert!(!has_area([a, b, b]) && !has_area([a, a, b]) && !has_area([a, b, along(a, u, -0.5)]));
        }
    }
}

#[test]
fn triangle_checksum_ignores_starting_corner() {
    let sum = |triangle: [u32; 3]| {
        let mut sum = TriangleChecksum::default();
        sum.triangle(triangle);
        sum
    };
    let mut seen = std::collections::BTreeMap::new();
    for [a, b, c] in (0..12).flat_map(|a| (0..12).flat_map(move |b| (0..12).map(move |c| [a, b, c]))) {
        let least = [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap();
        let found = sum([a, b, c]);
        assert_eq!(found, sum([b, c, a]));
        assert_eq!(found.count, 1);
        assert_eq!(*seen.entry(found.hash).or_insert(least), least, "two triangles have one hash");
    }
    // Each bit is set in about half of the hashes, so that sums do not cancel out.
    for bit in 0..64 {
        let set = seen.keys().filter(|hash| *hash >> bit & 1 == 1).count();
        assert!((seen.len() * 2 / 5..seen.len() * 3 / 5).contains(&set), "bit {bit} is set in {set}");
    }
}
