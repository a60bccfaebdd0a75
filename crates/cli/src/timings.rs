//! Timings of a run: when each asset started and how long it took, and `--timings`, an HTML page of them.

use kiln_engine::{Event, Events};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The first line of a page, by which an earlier one is recognized and replaced.
pub const PAGE_HEAD: &str = "<!doctype html><!-- kiln timings -->";

/// The outcome of an asset that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The asset was built.
    Built,
    /// The result came from the build cache.
    Fetched,
    /// The asset failed.
    Failed,
}

impl Outcome {
    /// Returns the name in pages and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Built => "built",
            Outcome::Fetched => "fetched",
            Outcome::Failed => "failed",
        }
    }
}

/// The time of one asset in a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Timing {
    /// The source.
    pub source: String,
    /// The time from the start of the run to the start of the asset.
    pub start: Duration,
    /// The duration.
    pub took: Duration,
    /// The outcome.
    pub outcome: Outcome,
    /// The reason for the rebuild.
    pub reason: String,
}

/// Records the timings of a run and passes its events on.
pub struct Recorder<'a> {
    events: &'a dyn Events,
    begin: Instant,
    finished: Mutex<Vec<Timing>>,
}

impl<'a> Recorder<'a> {
    /// Starts the clock; events are passed on to `events`.
    pub fn new(events: &'a dyn Events) -> Recorder<'a> {
        Recorder { events, begin: Instant::now(), finished: Mutex::default() }
    }

    /// Returns the durations of the assets that ran, by source.
    pub fn durations(&self) -> BTreeMap<String, Duration> {
        self.finished().iter().map(|timing| (timing.source.clone(), timing.took)).collect()
    }

    /// Returns the timings of the assets that ran, in the order of their starts.
    pub fn timings(&self) -> Vec<Timing> {
        let mut timings = self.finished().clone();
        timings.sort_by(|a, b| (a.start, &a.source).cmp(&(b.start, &b.source)));
        timings
    }

    fn finished(&self) -> MutexGuard<'_, Vec<Timing>> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Events for Recorder<'_> {
    fn on(&self, event: Event<'_>) {
        if let Event::Finished { source, why, fetched, error, took, .. } = &event {
            let outcome = match (error.is_some(), *fetched) {
                (true, _) => Outcome::Failed,
                (false, true) => Outcome::Fetched,
                (false, false) => Outcome::Built,
            };
            let start = self.begin.elapsed().saturating_sub(*took);
            let (source, reason) = (source.to_string(), why.to_string());
            self.finished().push(Timing { source, start, took: *took, outcome, reason });
        }
        self.events.on(event);
    }

    fn is_cancelled(&self) -> bool {
        self.events.is_cancelled()
    }
}

/// The number of bars in the chart; a longer one is hard to read and slow to show.
const MAX_BARS: usize = 2000;
/// The height of a lane of the chart, in pixels.
const LANE: usize = 22;
/// The width of the chart, in units of its view box.
const WIDTH: f64 = 1000.0;

/// Renders the page: totals, a chart with one lane for each asset in flight, and a table of all assets, the slowest first.
/// The page is self-contained and needs no script.
pub fn page(title: &str, timings: &[Timing], total: Duration) -> String {
    let busy: Duration = timings.iter().map(|timing| timing.took).sum();
    let seconds = total.as_secs_f64().max(1e-9);
    let mut html = format!(
        "{PAGE_HEAD}\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Timings of {0}</title>\n<style>{STYLE}</style>\n<h1>Timings of {0}</h1>\n",
        escape(title)
    );
    let _ = writeln!(
        html,
        "<p>{} in {}; {} of work, {:.1} assets in flight on average.</p>",
        crate::render::count(timings.len(), "asset", "assets"),
        crate::render::time(total),
        crate::render::time(busy),
        busy.as_secs_f64() / seconds,
    );
    chart(&mut html, timings, seconds);
    table(&mut html, timings, busy);
    html.push_str("</html>\n");
    html
}

fn chart(html: &mut String, timings: &[Timing], seconds: f64) {
    let mut longest: Vec<&Timing> = timings.iter().collect();
    longest.sort_by_key(|timing| std::cmp::Reverse(timing.took));
    longest.truncate(MAX_BARS);
    longest.sort_by(|a, b| (a.start, &a.source).cmp(&(b.start, &b.source)));
    // Each bar goes to the first lane that is free at its start.
    let mut lanes: Vec<Duration> = Vec::new();
    let mut bars = String::new();
    for timing in longest {
        let free = lanes.iter().position(|end| *end <= timing.start);
        let lane = free.unwrap_or_else(|| {
            lanes.push(Duration::ZERO);
            lanes.len() - 1
        });
        lanes[lane] = timing.start + timing.took;
        let x = timing.start.as_secs_f64() / seconds * WIDTH;
        let width = (timing.took.as_secs_f64() / seconds * WIDTH).max(0.5);
        let _ = writeln!(
            bars,
            "<rect class=\"{}\" x=\"{x:.2}\" y=\"{}\" width=\"{width:.2}\" height=\"{}\"><title>{}: {} ({})</title></rect>",
            timing.outcome.as_str(),
            lane * LANE,
            LANE - 3,
            escape(&timing.source),
            crate::render::time(timing.took),
            escape(&timing.reason),
        );
    }
    let height = lanes.len().max(1) * LANE;
    let _ = writeln!(
        html,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" height=\"{height}\" preserveAspectRatio=\"none\" role=\"img\">\n{bars}</svg>\n<p class=\"axis\"><span>0 s</span><span>{}</span></p>",
        crate::render::time(Duration::from_secs_f64(seconds)),
    );
    if timings.len() > MAX_BARS {
        let _ = writeln!(html, "<p>The chart has the {MAX_BARS} slowest assets.</p>");
    }
}

fn table(html: &mut String, timings: &[Timing], busy: Duration) {
    html.push_str("<table><thead><tr><th>Asset<th>Result<th>Start<th>Duration<th>Share<th>Reason</thead>\n");
    let mut slowest: Vec<&Timing> = timings.iter().collect();
    slowest.sort_by(|a, b| b.took.cmp(&a.took).then_with(|| a.source.cmp(&b.source)));
    for timing in slowest {
        let share = timing.took.as_secs_f64() / busy.as_secs_f64().max(1e-9) * 100.0;
        let _ = writeln!(
            html,
            "<tr><td>{}<td class=\"{1}\">{1}<td>{2:.3} s<td>{3}<td>{share:.1} %<td>{4}",
            escape(&timing.source),
            timing.outcome.as_str(),
            timing.start.as_secs_f64(),
            crate::render::time(timing.took),
            escape(&timing.reason),
        );
    }
    html.push_str("</table>\n");
}

const STYLE: &str = "body{font:14px/1.4 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color-scheme:light dark}\
svg{width:100%;display:block;background:#8881}\
rect.built{fill:#3b82c4}rect.fetched{fill:#3aa76d}rect.failed{fill:#d0453e}\
td.failed{color:#d0453e;font-weight:bold}\
.axis{display:flex;justify-content:space-between;margin:0 0 1rem}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.2rem .6rem;border-bottom:1px solid #8884}\
td:first-child{overflow-wrap:anywhere}td:nth-child(n+3):nth-child(-n+5){text-align:right;white-space:nowrap}";

/// Escapes a string for HTML text and attributes, with control characters shown.
fn escape(text: &str) -> String {
    let text = crate::render::printable(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(source: &str, start: u64, took: u64) -> Timing {
        Timing {
            source: source.to_owned(),
            start: Duration::from_millis(start),
            took: Duration::from_millis(took),
            outcome: Outcome::Built,
            reason: "not built before".to_owned(),
        }
    }

    #[test]
    fn page_lists_the_slowest_first_and_escapes_names() {
        let timings = [timing("a.png", 0, 10), timing("<script>&\"'.png", 5, 40), timing("c.png", 10, 20)];
        let html = page("x<y", &timings, Duration::from_millis(50));
        assert!(html.starts_with(PAGE_HEAD));
        assert!(!html.contains("<script") && html.contains("&lt;script&gt;&amp;&quot;"), "{html}");
        assert!(!html.contains("http"), "the page loads nothing");
        let place = |name: &str| html.find(&format!("<tr><td>{name}")).unwrap();
        assert!(place("&lt;script") < place("c.png") && place("c.png") < place("a.png"));
        assert_eq!(html.matches("<rect ").count(), 3);
        // The third asset starts when the first ends: two lanes.
        assert!(html.contains(&format!("viewBox=\"0 0 1000 {}\"", 2 * LANE)), "{html}");
    }

    #[test]
    fn page_without_assets_is_valid() {
        let html = page("runtime", &[], Duration::ZERO);
        assert!(html.contains("0 assets in 0 ms"), "{html}");
    }
}
