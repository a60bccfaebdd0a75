//! Shared test support: a PNG writer that is independent of any library, and the images in `data/`.
#![allow(dead_code, unreachable_pub, reason = "each test file is a crate of its own that uses its part")]

/// A PNG to be written: raw samples, as many channels as the colour type has, in `depth` bits.
#[derive(Clone, Debug)]
pub struct Png {
    pub width: usize,
    pub height: usize,
    pub colour: u8,
    pub depth: u8,
    pub interlaced: bool,
    pub palette: Vec<[u8; 3]>,
    /// The content of the tRNS chunk: alphas of the palette, or one value a channel.
    pub trns: Option<Vec<u16>>,
    pub samples: Vec<u16>,
}

impl Png {
    pub fn channels(&self) -> usize {
        match self.colour {
            0 | 3 => 1,
            4 => 2,
            2 => 3,
            _ => 4,
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut header = Vec::new();
        header.extend((self.width as u32).to_be_bytes());
        header.extend((self.height as u32).to_be_bytes());
        header.extend([self.depth, self.colour, 0, 0, u8::from(self.interlaced)]);
        chunk(&mut file, b"IHDR", &header);
        if self.colour == 3 {
            chunk(&mut file, b"PLTE", self.palette.as_flattened());
        }
        if let Some(values) = &self.trns {
            let bytes: Vec<u8> = match self.colour {
                3 => values.iter().map(|&v| v as u8).collect(),
                _ => values.iter().flat_map(|v| v.to_be_bytes()).collect(),
            };
            chunk(&mut file, b"tRNS", &bytes);
        }
        chunk(&mut file, b"IDAT", &stored(&self.scanlines()));
        chunk(&mut file, b"IEND", &[]);
        file
    }

    /// The passes one after another, the rows of each packed and filtered.
    fn scanlines(&self) -> Vec<u8> {
        const ADAM7: [[usize; 4]; 7] = [
            [0, 0, 8, 8],
            [4, 0, 8, 8],
            [0, 4, 4, 8],
            [2, 0, 4, 4],
            [0, 2, 2, 4],
            [1, 0, 2, 2],
            [0, 1, 1, 2],
        ];
        let passes: &[[usize; 4]] = if self.interlaced { &ADAM7 } else { &[[0, 0, 1, 1]] };
        let stride = (self.channels() * usize::from(self.depth)).div_ceil(8);
        let mut out = Vec::new();
        for &[x0, y0, dx, dy] in passes {
            let mut above: Vec<u8> = Vec::new();
            for (count, y) in (y0..self.height).step_by(dy).enumerate() {
                let row = self.pack((x0..self.width).step_by(dx).map(|x| (x, y)));
                if row.is_empty() {
                    continue;
                }
                above.resize(row.len(), 0);
                let kind = (count % 5) as u8;
                out.push(kind);
                out.extend((0..row.len()).map(|i| {
                    let left = if i >= stride { row[i - stride] } else { 0 };
                    let corner = if i >= stride { above[i - stride] } else { 0 };
                    row[i].wrapping_sub(predict(kind, left, above[i], corner))
                }));
                above = row;
            }
        }
        out
    }

    fn pack(&self, places: impl Iterator<Item = (usize, usize)>) -> Vec<u8> {
        let n = self.channels();
        let (mut bytes, mut bits, mut held) = (Vec::new(), 0u32, 0u32);
        for (x, y) in places {
            for &sample in &self.samples[(y * self.width + x) * n..][..n] {
                bits = bits << self.depth | u32::from(sample);
                held += u32::from(self.depth);
                while held >= 8 {
                    held -= 8;
                    bytes.push((bits >> held) as u8);
                }
            }
        }
        if held > 0 {
            bytes.push((bits << (8 - held)) as u8);
        }
        bytes
    }

    /// The texels by the rules of the PNG standard, in 16 bits a channel if that is the depth, else in 8.
    pub fn rgba(&self) -> Vec<u16> {
        let n = self.channels();
        let most = (1u32 << self.depth) - 1;
        let full = if self.depth == 16 { 65535 } else { 255 };
        let wide = |v: u16| (u32::from(v) * full / most) as u16;
        let mut out = Vec::new();
        for texel in self.samples.chunks_exact(n) {
            let keyed = self.colour != 3 && self.trns.as_deref() == Some(texel);
            let alpha = if keyed { 0 } else { full as u16 };
            match self.colour {
                0 => out.extend([wide(texel[0]), wide(texel[0]), wide(texel[0]), alpha]),
                2 => out.extend([wide(texel[0]), wide(texel[1]), wide(texel[2]), alpha]),
                3 => {
                    let index = usize::from(texel[0]);
                    out.extend(self.palette[index].map(u16::from));
                    out.push(self.trns.as_ref().and_then(|t| t.get(index).copied()).unwrap_or(255));
                }
                4 => out.extend([wide(texel[0]), wide(texel[0]), wide(texel[0]), wide(texel[1])]),
                _ => out.extend(texel.iter().map(|&v| wide(v))),
            }
        }
        out
    }
}

fn predict(kind: u8, a: u8, b: u8, c: u8) -> u8 {
    match kind {
        1 => a,
        2 => b,
        3 => ((u16::from(a) + u16::from(b)) / 2) as u8,
        4 => {
            let p = i32::from(a) + i32::from(b) - i32::from(c);
            let far = |v: u8| (p - i32::from(v)).abs();
            if far(a) <= far(b) && far(a) <= far(c) {
                a
            } else if far(b) <= far(c) {
                b
            } else {
                c
            }
        }
        _ => 0,
    }
}

/// A zlib stream of stored blocks.
pub fn stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let blocks: Vec<&[u8]> = data.chunks(65535).collect();
    for (i, block) in blocks.iter().enumerate() {
        out.push(u8::from(i + 1 == blocks.len()));
        out.extend((block.len() as u16).to_le_bytes());
        out.extend((!(block.len() as u16)).to_le_bytes());
        out.extend(*block);
    }
    let (a, b) = data
        .iter()
        .fold((1u32, 0u32), |(a, b), &v| ((a + u32::from(v)) % 65521, (b + a + u32::from(v)) % 65521));
    out.extend((b << 16 | a).to_be_bytes());
    out
}

pub fn chunk(file: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    file.extend(name);
    file.extend(data);
    let sum = crc(&file[file.len() - data.len() - 4..]);
    file.extend(sum.to_be_bytes());
}

fn crc(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |s, _| if s & 1 == 1 { s >> 1 ^ 0xEDB8_8320 } else { s >> 1 })
    })
}

/// Recomputes the checksums of a PNG, as far as its chunks can be parsed.
pub fn fix_checksums(file: &mut [u8]) {
    let mut at = 8;
    while let Some(length) = file.get(at..at + 4) {
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        let Some(body) = (at + 4).checked_add(length + 4).and_then(|end| file.get(at + 4..end)) else {
            return;
        };
        let sum = crc(body).to_be_bytes();
        let Some(place) = file.get_mut(at + 8 + length..at + 12 + length) else { return };
        place.copy_from_slice(&sum);
        at += 12 + length;
    }
}

/// A deterministic pseudo-random number generator.
pub struct Noise(pub u64);

impl Noise {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

macro_rules! data {
    ($($name:literal),* $(,)?) => {
        /// The images in `data/`, by file name.
        pub const FILES: &[(&str, &[u8])] = &[$(($name, include_bytes!(concat!("../data/", $name)))),*];
    };
}

data![
    "adobe-rgb.jpg",
    "animated-lossy.webp",
    "animated.png",
    "animated.webp",
    "bits.bmp",
    "cmyk-plain.jpg",
    "cmyk.jpg",
    "detail-420.jpg",
    "detail.jpg",
    "grey-alpha-rle.tga",
    "grey.jpg",
    "grey.tga",
    "kept-rgb.jpg",
    "lossy-alpha.webp",
    "lossy.webp",
    "palette.bmp",
    "palette.tga",
    "progressive.jpg",
    "restarts.jpg",
    "rgb-420.jpg",
    "rgb.bmp",
    "rgb.jpg",
    "rgb.tga",
    "rgb.webp",
    "rgba-rle.tga",
    "rgba.tga",
    "rgba.webp",
    "turned.jpg",
    "turned.png",
    "turned.webp",
    "ycck.jpg",
];

pub fn file(name: &str) -> &'static [u8] {
    FILES.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{name} is not in data/")).1
}

pub fn extension(name: &str) -> &str {
    name.rsplit('.').next().unwrap()
}

macro_rules! authoring {
    ($($name:literal),* $(,)?) => {
        /// Images in QOI, TIFF, GIF and DDS.
        pub const AUTHORING: &[(&str, &[u8])] = &[$(($name, include_bytes!(concat!("../data/", $name)))),*];
    };
}

authoring![
    "bc5.dds",
    "dxt1.dds",
    "dxt5.dds",
    "grey16.tif",
    "one.gif",
    "rgb.dds",
    "rgb.qoi",
    "rgb.tif",
    "rgba.dds",
    "rgba.qoi",
    "rgba_deflate.tif",
    "rgba_lzw.tif",
    "rgba_packbits.tif",
    "rgba_raw.tif",
    "two.gif",
];

/// A Photoshop document whose planes hold `sample(channel, index)`; `packed` selects PackBits rows.
pub fn psd(
    (width, height): (u32, u32),
    (mode, channels, bits): (u16, u16, u16),
    packed: bool,
    resources: &[u8],
    sample: impl Fn(usize, usize) -> u16,
) -> Vec<u8> {
    let mut file = b"8BPS\0\x01\0\0\0\0\0\0".to_vec();
    file.extend(channels.to_be_bytes());
    file.extend([height.to_be_bytes(), width.to_be_bytes()].concat());
    file.extend([bits.to_be_bytes(), mode.to_be_bytes()].concat());
    let palette: Vec<u8> =
        if mode == 2 { (0..768u32).map(|i| (i / 256 * 60 + i % 256) as u8).collect() } else { vec![] };
    file.extend((palette.len() as u32).to_be_bytes());
    file.extend(palette);
    file.extend((resources.len() as u32).to_be_bytes());
    file.extend(resources);
    file.extend(0u32.to_be_bytes());
    file.extend(u16::from(packed).to_be_bytes());
    let row = |channel: usize, y: usize| -> Vec<u8> {
        let values = (0..width as usize).map(|x| sample(channel, y * width as usize + x));
        values.flat_map(|v| if bits == 16 { v.to_be_bytes().to_vec() } else { vec![v as u8] }).collect()
    };
    let rows: Vec<Vec<u8>> = (0..channels as usize)
        .flat_map(|c| (0..height as usize).map(move |y| (c, y)))
        .map(|(c, y)| row(c, y))
        .collect();
    if packed {
        // A run of one byte, then a literal of the others.
        let pack = |row: &Vec<u8>| {
            let mut out = vec![0, row[0]];
            if row.len() > 1 {
                out.push((row.len() - 2) as u8);
                out.extend(&row[1..]);
            }
            out
        };
        let rows: Vec<Vec<u8>> = rows.iter().map(pack).collect();
        rows.iter().for_each(|row| file.extend((row.len() as u16).to_be_bytes()));
        file.extend(rows.concat());
    } else {
        file.extend(rows.concat());
    }
    file
}

/// Photoshop documents of the supported variants.
pub fn psd_files() -> Vec<(String, Vec<u8>)> {
    let variants = [(1, 1, 8), (1, 2, 16), (2, 1, 8), (3, 3, 8), (3, 4, 16), (3, 5, 8)];
    let file = |(mode, channels, bits): (u16, u16, u16), packed| {
        let bytes = psd((5, 3), (mode, channels, bits), packed, &[], |c, i| (c * 20 + i * 3) as u16);
        (format!("{mode}-{channels}-{bits}-{packed}.psd"), bytes)
    };
    variants.into_iter().flat_map(|variant| [file(variant, false), file(variant, true)]).collect()
}
