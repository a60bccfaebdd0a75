//! What no input may break: one function for each reader and importer of Kiln.
//!
//! Each takes any bytes and must come back, with an error or with something whose every part can be looked at. The
//! fuzzer (`fuzz/`) drives them; `tests/replay.rs` runs them over the corpus, which holds a few good files of each kind
//! and everything that ever broke one, and over seeded damage of it.

mod cooking;
mod projects;
mod readers;
mod seal;
mod shaders;
mod sources;
mod store;
mod unity;

/// A reader or importer under attack.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the fuzz target, and of its folder in the corpus.
    pub name: &'static str,
    /// Hands it the bytes.
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($(#[$when:meta])? $name:literal $run:expr;)*) => {
        /// All of them.
        pub const TARGETS: &[Target] = &[$($(#[$when])? Target { name: $name, run: $run },)*];
    };
}

targets! {
    "hmesh" |bytes| readers::format("hmesh", bytes);
    "hmat" |bytes| readers::format("hmat", bytes);
    "hman" |bytes| readers::format("hman", bytes);
    "hanim" |bytes| readers::format("hanim", bytes);
    "hfont" |bytes| readers::format("hfont", bytes);
    "hpack" |bytes| readers::format("hpack", bytes);
    "ktx2" |bytes| readers::format("ktx2", bytes);
    "spv" |bytes| readers::format("spv", bytes);
    "pak" readers::pak;
    "pak-assets" readers::pak_assets;
    "asset-db" readers::asset_db;
    "asset-db-cache" unity::asset_db_cache;
    "journal" readers::journal;
    "store" store::store;
    "gltf" sources::gltf;
    "obj" sources::obj;
    #[cfg(feature = "fbx")] "fbx" sources::fbx;
    "cube" sources::cube;
    "image" sources::image;
    "light" sources::light;
    "font" sources::font;
    "unity-meta" sources::unity_meta;
    "unity-yaml" unity::unity_yaml;
    "assetc-yml" sources::assetc_yml;
    "mat" sources::mat;
    "pak-toml" projects::pak_toml;
    "wgsl" shaders::wgsl;
    #[cfg(feature = "glsl")] "glsl" |bytes| shaders::glslang(bytes, kiln_shader::Language::Glsl);
    #[cfg(feature = "glsl")] "hlsl" |bytes| shaders::glslang(bytes, kiln_shader::Language::Hlsl);
    "shader-responses" shaders::responses;
}

/// What stands before a line of `%%`, and what after it: two files in one input.
fn halves(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    let at = bytes.windows(4).position(|four| four == b"\n%%\n");
    at.map_or((bytes, None), |at| (&bytes[..at], Some(&bytes[at + 4..])))
}

/// The target of this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}
