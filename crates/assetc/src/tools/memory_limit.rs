//! The memory limit of a worker process: a shader can make its compiler allocate without bounds.

/// Limits the memory of this process to `bytes`. On Unix, where the limit is one of mapped memory, stacks included,
/// core dumps are disabled as well. On Windows a thread aborts the process soon after its committed memory exceeds
/// the limit. Elsewhere, or where the system refuses, nothing changes.
pub(super) fn limit_memory(bytes: u64) {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let limit = |bytes| Rlimit { current: Some(bytes), maximum: Some(bytes) };
        let _ = setrlimit(Resource::As, limit(bytes));
        let _ = setrlimit(Resource::Core, limit(0));
    }
    #[cfg(windows)]
    {
        // A job object would make allocations fail instead, but has no safe interface. Committing a gigabyte takes some
        // 200 ms, so the limit is exceeded by a small part of it.
        let committed = || memory_stats::memory_stats().map_or(0, |stats| stats.virtual_mem as u64);
        let watch = move || {
            while committed() <= bytes {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            std::process::abort();
        };
        let _ = std::thread::Builder::new().name("kiln-memory-limit".into()).spawn(watch);
    }
    #[cfg(not(any(unix, windows)))]
    let _ = bytes;
}
