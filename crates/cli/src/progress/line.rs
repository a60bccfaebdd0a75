//! The line of the progress bar: as much as fits the width of the terminal.

use std::time::Duration;

/// The width of a full bar, in columns.
const BAR: usize = 24;
/// The width of the narrowest bar.
const SHORT_BAR: usize = 8;
/// The time and the number of finished assets after which a rate is known.
const SETTLED: (Duration, usize) = (Duration::from_secs(1), 2);

/// The state of a run.
#[derive(Debug, Default)]
pub(super) struct Snapshot<'a> {
    pub(super) total: usize,
    pub(super) finished: usize,
    pub(super) failed: usize,
    pub(super) elapsed: Duration,
    /// The assets in flight, the oldest first, printable.
    pub(super) running: &'a [String],
}

/// Formats the line in at most `columns` columns: the bar, the count, failures, the rate, the time left, and the asset
/// that has been in flight for the longest time. A narrow terminal omits the last ones and shortens the bar.
pub(super) fn line(run: &Snapshot<'_>, columns: usize) -> String {
    let count = format!("{}/{}", run.finished, run.total);
    let mut parts = vec![count];
    if run.failed > 0 {
        parts.push(format!("{} failed", run.failed));
    }
    parts.extend(rate(run));
    // The current asset needs room for a part of its name.
    const NAME: usize = 12;
    let bar = |width: usize| match width {
        0 => String::new(),
        width => {
            let filled = (run.finished * width).checked_div(run.total).unwrap_or(0).min(width);
            format!("{}{} ", "━".repeat(filled), "─".repeat(width - filled))
        }
    };
    let fits = |parts: &[String], bar: usize, rest: usize| {
        let bar = if bar == 0 { 0 } else { bar + 1 };
        bar + width(&parts.join(", ")) + rest <= columns
    };
    // The count and the failures matter more than the bar.
    let essential = if run.failed > 0 { 2 } else { 1 };
    let (mut bar_width, mut name) = (BAR, if run.running.is_empty() { 0 } else { NAME });
    while !fits(&parts, bar_width, name) {
        match () {
            () if bar_width > SHORT_BAR => bar_width = SHORT_BAR,
            () if name > 0 => name = 0,
            () if parts.len() > essential => _ = parts.pop(),
            () if bar_width > 0 => bar_width = 0,
            () if parts.len() > 1 => _ = parts.pop(),
            () => break,
        }
    }
    let mut line = format!("{}{}", bar(bar_width), parts.join(", "));
    if name > 0 {
        let room = columns - width(&line) - 2;
        line = format!("{line}  {}", current(run.running, room));
    }
    clip_end(&line, columns)
}

/// Formats the rate and the time left, once they are known.
fn rate(run: &Snapshot<'_>) -> Vec<String> {
    if run.elapsed < SETTLED.0 || run.finished < SETTLED.1 {
        return vec![];
    }
    let per_second = run.finished as f64 / run.elapsed.as_secs_f64();
    let rate = match per_second {
        rate if rate >= 10.0 => format!("{rate:.0}/s"),
        rate if rate >= 1.0 => format!("{rate:.1}/s"),
        rate => format!("{:.0}/min", rate * 60.0),
    };
    let left = run.total.saturating_sub(run.finished) as f64 / per_second;
    let left = left.ceil() as u64;
    vec![rate, format!("ETA {}:{:02}", left / 60, left % 60)]
}

/// Formats the oldest asset in flight and the number of the others.
fn current(running: &[String], room: usize) -> String {
    let Some(oldest) = running.first() else { return String::new() };
    let others = match running.len() - 1 {
        0 => String::new(),
        n => format!(" +{n}"),
    };
    let room = room.saturating_sub(width(&others));
    format!("{}{others}", clip_start(oldest, room))
}

/// Returns the end of a string that fits into `room` columns, with an ellipsis where the start is missing: the name of a
/// file matters more than its folders.
fn clip_start(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += columns_of(*c);
        used <= room
    };
    let end: Vec<char> = text.chars().rev().take_while(fits).collect();
    if room == 0 { String::new() } else { "…".chars().chain(end.into_iter().rev()).collect() }
}

fn clip_end(text: &str, room: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += columns_of(*c);
        used <= room
    };
    text.chars().take_while(fits).collect()
}

/// Returns the number of columns that a string takes on a terminal.
fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Returns the number of columns of a character: two for wide characters of East Asia and emoji, none for combining marks.
fn columns_of(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Vec<String> {
        ["environments/courtyard/textures/stone wall 漢字.png", "b.png", "c.png"].map(String::from).to_vec()
    }

    #[test]
    fn fits_every_width() {
        let running = running();
        for columns in 1..200 {
            for (finished, failed, seconds) in [(0, 0, 0), (37, 0, 10), (1200, 12, 4000)] {
                let elapsed = Duration::from_secs(seconds);
                let run = Snapshot { total: 1475, finished, failed, elapsed, running: &running };
                let line = line(&run, columns);
                assert!(width(&line) <= columns, "{columns}: {line}");
                assert!(columns < 10 || line.contains(&format!("{finished}/1475")), "{columns}: {line}");
            }
        }
    }

    #[test]
    fn shows_rate_time_left_and_oldest_asset() {
        let running = running();
        let elapsed = Duration::from_secs(10);
        let run = Snapshot { total: 100, finished: 25, failed: 1, elapsed, running: &running };
        assert_eq!(
            line(&run, 120),
            "━━━━━━────────────────── 25/100, 1 failed, 2.5/s, ETA 0:30  environments/courtyard/textures/stone wall 漢字.png +2"
        );
        assert_eq!(
            line(&run, 70),
            "━━━━━━────────────────── 25/100, 1 failed, 2.5/s, ETA 0:30  …l 漢字.png +2"
                .replace("…l 漢字.png +2", &current(&running, 10))
        );
        assert_eq!(line(&run, 40), "━━────── 25/100, 1 failed, 2.5/s");
        assert_eq!(line(&run, 20), "25/100, 1 failed");
        assert_eq!(line(&run, 8), "25/100");
    }

    #[test]
    fn slow_rates_are_per_minute() {
        let run = |finished, seconds| {
            let elapsed = Duration::from_secs(seconds);
            rate(&Snapshot { total: 100, finished, elapsed, ..Snapshot::default() }).join(" ")
        };
        assert_eq!(run(2, 40), "3/min ETA 32:40");
        assert_eq!(run(50, 1), "50/s ETA 0:01");
        assert_eq!(run(1, 10), "");
        assert_eq!(run(50, 0), "");
    }
}
