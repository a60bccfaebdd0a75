//! The decoders of triangle lists and index sequences, versions 0 and 1.
//!
//! A triangle is one byte, which names an edge of one of the 15 preceding edges and the third vertex: the next new one,
//! one of the preceding vertices, or one whose difference to the last such vertex follows. So the corners of a triangle
//! may be rotated, but not its winding. A sequence is the differences to either of two preceding indices.

use core::hint::select_unpredictable;

use super::StreamError;

/// The bytes after the data of a triangle list: pairs of preceding vertices that one code stands for.
const TABLE: usize = 16;
/// The bytes after the data of an index sequence.
const SEQUENCE_TAIL: usize = 4;

/// The last 16 edges and vertices.
struct Recent {
    edges: [[u32; 2]; 16],
    next_edge: usize,
    vertices: [u32; 16],
    next_vertex: usize,
}

impl Recent {
    #[inline(always)]
    fn vertex(&self, back: u8) -> u32 {
        self.vertices[self.next_vertex.wrapping_sub(usize::from(back)) & 15]
    }

    #[inline(always)]
    fn push_vertex(&mut self, vertex: u32, is_new: bool) {
        self.vertices[self.next_vertex & 15] = vertex;
        self.next_vertex = self.next_vertex.wrapping_add(usize::from(is_new));
    }

    #[inline(always)]
    fn push_edge(&mut self, from: u32, to: u32) {
        self.edges[self.next_edge & 15] = [from, to];
        self.next_edge = self.next_edge.wrapping_add(1);
    }
}

/// The indices that are stored as differences.
struct Differences<'a> {
    data: &'a [u8],
    last: u32,
}

impl Differences<'_> {
    fn byte(&mut self) -> Result<u8, StreamError> {
        let (&byte, rest) = self.data.split_first().ok_or(StreamError::Truncated)?;
        self.data = rest;
        Ok(byte)
    }

    /// Reads a number of up to five groups of seven bits.
    #[inline(always)]
    fn number(&mut self) -> Result<u32, StreamError> {
        let first = self.byte()?;
        if first < 128 {
            return Ok(first.into());
        }
        let mut number = u32::from(first & 127);
        for shift in [7, 14, 21, 28] {
            let byte = self.byte()?;
            number |= u32::from(byte & 127) << shift;
            if byte < 128 {
                break;
            }
        }
        Ok(number)
    }

    fn index(&mut self) -> Result<u32, StreamError> {
        let difference = unzigzag(self.number()?);
        self.last = self.last.wrapping_add(difference);
        Ok(self.last)
    }
}

fn unzigzag(number: u32) -> u32 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

/// Decodes `count` triangles and passes each to `each`, which returns false to reject it.
///
/// # Errors
///
/// [`StreamError`] if the stream is invalid or has another length, or a triangle was rejected.
#[inline(always)]
pub fn decode_triangles(
    stream: &[u8],
    count: usize,
    mut each: impl FnMut([u32; 3]) -> bool,
) -> Result<(), StreamError> {
    let (&header, rest) = stream.split_first().ok_or(StreamError::Truncated)?;
    // Up to this code, the third vertex is the next new one or one of the preceding.
    let most_back = match header {
        0xe0 => 15,
        0xe1 => 13,
        _ => return Err(StreamError::Header),
    };
    let (codes, rest) = rest.split_at_checked(count).ok_or(StreamError::Truncated)?;
    let (data, table) = rest.split_last_chunk::<TABLE>().ok_or(StreamError::Truncated)?;
    let mut differences = Differences { data, last: 0 };
    let mut recent =
        Recent { edges: [[u32::MAX; 2]; 16], next_edge: 0, vertices: [u32::MAX; 16], next_vertex: 0 };
    let mut next = 0u32;
    for &code in codes {
        let triangle = if code < 0xf0 {
            let [a, b] = recent.edges[recent.next_edge.wrapping_sub(1 + usize::from(code >> 4)) & 15];
            let third = code & 15;
            let c = if third < most_back {
                let is_new = third == 0;
                // Which of them cannot be predicted, so both are read.
                let c = select_unpredictable(is_new, next, recent.vertex(third + 1));
                next = next.wrapping_add(is_new.into());
                recent.push_vertex(c, is_new);
                c
            } else {
                let c = match third {
                    13 => differences.last.wrapping_sub(1),
                    14 => differences.last.wrapping_add(1),
                    _ => differences.index()?,
                };
                differences.last = c;
                recent.push_vertex(c, true);
                c
            };
            recent.push_edge(c, b);
            recent.push_edge(a, c);
            [a, b, c]
        } else {
            let (first, pair) = match code {
                0xfe => (0, differences.byte()?),
                0xff => (15, differences.byte()?),
                _ => (0, table[usize::from(code & 15)]),
            };
            // Only a pair that is not from the table starts over.
            if code >= 0xfe && pair == 0 {
                next = 0;
            }
            let corners = [first, pair >> 4, pair & 15];
            let mut triangle = corners.map(|corner| {
                let vertex = select_unpredictable(corner == 0, next, recent.vertex(corner));
                next = next.wrapping_add(u32::from(corner == 0));
                vertex
            });
            for (vertex, corner) in triangle.iter_mut().zip(corners) {
                if corner == 15 {
                    *vertex = differences.index()?;
                }
            }
            for (vertex, corner) in triangle.into_iter().zip(corners) {
                recent.push_vertex(vertex, matches!(corner, 0 | 15));
            }
            let [a, b, c] = triangle;
            recent.push_edge(b, a);
            recent.push_edge(c, b);
            recent.push_edge(a, c);
            triangle
        };
        if !each(triangle) {
            return Err(StreamError::Index);
        }
    }
    if differences.data.is_empty() { Ok(()) } else { Err(StreamError::Trailing) }
}

/// Decodes `count` indices and passes each to `each`, which returns false to reject it.
///
/// # Errors
///
/// [`StreamError`] if the stream is invalid or has another length, or an index was rejected.
#[inline(always)]
pub fn decode_index_sequence(
    stream: &[u8],
    count: usize,
    mut each: impl FnMut(u32) -> bool,
) -> Result<(), StreamError> {
    let (&header, rest) = stream.split_first().ok_or(StreamError::Truncated)?;
    if !matches!(header, 0xd0 | 0xd1) {
        return Err(StreamError::Header);
    }
    let data = rest.len().checked_sub(SEQUENCE_TAIL).and_then(|len| rest.get(..len));
    let mut differences = Differences { data: data.ok_or(StreamError::Truncated)?, last: 0 };
    let mut last = [0u32; 2];
    for _ in 0..count {
        let number = differences.number()?;
        let last = &mut last[(number & 1) as usize];
        *last = last.wrapping_add(unzigzag(number >> 1));
        if !each(*last) {
            return Err(StreamError::Index);
        }
    }
    if differences.data.is_empty() { Ok(()) } else { Err(StreamError::Trailing) }
}
