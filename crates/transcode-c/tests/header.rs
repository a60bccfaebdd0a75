//! The header and the example, compiled as C99 and C++17 without warnings and linked with the library; the example loads
//! what the Rust library loads.

use std::path::{Path, PathBuf};
use std::process::Command;

use kiln_format::ktx2::{Channels, Desc, Payload, Shape, Supercompression, Transfer, write};
use kiln_transcode::Target;
use kiln_transcode::ktx2::{Texture, load_level};

/// Returns the static library, which is built before this test and beside its executable.
fn library() -> PathBuf {
    let executable = std::env::current_exe().expect("the path of this test");
    executable.with_file_name("libkiln_transcode_c.a")
}

fn compile(compiler: &[&str], library: &Path, out: &str) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(out);
    let done = Command::new(compiler[0])
        .args(&compiler[1..])
        .args(["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
        .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/load_level.c"))
        // After the source, whose language was given, the library is a library again.
        .args(["-x", "none"])
        .arg(library)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&out)
        .output()
        .expect("a C and a C++ compiler");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    out
}

/// A texture with a full mip chain of solid-colour blocks.
fn texture(supercompression: Supercompression) -> Vec<u8> {
    let shape = Shape::flat(20, 12);
    let payload = Payload::Uastc { channels: Channels::Rgba };
    let desc =
        Desc { shape, payload, transfer: Transfer::Srgb, supercompression, writer: "test 1", oriented: true };
    let levels: Vec<Vec<u8>> = (0..shape.max_levels())
        .map(|level| {
            let count = payload.level_len(&shape, level).unwrap() / 16;
            let colour = |i: u64| (i * 0x0101_3377 + u64::from(level)) as u32;
            let blocks = (0..count).flat_map(|i| (u128::from(colour(i)) << 5 | 0x17).to_le_bytes());
            match supercompression {
                Supercompression::None => blocks.collect(),
                Supercompression::Zstd => zstd::bulk::compress(&blocks.collect::<Vec<_>>(), 3).unwrap(),
            }
        })
        .collect();
    write(&desc, &levels.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
}

fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(2_166_136_261, |sum, &byte| (sum ^ u32::from(byte)).wrapping_mul(16_777_619))
}

#[test]
fn example_in_c_and_cpp_loads_what_rust_loads() {
    let library = library();
    let programs = [
        compile(&["cc", "-std=c99", "-x", "c"], &library, "load_level_c"),
        compile(&["c++", "-std=c++17", "-x", "c++"], &library, "load_level_cpp"),
    ];
    for supercompression in [Supercompression::None, Supercompression::Zstd] {
        let file = texture(supercompression);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("texture.ktx2");
        std::fs::write(&path, &file).unwrap();
        let mut expected = String::new();
        for level in Texture::read(&file).unwrap().available_levels().rev() {
            let loaded = load_level(&file, level, Target::Bc7).unwrap();
            expected += &format!(
                "mip level {level}: {}x{}, VkFormat 146, {} bytes, checksum {:08x}\n",
                loaded.layout.width,
                loaded.layout.height,
                loaded.bytes.len(),
                checksum(&loaded.bytes),
            );
        }
        for program in &programs {
            let run = Command::new(program).arg(&path).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&run.stdout), expected);
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        }
        // Every prefix is a status code, not a crash.
        for len in [0, 79, 80, 200, file.len() - 1] {
            std::fs::write(&path, &file[..len]).unwrap();
            for program in &programs {
                let run = Command::new(program).arg(&path).output().unwrap();
                assert_eq!(run.status.code(), Some(if len == 0 { 2 } else { 1 }), "{len} bytes");
            }
        }
    }
}
