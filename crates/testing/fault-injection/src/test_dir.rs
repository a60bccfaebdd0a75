//! A temporary project directory in which tests run the executables.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A temporary directory with a project in `p`; files beside `p` are outside the project.
pub struct TestDir(tempfile::TempDir);

/// The result of a run of a program.
pub struct Ran {
    /// The exit code; -1 after a signal.
    pub code: i32,
    /// The standard error.
    pub stderr: String,
}

impl Ran {
    /// Asserts the exit code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "{}", self.stderr);
        self
    }

    /// Asserts that the tool failed with a diagnostic of this code that contains these words.
    #[track_caller]
    pub fn refused(self, exit: i32, code: &str, words: &[&str]) {
        let ran = self.expect(exit);
        let head = format!("error[{code}]");
        assert!(ran.stderr.contains(&head), "{code}: {}", ran.stderr);
        for word in words {
            assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
        }
    }
}

impl TestDir {
    /// Creates an empty project.
    pub fn create() -> TestDir {
        let dir = TestDir(tempfile::tempdir().unwrap());
        fs::create_dir(dir.path("")).unwrap();
        dir
    }

    /// Returns a path in the project.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.path().join("p").join(path)
    }

    /// Writes a file, and creates its parent directories.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &TestDir {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), bytes).unwrap();
        self
    }

    /// Reads a file of the project.
    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Removes a file of the project.
    pub fn remove(&self, path: &str) -> &TestDir {
        fs::remove_file(self.path(path)).unwrap();
        self
    }

    /// Runs a program in the project, with the build cache disabled.
    pub fn run(&self, program: &str, args: &[&str]) -> Ran {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path("")).env("KILN_CACHE", "off").env_remove("NO_COLOR");
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        Ran { code: output.status.code().unwrap_or(-1), stderr }
    }

    /// Returns `true` if the path is a symbolic link.
    #[cfg(unix)]
    pub fn is_link(&self, path: &str) -> bool {
        fs::symlink_metadata(self.path(path)).unwrap().is_symlink()
    }

    /// Creates a symbolic link.
    #[cfg(unix)]
    pub fn link(&self, target: &str, path: &str) -> &TestDir {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
        self
    }

    /// Creates a named pipe.
    #[cfg(unix)]
    pub fn pipe(&self, path: &str) -> &TestDir {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(self.path(path)).status().unwrap().success());
        self
    }
}
