//! Processes that compile shaders, so that a source that makes the compiler crash or hang fails alone.
//!
//! A process serves any number of sources, one after the other. Those that wait for the next are kept, so that starting
//! one is paid for once by each thread. One that breaks is ended.

use kiln_kit::Diag;
use kiln_shader::{Channel, Compiled, Includes, Options, Source, compile_apart, read_frame, write_frame};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// How long a process may think, unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

/// Processes of one program.
#[derive(Debug)]
pub(crate) struct Workers {
    program: PathBuf,
    args: Vec<OsString>,
    patience: Duration,
    idle: Mutex<Vec<Worker>>,
}

impl Workers {
    pub(super) fn new(program: PathBuf, args: Vec<OsString>) -> Workers {
        Workers { program, args, patience: PATIENCE, idle: Mutex::default() }
    }

    pub(super) fn compile(
        &self,
        source: &Source<'_>,
        options: &Options<'_>,
        includes: &mut dyn Includes,
    ) -> Result<Compiled, Diag> {
        let idle = self.idle().pop();
        let mut worker = idle.map_or_else(|| self.start(), Ok).map_err(|diag| diag.path(source.path))?;
        let compiled = compile_apart(source, options, includes, &mut worker);
        if !worker.broken {
            self.idle().push(worker);
        }
        compiled
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> Result<Worker, Diag> {
        let failed = |why: String| {
            Diag::error("shader-compiler", format!("the compiler of shaders cannot be started: {why}"))
        };
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|e| failed(format!("{}: {e}", self.program.display())))?;
        let (Some(input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no pipes".into()));
        };
        // A thread that does nothing but read, because reading a pipe cannot be given up.
        let (found, frames) = mpsc::channel();
        let spawned = thread::Builder::new().name("kiln-shader-pipe".into()).spawn(move || {
            while let Ok(frame) = read_frame(&mut output) {
                if found.send(frame).is_err() {
                    break;
                }
            }
        });
        let worker = Worker { child, input, frames, patience: self.patience, broken: false };
        spawned.map(|_| worker).map_err(|e| failed(e.to_string()))
    }
}

/// One process, which ends with this.
#[derive(Debug)]
struct Worker {
    child: Child,
    input: ChildStdin,
    frames: mpsc::Receiver<Vec<u8>>,
    patience: Duration,
    broken: bool,
}

impl Channel for Worker {
    fn send(&mut self, frame: &[u8]) {
        self.broken |= write_frame(&mut self.input, frame).is_err();
    }

    fn receive(&mut self) -> Result<Vec<u8>, Diag> {
        self.frames.recv_timeout(self.patience).map_err(|e| {
            self.broken = true;
            let how = match e {
                mpsc::RecvTimeoutError::Timeout => {
                    format!("does not end within {} seconds", self.patience.as_secs())
                }
                mpsc::RecvTimeoutError::Disconnected => {
                    "crashes, or asks for more memory than it may have".into()
                }
            };
            Diag::error("shader-compiler", format!("glslang {how} on this source"))
                .hint("look for macros that expand into each other, and for very long expressions")
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use kiln_shader::{Include, Included, Language, Stage, Target};

    struct Nothing;

    impl Includes for Nothing {
        fn include(&mut self, _: Include<'_>) -> Option<Included> {
            None
        }
    }

    /// What becomes of a source whose process is a script.
    fn with(script: &str) -> Diag {
        let args = vec!["-c".into(), script.into()];
        let workers =
            Workers { patience: Duration::from_millis(300), ..Workers::new("/bin/sh".into(), args) };
        let source = Source { path: "a.vert", text: "", language: Language::Glsl, stage: Stage::Vertex };
        let options = Options { target: Target::Vulkan1_2, debug: false, defines: &[] };
        let error = workers.compile(&source, &options, &mut Nothing).unwrap_err();
        assert!(workers.idle().is_empty());
        assert_eq!((&*error.code, error.path.as_str()), ("shader-compiler", "a.vert"), "{error}");
        error
    }

    #[test]
    fn a_process_that_breaks_costs_one_source() {
        assert!(with("sleep 600").message.contains("does not end"));
        assert!(with("kill -SEGV $$").message.contains("crashes"));
        assert!(with("exit").message.contains("crashes"));
        assert!(with("printf '\\377\\377\\377\\377'; sleep 600").message.contains("crashes"));
    }
}
