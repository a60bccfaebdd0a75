//! A thread with a large stack, for compilers that recurse as deep as their sources nest.

use kiln_engine::{Code, Diag};

/// Runs `work` on a thread of its own with a stack of this many bytes, of which only touched pages take
/// memory. A panic propagates to the calling thread; a stack overflow aborts the process.
pub(crate) fn with_stack<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> Result<T, Diag> {
    std::thread::scope(|scope| {
        // Panics of threads with this name prefix are reported as errors of their asset.
        let thread = std::thread::Builder::new().name("kiln-shader".into()).stack_size(bytes);
        let started = thread.spawn_scoped(scope, work);
        let started = started
            .map_err(|e| Diag::new(Code::Threads, format!("the compiler thread cannot be started: {e}")))?;
        Ok(started.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
