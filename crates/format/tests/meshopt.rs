//! The decoders of meshopt streams beside meshoptimizer's own: every stream that one accepts is accepted by the other,
//! with the same result.

use kiln_format::meshopt::{StreamError, decode_index_sequence, decode_triangles, decode_vertices};
use meshopt as reference;

/// A generator of pseudorandom numbers (xorshift64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }
}

#[derive(Clone)]
struct Record<const STRIDE: usize>([u8; STRIDE]);

impl<const STRIDE: usize> Default for Record<STRIDE> {
    fn default() -> Self {
        Record([0; STRIDE])
    }
}

/// Compares both decoders on a stream; returns whether they accept it.
fn compare_vertices<const STRIDE: usize>(stream: &[u8], count: usize) -> bool {
    let expected = reference::decode_vertex_buffer::<Record<STRIDE>>(stream, count).ok();
    let mut out = vec![0xcd; count * STRIDE];
    let result = decode_vertices(stream, STRIDE, &mut out);
    assert_eq!(result.is_ok(), expected.is_some(), "{result:?}");
    if let Some(expected) = expected {
        assert!(out == expected.into_iter().flat_map(|record| record.0).collect::<Vec<u8>>());
    }
    result.is_ok()
}

/// Vertices of different nature: constant, slow, floats, noise.
fn vertices<const STRIDE: usize>(random: &mut Random, count: usize) -> Vec<[u8; STRIDE]> {
    let kinds: Vec<u64> = (0..STRIDE / 4).map(|_| random.below(5)).collect();
    let mut last = [[0u8; STRIDE]; 1];
    let mut all = Vec::new();
    for i in 0..count {
        for (channel, kind) in last[0].as_chunks_mut::<4>().0.iter_mut().zip(&kinds) {
            let word = u32::from_le_bytes(*channel);
            *channel = match kind {
                0 => word,
                1 => word.wrapping_add(random.below(3) as u32),
                2 => ((i % 64) as f32 * 0.1 - 3.0 + random.below(100) as f32 * 1e-4).to_bits(),
                3 => word ^ ((1 << random.below(32)) & 0x00ff_f000),
                _ => random.next() as u32,
            }
            .to_le_bytes();
        }
        all.push(last[0]);
    }
    all
}

fn check_vertices<const STRIDE: usize>(random: &mut Random) {
    for count in [0, 1, 2, 15, 16, 17, 255, 256, 257, 700] {
        for (level, version) in [(0, 0), (0, 1), (2, 1), (3, 1)] {
            let vertices = vertices::<STRIDE>(random, count);
            let stream = reference::encode_vertex_buffer_level(&vertices, level, Some(version)).unwrap();
            assert!(compare_vertices::<STRIDE>(&stream, count), "{STRIDE} {count} {level} {version}");
            let mut out = vec![0; count * STRIDE];
            decode_vertices(&stream, STRIDE, &mut out).unwrap();
            assert!(out == vertices.as_flattened());
            for _ in 0..60 {
                let mut damaged = stream.clone();
                for _ in 0..=random.below(3) {
                    let at = random.below(damaged.len() as u64) as usize;
                    damaged[at] = random.next() as u8;
                }
                damaged.truncate(stream.len() - random.below(4) as usize / 2);
                compare_vertices::<STRIDE>(&damaged, count);
            }
        }
    }
}

#[test]
fn vertices_match_reference() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    check_vertices::<4>(&mut random);
    check_vertices::<8>(&mut random);
    check_vertices::<12>(&mut random);
    check_vertices::<28>(&mut random);
    check_vertices::<64>(&mut random);
    check_vertices::<256>(&mut random);
}

/// Triangles of a grid, with some that have no edge in common with it.
fn triangles(random: &mut Random, count: usize) -> Vec<u32> {
    let mut indices = Vec::new();
    for i in 0..count as u32 {
        let row = [i, i + 1, i + 40];
        let turn = random.below(3) as usize;
        let far = std::array::from_fn(|_| random.below(5000) as u32);
        let triangle = if random.below(10) == 0 { far } else { row };
        indices.extend([0, 1, 2].map(|corner| triangle[(corner + turn) % 3]));
    }
    indices
}

fn compare_triangles(stream: &[u8], count: usize) -> Result<Vec<u32>, StreamError> {
    let expected = reference::decode_index_buffer::<u32>(stream, count * 3).ok();
    let mut out = Vec::new();
    let result = decode_triangles(stream, count, |triangle| {
        out.extend(triangle);
        true
    });
    assert_eq!(result.is_ok(), expected.is_some(), "{result:?}");
    assert!(expected.is_none_or(|expected| out == expected));
    result.map(|()| out)
}

fn compare_sequence(stream: &[u8], count: usize) -> Result<Vec<u32>, StreamError> {
    let expected = reference::decode_index_sequence::<u32>(stream, count).ok();
    let mut out = Vec::new();
    let result = decode_index_sequence(stream, count, |index| {
        out.push(index);
        true
    });
    assert_eq!(result.is_ok(), expected.is_some(), "{result:?}");
    assert!(expected.is_none_or(|expected| out == expected));
    result.map(|()| out)
}

#[test]
fn indices_match_reference() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for count in [0, 1, 2, 100, 3000] {
        let indices = triangles(&mut random, count);
        let stream = reference::encode_index_buffer(&indices, 5000).unwrap();
        let decoded = compare_triangles(&stream, count).unwrap();
        for (a, b) in indices.as_chunks::<3>().0.iter().zip(decoded.as_chunks::<3>().0) {
            assert!((0..3).any(|turn| (0..3).all(|i| a[i] == b[(i + turn) % 3])), "{a:?} {b:?}");
        }
        let sequence = reference::encode_index_sequence(&indices, 5000).unwrap();
        assert_eq!(compare_sequence(&sequence, indices.len()).unwrap(), indices);
        for _ in 0..2000 {
            for (stream, is_sequence) in [(&stream, false), (&sequence, true)] {
                let mut damaged = stream.clone();
                let at = random.below(damaged.len() as u64) as usize;
                damaged[at] = random.next() as u8;
                damaged.truncate(stream.len() - random.below(8) as usize / 7);
                let _ = match is_sequence {
                    true => compare_sequence(&damaged, indices.len()),
                    false => compare_triangles(&damaged, count),
                };
            }
        }
    }
}

/// The reference writes version 0 only after a call that is not thread-safe, so this stream is written out: it has a
/// code of a vertex that version 1 does not have.
#[test]
fn version_0_of_indices_is_read() {
    let stream = [
        0xe0, 0xf0, 0x10, 0xfe, 0xff, 0xf0, 0x0c, 0xff, 0x02, 0x02, 0x02, 0x00, 0x76, 0x87, 0x56, 0x67, 0x78,
        0xa9, 0x86, 0x65, 0x89, 0x68, 0x98, 0x01, 0x69, 0x00, 0x00,
    ];
    assert_eq!(compare_triangles(&stream, 4).unwrap(), [0, 1, 2, 2, 1, 3, 4, 6, 5, 7, 8, 9]);
}

#[test]
fn rejects_what_no_stream_is() {
    assert_eq!(decode_vertices(&[], 4, &mut []), Err(StreamError::Truncated));
    assert_eq!(decode_vertices(&[0xa2; 80], 4, &mut [0; 4]), Err(StreamError::Header));
    assert_eq!(decode_vertices(&[0xa1; 80], 6, &mut [0; 6]), Err(StreamError::Size));
    assert_eq!(decode_vertices(&[0xa1; 80], 260, &mut []), Err(StreamError::Size));
    assert_eq!(decode_vertices(&[0xa1; 80], 8, &mut [0; 12]), Err(StreamError::Size));
    let accept = |_| true;
    assert_eq!(decode_triangles(&[0xd1; 40], 1, accept), Err(StreamError::Header));
    assert_eq!(decode_triangles(&[0xe1; 17], 1, accept), Err(StreamError::Truncated));
    assert_eq!(decode_triangles(&[0xe1; 10], usize::MAX, accept), Err(StreamError::Truncated));
    assert_eq!(decode_index_sequence(&[0xd1; 4], 0, |_| true), Err(StreamError::Truncated));
    assert_eq!(decode_index_sequence(&[0xd1, 0, 0, 0, 0, 0], 0, |_| true), Err(StreamError::Trailing));
    assert_eq!(decode_index_sequence(&[0xd1, 0, 0, 0, 0, 0], 1, |_| false), Err(StreamError::Index));
    assert_eq!(
        StreamError::Header.to_string(),
        "the meshopt stream does not start with the byte of a known version"
    );
}
