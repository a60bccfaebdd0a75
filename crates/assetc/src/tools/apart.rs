//! Processes that compile shaders, so that a source that makes the compiler crash or hang fails alone.
//!
//! A process serves any number of sources, one after the other. Starting one takes a hundred times as long as compiling
//! a usual source, so that those that wait for the next source are kept, and a busy one is waited for before another
//! is started. One that breaks is ended.

use kiln_kit::Diag;
use kiln_shader::{
    Channel, Compiled, Includes, Options, Source, Stage, Target, compile_apart, learn, read_frame,
    write_frame,
};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// How long a process may think, unless told otherwise.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a busy process is waited for.
const QUEUE: Duration = Duration::from_millis(250);

/// Processes of one program.
#[derive(Debug)]
pub(crate) struct Workers {
    program: PathBuf,
    args: Vec<OsString>,
    patience: Duration,
    crew: Mutex<Crew>,
    /// Somebody has become idle, or is gone.
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Crew {
    idle: Vec<Worker>,
    busy: usize,
}

impl Workers {
    pub(super) fn new(program: PathBuf, args: Vec<OsString>) -> Workers {
        Workers { program, args, patience: PATIENCE, crew: Mutex::default(), freed: Condvar::new() }
    }

    /// Starts a process unless there is one.
    pub(super) fn warm_up(&self, head: impl FnOnce() -> String, stage: Stage, target: Target) {
        let mut crew = self.crew();
        if crew.idle.is_empty() && crew.busy == 0 {
            // Whoever needs it tries again, and is told.
            let Ok(mut worker) = self.start() else { return };
            learn(&head(), stage, target, &mut worker);
            worker.learning = true;
            crew.idle.push(worker);
        }
    }

    pub(super) fn compile(
        &self,
        source: &Source<'_>,
        options: &Options<'_>,
        includes: &mut dyn Includes,
    ) -> Result<Compiled, Diag> {
        let none_free = |crew: &mut Crew| crew.idle.is_empty() && crew.busy > 0;
        let waited = self.freed.wait_timeout_while(self.crew(), QUEUE, none_free);
        let (mut crew, _) = waited.unwrap_or_else(PoisonError::into_inner);
        crew.busy += 1;
        let idle = crew.idle.pop();
        drop(crew);
        let started = idle.map_or_else(|| self.start(), Ok);
        let mut done = Busy { workers: self, worker: None };
        let worker = done.worker.insert(started.map_err(|diag| diag.path(source.path))?);
        if std::mem::take(&mut worker.learning) {
            worker.receive().map_err(|diag| diag.path(source.path))?;
        }
        compile_apart(source, options, includes, worker)
    }

    fn crew(&self) -> MutexGuard<'_, Crew> {
        self.crew.lock().unwrap_or_else(PoisonError::into_inner)
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
        let worker = Worker { child, input, frames, patience: self.patience, learning: false, broken: false };
        spawned.map(|_| worker).map_err(|e| failed(e.to_string()))
    }
}

/// A process at work; back among the idle ones afterwards, unless it is broken.
struct Busy<'a> {
    workers: &'a Workers,
    worker: Option<Worker>,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut crew = self.workers.crew();
        crew.busy -= 1;
        crew.idle.extend(self.worker.take().filter(|worker| !worker.broken));
        drop(crew);
        self.workers.freed.notify_one();
    }
}

/// One process, which ends with this.
#[derive(Debug)]
struct Worker {
    child: Child,
    input: ChildStdin,
    frames: mpsc::Receiver<Vec<u8>>,
    patience: Duration,
    /// Whether an answer is still to come that nobody asked for.
    learning: bool,
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
    use kiln_shader::{Include, Included, Language};

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
        let crew = workers.crew();
        assert!(crew.idle.is_empty() && crew.busy == 0);
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
