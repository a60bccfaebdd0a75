//! What a process took, and the median of what something takes.

use std::time::Instant;

/// The median time of some runs, in seconds.
pub fn median(times: usize, mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    let mut all: Vec<f64> = (0..times).map(time).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Prints the figures of this process.
pub fn report(wall: f64) {
    println!("wall={wall} cpu={} rss={}", cpu(), peak());
}

/// CPU seconds of this process, by the kernel's count in hundredths.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |n: usize| fields.get(n).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// The most memory this process had, in MB.
fn peak() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0) / 1e3
}
