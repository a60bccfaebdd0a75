//! Resource usage of whole processes: wall time, CPU time of all threads, and peak memory; several runs are reported as
//! the median with the least and the greatest value. Shared by the benches; Linux only.

use std::process::Command;
use std::time::Instant;

/// One run: seconds, seconds and MB.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub wall: f64,
    pub cpu: f64,
    pub peak: f64,
}

/// Runs a program to its end; nothing if it cannot be started or fails. The memory is at least what the caller held when
/// it started the program, so callers stay small.
pub fn run(command: &mut Command) -> Option<Cost> {
    measure(command).filter(|(_, status)| *status == 0).map(|(cost, _)| cost)
}

/// Runs a program to its end, whatever its exit code; nothing if it cannot be started.
#[allow(dead_code, reason = "no bench uses everything")]
pub fn run_any(command: &mut Command) -> Option<Cost> {
    measure(command).map(|(cost, _)| cost)
}

fn measure(command: &mut Command) -> Option<(Cost, i32)> {
    let start = Instant::now();
    let child = command.spawn().ok()?;
    let id = child.id() as libc::pid_t;
    // SAFETY: an all-zero `rusage` is a value of that plain C struct; the call waits for a child that nobody else waits
    // for, and only writes into `status` and `usage`.
    let (ended, status, usage) = unsafe {
        let (mut status, mut usage) = (0, std::mem::zeroed::<libc::rusage>());
        (libc::wait4(id, &mut status, 0, &mut usage), status, usage)
    };
    let wall = start.elapsed().as_secs_f64();
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    let cost = Cost { wall, cpu, peak: usage.ru_maxrss as f64 * 1024.0 / 1e6 };
    (ended == id).then_some((cost, status))
}

/// Several runs of one thing.
#[derive(Clone, Debug, Default)]
pub struct Costs(pub Vec<Cost>);

#[allow(dead_code, reason = "no bench uses everything")]
impl Costs {
    pub fn push(&mut self, cost: Cost) {
        self.0.push(cost);
    }

    pub fn values(&self, key: fn(&Cost) -> f64, scale: f64) -> Vec<f64> {
        self.0.iter().map(|cost| key(cost) * scale).collect()
    }

    /// Median wall time in seconds.
    pub fn wall(&self) -> f64 {
        median(&self.values(|c| c.wall, 1.0))
    }

    /// Median processor time in seconds.
    pub fn cpu(&self) -> f64 {
        median(&self.values(|c| c.cpu, 1.0))
    }

    /// The cells of a row: wall and processor time with their spread, in seconds or, with 1000, in ms, and memory in MB.
    pub fn cells(&self, scale: f64) -> String {
        let [wall, cpu]: [fn(&Cost) -> f64; 2] = [|c| c.wall, |c| c.cpu];
        let [wall, cpu] = [wall, cpu].map(|key| spread(&self.values(key, scale)));
        format!("{wall} | {cpu} | {:.1}", median(&self.values(|c| c.peak, 1.0)))
    }
}

/// The middle one; the upper of two.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// `median (least–most)`, with three digits that count.
pub fn spread(values: &[f64]) -> String {
    let middle = median(values);
    let digits = if middle < 1.0 { 3 } else { 2_usize.saturating_sub(middle.log10() as usize) };
    let least = values.iter().copied().fold(f64::MAX, f64::min);
    let most = values.iter().copied().fold(f64::MIN, f64::max);
    format!("{middle:.digits$} ({least:.digits$}–{most:.digits$})")
}
