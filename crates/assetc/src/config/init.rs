//! `assetc init`: a starter `assetc.yml`, never in place of one that is there.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use kiln_engine::{Code, Diag};

use super::FILE_NAME;

/// The starter file. What it sets are the defaults; what it shows besides is commented out.
pub const STARTER: &str = include_str!("starter.yml");

/// Writes the starter into `dir` and tells its path.
pub fn init(dir: &Path) -> Result<PathBuf, Diag> {
    let file = dir.join(FILE_NAME);
    let written = OpenOptions::new().write(true).create_new(true).open(&file);
    match written.and_then(|mut open| open.write_all(STARTER.as_bytes())) {
        Ok(()) => Ok(file),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let hint = "edit it, or remove it first";
            Err(Diag::new(Code::InitExists, "is there already and stays as it is")
                .path(file.display())
                .hint(hint))
        }
        Err(error) => {
            Err(Diag::new(Code::InitFailed, format!("cannot be written: {error}")).path(file.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Settings};

    /// The starter with its examples switched on. Prose has one space after the `#`, examples have none or more.
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
    fn the_starter_is_the_defaults() {
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
    fn its_examples_work_when_switched_on() {
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
    fn an_existing_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = init(dir.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), STARTER);
        std::fs::write(&file, "pack: true\n").unwrap();
        assert_eq!(init(dir.path()).unwrap_err().code, Code::InitExists);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "pack: true\n");
        assert_eq!(init(&dir.path().join("missing")).unwrap_err().code, Code::InitFailed);
    }
}
