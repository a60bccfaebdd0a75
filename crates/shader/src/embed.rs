//! Embeds the path and text of a source in a SPIR-V module, for debuggers: glslang leaves them out.
//!
//! The `OpSource` of the compiler, which has the language and its version only, gets a file and the text; the
//! part that does not fit in one instruction follows in `OpSourceContinued`.

use crate::spirv::instructions;

const SOURCE_CONTINUED: u32 = 2;
const SOURCE: u32 = 3;
const STRING: u32 = 7;
/// The position of the id bound in the header, in words.
const BOUND: usize = 3;
/// The maximum bytes of text in one instruction, with room for its other operands and the terminating zero.
const MAX_CHUNK: usize = (u16::MAX as usize - 8) * 4;

/// Returns the module with the source embedded; unmodified if it has no `OpSource`.
pub(crate) fn embed(words: Vec<u32>, path: &str, text: &str) -> Vec<u32> {
    let source = instructions(&words).find(|(opcode, range)| *opcode == SOURCE && range.len() >= 3);
    let Some((_, source)) = source else { return words };
    let [language, version] = [words[source.start + 1], words[source.start + 2]];
    let Some(file) = words.get(BOUND).copied() else { return words };
    let mut chunks = chunks(text);
    let mut debug = instruction(STRING, &[&[file], &literal(path)]);
    debug.extend(instruction(SOURCE, &[&[language, version, file], &literal(chunks.next().unwrap_or(""))]));
    for chunk in chunks {
        debug.extend(instruction(SOURCE_CONTINUED, &[&literal(chunk)]));
    }
    let mut embedded = [&words[..source.start], &debug, &words[source.end..]].concat();
    embedded[BOUND] += 1;
    embedded
}

/// Splits the text into chunks that fit in an instruction, between characters.
fn chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(MAX_CHUNK));
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

fn instruction(opcode: u32, operands: &[&[u32]]) -> Vec<u32> {
    let operands = operands.concat();
    let mut words = vec![(operands.len() as u32 + 1) << 16 | opcode];
    words.extend(operands);
    words
}

/// Returns a string as operands: zero-terminated, in whole words.
fn literal(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len() / 4 * 4 + 4, 0);
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spirv::HEADER;

    fn module() -> Vec<u32> {
        // A header, OpCapability, OpSource GLSL 450, OpTypeVoid.
        vec![0x0723_0203, 0x0001_0500, 0, 7, 0, 2 << 16 | 17, 1, 3 << 16 | 3, 2, 450, 2 << 16 | 19, 1]
    }

    #[test]
    fn embeds_source_after_op_string() {
        let embedded = embed(module(), "a.vert", "void");
        let path = [0x65762e61, 0x00007472];
        let expected = [
            &[0x0723_0203, 0x0001_0500, 0, 8, 0, 2 << 16 | 17, 1][..],
            &[4 << 16 | 7, 7, path[0], path[1]],
            &[6 << 16 | 3, 2, 450, 7, 0x64696f76, 0],
            &[2 << 16 | 19, 1],
        ];
        assert_eq!(embedded, expected.concat());
        assert_eq!(embed(vec![1, 2, 3, 4, 5], "a", "b"), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn long_source_is_continued() {
        let text = "ü".repeat(200_000);
        let embedded = embed(module(), "a", &text);
        let mut at = HEADER;
        let mut bytes = Vec::new();
        while at < embedded.len() {
            let (count, opcode) = ((embedded[at] >> 16) as usize, embedded[at] & 0xffff);
            let skip = match opcode {
                SOURCE => 4,
                SOURCE_CONTINUED => 1,
                _ => count,
            };
            let chunk: Vec<u8> =
                embedded[at + skip..at + count].iter().flat_map(|w| w.to_le_bytes()).collect();
            bytes.extend(chunk.into_iter().take_while(|b| *b != 0));
            at += count;
        }
        assert_eq!(String::from_utf8(bytes).unwrap(), text);
    }
}
