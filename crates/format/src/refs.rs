//! Asset references: the 64-bit hashes by which runtime files reference each other.
//!
//! A reference is a string such as `models/chair/tex_0`; files store the FNV-1a 64 hash of its bytes after
//! ASCII lowercasing. Nothing else is normalised: slashes, dots, extensions and letters outside ASCII are
//! hashed unchanged. The functions are `const`, so a game can hash names at compile time.

#[cfg(feature = "tools")]
use crate::paths;
#[cfg(feature = "tools")]
use alloc::{collections::BTreeMap, string::String, vec::Vec};

/// The hash that means "no reference".
pub const NO_REF: u64 = 0;

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Returns the hash of the asset reference `text`.
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

/// Returns the hash under which a manifest lists the runtime file `path`: the hash of the path, for a texture
/// without `.ktx2`.
pub fn hash_runtime_path(path: &str) -> u64 {
    hash_asset_ref(path.strip_suffix(".ktx2").unwrap_or(path))
}

/// Returns the reference of a source, which prefixes those of its materials and textures: its path relative
/// to the source root, in lower case, without its last extension. `models/Chair.v2.glb` is `models/chair.v2`.
#[cfg(feature = "tools")]
pub fn source_ref(path: &str) -> String {
    paths::stem(path).to_ascii_lowercase()
}

/// Returns the last component of the reference of material `index`, given the names of all materials of a
/// source: its name in lower case, or `material_<index>` if the name is missing or not unique.
///
/// For many materials of one source, [`material_leaves`] is faster: linear instead of quadratic.
#[cfg(feature = "tools")]
pub fn material_leaf(names: &[Option<&str>], index: usize) -> String {
    let name = names.get(index).copied().flatten().unwrap_or_default();
    let shared = names.iter().flatten().filter(|other| other.eq_ignore_ascii_case(name)).count() > 1;
    if name.is_empty() || shared { fallback_leaf(index) } else { name.to_ascii_lowercase() }
}

/// Returns [`material_leaf`] of every material of a source.
#[cfg(feature = "tools")]
pub fn material_leaves(names: &[Option<&str>]) -> Vec<String> {
    let lowered: Vec<String> = names.iter().map(|n| n.unwrap_or_default().to_ascii_lowercase()).collect();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    lowered.iter().for_each(|name| *count.entry(name).or_default() += 1);
    let leaf = |(i, name): (usize, &String)| match count.get(name.as_str()) {
        Some(1) if !name.is_empty() => name.clone(),
        _ => fallback_leaf(i),
    };
    lowered.iter().enumerate().map(leaf).collect()
}

/// Finds two materials of a source with the same reference, and so the same hash: for example one named
/// `material_1` and a second, unnamed one with index 1.
#[cfg(feature = "tools")]
pub fn material_clash(names: &[Option<&str>]) -> Option<(usize, usize)> {
    let mut seen = BTreeMap::new();
    let mut leaves = material_leaves(names).into_iter().enumerate();
    leaves.find_map(|(i, leaf)| seen.insert(leaf, i).map(|before| (before, i)))
}

#[cfg(feature = "tools")]
fn fallback_leaf(index: usize) -> String {
    alloc::format!("material_{index}")
}

/// Returns the FNV-1a 64 hash of `bytes`: identifies contents in dumps; not a cryptographic hash.
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
    fn hashes_match_document() {
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
    fn lowercases_ascii_only() {
        assert_eq!(hash_asset_ref("Models/BoxTextured/TEX_0"), hash_asset_ref("models/boxtextured/tex_0"));
        assert_ne!(hash_asset_ref("Ä"), hash_asset_ref("ä"));
        assert_ne!(hash_asset_ref("a/b"), hash_asset_ref("a\\b"));
        assert_ne!(fnv1a_64(b"A"), fnv1a_64(b"a"));
    }

    #[test]
    fn texture_hash_omits_extension() {
        assert_eq!(hash_runtime_path("court/tex_0.ktx2"), 0xad44c4a2970495b9);
        assert_eq!(hash_runtime_path("court.hmesh"), hash_asset_ref("court.hmesh"));
    }

    #[test]
    #[cfg(feature = "tools")]
    fn sources() {
        for (path, source) in [
            ("models/Chair.glb", "models/chair"),
            ("foo.bar.glb", "foo.bar"),
            ("A/B.c/D", "a/b.c/d"),
            (".glb", ".glb"),
            ("Größe/Ä.gltf", "größe/Ä"),
        ] {
            assert_eq!(source_ref(path), source);
        }
    }

    /// The example of `docs/reference/formats`.
    #[test]
    #[cfg(feature = "tools")]
    fn material_references_match_document() {
        let names = [Some("Wood"), Some(""), Some("Leather"), Some("Wood")];
        let hash = |i| {
            let source = source_ref("models/chair.glb");
            hash_asset_ref(&alloc::format!("{source}/{}", material_leaf(&names, i)))
        };
        assert_eq!([2, 0].map(hash), [0x5593b4deb18216f7, 0xbe1ae018fb5f8af0]);
        assert_eq!(material_leaves(&names), ["material_0", "material_1", "leather", "material_3"]);
        assert_eq!(material_clash(&names), None);
    }

    #[test]
    #[cfg(feature = "tools")]
    fn material_names_ignore_ascii_case() {
        let names = [Some("WOOD"), Some("wood"), Some("Ä"), Some("ä"), None, Some(" ")];
        let leaves = ["material_0", "material_1", "Ä", "ä", "material_4", " "];
        assert_eq!(material_leaves(&names), leaves);
        for (i, leaf) in leaves.into_iter().enumerate() {
            assert_eq!(material_leaf(&names, i), leaf);
        }
        assert_eq!(material_leaf(&names, 9), "material_9");
    }

    #[test]
    #[cfg(feature = "tools")]
    fn detects_clash_with_fallback_name() {
        assert_eq!(material_clash(&[Some("Material_1"), None]), Some((0, 1)));
        assert_eq!(material_clash(&[Some("a"), Some("a"), Some("b"), Some("material_0")]), Some((0, 3)));
        assert_eq!(material_clash(&[None, Some("material_1")]), None, "it is its own");
        assert_eq!(material_clash(&[Some("material_1"), Some("a")]), None, "the other has a name");
        assert_eq!(material_clash(&[Some("material_01"), None]), None);
        assert_eq!(material_clash(&[Some("material_1"), Some("Material_1")]), None, "neither keeps it");
    }
}
