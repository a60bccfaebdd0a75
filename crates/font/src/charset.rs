//! Character sets: names of common sets, single characters and ranges.

/// A set of characters, in the form of its configuration string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charset(Vec<Item>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    /// The name of the set; `None` for a codepoint range.
    name: Option<&'static str>,
    first: u32,
    last: u32,
}

/// The named sets with their first and last codepoint.
const NAMED: [(&str, u32, u32); 8] = [
    ("ascii", 0x20, 0x7e),
    ("latin1", 0xa0, 0xff),
    ("latin-a", 0x100, 0x17f),
    ("greek", 0x370, 0x3ff),
    ("cyrillic", 0x400, 0x4ff),
    ("punctuation", 0x2010, 0x205e),
    ("currency", 0x20a0, 0x20c0),
    ("all", 0x20, 0x10_ffff),
];

impl Charset {
    /// Parses names and codepoints separated by commas or spaces, such as `ascii, U+20AC, U+0400-04FF`.
    /// Returns `None` if any of them is invalid.
    pub fn parse(text: &str) -> Option<Charset> {
        let parts = text.split(|c: char| c == ',' || c.is_ascii_whitespace()).filter(|part| !part.is_empty());
        let items: Vec<Item> = parts.map(Item::parse).collect::<Option<_>>()?;
        (!items.is_empty()).then_some(Charset(items))
    }

    /// Returns the canonical string, which parses to the same set.
    pub fn show(&self) -> String {
        self.0.iter().map(Item::show).collect::<Vec<_>>().join(", ")
    }

    /// Describes the syntax of [`parse`](Self::parse), with each literal in backticks.
    pub fn accepts() -> String {
        let names: Vec<String> = NAMED.iter().map(|(name, ..)| format!("`{name}`")).collect();
        format!("{}, `U+XXXX` or `U+XXXX-XXXX`, with commas between several", names.join(", "))
    }

    /// Iterates over the characters in order, each once, without control characters; `true` for codepoint
    /// ranges.
    pub(crate) fn characters(&self) -> impl Iterator<Item = (char, bool)> {
        let all = merged(self.0.iter());
        let mut spelled = merged(self.0.iter().filter(|item| item.name.is_none())).into_iter().peekable();
        let codepoints = all.into_iter().flat_map(|(first, last)| first..=last);
        let characters = codepoints.filter_map(char::from_u32).filter(|character| !character.is_control());
        characters.map(move |character| {
            let codepoint = u32::from(character);
            while spelled.next_if(|(_, last)| *last < codepoint).is_some() {}
            (character, spelled.peek().is_some_and(|(first, _)| *first <= codepoint))
        })
    }
}

/// Merges ranges and returns them in order.
fn merged<'a>(items: impl Iterator<Item = &'a Item>) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = items.map(|item| (item.first, item.last)).collect();
    ranges.sort_unstable();
    ranges.dedup_by(|next, range| {
        let overlaps = next.0 <= range.1;
        if overlaps {
            range.1 = range.1.max(next.1);
        }
        overlaps
    });
    ranges
}

/// ASCII and Latin-1, for western European languages.
impl Default for Charset {
    fn default() -> Charset {
        let named = |(name, first, last)| Item { name: Some(name), first, last };
        Charset(NAMED[..2].iter().copied().map(named).collect())
    }
}

impl Item {
    fn parse(text: &str) -> Option<Item> {
        if let Some((name, first, last)) = NAMED.iter().find(|(name, ..)| *name == text) {
            return Some(Item { name: Some(name), first: *first, last: *last });
        }
        let digits = text.strip_prefix("U+")?;
        let (first, last) = digits.split_once('-').unwrap_or((digits, digits));
        let number = |digits: &str| {
            let fine = (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
            u32::from_str_radix(digits, 16).ok().filter(|number| fine && *number <= char::MAX as u32)
        };
        let (first, last) = (number(first)?, number(last.strip_prefix("U+").unwrap_or(last))?);
        (first <= last).then_some(Item { name: None, first, last })
    }

    fn show(&self) -> String {
        match self {
            Item { name: Some(name), .. } => (*name).to_owned(),
            Item { first, last, .. } if first == last => format!("U+{first:04X}"),
            Item { first, last, .. } => format!("U+{first:04X}-{last:04X}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_string_round_trips() {
        for (text, shown) in [
            ("ascii, latin1", "ascii, latin1"),
            (" U+41  U+0400-04ff,", "U+0041, U+0400-04FF"),
            ("U+10FFFF", "U+10FFFF"),
            ("all", "all"),
            ("U+0400-U+0410", "U+0400-0410"),
        ] {
            let charset = Charset::parse(text).unwrap();
            assert_eq!(charset.show(), shown);
            assert_eq!(Charset::parse(shown), Some(charset));
        }
        assert_eq!(Charset::default(), Charset::parse("ascii, latin1").unwrap());
        for text in
            ["", " , ", "ASCII", "U+", "U+110000", "U+42-41", "U+G", "0041", "U+41-", "U+0000041", "true"]
        {
            assert_eq!(Charset::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn characters_are_unique_and_exclude_controls() {
        let of = |text: &str| Charset::parse(text).unwrap().characters().collect::<Vec<_>>();
        assert_eq!(of("ascii").len(), 95);
        assert_eq!(of("ascii, latin1").len(), 95 + 96);
        assert_eq!(of("U+0041-0043, ascii, U+0042").len(), 95);
        assert_eq!(of("U+42, U+0000-0041")[..2], [(' ', true), ('!', true)]);
        let all = of("all, U+0041");
        assert_eq!(all.iter().filter(|(_, spelled)| *spelled).collect::<Vec<_>>(), [&('A', true)]);
        assert_eq!(all.len(), 0x11_0000 - 0x800 - 65, "neither surrogates nor controls");
    }
}
