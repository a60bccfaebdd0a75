//! The decoder of vertex streams, versions 0 and 1.
//!
//! A stream has blocks of up to 256 vertices. In a block, each byte of a vertex is a column of deltas to the vertex
//! before, in groups of 16 with 0, 1, 2, 4 or 8 bits for a delta; the largest value of a group's width stands for a
//! byte that follows the group. Four columns are a channel: four bytes, two 16-bit integers, or, in version 1, 32 bits
//! that are combined by exclusive or. The first vertex and the channels are at the end of the stream.

use super::StreamError;

/// The bytes of a vertex block that limit its vertices.
const BLOCK_BYTES: usize = 8192;
const MAX_BLOCK: usize = 256;
/// The deltas of a group.
const GROUP: usize = 16;
/// The bytes that must follow the start of a group: 16 deltas of four bits, and 16 bytes.
const GROUP_BYTES: usize = 24;
const MAX_STRIDE: usize = 256;

/// The deltas of one byte of the vertices of a block.
type Column = [u8; MAX_BLOCK];

/// Decodes vertices of `stride` bytes: as many as fit in `out`.
///
/// # Errors
///
/// [`StreamError`] if the stream is invalid or has another length, `stride` is not a multiple of 4 from 4 to 256, or
/// `out` does not have the size of whole vertices. Then the content of `out` is unspecified.
pub fn decode_vertices(stream: &[u8], stride: usize, out: &mut [u8]) -> Result<(), StreamError> {
    if !is_stride(stride) || !out.len().is_multiple_of(stride) {
        return Err(StreamError::Size);
    }
    let (&header, mut rest) = stream.split_first().ok_or(StreamError::Truncated)?;
    let (channel_count, least_tail) = match header {
        0xa0 => (0, 32),
        0xa1 => (stride / 4, 24),
        _ => return Err(StreamError::Header),
    };
    let tail = stride + channel_count;
    let (first, channels) = rest
        .len()
        .checked_sub(tail.max(least_tail))
        .and_then(|_| rest.split_at_checked(rest.len() - tail))
        .and_then(|(_, tail)| tail.split_at_checked(stride))
        .ok_or(StreamError::Truncated)?;
    let mut previous = [0; MAX_STRIDE / 4];
    for (word, bytes) in previous.iter_mut().zip(first.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let block = (BLOCK_BYTES / stride / GROUP * GROUP).min(MAX_BLOCK);
    let mut decoder =
        Decoder { columns: [[0; MAX_BLOCK]; 4], words: [0; MAX_BLOCK], previous, stride, channels };
    for vertices in out.chunks_mut(block * stride) {
        rest = decoder.block(rest, vertices)?;
    }
    if rest.len() == tail.max(least_tail) { Ok(()) } else { Err(StreamError::Trailing) }
}

/// Returns whether vertices may have this many bytes.
pub(crate) fn is_stride(stride: usize) -> bool {
    stride.is_multiple_of(4) && (4..=MAX_STRIDE).contains(&stride)
}

struct Decoder<'a> {
    columns: [Column; 4],
    /// The joined columns of a channel.
    words: [u32; MAX_BLOCK],
    /// The last vertex of the block before.
    previous: [u32; MAX_STRIDE / 4],
    stride: usize,
    /// The channels of version 1; empty in version 0.
    channels: &'a [u8],
}

impl Decoder<'_> {
    /// Decodes a block; returns the bytes after it.
    fn block<'b>(&mut self, data: &'b [u8], vertices: &mut [u8]) -> Result<&'b [u8], StreamError> {
        let count = vertices.len() / self.stride;
        let groups = count.div_ceil(GROUP);
        let (controls, mut data) = take(data, self.channels.len())?;
        for channel in 0..self.stride / 4 {
            let control = controls.get(channel).copied().unwrap_or(0);
            for (i, column) in self.columns.iter_mut().enumerate() {
                let widths = match (controls.is_empty(), control >> (2 * i) & 3) {
                    (true, _) => [0, 2, 4, 8],
                    (false, 0) => [0, 1, 2, 4],
                    (false, 1) => [1, 2, 4, 8],
                    (false, 2) => {
                        column[..groups * GROUP].fill(0);
                        continue;
                    }
                    (false, _) => {
                        let (bytes, rest) = take(data, count)?;
                        column[..count].copy_from_slice(bytes);
                        data = rest;
                        continue;
                    }
                };
                data = decode_column(data, widths, &mut column.as_chunks_mut::<GROUP>().0[..groups])?;
            }
            let kind = self.channels.get(channel).copied().unwrap_or(0);
            let words = &mut self.words;
            let [a, b, c, d] =
                self.columns.each_ref().map(|column| column.as_chunks::<GROUP>().0[..groups].iter());
            let joined = words.as_chunks_mut::<GROUP>().0.iter_mut().zip(a.zip(b).zip(c.zip(d)));
            for (words, ((a, b), (c, d))) in joined {
                *words = interleave([a, b, c, d]);
            }
            let words = &mut words[..count];
            let previous = &mut self.previous[channel];
            let vertices = vertices.chunks_exact_mut(self.stride);
            let at = channel * 4;
            match kind & 3 {
                0 => {
                    words.iter_mut().for_each(|word| *word = unzigzag_bytes(*word));
                    accumulate(vertices, at, previous, words, add::<0x8080_8080>);
                }
                1 => {
                    words.iter_mut().for_each(|word| *word = unzigzag_shorts(*word));
                    accumulate(vertices, at, previous, words, add::<0x8000_8000>);
                }
                2 => {
                    let rotation = u32::from(kind >> 4);
                    words.iter_mut().for_each(|word| *word = word.rotate_right(rotation));
                    accumulate(vertices, at, previous, words, |value, delta| value ^ delta);
                }
                _ => return Err(StreamError::Channel),
            }
        }
        Ok(data)
    }
}

fn take(data: &[u8], len: usize) -> Result<(&[u8], &[u8]), StreamError> {
    data.split_at_checked(len).ok_or(StreamError::Truncated)
}

/// Adds up the deltas of a channel and writes it to the vertices. Returns its value of the last one.
#[inline(always)]
fn accumulate(
    vertices: core::slice::ChunksExactMut<'_, u8>,
    at: usize,
    value: &mut u32,
    deltas: &[u32],
    next: impl Fn(u32, u32) -> u32,
) {
    let mut last = *value;
    for (vertex, &delta) in vertices.zip(deltas) {
        last = next(last, delta);
        if let Some(out) = vertex.get_mut(at..at + 4) {
            out.copy_from_slice(&last.to_le_bytes());
        }
    }
    *value = last;
}

/// Adds the parts of a word without carries between them; `HIGH` has the highest bit of each part.
#[inline(always)]
fn add<const HIGH: u32>(a: u32, b: u32) -> u32 {
    ((a & !HIGH) + (b & !HIGH)) ^ ((a ^ b) & HIGH)
}

#[inline(always)]
fn unzigzag_bytes(word: u32) -> u32 {
    let sign = word & 0x0101_0101;
    word >> 1 & 0x7f7f_7f7f ^ (sign << 8).wrapping_sub(sign)
}

#[inline(always)]
fn unzigzag_shorts(word: u32) -> u32 {
    let sign = word & 0x0001_0001;
    word >> 1 & 0x7fff_7fff ^ (sign << 16).wrapping_sub(sign)
}

/// Joins the columns of a channel.
#[inline(always)]
fn interleave(columns: [&[u8; GROUP]; 4]) -> [u32; GROUP] {
    core::array::from_fn(|i| u32::from_le_bytes(columns.map(|column| column[i])))
}

/// Decodes the groups of a column; returns the bytes after them.
fn decode_column<'a>(
    data: &'a [u8],
    widths: [u8; 4],
    groups: &mut [[u8; GROUP]],
) -> Result<&'a [u8], StreamError> {
    let (header, mut data) = take(data, groups.len().div_ceil(4))?;
    for (groups, &header) in groups.chunks_mut(4).zip(header) {
        for (i, group) in groups.iter_mut().enumerate() {
            let window = data.first_chunk::<GROUP_BYTES>().ok_or(StreamError::Truncated)?;
            let used = match widths[usize::from(header >> (2 * i) & 3)] {
                0 => {
                    *group = [0; GROUP];
                    0
                }
                1 => escape::<1, 2>(window, unpack_1(window), group),
                2 => escape::<3, 4>(window, unpack_2(window), group),
                4 => escape::<15, 8>(window, unpack_4(window), group),
                _ => {
                    group.copy_from_slice(&window[..GROUP]);
                    GROUP
                }
            };
            data = &data[used..];
        }
    }
    Ok(data)
}

/// Replaces the values that are `ESCAPE` by the bytes from `START` on. Returns the end of these bytes.
#[inline(always)]
fn escape<const ESCAPE: u8, const START: usize>(
    window: &[u8; GROUP_BYTES],
    values: [u8; GROUP],
    out: &mut [u8; GROUP],
) -> usize {
    let mut next = 0;
    for (out, value) in out.iter_mut().zip(values) {
        // The mask changes nothing: at most 15 bytes were used. It makes the check of the range unnecessary.
        let byte = window[START + (next & 15)];
        let is_escape = value == ESCAPE;
        *out = if is_escape { byte } else { value };
        next += usize::from(is_escape);
    }
    START + next
}

/// Unpacks values of one bit, the lowest bit of a byte first.
#[inline(always)]
fn unpack_1(window: &[u8; GROUP_BYTES]) -> [u8; GROUP] {
    core::array::from_fn(|i| window[i / 8] >> (i % 8) & 1)
}

/// Unpacks values of two bits, the highest bits of a byte first.
#[inline(always)]
fn unpack_2(window: &[u8; GROUP_BYTES]) -> [u8; GROUP] {
    core::array::from_fn(|i| window[i / 4] >> (6 - i % 4 * 2) & 3)
}

/// Unpacks values of four bits, the highest bits of a byte first.
#[inline(always)]
fn unpack_4(window: &[u8; GROUP_BYTES]) -> [u8; GROUP] {
    core::array::from_fn(|i| window[i / 2] >> (4 - i % 2 * 4) & 15)
}
