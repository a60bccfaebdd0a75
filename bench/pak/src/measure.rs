//! Wall time and CPU time of some work, and the peak memory of the process.

use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;

/// The median times of some runs, in seconds: wall and CPU of all threads.
pub fn median(times: usize, mut work: impl FnMut()) -> [f64; 2] {
    let mut all: [Vec<f64>; 2] = Default::default();
    for _ in 0..times {
        let (start, cpu_start) = (Instant::now(), cpu());
        work();
        all[0].push(start.elapsed().as_secs_f64());
        all[1].push(cpu() - cpu_start);
    }
    all.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    })
}

/// Prints the figures of this process.
pub fn report([wall, cpu]: [f64; 2]) {
    println!("wall={wall} cpu={cpu} rss={}", peak());
}

/// CPU seconds of this process so far.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The most memory this process had, in MB.
fn peak() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}
