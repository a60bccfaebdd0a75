//! AngelCode bitmap font definitions in binary (version 3) and XML form, converted to the text form that paks store.
//!
//! Rejects truncated blocks, other versions of the binary form, and XML without a `font` element.

use std::fmt::Write;

/// Returns the text form of a definition in any of the three forms.
///
/// # Errors
/// A message if the definition is in none of them, or damaged.
pub(super) fn to_text(bytes: Vec<u8>) -> Result<String, String> {
    if let Some(rest) = bytes.strip_prefix(b"BMF") {
        return binary_to_text(rest);
    }
    let text = String::from_utf8(bytes).map_err(|_| "the font definition is not valid UTF-8".to_owned())?;
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with('<') { xml_to_text(start) } else { Ok(text) }
}

/// The attributes whose values are strings, which the text form has in quotes.
const STRINGS: [&str; 4] = ["face", "charset", "file", "letter"];

fn put(out: &mut String, key: &str, value: &str) {
    // The text form has no escapes.
    let value = value.replace(['"', '\n', '\r'], "'");
    let quote = if STRINGS.contains(&key) { "\"" } else { "" };
    let _ = write!(out, " {key}={quote}{value}{quote}");
}

/// A reader of little-endian fields.
struct Block<'a>(&'a [u8]);

impl<'a> Block<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (first, rest) = self.0.split_at_checked(count).ok_or("unexpected end of the font definition")?;
        self.0 = rest;
        Ok(first)
    }

    fn u8(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    fn u16(&mut self) -> Result<u16, String> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn i16(&mut self) -> Result<i16, String> {
        Ok(self.u16()? as i16)
    }

    fn u32(&mut self) -> Result<u32, String> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Reads a string that ends with a zero byte.
    fn string(&mut self) -> Result<String, String> {
        let len =
            self.0.iter().position(|byte| *byte == 0).ok_or("a string of the font definition has no end")?;
        let text = String::from_utf8_lossy(self.take(len)?).into_owned();
        self.u8()?;
        Ok(text)
    }
}

fn binary_to_text(bytes: &[u8]) -> Result<String, String> {
    let mut file = Block(bytes);
    let version = file.u8()?;
    if version != 3 {
        return Err(format!("the binary font definition has version {version}, expected 3"));
    }
    let mut out = String::new();
    while !file.0.is_empty() {
        let (kind, len) = (file.u8()?, file.u32()? as usize);
        let mut block = Block(file.take(len)?);
        match kind {
            1 => info(&mut block, &mut out)?,
            2 => common(&mut block, &mut out)?,
            3 => {
                for id in 0.. {
                    if block.0.is_empty() {
                        break;
                    }
                    let _ = write!(out, "page id={id}");
                    put(&mut out, "file", &block.string()?);
                    out.push('\n');
                }
            }
            4 => {
                let _ = writeln!(out, "chars count={}", len / 20);
                while !block.0.is_empty() {
                    let _ = write!(out, "char id={}", block.u32()?);
                    for key in ["x", "y", "width", "height"] {
                        put(&mut out, key, &block.u16()?.to_string());
                    }
                    for key in ["xoffset", "yoffset", "xadvance"] {
                        put(&mut out, key, &block.i16()?.to_string());
                    }
                    for key in ["page", "chnl"] {
                        put(&mut out, key, &block.u8()?.to_string());
                    }
                    out.push('\n');
                }
            }
            5 => {
                let _ = writeln!(out, "kernings count={}", len / 10);
                while !block.0.is_empty() {
                    let (first, second, amount) = (block.u32()?, block.u32()?, block.i16()?);
                    let _ = writeln!(out, "kerning first={first} second={second} amount={amount}");
                }
            }
            _ => {
                return Err(format!(
                    "the binary font definition has a block of type {kind}, expected 1 to 5"
                ));
            }
        }
    }
    Ok(out)
}

fn info(block: &mut Block<'_>, out: &mut String) -> Result<(), String> {
    let (size, bits, charset, stretch, aa) =
        (block.i16()?, block.u8()?, block.u8()?, block.u16()?, block.u8()?);
    let padding = block.take(4)?.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    let spacing = block.take(2)?.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    let outline = block.u8()?;
    // Flags are numbered from the highest bit.
    let flag = |number: u32| (bits >> (7 - number) & 1).to_string();
    out.push_str("info");
    put(out, "face", &block.string()?);
    put(out, "size", &size.to_string());
    put(out, "bold", &flag(3));
    put(out, "italic", &flag(2));
    put(out, "charset", &if flag(1) == "1" { String::new() } else { charset.to_string() });
    put(out, "unicode", &flag(1));
    put(out, "stretchH", &stretch.to_string());
    put(out, "smooth", &flag(0));
    put(out, "aa", &aa.to_string());
    put(out, "padding", &padding);
    put(out, "spacing", &spacing);
    put(out, "outline", &outline.to_string());
    out.push('\n');
    Ok(())
}

fn common(block: &mut Block<'_>, out: &mut String) -> Result<(), String> {
    out.push_str("common");
    for key in ["lineHeight", "base", "scaleW", "scaleH", "pages"] {
        put(out, key, &block.u16()?.to_string());
    }
    put(out, "packed", &(block.u8()? & 1).to_string());
    for key in ["alphaChnl", "redChnl", "greenChnl", "blueChnl"] {
        put(out, key, &block.u8()?.to_string());
    }
    out.push('\n');
    Ok(())
}

fn xml_to_text(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let (mut is_font, mut rest) = (false, text);
    while let Some((_, start)) = rest.split_once('<') {
        // Comments may contain elements, and strings the character that ends an element.
        let end = match start.strip_prefix("!--") {
            Some(comment) => comment.find("-->").map(|at| at + "!----".len()),
            None => element_end(start),
        };
        let (tag, after) = end
            .and_then(|end| Some((start.get(..end)?, start.get(end + 1..)?)))
            .ok_or("an element of the XML font definition has no end")?;
        rest = after;
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        match name.trim_end_matches('/') {
            "font" => is_font = true,
            name @ ("info" | "common" | "page" | "chars" | "char" | "kernings" | "kerning") => {
                out.push_str(name);
                for (key, value) in xml_attributes(attributes)? {
                    put(&mut out, key, &value);
                }
                out.push('\n');
            }
            _ => {}
        }
    }
    if is_font { Ok(out) } else { Err("the XML file has no font element".to_owned()) }
}

/// Returns the offset of the `>` that ends an element: the first one outside quotes.
fn element_end(element: &str) -> Option<usize> {
    let mut quote = None;
    element.find(|c: char| match (quote, c) {
        (None, '"' | '\'') => {
            quote = Some(c);
            false
        }
        (None, c) => c == '>',
        (Some(open), c) => {
            quote = quote.filter(|_| c != open);
            false
        }
    })
}

fn xml_attributes(mut text: &str) -> Result<Vec<(&str, String)>, String> {
    let mut found = Vec::new();
    while let Some((key, rest)) = text.split_once('=') {
        let rest = rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let value = quote.and_then(|quote| rest[1..].split_once(quote));
        let (value, rest) =
            value.ok_or_else(|| format!("the XML attribute {:?} has no quoted value", key.trim()))?;
        found.push((key.trim(), unescaped(value)));
        text = rest;
    }
    Ok(found)
}

/// Decodes the predefined entities of XML and numeric character references.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (entity, rest) = part.split_once(';').unwrap_or((part, ""));
        let number = || match entity.strip_prefix("#x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => entity.strip_prefix('#')?.parse().ok(),
        };
        let decoded = match entity {
            "quot" => Some('"'),
            "amp" => Some('&'),
            "apos" => Some('\''),
            "lt" => Some('<'),
            "gt" => Some('>'),
            _ => number().and_then(char::from_u32),
        };
        match decoded {
            Some(decoded) => out.extend([decoded]),
            None => out.extend(["&", entity, ";"]),
        }
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "info face=\"A & B\" size=-32 bold=0 italic=1 charset=\"\" unicode=1 stretchH=100 smooth=1 aa=2 \
        padding=1,2,3,4 spacing=5,6 outline=7\n\
        common lineHeight=40 base=30 scaleW=256 scaleH=128 pages=2 packed=1 alphaChnl=0 redChnl=4 greenChnl=4 blueChnl=3\n\
        page id=0 file=\"a_0.png\"\npage id=1 file=\"a_1.png\"\n\
        chars count=1\nchar id=65 x=1 y=2 width=3 height=4 xoffset=-5 yoffset=6 xadvance=7 page=1 chnl=15\n\
        kernings count=1\nkerning first=65 second=86 amount=-2\n";

    fn binary() -> Vec<u8> {
        let mut out = b"BMF\x03".to_vec();
        let mut block = |kind: u8, content: &[u8]| {
            out.push(kind);
            out.extend((content.len() as u32).to_le_bytes());
            out.extend(content);
        };
        let info =
            [&(-32i16).to_le_bytes()[..], &[0b1110_0000, 0, 100, 0, 2, 1, 2, 3, 4, 5, 6, 7], b"A & B\0"];
        block(1, &info.concat());
        block(2, &[40, 0, 30, 0, 0, 1, 128, 0, 2, 0, 1, 0, 4, 4, 3]);
        block(3, b"a_0.png\0a_1.png\0");
        block(4, &[65, 0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 0xfb, 0xff, 6, 0, 7, 0, 1, 15]);
        block(5, &[65, 0, 0, 0, 86, 0, 0, 0, 0xfe, 0xff]);
        out
    }

    #[test]
    fn binary_and_xml_become_text() {
        assert_eq!(to_text(binary()).as_deref(), Ok(TEXT));
        let xml = TEXT.lines().fold("<?xml version=\"1.0\"?>\r\n<font>\n".to_owned(), |xml, line| {
            let (name, rest) = line.split_once(' ').unwrap();
            let mut attributes = String::new();
            let mut rest = rest;
            while let Some((key, value)) = rest.split_once('=') {
                let quoted = value.strip_prefix('"').map(|value| value.split_once('"').unwrap());
                let (value, after) = quoted.unwrap_or_else(|| value.split_once(' ').unwrap_or((value, "")));
                attributes += &format!(" {}=\"{}\"", key.trim(), value.replace('&', "&amp;"));
                rest = after;
            }
            format!("{xml}  <{name}{attributes}/>\n")
        });
        assert_eq!(to_text((xml + "</font>").into_bytes()).as_deref(), Ok(TEXT));
        assert_eq!(to_text(TEXT.into()).as_deref(), Ok(TEXT), "the text form is unchanged");
    }

    #[test]
    fn xml_comments_and_strings_do_not_end_elements() {
        let xml = "<?xml version='1.0'?><!-- <page id=\"7\" file=\"old.png\"/> --><font><page id='0' file='a>b.png'/>\
            <chars count=\"1\"><char id=\"62\" letter=\">\"></char></chars></font>";
        let text = "page id=0 file=\"a>b.png\"\nchars count=1\nchar id=62 letter=\">\"\n";
        assert_eq!(to_text(xml.into()).as_deref(), Ok(text));
    }

    #[test]
    fn rejects_damaged_definitions() {
        let whole = binary();
        for len in 3..whole.len() {
            // A file that ends after a block has fewer blocks; every other prefix is truncated.
            let ends_after_a_block = to_text(whole[..len].to_vec()).is_ok();
            assert!(
                !ends_after_a_block || TEXT.starts_with(&to_text(whole[..len].to_vec()).unwrap()),
                "{len}"
            );
        }
        for bad in
            ["<font><page id=0/>", "<html></html>", "<font", "<font><page id=\"0/></font>", "<font/><!-- "]
        {
            assert!(to_text(bad.into()).is_err(), "{bad}");
        }
        assert!(to_text(b"BMF\x02".to_vec()).is_err() && to_text(vec![0xff, 0xfe]).is_err());
        assert_eq!(unescaped("&#65;&#x42;&amp;&nope;&lt"), "AB&&nope;<");
    }
}
