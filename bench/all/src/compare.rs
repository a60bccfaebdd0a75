//! Compares two files of results: measurements that got worse beyond noise.
//!
//! A measurement is a cell with a median and the spread of its runs, `12.3 (11.9–13.0)`. It got worse if the spreads do not
//! overlap and the medians differ by more than 5 %. Time and memory are better when smaller, rates (`MP/s`) when larger.
//! Memory has no spread, and is worse by more than 10 %.

use crate::results::Results;

/// The least relative difference of two medians that is reported.
const LEAST: f64 = 0.05;
/// The same for memory, which is measured once.
const LEAST_MEMORY: f64 = 0.10;

/// A measurement in units of its first value: seconds, megabytes or a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measurement {
    median: f64,
    least: f64,
    most: f64,
    is_rate: bool,
}

/// One measurement that got worse.
#[derive(Debug, PartialEq)]
pub struct Regression {
    pub place: String,
    pub old: String,
    pub new: String,
    /// The change in percent, positive if it got worse.
    pub percent: f64,
}

/// Parses `12.3 (11.9–13.0)`, `6.36 s (6.19–6.67) [6.26]` or, in a column of memory, `12.3`.
fn parse(cell: &str, column: &str) -> Option<Measurement> {
    let number = |text: &str| text.trim().replace(',', "").parse::<f64>().ok().filter(|n| n.is_finite());
    let (head, spread) = match cell.split_once('(') {
        Some((head, rest)) => (head, rest.split_once(')')?.0.split_once('–')),
        None => (cell, None),
    };
    let mut words = head.split_whitespace();
    let median = number(words.next()?)?;
    let unit = words.next().unwrap_or_default();
    let is_rate = column.contains("/s") || unit.ends_with("/s");
    let scale = if unit == "ms" { 1e-3 } else { 1.0 };
    let is_memory = column.contains("memory") || column.ends_with("MB") && !column.contains("output");
    let (least, most) = match spread {
        Some((least, most)) => (number(least)?, number(most)?),
        None if is_memory => (median * (1.0 - LEAST_MEMORY / 2.0), median * (1.0 + LEAST_MEMORY / 2.0)),
        None => return None,
    };
    Some(Measurement { median: median * scale, least: least * scale, most: most * scale, is_rate })
}

/// Returns the relative change from `old` to `new`, positive if it got worse, if it is beyond noise.
fn worse(old: Measurement, new: Measurement) -> Option<f64> {
    let (apart, change) = match old.is_rate {
        true => (new.most < old.least, old.median / new.median - 1.0),
        false => (new.least > old.most, new.median / old.median - 1.0),
    };
    (apart && change > LEAST).then_some(change)
}

/// Returns what is worse in `new` than in `old`, in the order of the tables, and the number of measurements in both.
pub fn compare(old: &Results, new: &Results) -> (Vec<Regression>, usize) {
    let (mut found, mut compared) = (Vec::new(), 0);
    for (name, run) in new.iter() {
        let Some(before) = old.get(name) else { continue };
        for block in &run.blocks {
            let Some(earlier) = before.block(&block.name) else { continue };
            for row in &block.rows {
                let Some(first) = row.first() else { continue };
                for (column, cell) in block.header.iter().zip(row).skip(1) {
                    let Some(old_cell) = earlier.cell(first, column) else { continue };
                    let (Some(a), Some(b)) = (parse(old_cell, column), parse(cell, column)) else { continue };
                    compared += 1;
                    if let Some(change) = worse(a, b) {
                        let place = format!("{}: {first}: {column}", block.name);
                        let (old, new) = (old_cell.to_owned(), cell.clone());
                        found.push(Regression { place, old, new, percent: 100.0 * change });
                    }
                }
            }
        }
    }
    (found, compared)
}

/// Prints what is worse; fails if anything is.
pub fn print(old: &Results, new: &Results) -> Result<(), String> {
    let (found, compared) = compare(old, new);
    for (name, run) in new.iter() {
        if let Some(before) = old.get(name).filter(|before| before.machine != run.machine) {
            println!("{name}: measured on another machine: {} (before: {})", run.machine, before.machine);
        }
    }
    for Regression { place, old, new, percent } in &found {
        println!("{place}: {old} -> {new} (worse by {percent:.0} %)");
    }
    println!("{compared} measurements compared, {} worse beyond noise", found.len());
    match (found.len(), compared) {
        (_, 0) => Err("the results have no measurement in common".to_owned()),
        (0, _) => Ok(()),
        (n, _) => Err(format!("{n} measurements got worse")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block;
    use crate::results::Run;

    fn results(text: &str) -> Results {
        let (blocks, _) = block::parse(text, "warm");
        let mut results = Results::default();
        results.put("warm", Run { blocks, ..Run::default() });
        results
    }

    #[test]
    fn reports_times_rates_and_memory_beyond_noise() {
        let table = |rows: &str| {
            results(&format!(
                "| size | wall, ms | MP/s | peak memory, MB | output, MB |\n|---|---|---|---|---|\n{rows}"
            ))
        };
        let old = table(
            "| 10 | 10.0 (9.0–11.0) | 50 (48–52) | 20.0 | 3 |\n| 20 | 1.51 s (1.46–1.92) [2.3] | | | |",
        );
        let worse = |rows: &str| {
            let (found, compared) = compare(&old, &table(rows));
            (
                found.iter().map(|r| r.place.rsplit(": ").next().unwrap().to_owned()).collect::<Vec<_>>(),
                compared,
            )
        };
        assert_eq!(worse("| 10 | 10.9 (9.5–12.0) | 47 (45–49) | 21.5 | 9 |"), (vec![], 3), "spreads overlap");
        assert_eq!(worse("| 10 | 9.0 (8.0–8.5) | 90 (80–99) | 1.0 | 3 |"), (vec![], 3), "better");
        assert_eq!(
            worse("| 10 | 12.0 (11.5–13.0) | 40 (39–41) | 23.0 | 3 |\n| 20 | 2.9 s (2.0–3.1) [4] | | | |"),
            (["wall, ms", "MP/s", "peak memory, MB", "wall, ms"].map(String::from).to_vec(), 4)
        );
        assert_eq!(worse("| 20 | 900 ms (800–990) [1] | | | |").0, [""; 0], "other units of the same");
        assert_eq!(worse("| 30 | 99 (98–100) | | | |"), (vec![], 0), "a new row");
        assert_eq!(worse("| 10 | 11.4 (11.1–11.6) | 50 (48–52) | 20.0 | 3 |").0, ["wall, ms"]);
        let narrow = table("| 10 | 10.0 (10.0–10.0) | | | |");
        assert!(compare(&narrow, &table("| 10 | 10.4 (10.4–10.4) | | | |")).0.is_empty(), "4 % is noise");
        assert!(print(&old, &old).is_ok() && print(&old, &Results::default()).is_err());
    }
}
