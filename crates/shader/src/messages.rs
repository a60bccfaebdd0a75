//! Parses compiler logs and converts them to diagnostics.
//!
//! Supported formats: glslang (`ERROR: file:3: text`), dxc and other descendants of clang (`file:3:9: error:
//! text`), and Slang, old (`file(3): error 30015: text`) and new (`error[E30015]: text` with `--> file:3:9`
//! on a following line).

use kiln_engine::{Code, Diag};

/// The number of errors that are listed besides the first.
const MAX_MORE_ERRORS: usize = 3;
/// The maximum length of a quoted source line or message, in characters.
const MAX_EXCERPT: usize = 160;

/// A message of a compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// True for an error, false for a warning.
    pub error: bool,
    /// The file, as the compiler was given it; empty if the message has none.
    pub file: String,
    /// The line, counted from 1; 0 if the message has none.
    pub line: usize,
    /// The text of the message.
    pub text: String,
}

/// The messages of a compiler, in order.
#[derive(Clone, Debug, Default)]
pub struct Findings(pub Vec<Finding>);

impl Findings {
    /// Parses a log. `root` is the file that the compiler names with an empty string or `0`.
    pub fn parse(log: &str, root: &str) -> Findings {
        let mut found: Vec<Finding> = Vec::new();
        for line in log.lines().map(str::trim) {
            if let Some(place) = line.strip_prefix("-->")
                && let Some(last) = found.last_mut().filter(|last| last.line == 0)
            {
                if let Some((file, line, _)) = place_of(place.trim()) {
                    (last.file, last.line) = (named(file, root), line);
                }
                continue;
            }
            found.extend(finding(line, root));
        }
        Findings(found)
    }

    /// Returns the errors as one diagnostic: the first in full, the others in its hint. `text_of` returns the
    /// text of a file.
    pub fn error(&self, root: &str, text_of: &dyn Fn(&str) -> Option<String>) -> Diag {
        let errors: Vec<&Finding> = self.0.iter().filter(|f| f.error).collect();
        let Some(first) = errors.first() else {
            return Diag::new(Code::ShaderCompile, "the compiler failed without an error message").path(root);
        };
        let mut rest: Vec<String> =
            errors.iter().skip(1).take(MAX_MORE_ERRORS).map(|f| f.short(root)).collect();
        let omitted = errors.len().saturating_sub(1 + MAX_MORE_ERRORS);
        if omitted > 0 {
            rest.push(format!("{omitted} more"));
        }
        let diag = first.place(Diag::new(Code::ShaderCompile, first.full(text_of)), root);
        if rest.is_empty() { diag } else { diag.hint(format!("also {}", rest.join("; "))) }
    }

    /// Returns the warnings, each as a diagnostic.
    pub fn warnings(&self, root: &str, text_of: &dyn Fn(&str) -> Option<String>) -> Vec<Diag> {
        let warnings = self.0.iter().filter(|f| !f.error);
        warnings.map(|f| f.place(Diag::new(Code::ShaderWarning, f.full(text_of)), root)).collect()
    }
}

impl Finding {
    /// Returns the message with the source line that it refers to.
    fn full(&self, text_of: &dyn Fn(&str) -> Option<String>) -> String {
        let text = excerpt(&self.text);
        let source = self.line.checked_sub(1).and_then(|n| {
            let file = text_of(&self.file)?;
            file.lines().nth(n).map(|line| excerpt(line.trim())).filter(|line| !line.is_empty())
        });
        match source {
            Some(source) => format!("{text}: {source}"),
            None => text,
        }
    }

    fn short(&self, root: &str) -> String {
        match (self.file.is_empty() || self.file == root, self.line) {
            (_, 0) => excerpt(&self.text),
            (true, line) => format!("line {line}: {}", excerpt(&self.text)),
            (false, line) => format!("{}:{line}: {}", self.file, excerpt(&self.text)),
        }
    }

    fn place(&self, diag: Diag, root: &str) -> Diag {
        let diag = diag.path(if self.file.is_empty() { root } else { &self.file });
        if self.line == 0 { diag } else { diag.at(self.line) }
    }
}

/// Returns the text on one line, truncated.
fn excerpt(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(MAX_EXCERPT) {
        Some((end, _)) => format!("{}…", &flat[..end]),
        None => flat,
    }
}

fn named(file: &str, root: &str) -> String {
    let file = file.trim().trim_matches('"').trim_start_matches("./").replace('\\', "/");
    if file.is_empty() || file == "0" { root.to_owned() } else { file }
}

/// Parses one line of a log; returns `None` if it is not a message.
fn finding(line: &str, root: &str) -> Option<Finding> {
    for (word, error) in [("ERROR:", true), ("WARNING:", false)] {
        if let Some(rest) = line.strip_prefix(word) {
            return glslang(rest.trim(), error, root);
        }
    }
    for (word, error) in [("error", true), ("warning", false), ("fatal error", true)] {
        // `error[E30015]: text`, `error: text`
        if let Some(rest) = line.strip_prefix(word)
            && let Some((code, text)) = rest.split_once(':')
            && (code.is_empty() || code.starts_with('['))
        {
            return Some(Finding { error, file: String::new(), line: 0, text: text.trim().to_owned() });
        }
        // `file:3:9: error: text`, `file(3): error 30015: text`
        if let Some((place, rest)) = line.split_once(&format!(": {word}"))
            && let Some((_, text)) = rest.split_once(':')
            && let Some((file, line, _)) = place_of(place)
        {
            return Some(Finding { error, file: named(file, root), line, text: text.trim().to_owned() });
        }
    }
    None
}

/// Parses `0:12: 'x' : undeclared identifier`, or a message without a position.
fn glslang(rest: &str, error: bool, root: &str) -> Option<Finding> {
    // A summary of the preceding messages.
    if rest.ends_with("No code generated.") || rest.contains("compilation terminated") {
        return None;
    }
    let mut parts = rest.splitn(3, ':');
    let placed = match (parts.next(), parts.next().map(|line| line.trim().parse()), parts.next()) {
        (Some(file), Some(Ok(line)), Some(text)) => Some((named(file, root), line, text)),
        _ => None,
    };
    let (file, line, text) = placed.unwrap_or((String::new(), 0, rest));
    // `'x' : undeclared identifier` reads better without the gap, and `'' : ` has no content.
    let text = text.trim().trim_start_matches("'' :").trim().replacen("' : ", "': ", 1);
    Some(Finding { error, file, line, text })
}

/// Parses `file:3:9`, `file:3` or `file(3)`: the file, the line, and the column or 0.
fn place_of(place: &str) -> Option<(&str, usize, usize)> {
    if let Some((file, line)) = place.strip_suffix(')').and_then(|p| p.rsplit_once('(')) {
        let mut numbers = line.split(',').map(|n| n.trim().parse().ok());
        return Some((file, numbers.next()??, numbers.next().flatten().unwrap_or(0)));
    }
    let (before, last) = place.rsplit_once(':')?;
    let last: usize = last.trim().parse().ok()?;
    match before.rsplit_once(':').and_then(|(file, line)| Some((file, line.trim().parse().ok()?))) {
        Some((file, line)) => Some((file, line, last)),
        None => Some((before, last, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(log: &str) -> Vec<(bool, String, usize, String)> {
        let found = Findings::parse(log, "a.vert").0;
        found.into_iter().map(|f| (f.error, f.file, f.line, f.text)).collect()
    }

    #[test]
    fn parses_logs_of_all_compilers() {
        let check = |log: &str, error: bool, file: &str, line: usize, text: &str| {
            assert_eq!(parsed(log), [(error, file.to_owned(), line, text.to_owned())], "{log}");
        };
        check(
            "ERROR: 0:12: 'x' : undeclared identifier \nERROR: 0:12: '' : compilation terminated \nERROR: 2 compilation errors.  No code generated.\n",
            true,
            "a.vert",
            12,
            "'x': undeclared identifier",
        );
        check("WARNING: lib/a.glsl:3: '' : unused", false, "lib/a.glsl", 3, "unused");
        check(
            "ERROR: Linking vertex stage: Missing entry point",
            true,
            "",
            0,
            "Linking vertex stage: Missing entry point",
        );
        check(
            "a.hlsl:7:12: error: use of undeclared identifier 'x'",
            true,
            "a.hlsl",
            7,
            "use of undeclared identifier 'x'",
        );
        check("./a.hlsl:7:12: warning: unused [-Wunused]", false, "a.hlsl", 7, "unused [-Wunused]");
        check(
            "vertex.slang(3): error 30015: undefined identifier 'x'.",
            true,
            "vertex.slang",
            3,
            "undefined identifier 'x'.",
        );
        check(
            "error[E30015]: undefined identifier 'x'.\n --> vertex.slang:3:9\n  |\n3 | x",
            true,
            "vertex.slang",
            3,
            "undefined identifier 'x'.",
        );
        assert_eq!(parsed("compiling...\n\n  x = 1;\n  ^~\n"), []);
    }

    #[test]
    fn first_error_is_full_and_others_are_in_the_hint() {
        let log: String = (2..9).map(|n| format!("ERROR: 0:{n}: 'v{n}' : bad\n")).collect();
        let text = |file: &str| (file == "a.vert").then(|| "one\n  two\tx ;\nthree".to_owned());
        let diag = Findings::parse(&log, "a.vert").error("a.vert", &text);
        assert_eq!(
            diag.to_string(),
            "error[shader-compile]: a.vert:2: 'v2': bad: two x ; (also line 3: 'v3': bad; line 4: 'v4': bad; \
             line 5: 'v5': bad; 3 more)"
        );
        let nothing = Findings::default().error("a.vert", &text);
        assert!(nothing.message.contains("without an error message"));
    }

    #[test]
    fn long_messages_are_truncated_between_characters() {
        let log = format!("ERROR: 0:1: {}", "ü".repeat(1000));
        let diag = Findings::parse(&log, "a").error("a", &|_| None);
        assert_eq!(diag.message.chars().count(), MAX_EXCERPT + 1);
    }
}
