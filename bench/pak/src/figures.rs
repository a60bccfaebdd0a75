//! Figures of several processes, the two tools in turn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the path of a baked pak.
pub fn output(root: &Path, tool: &str, codec: &str) -> PathBuf {
    root.join(format!(
        "../out-{}/{tool}-{codec}.pak",
        root.file_name().and_then(|n| n.to_str()).unwrap_or("x")
    ))
}

/// Measurements of several processes, by name.
#[derive(Default)]
pub struct Figures(BTreeMap<String, Vec<f64>>);

impl Figures {
    fn sorted(&self, name: &str) -> Vec<f64> {
        let mut values = self.0[name].clone();
        values.sort_by(f64::total_cmp);
        values
    }

    /// Returns the median.
    pub fn middle(&self, name: &str) -> f64 {
        let values = self.sorted(name);
        values[values.len() / 2]
    }

    fn add(&mut self, other: Figures) {
        for (name, values) in other.0 {
            self.0.entry(name).or_default().extend(values);
        }
    }

    /// Wall with its spread, and CPU, in a unit that fits both.
    pub fn took(&self) -> String {
        self.of_two("wall", "cpu")
    }

    /// A figure with its spread and another one in brackets, in a unit that fits both.
    pub fn of_two(&self, first: &str, second: &str) -> String {
        let (factor, _) = unit(self.middle(first));
        format!("{} [{}]", self.spread(first), digits(self.middle(second) * factor))
    }

    /// A figure with the least and the most, and its unit.
    pub fn spread(&self, name: &str) -> String {
        let (middle, all) = (self.middle(name), self.sorted(name));
        let (factor, unit) = unit(middle);
        let (least, most) = (digits(all[0] * factor), digits(all[all.len() - 1] * factor));
        format!("{} {unit} ({least}–{most})", digits(middle * factor))
    }
}

/// The unit of seconds in which a figure reads well, and the factor to it.
fn unit(seconds: f64) -> (f64, &'static str) {
    match seconds {
        1.0.. => (1.0, "s"),
        0.001.. => (1e3, "ms"),
        _ => (1e6, "µs"),
    }
}

fn digits(value: f64) -> String {
    format!("{:.*}", if value < 10.0 { 2 } else { 1 }, value)
}

/// Both tools in turn.
pub fn pair(what: &str, root: &Path, codec: &str, runs: usize) -> [Figures; 2] {
    let mut all: [Figures; 2] = Default::default();
    for _ in 0..runs {
        for (tool, all) in ["theirs", "ours"].into_iter().zip(&mut all) {
            all.add(run(tool, what, root, codec, 1));
        }
    }
    all
}

/// Runs one process of a tool to its end.
pub fn process(tool: &str, what: &str, root: &Path, codec: &str) -> Output {
    let me = std::env::current_exe().expect("this program has a path");
    let program = if tool == "ours" { me } else { me.with_file_name("bench-pak-rival") };
    let out = output(root, tool, codec);
    std::fs::create_dir_all(out.parent().expect("a folder")).expect("a folder");
    let mut command = Command::new(&program);
    command.args(["one", what]).arg(root).arg(codec);
    if tool == "theirs" {
        command.arg(&out);
    }
    command.output().expect("it runs: build the whole workspace")
}

/// Several processes.
pub fn run(tool: &str, what: &str, root: &Path, codec: &str, runs: usize) -> Figures {
    let one = |_: usize| {
        let done = process(tool, what, root, codec);
        assert!(done.status.success(), "{tool} {what} {codec}: {}", String::from_utf8_lossy(&done.stderr));
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let figure = |part: &str| {
            let (name, value) = part.split_once('=')?;
            Some((name.to_owned(), vec![value.parse().ok()?]))
        };
        Figures(text.lines().last().unwrap_or_default().split(' ').filter_map(figure).collect())
    };
    (0..runs).map(one).fold(Figures::default(), |mut all, more| {
        all.add(more);
        all
    })
}
