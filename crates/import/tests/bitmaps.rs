//! BMP and TGA files made by hand, byte by byte, with the texels that their specifications give them.

use kiln_import::Limits;
use kiln_import::image;

type Rgba = [u8; 4];

const BLACK: Rgba = [0, 0, 0, 255];
const RED: Rgba = [255, 0, 0, 255];
const GREEN: Rgba = [0, 255, 0, 255];
const BLUE: Rgba = [0, 0, 255, 255];
const GREY: Rgba = [132, 132, 132, 255];

#[derive(Clone)]
struct Bmp {
    header: u32,
    size: (i32, i32),
    bits: u16,
    compression: u32,
    colours: u32,
    masks: [u32; 4],
    palette: Vec<u8>,
    pixels: Vec<u8>,
}

impl Bmp {
    fn new(size: (i32, i32), bits: u16, pixels: &[u8]) -> Bmp {
        let (palette, pixels) = (Vec::new(), pixels.to_vec());
        Bmp { header: 40, size, bits, compression: 0, colours: 0, masks: [0; 4], palette, pixels }
    }

    /// With the colours black, red, green and blue.
    fn palette(mut self) -> Bmp {
        self.colours = 4;
        self.palette = [[0, 0, 0, 9], [0, 0, 255, 9], [0, 255, 0, 9], [255, 0, 0, 9]].concat();
        self
    }

    fn compression(mut self, compression: u32, masks: [u32; 4]) -> Bmp {
        (self.compression, self.masks) = (compression, masks);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = b"BM".to_vec();
        out.extend([0; 12]);
        out.extend(self.header.to_le_bytes());
        if self.header == 12 {
            for value in [self.size.0 as u16, self.size.1 as u16, 1, self.bits] {
                out.extend(value.to_le_bytes());
            }
        } else {
            out.extend([self.size.0, self.size.1].map(i32::to_le_bytes).concat());
            out.extend([1, 0]);
            out.extend(self.bits.to_le_bytes());
            out.extend([self.compression, 0, 0, 0, self.colours, 0].map(u32::to_le_bytes).concat());
            if self.compression == 3 {
                out.extend(self.masks.map(u32::to_le_bytes).concat());
            }
            out.resize(out.len().max(14 + self.header as usize), 0);
        }
        out.extend(&self.palette);
        let start = out.len() as u32;
        out[10..14].copy_from_slice(&start.to_le_bytes());
        out.extend(&self.pixels);
        out
    }

    fn texels(&self) -> Vec<Rgba> {
        texels(&self.bytes(), "bmp")
    }

    fn error(&self) -> String {
        error(&self.bytes(), "bmp")
    }
}

fn texels(file: &[u8], extension: &str) -> Vec<Rgba> {
    let image = image::import(file, extension, &Limits::default()).unwrap_or_else(|e| panic!("{e}")).value;
    image.into_rgba8().as_chunks().0.to_vec()
}

fn error(file: &[u8], extension: &str) -> String {
    image::import(file, extension, &Limits::default()).unwrap_err().code.as_str().to_owned()
}

#[test]
fn bmp_pixels_of_sixteen_bits() {
    // An odd row is padded to four bytes.
    let pixels =
        [[0x00, 0x7C], [0xE0, 0x03], [0x1F, 0x00], [9, 9], [0x10, 0x42], [0, 0x80], [0xFF, 0x7F], [9, 9]];
    let bmp = Bmp::new((3, 2), 16, &pixels.concat());
    let white = [255; 4];
    assert_eq!(bmp.texels(), [GREY, BLACK, white, RED, GREEN, BLUE]);
    let upside_down = Bmp { size: (3, -2), ..bmp };
    assert_eq!(upside_down.texels(), [RED, GREEN, BLUE, GREY, BLACK, white]);
}

#[test]
fn bmp_bit_fields() {
    let half = Bmp::new((2, 1), 16, &[0x41, 0x08, 0xFF, 0xFF]).compression(3, [0xF800, 0x7E0, 0x1F, 0]);
    assert_eq!(half.texels(), [[8, 8, 8, 255], [255; 4]]);
    // Four bits each, with alpha, which headers from version 3 on have.
    let masks = [0xF00, 0xF0, 0xF, 0xF000];
    let alpha = Bmp { header: 56, ..Bmp::new((2, 1), 16, &[0x21, 0x43, 0xF0, 0x0F]).compression(3, masks) };
    assert_eq!(alpha.texels(), [[0x33, 0x22, 0x11, 0x44], [255, 255, 0, 0]]);
    let opaque = Bmp { header: 52, ..alpha };
    assert_eq!(opaque.texels(), [[0x33, 0x22, 0x11, 255], [255, 255, 0, 255]]);
    // Ten bits lose two.
    let wide =
        Bmp::new((1, 1), 32, &0x2A95_5FFFu32.to_le_bytes()).compression(3, [0x3FF0_0000, 0xF_FC00, 0x3FF, 0]);
    assert_eq!(wide.texels(), [[0xAA, 0x55, 0xFF, 255]]);
    for masks in [[0xF800, 0, 0x1F, 0], [0xF00F, 0xF0, 0xF00, 0], [0x1F_0000, 0x7E0, 0x1F, 0]] {
        assert_eq!(
            Bmp::new((1, 1), 16, &[0; 4]).compression(3, masks).error(),
            "image-corrupt",
            "{masks:x?}"
        );
    }
}

#[test]
fn bmp_palettes_and_their_headers() {
    let two_bits = Bmp::new((5, 1), 2, &[0b01_10_11_00, 0b10_000000, 0, 0]).palette();
    assert_eq!(two_bits.texels(), [RED, GREEN, BLUE, BLACK, GREEN]);
    // Colours that the palette does not have are black.
    let four_bits = Bmp::new((3, 1), 4, &[0x3F, 0x10, 0, 0]).palette();
    assert_eq!(four_bits.texels(), [BLUE, BLACK, RED]);
    for header in [40, 52, 56, 108, 124] {
        let eight_bits = Bmp { header, ..Bmp::new((2, 2), 8, &[1, 2, 9, 9, 3, 0, 9, 9]).palette() };
        assert_eq!(eight_bits.texels(), [BLUE, BLACK, RED, GREEN]);
        assert_eq!(Bmp { colours: 257, ..eight_bits }.error(), "image-corrupt");
    }
    // The oldest header has colours of three bytes, and always all of them.
    let palette = [[0, 0, 255], [0, 255, 0]].concat();
    let oldest = Bmp { header: 12, palette, ..Bmp::new((3, 1), 1, &[0b0100_0000, 0, 0, 0]) };
    assert_eq!(oldest.texels(), [RED, GREEN, RED]);
    let plain = Bmp::new((1, 1), 32, &[1, 2, 3, 4]);
    assert_eq!(plain.texels(), [[3, 2, 1, 255]]);
}

#[test]
fn bmp_runs() {
    let eight = |size, runs: &[u8]| Bmp::new(size, 8, runs).palette().compression(1, [0; 4]);
    // A run, a literal with padding, the end of the row; a skip to the right; a run beyond its row; the end.
    let runs = [2, 1, 0, 3, 2, 3, 1, 0, 0, 0, 0, 2, 2, 0, 9, 2, 0, 0, 0, 1];
    let wanted = [[BLACK; 5], [BLACK, BLACK, GREEN, GREEN, GREEN], [RED, RED, GREEN, BLUE, RED]].concat();
    assert_eq!(eight((5, 3), &runs).texels(), wanted);
    // A skip to the right and up.
    let up = [0, 2, 1, 2, 1, 3, 0, 1];
    assert_eq!(eight((2, 3), &up).texels(), [[BLACK, BLUE], [BLACK; 2], [BLACK; 2]].concat());

    let four = |size, runs: &[u8]| Bmp::new(size, 4, runs).palette().compression(2, [0; 4]);
    // Both colours in turn; a literal of five, in three bytes and one of padding.
    assert_eq!(
        four((8, 1), &[3, 0x12, 0, 5, 0x31, 0x23, 0x10, 9, 0, 1]).texels(),
        [RED, GREEN, RED, BLUE, RED, GREEN, BLUE, RED]
    );

    for bad in [&[0, 3, 1, 1, 1, 0][..], &[0, 2, 3, 0], &[0, 2, 0, 1], &[1, 1, 0, 2, 2, 0]] {
        assert_eq!(eight((2, 1), bad).error(), "image-corrupt", "{bad:?}");
    }
    assert_eq!(four((2, 1), &[3, 0x12, 0, 1]).error(), "image-corrupt", "a run beyond its row");
    for cut in [&[][..], &[1], &[2, 1], &[0, 2, 1], &[0, 4, 1, 1]] {
        assert_eq!(eight((4, 1), cut).error(), "image-truncated", "{cut:?}");
    }
    assert_eq!(eight((2, -1), &[0, 1]).error(), "image-corrupt", "coded rows start at the bottom");
}

#[test]
fn rejects_unsupported_bmp_variants() {
    let good = Bmp::new((1, 1), 24, &[1, 2, 3, 0]);
    assert_eq!(good.texels(), [[3, 2, 1, 255]]);
    for (compression, code) in [(4, "image-unsupported"), (5, "image-unsupported"), (11, "image-unsupported")]
    {
        assert_eq!(good.clone().compression(compression, [0; 4]).error(), code);
    }
    for (bits, compression) in [(24, 1), (8, 2), (24, 3), (24, 6), (3, 0), (0, 0), (64, 0)] {
        assert_eq!(Bmp { bits, ..good.clone() }.compression(compression, [0; 4]).error(), "image-corrupt");
    }
    for (header, code) in [(11, "image-corrupt"), (64, "image-unsupported"), (16, "image-unsupported")] {
        let mut file = good.bytes();
        file[14..18].copy_from_slice(&u32::to_le_bytes(header));
        assert_eq!(error(&file, "bmp"), code, "{header}");
    }
    for (at, value, code) in
        [(26, 2, "image-corrupt"), (10, 0xFF, "image-truncated"), (21, 0x80, "image-corrupt")]
    {
        let mut file = good.bytes();
        file[at] = value;
        assert_eq!(error(&file, "bmp"), code, "byte {at}");
    }
    for size in [(0, 1), (1, 0), (-1, 1)] {
        assert_eq!(Bmp { size, ..good.clone() }.error(), "image-corrupt", "{size:?}");
    }
    for size in [(i32::MAX, 1), (1 << 20, 1 << 20), (1, i32::MIN)] {
        assert_eq!(Bmp { size, ..good.clone() }.error(), "image-too-large", "{size:?}");
    }
    let file = good.bytes();
    (2..file.len()).for_each(|end| assert_eq!(error(&file[..end], "bmp"), "image-truncated", "{end}"));
}

/// The header of a TGA of this kind, size, depth and descriptor, with a palette of two colours of so many bits.
fn tga(kind: u8, width: u8, height: u8, depth: u8, descriptor: u8, colour_bits: u8) -> Vec<u8> {
    let palettes = u8::from(colour_bits > 0);
    // A comment of three bytes; the first colour of the palette has the number 5.
    let mut out = vec![3, palettes, kind, 5, 0, 2 * palettes, 0, colour_bits, 0, 0, 0, 0];
    out.extend([width, 0, height, 0, depth, descriptor]);
    out.extend(b"abc");
    out
}

#[test]
fn tga_pixels_of_fifteen_and_sixteen_bits() {
    for (depth, attributes) in [(15, 0), (16, 0), (16, 1)] {
        let mut file = tga(2, 2, 2, depth, 0x20 | attributes, 0);
        file.extend([[0x00, 0x7C], [0xE0, 0x83], [0x1F, 0x00], [0x10, 0x42]].concat());
        assert_eq!(texels(&file, "tga"), [RED, GREEN, BLUE, GREY], "{depth} {attributes}");
    }
}

#[test]
fn tga_palettes() {
    let palettes: [(u8, u8, &[u8], [Rgba; 2]); 4] = [
        (15, 0, &[0x00, 0x7C, 0x10, 0x42], [RED, GREY]),
        (16, 1, &[0x00, 0x7C, 0x10, 0xC2], [RED, GREY]),
        (24, 0, &[0, 0, 255, 255, 0, 0], [RED, BLUE]),
        (32, 8, &[1, 2, 3, 4, 5, 6, 7, 8], [[3, 2, 1, 4], [7, 6, 5, 8]]),
    ];
    for (bits, attributes, colours, [a, b]) in palettes {
        for (coded, pixels) in [(0, &[5, 6, 6, 5][..]), (8, &[0, 5, 0x81, 6, 0, 5])] {
            let mut file = tga(1 + coded, 4, 1, 8, 0x20 | attributes, bits);
            file.extend([colours, pixels].concat());
            assert_eq!(texels(&file, "tga"), [a, b, b, a], "{bits}");
            let last = file.len() - 1;
            for index in [4, 7, 255] {
                file[last] = index;
                assert_eq!(error(&file, "tga"), "image-corrupt", "{index} is not in the palette");
            }
        }
        if bits > 15 {
            let mut file = tga(1, 2, 1, 16, 0x20 | attributes, bits);
            file.extend([colours, &[5, 0, 6, 0]].concat());
            assert_eq!(texels(&file, "tga"), [a, b]);
        }
    }
}

#[test]
fn tga_packets_cross_rows_and_the_end() {
    let mut file = tga(10, 2, 2, 24, 0x20, 0);
    file.extend([0x82, 0, 0, 255, 0x05, 255, 0, 0]);
    assert_eq!(texels(&file, "tga"), [RED, RED, RED, BLUE]);
    file.truncate(file.len() - 1);
    assert_eq!(error(&file, "tga"), "image-truncated");
}

#[test]
fn decodes_tga_alpha_and_rejects_unsupported_variants() {
    let kinds: [(u8, u8, u8, &[u8], Rgba); 6] = [
        (2, 32, 8, &[1, 2, 3, 4], [3, 2, 1, 4]),
        (2, 32, 0, &[1, 2, 3, 4], [3, 2, 1, 4]),
        (2, 24, 0, &[1, 2, 3], [3, 2, 1, 255]),
        (3, 8, 0, &[7], [7, 7, 7, 255]),
        (3, 8, 8, &[7], [7, 7, 7, 255]),
        (3, 16, 8, &[7, 9], [7, 7, 7, 9]),
    ];
    for (kind, depth, attributes, pixel, wanted) in kinds {
        let mut file = tga(kind, 1, 1, depth, attributes, 0);
        file.extend(pixel);
        assert_eq!(texels(&file, "tga"), [wanted], "{kind} {depth} {attributes}");
        (18..file.len()).for_each(|end| assert_eq!(error(&file[..end], "tga"), "image-truncated", "{end}"));
    }
    let rejected = [
        (2, 8, 0, 0, "image-unsupported"),
        (2, 24, 8, 0, "image-unsupported"),
        (3, 24, 0, 0, "image-unsupported"),
        (3, 8, 9, 0, "image-corrupt"),
        (1, 8, 0, 0, "image-corrupt"),
        (1, 24, 0, 24, "image-corrupt"),
        (1, 16, 0, 15, "image-unsupported"),
        (2, 24, 0, 8, "image-unsupported"),
    ];
    for (kind, depth, attributes, colour_bits, code) in rejected {
        let mut file = tga(kind, 1, 1, depth, attributes, colour_bits);
        file.extend([0; 64]);
        assert_eq!(error(&file, "tga"), code, "{kind} {depth} {attributes} {colour_bits}");
    }
    assert_eq!(error(&tga(2, 0, 1, 24, 0, 0), "tga"), "image-corrupt");
    // A short file does not get memory for a large image.
    let mut file = tga(10, 0, 0, 24, 0, 0);
    file[12..16].fill(0xFF);
    let limits = Limits { max_pixels: u64::MAX, max_memory: u64::MAX, max_time: None };
    assert_eq!(image::import(&file, "tga", &limits).unwrap_err().code.as_str(), "image-truncated");
}
