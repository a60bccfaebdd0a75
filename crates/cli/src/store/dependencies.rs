//! Dependencies that decide bytes: compressors, compilers and lossy decoders. Another version of one can give other bytes for
//! the same source, so their versions are part of every cache key, and `Cargo.toml` pins them exactly: an executable that was
//! built without the lock file has the same versions as its keys say.

/// The packages and their versions, sorted by name.
const VERSIONS: [(&str, &str); 15] = [
    ("brotli", "9.1.1"),
    ("draco-core", "2.3.3"),
    ("exr", "1.74.2"),
    ("glslang", "0.9.1"),
    ("glslang-sys", "0.9.2"),
    ("image-webp", "0.2.4"),
    ("libm", "0.2.16"),
    ("lz4_flex", "0.14.0"),
    ("meshopt", "0.7.0"),
    ("naga", "30.0.1"),
    ("read-fonts", "0.46.0"),
    ("snap", "1.1.2"),
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
}
