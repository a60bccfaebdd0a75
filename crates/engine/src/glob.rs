//! Globs over `/`-separated paths: one matcher, two dialects.
//!
//! - [`Dialect::Assetc`]: `*` is any run of characters, `/` included; `?` is one character; nothing else is
//!   special.
//! - [`Dialect::Pak`]: `*`, `?` and `[..]` stop at `/`; `**` as a whole component is zero or more directories,
//!   and at the end everything below.
//!
//! Both match the whole path, case-sensitively, on every platform. A pattern is compiled to the states of an NFA, which is
//! simulated on all states at once, so a match costs at most tokens × characters and no pattern causes exponential
//! backtracking.

use std::fmt;

/// The longest accepted pattern in bytes, which bounds the cost of a match. Paths are not longer on common platforms.
pub const MAX_PATTERN: usize = 4096;

/// The meaning of the wildcards of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `*` spans `/`, `?` is one character.
    Assetc,
    /// `*`, `?` and `[..]` stop at `/`, `**` spans directories.
    Pak,
}

/// A compiled glob pattern.
#[derive(Clone, Debug)]
pub struct Glob {
    pattern: Box<str>,
    /// The literal prefix of every match, compared first.
    prefix: Box<str>,
    /// The tokens between prefix and suffix.
    tokens: Box<[Token]>,
    /// The literal suffix of every match.
    suffix: Box<str>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Char(char),
    /// One character; `/` only if `slash`.
    One {
        slash: bool,
    },
    /// One character in (or, if `negated`, outside) the ranges; never `/`.
    Class {
        negated: bool,
        ranges: Box<[(char, char)]>,
    },
    /// Any number of characters; `/` only if `slash`.
    Run {
        slash: bool,
    },
    /// Any number of directories, each with the `/` after it.
    Dirs,
}

/// The error of an invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobError {
    /// The position of the error in characters, from 1.
    pub position: usize,
    /// The kind of error.
    pub reason: GlobReason,
}

/// The kind of error in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobReason {
    /// A `[` without a matching `]`.
    UnclosedClass,
    /// A range whose start is greater than its end.
    BackwardRange(char, char),
    /// A `**` that is not a whole component.
    PartialStars,
    /// More than [`MAX_PATTERN`] bytes.
    TooLong,
}

impl fmt::Display for GlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            GlobReason::UnclosedClass => f.write_str("'[' has no matching ']'")?,
            GlobReason::BackwardRange(from, to) => write!(f, "the range '{from}-{to}' is reversed")?,
            GlobReason::PartialStars => f.write_str("'**' must be a whole component, as in 'a/**/b'")?,
            GlobReason::TooLong => write!(f, "the pattern is longer than {MAX_PATTERN} bytes")?,
        }
        write!(f, " (character {})", self.position)
    }
}

impl std::error::Error for GlobError {}

impl Glob {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// The pattern is too long or, in the pak dialect, has a syntax error.
    pub fn new(pattern: &str, dialect: Dialect) -> Result<Glob, GlobError> {
        if pattern.len() > MAX_PATTERN {
            return Err(GlobError { position: 1, reason: GlobReason::TooLong });
        }
        let chars: Vec<char> = pattern.chars().collect();
        let tokens = match dialect {
            Dialect::Assetc => assetc_tokens(&chars),
            Dialect::Pak => pak_tokens(&chars)?,
        };
        let literal = |t: &&Token| matches!(t, Token::Char(_));
        let head = tokens.iter().take_while(literal).count();
        let tail = tokens[head..].iter().rev().take_while(literal).count();
        Ok(Glob {
            pattern: pattern.into(),
            prefix: chars[..head].iter().collect(),
            tokens: tokens[head..tokens.len() - tail].into(),
            suffix: chars[chars.len() - tail..].iter().collect(),
        })
    }

    /// Returns the pattern as it was written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Returns whether the whole of `path` matches.
    pub fn matches(&self, path: &str) -> bool {
        let Some(rest) = path.strip_prefix(&*self.prefix) else { return false };
        let Some(rest) = rest.strip_suffix(&*self.suffix) else { return false };
        // The fast path for common patterns such as `ui/*` and `*.n.png`.
        if *self.tokens == [Token::Run { slash: true }] {
            return true;
        }
        // One bit per state; the last state accepts.
        let words = self.tokens.len() / 64 + 1;
        match words {
            1 => self.follow(rest, &mut [0], &mut [0]),
            _ => self.follow(rest, &mut vec![0; words], &mut vec![0; words]),
        }
    }

    /// Simulates the NFA on a string; `now` and `next` are bit sets of states.
    fn follow<'a>(&self, text: &str, mut now: &'a mut [u64], mut next: &'a mut [u64]) -> bool {
        self.enter(now, 0);
        for c in text.chars() {
            next.fill(0);
            for (word, &bits) in now.iter().enumerate() {
                let mut bits = bits;
                while bits != 0 {
                    let state = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    self.step(next, state, c);
                }
            }
            std::mem::swap(&mut now, &mut next);
            if now.iter().all(|&word| word == 0) {
                return false;
            }
        }
        now[self.tokens.len() / 64] >> (self.tokens.len() % 64) & 1 == 1
    }

    /// Adds a state and its epsilon closure.
    fn enter(&self, set: &mut [u64], mut state: usize) {
        loop {
            set[state / 64] |= 1 << (state % 64);
            match self.tokens.get(state) {
                Some(Token::Run { .. } | Token::Dirs) => state += 1,
                _ => return,
            }
        }
    }

    /// Adds the successors of a state on the character `c`.
    fn step(&self, next: &mut [u64], state: usize, c: char) {
        match self.tokens.get(state) {
            Some(Token::Run { slash }) if *slash || c != '/' => self.enter(next, state),
            Some(Token::Dirs) => {
                // A run of directories can only end after a slash.
                next[state / 64] |= 1 << (state % 64);
                if c == '/' {
                    self.enter(next, state + 1);
                }
            }
            Some(token) if token.is(c) => self.enter(next, state + 1),
            _ => {}
        }
    }
}

impl Token {
    /// Returns whether a single-character token matches a character.
    fn is(&self, c: char) -> bool {
        match self {
            Token::Char(own) => *own == c,
            Token::One { slash } => *slash || c != '/',
            Token::Class { negated, ranges } => {
                c != '/' && ranges.iter().any(|&(from, to)| from <= c && c <= to) != *negated
            }
            Token::Run { .. } | Token::Dirs => false,
        }
    }
}

fn assetc_tokens(chars: &[char]) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(chars.len());
    for &c in chars {
        tokens.push(match c {
            '*' if tokens.last() == Some(&Token::Run { slash: true }) => continue,
            '*' => Token::Run { slash: true },
            '?' => Token::One { slash: true },
            c => Token::Char(c),
        });
    }
    tokens
}

fn pak_tokens(chars: &[char]) -> Result<Vec<Token>, GlobError> {
    let mut tokens = Vec::with_capacity(chars.len());
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let (token, len) = match c {
            '*' if chars.get(at + 1) == Some(&'*') => deep(chars, at)?,
            '*' => (Token::Run { slash: false }, 1),
            '?' => (Token::One { slash: false }, 1),
            '[' => class(chars, at)?,
            c => (Token::Char(c), 1),
        };
        // `**/**/` is equivalent to `**/`.
        if !(token == Token::Dirs && tokens.last() == Some(&Token::Dirs)) {
            tokens.push(token);
        }
        at += len;
    }
    Ok(tokens)
}

/// Parses the `**` at `at` and the `/` after it; returns the token and its length.
fn deep(chars: &[char], at: usize) -> Result<(Token, usize), GlobError> {
    let starts = at == 0 || chars[at - 1] == '/';
    match chars.get(at + 2) {
        Some('/') if starts => Ok((Token::Dirs, 3)),
        None if starts => Ok((Token::Run { slash: true }, 2)),
        _ => Err(GlobError { position: at + 1, reason: GlobReason::PartialStars }),
    }
}

/// Parses the character class at `at`; returns the token and its length. A `]` right after the opening bracket is a
/// literal, as is a `-` at either end.
fn class(chars: &[char], at: usize) -> Result<(Token, usize), GlobError> {
    let negated = matches!(chars.get(at + 1), Some('!' | '^'));
    let first = at + 1 + usize::from(negated);
    let close = (first + 1..chars.len())
        .find(|&i| chars[i] == ']')
        .ok_or(GlobError { position: at + 1, reason: GlobReason::UnclosedClass })?;
    let mut ranges = Vec::new();
    let mut i = first;
    while i < close {
        let from = chars[i];
        if i + 2 < close && chars[i + 1] == '-' {
            let to = chars[i + 2];
            if from > to {
                return Err(GlobError { position: i + 1, reason: GlobReason::BackwardRange(from, to) });
            }
            ranges.push((from, to));
            i += 3;
        } else {
            ranges.push((from, from));
            i += 1;
        }
    }
    Ok((Token::Class { negated, ranges: ranges.into() }, close + 1 - at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(dialect: Dialect, pattern: &str, yes: &[&str], no: &[&str]) {
        let glob = Glob::new(pattern, dialect).unwrap();
        assert_eq!(glob.pattern(), pattern);
        for path in yes {
            assert!(glob.matches(path), "{pattern:?} must match {path:?}");
        }
        for path in no {
            assert!(!glob.matches(path), "{pattern:?} must not match {path:?}");
        }
    }

    #[test]
    fn assetc_stars_span_directories_and_nothing_else_is_special() {
        let check = |pattern, yes: &[&str], no: &[&str]| check(Dialect::Assetc, pattern, yes, no);
        check("ui/*", &["ui/a.png", "ui/x/y.png", "ui/"], &["ui", "UI/a.png", "xui/a.png"]);
        check("*.n.png", &["a.n.png", "a/b/c.n.png", ".n.png"], &["a.png", "a.n.png.bak", "anXpng"]);
        check("a?c", &["abc", "a/c", "aäc"], &["ac", "abbc"]);
        check("**", &["", "a/b"], &[]);
        check("[ab]", &["[ab]"], &["a", "b"]);
        check("{a,b}\\*", &["{a,b}\\", "{a,b}\\x"], &["a"]);
        check("", &[""], &["a"]);
        check("a", &["a"], &["", "aa", "b"]);
    }

    #[test]
    fn pak_stops_at_slashes() {
        let check = |pattern, yes: &[&str], no: &[&str]| check(Dialect::Pak, pattern, yes, no);
        check("ui/*.png", &["ui/a.png", "ui/.png"], &["ui/x/a.png", "ui/a.jpg", "a.png"]);
        check("a?c", &["abc", "aäc"], &["a/c"]);
        check("[a-c][!x][^y]", &["bzz", "a!^"], &["dzz", "bxz", "bzy", "b/z"]);
        check("[]x]", &["]", "x"], &["["]);
        check("[!]]", &["x"], &["]", "/"]);
        check("[a-][-b]", &["--", "ab"], &["bb"]);
        check("a[.-0]b", &["a.b", "a0b"], &["a/b"]);
        check("[*]", &["*"], &["a"]);
    }

    #[test]
    fn pak_double_stars_span_directories() {
        let check = |pattern, yes: &[&str], no: &[&str]| check(Dialect::Pak, pattern, yes, no);
        check("bitmap/**/*.png", &["bitmap/a.png", "bitmap/x/y/a.png"], &["bitmap/a.jpg", "x/bitmap/a.png"]);
        check("**/a", &["a", "x/a", "x/y/a"], &["xa", "x/ya", "a/x"]);
        check("a/**", &["a/b", "a/b/c"], &["a", "ab/c"]);
        check("**", &["a", "a/b"], &[]);
        check("a/**/**/b", &["a/b", "a/x/y/b"], &["a/xb", "ab"]);
        check("**/x/**/y", &["x/y", "q/x/r/s/y"], &["xy", "x/ay", "qx/y"]);
    }

    #[test]
    fn errors_have_positions() {
        let bad = |pattern: &str| Glob::new(pattern, Dialect::Pak).unwrap_err();
        assert_eq!(bad("ab[c"), GlobError { position: 3, reason: GlobReason::UnclosedClass });
        assert_eq!(bad("[]").position, 1);
        assert_eq!(bad("[!]").reason, GlobReason::UnclosedClass);
        assert_eq!(bad("äb[z-a]"), GlobError { position: 4, reason: GlobReason::BackwardRange('z', 'a') });
        assert_eq!(bad("a**"), GlobError { position: 2, reason: GlobReason::PartialStars });
        assert_eq!(bad("x/**a").position, 3);
        assert_eq!(bad("***").reason, GlobReason::PartialStars);
        assert_eq!(bad("ab[c").to_string(), "'[' has no matching ']' (character 3)");
        for dialect in [Dialect::Assetc, Dialect::Pak] {
            assert!(Glob::new(&"a".repeat(MAX_PATTERN), dialect).is_ok());
            assert_eq!(
                Glob::new(&"a".repeat(MAX_PATTERN + 1), dialect).unwrap_err().reason,
                GlobReason::TooLong
            );
        }
    }

    /// A backtracking matcher takes exponential time for these patterns.
    #[test]
    fn many_stars_take_linear_time() {
        for (dialect, part) in [(Dialect::Assetc, "a*"), (Dialect::Pak, "a*"), (Dialect::Pak, "**/*a*/")] {
            let glob = Glob::new(&(part.repeat(300) + "b"), dialect).unwrap();
            assert!(!glob.matches(&"a".repeat(20_000)));
            assert!(!glob.matches(&"a/".repeat(10_000)));
            let found = part.replace("**/*a*", "a").replace('*', "x").repeat(300) + "b";
            assert!(glob.matches(&found), "{part}");
        }
    }

    /// A reference matcher that follows the definition by recursion.
    fn naive(dialect: Dialect, p: &[char], t: &[char]) -> bool {
        let pak = dialect == Dialect::Pak;
        match p {
            [] => t.is_empty(),
            ['*', '*'] if pak => true,
            ['*', '*', '/', rest @ ..] if pak => {
                naive(dialect, rest, t)
                    || (0..t.len()).any(|i| t[i] == '/' && naive(dialect, rest, &t[i + 1..]))
            }
            ['*', rest @ ..] => {
                naive(dialect, rest, t)
                    || t.first().is_some_and(|&c| !(pak && c == '/')) && naive(dialect, p, &t[1..])
            }
            ['?', rest @ ..] => {
                t.first().is_some_and(|&c| !(pak && c == '/')) && naive(dialect, rest, &t[1..])
            }
            ['[', rest @ ..] if pak => {
                let negated = matches!(rest[0], '!' | '^');
                let body = &rest[usize::from(negated)..];
                let close = 1 + body[1..].iter().position(|&c| c == ']').unwrap();
                let Some(&c) = t.first() else { return false };
                let mut within = false;
                let mut i = 0;
                while i < close {
                    let ranged = i + 2 < close && body[i + 1] == '-';
                    let last = if ranged { body[i + 2] } else { body[i] };
                    within |= (body[i]..=last).contains(&c);
                    i += if ranged { 3 } else { 1 };
                }
                c != '/' && within != negated && naive(dialect, &body[close + 1..], &t[1..])
            }
            [c, rest @ ..] => t.first() == Some(c) && naive(dialect, rest, &t[1..]),
        }
    }

    /// Replaces each wildcard by a string that it may match.
    fn likely_match(pattern: &str, filler: &[String]) -> String {
        let mut fill = filler.iter().cycle();
        pattern
            .chars()
            .map(|c| if c == '*' { fill.next().cloned().unwrap_or_default() } else { c.into() })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn agrees_with_the_reference_matcher(
            pattern in "([ab/]|\\*|\\?|\\*\\*/|/\\*\\*/|\\[[!^]?[ab\\]/-]{1,3}\\]){0,8}(/\\*\\*)?",
            path in "[ab/\\]-]{0,10}",
            filler in prop::collection::vec("[ab/]{0,3}", 1..4),
        ) {
            for dialect in [Dialect::Assetc, Dialect::Pak] {
                let Ok(glob) = Glob::new(&pattern, dialect) else { continue };
                let p: Vec<char> = pattern.chars().collect();
                for path in [path.clone(), likely_match(&pattern, &filler)] {
                    let t: Vec<char> = path.chars().collect();
                    prop_assert_eq!(glob.matches(&path), naive(dialect, &p, &t), "{} {:?} {}", pattern, dialect, path);
                }
            }
        }

        #[test]
        fn any_string_is_a_pattern_or_an_error(pattern in ".{0,40}", path in ".{0,40}") {
            for dialect in [Dialect::Assetc, Dialect::Pak] {
                match Glob::new(&pattern, dialect) {
                    Ok(glob) => { glob.matches(&path); }
                    Err(error) => {
                        prop_assert_eq!(dialect, Dialect::Pak);
                        prop_assert!(error.position >= 1 && error.position <= pattern.chars().count());
                    }
                }
            }
        }
    }
}
