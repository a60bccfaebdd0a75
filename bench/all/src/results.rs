//! `bench/results.json`: the content of every table, with date, machine and load. It is rewritten atomically
//! after each table.

use crate::block::{self, Block};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// One table run: everything its programs printed.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub commands: Vec<String>,
    pub when: String,
    pub seconds: u64,
    pub load: String,
    pub machine: String,
    pub files: String,
    pub missing: Vec<String>,
    pub blocks: Vec<Block>,
}

impl Run {
    /// A block by its name; the first one has the name of the table.
    pub fn block(&self, name: &str) -> Option<&Block> {
        self.blocks.iter().find(|block| block.name == name)
    }
}

/// All tables by name.
#[derive(Default)]
pub struct Results(Vec<(String, Run)>);

impl Results {
    /// Reads the file; empty if it does not exist.
    pub fn read(path: &Path) -> Result<Self, String> {
        let Ok(text) = fs::read_to_string(path) else { return Ok(Self::default()) };
        let value: Value = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let run = |(name, v): (&String, &Value)| {
            let run = Run {
                commands: block::strings(&v["commands"]),
                when: text(&v["when"]),
                seconds: v["seconds"].as_u64().unwrap_or(0),
                load: text(&v["load"]),
                machine: text(&v["machine"]),
                files: text(&v["files"]),
                missing: block::strings(&v["missing"]),
                blocks: v["blocks"].as_array().into_iter().flatten().map(Block::from_json).collect(),
            };
            (name.clone(), run)
        };
        Ok(Self(value.as_object().into_iter().flatten().map(run).collect()))
    }

    /// Replaces the file in one step, so that an interruption leaves the old one or the new one.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let one = |run: &Run| {
            json!({
                "commands": run.commands, "when": run.when, "seconds": run.seconds, "load": run.load,
                "machine": run.machine, "files": run.files, "missing": run.missing,
                "blocks": run.blocks.iter().map(Block::to_json).collect::<Vec<_>>(),
            })
        };
        let all: Map<String, Value> = self.0.iter().map(|(name, run)| (name.clone(), one(run))).collect();
        let text = serde_json::to_string_pretty(&all).map_err(|e| e.to_string())? + "\n";
        let new = path.with_extension("json.new");
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        fs::write(&new, text).map_err(failed)?;
        fs::rename(&new, path).map_err(failed)
    }

    /// Iterates over the tables by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Run)> {
        self.0.iter().map(|(name, run)| (name.as_str(), run))
    }

    pub fn get(&self, name: &str) -> Option<&Run> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, run)| run)
    }

    pub fn put(&mut self, name: &str, run: Run) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), run));
        self.0.sort_by(|a, b| a.0.cmp(&b.0));
    }
}

/// The load average, as the kernel tells it.
pub fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// The file system that temporary files, and so all generated sources, lie in.
pub fn scratch() -> String {
    let place = std::env::temp_dir();
    let text = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounts = text.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let holding = mounts.filter(|(at, _)| place.starts_with(at)).max_by_key(|(at, _)| at.len());
    holding.map_or_else(|| "unknown".to_owned(), |(_, kind)| kind.to_owned())
}

/// Cores, processor, memory, kernel and compiler, in one line.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let line = |path: &str, key: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let value = text.lines().find(|line| line.starts_with(key)).and_then(|line| line.split_once(':'));
        value.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let kib: f64 = line("/proc/meminfo", "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0.0);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{cores} cores of {}, {:.0} GB, Linux {}, {}",
        line("/proc/cpuinfo", "model name"),
        kib / 1e6,
        kernel.trim(),
        said("rustc", &["--version"]).unwrap_or_default(),
    )
}

/// Returns the output of a program, if it can be run.
pub fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let done = Command::new(program).args(arguments).output().ok()?;
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

/// Now, as `2026-11-16 10:05` in UTC.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds)
}

/// Days to a date after Howard Hinnant's `civil_from_days`, with years that begin in March.
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}", seconds / 3_600 % 24, seconds / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00");
        assert_eq!(date(951_782_399), "2000-02-28 23:59");
        assert_eq!(date(951_782_400), "2000-02-29 00:00");
        assert_eq!(date(1_794_821_400), "2026-11-16 09:30");
    }

    #[test]
    fn results_are_merged_and_read_back() {
        let path = std::env::temp_dir().join(format!("bench-all-{}.json", std::process::id()));
        let mut results = Results::default();
        results.put("warm", Run { seconds: 1, ..Run::default() });
        results.put("cold", Run { missing: vec!["a rival".into()], ..Run::default() });
        results.put("warm", Run { seconds: 2, load: "0.1".into(), ..Run::default() });
        results.write(&path).expect("room for a file");
        let read = Results::read(&path).expect("what was written");
        fs::remove_file(&path).expect("it was there");
        assert_eq!(read.0.len(), 2);
        assert_eq!(read.get("warm").map(|run| (run.seconds, &*run.load)), Some((2, "0.1")));
        assert_eq!(read.get("cold").map(|run| run.missing.len()), Some(1));
    }
}
