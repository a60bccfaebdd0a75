//! Fuzz targets: one function for each reader and importer of Kiln.
//!
//! A target takes arbitrary bytes and must return, with an error or with a value whose every part can be accessed: no
//! panic, no hang, no excessive allocation. The libFuzzer executables in `fuzz/` drive the targets; `tests/replay.rs` runs
//! them over the corpus, which has a few valid files of each kind and every input that ever broke a target, and over
//! seeded mutations of it.
//!
//! Checksums detect accidents, not attacks. Where a format has checksums, the target also runs with recomputed ones, so
//! that the code behind them is fuzzed.
//!
//! | target | covers |
//! |---|---|
//! | `hmesh`, `hmat`, `hmatx`, `hman`, `hanim`, `hscn`, `hfont`, `hpack`, `ktx2`, `spv`, `glb` | the reader of one runtime format: verify, describe, dump, facts and cross-reference checks; verified files must be readable; packs also: every payload decompressed |
//! | `transcode` | the transcoder: mip levels of a KTX2 file or of a prefix of it, and the bytes as blocks, transcoded to and decoded from every format |
//! | `pak` | opening a pak and exporting its assets, and its header and index without checksums: every asset, reference, material and key |
//! | `pak-assets` | the payloads in a pak after decompression: mesh, animation, bitmap, scene, bitmap font, chosen by the first byte |
//! | `pak-shipping` | the operations of a delta patch of paks, and the signature file of a pak |
//! | `pak-sound` | the headers of Ogg, MP3, WAV and FLAC files |
//! | `asset-db` | the Unity asset database, decoded and encoded again |
//! | `asset-db-cache` | the state file of the Unity index: all queries on it, and the next bake |
//! | `journal` | the build journal: reading, appending, compacting, and two builds on top of it |
//! | `cache-server` | records of an untrusted cache server with valid checksums: two builds with them |
//! | `gltf` | the glTF and GLB importer |
//! | `obj` | the OBJ importer, with an MTL library after a line of `%%` |
//! | `fbx` | the FBX importer (feature `fbx`) |
//! | `cube` | the importer of color LUTs in the `.cube` format |
//! | `image` | the image importers, with the extension chosen by the first byte |
//! | `dds` | the reader of DDS textures: levels and decoded base level |
//! | `hdr` | the HDR image importers, Radiance and OpenEXR: probe and import |
//! | `font` | the font compiler |
//! | `unity-meta` | the parser of `.meta` files, and the reference scanner |
//! | `unity-yaml` | a Unity project with this asset (and its `.meta` after a line of `%%`): bake and all queries |
//! | `assetc-yml` | the parser of `assetc.yml`, and the settings of a few paths with each preset |
//! | `mat` | the parser and recipe of `.mat` files |
//! | `tex` | the parser and recipe of `.tex` files |
//! | `pak-toml` | a content file or a description of `pak`: a whole bake |
//! | `wgsl` | WGSL sources: entry points, and compilation of each stage |
//! | `glsl`, `hlsl` | GLSL and HLSL sources through glslang, with an include file after a line of `%%` (feature `glsl`) |
//! | `shader-responses` | the client of shader workers, against arbitrary responses |

mod cache_server;
mod checksums;
mod importers;
mod in_memory_build;
mod projects;
mod readers;
mod shaders;
mod transcode;
mod unity;

/// A fuzz target: one reader or importer.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the target, and of its directory in the corpus.
    pub name: &'static str,
    /// Runs the target on an input. Panics if an invariant is violated.
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($(#[$when:meta])? $name:literal $run:expr;)*) => {
        /// All targets that are compiled in.
        pub const TARGETS: &[Target] = &[$($(#[$when])? Target { name: $name, run: $run },)*];
    };
}

targets! {
    "hmesh" |bytes| readers::format("hmesh", bytes);
    "hmat" |bytes| readers::format("hmat", bytes);
    "hmatx" |bytes| readers::format("hmatx", bytes);
    "hman" |bytes| readers::format("hman", bytes);
    "hanim" |bytes| readers::format("hanim", bytes);
    "hscn" |bytes| readers::format("hscn", bytes);
    "hfont" |bytes| readers::format("hfont", bytes);
    "hpack" readers::hpack;
    "ktx2" |bytes| readers::format("ktx2", bytes);
    "spv" |bytes| readers::format("spv", bytes);
    "glb" |bytes| readers::format("glb", bytes);
    "transcode" transcode::transcode;
    "pak" readers::pak;
    "pak-assets" readers::pak_assets;
    "pak-shipping" readers::pak_shipping;
    "pak-sound" readers::pak_sound;
    "asset-db" readers::asset_db;
    "asset-db-cache" unity::asset_db_cache;
    "journal" readers::journal;
    "cache-server" cache_server::cache_server;
    "gltf" importers::gltf;
    "obj" importers::obj;
    #[cfg(feature = "fbx")] "fbx" importers::fbx;
    "cube" importers::cube;
    "image" importers::image;
    "dds" importers::dds;
    "hdr" importers::hdr;
    "font" importers::font;
    "unity-meta" importers::unity_meta;
    "unity-yaml" unity::unity_yaml;
    "assetc-yml" importers::assetc_yml;
    "mat" importers::mat;
    "tex" importers::tex;
    "pak-toml" projects::pak_toml;
    "wgsl" shaders::wgsl;
    #[cfg(feature = "glsl")] "glsl" |bytes| shaders::glslang(bytes, kiln_shader::Language::Glsl);
    #[cfg(feature = "glsl")] "hlsl" |bytes| shaders::glslang(bytes, kiln_shader::Language::Hlsl);
    "shader-responses" shaders::responses;
}

/// Splits an input at a line of `%%` into two files.
fn split_input(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    let at = bytes.windows(4).position(|four| four == b"\n%%\n");
    at.map_or((bytes, None), |at| (&bytes[..at], Some(&bytes[at + 4..])))
}

/// Returns the target with this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}
