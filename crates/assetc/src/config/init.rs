//! `assetc init`: writes a starter `assetc.yml` with its JSON Schema, creates the input directory and makes Git ignore the
//! output. An existing file is never replaced.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use kiln_engine::{Code, Diag};

use super::{DEFAULT_INPUT, DEFAULT_OUTPUT, FILE_NAME};
use crate::schema::PROJECT_SCHEMA_FILE;

/// The content of the starter file. Its settings are the defaults, except that 16-bit sources keep their depth and images of
/// models are not compiled on their own; further examples are commented out.
pub const STARTER: &str = include_str!("starter.yml");

/// The largest `.gitignore` that is searched for an entry.
const MAX_GITIGNORE: u64 = 1 << 20;

/// The files and directories that [`init`] created or changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InitReport {
    /// The starter file.
    pub file: PathBuf,
    /// The JSON Schema of the starter file, for editors.
    pub schema: PathBuf,
    /// The input directory.
    pub input: PathBuf,
    /// The `.gitignore` with the entries of the output; `None` if it could not be changed, because it is a symbolic link
    /// or not a regular file.
    pub gitignore: Option<PathBuf>,
}

/// Writes the starter file to `dir`, creates the input directory, and adds the output directory and the pack to
/// `.gitignore`.
///
/// # Errors
///
/// `init-exists` if the starter file exists, `init-failed` if a file or directory cannot be written.
pub fn init(dir: &Path) -> Result<InitReport, Diag> {
    let file = dir.join(FILE_NAME);
    let written = OpenOptions::new().write(true).create_new(true).open(&file);
    match written.and_then(|mut open| open.write_all(STARTER.as_bytes())) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let hint = "edit the file, or remove it first";
            return Err(Diag::new(
                Code::InitExists,
                "the configuration file already exists and was not changed",
            )
            .path(file.display())
            .hint(hint));
        }
        Err(error) => {
            let message = format!("cannot write the configuration file: {error}");
            return Err(Diag::new(Code::InitFailed, message).path(file.display()));
        }
    }
    let schema = dir.join(PROJECT_SCHEMA_FILE);
    write_schema(&schema).map_err(|error| {
        Diag::new(Code::InitFailed, format!("cannot write the schema of the configuration: {error}"))
            .path(schema.display())
    })?;
    let input = dir.join(DEFAULT_INPUT);
    fs::create_dir_all(&input).map_err(|error| {
        Diag::new(Code::InitFailed, format!("cannot create the input directory: {error}"))
            .path(input.display())
    })?;
    let gitignore = dir.join(".gitignore");
    let ignored = ignore_output(&gitignore).map_err(|error| {
        Diag::new(Code::InitFailed, format!("cannot add the output directory: {error}"))
            .path(gitignore.display())
    })?;
    Ok(InitReport { file, schema, input, gitignore: ignored.then_some(gitignore) })
}

/// Writes the schema, unless a file has its name already.
fn write_schema(file: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut open) => open.write_all(crate::schema::assetc_yml().pretty().as_bytes()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Adds the entries of the output to a `.gitignore`, which is created if it does not exist; returns `false` if it is not a
/// regular file.
fn ignore_output(file: &Path) -> io::Result<bool> {
    let text = match fs::symlink_metadata(file) {
        Ok(meta) if !meta.is_file() || meta.len() > MAX_GITIGNORE => return Ok(false),
        Ok(_) => fs::read(file)?,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    // The pages are those of `report` and `--timings`.
    let entries = ["/", ".hpack", ".*.html"].map(|end| format!("/{DEFAULT_OUTPUT}{end}"));
    let text = String::from_utf8_lossy(&text);
    let is_missing = |entry: &&String| !text.lines().any(|line| line.trim() == entry.as_str());
    let mut missing: String = entries.iter().filter(is_missing).map(|entry| format!("{entry}\n")).collect();
    if !missing.is_empty() {
        if !text.is_empty() && !text.ends_with('\n') {
            missing.insert(0, '\n');
        }
        // One write at the end: other lines stay as they are, whatever happens.
        OpenOptions::new().append(true).create(true).open(file)?.write_all(missing.as_bytes())?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Depth, Settings, Standalone};

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
        // A new project keeps 16-bit sources, which the documented default reduces to 8 bits, and ships images of models
        // once.
        let mut expected = Settings::default();
        expected.texture.depth = Depth::Auto;
        expected.texture.standalone = Standalone::Unreferenced;
        for path in ["a.png", "ui/a.png", "decals/a.png"] {
            assert_eq!(*config.resolver(None).resolve(path).settings, expected);
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
        let file = init(dir.path()).unwrap().file;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), STARTER);
        std::fs::write(&file, "pack: true\n").unwrap();
        assert_eq!(init(dir.path()).unwrap_err().code, Code::InitExists);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "pack: true\n");
        assert_eq!(init(&dir.path().join("missing")).unwrap_err().code, Code::InitFailed);
    }

    #[test]
    fn adds_missing_entries_to_gitignore() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".gitignore");
        std::fs::write(&file, "*.tmp\n/runtime/").unwrap();
        assert!(ignore_output(&file).unwrap());
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "*.tmp\n/runtime/\n/runtime.hpack\n/runtime.*.html\n"
        );
        assert!(ignore_output(&file).unwrap());
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "*.tmp\n/runtime/\n/runtime.hpack\n/runtime.*.html\n"
        );
        assert!(!ignore_output(dir.path()).unwrap(), "a directory is not changed");
    }
}
