//! Standard output and standard error: ANSI styles, terminal width, and write errors on standard output.

use clap::ValueEnum;
use kiln_engine::is_unprintable;
use kiln_engine::{Code, Diag, Severity, printable};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The use of colour in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// Use colour on a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always use colour.
    Always,
    /// Never use colour.
    Never,
}

/// The ANSI styles of an output stream; plain text if the stream has no colour.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    on: bool,
}

impl Style {
    /// Returns the style of a stream for a colour setting.
    pub fn of(stream: &impl IsTerminal, color: Color) -> Style {
        let no_color = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let on = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => stream.is_terminal() && !no_color() && !dumb(),
        };
        Style { on }
    }

    /// Styles an error: bold red.
    pub fn error(self, text: &str) -> String {
        self.apply("1;31", text)
    }

    /// Styles a warning: bold yellow.
    pub fn warning(self, text: &str) -> String {
        self.apply("1;33", text)
    }

    /// Styles the head of a diagnostic with its severity.
    pub fn severity(self, severity: Severity, text: &str) -> String {
        match severity {
            Severity::Error => self.error(text),
            Severity::Warning => self.warning(text),
        }
    }

    /// Styles a success: bold green.
    pub fn good(self, text: &str) -> String {
        self.apply("1;32", text)
    }

    /// Styles a heading: bold.
    pub fn strong(self, text: &str) -> String {
        self.apply("1", text)
    }

    /// Styles secondary information: dim.
    pub fn faint(self, text: &str) -> String {
        self.apply("2", text)
    }

    fn apply(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// The ANSI escape sequences of the styles.
    const SEQUENCES: [&str; 6] = ["\x1b[1;31m", "\x1b[1;33m", "\x1b[1;32m", "\x1b[1m", "\x1b[2m", "\x1b[0m"];

    /// Escapes control characters in a string, except line ends, tabs and the sequences of these styles: file names and
    /// strings from files are part of the lines that are printed.
    fn printable(self, text: &str) -> Cow<'_, str> {
        // Nearly all lines: thousands of rows are printed by one query.
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
            return text.into();
        }
        let is_kept = |c: char| matches!(c, '\n' | '\t');
        if !text.contains(|c: char| is_unprintable(c) && !is_kept(c)) {
            return text.into();
        }
        let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(c) = rest.chars().next() {
            let style = Style::SEQUENCES.into_iter().find(|style| self.on && rest.starts_with(style));
            let part = style.map_or(c.len_utf8(), str::len);
            match is_kept(c) || style.is_some() {
                true => shown += &rest[..part],
                false => shown += &printable(&rest[..part]),
            }
            rest = &rest[part..];
        }
        shown.into()
    }
}

/// The first write error on standard output, other than a broken pipe.
static WRITE_ERROR: OnceLock<String> = OnceLock::new();

/// Returns the error that part of the result could not be written to standard output; `None` if all of it was written or
/// the reader closed the pipe.
pub fn write_error() -> Option<Diag> {
    let why = WRITE_ERROR.get()?;
    let message = format!("the result could not be written to standard output: {why}");
    Some(Diag::new(Code::Stdout, message).hint("free space on the file system that it is redirected to"))
}

/// True if the reader of standard output has closed the pipe.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns whether a write to standard output failed because the reader has closed the pipe.
pub fn stdout_is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// The size of the buffer of standard output in bytes. A query may print megabytes.
const BUFFER: usize = 64 << 10;

/// Buffered standard output for results, or standard error for summaries. After a write error the rest is discarded; a broken pipe is not reported, as users
/// of `head` expect.
pub struct Out {
    stream: io::BufWriter<Box<dyn Write>>,
    is_stdout: bool,
    /// The ANSI styles of the stream.
    pub style: Style,
    failed: bool,
}

impl Out {
    /// Locks standard output.
    pub fn new(color: Color) -> Out {
        let stdout = io::stdout();
        let style = Style::of(&stdout, color);
        let stream = io::BufWriter::with_capacity(BUFFER, Box::new(stdout.lock()) as Box<dyn Write>);
        Out { stream, is_stdout: true, style, failed: false }
    }

    /// Locks standard error, for a summary beside diagnostics on standard output. Write errors are ignored.
    pub fn stderr(color: Color) -> Out {
        let stderr = io::stderr();
        let style = Style::of(&stderr, color);
        Out { stream: io::BufWriter::new(Box::new(stderr.lock())), is_stdout: false, style, failed: false }
    }

    /// Writes a line, or several, with control characters escaped except those of the styles.
    pub fn line(&mut self, line: &str) {
        self.escaped_line(&self.style.printable(line));
    }

    /// Writes a line whose control characters the caller has escaped.
    pub fn escaped_line(&mut self, line: &str) {
        if !self.failed {
            let written = self.stream.write_all(line.as_bytes()).and_then(|()| self.stream.write_all(b"\n"));
            self.check(written);
        }
    }

    fn check(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failed = true;
            match error.kind() {
                _ if !self.is_stdout => {}
                io::ErrorKind::BrokenPipe => CLOSED.store(true, Ordering::Relaxed),
                _ => _ = WRITE_ERROR.set(error.to_string()),
            }
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        if !self.failed {
            let flushed = self.stream.flush();
            self.check(flushed);
        }
    }
}

/// Returns the width of standard error in columns: that of the terminal, or else the variable `COLUMNS`; 80 if neither is
/// known.
pub fn columns() -> usize {
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
    terminal.filter(|columns| *columns > 0).or_else(variable).unwrap_or(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_control_characters_other_than_styles_and_line_ends() {
        let (on, off) = (Style { on: true }, Style { on: false });
        let line = format!("{}\ta\u{202e}\u{1b}[2J\u{9b}\nü", on.error("b\u{7}"));
        let shown = "\u{1b}[1;31mb\\u{7}\u{1b}[0m\ta\\u{202e}\\u{1b}[2J\\u{9b}\nü";
        assert_eq!(on.printable(&line), shown);
        assert_eq!(off.printable(&line), shown.replace("\u{1b}", "\\u{1b}"));
        for plain in ["", "a\tb\nü", "{\"a\":1}"] {
            assert!(matches!(on.printable(plain), Cow::Borrowed(same) if same == plain));
        }
        let all = [on.error(""), on.warning(""), on.good(""), on.strong(""), on.faint("")].concat();
        assert_eq!(on.printable(&all), all, "a style is missing in the list");
    }
}
