//! The bit stream of BasisLZ and its canonical Huffman codes (KTX 2.0, section 4.2).
//!
//! Bits are read from the lowest of each byte. A truncated stream is an error.

/// The maximum length of a code in bits.
const MAX_CODE_LENGTH: u8 = 16;
/// The order in which the lengths of the code length code are stored.
const LENGTH_ORDER: [usize; 21] = [17, 18, 19, 20, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15, 16];

/// A reader of a bit stream.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    /// The number of bits that were read.
    at: usize,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Bits { bytes, at: 0 }
    }

    /// Returns the next bits without consuming them, at most 24, with zeros behind the end.
    fn peek(&self, count: u8) -> u32 {
        let start = self.at / 8;
        let byte = |i: usize| u32::from(self.bytes.get(start + i).copied().unwrap_or(0)) << (8 * i);
        ((0..4).fold(0, |word, i| word | byte(i)) >> (self.at % 8)) & ((1 << count) - 1)
    }

    fn skip(&mut self, count: u8) -> Option<()> {
        self.at += usize::from(count);
        (self.at <= self.bytes.len() * 8).then_some(())
    }

    /// Reads a number of at most 24 bits.
    pub(super) fn take(&mut self, count: u8) -> Option<u32> {
        let value = self.peek(count);
        self.skip(count)?;
        Some(value)
    }

    /// Reads a variable-length number in groups of bits, each followed by a continuation bit.
    pub(super) fn take_groups(&mut self, group: u8) -> Option<u32> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let bits = self.take(group + 1)?;
            value |= (bits & ((1 << group) - 1)) << shift;
            shift += u32::from(group);
            if bits >> group == 0 || shift >= u32::BITS {
                return Some(value);
            }
        }
    }
}

/// A prefix code as a lookup table: the symbol and the length for every value of the longest code's length.
pub(super) struct Code {
    longest: u8,
    symbols: Vec<(u16, u8)>,
}

impl Code {
    /// Reads a code with at least one symbol.
    pub(super) fn read(bits: &mut Bits<'_>) -> Option<Code> {
        Code::read_any(bits)?
    }

    /// Reads the encoded lengths of a code, and creates the code if it has any symbols.
    pub(super) fn read_any(bits: &mut Bits<'_>) -> Option<Option<Code>> {
        let count = bits.take(14)? as usize;
        if count == 0 {
            return Some(None);
        }
        let stored = bits.take(5)? as usize;
        let mut lengths_of_lengths = [0; LENGTH_ORDER.len()];
        for &symbol in LENGTH_ORDER.get(..stored)? {
            lengths_of_lengths[symbol] = bits.take(3)? as u8;
        }
        let code = Code::new(&lengths_of_lengths)?;
        let mut lengths = Vec::with_capacity(count);
        while lengths.len() < count {
            let (length, repeats) = match code.take(bits)? {
                symbol @ 0..=16 => (symbol as u8, 1),
                17 => (0, bits.take(3)? + 3),
                18 => (0, bits.take(7)? + 11),
                symbol => {
                    let last = *lengths.last().filter(|last| **last > 0)?;
                    (last, if symbol == 19 { bits.take(2)? + 3 } else { bits.take(7)? + 7 })
                }
            };
            lengths.resize(lengths.len() + repeats as usize, length);
        }
        if lengths.len() == count { Code::new(&lengths).map(Some) } else { None }
    }

    /// Creates the canonical code of these lengths, where 0 means an unused symbol. The code has to be complete, unless there
    /// is a single symbol.
    fn new(lengths: &[u8]) -> Option<Code> {
        let longest = *lengths.iter().max()?;
        let used = lengths.iter().filter(|length| **length > 0).count();
        if longest == 0 || longest > MAX_CODE_LENGTH {
            return None;
        }
        let space: u64 = lengths.iter().filter(|l| **l > 0).map(|l| 1 << (longest - l)).sum();
        if space > 1 << longest || (space < 1 << longest && used != 1) {
            return None;
        }
        let mut symbols = vec![(0, 0); 1 << longest];
        let mut next = 0u32;
        for length in 1..=longest {
            next <<= 1;
            for symbol in (0..lengths.len()).filter(|symbol| lengths[*symbol] == length) {
                // Codes are stored from the highest bit.
                let first = (next.reverse_bits() >> (u32::BITS - u32::from(length))) as usize;
                symbols[first..]
                    .iter_mut()
                    .step_by(1 << length)
                    .for_each(|slot| *slot = (symbol as u16, length));
                next += 1;
            }
        }
        Some(Code { longest, symbols })
    }

    /// Reads a symbol.
    pub(super) fn take(&self, bits: &mut Bits<'_>) -> Option<u32> {
        let (symbol, length) = self.symbols[bits.peek(self.longest) as usize];
        if length == 0 {
            return None;
        }
        bits.skip(length)?;
        Some(symbol.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bits_from_the_lowest() {
        let mut bits = Bits::new(&[0b1010_0110, 0xFF, 0x01]);
        assert_eq!(bits.take(3), Some(0b110));
        assert_eq!(bits.take(8), Some(0b1111_0100));
        assert_eq!(bits.take(13), Some(0b0_0000_0011_1111));
        assert_eq!((bits.take(0), bits.take(1)), (Some(0), None));
        // 5 + 3 * 16, with four bits per group.
        assert_eq!(Bits::new(&[0b0111_0101, 0]).take_groups(4), Some(0x35));
    }

    #[test]
    fn codes_are_canonical_and_complete() {
        // a = 0, b = 10, c = 110, d = 111, each from its highest bit.
        let code = Code::new(&[1, 2, 3, 3]).unwrap();
        // d, a, c, b, and padding: 111 0 110 1|0.
        let mut bits = Bits::new(&[0b1011_0111, 0]);
        assert_eq!([(); 4].map(|()| code.take(&mut bits)), [3, 0, 2, 1].map(Some));
        assert!(Code::new(&[1, 2, 3]).is_none(), "a value without a symbol");
        assert!(Code::new(&[1, 1, 1]).is_none(), "too many codes");
        assert!(Code::new(&[0, 0]).is_none() && Code::new(&[]).is_none() && Code::new(&[17]).is_none());
        assert!(Code::new(&[0, 1]).is_some(), "a single symbol");
    }
}
