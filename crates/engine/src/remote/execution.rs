//! Remote execution: the server that runs actions on other machines, and the state of it during one run.
//!
//! An action is sent as a command: this program with the files that the action is known to read. Its output is one file, the
//! serialized result, which is verified like a cache entry. Any failure means that the action runs locally; a server that keeps
//! failing is disabled for the rest of the run, with one warning.

use super::breaker::CircuitBreaker;
use super::{Blob, Fault};
use crate::{Code, Diag, Hash, RelPath};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The name of the request file in the directory of a command.
pub const REQUEST: &str = "request";
/// The directory with the sources, relative to the directory of a command.
pub const SOURCES: &str = "sources";
/// The name of the output file in the directory of a command.
pub const RESULT: &str = "result";

/// The origin of the content of a file that a command needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// A source of the run.
    Source(RelPath),
    /// A file of this machine: the executable or a library.
    File(PathBuf),
}

/// A file in the directory of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFile {
    /// The path relative to the directory, with slashes.
    pub path: String,
    /// The digest and length.
    pub blob: Blob,
    /// True if the file is a program.
    pub is_executable: bool,
    /// The origin of the content.
    pub content: FileContent,
}

/// A command for a server: it runs in a directory with these files, and writes one output file.
pub struct Command<'a> {
    /// The program, relative to the directory, and its arguments.
    pub arguments: &'a [String],
    /// The environment variables.
    pub environment: &'a [(String, String)],
    /// The files of the directory.
    pub files: &'a [CommandFile],
    /// Directories that exist even if no file is in them.
    pub directories: &'a [String],
    /// The output file.
    pub output: &'a str,
    /// The longest time until the result, waiting in the queue of the server included.
    pub timeout: Duration,
    /// Reads the content of a file that the server does not have.
    pub read: &'a (dyn Fn(&CommandFile) -> Result<Vec<u8>, Fault> + Sync),
    /// Returns whether the run is cancelled.
    pub is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

/// A server that runs commands. Nothing that it returns is verified, except that the output has its stated digest.
pub trait ExecutionServer: Send + Sync {
    /// Runs a command, and returns the content of its output file.
    ///
    /// # Errors
    /// The failure of a request; [`Fault::Failed`] if the server could not run the command.
    fn execute(&self, command: &Command<'_>) -> Result<Vec<u8>, Fault>;
    /// Returns the name of the server for messages.
    fn name(&self) -> String;
}

/// The program that commands run: this executable.
#[derive(Clone, Debug)]
pub struct Program {
    /// The path of the executable.
    pub executable: PathBuf,
    /// The libraries that workers may not have: the name under which the loader looks for each, and its file.
    pub libraries: Vec<(String, PathBuf)>,
    /// The arguments that make it run the action of a request file.
    pub arguments: Vec<String>,
}

/// The limits of remote execution.
#[derive(Clone, Copy, Debug)]
pub struct ExecutionLimits {
    /// The number of commands in flight.
    pub jobs: usize,
    /// The longest time until the result of a command, waiting in the queue of the server included.
    pub timeout: Duration,
}

/// The number of commands in flight unless the user sets another one: they wait, and use no core of this machine.
const JOBS: usize = 32;

/// The longest time until the result of a command unless the user sets another one.
const TIMEOUT: Duration = Duration::from_secs(300);

impl Default for ExecutionLimits {
    fn default() -> ExecutionLimits {
        ExecutionLimits { jobs: JOBS, timeout: TIMEOUT }
    }
}

/// The counters of remote execution for one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutionFigures {
    /// The number of actions whose result a server returned.
    pub executed: u64,
    /// The number of actions that were sent to a server, and ran locally in the end.
    pub fallbacks: u64,
    /// The number of commands that were sent. An action needs several if its inputs are not known beforehand.
    pub commands: u64,
    /// Bytes of files that the server did not have.
    pub bytes_up: u64,
    /// Bytes of results.
    pub bytes_down: u64,
}

/// A server with its circuit breaker and counters during one run.
pub struct RemoteExecution {
    server: Box<dyn ExecutionServer>,
    program: Program,
    limits: ExecutionLimits,
    breaker: CircuitBreaker,
    /// The files of the program, hashed once.
    program_files: OnceLock<Result<Vec<CommandFile>, Fault>>,
    /// Locked while a file is read for an upload, so that one at a time is in memory.
    pub(crate) reading: Mutex<()>,
    executed: AtomicU64,
    fallbacks: AtomicU64,
    commands: AtomicU64,
    bytes_up: AtomicU64,
    bytes_down: AtomicU64,
}

impl RemoteExecution {
    /// Prepares the execution of actions by a server. Nothing is sent yet.
    pub fn new(
        server: Box<dyn ExecutionServer>,
        program: Program,
        limits: ExecutionLimits,
    ) -> RemoteExecution {
        RemoteExecution {
            server,
            program,
            limits,
            breaker: CircuitBreaker::new(limits.timeout),
            program_files: OnceLock::new(),
            reading: Mutex::default(),
            executed: AtomicU64::new(0),
            fallbacks: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            bytes_up: AtomicU64::new(0),
            bytes_down: AtomicU64::new(0),
        }
    }

    /// Returns the counters so far.
    pub fn figures(&self) -> ExecutionFigures {
        ExecutionFigures {
            executed: self.executed.load(Relaxed),
            fallbacks: self.fallbacks.load(Relaxed),
            commands: self.commands.load(Relaxed),
            bytes_up: self.bytes_up.load(Relaxed),
            bytes_down: self.bytes_down.load(Relaxed),
        }
    }

    /// Returns the warning about a server that was disabled.
    pub fn warning(&self) -> Option<Diag> {
        let cause = self.breaker.cause()?;
        let message = format!(
            "remote execution by {} is disabled for the rest of this build: {cause}",
            self.server.name()
        );
        Some(Diag::new(Code::RemoteExecution, message).hint(
            "the assets were built locally; check the server and its workers, see docs/reference/remote-execution.md",
        ))
    }

    /// Returns the name of the server for messages.
    pub(crate) fn name(&self) -> String {
        self.server.name()
    }

    /// Returns the number of commands in flight; 0 if the server is disabled.
    pub(crate) fn jobs(&self) -> usize {
        if self.breaker.is_open() { 0 } else { self.limits.jobs.max(1) }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        !self.breaker.is_open()
    }

    pub(crate) fn count_executed(&self) {
        self.executed.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_fallback(&self) {
        self.fallbacks.fetch_add(1, Relaxed);
    }

    /// Disables the server because of a result that no worker with this program returns.
    pub(crate) fn reject(&self, why: &'static str) {
        self.breaker.open(Fault::Garbled(why));
    }

    /// Runs the action of a request with these sources; `None` if there is no result.
    pub(crate) fn execute(
        &self,
        request: &[u8],
        sources: Vec<CommandFile>,
        directories: &[String],
        read: &(dyn Fn(&RelPath) -> Option<Vec<u8>> + Sync),
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Vec<u8>> {
        let mut files = match self.program_files.get_or_init(|| self.hash_program()) {
            Ok(files) => files.clone(),
            Err(fault) => {
                self.breaker.open(fault.clone());
                return None;
            }
        };
        files.push(CommandFile {
            path: REQUEST.to_owned(),
            blob: Blob::of(request),
            is_executable: false,
            content: FileContent::Bytes(request.to_vec()),
        });
        files.extend(sources);
        let read = |file: &CommandFile| {
            let bytes = self.read(file, read)?;
            self.bytes_up.fetch_add(bytes.len() as u64, Relaxed);
            Ok(bytes)
        };
        let arguments: Vec<String> =
            [self.program_path()].into_iter().chain(self.program.arguments.clone()).collect();
        // The search path of libraries is relative to the directory of the command.
        let environment: Vec<(String, String)> = match self.program.libraries.is_empty() {
            true => vec![],
            false => vec![("LD_LIBRARY_PATH".to_owned(), LIBRARY_DIR.to_owned())],
        };
        let command = Command {
            arguments: &arguments,
            environment: &environment,
            files: &files,
            directories,
            output: RESULT,
            timeout: self.limits.timeout,
            read: &read,
            is_cancelled,
        };
        self.commands.fetch_add(1, Relaxed);
        let start = Instant::now();
        match self.server.execute(&command) {
            Ok(result) => {
                self.breaker.record_success();
                self.bytes_down.fetch_add(result.len() as u64, Relaxed);
                Some(result)
            }
            Err(_) if is_cancelled() => None,
            Err(fault) => {
                self.breaker.record_failure(fault, start.elapsed());
                None
            }
        }
    }

    /// Reads the content of a file and makes sure that it still has its digest.
    fn read(
        &self,
        file: &CommandFile,
        source: &(dyn Fn(&RelPath) -> Option<Vec<u8>> + Sync),
    ) -> Result<Vec<u8>, Fault> {
        let _one_at_a_time = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = match &file.content {
            FileContent::Bytes(bytes) => Some(bytes.clone()),
            FileContent::Source(path) => source(path),
            FileContent::File(path) => std::fs::read(path).ok(),
        };
        let modified = || Fault::Disk(format!("{} was modified or cannot be read", file.path));
        bytes.filter(|bytes| Blob::of(bytes) == file.blob).ok_or_else(modified)
    }

    /// Returns the path of the executable, relative to the directory of a command.
    fn program_path(&self) -> String {
        let name = self.program.executable.file_name().unwrap_or_default();
        format!("{PROGRAM_DIR}/{}", name.to_string_lossy())
    }

    fn hash_program(&self) -> Result<Vec<CommandFile>, Fault> {
        let executable = (self.program_path(), &self.program.executable);
        let libraries = self.program.libraries.iter();
        let libraries = libraries.map(|(name, file)| (format!("{LIBRARY_DIR}/{name}"), file));
        let hashed = |(path, file): (String, &PathBuf)| {
            let blob = hash_file(file).map_err(|e| Fault::Disk(format!("{}: {e}", file.display())))?;
            Ok(CommandFile { path, blob, is_executable: true, content: FileContent::File(file.clone()) })
        };
        [executable].into_iter().chain(libraries).map(hashed).collect()
    }
}

/// The directory of the executable, relative to the directory of a command.
const PROGRAM_DIR: &str = "bin";
/// The directory of the libraries, relative to the directory of a command.
const LIBRARY_DIR: &str = "lib";

/// Hashes a file in chunks: executables are large.
fn hash_file(path: &Path) -> io::Result<Blob> {
    let (hash, len) = Hash::of_reader(File::open(path)?)?;
    Ok(Blob { hash, len })
}
