//! Formatting of diagnostics, sizes and durations, as text and as JSON.

use crate::diagnostics::Position;
use crate::terminal::Style;
use kiln_engine::{Diag, Json, Severity};
pub use kiln_engine::{counted as count, printable};
use std::time::Duration;

/// Formats a diagnostic as one line, and a second one for its hint.
pub fn diag(diag: &Diag, style: Style) -> String {
    diag_with_severity(diag, diag.severity(), style)
}

/// Formats a diagnostic like [`diag`], with the severity that its lint level gives it.
pub fn diag_with_severity(diag: &Diag, severity: Severity, style: Style) -> String {
    let head = style.severity(severity, &format!("{severity}[{}]", diag.code));
    let mut text = format!("{head}: ");
    if let Some(path) = &diag.path {
        text += &style.strong(&printable(path));
        if let Some(at) = &diag.at {
            text += &format!(":{}", printable(at));
        }
        text += ": ";
    }
    text += &printable(&diag.message);
    if let Some(hint) = &diag.hint {
        text += &format!("\n  {}", style.faint(&format!("hint: {}", printable(hint))));
    }
    text
}

/// Converts a diagnostic to a JSON object with one member for each part.
pub fn diag_json(diag: &Diag) -> Json {
    diag_json_with_severity(diag, diag.severity())
}

/// Converts a diagnostic like [`diag_json`], with the severity that its lint level gives it.
pub fn diag_json_with_severity(diag: &Diag, severity: Severity) -> Json {
    let position = Position::of(diag);
    Json::object([
        ("severity", severity.to_string().into()),
        ("code", diag.code.as_str().into()),
        ("path", diag.path.as_deref().unwrap_or_default().into()),
        ("at", diag.at.as_deref().unwrap_or_default().into()),
        ("line", position.map(|position| position.line).into()),
        ("column", position.and_then(|position| position.column).into()),
        ("message", diag.message.as_str().into()),
        ("hint", diag.hint.as_deref().unwrap_or_default().into()),
    ])
}

/// Formats a size in units of 1024 with one decimal, for example `52.0 KB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Formats a duration, for example `99 ms`, `1.2 s` or `2:05 min`.
pub fn time(took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match seconds {
        s if s < 0.0995 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.1} s"),
        s => format!("{}:{:02} min", s as u64 / 60, s as u64 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_every_part_of_a_diagnostic() {
        let raw = "\u{1b}]0;t\u{7}\u{9b}2J\u{202e}\n";
        let all = Diag::new(kiln_engine::Code::SymlinkIgnored, raw).path(raw).at(raw).hint(raw);
        let shown = diag(&all, Style::of(&std::io::stderr(), crate::terminal::Color::Never));
        let raw = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!shown.contains(raw) && shown.lines().count() == 2, "{shown:?}");
        assert_eq!(shown.matches("\\u{1b}]0;t\\u{7}\\u{9b}2J\\u{202e}\\n").count(), 4, "{shown}");
    }

    #[test]
    fn formats_sizes() {
        let check = |bytes, text: &str| assert_eq!(size(bytes), text);
        check(0, "0 B");
        check(1023, "1023 B");
        check(1024, "1.0 KB");
        check(53_248, "52.0 KB");
        check(1024 * 1024 - 1, "1.0 MB");
        check(5 << 30, "5.0 GB");
        check(u64::MAX, "16384.0 PB");
    }

    #[test]
    fn formats_durations() {
        assert_eq!(time(Duration::from_micros(400)), "0 ms");
        assert_eq!(time(Duration::from_millis(99)), "99 ms");
        assert_eq!(time(Duration::from_millis(1240)), "1.2 s");
        assert_eq!(time(Duration::from_secs(125)), "2:05 min");
    }
}
