//! Generators of the bombs. Each is small, and generated when its case runs.

use crate::faults::files::Files;
use crate::file_contents::pak;
use kiln_format::pak::Codec;
use std::io::Write;

/// A function that generates a large text on demand.
type Text = fn() -> String;

type Make = Box<dyn Fn() -> Files + Send + Sync>;

/// A file that requires excessive resources.
pub(super) struct Bomb {
    pub(super) name: String,
    pub(super) tool: &'static str,
    pub(super) runs: Vec<Vec<&'static str>>,
    pub(super) files: Make,
    /// True if the tool has to reject the file; some are harmless to a careful reader.
    pub(super) rejected: bool,
}

fn one(path: &str, bytes: impl Into<Vec<u8>>) -> Files {
    Files::from([(path.to_owned(), bytes.into())])
}

/// Returns all bombs.
pub(super) fn all() -> Vec<Bomb> {
    let mut all = Vec::new();
    images(&mut all);
    models(&mut all);
    texts(&mut all);
    paks(&mut all);
    outputs(&mut all);
    unity(&mut all);
    all
}

fn build(name: &str, path: &'static str, make: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Bomb {
    let files = Box::new(move || one(&format!("assets/{path}"), make()));
    Bomb { name: name.to_owned(), tool: "assetc", runs: vec![vec!["-q"]], files, rejected: true }
}

fn bake(name: &str, files: impl Fn() -> Files + Send + Sync + 'static) -> Bomb {
    let runs = vec![vec!["bake", "pak.toml", "out/a.pak"]];
    Bomb { name: name.to_owned(), tool: "pak", runs, files: Box::new(files), rejected: true }
}

fn zlib_zeros(len: u64) -> Vec<u8> {
    zlib_of(0, len)
}

/// Returns a zlib stream of `len` repetitions of a byte of at most 143: one literal, then matches of maximum length.
pub(super) fn zlib_of(byte: u8, len: u64) -> Vec<u8> {
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
pub(super) fn png(width: u32, height: u32, depth: u8, color: u8, chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
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

fn images(all: &mut Vec<Bomb>) {
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

fn gltf(extra: &str) -> Vec<u8> {
    format!("{{\"asset\":{{\"version\":\"2.0\"}},\"scene\":0,\"scenes\":[{{\"nodes\":[0]}}],{extra}}}")
        .into_bytes()
}

const ONE_MESH: &str =
    "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]";

fn models(all: &mut Vec<Bomb>) {
    let counts: [(&str, &str); 14] = [
        ("2^62", "4611686018427387904"),
        ("2^53", "9007199254740992"),
        ("2^32", "4294967296"),
        ("2^31", "2147483648"),
        ("10^300", "1e300"),
        ("minus one", "-1"),
        ("2^64", "18446744073709551616"),
        ("a thousand digits", ""),
        ("2^30", "1073741824"),
        ("2^62 in a buffer view", ""),
        ("2^62 in a buffer", ""),
        ("2^62 as a stride", ""),
        ("2^62 in a sparse accessor", ""),
        ("2^62 as an offset", ""),
    ];
    let big = "4611686018427387904";
    for (what, count) in counts {
        let digits = "9".repeat(1000);
        let (mut count, mut view, mut buffer, mut stride, mut offset, mut sparse) =
            (count.to_owned(), "68", "68", "12", "0", String::new());
        match what {
            "a thousand digits" => count = digits,
            "2^62 in a buffer view" => (count, view) = ("3".into(), big),
            "2^62 in a buffer" => (count, buffer) = ("3".into(), big),
            "2^62 as a stride" => (count, stride) = ("3".into(), big),
            "2^62 as an offset" => (count, offset) = ("3".into(), big),
            "2^62 in a sparse accessor" => {
                count = "3".into();
                sparse = format!(
                    ",\"sparse\":{{\"count\":{big},\"indices\":{{\"bufferView\":0,\"componentType\":5125}},\"values\":{{\"bufferView\":0}}}}"
                );
            }
            _ => {}
        }
        all.push(build(&format!("glTF with a count of {what}"), "x.gltf", move || {
            gltf(&format!("{ONE_MESH},\"accessors\":[{{\"bufferView\":0,\"byteOffset\":{offset},\"componentType\":5126,\"type\":\"VEC3\",\"count\":{count}{sparse}}}],\"bufferViews\":[{{\"buffer\":0,\"byteLength\":{view},\"byteStride\":{stride}}}],\"buffers\":[{{\"byteLength\":{buffer},\"uri\":\"data:;base64,{}\"}}]", "A".repeat(92)))
        }));
    }
    all.push(build("glTF of 2^30 vertices without a buffer view", "x.gltf", || {
        gltf(&format!(
            "{ONE_MESH},\"accessors\":[{{\"componentType\":5126,\"type\":\"VEC3\",\"count\":1073741824}}]"
        ))
    }));
    all.push(build("glTF of 2^26 vertices without a buffer view", "x.gltf", || {
        gltf(&format!(
            "{ONE_MESH},\"accessors\":[{{\"componentType\":5126,\"type\":\"VEC3\",\"count\":67108864}}]"
        ))
    }));
    for (what, open, close) in [("lists", "[", "]"), ("objects", "{\"a\":", "}")] {
        all.push(build(&format!("glTF of 200,000 nested {what}"), "x.gltf", move || {
            gltf(&format!("{ONE_MESH},\"extras\":{}1{}", open.repeat(200_000), close.repeat(200_000)))
        }));
    }
    all.push(build("glTF of ten million brackets", "x.gltf", || b"[".repeat(10 << 20)));
    all.push(build("glTF with ten million values", "x.gltf", || {
        gltf(&format!("\"extras\":[{}0]", "0,".repeat(10_000_000)))
    }));
    all.push(build("glTF with a chain of 200,000 nodes", "x.gltf", || {
        let nodes: Vec<String> = (0..200_000).map(|n| format!("{{\"children\":[{}]}}", n + 1)).collect();
        gltf(&format!("\"nodes\":[{},{{}}]", nodes.join(",")))
    }));
    all.push(build("glTF with 2^60 paths through its nodes", "x.gltf", || {
        let nodes: Vec<String> = (0..60).map(|n| format!("{{\"children\":[{0},{0}]}}", n + 1)).collect();
        gltf(&format!("\"nodes\":[{},{{\"mesh\":0}}],\"meshes\":[{{\"primitives\":[{{\"attributes\":{{\"POSITION\":0}}}}]}}],\"accessors\":[{{\"componentType\":5126,\"type\":\"VEC3\",\"count\":3}}]", nodes.join(",")))
    }));
    all.push(build("glTF whose node is its own child", "x.gltf", || gltf("\"nodes\":[{\"children\":[0]}]")));
    all.push(build("glTF with 100,000 instances of a mesh", "x.gltf", || {
        let nodes = vec!["{\"mesh\":0}"; 100_000].join(",");
        let roots: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
        format!("{{\"asset\":{{\"version\":\"2.0\"}},\"scene\":0,\"scenes\":[{{\"nodes\":[{}]}}],\"nodes\":[{nodes}],\"meshes\":[{{\"primitives\":[{{\"attributes\":{{\"POSITION\":0}}}}]}}],\"accessors\":[{{\"componentType\":5126,\"type\":\"VEC3\",\"count\":3000000}}]}}", roots.join(",")).into_bytes()
    }));
    all.push(build("glTF with meshopt compression and a count of 2^62", "x.gltf", move || {
        gltf(&format!("{ONE_MESH},\"accessors\":[{{\"bufferView\":0,\"componentType\":5126,\"type\":\"VEC3\",\"count\":3}}],\"bufferViews\":[{{\"buffer\":0,\"byteLength\":36,\"extensions\":{{\"EXT_meshopt_compression\":{{\"buffer\":0,\"byteLength\":16,\"byteStride\":12,\"count\":{big},\"mode\":\"ATTRIBUTES\"}}}}}}],\"buffers\":[{{\"byteLength\":36,\"uri\":\"data:;base64,{}\"}}],\"extensionsRequired\":[\"EXT_meshopt_compression\"],\"extensionsUsed\":[\"EXT_meshopt_compression\"]", "A".repeat(48)))
    }));
    all.push(build("GLB with a declared length of 4 GB", "x.glb", || {
        b"glTF\x02\0\0\0\xff\xff\xff\xff\xff\xff\xff\xffJSON{}".to_vec()
    }));
    all.push(build("OBJ with an index of 2^62", "x.obj", || {
        b"v 0 0 0\nf 4611686018427387904 1 1\n".to_vec()
    }));
    all.push(build("OBJ with an index of minus 2^62", "x.obj", || {
        b"v 0 0 0\nf -4611686018427387904 1 1\n".to_vec()
    }));
    let mut long = build("OBJ of one line of 20 MB", "x.obj", || {
        [b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n#".to_vec(), b"x".repeat(20 << 20)].concat()
    });
    long.rejected = false;
    all.push(long);
    let mut fan = build("OBJ with a face of 100,000 corners", "x.obj", || {
        [b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf".to_vec(), b" 1 2 3".repeat(33_333)].concat()
    });
    fan.rejected = false;
    all.push(fan);
}

fn content(pattern: &str) -> Files {
    one("pak.toml", format!("[content]\n[[content.group]]\nassets = ['{pattern}']\n"))
}

fn aliases() -> String {
    let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..30 {
        let before = vec![format!("*a{}", n - 1); 9].join(",");
        text += &format!("a{n}: &a{n} [{before}]\n");
    }
    text
}

fn texts(all: &mut Vec<Bomb>) {
    let config = |name: &str, text: fn() -> String| {
        let files = Box::new(move || one("assetc.yml", text()));
        Bomb { name: name.to_owned(), tool: "assetc", runs: vec![vec!["-q"]], files, rejected: true }
    };
    all.push(config("configuration with YAML alias expansion", || format!("{}default: *a29\n", aliases())));
    all.push(config("configuration of 200,000 nested lists", || format!("default: {}", "[".repeat(200_000))));
    all.push(config("configuration of 200,000 nested maps", || {
        format!("default: {}", "{a: ".repeat(200_000))
    }));
    all.push(config("configuration of 200,000 nested dashes", || {
        format!("default:\n  {}x\n", "- ".repeat(200_000))
    }));
    all.push(config("configuration of 100 MB", || "# x\n".repeat(25 << 20)));
    all.push(config("configuration with a pattern that backtracks", || {
        format!(
            "default: {{rules: [{{match: \"{}\", texture: {{compress: false}}}}]}}\n",
            "*a".repeat(200_000)
        )
    }));
    all.push(build("material with YAML alias expansion", "x.mat", || {
        format!("{}name: *a29\n", aliases()).into_bytes()
    }));
    all.push(build("material of 200,000 nested lists", "x.mat", || {
        format!("textures: {}", "[".repeat(200_000)).into_bytes()
    }));
    let nested: [(&str, Text); 6] = [
        ("200,000 nested lists", || format!("[content]\nx = {}", "[".repeat(200_000))),
        ("200,000 nested tables", || format!("[content]\nx = {}", "{a=".repeat(200_000))),
        ("a key of 200,000 parts", || format!("[content]\n{}a = 1\n", "a.".repeat(200_000))),
        ("a table of 200,000 parts", || format!("[{}a]\n", "a.".repeat(200_000))),
        ("100,000 groups", || {
            "[content]\n".to_owned() + &"[[content.group]]\nassets = ['x']\n".repeat(100_000)
        }),
        ("a pattern of 100,000 stars", || {
            format!("[content]\n[[content.group]]\nassets = ['{}']\n", "**/".repeat(100_000))
        }),
    ];
    for (what, text) in nested {
        all.push(bake(&format!("content file of {what}"), move || one("pak.toml", text())));
        let mut description = bake(&format!("description of {what}"), move || {
            let mut files = content("x.toml");
            files.insert(
                "x.toml".into(),
                text().replace("[content]", "[material]").replace("content.", "material.").into_bytes(),
            );
            files
        });
        // Unknown fields of a description are ignored with a warning.
        description.rejected = !text().contains("content.group");
        all.push(description);
    }
    all.push(bake("scene of a million references", || {
        let mut files = content("x.toml");
        files.insert(
            "x.toml".into(),
            ("[scene]\n".to_owned() + &"[[scene.ref]]\nid = 'a'\nmesh = 'none.glb'\n".repeat(100_000)).into(),
        );
        files
    }));
}

const MANY: usize = 512 << 20;

/// Returns zeros, compressed with a codec.
fn packed(codec: Codec, len: usize) -> Vec<u8> {
    match codec {
        Codec::None => vec![0; 1 << 10],
        Codec::Snap => snap::raw::Encoder::new().compress_vec(&vec![0; len]).unwrap(),
        Codec::Lz4 => lz4_flex::block::compress(&vec![0; len]),
        Codec::Zstd => zstd_zeros(len as u64),
        Codec::Brotli => {
            let mut out = Vec::new();
            let mut writer = brotli::CompressorWriter::new(&mut out, 1 << 16, 1, 22);
            let zeros = vec![0; 1 << 20];
            (0..len >> 20).for_each(|_| writer.write_all(&zeros).unwrap());
            drop(writer);
            out
        }
    }
}

fn zstd_zeros(len: u64) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..len >> 20).for_each(|_| encoder.write_all(&zeros).unwrap());
    encoder.finish().unwrap()
}

fn paks(all: &mut Vec<Bomb>) {
    let bomb = |name: String, rejected: bool, make: Box<dyn Fn() -> Vec<u8> + Send + Sync>| {
        let runs =
            vec![vec!["verify", "x.pak"], vec!["info", "x.pak", "x"], vec!["extract", "x.pak", "out", "x"]];
        let runs = if rejected { vec![runs[0].clone(), runs[2].clone()] } else { runs };
        Bomb { name, tool: "pak", runs, files: Box::new(move || one("x.pak", make())), rejected }
    };
    for codec in [Codec::Snap, Codec::Lz4, Codec::Zstd, Codec::Brotli] {
        let name = codec.name();
        all.push(bomb(
            format!("pak: {name} block of 512 MB declared as 1 MB"),
            true,
            Box::new(move || pak("x", codec, 1 << 20, 20, &[packed(codec, MANY)])),
        ));
        all.push(bomb(
            format!("pak: {name} block of 512 MB declared as such"),
            true,
            Box::new(move || pak("x", codec, MANY as u64, 30, &[packed(codec, MANY)])),
        ));
        all.push(bomb(
            format!("pak: {name} blob of 2^62 bytes"),
            true,
            Box::new(move || pak("x", codec, 1 << 62, 20, &[packed(codec, 1 << 20)])),
        ));
        all.push(bomb(
            format!("pak: {name} blob of 2^40 bytes in one block"),
            true,
            Box::new(move || pak("x", codec, 1 << 40, 40, &[packed(codec, 1 << 20)])),
        ));
        let mut honest = bomb(
            format!("pak: {name} blob of 1 GB in valid blocks"),
            false,
            Box::new(move || pak("x", codec, 1 << 30, 20, &vec![packed(codec, 1 << 20); 1 << 10])),
        );
        honest.runs.truncate(2);
        all.push(honest);
    }
}

/// A file of the output directory, which `check` and `info` have to reject.
fn looked(name: &str, path: &'static str, make: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Bomb {
    let runs = vec![vec!["check"], vec!["info", "-v"]];
    let files = Box::new(move || one(path, make()));
    Bomb { name: name.to_owned(), tool: "assetc", runs, files, rejected: true }
}

fn outputs(all: &mut Vec<Bomb>) {
    all.push(looked("output: KTX2 with a mip level of 16 GB", "runtime/x.ktx2", || {
        ktx2(65536, 65536, 4 << 30)
    }));
    all.push(looked("output: KTX2 with a wrong mip level size", "runtime/x.ktx2", || ktx2(4, 4, 2 << 30)));
    all.push(looked("output: manifest of 2^32-1 entries", "runtime/assets.hman", || {
        b"HMAN\x01\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0\0".to_vec()
    }));
    all.push(looked("output: mesh of 2^32-1 chunks", "runtime/x.hmesh", || {
        [&b"HMSH\x02\0\0\0\xff\xff\xff\xff"[..], &[0; 64]].concat()
    }));
    all.push(looked("output: materials of 2^32-1 rows", "runtime/x.hmat", || {
        [&b"HMAT\x01\0\0\0\xff\xff\xff\xff"[..], &[0; 64]].concat()
    }));
    all.push(looked("output: animation of 2^32-1 clips", "runtime/x.hanim", || {
        [&b"HANM\x01\0\0\0\xff\xff\xff\xff"[..], &[0; 64]].concat()
    }));
    let mut pack = looked("pack of 2^32-1 entries", "x.hpack", || {
        [&b"HPAK\x02\0\0\0\xff\xff\xff\xff\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\x3f"[..], &[0; 64]].concat()
    });
    pack.runs = vec![vec!["check", "x.hpack"], vec!["info", "x.hpack"], vec!["pack", "info", "x.hpack"]];
    all.push(pack);
    for (content, declared) in [("2 GB", 2 << 30), ("2^62 bytes", 1 << 62), ("1 MB, but has 2 GB", 1 << 20)] {
        let name = format!("compressed pack that declares {content}");
        let mut pack = looked(&name, "x.hpack", move || compressed_pack(declared));
        pack.runs = vec![vec!["check", "x.hpack"], vec!["extract", "x.hpack", "-o", "out"]];
        all.push(pack);
    }
    let mut journal = looked("journal with a record of 4 GB", "runtime/.assetc-cache", || {
        [&b"KILNJRNL\x03\0\0\0\0\0\0\0\xff\xff\xff\xff"[..], &[0; 64]].concat()
    });
    journal.rejected = false;
    journal.runs.push(vec!["-q"]);
    all.push(journal);
}

/// Returns a pack of version 3 with one file: 2 GB of zeros, with this content size in the table of contents.
fn compressed_pack(content_size: u64) -> Vec<u8> {
    let frame = zstd_zeros(2 << 30);
    let mut out = b"HPAK\x03\0\0\0\x01\0\0\0\0\0\0\0\x20\0\0\0\0\0\0\0".to_vec();
    for value in [64, frame.len() as u64, content_size] {
        out.extend(value.to_le_bytes());
    }
    // A shader, so that `check` has to read it.
    out.extend(b"\x06\x05\0x.spv");
    out.resize(64, 0);
    out.extend(frame);
    out
}

/// Returns a KTX2 file of one uncompressed mip level of zeros with Zstandard supercompression, by the specification.
fn ktx2(width: u32, height: u32, unpacked: u64) -> Vec<u8> {
    let level = zstd_zeros(unpacked);
    let mut out = b"\xabKTX 20\xbb\r\n\x1a\n".to_vec();
    // R8G8B8A8_UNORM, type size, width and height, no depth, no layers, one face, one level, Zstandard.
    for value in [37, 1, width, height, 0, 0, 1, 1, 2] {
        out.extend(value.to_le_bytes());
    }
    let dfd = [92_u32, 0, 0x0058_0002, 0x0001_0101, 0, 4, 0];
    let mut samples = Vec::new();
    for channel in [0_u32, 1, 2, 15] {
        samples.extend([(channel % 4 * 8) | 7 << 16 | channel << 24, 0, 0, 255]);
    }
    for value in [104_u32, 92, 0, 0] {
        out.extend(value.to_le_bytes());
    }
    out.extend([0; 16]);
    for value in [196, level.len() as u64, unpacked] {
        out.extend(value.to_le_bytes());
    }
    dfd.iter().chain(&samples).for_each(|value| out.extend(value.to_le_bytes()));
    out.resize(196, 0);
    out.extend(level);
    out
}

fn unity(all: &mut Vec<Bomb>) {
    let bomb = |name: &str, path: &'static str, make: fn() -> Vec<u8>| {
        let runs = vec![vec!["bake"], vec!["list", "--no-refresh"], vec!["check"]];
        let files = Box::new(move || one(path, make()));
        Bomb { name: name.to_owned(), tool: "unity", runs, files, rejected: false }
    };
    all.push(bomb("Unity: meta file with YAML alias expansion", "Assets/Art/Flag.png.meta", || {
        aliases().into_bytes()
    }));
    all.push(bomb("Unity: meta file of 200,000 nested lists", "Assets/Art/Flag.png.meta", || {
        format!("guid: {}", "[".repeat(200_000)).into_bytes()
    }));
    all.push(bomb("Unity: prefab of 200,000 nested maps", "Assets/Pole.prefab", || {
        format!("%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: {}", "{a: ".repeat(200_000)).into_bytes()
    }));
    all.push(bomb("Unity: prefab 100,000 levels deep", "Assets/Pole.prefab", || {
        let mut text = "%YAML 1.1\n--- !u!1 &100\nGameObject:\n".to_owned();
        (1..3000).for_each(|n| text += &format!("{}a:\n", " ".repeat(n)));
        text.into_bytes()
    }));
    all.push(bomb("Unity: prefab of a million documents", "Assets/Pole.prefab", || {
        "--- !u!1 &1\nGameObject:\n".repeat(1_000_000).into_bytes()
    }));
    all.push(bomb("Unity: prefab of one line of 64 MB", "Assets/Pole.prefab", || {
        [b"%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: ".to_vec(), b"x".repeat(64 << 20)].concat()
    }));
    all.push(bomb("Unity: database of 2^62 entries", "Library/unity-assetdb/asset-db.bin", || {
        [&b"UADB"[..], &[0xff; 200]].concat()
    }));
    all.push(bomb("Unity: FBX with an array of 4 GB", "Assets/Art/Flag.png", || {
        let mut bytes = b"Kaydara FBX Binary  \0\x1a\0\xe8\x1c\0\0".to_vec();
        bytes.extend([0xff, 0xff, 0xff, 0x7f, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 1, b'x', b'd']);
        bytes.extend([0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f]);
        bytes.extend(zlib_zeros(1 << 30));
        bytes
    }));
    let mut model = bomb("Unity: FBX with deeply nested nodes", "Assets/m.fbx", || {
        let mut bytes = b"Kaydara FBX Binary  \0\x1a\0\xe8\x1c\0\0".to_vec();
        let head = |end: u32| [&end.to_le_bytes()[..], &[0; 8], &[1, b'x']].concat();
        (0..200_000).for_each(|_| bytes.extend(head(200_000 * 14 + 27)));
        bytes
    });
    model.rejected = false;
    all.push(model);
}
