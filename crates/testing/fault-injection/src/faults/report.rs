//! The report of a run: one line or one JSON object per suite.

use super::Suite;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// A failed case.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The name of the case.
    pub case: String,
    /// The panic message.
    pub why: String,
    /// The test directory, which is kept.
    pub dir: PathBuf,
}

/// The result of a suite.
#[derive(Clone, Debug)]
pub struct Tally {
    /// The name of the suite.
    pub name: &'static str,
    /// The plural noun for what the suite counts.
    pub unit: &'static str,
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of units, such as kills or builds.
    pub cases: usize,
    /// The failed cases, sorted by name.
    pub failures: Vec<Failure>,
    /// The reason why the suite was not run, if it was not.
    pub not_run: Option<String>,
    /// The wall-clock time of the suite.
    pub took: Duration,
}

impl Tally {
    /// Creates an empty result.
    pub fn of(row: &Suite, seed: u64) -> Tally {
        let (name, unit) = (row.name, row.unit);
        Tally { name, unit, seed, cases: 0, failures: vec![], not_run: None, took: Duration::ZERO }
    }

    /// Formats the result as one line of text.
    pub fn line(&self) -> String {
        let Tally { name, unit, seed, cases, .. } = self;
        match &self.not_run {
            Some(why) => format!("{name:<20} not run: {why}"),
            None => {
                let (failed, took) = (self.failures.len(), self.took.as_secs_f64());
                format!("{name:<20} {cases:>6} {unit:<16} {failed:>4} failed {took:>8.1} s   seed {seed}")
            }
        }
    }

    /// Formats the result as a JSON object.
    pub fn json(&self) -> String {
        let mut text = format!("{{\"name\":{},\"unit\":{}", quoted(self.name), quoted(self.unit));
        let _ = write!(text, ",\"seed\":{},\"cases\":{}", self.seed, self.cases);
        let names: Vec<String> = self.failures.iter().map(|failure| quoted(&failure.case)).collect();
        let _ =
            write!(text, ",\"failures\":[{}],\"seconds\":{:.1}", names.join(","), self.took.as_secs_f64());
        if let Some(why) = &self.not_run {
            let _ = write!(text, ",\"not_run\":{}", quoted(why));
        }
        text + "}"
    }
}

/// Quotes a string as JSON.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => _ = write!(out, "\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suite_that_was_not_run_is_not_a_success() {
        let mut tally = Tally::of(&super::super::kills::SUITE, 3);
        tally.not_run = Some("\"strace\" is not installed".into());
        assert!(tally.line().contains("not run") && !tally.line().contains("0 failed"));
        assert!(
            tally.json().ends_with("\"not_run\":\"\\\"strace\\\" is not installed\"}"),
            "{}",
            tally.json()
        );
    }
}
