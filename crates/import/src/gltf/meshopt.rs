//! Buffer views with meshopt compression (`EXT_meshopt_compression`, `KHR_meshopt_compression`).
//!
//! The decoder is meshoptimizer's own, which has the filters and is linked for its algorithms anyway; the portable one is
//! in `kiln-format`, which importers do not use, and takes three to four times as long. Its preconditions and the size of
//! its output are checked first: strides and counts that the extension forbids, and counts that so few bytes cannot
//! encode, are rejected.

use ::meshopt as codec;
use kiln_diagnostics::{Code, Diag};

use super::value::Value;

/// The compression parameters of a view.
pub(super) struct CompressedView<'a> {
    at: Value<'a>,
    mode: Mode,
    filter: Filter,
    stride: usize,
    count: usize,
    /// The size of the decompressed view in bytes.
    pub(super) size: usize,
}

enum Mode {
    Attributes,
    Triangles,
    Indices,
}

#[derive(PartialEq)]
enum Filter {
    None,
    Octahedral,
    Quaternion,
    Exponential,
    Color,
}

/// Returns the extension of a view, under either of its names.
pub(super) fn extension(view: Value<'_>) -> Option<Value<'_>> {
    view.extension("KHR_meshopt_compression").or_else(|| view.extension("EXT_meshopt_compression"))
}

impl<'a> CompressedView<'a> {
    /// Reads the extension of a view whose compressed data has this many bytes.
    pub(super) fn new(at: Value<'a>, compressed_bytes: usize) -> Result<CompressedView<'a>, Diag> {
        let (stride, count) = (at.required("byteStride")?, at.required("count")?);
        let mode_at = at.required("mode")?;
        let mode = match mode_at.string()? {
            "ATTRIBUTES" => Mode::Attributes,
            "TRIANGLES" => Mode::Triangles,
            "INDICES" => Mode::Indices,
            other => {
                return Err(mode_at.invalid(format_args!(
                    "{other:?} is not a mode: expected \"ATTRIBUTES\", \"TRIANGLES\" or \"INDICES\""
                )));
            }
        };
        let filter = match at.string_or_empty("filter")? {
            "" | "NONE" => Filter::None,
            "OCTAHEDRAL" => Filter::Octahedral,
            "QUATERNION" => Filter::Quaternion,
            "EXPONENTIAL" => Filter::Exponential,
            "COLOR" => Filter::Color,
            other => return Err(at.invalid(format_args!("{other:?} is not a filter: expected \"NONE\", \"OCTAHEDRAL\", \"QUATERNION\", \"EXPONENTIAL\" or \"COLOR\""))),
        };
        let (stride_at, count_at) = (stride, count);
        let (stride, count) = (stride.uint()?, count.uint()?);
        let fits = match (&mode, &filter) {
            (Mode::Attributes, Filter::None | Filter::Exponential) => {
                stride % 4 == 0 && (4..=256).contains(&stride)
            }
            (Mode::Attributes, Filter::Octahedral | Filter::Color) => stride == 4 || stride == 8,
            (Mode::Attributes, Filter::Quaternion) => stride == 8,
            (_, Filter::None) => stride == 2 || stride == 4,
            _ => return Err(at.invalid("indices cannot have a filter")),
        };
        if !fits {
            return Err(stride_at
                .invalid(format_args!("byteStride {stride} is not allowed with this mode and filter")));
        }
        if matches!(mode, Mode::Triangles) && count % 3 != 0 {
            return Err(count_at.invalid(format_args!(
                "the number of triangle indices must be a multiple of 3, got {count}"
            )));
        }
        // The best compression of each mode: the deltas of 256 vertices in four channels are one control byte when all
        // are zero, a triangle takes at least one byte, and so does an index.
        let max_size = compressed_bytes.saturating_mul(match mode {
            Mode::Attributes => 1024,
            Mode::Triangles => 3 * stride,
            Mode::Indices => stride,
        });
        match count.checked_mul(stride) {
            Some(size) if size <= max_size => Ok(CompressedView { at, mode, filter, stride, count, size }),
            _ => Err(count_at.invalid(format_args!(
                "{count} elements of {stride} bytes cannot be encoded in {compressed_bytes} bytes"
            ))),
        }
    }

    /// Decompresses the view and undoes its filter.
    pub(super) fn decode(&self, data: &[u8]) -> Result<Vec<u8>, Diag> {
        let decompressed = match (&self.mode, self.stride) {
            (Mode::Attributes, stride) => attributes(data, self.count, stride / 4).map(|mut words| {
                self.unfilter(&mut words);
                words.into_iter().flat_map(u32::to_ne_bytes).collect()
            }),
            (Mode::Triangles, 2) => codec::decode_index_buffer::<u16>(data, self.count).map(shorts),
            (Mode::Triangles, _) => codec::decode_index_buffer::<u32>(data, self.count).map(words),
            (Mode::Indices, 2) => codec::decode_index_sequence::<u16>(data, self.count).map(shorts),
            (Mode::Indices, _) => codec::decode_index_sequence::<u32>(data, self.count).map(words),
        };
        decompressed.map_err(|_| {
            self.at
                .error(Code::GltfCompression, "the meshopt data is damaged, or of an unsupported version")
                .hint("export or compress the model again")
        })
    }

    /// Undoes the filter in place. Vertices of four or eight bytes are one or two words.
    fn unfilter(&self, words: &mut [u32]) {
        match (&self.filter, self.stride) {
            (Filter::None, _) => {}
            (Filter::Exponential, _) => codec::decode_filter_exp(words.as_chunks_mut::<1>().0),
            (Filter::Octahedral, 4) => over_bytes(words, codec::decode_filter_oct),
            (Filter::Octahedral, _) => over_shorts(words, codec::decode_filter_oct),
            (Filter::Quaternion, _) => over_shorts(words, codec::decode_filter_quat),
            (Filter::Color, 4) => over_bytes(words, codec::decode_filter_color),
            (Filter::Color, _) => over_shorts(words, codec::decode_filter_color),
        }
    }
}

/// Applies a filter to words as vertices of four bytes.
fn over_bytes(words: &mut [u32], filter: impl FnOnce(&mut [[i8; 4]])) {
    let mut vertices: Vec<[i8; 4]> = words.iter().map(|w| w.to_ne_bytes().map(|b| b as i8)).collect();
    filter(&mut vertices);
    for (word, vertex) in words.iter_mut().zip(vertices) {
        *word = u32::from_ne_bytes(vertex.map(|b| b as u8));
    }
}

/// Applies a filter to pairs of words as vertices of four 16-bit integers.
fn over_shorts(words: &mut [u32], filter: impl FnOnce(&mut [[i16; 4]])) {
    let halves = |word: u32| {
        let [a, b, c, d] = word.to_ne_bytes();
        [i16::from_ne_bytes([a, b]), i16::from_ne_bytes([c, d])]
    };
    let (pairs, _) = words.as_chunks_mut::<2>();
    let mut vertices: Vec<[i16; 4]> = (pairs.iter())
        .map(|&[low, high]| {
            let ([a, b], [c, d]) = (halves(low), halves(high));
            [a, b, c, d]
        })
        .collect();
    filter(&mut vertices);
    let whole = |low: i16, high: i16| {
        let ([a, b], [c, d]) = (low.to_ne_bytes(), high.to_ne_bytes());
        u32::from_ne_bytes([a, b, c, d])
    };
    for (pair, [a, b, c, d]) in pairs.iter_mut().zip(vertices) {
        *pair = [whole(a, b), whole(c, d)];
    }
}

fn shorts(indices: Vec<u16>) -> Vec<u8> {
    indices.into_iter().flat_map(u16::to_le_bytes).collect()
}

fn words(indices: Vec<u32>) -> Vec<u8> {
    indices.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A vertex of `WORDS` words: the decoder takes the stride from its size.
#[derive(Clone)]
struct Vertex<const WORDS: usize>([u32; WORDS]);

impl<const WORDS: usize> Default for Vertex<WORDS> {
    fn default() -> Self {
        Vertex([0; WORDS])
    }
}

fn vertices<const WORDS: usize>(data: &[u8], count: usize) -> codec::Result<Vec<u32>> {
    let vertices = codec::decode_vertex_buffer::<Vertex<WORDS>>(data, count)?;
    Ok(vertices.into_iter().flat_map(|vertex| vertex.0).collect())
}

/// Decompresses vertices of 1 to 64 words; other sizes are rejected before.
fn attributes(data: &[u8], count: usize, words: usize) -> codec::Result<Vec<u32>> {
    macro_rules! by_size {
        ($($size:literal)*) => {
            match words {
                $($size => vertices::<$size>(data, count),)*
                _ => Ok(Vec::new()),
            }
        };
    }
    by_size!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64)
}
