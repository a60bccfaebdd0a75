//! Generated blocks of every kind that textures have, and some that they should not, from a seed.

/// A block: RGBA texels in raster order.
pub(crate) type Texels = [[u8; 4]; 16];

/// A splitmix64 generator: the same numbers on every platform.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        (((self.next() >> 32) * u64::from(end)) >> 32) as u32
    }

    fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    fn colour(&mut self) -> [u8; 4] {
        [self.byte(), self.byte(), self.byte(), self.byte()]
    }
}

/// The number of kinds.
pub(crate) const KINDS: u32 = 18;

/// Generates a block of kind `kind`.
pub(crate) fn block(kind: u32, random: &mut Random) -> Texels {
    let (a, b, c) = (random.colour(), random.colour(), random.colour());
    let noise = 1 << random.below(6);
    let shape = random.next() as u16;
    let tilt = [random.below(9) as i32 - 4, random.below(9) as i32 - 4];
    let mut texels = [[0; 4]; 16];
    for (i, texel) in texels.iter_mut().enumerate() {
        let (x, y) = ((i % 4) as i32, (i / 4) as i32);
        let along = (x * tilt[0] + y * tilt[1]).clamp(-16, 16) + 16;
        let inside = shape >> i & 1 != 0;
        *texel = match kind {
            // Noise of all channels, of the opaque ones, of grey.
            0 => random.colour(),
            1 => opaque(random.colour()),
            2 => grey(random.byte(), 255),
            3 => grey(random.byte(), random.byte()),
            // A gradient between two colours, without and with noise.
            4 => opaque(mix(a, b, along, 32)),
            5 => jitter(mix(a, b, along, 32), noise, random),
            6 => opaque(jitter(mix(a, b, along, 32), noise, random)),
            7 => grey(mix(a, b, along, 32)[0], 255),
            // Text and alpha cutouts: two colours by a random shape, two that are nearly equal, hard alpha.
            8 => opaque(if inside { a } else { b }),
            9 => opaque(if inside { a } else { mix(a, b, 1, 16) }),
            10 => with_alpha(mix(a, b, along, 32), if inside { 255 } else { 0 }),
            11 => with_alpha(jitter(a, noise, random), if inside { 254 } else { 255 }),
            // Three areas in stripes.
            12 => opaque(jitter([a, b, c][(x + y * i32::from(inside)) as usize % 3], noise / 8, random)),
            // Nearly solid.
            13 => jitter(a, 2, random),
            14 => opaque(jitter(a, 3, random)),
            // Two flat greys either side of an edge, opaque and translucent.
            15 => grey(jitter(if x < 2 { a } else { b }, 1, random)[0], 255),
            16 => {
                let side = jitter(if x + y < 4 { a } else { b }, 1, random);
                grey(side[0], side[3])
            }
            // One channel varies independently.
            _ => {
                let mut texel = mix(a, b, along, 32);
                texel[usize::from(c[0] % 4)] = if inside { c[1] } else { c[2] };
                if c[3] < 200 { opaque(texel) } else { texel }
            }
        };
    }
    texels
}

fn mix(a: [u8; 4], b: [u8; 4], at: i32, of: i32) -> [u8; 4] {
    std::array::from_fn(|c| ((i32::from(a[c]) * (of - at) + i32::from(b[c]) * at) / of) as u8)
}

fn jitter(texel: [u8; 4], by: u32, random: &mut Random) -> [u8; 4] {
    texel.map(|v| (i32::from(v) + random.below(2 * by + 1) as i32 - by as i32).clamp(0, 255) as u8)
}

fn opaque(texel: [u8; 4]) -> [u8; 4] {
    with_alpha(texel, 255)
}

fn with_alpha(texel: [u8; 4], alpha: u8) -> [u8; 4] {
    [texel[0], texel[1], texel[2], alpha]
}

fn grey(value: u8, alpha: u8) -> [u8; 4] {
    [value, value, value, alpha]
}
