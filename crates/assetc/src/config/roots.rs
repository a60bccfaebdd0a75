//! The directories of a build: input, output and the path of the pack.
//!
//! Unsafe outputs are rejected: a directory that overlaps the input, the root of the file system, the home directory and
//! the project itself. Directories are compared after links and `..` are resolved, as far as they exist. In an untrusted
//! project, both trees and the pack must be inside the project, unless `-o` names the output.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use kiln_engine::{Code, Diag};

use super::{Config, FILE_NAME, Preset};
use crate::output::at_root;
use kiln_config::cache::TRUST_HINT;
use kiln_config::confine::{Outside, inside, inside_path, not_portable, real, tidy};
use kiln_config::nodes::Text;

/// The input and output directories of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Roots {
    /// The directory of `assetc.yml`; without a file, the directory where the search for it began.
    pub project: PathBuf,
    /// The root of the source tree.
    pub input: PathBuf,
    /// The root of the output tree.
    pub output: PathBuf,
    /// The path of the pack beside the output, `<output>.hpack`.
    pub pack: PathBuf,
    input_origin: Origin,
    output_origin: Origin,
}

/// The place where a directory is configured, for diagnostics.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    path: String,
    at: String,
    hint: String,
}

impl Origin {
    fn of_config(config: &Config, key: &str, text: Option<&Text>) -> Origin {
        let at = text.map(|text| text.at.to_string()).unwrap_or_default();
        let hint = match config.name.as_str() {
            "" => format!("set '{key}:' in an {FILE_NAME}, or run assetc in the directory of the project"),
            name => format!("change '{key}:' in {name}"),
        };
        Origin { path: config.name.clone(), at, hint }
    }

    /// Rejects a path that other platforms would read differently.
    fn check_portable(&self, key: &str, text: &str) -> Result<(), Diag> {
        not_portable(text).map_or(Ok(()), |why| {
            Err(self.mark(Diag::new(Code::ConfigBadValue, format!("'{key}: {text}' {why}"))))
        })
    }

    /// Adds path, position and hint to a diagnostic.
    fn mark(&self, diag: Diag) -> Diag {
        diag.path(&self.path).at(&self.at).hint(&self.hint)
    }
}

impl Roots {
    /// Determines the directories under a preset. `output` overrides the configuration, as `-o` does; it and the project
    /// are absolute. The directories need not exist.
    ///
    /// # Errors
    ///
    /// The output is the root of the file system, the configuration is not [trusted](Config::trust) and names a directory
    /// outside the project, or it names one with `\\` or a drive letter, which other platforms would read differently.
    pub fn locate(config: &Config, preset: Option<&Preset>, output: Option<&Path>) -> Result<Roots, Diag> {
        let project = config.project();
        let input = tidy(&project.join(config.input()));
        let input_origin = Origin::of_config(config, "input", config.input.as_ref());
        if !config.is_trusted() {
            config.check_owner()?;
            inside(project, config.input()).map_err(|why| {
                let message = format!("the input directory '{}' {}", config.input(), why.why);
                input_origin.mark(Diag::new(Code::UntrustedInput, message)).hint(TRUST_HINT)
            })?;
        }
        input_origin.check_portable("input", config.input())?;
        let by_user = output.is_some();
        let (output, output_origin) = match output {
            Some(output) => {
                let hint = "choose another directory with -o".into();
                (tidy(output), Origin { path: String::new(), at: String::new(), hint })
            }
            None => {
                let origin = Origin::of_config(config, "output", config.output_text(preset));
                (tidy(&project.join(config.output(preset))), origin)
            }
        };
        let (Some(parent), Some(name)) = (output.parent(), output.file_name()) else {
            let message =
                format!("the output directory is '{}', the root of the file system", output.display());
            return Err(output_origin.mark(Diag::new(Code::OutputUnsafe, message)));
        };
        let mut pack_name = OsString::from(name);
        pack_name.push(".hpack");
        let pack = parent.join(pack_name);
        if !config.is_trusted() && !by_user {
            let outside = |what: &str, why: &Outside| {
                let message = format!("{what} '{}' {}", config.output(preset), why.why);
                let hint = format!("name the output with -o, or {TRUST_HINT}");
                output_origin.mark(Diag::new(Code::UntrustedOutput, message)).hint(hint)
            };
            inside(project, config.output(preset)).map_err(|why| outside("the output directory", &why))?;
            inside_path(project, parent)
                .map_err(|why| outside("the pack beside the output directory", &why))?;
        }
        if !by_user {
            output_origin.check_portable("output", config.output(preset))?;
        }
        Ok(Roots { pack, project: tidy(project), input_origin, input, output, output_origin })
    }

    /// Checks that the input directory exists.
    ///
    /// # Errors
    ///
    /// `input-missing` or `input-not-a-directory`.
    pub fn check_input(&self) -> Result<(), Diag> {
        let shown = self.input.display();
        match std::fs::metadata(&self.input) {
            Ok(meta) if meta.is_dir() => Ok(()),
            Ok(_) => {
                let message = format!("the input '{shown}' is not a directory");
                Err(self.input_origin.mark(Diag::new(Code::InputNotADirectory, message)))
            }
            Err(error) => {
                let message = format!("the input directory '{shown}' cannot be opened: {error}");
                let hint = format!("create the directory and add sources, or {}", self.input_origin.hint);
                Err(self.input_origin.mark(Diag::new(Code::InputMissing, message)).hint(hint))
            }
        }
    }

    /// Returns the diagnostic of a failed access to the input directory: that of [`Roots::check_input`] if the directory was
    /// removed since that check.
    pub(crate) fn input_fault(&self, error: &io::Error) -> Diag {
        self.check_input().err().unwrap_or_else(|| at_root(Code::Unreadable, &self.input, error))
    }

    /// Checks that the output directory is safe to write to. `home` is the home directory of the user, if it is known.
    ///
    /// # Errors
    ///
    /// `output-unsafe`, `output-overlaps-input` or `output-not-a-directory`.
    pub fn check_output(&self, home: Option<&Path>) -> Result<(), Diag> {
        let (input, output, project) = (real(&self.input), real(&self.output), real(&self.project));
        let shown = self.output.display();
        let unsafe_output = |why: &str| {
            Err(self
                .output_origin
                .mark(Diag::new(Code::OutputUnsafe, format!("the output directory '{shown}' {why}"))))
        };
        if output.parent().is_none() {
            return unsafe_output("is the root of the file system");
        }
        if home.is_some_and(|home| real(home).starts_with(&output)) {
            return unsafe_output("is or contains the home directory");
        }
        if project.starts_with(&output) {
            return unsafe_output("is or contains the project directory");
        }
        let overlap = match (output.starts_with(&input), input.starts_with(&output)) {
            (true, true) => "is the input directory",
            (true, false) => "is inside the input directory, so its files would be compiled again",
            (false, true) => "contains the input directory",
            (false, false) => "",
        };
        if !overlap.is_empty() {
            let message = format!("the output directory '{shown}' {overlap}");
            return Err(self.output_origin.mark(Diag::new(Code::OutputOverlapsInput, message)));
        }
        if output.exists() && !output.is_dir() {
            let message = format!("the output '{shown}' is not a directory");
            return Err(self.output_origin.mark(Diag::new(Code::OutputNotADirectory, message)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A project with a source tree in a temporary directory, with links in its path resolved.
    struct Project(#[allow(dead_code, reason = "kept until the test ends")] tempfile::TempDir, PathBuf);

    impl Project {
        fn new() -> Project {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap().join("game");
            fs::create_dir_all(root.join("assets")).unwrap();
            Project(dir, root)
        }

        fn config(&self, text: &str) -> Config {
            let file = self.1.join("assetc.yml");
            fs::write(&file, text).unwrap();
            Config::load(&file, "assetc.yml").unwrap()
        }

        fn trusted(&self, text: &str) -> Config {
            let mut config = self.config(text);
            config.trust();
            config
        }

        fn locate(&self, text: &str, output: Option<&str>) -> Roots {
            let output = output.map(|output| self.1.join(output));
            Roots::locate(&self.trusted(text), None, output.as_deref()).unwrap()
        }

        /// Returns the code of the error, or "".
        fn check(&self, text: &str, output: Option<&str>) -> String {
            match self.locate(text, output).check_output(Some(&self.1.join("../home/me"))) {
                Ok(()) => String::new(),
                Err(diag) => {
                    assert!(diag.hint.is_some(), "{diag}");
                    diag.code.to_string()
                }
            }
        }
    }

    #[test]
    fn paths_are_relative_to_the_file_and_the_pack_is_beside_the_output() {
        let project = Project::new();
        let root = &project.1;
        let roots = project.locate("", None);
        assert_eq!((&roots.project, roots.input), (root, root.join("assets")));
        assert_eq!((roots.output, roots.pack), (root.join("runtime"), root.join("runtime.hpack")));
        for output in ["out/v1.2", "out/v1.2/", "./out/./v1.2/.", "out/x/../v1.2"] {
            let roots = project.locate(&format!("output: {output}\n"), None);
            assert_eq!((roots.output, roots.pack), (root.join("out/v1.2"), root.join("out/v1.2.hpack")));
        }
        let roots = project.locate("input: ../art\noutput: a\n", Some("b/"));
        assert_eq!(roots.input, root.parent().unwrap().join("art"));
        assert_eq!((roots.output, roots.pack), (root.join("b"), root.join("b.hpack")));
    }

    #[test]
    fn preset_output_may_be_inside_the_default_output() {
        let project = Project::new();
        let config = project.config("presets: {mobile: {output: runtime/mobile}, desktop: }\n");
        let located = |name| {
            let preset = config.select_preset(Some(name)).unwrap();
            let roots = Roots::locate(&config, preset, None).unwrap();
            roots.check_output(None).unwrap();
            roots.output
        };
        assert_eq!(located("mobile"), project.1.join("runtime/mobile"));
        assert_eq!(located("desktop"), project.1.join("runtime"));
    }

    #[test]
    fn rejects_unsafe_outputs() {
        let project = Project::new();
        let check = |output: &str| project.check(&format!("output: {output}\n"), None);
        assert_eq!(check("runtime"), "");
        assert_eq!(check("assets2"), "");
        assert_eq!(check("assets"), "output-overlaps-input");
        assert_eq!(check("assets/out"), "output-overlaps-input");
        assert_eq!(check("runtime/../assets/./x"), "output-overlaps-input");
        assert_eq!(check("."), "output-unsafe");
        assert_eq!(check(".."), "output-unsafe");
        assert_eq!(check("../home/me"), "output-unsafe");
        assert_eq!(check("../home"), "output-unsafe");
        assert_eq!(check("../home/me/out"), "");
        assert_eq!(project.check("", Some(".")), "output-unsafe");
        assert_eq!(project.check("", Some("assets/x")), "output-overlaps-input");
        assert_eq!(project.check("input: art/in\noutput: art\n", None), "output-overlaps-input");
        assert_eq!(project.check("input: .\n", None), "output-overlaps-input");
        fs::write(project.1.join("file"), "").unwrap();
        assert_eq!(check("file"), "output-not-a-directory");
        let root = Roots::locate(&project.config("output: /\n"), None, None).unwrap_err();
        assert_eq!(
            (root.code, root.path.as_deref(), root.at.as_deref()),
            (Code::OutputUnsafe, Some("assetc.yml"), Some("1:9"))
        );
        let over = Roots::locate(&project.config(""), None, Some(Path::new("/"))).unwrap_err();
        assert!(over.hint.as_deref().is_some_and(|hint| hint.contains("-o")), "{over}");
    }

    #[cfg(not(windows))]
    #[test]
    fn rejects_paths_that_windows_reads_differently() {
        let project = Project::new();
        for text in ["input: 'art\\in'", "output: 'build\\runtime'", "output: 'D:/out'", "output: 'C:\\x'"] {
            let error = Roots::locate(&project.trusted(text), None, None).unwrap_err();
            assert_eq!(error.code, Code::ConfigBadValue, "{text}");
            assert!(error.at.is_some() && error.hint.is_some(), "{error}");
        }
    }

    #[test]
    fn untrusted_project_cannot_name_outside_directories() {
        let project = Project::new();
        let refused = |text: &str, output: Option<&str>| {
            let output = output.map(|output| project.1.join(output));
            let roots = Roots::locate(&project.config(text), None, output.as_deref());
            let trusted = Roots::locate(&project.trusted(text), None, output.as_deref());
            assert_eq!(trusted.is_ok(), output.is_some() || !text.contains('\\'), "{text}");
            roots
                .err()
                .map(|diag| format!("{} {}", diag.code, diag.at.unwrap_or_default()))
                .unwrap_or_default()
        };
        for inside in ["", "output: out", "output: a/../b", "output: ../game/out", "input: art/in"] {
            assert_eq!(refused(inside, None), "", "{inside}");
        }
        for outside in ["output: ../x", "output: /x", "output: 'C:\\x'", "output: .git/x", "output: .."] {
            assert_eq!(refused(outside, None), "untrusted-output 1:9", "{outside}");
            assert_eq!(refused(outside, Some("../y")), "", "-o is the user's choice");
        }
        // Inside, but the pack would be beside the project.
        assert_eq!(refused("output: .", None), "untrusted-output 1:9");
        assert_eq!(refused("input: ../x", Some("../y")), "untrusted-input 1:8");
    }

    #[cfg(unix)]
    #[test]
    fn detects_overlap_through_links() {
        let project = Project::new();
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(project.1.join(to), project.1.join(name)).unwrap()
        };
        let check = |output: &str| project.check(&format!("output: {output}\n"), None);
        fs::create_dir_all(project.1.join("disk/big")).unwrap();
        link("assets", "alias");
        link("/", "top");
        link("disk/big", "runtime");
        assert_eq!(check("alias"), "output-overlaps-input");
        assert_eq!(check("alias/new/deep"), "output-overlaps-input");
        assert_eq!(check("top"), "output-unsafe");
        assert_eq!(project.check("input: disk\n", None), "output-overlaps-input");
        // A `..` is relative to the target of the link; a path without one is not resolved.
        assert_eq!(project.locate("output: runtime/../x\n", None).output, project.1.join("disk/x"));
        assert_eq!(project.locate("", None).pack, project.1.join("runtime.hpack"));
        assert_eq!(check("runtime"), "");
    }

    #[test]
    fn input_must_be_a_directory() {
        let project = Project::new();
        assert!(project.locate("", None).check_input().is_ok());
        let missing = project.locate("\ninput: art\n", None).check_input().unwrap_err();
        assert_eq!((missing.code, missing.at.as_deref()), (Code::InputMissing, Some("2:8")));
        assert!(
            missing.message.contains("art")
                && missing.hint.as_deref().is_some_and(|hint| hint.contains("create the directory")),
            "{missing}"
        );
        let file = project.locate("input: assetc.yml\n", None).check_input().unwrap_err();
        assert_eq!(file.code, Code::InputNotADirectory);
        let elsewhere = Config::built_in(&project.1.join("nowhere"));
        let nowhere = Roots::locate(&elsewhere, None, None).unwrap().check_input().unwrap_err();
        assert!(
            nowhere.path.is_none()
                && nowhere.hint.as_deref().is_some_and(|hint| hint.contains("an assetc.yml")),
            "{nowhere}"
        );
    }
}
