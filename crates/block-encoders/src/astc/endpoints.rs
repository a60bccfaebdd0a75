//! The LDR endpoint modes of ASTC.

/// The endpoints of a partition, RGBA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) low: [u8; 4],
    pub(super) high: [u8; 4],
}

/// Decodes the endpoints of a mode; `None` for HDR modes.
pub(super) fn endpoint_pair(mode: u32, values: &[u8]) -> Option<Pair> {
    let v = |i: usize| i32::from(values.get(i).copied().unwrap_or(0));
    let byte = |value: i32| value.clamp(0, 255) as u8;
    let colour = |colour: [i32; 4]| colour.map(byte);
    let grey = |l: i32, a: i32| [l, l, l, a];
    // The difference of the second value, and the first with the bit that the difference gives up.
    let transfer = |difference: i32, value: i32| {
        let wide = value >> 1 | difference & 0x80;
        let signed = difference >> 1 & 0x3F;
        (if signed & 0x20 != 0 { signed - 0x40 } else { signed }, wide)
    };
    let contract = |[r, g, b, a]: [i32; 4]| [(r + b) >> 1, (g + b) >> 1, b, a];
    let pair = |low: [i32; 4], high: [i32; 4]| Pair { low: colour(low), high: colour(high) };
    Some(match mode {
        0 => pair(grey(v(0), 255), grey(v(1), 255)),
        1 => {
            let low = v(0) >> 2 | v(1) & 0xC0;
            pair(grey(low, 255), grey(low + (v(1) & 0x3F), 255))
        }
        4 => pair(grey(v(0), v(2)), grey(v(1), v(3))),
        5 => {
            let ((dl, l), (da, a)) = (transfer(v(1), v(0)), transfer(v(3), v(2)));
            pair(grey(l, a), grey(l + dl, a + da))
        }
        6 => {
            let scaled = [0, 1, 2].map(|c| (v(c) * v(3)) >> 8);
            pair([scaled[0], scaled[1], scaled[2], 255], [v(0), v(1), v(2), 255])
        }
        10 => {
            let scaled = [0, 1, 2].map(|c| (v(c) * v(3)) >> 8);
            pair([scaled[0], scaled[1], scaled[2], v(4)], [v(0), v(1), v(2), v(5)])
        }
        8 | 12 => {
            let alpha = if mode == 12 { [v(6), v(7)] } else { [255; 2] };
            let (first, second) = ([v(0), v(2), v(4), alpha[0]], [v(1), v(3), v(5), alpha[1]]);
            if second[0] + second[1] + second[2] >= first[0] + first[1] + first[2] {
                pair(first, second)
            } else {
                // A sum that decreases stands for endpoints with a contracted blue.
                pair(contract(second), contract(first))
            }
        }
        9 | 13 => {
            let [(dr, r), (dg, g), (db, b)] = [0, 2, 4].map(|at| transfer(v(at + 1), v(at)));
            let (da, a) = if mode == 13 { transfer(v(7), v(6)) } else { (0, 255) };
            let (first, second) = ([r, g, b, a], [r + dr, g + dg, b + db, a + da]);
            if dr + dg + db >= 0 { pair(first, second) } else { pair(contract(second), contract(first)) }
        }
        _ => return None,
    })
}
