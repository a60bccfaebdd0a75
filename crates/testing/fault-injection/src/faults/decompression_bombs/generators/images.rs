//! Images with huge sizes, and compressed chunks of images.

use super::{Bomb, bake, build, content};

/// Returns a zlib stream of zeros.
pub(super) fn zlib_zeros(len: u64) -> Vec<u8> {
    zlib_of(0, len)
}

/// Returns a zlib stream of `len` repetitions of a byte of at most 143: one literal, then matches of maximum length.
pub(in super::super) fn zlib_of(byte: u8, len: u64) -> Vec<u8> {
    let (mut out, mut bits, mut count) = (vec![0x78, 0x01], 0_u64, 0_u32);
    let mut put = |out: &mut Vec<u8>, value: u64, n: u32| {
        bits |= value << count;
        count += n;
        while count >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            count -= 8;
        }
    };
    put(&mut out, 0b011, 3);
    // Huffman codes are written from their highest bit: literal 0 is 00110000, length 258 is 11000101, distance 1 is 00000.
    let literal = u64::from((0b0011_0000 + byte).reverse_bits());
    put(&mut out, literal, 8);
    let matches = (len - 1) / 258;
    for _ in 0..matches {
        put(&mut out, u64::from(0b1100_0101_u8.reverse_bits()), 13);
    }
    for _ in 0..(len - 1) % 258 {
        put(&mut out, literal, 8);
    }
    put(&mut out, 0, 7);
    put(&mut out, 0, 7);
    out.extend(adler(byte, len).to_be_bytes());
    out
}

/// Returns the Adler-32 checksum of a repeated byte, in closed form.
fn adler(byte: u8, len: u64) -> u32 {
    let (byte, len) = (u128::from(byte), u128::from(len));
    let sum = (1 + len * byte) % 65521;
    let sums = (len + byte * (len * (len + 1) / 2)) % 65521;
    (sums << 16 | sum) as u32
}

fn chunk(out: &mut Vec<u8>, name: &[u8; 4], body: &[u8]) {
    out.extend((body.len() as u32).to_be_bytes());
    let start = out.len();
    out.extend(name);
    out.extend(body);
    out.extend(crc32fast::hash(&out[start..]).to_be_bytes());
}

/// Returns a PNG with this header and these chunks before IEND.
pub(in super::super) fn png(
    width: u32,
    height: u32,
    depth: u8,
    color: u8,
    chunks: &[(&[u8; 4], Vec<u8>)],
) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
    head.extend([depth, color, 0, 0, 0]);
    chunk(&mut out, b"IHDR", &head);
    for (name, body) in chunks {
        chunk(&mut out, name, body);
    }
    chunk(&mut out, b"IEND", &[]);
    out
}

fn jpeg(width: u16, height: u16) -> Vec<u8> {
    let mut out = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
    out.extend([1; 64]);
    out.extend([0xff, 0xc2, 0, 17, 8]);
    out.extend(height.to_be_bytes());
    out.extend(width.to_be_bytes());
    out.extend([3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]);
    out.extend([0xff, 0xc4, 0, 20, 0, 1]);
    out.extend([0; 15]);
    out.push(0);
    out
}

/// Adds the bombs.
pub(super) fn add(all: &mut Vec<Bomb>) {
    let idat = |len| (b"IDAT", zlib_zeros(len));
    all.push(build("PNG of 2^31-1 by 2^31-1", "x.png", move || {
        png(i32::MAX as u32, i32::MAX as u32, 16, 6, &[idat(1000)])
    }));
    all.push(build("PNG of 2^32-1 by 2^32-1", "x.png", move || png(u32::MAX, u32::MAX, 8, 6, &[idat(1000)])));
    all.push(build("PNG of 60000 by 60000 without data", "x.png", move || {
        png(60_000, 60_000, 8, 6, &[idat(1000)])
    }));
    all.push(build("PNG of 1 by 2^31-1", "x.png", move || png(1, i32::MAX as u32, 8, 0, &[idat(1000)])));
    all.push(build("PNG of 60000 by 60000 in one bit", "x.png", move || {
        png(60_000, 60_000, 1, 0, &[idat(60_000 * 7501)])
    }));
    // Data after the last row is ignored.
    let mut more =
        build("PNG whose IDAT decompresses to 4 GiB", "x.png", move || png(4, 4, 8, 6, &[idat(4 << 30)]));
    more.rejected = false;
    all.push(more);
    for (name, start) in [(b"iCCP", &b"x\0\0"[..]), (b"zTXt", b"x\0\0"), (b"iTXt", b"x\0\x01\0\0\0")] {
        let what = format!("PNG with 4 GB in {}", String::from_utf8_lossy(name));
        let mut bomb = build(&what, "x.png", move || {
            let body = [start, &zlib_zeros(4 << 30)].concat();
            png(4, 4, 8, 6, &[(name, body), (b"IDAT", zlib_zeros(4 * 17))])
        });
        bomb.rejected = false;
        all.push(bomb);
    }
    all.push(build("PNG with a chunk of 2^32-1 bytes", "x.png", || {
        let mut bytes = png(4, 4, 8, 6, &[]);
        bytes.truncate(33);
        bytes.extend([0xff; 4]);
        bytes.extend(b"IDATxxxx");
        bytes
    }));
    let mut many = build("PNG with a million empty chunks", "x.png", || {
        let mut chunks = vec![(b"IDAT", zlib_zeros(4 * 17))];
        chunks.extend((0..1_000_000).map(|_| (b"tEXt", b"x\0".to_vec())));
        png(4, 4, 8, 6, &chunks)
    });
    many.rejected = false;
    all.push(many);
    let mut many = build("PNG with a million IDAT chunks", "x.png", || {
        let mut chunks: Vec<(&[u8; 4], Vec<u8>)> = (0..1_000_000).map(|_| (b"IDAT", vec![])).collect();
        chunks.push((b"IDAT", zlib_zeros(4 * 17)));
        png(4, 4, 8, 6, &chunks)
    });
    many.rejected = false;
    all.push(many);
    all.push(build("JPEG of 65535 by 65535", "x.jpg", || jpeg(65535, 65535)));
    all.push(build("JPEG of 65535 by 65535 with empty scans", "x.jpg", || {
        let mut bytes = jpeg(65535, 65535);
        for _ in 0..2000 {
            bytes.extend([0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0]);
        }
        bytes
    }));
    all.push(build("JPEG that ends in two million markers", "x.jpg", || {
        [jpeg(64, 64), [0xff, 0xd0].repeat(2_000_000)].concat()
    }));
    let riff = |body: &[u8]| [b"RIFF", &((body.len() + 4) as u32).to_le_bytes()[..], b"WEBP", body].concat();
    all.push(build("WebP of 16384 by 16384 without data", "x.webp", move || {
        riff(b"VP8L\x06\0\0\0\x2f\xff\xff\xff\x0f\0")
    }));
    all.push(build("WebP with a canvas of 2^24 by 2^24", "x.webp", move || {
        riff(b"VP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xffVP8L\x06\0\0\0\x2f\xff\xff\xff\x0f\0")
    }));
    all.push(build("WebP with a chunk of 2^32-1 bytes", "x.webp", || {
        b"RIFF\xff\xff\xff\xffWEBPVP8L\xff\xff\xff\xff\x2f".to_vec()
    }));
    all.push(build("BMP of 2^31-1 by 2^31-1", "x.bmp", || {
        let mut bytes =
            b"BM\xff\xff\xff\x7f\0\0\0\0\x36\0\0\0\x28\0\0\0\xff\xff\xff\x7f\xff\xff\xff\x7f\x01\0\x20\0"
                .to_vec();
        bytes.resize(100, 0);
        bytes
    }));
    all.push(build("BMP of 30000 by 30000 with RLE", "x.bmp", || {
        let mut bytes = b"BM\0\0\0\0\0\0\0\0\x3a\0\0\0\x28\0\0\0".to_vec();
        bytes.extend(30_000_u32.to_le_bytes().repeat(2));
        bytes.extend(b"\x01\0\x08\0\x01\0\0\0");
        bytes.resize(46, 0);
        bytes.extend(b"\x01\0\0\0\0\0\0\0\0\0\0\0");
        bytes.extend(b"\xff\x00".repeat(10));
        bytes
    }));
    all.push(build("TGA of 65535 by 65535 with RLE", "x.tga", || {
        let mut bytes = b"\0\0\x0a\0\0\0\0\0\0\0\0\0\xff\xff\xff\xff\x20\0".to_vec();
        bytes.extend(b"\xff\0\0\0\0".repeat(10));
        bytes
    }));
    all.push(bake("HDR of 2^31-1 by 2^31-1", || {
        let mut files = content("*.hdr");
        let head = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2147483647 +X 2147483647\n\x02\x02";
        files.insert("x.hdr".into(), head.to_vec());
        files
    }));
    all.push(build("LUT of 4000000000", "x.lut.cube", || b"LUT_3D_SIZE 4000000000\n0 0 0\n".to_vec()));
    all.push(build("LUT of 65536", "x.lut.cube", || b"LUT_3D_SIZE 65536\n0 0 0\n".to_vec()));
    all.push(build("KTX2 as a PNG", "x.png", || b"\xabKTX 20\xbb\r\n\x1a\n".to_vec()));
    all.push(bake("PNG of 60000 by 60000 in a pak", move || {
        let mut files = content("*.png");
        files.insert("x.png".into(), png(60_000, 60_000, 1, 0, &[idat(60_000 * 7501)]));
        files
    }));
}
