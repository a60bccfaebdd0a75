//! Dependencies that decide bytes: compressors, compilers and lossy decoders. Another version of one can give other bytes for
//! the same source, so their versions are part of every cache key, and `Cargo.toml` pins them exactly: an executable that was
//! built without the lock file has the same versions as its keys say.
//!
//! A journal of a project holds recipe versions alone: whoever upgrades one of these raises the versions of the recipes whose
//! goldens change, so that projects build such assets again.

/// The packages and their versions, sorted by name.
const VERSIONS: [(&str, &str); 17] = [
    ("brotli", "9.1.1"),
    ("draco-core", "2.3.3"),
    ("exr", "1.74.2"),
    ("gif", "0.14.2"),
    ("glslang", "0.9.1"),
    ("glslang-sys", "0.9.2"),
    ("image-webp", "0.2.4"),
    ("libm", "0.2.16"),
    ("lz4_flex", "0.14.0"),
    ("meshopt", "0.7.0"),
    ("naga", "30.0.1"),
    ("read-fonts", "0.46.0"),
    ("snap", "1.1.2"),
    ("tiff", "0.11.3"),
    ("ufbx", "0.11.5"),
    ("zstd-sys", "2.1.2"),
    ("zune-jpeg", "0.5.15"),
];

/// Returns the part of a cache key that stands for a tool: its name, its version and those of the dependencies that decide
/// bytes.
pub(super) fn build_identity(tool: &str) -> String {
    let mut identity = format!("{tool} {}", env!("CARGO_PKG_VERSION"));
    for (name, version) in VERSIONS {
        identity += &format!(" {name}={version}");
    }
    identity
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Dependencies of the product whose version cannot change the bytes of an output, and why.
    const WITHOUT_EFFECT: [(&str, &[&str]); 5] = [
        (
            "computes what a standard defines",
            &["base64", "crc32fast", "half", "sha2", "unicode-normalization", "xxhash-rust"],
        ),
        (
            "decodes without loss, or verifies",
            &["brotli-decompressor", "ed25519-compact", "png", "ruzstd", "structured-zstd"],
        ),
        ("parses text", &["memchr", "saphyr-parser", "strsim", "toml"]),
        ("wraps a C library that is pinned", &["zstd"]),
        (
            "files, processes, network, terminal, threads",
            &[
                "async-trait",
                "bytes",
                "clap",
                "clap_complete",
                "clap_mangen",
                "ctrlc",
                "futures-util",
                "http",
                "http-body",
                "http-body-util",
                "memmap2",
                "memory-stats",
                "notify",
                "object_store",
                "prost",
                "rayon",
                "rustix",
                "rustls",
                "rustls-native-certs",
                "signal-hook",
                "terminal_size",
                "tokio",
                "tonic",
                "tonic-prost",
                "ureq",
            ],
        ),
    ];

    fn workspace_file(name: &str) -> String {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
    }

    #[test]
    fn versions_are_those_of_the_lock_file() {
        assert!(VERSIONS.is_sorted());
        let lock = workspace_file("Cargo.lock");
        for (name, version) in VERSIONS {
            let locked: Vec<&str> = lock
                .split("[[package]]\n")
                .filter_map(|package| package.strip_prefix(&format!("name = \"{name}\"\nversion = \"")))
                .filter_map(|rest| rest.split(['"', '+']).next())
                .collect();
            assert_eq!(locked, [version], "{name}");
        }
    }

    #[test]
    fn manifest_pins_the_versions() {
        let manifest = workspace_file("Cargo.toml");
        for (name, version) in VERSIONS {
            let line = manifest.lines().find(|line| line.starts_with(&format!("{name} = ")));
            let line = line.unwrap_or_else(|| panic!("{name} is not a dependency of the workspace"));
            assert!(line.contains(&format!("\"={version}\"")), "{line}");
        }
    }

    #[test]
    fn every_dependency_is_known_to_decide_bytes_or_not() {
        let manifest = workspace_file("Cargo.toml");
        let product =
            manifest.split_once("# What the product links").unwrap().1.split_once("# Tests only.").unwrap().0;
        let names: Vec<&str> = product.lines().filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
        assert!(names.len() > 50, "{names:?}");
        for name in names {
            let decides = VERSIONS.iter().any(|(each, _)| *each == name);
            let has_no_effect = WITHOUT_EFFECT.iter().any(|(_, each)| each.contains(&name));
            assert!(decides != has_no_effect, "{name} is in none of the two lists, or in both");
        }
    }

    #[test]
    fn keys_hold_the_versions() {
        let identity = build_identity("assetc");
        for (name, version) in VERSIONS {
            assert!(identity.split(' ').any(|word| word == format!("{name}={version}")), "{identity}");
        }
        assert_ne!(identity, build_identity("pak"));
    }
}
