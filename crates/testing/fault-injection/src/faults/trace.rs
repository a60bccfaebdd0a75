//! System call tracing and fault injection with `strace`: the calls of a run, kills and errors at one of them, and the
//! paths that were opened.
//!
//! `strace` counts calls by thread and name. So an injection point names a call by both: the first thread that makes its
//! k-th call of a name, or the k-th call of the main thread.

use super::case::NotRun;
use super::tool;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The threads whose calls are traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Every thread and every child process.
    All,
    /// The main thread only.
    Main,
}

/// Checks that system calls can be traced here.
///
/// # Errors
/// [`NotRun`] if `strace` is missing or not permitted.
pub fn available() -> Result<(), NotRun> {
    if !tool::is_there("strace") {
        return Err(NotRun("strace is not installed (Debian: apt-get install strace)".into()));
    }
    let probe = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "-e", "inject=fsync:error=EIO", "true"])
        .output();
    match probe {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            Err(NotRun(format!("strace fails: {}", String::from_utf8_lossy(&output.stderr).trim())))
        }
        Err(error) => Err(NotRun(format!("strace fails: {error}"))),
    }
}

/// The system calls that open or change paths, start a program or open a connection.
pub const PATH_CALLS: [&str; 30] = [
    "open",
    "openat",
    "openat2",
    "creat",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "unlink",
    "unlinkat",
    "rmdir",
    "truncate",
    "ftruncate",
    "execve",
    "execveat",
    "chmod",
    "fchmod",
    "fchmodat",
    "chown",
    "mknod",
    "mknodat",
    "utimensat",
    "socket",
    "connect",
    "bind",
];

/// Wraps a command in `strace`: calls of these names are logged to `log`, and faults are injected as `inject` specifies.
pub fn traced(
    command: &Command,
    log: &Path,
    threads: Threads,
    calls: &[&str],
    inject: Option<&str>,
) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-qq", "-y", "-s", "16", "-o"]).arg(log);
    if threads == Threads::All {
        strace.args(["-f", "--seccomp-bpf"]);
    }
    // The question mark ignores calls that the architecture does not have.
    let calls: Vec<String> = calls.iter().map(|call| format!("?{call}")).collect();
    strace.args(["-e", &format!("trace={}", calls.join(",")), "-e", "signal=none"]);
    if let Some(inject) = inject {
        strace.args(["-e", &format!("inject={inject}")]);
    }
    // Sets the environment of the traced program only: strace itself is found on the PATH of this process.
    for (key, value) in command.get_envs() {
        let mut variable = key.to_os_string();
        if let Some(value) = value {
            variable.push("=");
            variable.push(value);
        }
        strace.arg("-E").arg(variable);
    }
    strace.arg(command.get_program()).args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        strace.current_dir(dir);
    }
    strace
}

/// One system call of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The id of the thread.
    pub thread: u32,
    /// The name of the call.
    pub name: String,
    /// The whole line of the log.
    pub line: String,
}

impl Call {
    /// Returns `true` if a fault was injected into this call.
    pub fn is_injected(&self) -> bool {
        self.line.contains("(INJECTED)")
    }

    /// Returns the paths of the call: complete quoted strings, and the paths of descriptors. A relative path after a
    /// descriptor is one in that directory.
    pub fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        let mut rest = self.line.as_str();
        while let Some(at) = rest.find(['"', '<']) {
            let is_quoted = rest.as_bytes()[at] == b'"';
            let body = &rest[at + 1..];
            let Some(end) = body.find(if is_quoted { '"' } else { '>' }) else { break };
            let path = &body[..end];
            let is_in_descriptor = is_quoted && !path.starts_with('/') && &rest[..at] == ", ";
            let dir = paths.last().filter(|dir| is_in_descriptor && dir.starts_with('/'));
            paths.push(dir.map_or_else(|| path.to_owned(), |dir| format!("{dir}/{path}")));
            rest = &body[end + 1..];
        }
        paths.retain(|path| path != "unfinished ...");
        paths
    }

    /// Returns the main path of the call: the one opened, written, renamed or removed.
    pub fn path(&self) -> Option<PathBuf> {
        let paths = self.paths();
        let absolute = paths
            .iter()
            .find(|path| path.starts_with('/') && !self.line.contains(&format!("AT_FDCWD<{path}>")));
        absolute.or_else(|| paths.iter().rev().find(|path| !path.starts_with('/'))).map(PathBuf::from)
    }
}

/// Reads the calls of a log, in order. The resumed part of an unfinished call is appended to its line.
pub fn read(log: &Path, threads: Threads) -> Vec<Call> {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut calls: Vec<Call> = Vec::new();
    for line in text.lines() {
        let (thread, rest) = match threads {
            Threads::Main => (0, line),
            Threads::All => {
                let (thread, rest) = line.split_once(' ').unwrap_or(("0", line));
                (thread.parse().unwrap_or(0), rest.trim_start())
            }
        };
        if let Some(resumed) = rest.strip_prefix("<... ") {
            // The result of an unfinished call of this thread.
            let name = resumed.split(' ').next().unwrap_or_default();
            let begun = calls.iter_mut().rev().find(|call| call.thread == thread && call.name == name);
            if let Some(call) = begun {
                call.line += resumed;
            }
            continue;
        }
        let Some((name, _)) = rest.split_once('(') else { continue };
        if name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
            calls.push(Call { thread, name: name.to_owned(), line: rest.to_owned() });
        }
    }
    calls
}

/// An injection point: the `when`-th call of its name in a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The threads in which calls are counted.
    pub threads: Threads,
    /// The name of the call.
    pub call: String,
    /// The number of the call, from 1.
    pub when: usize,
}

impl Point {
    /// Formats the injection point for the name of a case.
    pub fn name(&self) -> String {
        format!("{}{} {}", self.call, if self.threads == Threads::Main { "@main" } else { "" }, self.when)
    }
}

/// Returns `true` if a call belongs to process startup, not to the tool.
pub fn is_loading(call: &Call) -> bool {
    let outside = ["/lib", "/usr/", "/etc/", "/proc/", "/sys/", "/dev/null"];
    call.path().is_some_and(|path| outside.iter().any(|start| path.to_string_lossy().starts_with(start)))
}

/// Returns every point of a run at which one of these calls is made.
pub fn points(command: &Command, log: &Path, calls: &[&str]) -> Vec<Point> {
    tool::run(traced(command, log, Threads::All, calls, None)).expect(0);
    let seen = read(log, Threads::All);
    let main = seen.first().map_or(0, |call| call.thread);
    let mut counts: BTreeMap<(String, u32), usize> = BTreeMap::new();
    let mut points = Vec::new();
    let mut worked: BTreeMap<String, usize> = BTreeMap::new();
    for call in &seen {
        let count = counts.entry((call.name.clone(), call.thread)).or_default();
        *count += 1;
        if is_loading(call) {
            continue;
        }
        if call.thread == main {
            points.push(Point { threads: Threads::Main, call: call.name.clone(), when: *count });
        } else if worked.get(&call.name).is_none_or(|most| most < count) {
            worked.insert(call.name.clone(), *count);
            points.push(Point { threads: Threads::All, call: call.name.clone(), when: *count });
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_logs_with_threads_and_unfinished_calls() {
        let dir = std::env::temp_dir().join(format!("kiln-fault-injection-trace-{}", std::process::id()));
        let text = "12 openat(AT_FDCWD</p>, \"a/b.png\", O_RDONLY) = 3</p/a/b.png>\n\
            13 write(4</p/.kiln-1>, \"x\", 1 <unfinished ...>\n\
            12 rename(\"/p/.kiln-1\", \"/p/out\") = 0\n\
            13 <... write resumed>) = -1 ENOSPC (No space left on device) (INJECTED)\n\
            12 +++ exited with 0 +++\n";
        std::fs::write(&dir, text).unwrap();
        let calls = read(&dir, Threads::All);
        std::fs::remove_file(&dir).unwrap();
        assert_eq!(calls.len(), 3);
        assert_eq!(calls[0].path().unwrap(), Path::new("/p/a/b.png"));
        assert!(calls[1].is_injected() && !calls[2].is_injected());
        assert_eq!(calls[1].path().unwrap(), Path::new("/p/.kiln-1"));
        assert_eq!(calls[2].paths(), ["/p/.kiln-1", "/p/out"]);
        assert_eq!(calls[0].paths(), ["/p", "/p/a/b.png", "/p/a/b.png"]);
    }
}
