//! Case folding and Unicode normalization of file names, to find names that collide on some file system.
//!
//! APFS and HFS+ compare names without regard to case and normalization, ext4 and f2fs with `casefold` by NFD and full
//! case folding without default-ignorable characters, NTFS and exFAT by simple case mappings. A project that builds on
//! one of them has to build on all, so the union of their rules applies: two names that fold to the same
//! string collide somewhere. Folding does not depend on the locale: the Turkish `ı` is not `i`.

use crate::RelPath;
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;

/// Folds a path for comparison: paths that some file system treats as equal fold to the same string. The result is not a
/// file name.
pub fn folded(path: &RelPath) -> String {
    fold(path.as_str()).into_owned()
}

/// Folds a name: NFD, full case folding and NFD again, without default-ignorable characters. Lower-case ASCII is borrowed.
pub(crate) fn fold(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        name.into()
    } else if name.is_ascii() {
        name.to_ascii_lowercase().into()
    } else {
        let folded = name.nfd().filter(|c| !is_ignorable(*c)).flat_map(fold_case);
        folded.nfd().collect::<String>().into()
    }
}

/// Folds the case of a character. The standard library has the upper-case and lower-case mappings; applied in sequence they
/// map all characters with equal case folding to the same string: `ẞ` by way of `ß` and `SS` to `ss`. Only the dotless `ı`
/// would become an `i`.
fn fold_case(c: char) -> impl Iterator<Item = char> {
    let upper = |c: char| c.to_lowercase().flat_map(char::to_uppercase);
    let (kept, folded) = if c == 'ı' { (Some(c), None) } else { (None, Some(c)) };
    kept.into_iter().chain(folded.into_iter().flat_map(upper).flat_map(char::to_lowercase))
}

/// Returns whether a character has the Unicode property `Default_Ignorable_Code_Point`.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_names_that_collide_on_some_file_system() {
        for (a, b) in [
            ("A/b.PNG", "a/B.png"),
            ("É.png", "é.png"),
            // NFC and NFD.
            ("\u{e9}.png", "e\u{301}.png"),
            ("\u{c9}.png", "e\u{301}.png"),
            ("\u{1e69}", "s\u{307}\u{323}"),
            ("\u{d55c}", "\u{1112}\u{1161}\u{11ab}"),
            ("\u{212b}", "\u{e5}"),
            ("\u{2126}", "\u{3c9}"),
            // Full case folding.
            ("straße.png", "STRASSE.png"),
            ("straße.png", "STRAẞE.PNG"),
            ("ﬁle", "FILE"),
            ("ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ"),
            ("\u{17f}et", "Set"),
            ("\u{212a}ey", "key"),
            ("\u{1f80}", "\u{1f08}\u{399}"),
            ("\u{390}", "\u{3b9}\u{308}\u{301}"),
            ("\u{149}", "\u{2bc}N"),
            ("\u{13a0}", "\u{ab70}"),
            // Default-ignorable characters.
            ("a\u{200d}b", "ab"),
            ("\u{2764}\u{fe0f}", "\u{2764}"),
            ("co\u{ad}op", "COOP"),
        ] {
            assert_eq!(fold(a), fold(b), "{a} {b}");
        }
    }

    #[test]
    fn keeps_other_names_distinct() {
        for (a, b) in [
            ("a.png", "á.png"),
            ("ı", "i"),
            ("ı", "I"),
            ("İ", "i"),
            ("o", "ø"),
            // Compatibility equivalents are different names.
            ("x²", "x2"),
            ("Ａ", "A"),
            ("①", "1"),
            ("й", "и"),
            ("a/b", "ab"),
        ] {
            assert_ne!(fold(a), fold(b), "{a} {b}");
        }
    }

    #[test]
    fn folding_is_idempotent_for_every_character_and_keeps_separators() {
        for c in ('\0'..=char::MAX).filter(|c| !c.is_ascii_uppercase()) {
            let name = format!("{c}a");
            let folded = fold(&name);
            assert_eq!(fold(&folded), folded, "{:x}", c as u32);
            assert_eq!(folded.matches('/').count(), usize::from(c == '/'), "{:x}", c as u32);
        }
    }

    #[test]
    fn borrows_lower_case_ascii() {
        assert!(matches!(fold("models/chair-1.png"), Cow::Borrowed(_)));
    }
}
