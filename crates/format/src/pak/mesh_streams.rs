//! The streams of a mesh: vertex colours and morph targets of its primitives, beside the interleaved vertices, whose
//! stride and layout they do not change.
//!
//! Rejected are unknown kinds and layouts, streams out of bounds or out of order, padding that is not zero, and values
//! that are not finite.

use super::text::TextRange;
use super::{VertexAttribute, VertexFormat, VertexSemantic};
#[cfg(feature = "tools")]
use crate::bytes::align;
use crate::pod::pod;
use crate::{Array, Error};

pod! {
    /// A stream of a primitive: one element per vertex.
    pub struct StreamRecord {
        /// Byte offset of its elements, from the start of all elements of streams.
        pub offset: u64,
        /// The kind of the stream: a colour set 0, a morph target 1.
        pub kind: u8,
        /// The format of a colour set, or the attributes of a morph target.
        pub layout: u8,
        /// Reserved; zero in every valid file.
        pub reserved: u16,
        /// The weight of a morph target in the bind pose; zero for a colour set.
        pub weight: f32,
        /// The name of a morph target; empty for a colour set.
        pub name: TextRange,
    }
}

/// The elements of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamLayout {
    /// Linear RGBA colours in a format: `Unorm8x4`, `Unorm16x4` or `Float32x4`.
    Color(VertexFormat),
    /// Deltas of a morph target.
    Morph(MorphAttributes),
}

/// The attributes that a morph target moves, in this order: position, normal, tangent, three floats each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MorphAttributes {
    /// Deltas of positions.
    pub position: bool,
    /// Deltas of normals.
    pub normal: bool,
    /// Deltas of tangents, without the sign of the bitangent.
    pub tangent: bool,
}

impl MorphAttributes {
    /// Returns the attributes with their offsets in an element.
    pub fn attributes(&self) -> impl Iterator<Item = VertexAttribute> + use<> {
        let all = [
            (self.position, VertexSemantic::Position),
            (self.normal, VertexSemantic::Normal),
            (self.tangent, VertexSemantic::Tangent),
        ];
        let present = all.into_iter().filter(|(present, _)| *present).enumerate();
        present.map(|(number, (_, semantic))| VertexAttribute {
            semantic,
            format: VertexFormat::Float32x3,
            offset: number * 12,
        })
    }

    fn bits(self) -> u8 {
        u8::from(self.position) | u8::from(self.normal) << 1 | u8::from(self.tangent) << 2
    }
}

/// The formats of colours, by number.
const COLOR_FORMATS: [VertexFormat; 3] =
    [VertexFormat::Unorm8x4, VertexFormat::Unorm16x4, VertexFormat::Float32x4];

impl StreamLayout {
    /// Returns the layout with these numbers; `None` if there is none.
    fn from_numbers(kind: u8, layout: u8) -> Option<StreamLayout> {
        match (kind, layout) {
            (0, format) => COLOR_FORMATS.get(usize::from(format)).copied().map(StreamLayout::Color),
            (1, 1..8) => Some(StreamLayout::Morph(MorphAttributes {
                position: layout & 1 != 0,
                normal: layout & 2 != 0,
                tangent: layout & 4 != 0,
            })),
            _ => None,
        }
    }

    /// Returns the numbers of kind and layout; `None` if colours cannot have the format.
    #[cfg(feature = "tools")]
    fn numbers(self) -> Option<(u8, u8)> {
        match self {
            StreamLayout::Color(format) => {
                Some((0, COLOR_FORMATS.iter().position(|known| *known == format)? as u8))
            }
            StreamLayout::Morph(attributes) => Some((1, attributes.bits())),
        }
    }

    /// Returns the size of an element in bytes.
    pub fn stride(self) -> usize {
        match self {
            StreamLayout::Color(format) => format.byte_len(),
            StreamLayout::Morph(attributes) => attributes.bits().count_ones() as usize * 12,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, StreamLayout::Morph(_) | StreamLayout::Color(VertexFormat::Float32x4))
    }
}

/// A stream, borrowed from its payload.
#[derive(Clone, Copy, Debug)]
pub struct StreamView<'a> {
    /// The elements of the stream.
    pub layout: StreamLayout,
    /// The weight of a morph target in the bind pose.
    pub weight: f32,
    /// The name of a morph target.
    pub name: &'a str,
    /// Start and end of the elements in the payload, in bytes.
    pub range: (usize, usize),
}

/// The streams of all primitives of a mesh, after its indices.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Streams<'a> {
    records: Array<'a, StreamRecord>,
    /// The offset of the elements in the payload.
    elements_at: usize,
}

impl<'a> Streams<'a> {
    /// Reads the streams at the end of a payload. `sizes` has the number of streams and of vertices of each primitive.
    pub(super) fn read(
        sections: &mut super::Sections<'a>,
        texts: super::text::Texts<'a>,
        sizes: impl Iterator<Item = (u32, u32)> + Clone,
    ) -> Result<Streams<'a>, Error> {
        let total = sizes.clone().map(|(streams, _)| u64::from(streams)).sum::<u64>();
        if total == 0 {
            return Ok(Streams::default());
        }
        let max = u64::from(u32::MAX);
        let count =
            u32::try_from(total).map_err(|_| Error::TooLarge { field: "streams", found: total, max })?;
        sections.align();
        let at = sections.at;
        let records: Array<'a, StreamRecord> = sections.take(count, "streams")?;
        sections.align();
        let elements_at = sections.at;
        let vertices =
            sizes.flat_map(|(streams, vertices)| (0..streams).map(move |number| (number, vertices)));
        let mut last_kind = 0;
        for ((index, record), (number, vertices)) in records.iter().enumerate().zip(vertices) {
            let at = at + index as u64 * StreamRecord::SIZE as u64;
            let invalid = |why| Err(Error::Fault { at, field: "stream", why });
            let Some(layout) = StreamLayout::from_numbers(record.kind, record.layout) else {
                return invalid("has an unknown kind or layout");
            };
            let is_morph = matches!(layout, StreamLayout::Morph(_));
            let is_plain = record.weight == 0.0 && record.name.len == 0;
            if record.reserved != 0 || !record.weight.is_finite() || !(is_morph || is_plain) {
                return invalid("has a weight that is not finite, or fields that are not zero");
            }
            if texts.get(record.name).is_none() {
                return invalid("has a name out of bounds");
            }
            if number > 0 && record.kind < last_kind {
                return invalid("is a colour set after a morph target");
            }
            last_kind = record.kind;
            let before = sections.at;
            sections.align();
            if record.offset != sections.at - elements_at {
                return invalid("does not start where the preceding one ends");
            }
            let padding = crate::bytes::slice(sections.bytes, before, sections.at - before);
            if padding.is_none_or(|padding| padding.iter().any(|byte| *byte != 0)) {
                return invalid("has padding before it that is not zero");
            }
            let elements = sections.bytes(u64::from(vertices) * layout.stride() as u64, "stream")?;
            if layout.is_float() && !all_finite(elements) {
                return invalid("has values that are not finite");
            }
        }
        Ok(Streams { records, elements_at: elements_at as usize })
    }

    /// Returns streams by their numbers, of a primitive with so many vertices.
    pub(super) fn range(
        &self,
        texts: super::text::Texts<'a>,
        first: u32,
        count: u32,
        vertices: u32,
    ) -> impl Iterator<Item = StreamView<'a>> + use<'a> {
        let elements_at = self.elements_at;
        let records = self.records.range(first, count).unwrap_or_default();
        records.iter().filter_map(move |record| {
            let layout = StreamLayout::from_numbers(record.kind, record.layout)?;
            let start = elements_at.checked_add(usize::try_from(record.offset).ok()?)?;
            let end = start.checked_add((vertices as usize).checked_mul(layout.stride())?)?;
            let name = texts.get(record.name)?;
            Some(StreamView { layout, weight: record.weight, name, range: (start, end) })
        })
    }
}

/// Returns whether little-endian floats are finite: the exponent has a zero bit.
fn all_finite(bytes: &[u8]) -> bool {
    bytes.as_chunks::<4>().0.iter().all(|bytes| f32::from_le_bytes(*bytes).is_finite())
}

/// A stream to be written.
#[cfg(feature = "tools")]
#[derive(Clone, Debug)]
pub struct Stream {
    /// The elements of the stream.
    pub layout: StreamLayout,
    /// The weight of a morph target in the bind pose; 0 for a colour set.
    pub weight: f32,
    /// The name of a morph target; empty for a colour set.
    pub name: alloc::string::String,
    /// One element per vertex.
    pub elements: alloc::vec::Vec<u8>,
}

/// Collects the records of streams.
#[cfg(feature = "tools")]
pub(super) fn records<'a>(
    streams: impl Iterator<Item = &'a Stream>,
    texts: &mut super::text::TextWriter,
) -> Result<alloc::vec::Vec<StreamRecord>, Error> {
    let mut end = 0u64;
    let record = |stream: &Stream| {
        let unknown = Error::Fault { at: 0, field: "stream", why: "has a format that colours cannot have" };
        let (kind, layout) = stream.layout.numbers().ok_or(unknown)?;
        let offset = align(end, super::ALIGNMENT).unwrap_or(u64::MAX);
        end = offset.saturating_add(stream.elements.len() as u64);
        let name =
            if stream.name.is_empty() { TextRange { offset: 0, len: 0 } } else { texts.put(&stream.name)? };
        Ok(StreamRecord { offset, kind, layout, reserved: 0, weight: stream.weight, name })
    };
    streams.map(record).collect()
}

/// Appends streams to a payload after its indices.
#[cfg(feature = "tools")]
pub(super) fn write<'a>(
    records: &[StreamRecord],
    streams: impl Iterator<Item = &'a Stream>,
    out: &mut alloc::vec::Vec<u8>,
) {
    if records.is_empty() {
        return;
    }
    out.resize(out.len().next_multiple_of(16), 0);
    out.extend_from_slice(crate::pod::as_bytes(records));
    for stream in streams {
        out.resize(out.len().next_multiple_of(16), 0);
        out.extend_from_slice(&stream.elements);
    }
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::super::mesh::{Mesh, MeshHead, MeshView, Primitive, write};
    use super::super::{Role, VertexType};
    use super::*;
    use crate::bytes::Le;
    use alloc::string::String;
    use alloc::vec::Vec;
    use alloc::{format, vec};

    const POSITION_AND_TANGENT: MorphAttributes =
        MorphAttributes { position: true, normal: false, tangent: true };

    fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
        values.into_iter().flat_map(f32::to_le_bytes).collect()
    }

    /// Two triangles: the first without streams, the second with two colour sets and two morph targets.
    fn mesh() -> Mesh {
        let stream =
            |layout, weight, name: &str, elements| Stream { layout, weight, name: name.into(), elements };
        let streams = vec![
            stream(StreamLayout::Color(VertexFormat::Unorm8x4), 0.0, "", (1..13).collect()),
            stream(StreamLayout::Color(VertexFormat::Float32x4), 0.0, "", floats((0..12).map(|n| n as f32))),
            stream(
                StreamLayout::Morph(POSITION_AND_TANGENT),
                0.25,
                "smile",
                floats((0..18).map(|n| n as f32 - 9.0)),
            ),
            stream(
                StreamLayout::Morph(MorphAttributes { normal: true, ..MorphAttributes::default() }),
                0.0,
                "",
                vec![0; 36],
            ),
        ];
        let primitive = |streams| Primitive {
            vertex_type: VertexType::POSITION,
            vertices: vec![0; 36],
            lods: vec![(vec![0, 1, 2], 0.0)],
            material: 0,
            role: Role::Main,
            bounds: [0.0; 10],
            meshlets: vec![],
            meshlet_vertices: vec![],
            meshlet_triangles: vec![],
            streams,
        };
        Mesh { primitives: vec![primitive(vec![]), primitive(streams)], ..Mesh::default() }
    }

    #[test]
    fn streams_round_trip() {
        let (mesh, bytes) = (mesh(), write(&mesh()).unwrap());
        let view = MeshView::read(&bytes).unwrap();
        let [first, second] = view.primitives().collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(view.streams(&first.record).count(), 0);
        let found: Vec<_> = view.streams(&second.record).collect();
        assert_eq!(found.len(), 4);
        for (found, stream) in found.iter().zip(&mesh.primitives[1].streams) {
            assert_eq!(
                (found.layout, found.weight, found.name),
                (stream.layout, stream.weight, &*stream.name)
            );
            assert_eq!(bytes[found.range.0..found.range.1], stream.elements);
            assert_eq!(found.range.0 % 16, 0);
        }
        let attributes: Vec<_> = POSITION_AND_TANGENT.attributes().collect();
        assert_eq!(attributes.iter().map(|a| a.offset).collect::<Vec<_>>(), [0, 12]);
        assert_eq!(attributes[1].semantic, VertexSemantic::Tangent);
        // Without streams, the payload ends with its indices.
        let mut plain = mesh;
        plain.primitives[1].streams.clear();
        let plain = write(&plain).unwrap();
        assert!(plain.len() < bytes.len() && plain.len() == MeshHead::get(&plain).map_or(0, |_| plain.len()));
    }

    #[test]
    fn rejects_truncated_and_trailing_streams() {
        let mut bytes = write(&mesh()).unwrap();
        (0..bytes.len()).for_each(|len| assert!(MeshView::read(&bytes[..len]).is_err(), "{len}"));
        bytes.push(0);
        assert!(MeshView::read(&bytes).is_err());
    }

    #[test]
    fn rejects_malformed_records_and_elements() {
        let bytes = write(&mesh()).unwrap();
        let view = MeshView::read(&bytes).unwrap();
        let second = view.primitives().nth(1).unwrap();
        let elements = view.streams(&second.record).next().unwrap().range.0;
        let record =
            |number: usize| (elements - 4 * StreamRecord::SIZE) / 16 * 16 + number * StreamRecord::SIZE;
        let with = |at: usize, value: &[u8]| {
            let mut bytes = bytes.clone();
            bytes[at..at + value.len()].copy_from_slice(value);
            MeshView::read(&bytes).err().map(|error| format!("{error}"))
        };
        assert_eq!(with(record(0), &[0; 8]), None, "the record is where the test expects it");
        let infinite = f32::INFINITY.to_le_bytes();
        for (why, at, value) in [
            ("offset", record(0), &16u64.to_le_bytes()[..]),
            ("offset beyond the file", record(1), &u64::MAX.to_le_bytes()),
            ("unknown kind", record(0) + 8, &[2]),
            ("colour after a morph target", record(3) + 8, &[0, 0]),
            ("unknown colour format", record(0) + 9, &[3]),
            ("morph target of nothing", record(2) + 9, &[0]),
            ("unknown attribute", record(2) + 9, &[8]),
            ("another layout", record(2) + 9, &[1]),
            ("reserved", record(0) + 10, &[1]),
            ("weight of a colour set", record(0) + 12, &1f32.to_le_bytes()),
            ("weight that is not finite", record(2) + 12, &f32::NAN.to_le_bytes()),
            ("name out of bounds", record(2) + 16, &6u32.to_le_bytes()),
            ("name of a colour set", record(0) + 20, &1u32.to_le_bytes()),
            ("padding", elements + 12, &[1]),
            ("colour that is not finite", elements + 16, &infinite),
            ("delta that is not finite", elements + 16 + 48, &infinite),
            ("number of streams", MeshHead::SIZE + 18, &[1, 0]),
            ("first stream", MeshHead::SIZE + 36, &[1, 0, 0, 0]),
            ("more streams", MeshHead::SIZE + 80 + 18, &[5, 0]),
            ("fewer streams", MeshHead::SIZE + 80 + 18, &[3, 0]),
        ] {
            assert!(with(at, value).is_some(), "{why}");
        }
    }

    #[test]
    fn rejects_streams_that_cannot_be_written() {
        let mut wrong: Mesh = mesh();
        wrong.primitives[1].streams[0].layout = StreamLayout::Color(VertexFormat::Float32x2);
        assert!(write(&wrong).is_err());
        let mut short = mesh();
        short.primitives[1].streams[0].elements.pop();
        assert!(write(&short).is_err());
        let mut named = mesh();
        named.primitives[1].streams[0].name = String::from("colours have no names");
        assert!(write(&named).is_err());
    }
}
