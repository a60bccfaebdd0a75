//! Standard output and standard error: who may colour, how wide it is, and what happens when nobody reads.

use clap::ValueEnum;
use kiln_engine::is_unprintable;
use kiln_engine::{Code, Diag, printable};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How text may be dressed up.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    on: bool,
}

impl Style {
    /// The style of a stream, given what the user asked for.
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

    /// For what went wrong.
    pub fn error(self, text: &str) -> String {
        self.dress("1;31", text)
    }

    /// For what deserves a look.
    pub fn warning(self, text: &str) -> String {
        self.dress("1;33", text)
    }

    /// For what went well.
    pub fn good(self, text: &str) -> String {
        self.dress("1;32", text)
    }

    /// For headings.
    pub fn strong(self, text: &str) -> String {
        self.dress("1", text)
    }

    /// For what may be overlooked.
    pub fn faint(self, text: &str) -> String {
        self.dress("2", text)
    }

    fn dress(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// The sequences that styles consist of.
    const SEQUENCES: [&str; 6] = ["\x1b[1;31m", "\x1b[1;33m", "\x1b[1;32m", "\x1b[1m", "\x1b[2m", "\x1b[0m"];

    /// Text with everything escaped that a terminal would obey, but for line ends, tabs and these styles: names in files,
    /// and of files, go to standard output as they are.
    fn printable(self, text: &str) -> Cow<'_, str> {
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

/// Why standard output could not be written, if it could not.
static LOST: OnceLock<String> = OnceLock::new();

/// What is to be said when part of the result is missing from standard output; `None` when it is whole or its reader
/// has gone.
pub fn lost() -> Option<Diag> {
    let why = LOST.get()?;
    let message = format!("the result could not be written to standard output: {why}");
    Some(Diag::new(Code::Stdout, message).hint("see to free space where it goes"))
}

/// Whether nobody reads standard output any more.
static GONE: AtomicBool = AtomicBool::new(false);

/// Whether whoever read standard output has gone, as far as was noticed when writing.
pub fn reader_is_gone() -> bool {
    GONE.load(Ordering::Relaxed)
}

/// Standard output for data. When its reader has gone, the rest is dropped without a word, as users of `head`
/// expect.
pub struct Out {
    stream: io::BufWriter<io::StdoutLock<'static>>,
    /// How text on it may be dressed up.
    pub style: Style,
    gone: bool,
}

impl Out {
    /// Standard output, locked.
    pub fn new(color: Color) -> Out {
        let stdout = io::stdout();
        let style = Style::of(&stdout, color);
        Out { stream: io::BufWriter::new(stdout.lock()), style, gone: false }
    }

    /// Writes a line, or several, without anything that a terminal would obey but for the styles.
    pub fn line(&mut self, line: &str) {
        if !self.gone {
            let written = writeln!(self.stream, "{}", self.style.printable(line));
            self.note(written);
        }
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.gone = true;
            match error.kind() {
                io::ErrorKind::BrokenPipe => GONE.store(true, Ordering::Relaxed),
                _ => _ = LOST.set(error.to_string()),
            }
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        if !self.gone {
            let flushed = self.stream.flush();
            self.note(flushed);
        }
    }
}

/// How many columns standard error has, as far as the environment tells.
pub fn columns() -> usize {
    std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|n| *n >= 20).unwrap_or(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_output_has_no_control_characters_but_styles_and_line_ends() {
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
