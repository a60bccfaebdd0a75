//! Asset references: the 64-bit hashes by which runtime files name one another.
//!
//! A reference is a text such as `models/chair/tex_0`; files store its FNV-1a 64 hash, taken over its bytes
//! with ASCII capitals lowered. Nothing else is normalised: slashes, dots and extensions count as they stand,
//! and so do letters outside ASCII. The functions are `const`, so that a game can hash names as it compiles.

/// What a file stores where it refers to nothing.
pub const NO_REF: u64 = 0;

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The hash that stands for the asset reference `text`.
pub const fn hash_asset_ref(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut hash = BASIS;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i].to_ascii_lowercase() as u64).wrapping_mul(PRIME);
        i += 1;
    }
    hash
}

/// The hash under which a manifest lists the runtime file `path`: that of the path, for a texture without its
/// `.ktx2`.
pub fn hash_runtime_path(path: &str) -> u64 {
    hash_asset_ref(path.strip_suffix(".ktx2").unwrap_or(path))
}

/// FNV-1a 64 over bytes as they are: a short name for content in dumps, not a checksum against malice.
pub const fn fnv1a_64(bytes: &[u8]) -> u64 {
    let mut hash = BASIS;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(PRIME);
        i += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_vectors() {
        for (text, hash) in [
            ("", 0xcbf29ce484222325),
            ("a", 0xaf63dc4c8601ec8c),
            ("court/tex_0", 0xad44c4a2970495b9),
            ("court/tex_1", 0xad44c3a297049406),
            ("models/chair/leather", 0x5593b4deb18216f7),
            ("models/chair/material_0", 0xbe1ae018fb5f8af0),
            ("models/boxtextured/tex_0", 0x532b2e53e4147531),
        ] {
            assert_eq!(hash_asset_ref(text), hash, "{text}");
            assert_eq!(fnv1a_64(text.as_bytes()), hash, "{text}");
        }
    }

    #[test]
    fn only_ascii_capitals_are_lowered() {
        assert_eq!(hash_asset_ref("Models/BoxTextured/TEX_0"), hash_asset_ref("models/boxtextured/tex_0"));
        assert_ne!(hash_asset_ref("Ä"), hash_asset_ref("ä"));
        assert_ne!(hash_asset_ref("a/b"), hash_asset_ref("a\\b"));
        assert_ne!(fnv1a_64(b"A"), fnv1a_64(b"a"));
    }

    #[test]
    fn a_texture_is_listed_without_its_extension() {
        assert_eq!(hash_runtime_path("court/tex_0.ktx2"), 0xad44c4a2970495b9);
        assert_eq!(hash_runtime_path("court.hmesh"), hash_asset_ref("court.hmesh"));
    }
}
