//! Puts the name and text of a source into a module, for debuggers: glslang leaves them out.
//!
//! The `OpSource` that the compiler wrote, which has the language and its version alone, gets a file and the text;
//! what does not fit into one instruction follows it in `OpSourceContinued`.

const SOURCE_CONTINUED: u32 = 2;
const SOURCE: u32 = 3;
const STRING: u32 = 7;
/// Where the header has the bound of ids, and how long it is.
const BOUND: usize = 3;
const HEADER: usize = 5;
/// The most bytes of text that fit into one instruction, with room for its other operands and the zero at its end.
const PIECE: usize = (u16::MAX as usize - 8) * 4;

/// The module with the source in it; as it is where it has no `OpSource`.
pub(crate) fn embed(words: Vec<u32>, path: &str, text: &str) -> Vec<u32> {
    let Some((start, end)) = find(&words) else { return words };
    let [language, version] = [words[start + 1], words[start + 2]];
    let Some(file) = words.get(BOUND).copied() else { return words };
    let mut pieces = pieces(text);
    let mut debug = instruction(STRING, &[&[file], &literal(path)]);
    debug.extend(instruction(SOURCE, &[&[language, version, file], &literal(pieces.next().unwrap_or(""))]));
    for piece in pieces {
        debug.extend(instruction(SOURCE_CONTINUED, &[&literal(piece)]));
    }
    let mut told = [&words[..start], &debug, &words[end..]].concat();
    told[BOUND] += 1;
    told
}

/// Where the first `OpSource` starts and ends, if it has its two operands.
fn find(words: &[u32]) -> Option<(usize, usize)> {
    let mut at = HEADER;
    loop {
        let first = *words.get(at)?;
        let end = at + (first >> 16).max(1) as usize;
        if first & 0xffff == SOURCE {
            return (end >= at + 3 && end <= words.len()).then_some((at, end));
        }
        at = end;
    }
}

/// The text in pieces that fit, none of which splits a character.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn instruction(opcode: u32, operands: &[&[u32]]) -> Vec<u32> {
    let operands = operands.concat();
    let mut words = vec![(operands.len() as u32 + 1) << 16 | opcode];
    words.extend(operands);
    words
}

/// A text as operands: with a zero at its end, in whole words.
fn literal(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module() -> Vec<u32> {
        // A header, OpCapability, OpSource GLSL 450, OpTypeVoid.
        vec![0x0723_0203, 0x0001_0500, 0, 7, 0, 2 << 16 | 17, 1, 3 << 16 | 3, 2, 450, 2 << 16 | 19, 1]
    }

    #[test]
    fn the_source_stands_where_it_belongs() {
        let told = embed(module(), "a.vert", "void");
        let path = [0x65762e61, 0x00007472];
        let expected = [
            &[0x0723_0203, 0x0001_0500, 0, 8, 0, 2 << 16 | 17, 1][..],
            &[4 << 16 | 7, 7, path[0], path[1]],
            &[6 << 16 | 3, 2, 450, 7, 0x64696f76, 0],
            &[2 << 16 | 19, 1],
        ];
        assert_eq!(told, expected.concat());
        assert_eq!(embed(vec![1, 2, 3, 4, 5], "a", "b"), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_long_text_is_continued() {
        let text = "ü".repeat(200_000);
        let told = embed(module(), "a", &text);
        let mut at = HEADER;
        let mut bytes = Vec::new();
        while at < told.len() {
            let (count, opcode) = ((told[at] >> 16) as usize, told[at] & 0xffff);
            let skip = match opcode {
                SOURCE => 4,
                SOURCE_CONTINUED => 1,
                _ => count,
            };
            let piece: Vec<u8> = told[at + skip..at + count].iter().flat_map(|w| w.to_le_bytes()).collect();
            bytes.extend(piece.into_iter().take_while(|b| *b != 0));
            at += count;
        }
        assert_eq!(String::from_utf8(bytes).unwrap(), text);
    }
}
