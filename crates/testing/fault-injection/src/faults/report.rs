//! What a run found: a line for each row, for people or as JSON for documents.

use super::Row;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// A case that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its name.
    pub case: String,
    /// What it said.
    pub why: String,
    /// Its directory, which is kept.
    pub dir: PathBuf,
}

/// What came of a row.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub unit: &'static str,
    /// What everything random was drawn from.
    pub seed: u64,
    /// How many there were.
    pub cases: usize,
    /// Those that failed, by name.
    pub failures: Vec<Failure>,
    /// Why nothing was run, if nothing was.
    pub not_run: Option<String>,
    /// How long it took.
    pub took: Duration,
}

impl Tally {
    /// Nothing yet.
    pub fn of(row: &Row, seed: u64) -> Tally {
        let (name, unit) = (row.name, row.unit);
        Tally { name, unit, seed, cases: 0, failures: vec![], not_run: None, took: Duration::ZERO }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let Tally { name, unit, seed, cases, .. } = self;
        match &self.not_run {
            Some(why) => format!("{name:<10} not run: {why}"),
            None => {
                let (failed, took) = (self.failures.len(), self.took.as_secs_f64());
                format!("{name:<10} {cases:>6} {unit:<16} {failed:>4} failed {took:>8.1} s   seed {seed}")
            }
        }
    }

    /// One JSON object.
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

/// A JSON string.
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
    fn a_row_that_could_not_be_run_is_no_success() {
        let mut tally = Tally::of(&super::super::kills::ROW, 3);
        tally.not_run = Some("there is no \"strace\" here".into());
        assert!(tally.line().contains("not run") && !tally.line().contains("0 failed"));
        assert!(
            tally.json().ends_with("\"not_run\":\"there is no \\\"strace\\\" here\"}"),
            "{}",
            tally.json()
        );
    }
}
