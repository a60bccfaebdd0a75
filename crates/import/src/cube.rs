//! 3D lookup tables in `.cube` files (Adobe Cube LUT Specification 1.0) into [`Lut`].
//!
//! Supports `TITLE`, `LUT_3D_SIZE`, `DOMAIN_MIN`, `DOMAIN_MAX`, comments, and `LUT_3D_INPUT_RANGE`, which other
//! programs write for the domain. CRLF and a byte order mark are accepted; unknown keywords are ignored with a
//! warning. Rejects 1D tables, text that is not UTF-8, values that are not finite, and any number of entries other than
//! the cube of the size. Every error names its line.

use std::fmt::Display;

use kiln_diagnostics::{Code, Diag};
use kiln_ir::Lut;

use crate::{Imported, excerpt};

/// The number of unknown keywords that get a warning each; further ones are counted.
const MAX_KEYWORD_WARNINGS: usize = 8;

/// The length of the shortest entry: `0 0 0` and a line break.
const SHORTEST_ENTRY: usize = 6;

/// Parses a table.
///
/// # Errors
/// A code that starts with `cube-` for an invalid table, with its line; `file-empty` or `lfs-pointer` for a file without
/// content.
pub fn import(bytes: &[u8]) -> Result<Imported<Lut>, Diag> {
    if let Some(diag) = crate::absent_content(bytes) {
        return Err(diag);
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].split(|&byte| byte == b'\n').count();
        Diag::new(Code::CubeEncoding, format!("byte {:#04x} is not valid UTF-8", bytes[e.valid_up_to()]))
            .at(format_args!("line {line}"))
            .hint("save the file as UTF-8; if it is not text, export it again")
    })?;
    let mut parser = Parser::default();
    for (index, line) in text.trim_start_matches('\u{FEFF}').lines().enumerate() {
        parser.line = index + 1;
        parser.read(line.trim_ascii(), bytes.len()).map_err(|d| on_line(d, index + 1))?;
    }
    let last = parser.line;
    parser.finish().map_err(|d| on_line(d, last))
}

/// Adds the line to a diagnostic without a place.
fn on_line(diag: Diag, line: usize) -> Diag {
    if diag.at.is_none() { diag.at(format_args!("line {line}")) } else { diag }
}

#[derive(Default)]
struct Parser {
    line: usize,
    size: Option<u32>,
    /// The lower and the upper bound of the domain, each with the line that set it.
    domain: [Option<([f32; 3], usize)>; 2],
    rgb: Vec<[f32; 3]>,
    warnings: Vec<Diag>,
    unknown: usize,
}

impl Parser {
    fn read(&mut self, line: &str, file_len: usize) -> Result<(), Diag> {
        // Nearly all lines are entries.
        if line.starts_with(|c: char| c.is_ascii_digit()) {
            return self.push(line);
        }
        let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let rest = rest.trim_start();
        match word {
            "" | "TITLE" => Ok(()),
            _ if word.starts_with('#') => Ok(()),
            "LUT_3D_SIZE" => self.set_size(rest, file_len),
            "LUT_1D_SIZE" => Err(Diag::new(Code::Cube1d, "1D lookup tables are not supported")
                .hint("export a 3D lookup table")),
            "DOMAIN_MIN" => self.set_domain(0, numbers(rest)?),
            "DOMAIN_MAX" => self.set_domain(1, numbers(rest)?),
            "LUT_3D_INPUT_RANGE" => {
                let [low, high] = numbers(rest)?;
                self.set_domain(0, [low; 3])?;
                self.set_domain(1, [high; 3])
            }
            _ if word.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && word.parse::<f32>().is_err() =>
            {
                self.skip(word);
                Ok(())
            }
            _ => self.push(line),
        }
    }

    fn set_size(&mut self, text: &str, file_len: usize) -> Result<(), Diag> {
        if self.size.is_some() {
            return Err(syntax("LUT_3D_SIZE is set twice"));
        }
        let size = text.parse().ok().filter(|size| Lut::SIZES.contains(size)).ok_or_else(|| {
            let (low, high) = Lut::SIZES.into_inner();
            let message = format!("LUT_3D_SIZE must be between {low} and {high}, got {}", excerpt(text));
            Diag::new(Code::CubeSize, message).hint("export the table with a size of 33 or 65")
        })?;
        // Allocate for as many entries as the file can contain at most.
        self.rgb.reserve(entries(size).min(file_len / SHORTEST_ENTRY));
        self.size = Some(size);
        Ok(())
    }

    fn set_domain(&mut self, bound: usize, values: [f32; 3]) -> Result<(), Diag> {
        if self.domain[bound].is_some() {
            return Err(syntax("this bound of the domain is set twice"));
        }
        self.domain[bound] = Some((values, self.line));
        Ok(())
    }

    fn skip(&mut self, word: &str) {
        self.unknown += 1;
        if self.unknown <= MAX_KEYWORD_WARNINGS {
            let message = format!("unknown keyword {} is ignored", excerpt(word));
            self.warnings.push(on_line(Diag::new(Code::CubeKeyword, message), self.line));
        }
    }

    fn push(&mut self, line: &str) -> Result<(), Diag> {
        let entry = numbers(line)?;
        let size = self.size.ok_or_else(|| no_size("the entries start before LUT_3D_SIZE"))?;
        if self.rgb.len() == entries(size) {
            return Err(wrong_count(size, "this line exceeds them"));
        }
        self.rgb.push(entry);
        Ok(())
    }

    fn finish(mut self) -> Result<Imported<Lut>, Diag> {
        let size = self.size.ok_or_else(|| no_size("LUT_3D_SIZE is missing"))?;
        if self.rgb.len() != entries(size) {
            return Err(wrong_count(size, format_args!("the file has {}", self.rgb.len())));
        }
        let [low, high] = self.domain.map(|bound| bound.map(|(values, _)| values));
        let (low, high) = (low.unwrap_or([0.0; 3]), high.unwrap_or([1.0; 3]));
        let set_on = self.domain.iter().flatten().map(|(_, line)| *line).max().unwrap_or(self.line);
        if (0..3).any(|c| low[c] >= high[c]) {
            let message = format!("DOMAIN_MAX {high:?} is not greater than DOMAIN_MIN {low:?}");
            return Err(on_line(syntax(message), set_on));
        }
        if (low, high) != ([0.0; 3], [1.0; 3]) {
            let message = format!("the domain of the table is {low:?} to {high:?}, not 0 to 1");
            let hint = "map colours into the domain before the lookup, or export the table for 0 to 1";
            self.warnings.push(on_line(Diag::new(Code::CubeDomain, message).hint(hint), set_on));
        }
        if self.unknown > MAX_KEYWORD_WARNINGS {
            let message =
                format!("{} more unknown keywords are ignored", self.unknown - MAX_KEYWORD_WARNINGS);
            self.warnings.push(Diag::new(Code::CubeKeyword, message));
        }
        let value = Lut::new(size, [low, high], self.rgb).ok_or_else(|| syntax("the table is invalid"))?;
        Ok(Imported { value, warnings: self.warnings })
    }
}

/// Returns the number of entries of a table of a valid size.
fn entries(size: u32) -> usize {
    (size as usize).pow(3)
}

/// Parses exactly `N` finite numbers.
fn numbers<const N: usize>(text: &str) -> Result<[f32; N], Diag> {
    let mut words = text.split_ascii_whitespace();
    let mut values = [0.0; N];
    for value in &mut values {
        let word = words.next().ok_or_else(|| {
            syntax(format_args!("expected {N} numbers, and the line has fewer: {}", excerpt(text)))
        })?;
        *value = word.parse().ok().filter(|v: &f32| v.is_finite()).ok_or_else(|| {
            syntax(format_args!("expected a finite number, found {}", excerpt(word)))
                .hint("write numbers as 0.5 or 5e-1")
        })?;
    }
    match words.next() {
        None => Ok(values),
        Some(word) => {
            Err(syntax(format_args!("expected {N} numbers, and the line continues with {}", excerpt(word))))
        }
    }
}

fn syntax(message: impl Display) -> Diag {
    Diag::new(Code::CubeSyntax, message.to_string()).hint("correct the line, or export the table again")
}

fn no_size(message: &str) -> Diag {
    Diag::new(Code::CubeSize, message).hint("add a line such as LUT_3D_SIZE 33 before the entries")
}

fn wrong_count(size: u32, found: impl Display) -> Diag {
    let message = format!("LUT_3D_SIZE {size} needs {} entries, and {found}", entries(size));
    Diag::new(Code::CubeCount, message).hint("the file is truncated or its size is wrong: export it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORNERS: &str = "0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 0 1\n1 0 1\n0 1 1\n1 1 1\n";

    fn fails(text: &str, code: &str, line: usize, words: &str) {
        let error = import(text.as_bytes()).expect_err(text);
        assert_eq!(
            (error.code.as_str(), error.at),
            (code, Some(format!("line {line}"))),
            "{text}: {}",
            error.message
        );
        assert!(error.message.contains(words), "{words} is not in: {}", error.message);
    }

    #[test]
    fn red_varies_fastest_and_the_domain_is_zero_to_one() {
        let found = import(format!("LUT_3D_SIZE 2\n{CORNERS}").as_bytes()).unwrap();
        assert_eq!(found.warnings, []);
        assert_eq!(found.value.size(), 2);
        assert_eq!(found.value.domain(), [[0.0; 3], [1.0; 3]]);
        assert_eq!(found.value.rgb()[1], [1.0, 0.0, 0.0]);
        assert_eq!(found.value.rgb()[4], [0.0, 0.0, 1.0]);
    }

    #[test]
    fn accepts_comments_titles_and_any_whitespace() {
        let plain = import(format!("LUT_3D_SIZE 2\n{CORNERS}").as_bytes()).unwrap();
        let decorated = format!(
            "\u{FEFF}# made by hand\nTITLE \"a # b\"\n\n  LUT_3D_SIZE\t 2 \nDOMAIN_MIN 0 0 0\nDOMAIN_MAX 1.0 1 1e0\n#\n{}\n\n",
            CORNERS.replace("1 1 0", " 1.0\t+1.000000   0e3 ")
        );
        assert_eq!(import(decorated.as_bytes()).unwrap(), plain);
        assert_eq!(import(decorated.replace('\n', "\r\n").as_bytes()).unwrap(), plain);
        assert_eq!(import(decorated.trim_end().as_bytes()).unwrap(), plain);
    }

    #[test]
    fn values_outside_zero_to_one_are_kept() {
        let text = format!("LUT_3D_SIZE 2\n{}", CORNERS.replacen("0 0 0", "-0.25 1.5 1e-8", 1));
        assert_eq!(import(text.as_bytes()).unwrap().value.rgb()[0], [-0.25, 1.5, 1e-8]);
    }

    #[test]
    fn keeps_other_domains_with_a_warning() {
        for (lines, at) in [("DOMAIN_MIN 0 -1 0\nDOMAIN_MAX 2 2 2", "line 2"), ("DOMAIN_MAX 2 2 2", "line 1")]
        {
            let found = import(format!("{lines}\nLUT_3D_SIZE 2\n{CORNERS}").as_bytes()).unwrap();
            assert_eq!(found.value.domain()[1], [2.0; 3]);
            assert_eq!(found.warnings.len(), 1);
            assert_eq!(
                (found.warnings[0].code.as_str(), found.warnings[0].at.as_deref().unwrap_or_default()),
                ("cube-domain", at)
            );
        }
        let found =
            import(format!("LUT_3D_SIZE 2\nLUT_3D_INPUT_RANGE -0.5 1.5\n{CORNERS}").as_bytes()).unwrap();
        assert_eq!(found.value.domain(), [[-0.5; 3], [1.5; 3]]);
        assert_eq!(found.warnings[0].at.as_deref(), Some("line 2"));
    }

    #[test]
    fn ignores_unknown_keywords_with_a_warning() {
        let found = import(format!("LUT_3D_SIZE 2\nLUT_IN_VIDEO_RANGE\n{CORNERS}").as_bytes()).unwrap();
        assert_eq!(found.warnings.len(), 1);
        assert_eq!(
            (found.warnings[0].code.as_str(), found.warnings[0].at.as_deref().unwrap_or_default()),
            ("cube-keyword", "line 2")
        );
        assert!(found.warnings[0].message.contains("LUT_IN_VIDEO_RANGE"));
        let many = format!("LUT_3D_SIZE 2\n{}{CORNERS}", "WHAT 1\n".repeat(100));
        let warnings = import(many.as_bytes()).unwrap().warnings;
        assert_eq!(warnings.len(), MAX_KEYWORD_WARNINGS + 1);
        assert!(warnings[MAX_KEYWORD_WARNINGS].message.contains("92 more"));
    }

    #[test]
    fn errors_name_the_line_and_the_text() {
        fails("LUT_1D_SIZE 16\n", "cube-1d", 1, "1D lookup tables");
        for size in ["1", "257", "0", "-3", "2.0", "x", "", "99999999999999999999", "2 2"] {
            fails(&format!("# c\nLUT_3D_SIZE {size}\n"), "cube-size", 2, &format!("{size:?}"));
        }
        fails("TITLE \"x\"\n", "cube-size", 1, "LUT_3D_SIZE is missing");
        fails("0 0 0\n", "cube-size", 1, "before LUT_3D_SIZE");
        fails("LUT_3D_SIZE 2\n0 0\n", "cube-syntax", 2, "\"0 0\"");
        fails("LUT_3D_SIZE 2\n\n0 0 0 0.5\n", "cube-syntax", 3, "\"0.5\"");
        fails("LUT_3D_SIZE 2\n0 0,5 0\n", "cube-syntax", 2, "\"0,5\"");
        for value in ["nan", "inf", "-inf", "1e999", "NaN", "0x1"] {
            fails(&format!("LUT_3D_SIZE 2\n{value} 0 0\n"), "cube-syntax", 2, value);
            fails(&format!("LUT_3D_SIZE 2\n0 0 {value}\n"), "cube-syntax", 2, value);
        }
        fails("LUT_3D_SIZE 2\nLUT_3D_SIZE 2\n", "cube-syntax", 2, "set twice");
        fails("DOMAIN_MAX 1 1 1\nDOMAIN_MAX 1 1 1\n", "cube-syntax", 2, "set twice");
        fails(&format!("LUT_3D_SIZE 2\nDOMAIN_MAX 1 0 1\n{CORNERS}"), "cube-syntax", 2, "not greater");
    }

    #[test]
    fn rejects_wrong_numbers_of_entries() {
        fails(&format!("LUT_3D_SIZE 3\n{CORNERS}"), "cube-count", 9, "needs 27 entries, and the file has 8");
        fails(&format!("LUT_3D_SIZE 2\n{CORNERS}0.1 0.1 0.1\n"), "cube-count", 10, "exceeds them");
        // The stated size must not cause an allocation.
        fails("LUT_3D_SIZE 256\n0 0 0\n", "cube-count", 2, "needs 16777216 entries");
    }

    #[test]
    fn rejects_binary_content_with_its_place() {
        let error = import(b"# fine\nTITLE \"caf\xE9\"\n").unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.at.as_deref().unwrap_or_default()),
            ("cube-encoding", "line 2")
        );
        assert!(error.message.contains("0xe9"), "{error}");
        assert_eq!(import(b"").unwrap_err().code, Code::FileEmpty);
        assert_eq!(
            import(b"version https://git-lfs.github.com/spec/v1\n").unwrap_err().code,
            Code::LfsPointer
        );
    }

    #[test]
    fn shortens_long_text_in_messages() {
        let error = import(format!("LUT_3D_SIZE 2\n{}\n", "1é".repeat(500)).as_bytes()).unwrap_err();
        assert!(error.message.len() < 200, "{error}");
    }
}
