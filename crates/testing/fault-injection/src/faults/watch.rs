//! An `assetc watch` process that runs while a case edits its project.

use super::sample::Sample;
use super::tool::{self, TIMEOUT};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// A running `assetc watch`, killed on drop.
pub struct Watch {
    child: Child,
    builds: Receiver<String>,
    stderr: PathBuf,
}

impl Drop for Watch {
    fn drop(&mut self) {
        tool::kill_group(self.child.id());
        let _ = self.child.wait();
    }
}

impl Watch {
    /// Starts `assetc watch` in a project.
    pub fn start(sample: &Sample, dir: &Path) -> Watch {
        let stderr = dir.with_extension("stderr");
        let mut command = tool::command(&sample.program, dir, &["watch", "--json", "-j", "1"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
        command.stderr(fs::File::create(&stderr).unwrap());
        let mut child = tool::spawn(&mut command);
        let (sender, builds) = channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Watch { child, builds, stderr }
    }

    /// Waits for the next build and returns its JSON line.
    pub fn build(&self) -> String {
        let line = self.builds.recv_timeout(TIMEOUT);
        line.unwrap_or_else(|e| panic!("no build was reported: {e}: {}", self.output()))
    }

    /// Returns the standard error so far.
    pub fn output(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    /// Returns the resident memory in KB, and the number of open descriptors.
    pub fn resource_usage(&self) -> (u64, u64) {
        let proc = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(proc.join("status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let memory = memory.trim().trim_end_matches(" kB").parse().unwrap();
        (memory, fs::read_dir(proc.join("fd")).unwrap().count() as u64)
    }
}
