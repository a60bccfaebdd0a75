//! The executables under attack, and how they are run: with an end to patience, with their output kept, and with what
//! holds for every run whatever it met.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Nothing here takes longer, however busy the machine is, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The tools of Kiln.
#[derive(Clone, Debug)]
pub struct Tools {
    /// `assetc`.
    pub assetc: PathBuf,
    /// `pak`.
    pub pak: PathBuf,
    /// `unity-assetdb`.
    pub unity: PathBuf,
}

impl Tools {
    /// Copies the tools of a directory to where everyone may run them and no build replaces them meanwhile.
    pub fn copied(from: &Path, to: &Path) -> Result<Tools, String> {
        fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
        let copy = |name: &str| {
            let (source, target) = (from.join(name), to.join(name));
            let told = |e| {
                format!(
                    "{}: {e}; build it with: cargo build -p assetc -p kiln-pak -p kiln-unity-assetdb --features kiln-pak/cli",
                    source.display()
                )
            };
            fs::copy(&source, &target).map(|_| target).map_err(told)
        };
        Ok(Tools { assetc: copy("assetc")?, pak: copy("pak")?, unity: copy("unity-assetdb")? })
    }
}

/// What a run gave.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
    /// How long it took.
    pub took: Duration,
}

impl Ran {
    /// The exit code; -1 after a signal.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// Asserts the exit code, and shows everything when it is another one.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ran {
        assert!(self.code() == code, "wanted exit code {code}: {self:#?}");
        self.calm()
    }

    /// Asserts what holds for every run, whatever it met: no signal, no panic, nothing that calls itself a defect.
    #[track_caller]
    pub fn calm(self) -> Ran {
        assert!(self.status.signal().is_none(), "ended by a signal: {self:#?}");
        assert!((0..=2).contains(&self.code()), "no exit code of the manual: {self:#?}");
        for word in ["panicked", "internal error", "overflow", "cook-lost", "defect of Kiln"] {
            assert!(!self.stderr.contains(word) && !self.stdout.contains(word), "{word}: {self:#?}");
        }
        self
    }

    /// Both outputs.
    pub fn said(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// A tool, to be run in a directory.
pub fn command(program: impl AsRef<OsStr>, dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).env_remove("NO_COLOR").env("RUST_BACKTRACE", "0");
    // The cache and the configuration of the user who runs this are not part of what is attacked.
    command.env("KILN_CACHE", "off").env("KILN_CONFIG_DIR", dir.join("no-user-configuration"));
    command
}

/// Runs a command to its end. One that does not end is ended with all it started, and fails the case.
#[track_caller]
pub fn run(command: Command) -> Ran {
    run_within(command, PATIENCE)
}

/// The same, with another patience.
#[track_caller]
pub fn run_within(mut command: Command, patience: Duration) -> Ran {
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
        if start.elapsed() > patience {
            end_group(child.id());
            let _ = child.wait();
            panic!(
                "did not end within {patience:?}: {command:?}\n{}{}",
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

/// Starts a command. A copy of a tool may still be held open for writing by a child that another thread started at the
/// wrong moment.
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

/// Ends a process that was started as the head of a group, and all of that group.
pub fn end_group(id: u32) {
    if let Some(pid) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// Processes that still run in a directory: none may be left behind. Those that are just ending are waited for.
pub fn strays(dir: &Path) -> Vec<String> {
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

/// Whether a program can be started at all.
pub fn is_there(program: &str) -> bool {
    Command::new(program).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Whether this process may do everything.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
