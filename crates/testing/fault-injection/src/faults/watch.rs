//! An `assetc watch` beside what is done to its project.

use super::sample::Sample;
use super::tool::{self, PATIENCE};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// A watch, ended with this.
pub struct Watch {
    child: Child,
    builds: Receiver<String>,
    stderr: PathBuf,
}

impl Drop for Watch {
    fn drop(&mut self) {
        tool::end_group(self.child.id());
        let _ = self.child.wait();
    }
}

impl Watch {
    /// Starts one.
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

    /// The next build's line.
    pub fn build(&self) -> String {
        let line = self.builds.recv_timeout(PATIENCE);
        line.unwrap_or_else(|e| panic!("no build: {e}: {}", self.said()))
    }

    /// What it said beside builds.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    /// The memory it holds, in KB, and its descriptors.
    pub fn holds(&self) -> (u64, u64) {
        let proc = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(proc.join("status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let memory = memory.trim().trim_end_matches(" kB").parse().unwrap();
        (memory, fs::read_dir(proc.join("fd")).unwrap().count() as u64)
    }
}
