//! A pool of worker processes that compile shaders, so that a source that makes its compiler crash or hang fails alone.
//!
//! A worker compiles any number of sources, one after the other. A worker that crashes, sends invalid responses or
//! misses its deadline is killed, and the next source gets another one. Starting a worker for GLSL takes a hundred times
//! as long as compiling a typical source, so a request waits for a busy worker before it starts another.

use super::time_left;
use kiln_engine::{Code, Diag};
use kiln_shader::{
    Channel, Compiled, Includes, Language, Options, Source, Stage, Target, WorkerError, compile_in_worker,
    read_frame, warm_up, wgsl_stages_in_worker, write_frame,
};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The time that a request waits for a busy worker before it starts another: about the startup time, which is long for
/// glslang, because it loads its built-in symbols, and short for naga.
const QUEUE_GLSLANG: Duration = Duration::from_millis(250);
const QUEUE_NAGA: Duration = Duration::from_millis(10);

/// Worker processes of one program.
#[derive(Debug)]
pub(crate) struct Workers {
    program: PathBuf,
    args: Vec<OsString>,
    timeout: Duration,
    pool: Mutex<Pool>,
    /// Signals that a worker has become idle or has ended.
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Worker>,
    busy: usize,
}

impl Workers {
    /// Creates a pool of processes of this program, with a timeout per source.
    pub(super) fn new(program: PathBuf, args: Vec<OsString>, timeout: Duration) -> Workers {
        Workers { program, args, timeout, pool: Mutex::default(), freed: Condvar::new() }
    }

    /// Starts and warms up a worker for GLSL unless there is one.
    pub(super) fn warm_up(&self, head: impl FnOnce() -> String, stage: Stage, target: Target) {
        let mut pool = self.pool();
        if pool.idle.is_empty() && pool.busy == 0 {
            // A failure is reported when the next source tries again.
            let Ok(mut worker) = self.start() else { return };
            warm_up(&head(), stage, target, &mut worker);
            worker.warming_up = true;
            pool.idle.push(worker);
        }
    }

    /// Compiles one stage in a worker.
    pub(super) fn compile(
        &self,
        source: &Source<'_>,
        options: &Options<'_>,
        includes: &mut dyn Includes,
        deadline: Option<Instant>,
    ) -> Result<Compiled, Diag> {
        let queue = if source.language == Language::Wgsl { QUEUE_NAGA } else { QUEUE_GLSLANG };
        self.run(source.path, queue, deadline, |worker| compile_in_worker(source, options, includes, worker))
    }

    /// Lists the entry points of a WGSL source in a worker.
    pub(super) fn wgsl_stages(
        &self,
        path: &str,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<Vec<(Stage, String)>, Diag> {
        self.run(path, QUEUE_NAGA, deadline, |worker| wgsl_stages_in_worker(path, text, worker))
    }

    /// Runs a request in an idle worker or in a new one, with the timeout of the pool or until the deadline of its
    /// asset, whichever comes first.
    fn run<T>(
        &self,
        path: &str,
        queue: Duration,
        deadline: Option<Instant>,
        mut request: impl FnMut(&mut Worker) -> Result<T, Diag>,
    ) -> Result<T, Diag> {
        let none_free = |pool: &mut Pool| pool.idle.is_empty() && pool.busy > 0;
        let waited = self.freed.wait_timeout_while(self.pool(), time_left(queue, deadline), none_free);
        let (mut pool, _) = waited.unwrap_or_else(PoisonError::into_inner);
        pool.busy += 1;
        let mut busy = Busy { workers: self, worker: pool.idle.pop() };
        drop(pool);
        let mut attempt = |busy: &mut Busy<'_>| {
            let worker = busy.ready(path, deadline)?;
            let result = request(worker);
            // A worker whose compiler panicked, or that sends invalid responses, is not used again.
            let failed = result.as_ref().is_err_and(|diag| diag.code == Code::ShaderCompiler);
            if failed && worker.state == State::Ready {
                worker.state = State::Crashed;
            }
            result
        };
        let reused = busy.worker.is_some();
        let result = attempt(&mut busy);
        // Earlier sources may have caused the crash, by the memory that they left in use.
        if reused && busy.worker.take_if(|worker| worker.state == State::Crashed).is_some() {
            return attempt(&mut busy);
        }
        result
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> Result<Worker, Diag> {
        let failed = |why: String| {
            Diag::new(Code::ShaderCompiler, format!("the shader worker cannot be started: {why}"))
        };
        let mut command = Command::new(&self.program);
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|e| failed(format!("{}: {e}", self.program.display())))?;
        let (Some(input), Some(mut output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("the process has no pipes".into()));
        };
        // A thread for reading, because a read from a pipe has no deadline. The channel is bounded, so that a worker
        // that sends too much blocks and does not fill the memory.
        let (found, frames) = mpsc::sync_channel(1);
        let spawned = thread::Builder::new().name("kiln-shader-pipe".into()).spawn(move || {
            while let Ok(frame) = read_frame(&mut output) {
                if found.send(frame).is_err() {
                    break;
                }
            }
        });
        let worker = Worker {
            child,
            input,
            frames,
            timeout: self.timeout,
            deadline: Instant::now(),
            warming_up: false,
            state: State::Ready,
        };
        spawned.map(|_| worker).map_err(|e| failed(e.to_string()))
    }
}

/// A worker in use. On drop it returns to the pool unless it was lost.
struct Busy<'a> {
    workers: &'a Workers,
    worker: Option<Worker>,
}

impl Busy<'_> {
    /// Returns the worker with a new deadline; starts one if there is none.
    fn ready(&mut self, path: &str, deadline: Option<Instant>) -> Result<&mut Worker, Diag> {
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.workers.start().map_err(|diag| diag.path(path))?,
        };
        let worker = self.worker.insert(worker);
        worker.timeout = time_left(self.workers.timeout, deadline);
        worker.deadline = Instant::now() + worker.timeout;
        Ok(worker)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut pool = self.workers.pool();
        pool.busy -= 1;
        pool.idle.extend(self.worker.take_if(|worker| worker.state == State::Ready));
        drop(pool);
        self.workers.freed.notify_one();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    Crashed,
    TimedOut,
}

/// One worker process, killed on drop.
#[derive(Debug)]
struct Worker {
    child: Child,
    input: ChildStdin,
    frames: mpsc::Receiver<Vec<u8>>,
    /// The timeout of the current source.
    timeout: Duration,
    /// The deadline of the current source, independent of the number of its includes.
    deadline: Instant,
    /// True if the response to [`warm_up`] is outstanding.
    warming_up: bool,
    state: State,
}

impl Worker {
    fn next_frame(&mut self) -> Result<Vec<u8>, WorkerError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.frames.recv_timeout(left).map_err(|error| match error {
            mpsc::RecvTimeoutError::Timeout => {
                self.state = State::TimedOut;
                WorkerError::TimedOut(self.timeout)
            }
            mpsc::RecvTimeoutError::Disconnected => {
                self.state = State::Crashed;
                // A process that ended by itself keeps its exit status.
                let _ = self.child.kill();
                let status = self.child.wait().map(|status| status.to_string());
                WorkerError::Crashed(status.unwrap_or_else(|e| e.to_string()))
            }
        })
    }
}

impl Channel for Worker {
    fn send(&mut self, frame: &[u8]) {
        // A worker that does not read the frame is detected as crashed or late by `receive`.
        let _ = write_frame(&mut self.input, frame);
    }

    fn receive(&mut self) -> Result<Vec<u8>, WorkerError> {
        if std::mem::take(&mut self.warming_up) {
            self.next_frame()?;
        }
        self.next_frame()
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
    use kiln_shader::{Include, Included};

    struct Nothing;

    impl Includes for Nothing {
        fn include(&mut self, _: Include<'_>) -> Option<Included> {
            None
        }
    }

    fn workers(script: &str) -> Workers {
        Workers::new("/bin/sh".into(), vec!["-c".into(), script.into()], Duration::from_millis(300))
    }

    fn compile(workers: &Workers, language: Language) -> Result<Compiled, Diag> {
        let source = Source { path: "a.vert", text: "", language, stage: Stage::Vertex, entry: "main" };
        let options = Options { target: Target::Vulkan1_2, debug: false, defines: &[] };
        workers.compile(&source, &options, &mut Nothing, None)
    }

    /// Compiles with a script as the worker; returns the error and asserts that no worker is left.
    #[track_caller]
    fn error(script: &str, language: Language) -> String {
        let workers = workers(script);
        let error = compile(&workers, language).unwrap_err();
        let pool = workers.pool();
        assert!(pool.idle.is_empty() && pool.busy == 0);
        assert_eq!(
            (error.code.as_str(), error.path.as_deref().unwrap_or_default()),
            ("shader-compiler", "a.vert"),
            "{error}"
        );
        error.message
    }

    #[test]
    fn lost_worker_fails_one_source_with_the_name_of_the_compiler() {
        let glsl = |script| error(script, Language::Glsl);
        assert_eq!(glsl("exec sleep 600"), "glslang did not finish this source within 0.3 seconds");
        assert_eq!(
            error("kill -SEGV $$", Language::Wgsl),
            "naga crashed or ran out of memory while compiling this source (signal: 11 (SIGSEGV))"
        );
        assert!(glsl("exit 3").ends_with("(exit status: 3)"));
        assert!(glsl("printf '\\377\\377\\377\\377'; exec sleep 600").contains("crashed"));
        assert!(glsl("printf '\\001\\000\\000\\000x'; exec sleep 600").contains("invalid response"));
        let missing = Workers::new("/no/such/program".into(), vec![], Duration::from_secs(1));
        let missing = compile(&missing, Language::Wgsl).unwrap_err();
        assert!(
            missing.message.contains("/no/such/program") && missing.path.as_deref() == Some("a.vert"),
            "{missing}"
        );
    }

    #[test]
    fn deadline_of_an_asset_stops_its_worker() {
        let workers = Workers::new(
            "/bin/sh".into(),
            vec!["-c".into(), "exec sleep 600".into()],
            Duration::from_secs(500),
        );
        let source = Source {
            path: "a.vert",
            text: "",
            language: Language::Glsl,
            stage: Stage::Vertex,
            entry: "main",
        };
        let options = Options { target: Target::Vulkan1_2, debug: false, defines: &[] };
        let deadline = Instant::now() + Duration::from_millis(100);
        let error = workers.compile(&source, &options, &mut Nothing, Some(deadline)).unwrap_err();
        assert!(error.message.contains("did not finish") && Instant::now() >= deadline, "{error}");
        // A deadline that has passed leaves no time.
        let error = workers.wgsl_stages("a.wgsl", "", Some(deadline)).unwrap_err();
        assert!(error.message.contains("within 0 seconds"), "{error}");
        assert!(workers.pool().idle.is_empty());
    }

    #[test]
    fn include_requests_do_not_extend_the_deadline() {
        // The same include request, over and over.
        let request = "\\013\\000\\000\\000\\000\\001\\000\\000\\000b\\000\\000\\000\\000\\000";
        let script = format!("while printf '{request}'; do sleep 0.05; done");
        assert!(error(&script, Language::Hlsl).contains("did not finish"));
    }

    #[test]
    fn retries_crash_of_a_reused_worker_in_a_new_one() {
        // The first worker responds to its first source and crashes on the second; so does the next worker.
        let answer = "printf '\\011\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000\\000'";
        let workers = workers(&format!("{answer}; head -c 60 > /dev/null"));
        for _ in 0..3 {
            assert_eq!(compile(&workers, Language::Wgsl).unwrap().words, [0u32; 0]);
        }
    }
}
