//! Peak memory and CPU time of a process, from `getrusage` in a copy of this executable that starts nothing else.

use super::tool::{self, Ran};
use nix::sys::time::TimeValLike;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// The internal subcommand that runs a program and records its resource usage.
pub const MEASURED: &str = "measured";

/// Runs a program and writes its peak memory in KB and its CPU time in ms to a file: `measured FILE PROGRAM ARGS…`.
pub fn run_measured(mut args: impl Iterator<Item = String>) -> ExitCode {
    let (Some(file), Some(program)) = (args.next(), args.next()) else { return ExitCode::from(2) };
    let status = Command::new(program).args(args).status();
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN);
    let (peak, time) = usage.map_or((i64::MAX, i64::MAX), |usage| {
        (usage.max_rss(), usage.user_time().num_milliseconds() + usage.system_time().num_milliseconds())
    });
    if std::fs::write(file, format!("{peak} {time}")).is_err() {
        return ExitCode::from(2);
    }
    let code = status.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(255))
}

/// Runs a command in a directory; returns its result, its peak memory in KB and its CPU time.
pub fn measure(command: &Command, dir: &Path) -> (Ran, u64, Duration) {
    let file = dir.with_extension("peak");
    let mut outer = Command::new(std::env::current_exe().unwrap());
    outer.arg(MEASURED).arg(&file).arg(command.get_program()).args(command.get_args()).current_dir(dir);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    let ran = tool::run(outer).assert_no_crash();
    let text = std::fs::read_to_string(&file).unwrap();
    let (peak, time) = text.split_once(' ').unwrap();
    (ran, peak.parse().unwrap(), Duration::from_millis(time.parse().unwrap()))
}
