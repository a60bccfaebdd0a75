//! Decoders of BC1, BC3, BC4 and BC5 blocks (Direct3D 11 functional specification, section 19.5). Every bit pattern is
//! valid. [`bc7`](crate::bc7) has the encoder and the decoder of BC7.

type Texel = [u8; 4];

/// Decodes a BC1 block to RGBA texels, row by row. Texels of a block with three colours can be transparent black.
pub fn decode_bc1(block: &[u8; 8]) -> [Texel; 16] {
    colours(block, true)
}

/// Decodes a BC3 block to RGBA texels, row by row.
pub fn decode_bc3(block: &[u8; 16]) -> [Texel; 16] {
    let [first, second] = halves(block);
    let (alpha, mut texels) = (channel(first), colours(second, false));
    texels.iter_mut().zip(alpha).for_each(|(texel, alpha)| texel[3] = alpha);
    texels
}

/// Decodes a BC4 block to one channel, row by row.
pub fn decode_bc4(block: &[u8; 8]) -> [u8; 16] {
    channel(block)
}

/// Decodes a BC5 block to two channels, row by row.
pub fn decode_bc5(block: &[u8; 16]) -> [[u8; 2]; 16] {
    let [first, second] = halves(block);
    let (red, green) = (channel(first), channel(second));
    std::array::from_fn(|i| [red[i], green[i]])
}

fn halves(block: &[u8; 16]) -> [&[u8; 8]; 2] {
    let halves = block.as_chunks().0;
    [&halves[0], &halves[1]]
}

/// Decodes a colour block. In BC1 the order of the endpoints selects between four colours and three with transparent black.
fn colours(block: &[u8; 8], punch_through: bool) -> [Texel; 16] {
    let ends = [u16::from_le_bytes([block[0], block[1]]), u16::from_le_bytes([block[2], block[3]])];
    let rgb = ends.map(|end| {
        let expand = |value: u16, bits: u32| {
            let value = u32::from(value & ((1 << bits) - 1));
            value << (8 - bits) | value >> (2 * bits - 8)
        };
        [expand(end >> 11, 5), expand(end >> 5, 6), expand(end, 5)]
    });
    let mix = |a: u32, b: u32| {
        let [r, g, b] =
            std::array::from_fn(|c| ((rgb[0][c] * a + rgb[1][c] * b + (a + b) / 2) / (a + b)) as u8);
        [r, g, b, u8::MAX]
    };
    let palette = if punch_through && ends[0] <= ends[1] {
        [mix(1, 0), mix(0, 1), mix(1, 1), [0; 4]]
    } else {
        [mix(1, 0), mix(0, 1), mix(2, 1), mix(1, 2)]
    };
    let indices = u32::from_le_bytes([block[4], block[5], block[6], block[7]]);
    std::array::from_fn(|i| palette[(indices >> (2 * i) & 3) as usize])
}

/// Decodes a block of one channel: BC4, half of BC5, or the alpha of BC3.
fn channel(block: &[u8; 8]) -> [u8; 16] {
    let [a, b] = [u32::from(block[0]), u32::from(block[1])];
    let steps = if a > b { 7 } else { 5 };
    let palette: [u8; 8] = std::array::from_fn(|i| match i as u32 {
        0 => a as u8,
        1 => b as u8,
        6 if steps == 5 => 0,
        7 if steps == 5 => u8::MAX,
        i => (((steps + 1 - i) * a + (i - 1) * b + steps / 2) / steps) as u8,
    });
    let indices = u64::from_le_bytes(*block) >> 16;
    std::array::from_fn(|i| palette[(indices >> (3 * i) & 7) as usize])
}
