//! The executables under test, and running them: with a timeout, captured output, and the assertions that hold for every
//! run.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The timeout of a run. Only a hang takes longer, however busy the machine is.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// The executables of Kiln's tools.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The path of the `assetc` executable.
    pub assetc: PathBuf,
    /// The path of the `pak` executable.
    pub pak: PathBuf,
    /// The path of the `unity-assetdb` executable.
    pub unity: PathBuf,
}

impl Tools {
    /// Copies the tools to a directory where every user may run them and no concurrent build replaces them.
    ///
    /// # Errors
    /// A message that names the executable that could not be copied and the command that builds it.
    pub fn copied(from: &Path, to: &Path) -> Result<Tools, String> {
        fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
        let copy = |name: &str| {
            let (source, target) = (from.join(name), to.join(name));
            let copy_error = |e| {
                format!(
                    "cannot copy {}: {e}; build it with: cargo build -p assetc -p kiln-pak -p kiln-unity-assetdb --features kiln-pak/cli",
                    source.display()
                )
            };
            fs::copy(&source, &target).map(|_| target).map_err(copy_error)
        };
        Ok(Tools { assetc: copy("assetc")?, pak: copy("pak")?, unity: copy("unity-assetdb")? })
    }
}

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    /// The exit status.
    pub status: ExitStatus,
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
    /// The wall-clock time.
    pub took: Duration,
}

impl Ran {
    /// Returns the exit code; -1 after a signal.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// Asserts the exit code, and that the run did not crash.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert!(self.code() == code, "expected exit code {code}: {self:#?}");
        self.assert_no_crash()
    }

    /// Asserts what holds for every run: no signal, no panic, a documented exit code, no internal error.
    #[track_caller]
    pub fn assert_no_crash(self) -> Ran {
        assert!(self.status.signal().is_none(), "killed by a signal: {self:#?}");
        assert!((0..=2).contains(&self.code()), "undocumented exit code: {self:#?}");
        for word in ["panicked", "internal error", "overflow", "action-lost", "defect of Kiln"] {
            assert!(!self.stderr.contains(word) && !self.stdout.contains(word), "{word}: {self:#?}");
        }
        self
    }

    /// Returns standard output and standard error together.
    pub fn output(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Creates a command that runs a tool in a directory.
pub fn command(program: impl AsRef<OsStr>, dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).env_remove("NO_COLOR").env("RUST_BACKTRACE", "0");
    // The cache and the configuration of the user who runs the suites are not under test.
    command.env("KILN_CACHE", "off").env("KILN_CONFIG_DIR", dir.join("no-user-configuration"));
    command
}

/// Runs a command to its end. On a timeout its whole process group is killed, and the case fails.
#[track_caller]
pub fn run(command: Command) -> Ran {
    run_within(command, TIMEOUT)
}

/// Runs a command to its end, with another timeout.
#[track_caller]
pub fn run_within(mut command: Command, timeout: Duration) -> Ran {
    let start = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = spawn(&mut command);
    let drain = |stream: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.map(|mut stream| stream.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = drain(child.stdout.take().map(|s| Box::new(s) as Box<dyn Read + Send>));
    let stderr = drain(child.stderr.take().map(|s| Box::new(s) as Box<dyn Read + Send>));
    let mut pause = Duration::from_micros(200);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > timeout {
            kill_group(child.id());
            let _ = child.wait();
            panic!(
                "timed out after {timeout:?}: {command:?}\n{}{}",
                stdout.join().unwrap(),
                stderr.join().unwrap()
            );
        }
        std::thread::sleep(pause);
        pause = (pause * 5 / 4).min(Duration::from_millis(5));
    };
    let took = start.elapsed();
    Ran { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap(), took }
}

/// Starts a command. Retries on `ETXTBSY`: a child that another thread forked while the tool was being copied may still
/// hold the executable open for writing.
#[track_caller]
pub fn spawn(command: &mut Command) -> std::process::Child {
    loop {
        match command.spawn() {
            Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            child => return child.unwrap_or_else(|e| panic!("{command:?}: {e}")),
        }
    }
}

/// Kills the process group of a process that was started as its leader.
pub fn kill_group(id: u32) {
    if let Some(pid) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// Returns the processes whose working directory is in `dir`: none may be left behind. Waits for exiting ones.
pub fn leftovers(dir: &Path) -> Vec<String> {
    let start = Instant::now();
    loop {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            if fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir)) {
                let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
                if !line.is_empty() {
                    found.push(line.replace('\0', " "));
                }
            }
        }
        if found.is_empty() || start.elapsed() > Duration::from_secs(5) {
            return found;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns `true` if a program can be started.
pub fn is_there(program: &str) -> bool {
    Command::new(program).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Returns `true` if this process runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
