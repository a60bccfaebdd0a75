//! Processor and wall time of a piece of work in this thread.

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub cpu: f64,
    pub wall: f64,
}

impl Clock {
    pub fn time(work: impl FnOnce()) -> Self {
        let (cpu, wall) = (seconds(libc::CLOCK_THREAD_CPUTIME_ID), seconds(libc::CLOCK_MONOTONIC));
        work();
        Self {
            cpu: seconds(libc::CLOCK_THREAD_CPUTIME_ID) - cpu,
            wall: seconds(libc::CLOCK_MONOTONIC) - wall,
        }
    }
}

fn seconds(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live structure of the right type.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
