//! `assetc init`: writes a starter `assetc.yml`, and never replaces an existing file.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use kiln_engine::{Code, Diag};

use super::FILE_NAME;

/// The content of the starter file. Its settings are the defaults; further examples are commented out.
pub const STARTER: &str = include_str!("starter.yml");

/// Writes the starter file to `dir`; returns its path.
///
/// # Errors
///
/// `init-exists` if the file exists, `init-failed` if it cannot be written.
pub fn init(dir: &Path) -> Result<PathBuf, Diag> {
    let file = dir.join(FILE_NAME);
    let written = OpenOptions::new().write(true).create_new(true).open(&file);
    match written.and_then(|mut open| open.write_all(STARTER.as_bytes())) {
        Ok(()) => Ok(file),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let hint = "edit the file, or remove it first";
            Err(Diag::new(Code::InitExists, "the configuration file already exists and was not changed")
                .path(file.display())
                .hint(hint))
        }
        Err(error) => {
            let message = format!("cannot write the configuration file: {error}");
            Err(Diag::new(Code::InitFailed, message).path(file.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Settings};

    /// Returns the starter with its examples uncommented. Prose has one space after the `#`, examples have none or more.
    fn with_examples() -> String {
        let on = |line: &str| {
            let text = line.trim_start();
            let indent = &line[..line.len() - text.len()];
            match text.strip_prefix('#') {
                Some(prose) if prose.starts_with(' ') && !prose.starts_with("  ") => format!("{line}\n"),
                Some(example) => format!("{indent}{example}\n"),
                None => format!("{line}\n"),
            }
        };
        STARTER.lines().map(on).collect()
    }

    #[test]
    fn starter_has_the_defaults() {
        let config = Config::parse(STARTER, "starter").unwrap();
        assert!(config.warnings().is_empty(), "{:?}", config.warnings());
        assert_eq!((config.input(), config.output(None), config.pack()), ("assets", "runtime", false));
        assert!(config.presets().is_empty());
        assert!(config.select_preset(None).unwrap().is_none());
        for path in ["a.png", "ui/a.png", "decals/a.png"] {
            assert_eq!(*config.resolver(None).resolve(path).settings, Settings::default());
        }
    }

    #[test]
    fn uncommented_examples_are_valid() {
        let config = Config::parse(&with_examples(), "examples").unwrap();
        assert!(config.warnings().is_empty(), "{:?}", config.warnings());
        let preset = config.select_preset(None).unwrap();
        assert_eq!(preset.unwrap().name(), "desktop");
        assert_eq!(config.output(preset), "runtime/desktop");
        assert!(!config.resolver(preset).resolve("ui/a.png").settings.texture.compress);
        assert!(config.resolver(preset).resolve("decals/a.png").settings.texture.compress);
        let mobile = config.select_preset(Some("mobile")).unwrap();
        assert_eq!(config.output(mobile), "runtime/mobile");
        assert!(!config.resolver(mobile).resolve("decals/a.png").settings.texture.compress);
    }

    #[test]
    fn does_not_replace_existing_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = init(dir.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), STARTER);
        std::fs::write(&file, "pack: true\n").unwrap();
        assert_eq!(init(dir.path()).unwrap_err().code, Code::InitExists);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "pack: true\n");
        assert_eq!(init(&dir.path().join("missing")).unwrap_err().code, Code::InitFailed);
    }
}
