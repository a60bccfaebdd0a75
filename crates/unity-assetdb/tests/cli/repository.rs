//! A project in a Git repository, for the commands that compare revisions.

use crate::project::Project;
use std::process::Command;

impl Project {
    /// Runs `git` in the project, without the configuration of the user.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"])
            .args(args)
            .current_dir(self.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("GIT_DIR")
            .env_remove("GIT_INDEX_FILE")
            .output()
            .expect("git is installed");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes the project a repository with one commit on the branch `main`.
    pub(crate) fn init(&self) -> &Project {
        self.write(".gitignore", "/Library/\n");
        self.git(&["init", "-q", "-b", "main"]);
        self.commit("start")
    }

    pub(crate) fn commit(&self, message: &str) -> &Project {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self
    }

    pub(crate) fn branch(&self, name: &str) -> &Project {
        self.git(&["switch", "-q", "-c", name]);
        self
    }

    pub(crate) fn remove(&self, path: &str) -> &Project {
        let path = self.root().join(path);
        match path.is_dir() {
            true => std::fs::remove_dir_all(path).unwrap(),
            false => std::fs::remove_file(path).unwrap(),
        }
        self
    }
}
