//! Time and memory as Linux counts them. CPU time is not spoilt by a busy machine.

use std::time::Instant;

/// Elapsed time in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    pub cpu: f64,
    pub wall: f64,
}

/// Runs `work` on all threads of this process.
pub fn time<T>(work: impl FnOnce() -> T) -> (T, Took) {
    let (wall, cpu) = (Instant::now(), process_seconds());
    let result = work();
    (result, Took { cpu: process_seconds() - cpu, wall: wall.elapsed().as_secs_f64() })
}

/// CPU time of this thread.
pub fn thread_seconds() -> f64 {
    seconds(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn process_seconds() -> f64 {
    seconds(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn seconds(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call only writes into `time`.
    assert_eq!(unsafe { libc::clock_gettime(clock, &mut time) }, 0, "a Linux that knows clock {clock}");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A line of `/proc/self/status` in MB: `VmRSS:` is what is held now, `VmHWM:` the most since [`forget_peak`].
pub fn memory(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux with /proc");
    let line = status.lines().find(|line| line.starts_with(field)).expect("a known field");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).expect("KiB") * 1024.0 / 1e6
}

/// Resets the memory peak.
pub fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").expect("a Linux that forgets the peak");
}
