//! Primitives with Draco compression (`KHR_draco_mesh_compression`).

use draco_core::{DataType, DecodeLimits, DecoderBuffer, Mesh, MeshDecoder};
use kiln_diagnostics::{Code, Diag};

use super::value::Value;

/// A decompressed primitive.
pub(super) struct Draco<'a> {
    mesh: Mesh,
    attributes: Value<'a>,
}

impl<'a> Draco<'a> {
    /// Decompresses the data of a primitive's extension into at max_bytes `max_bytes`.
    pub(super) fn decode(extension: Value<'a>, data: &[u8], max_bytes: u64) -> Result<Draco<'a>, Diag> {
        let attributes = extension.required("attributes")?.object()?;
        let limits = DecodeLimits::default()
            .with_max_decoded_bytes(max_bytes)
            .with_max_points(max_bytes / 12)
            .with_max_faces(max_bytes / 12);
        let mut mesh = Mesh::new();
        MeshDecoder::new().decode(&mut DecoderBuffer::new(data).with_limits(limits), &mut mesh).map_err(
            |error| {
                extension
                    .error(
                        Code::GltfCompression,
                        format_args!("the Draco data cannot be decompressed: {error}"),
                    )
                    .hint("export the model again, or without compression")
            },
        )?;
        Ok(Draco { mesh, attributes })
    }

    /// Returns the number of vertices.
    pub(super) fn count(&self) -> usize {
        self.mesh.num_points()
    }

    /// Returns the number of triangles.
    pub(super) fn triangles(&self) -> usize {
        self.mesh.num_faces()
    }

    /// Returns the indices of the triangles.
    pub(super) fn indices(&self) -> Vec<u32> {
        self.mesh.faces().iter().flatten().map(|point| point.0).collect()
    }

    /// Returns `true` if an attribute is part of the Draco data.
    pub(super) fn has(&self, name: &str) -> bool {
        self.attributes.get(name).is_some()
    }

    /// Returns the values of an attribute, one for each vertex.
    pub(super) fn floats<const N: usize>(&self, name: &str, normalized: bool) -> Result<Vec<[f32; N]>, Diag> {
        let (mut values, data_type) = self.values(name, N)?;
        let one = match data_type {
            DataType::Int8 => Some(127.0),
            DataType::Uint8 => Some(255.0),
            DataType::Int16 => Some(32767.0),
            DataType::Uint16 => Some(65535.0),
            _ => None,
        };
        if let Some(one) = one.filter(|_| normalized) {
            values.iter_mut().for_each(|value| *value = (*value / one).max(-1.0));
        }
        Ok(values.as_chunks().0.to_vec())
    }

    /// Returns the components of an attribute as finite numbers, integers without normalization, and their type.
    pub(super) fn values(&self, name: &str, components: usize) -> Result<(Vec<f32>, DataType), Diag> {
        let id = self.attributes.required(name)?;
        let attribute = u32::try_from(id.uint()?).ok().and_then(|id| self.mesh.attribute_by_unique_id(id));
        let Some(attribute) = attribute else {
            return Err(id.error(
                Code::GltfCompression,
                format_args!("the Draco data has no attribute with the unique id {}", id.uint()?),
            ));
        };
        if usize::from(attribute.num_components()) != components {
            let message = format!(
                "the Draco attribute has {} components, and {components} are needed",
                attribute.num_components()
            );
            return Err(id.error(Code::GltfCompression, message));
        }
        let values = attribute.read_f32s(self.count(), components);
        if !values.iter().all(|v| v.is_finite()) {
            return Err(id.error(Code::GltfNotFinite, "a number of the Draco attribute is not finite"));
        }
        Ok((values, attribute.data_type()))
    }

    /// Returns the names of the attributes that are part of the Draco data.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.attributes.names()
    }
}
