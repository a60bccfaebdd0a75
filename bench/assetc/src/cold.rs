//! A cold build of a real project: wall time, processor time and peak memory with one thread on one core and with two on
//! two, and where the time goes.

use crate::stages;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

pub struct Run {
    pub wall: f64,
    pub cpu: f64,
    peak: u64,
}

/// Builds the sources below `assets` into fresh directories, in turn with one thread and with two.
pub fn cold(assets: &Path, runs: usize) {
    let program = crate::assetc();
    let mut best: [Option<Run>; 2] = [None, None];
    for _ in 0..runs {
        for (jobs, best) in [1, 2].into_iter().zip(&mut best) {
            let run = build(&program, assets, jobs);
            if best.as_ref().is_none_or(|b| run.wall < b.wall) {
                *best = Some(run);
            }
        }
    }
    let [Some(one), Some(two)] = best else { return };
    println!("| {} | wall, s | processor, s | peak memory, MB |\n|---|---|---|---|", assets.display());
    for (name, run) in [("one thread", &one), ("two threads", &two)] {
        println!("| {name} | {:.2} | {:.2} | {:.0} |", run.wall, run.cpu, run.peak as f64 / 1e6);
    }
    println!("| ratio | {:.2} | | |\n", one.wall / two.wall);
    stages::print(assets);
}

fn build(program: &Path, assets: &Path, jobs: usize) -> Run {
    build_with(program, assets, jobs, &[("KILN_CACHE".to_owned(), "off".to_owned())])
}

/// Builds into an empty output, in this environment.
pub fn build_with(program: &Path, assets: &Path, jobs: usize, vars: &[(String, String)]) -> Run {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let input = std::fs::canonicalize(assets).expect("the project is there");
    std::fs::write(dir.path().join("assetc.yml"), format!("input: {}\n", input.display())).expect("room for a file");
    let start = Instant::now();
    let mut child = Command::new(program);
    child.envs(vars.iter().map(|(name, value)| (name, value)));
    child.arg("-q").arg("-C").arg(dir.path()).arg(format!("-j{jobs}")).stderr(std::process::Stdio::null());
    // One thread gets one core: the process that compiles shaders would use the other, and flatter it.
    let pin = move || unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        (0..jobs).for_each(|core| libc::CPU_SET(core, &mut cores));
        match libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &cores) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: between fork and exec it calls the kernel and nothing else.
    unsafe { child.pre_exec(pin) };
    let child = child.spawn().expect("assetc runs");
    let (mut status, mut usage) = (0, unsafe { std::mem::zeroed::<libc::rusage>() });
    // SAFETY: the process is our child, and both places are ours to write.
    unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
    let wall = start.elapsed().as_secs_f64();
    assert_eq!(status, 0, "the project builds");
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    Run { wall, cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime), peak: usage.ru_maxrss as u64 * 1024 }
}
