//! Primitives packed by Draco (`KHR_draco_mesh_compression`).

use draco_core::{DataType, DecodeLimits, DecoderBuffer, Mesh, MeshDecoder};
use kiln_engine::{Code, Diag};

use super::at::At;

/// An unpacked primitive.
pub(super) struct Draco<'a> {
    mesh: Mesh,
    attributes: At<'a>,
}

impl<'a> Draco<'a> {
    /// Unpacks what the extension of a primitive names, into no more than so many bytes.
    pub(super) fn decode(extension: At<'a>, data: &[u8], most: u64) -> Result<Draco<'a>, Diag> {
        let attributes = extension.need("attributes")?.object()?;
        let limits = DecodeLimits::default()
            .with_max_decoded_bytes(most)
            .with_max_points(most / 12)
            .with_max_faces(most / 12);
        let mut mesh = Mesh::new();
        MeshDecoder::new().decode(&mut DecoderBuffer::new(data).with_limits(limits), &mut mesh).map_err(
            |error| {
                extension
                    .fault(Code::GltfCompression, format_args!("the Draco data cannot be unpacked: {error}"))
                    .hint("export it again, or without compression")
            },
        )?;
        Ok(Draco { mesh, attributes })
    }

    /// The number of vertices.
    pub(super) fn count(&self) -> usize {
        self.mesh.num_points()
    }

    /// The number of triangles.
    pub(super) fn triangles(&self) -> usize {
        self.mesh.num_faces()
    }

    /// The corners of the triangles.
    pub(super) fn indices(&self) -> Vec<u32> {
        self.mesh.faces().iter().flatten().map(|point| point.0).collect()
    }

    /// Whether an attribute is packed.
    pub(super) fn has(&self, name: &str) -> bool {
        self.attributes.get(name).is_some()
    }

    /// The values of an attribute, one for each vertex.
    pub(super) fn floats<const N: usize>(&self, name: &str, normalized: bool) -> Result<Vec<[f32; N]>, Diag> {
        let id = self.attributes.need(name)?;
        let attribute = u32::try_from(id.uint()?).ok().and_then(|id| self.mesh.attribute_by_unique_id(id));
        let Some(attribute) = attribute else {
            return Err(id.fault(
                Code::GltfCompression,
                format_args!("the Draco data has no attribute {}", id.uint()?),
            ));
        };
        if usize::from(attribute.num_components()) != N {
            let message = format!("it has {} numbers, and {N} are needed", attribute.num_components());
            return Err(id.fault(Code::GltfCompression, message));
        }
        let mut values = attribute.read_f32s(self.count(), N);
        let one = match attribute.data_type() {
            DataType::Int8 => Some(127.0),
            DataType::Uint8 => Some(255.0),
            DataType::Int16 => Some(32767.0),
            DataType::Uint16 => Some(65535.0),
            _ => None,
        };
        if let Some(one) = one.filter(|_| normalized) {
            values.iter_mut().for_each(|value| *value = (*value / one).max(-1.0));
        }
        if !values.iter().all(|v| v.is_finite()) {
            return Err(id.fault(Code::GltfNotFinite, "the unpacked numbers are not all finite"));
        }
        Ok(values.as_chunks().0.to_vec())
    }
}
