//! Small valid files with large decoded sizes. The default limits admit an image of 16384² pixels, whose peak memory stays
//! near its decoded size; lower limits reject the same file before memory is allocated.

use super::generators::{png, zlib_of};
use crate::faults::case::Case;
use crate::faults::files::{self, Files};
use crate::faults::resource_usage::measure;
use crate::faults::tool;
use kiln_format::ktx2::{self, Channels, Desc, Payload, Shape, Supercompression, Transfer};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The memory of the executable and its threads, in KB.
const PROGRAM_KB: u64 = 64 << 10;

/// The side of the largest image that the default limits admit, in pixels.
const SIDE: u32 = 16384;

/// A valid file.
struct ValidFile {
    name: &'static str,
    files: fn() -> Files,
    /// The decoded size, if the default limits admit it.
    decoded_kb: Option<u64>,
    /// The flags that reject the file, the code of the error, and the limit that it names.
    rejection: (&'static [&'static str], &'static str, &'static str),
}

fn all() -> [ValidFile; 6] {
    let pixels = |flags: &'static [&'static str]| (flags, "image-too-large", "--max-pixels");
    let memory = |flags: &'static [&'static str]| (flags, "memory-limit", "--max-memory");
    let rgba = (u64::from(SIDE) * u64::from(SIDE) * 4) >> 10;
    [
        ValidFile {
            name: "WebP of 32 bytes, 16383 by 16383",
            files: || Files::from([("assets/x.webp".into(), webp(16383))]),
            decoded_kb: Some(rgba),
            rejection: pixels(&["--max-pixels", "1000000"]),
        },
        ValidFile {
            name: "PNG of 33 KB, 16384 by 16384",
            files: || {
                let data = zlib_of(0, u64::from(SIDE) * u64::from(SIDE / 8 + 1));
                Files::from([("assets/x.png".into(), png(SIDE, SIDE, 1, 0, &[(b"IDAT", data)]))])
            },
            decoded_kb: Some(rgba),
            rejection: memory(&["--max-memory", "1G"]),
        },
        ValidFile {
            name: "KTX2 of 25 KB, 16384 by 16384",
            files: || {
                Files::from([
                    ("assets/x.gltf".into(), textured("x.ktx2")),
                    ("assets/x.ktx2".into(), texture(SIDE)),
                ])
            },
            decoded_kb: Some(rgba),
            rejection: memory(&["--max-memory", "512M"]),
        },
        ValidFile {
            name: "EXR of 0.5 MB, 8192 by 8192",
            files: || Files::from([("assets/x.exr".into(), exr(8192))]),
            decoded_kb: Some((8192 * 8192 * 16) >> 10),
            rejection: memory(&["--max-memory", "1G"]),
        },
        ValidFile {
            name: "glTF of 500 bytes, a million vertices",
            files: || Files::from([("assets/x.gltf".into(), zeros(999_999))]),
            decoded_kb: Some((1_000_000 * (24 + 4 + 160 + 60)) >> 10),
            rejection: memory(&["--max-memory", "16M"]),
        },
        ValidFile {
            name: "glTF of 1 KB, a million instances",
            files: || Files::from([("assets/x.gltf".into(), instances(1_000_000))]),
            decoded_kb: None,
            rejection: memory(&[]),
        },
    ]
}

/// Returns all cases: each file admitted by the default limits, and rejected by lower ones.
pub(super) fn cases(assetc: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for file in all() {
        let (name, files, program) = (file.name, file.files, PathBuf::from(assetc));
        if let Some(decoded) = file.decoded_kb {
            let program = program.clone();
            cases.push(Case::new(format!("{name}: admitted"), move |dir| {
                let most = PROGRAM_KB + decoded * 3 / 2;
                let said = build(&program, dir, &files(), &[], 0, most);
                assert!(said.is_empty(), "{said}");
            }));
        }
        let (flags, code, flag) = file.rejection;
        cases.push(Case::new(format!("{name}: refused"), move |dir| {
            let said = build(&program, dir, &files(), flags, 1, PROGRAM_KB);
            assert!(said.contains(code) && said.contains(flag), "{said}");
        }));
    }
    cases
}

/// Builds a project of these files within a memory budget; returns the output of the tool.
fn build(program: &Path, dir: &Path, sources: &Files, flags: &[&str], code: i32, most_kb: u64) -> String {
    let dir = &dir.join("p");
    for (path, bytes) in sources {
        files::write(&dir.join(path), bytes);
    }
    let args: Vec<&str> = ["-q"].iter().chain(flags).copied().collect();
    let (ran, peak, _) = measure(&tool::command(program, dir, &args), dir);
    let ran = ran.expect(code);
    assert!(
        peak <= most_kb,
        "{args:?}: peak of {} MB, expected at most {} MB: {ran:#?}",
        peak >> 10,
        most_kb >> 10
    );
    ran.output()
}

/// Returns a lossless solid-color WebP: every prefix code has one symbol, so that a texel takes no bits.
fn webp(side: u32) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u64, 0_u32);
    let mut put = |value: u64, n: u32| {
        bits |= value << count;
        count += n;
        while count >= 8 {
            bytes.push(bits as u8);
            bits >>= 8;
            count -= 8;
        }
    };
    for (value, n) in [(0x2f, 8), (u64::from(side - 1), 14), (u64::from(side - 1), 14), (1, 1), (0, 3)] {
        put(value, n);
    }
    // No transform, no color cache, one prefix code group.
    put(0, 3);
    for symbol in [40, 50, 60, 255, 2] {
        // A simple prefix code of one 8-bit symbol.
        put(0b101, 3);
        put(symbol, 8);
    }
    put(0, 8);
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    let body = [b"WEBPVP8L", &(bytes.len() as u32).to_le_bytes()[..], &bytes].concat();
    [b"RIFF", &(body.len() as u32).to_le_bytes()[..], &body].concat()
}

/// Returns a solid-color UASTC texture with supercompression.
fn texture(side: u32) -> Vec<u8> {
    // UASTC mode 8: solid color.
    let block = [0x17, 0, 0, 0xe0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let len = u64::from(side / 4).pow(2) * 16;
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 6).unwrap();
    encoder.set_pledged_src_size(Some(len)).unwrap();
    let piece = block.repeat(1 << 16);
    (0..len / piece.len() as u64).for_each(|_| encoder.write_all(&piece).unwrap());
    let level = encoder.finish().unwrap();
    let desc = Desc {
        shape: Shape { width: side, height: side, depth: 0, layer_count: 0, face_count: 1 },
        payload: Payload::Uastc { channels: Channels::Rgb },
        transfer: Transfer::Srgb,
        supercompression: Supercompression::Zstd,
        writer: "proof",
        oriented: true,
    };
    ktx2::write(&desc, &[&level]).unwrap()
}

/// Returns a glTF triangle with an external texture.
fn textured(image: &str) -> Vec<u8> {
    format!(
        "{{\"asset\":{{\"version\":\"2.0\"}},\"scene\":0,\"scenes\":[{{\"nodes\":[0]}}],\"nodes\":[{{\"mesh\":0}}],\
         \"extensionsUsed\":[\"KHR_texture_basisu\"],\"extensionsRequired\":[\"KHR_texture_basisu\"],\
         \"meshes\":[{{\"primitives\":[{{\"attributes\":{{\"POSITION\":0,\"TEXCOORD_0\":1}},\"material\":0}}]}}],\
         \"materials\":[{{\"pbrMetallicRoughness\":{{\"baseColorTexture\":{{\"index\":0}}}}}}],\
         \"textures\":[{{\"extensions\":{{\"KHR_texture_basisu\":{{\"source\":0}}}}}}],\
         \"images\":[{{\"uri\":\"{image}\"}}],\
         \"accessors\":[{POSITIONS},{{\"componentType\":5126,\"type\":\"VEC2\",\"count\":3}}],{BUFFER}}}"
    )
    .into_bytes()
}

const POSITIONS: &str =
    "{\"bufferView\":0,\"componentType\":5126,\"type\":\"VEC3\",\"count\":3,\"min\":[0,0,0],\"max\":[1,1,0]}";

/// The positions 0 0 0, 1 0 0 and 0 1 0.
const BUFFER: &str = "\"bufferViews\":[{\"buffer\":0,\"byteLength\":36}],\"buffers\":[{\"byteLength\":36,\"uri\":\"data:;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA\"}]";

/// Returns a glTF file with an accessor without a buffer view, whose values are zeros.
fn zeros(count: u32) -> Vec<u8> {
    format!(
        "{{\"asset\":{{\"version\":\"2.0\"}},\"scene\":0,\"scenes\":[{{\"nodes\":[0]}}],\"nodes\":[{{\"mesh\":0}}],\
         \"meshes\":[{{\"primitives\":[{{\"attributes\":{{\"POSITION\":0,\"NORMAL\":0}}}}]}}],\
         \"accessors\":[{{\"componentType\":5126,\"type\":\"VEC3\",\"count\":{count},\"min\":[0,0,0],\"max\":[0,0,0]}}]}}"
    )
    .into_bytes()
}

/// Returns a glTF file with `count` equal instances of a triangle.
fn instances(count: u32) -> Vec<u8> {
    format!(
        "{{\"asset\":{{\"version\":\"2.0\"}},\"scene\":0,\"scenes\":[{{\"nodes\":[0]}}],\
         \"extensionsUsed\":[\"EXT_mesh_gpu_instancing\"],\
         \"nodes\":[{{\"mesh\":0,\"extensions\":{{\"EXT_mesh_gpu_instancing\":{{\"attributes\":{{\"TRANSLATION\":1}}}}}}}}],\
         \"meshes\":[{{\"primitives\":[{{\"attributes\":{{\"POSITION\":0}}}}]}}],\
         \"accessors\":[{POSITIONS},{{\"componentType\":5126,\"type\":\"VEC3\",\"count\":{count}}}],{BUFFER}}}"
    )
    .into_bytes()
}

/// Returns an OpenEXR image of half floats with ZIP compression, in blocks of 16 rows.
fn exr(side: u32) -> Vec<u8> {
    let mut head = b"\x76\x2f\x31\x01\x02\0\0\0".to_vec();
    let mut attribute = |name: &str, kind: &str, value: &[u8]| {
        head.extend([name.as_bytes(), b"\0", kind.as_bytes(), b"\0"].concat());
        head.extend((value.len() as u32).to_le_bytes());
        head.extend(value);
    };
    let channel = |name: u8| [&[name, 0][..], &[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]].concat();
    attribute("channels", "chlist", &[b"ABGR".map(channel).concat(), vec![0]].concat());
    attribute("compression", "compression", &[3]);
    let window = [0, 0, side - 1, side - 1].map(u32::to_le_bytes).concat();
    attribute("dataWindow", "box2i", &window);
    attribute("displayWindow", "box2i", &window);
    attribute("lineOrder", "lineOrder", &[0]);
    attribute("pixelAspectRatio", "float", &1_f32.to_le_bytes());
    attribute("screenWindowCenter", "v2f", &[0; 8]);
    attribute("screenWindowWidth", "float", &1_f32.to_le_bytes());
    head.push(0);
    let blocks = u64::from(side / 16);
    // The predictor of OpenEXR decodes constant bytes of 128 to constant bytes.
    let data = zlib_of(0x80, u64::from(side) * 16 * 8);
    let start = head.len() as u64 + blocks * 8;
    let mut out = head;
    (0..blocks).for_each(|block| out.extend((start + block * (8 + data.len() as u64)).to_le_bytes()));
    for block in 0..side / 16 {
        out.extend((block * 16).to_le_bytes());
        out.extend((data.len() as u32).to_le_bytes());
        out.extend(&data);
    }
    out
}
