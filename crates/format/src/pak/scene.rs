//! The payload of a scene: references, geometries, and their custom data.
//!
//! Meshes and materials are indices into the assets that the index lists for the scene. Rejected are ranges
//! out of bounds, data that contains itself, vertex indices out of range and transforms that are not finite.

use super::{NONE, Sections, text::TextRange, text::Texts};
use crate::bytes::Le;
use crate::pod::pod;
use crate::{Array, Error};

pod! {
    /// The header of the payload: the sizes of its arrays.
    pub struct SceneHead {
        /// Number of references.
        pub references: u32,
        /// Number of geometries.
        pub geometries: u32,
        /// Number of materials of all references.
        pub materials: u32,
        /// Number of tags of all references and geometries.
        pub tags: u32,
        /// Number of data values of all references and geometries.
        pub data: u32,
        /// Number of coordinates of all geometries.
        pub coordinates: u32,
        /// Number of indices of all geometries.
        pub indices: u32,
        /// Size of all strings in bytes.
        pub text_len: u32,
    }
}

pod! {
    /// A reference: an instance of a mesh with a transform.
    pub struct ReferenceRecord {
        /// The name; its length is [`NONE`] if there is none.
        pub id: TextRange,
        /// Index of the mesh in the scene's assets, or [`NONE`].
        pub mesh: u32,
        /// Index of the first material.
        pub first_material: u32,
        /// Number of materials.
        pub materials: u32,
        /// Index of the first tag.
        pub first_tag: u32,
        /// Number of tags.
        pub tags: u32,
        /// Index of the first data value.
        pub first_data: u32,
        /// Number of data values.
        pub data: u32,
        /// The rotation: a quaternion `x, y, z, w`.
        pub rotation: [f32; 4],
        /// The translation of the reference.
        pub translation: [f32; 3],
        /// The scale along each axis.
        pub scale: [f32; 3],
    }
}

pod! {
    /// A geometry: triangles stored in the scene itself.
    pub struct GeometryRecord {
        /// The name; its length is [`NONE`] if there is none.
        pub id: TextRange,
        /// Index of the first coordinate.
        pub first_coordinate: u32,
        /// Number of coordinates, three per vertex.
        pub coordinates: u32,
        /// Index of the first vertex index.
        pub first_index: u32,
        /// Number of vertex indices, three per triangle.
        pub indices: u32,
        /// Index of the first tag.
        pub first_tag: u32,
        /// Number of tags.
        pub tags: u32,
        /// Index of the first data value.
        pub first_data: u32,
        /// Number of data values.
        pub data: u32,
        /// The rotation: a quaternion `x, y, z, w`.
        pub rotation: [f32; 4],
        /// The translation of the geometry.
        pub translation: [f32; 3],
        /// The scale along each axis.
        pub scale: [f32; 3],
    }
}

pod! {
    /// One value of the custom data.
    pub struct DataRecord {
        /// The key; its length is [`NONE`] in an array.
        pub key: TextRange,
        /// The type: boolean 0, integer 1, float 2, string 3, array 4, table 5.
        pub kind: u32,
        /// Reserved; zero in every valid file.
        pub reserved: u32,
        /// The bits of the value: the range of a string, or first index and count of the elements of an array
        /// or table. Elements come after their container.
        pub value: u64,
    }
}

/// A value of the custom data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data<'a> {
    /// A boolean: `true` or `false`.
    Bool(bool),
    /// A signed 64-bit integer.
    Int(i64),
    /// A 64-bit float.
    Float(f64),
    /// A string in UTF-8.
    Text(&'a str),
    /// An array: index of the first element, and count.
    Array(u32, u32),
    /// A table: index of the first element, and count.
    Table(u32, u32),
}

/// The range of a missing string.
pub const NO_TEXT: TextRange = TextRange { offset: 0, len: NONE };

/// A checked scene, borrowed from its payload.
#[derive(Clone, Copy, Debug)]
pub struct SceneView<'a> {
    references: Array<'a, ReferenceRecord>,
    geometries: Array<'a, GeometryRecord>,
    materials: Array<'a, u32>,
    tags: Array<'a, TextRange>,
    data: Array<'a, DataRecord>,
    coordinates: Array<'a, f32>,
    indices: Array<'a, u32>,
    texts: Texts<'a>,
}

impl<'a> SceneView<'a> {
    /// Checks the payload of a scene that references `assets` other assets.
    ///
    /// # Errors
    ///
    /// [`Error`] if the payload is truncated, has trailing bytes or holds an invalid value.
    pub fn read(bytes: &'a [u8], assets: u32) -> Result<Self, Error> {
        let view = Self::parts(bytes)?;
        view.check(assets).map_err(|why| Error::Fault { at: 0, field: "scene", why })?;
        Ok(view)
    }

    /// Opens a payload that was checked before; only its sections are located again. With an unchecked
    /// payload, accessors may return nothing.
    pub fn from_checked(bytes: &'a [u8]) -> Option<Self> {
        Self::parts(bytes).ok()
    }

    fn parts(bytes: &'a [u8]) -> Result<Self, Error> {
        let needed = SceneHead::SIZE as u64;
        let short = Error::Truncated { at: 0, field: "head", needed, len: bytes.len() as u64 };
        let head = SceneHead::get(bytes).ok_or(short)?;
        let mut sections = Sections::new(bytes, SceneHead::SIZE);
        let view = SceneView {
            data: sections.take(head.data, "data")?,
            references: sections.take(head.references, "references")?,
            geometries: sections.take(head.geometries, "geometries")?,
            materials: sections.take(head.materials, "materials")?,
            tags: sections.take(head.tags, "tags")?,
            coordinates: sections.take(head.coordinates, "coordinates")?,
            indices: sections.take(head.indices, "indices")?,
            texts: Texts::read(sections.bytes(head.text_len.into(), "texts")?)?,
        };
        sections.finish()?;
        Ok(view)
    }

    fn check(&self, assets: u32) -> Result<(), &'static str> {
        let text = |range: TextRange| range == NO_TEXT || self.texts.get(range).is_some();
        if !self.tags.iter().all(|tag| self.texts.get(tag).is_some()) {
            return Err("has a tag out of bounds");
        }
        if !self.materials.iter().all(|material| material < assets) {
            return Err("has a material index out of range");
        }
        if !self.coordinates.iter().all(f32::is_finite) {
            return Err("has coordinates that are not finite");
        }
        for (index, record) in self.data.iter().enumerate() {
            let known = match self.value(&record) {
                None => false,
                Some(Data::Array(first, count) | Data::Table(first, count)) => {
                    // Elements come after their container, so that no value contains itself.
                    first as usize > index && self.data.range(first, count).is_some()
                }
                Some(_) => true,
            };
            if !known || !text(record.key) || record.reserved != 0 {
                return Err("has a data value out of bounds");
            }
        }
        for record in self.references {
            let mesh = record.mesh == NONE || record.mesh < assets;
            let parts = self.materials.range(record.first_material, record.materials).is_some()
                && self.tags.range(record.first_tag, record.tags).is_some()
                && self.data.range(record.first_data, record.data).is_some();
            let place = record.rotation.iter().chain(&record.translation).chain(&record.scale);
            if !mesh || !parts || !text(record.id) || !place.copied().all(f32::is_finite) {
                return Err("has a reference with a range or an index out of bounds");
            }
        }
        for record in self.geometries {
            let parts = self.coordinates.range(record.first_coordinate, record.coordinates).is_some()
                && self.tags.range(record.first_tag, record.tags).is_some()
                && self.data.range(record.first_data, record.data).is_some();
            let place = record.rotation.iter().chain(&record.translation).chain(&record.scale);
            let whole = record.coordinates.is_multiple_of(3) && record.indices.is_multiple_of(3);
            if !parts || !whole || !text(record.id) || !place.copied().all(f32::is_finite) {
                return Err("has a geometry with a range out of bounds");
            }
            let indices = self.indices.range(record.first_index, record.indices);
            if !indices.is_some_and(|all| all.iter().all(|index| index < record.coordinates / 3)) {
                return Err("has a geometry with a vertex index out of range");
            }
        }
        Ok(())
    }

    fn value(&self, record: &DataRecord) -> Option<Data<'a>> {
        let (low, high) = (record.value as u32, (record.value >> 32) as u32);
        Some(match record.kind {
            0 if record.value < 2 => Data::Bool(record.value == 1),
            1 => Data::Int(record.value as i64),
            2 => Data::Float(f64::from_bits(record.value)),
            3 => Data::Text(self.texts.get(TextRange { offset: low, len: high })?),
            4 => Data::Array(low, high),
            5 => Data::Table(low, high),
            _ => return None,
        })
    }

    /// Returns the references in file order.
    pub fn references(&self) -> Array<'a, ReferenceRecord> {
        self.references
    }

    /// Returns the geometries in file order.
    pub fn geometries(&self) -> Array<'a, GeometryRecord> {
        self.geometries
    }

    /// Returns a string; `None` for [`NO_TEXT`].
    pub fn text(&self, range: TextRange) -> Option<&'a str> {
        self.texts.get(range)
    }

    /// Returns `count` materials, as indices into the scene's assets.
    pub fn materials(&self, first: u32, count: u32) -> Array<'a, u32> {
        self.materials.range(first, count).unwrap_or_default()
    }

    /// Returns `count` tags, starting at index `first`.
    pub fn tags(&self, first: u32, count: u32) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let texts = self.texts;
        let tags = self.tags.range(first, count).unwrap_or_default();
        tags.iter().map(move |tag| texts.get(tag).unwrap_or_default())
    }

    /// Returns `count` data values with their keys, starting at index `first`.
    pub fn data(
        &self,
        first: u32,
        count: u32,
    ) -> impl ExactSizeIterator<Item = (&'a str, Data<'a>)> + use<'a> {
        let view = *self;
        let data = self.data.range(first, count).unwrap_or_default();
        data.iter().map(move |record| {
            let key = view.texts.get(record.key).unwrap_or_default();
            (key, view.value(&record).unwrap_or(Data::Bool(false)))
        })
    }

    /// Returns `count` coordinates, starting at index `first`.
    pub fn coordinates(&self, first: u32, count: u32) -> Array<'a, f32> {
        self.coordinates.range(first, count).unwrap_or_default()
    }

    /// Returns `count` vertex indices, starting at index `first`.
    pub fn indices(&self, first: u32, count: u32) -> Array<'a, u32> {
        self.indices.range(first, count).unwrap_or_default()
    }
}

#[cfg(feature = "tools")]
pub use tools::{Geometry, Reference, Value, write};

#[cfg(feature = "tools")]
mod tools {
    use super::*;
    use crate::pak::text::TextWriter;
    use crate::pod::as_bytes;
    use alloc::{string::String, vec::Vec};

    /// A value of the custom data, to be written.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Value {
        /// A boolean: `true` or `false`.
        Bool(bool),
        /// A signed 64-bit integer.
        Int(i64),
        /// A 64-bit float.
        Float(f64),
        /// A string in UTF-8.
        Text(String),
        /// An array of values.
        Array(Vec<Value>),
        /// A table of named values, in order.
        Table(Vec<(String, Value)>),
    }

    /// A reference to be written.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Reference {
        /// The name of the reference.
        pub id: Option<String>,
        /// Index of the mesh in the scene's assets.
        pub mesh: Option<u32>,
        /// Indices of the materials in the scene's assets.
        pub materials: Vec<u32>,
        /// The tags of the reference.
        pub tags: Vec<String>,
        /// The custom data, as named values.
        pub data: Vec<(String, Value)>,
        /// The rotation: a quaternion `x, y, z, w`.
        pub rotation: [f32; 4],
        /// The translation of the reference.
        pub translation: [f32; 3],
        /// The scale along each axis.
        pub scale: [f32; 3],
    }

    /// A geometry to be written.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Geometry {
        /// The name of the geometry.
        pub id: Option<String>,
        /// The coordinates, three per vertex.
        pub coordinates: Vec<f32>,
        /// The vertex indices, three per triangle.
        pub indices: Vec<u32>,
        /// The tags of the geometry.
        pub tags: Vec<String>,
        /// The custom data, as named values.
        pub data: Vec<(String, Value)>,
        /// The rotation: a quaternion `x, y, z, w`.
        pub rotation: [f32; 4],
        /// The translation of the geometry.
        pub translation: [f32; 3],
        /// The scale along each axis.
        pub scale: [f32; 3],
    }

    #[derive(Default)]
    struct Writer {
        texts: TextWriter,
        tags: Vec<TextRange>,
        data: Vec<DataRecord>,
    }

    fn number(n: usize) -> Result<u32, Error> {
        let too_large = Error::TooLarge { field: "scene", found: n as u64, max: (NONE - 1).into() };
        u32::try_from(n).ok().filter(|n| *n != NONE).ok_or(too_large)
    }

    impl Writer {
        fn id(&mut self, id: Option<&String>) -> Result<TextRange, Error> {
            id.map_or(Ok(NO_TEXT), |id| self.texts.put(id))
        }

        fn tags(&mut self, tags: &[String]) -> Result<(u32, u32), Error> {
            let first = number(self.tags.len())?;
            for tag in tags {
                self.tags.push(self.texts.put(tag)?);
            }
            Ok((first, number(tags.len())?))
        }

        /// Writes values breadth-first, so that the elements of a container are contiguous.
        fn values(&mut self, values: &[(Option<&str>, &Value)]) -> Result<(u32, u32), Error> {
            let first = self.data.len();
            for (key, value) in values {
                let key = key.map_or(Ok(NO_TEXT), |key| self.texts.put(key))?;
                let (kind, value) = match value {
                    Value::Bool(value) => (0, u64::from(*value)),
                    Value::Int(value) => (1, *value as u64),
                    Value::Float(value) => (2, value.to_bits()),
                    Value::Text(text) => {
                        let place = self.texts.put(text)?;
                        (3, u64::from(place.len) << 32 | u64::from(place.offset))
                    }
                    Value::Array(_) => (4, 0),
                    Value::Table(_) => (5, 0),
                };
                self.data.push(DataRecord { key, kind, reserved: 0, value });
            }
            for (index, (_, value)) in values.iter().enumerate() {
                let inside: Vec<(Option<&str>, &Value)> = match value {
                    Value::Array(values) => values.iter().map(|value| (None, value)).collect(),
                    Value::Table(values) => values.iter().map(|(key, value)| (Some(&**key), value)).collect(),
                    _ => continue,
                };
                let (start, count) = self.values(&inside)?;
                self.data[first + index].value = u64::from(count) << 32 | u64::from(start);
            }
            Ok((number(first)?, number(values.len())?))
        }

        fn data(&mut self, data: &[(String, Value)]) -> Result<(u32, u32), Error> {
            self.values(&data.iter().map(|(key, value)| (Some(&**key), value)).collect::<Vec<_>>())
        }
    }

    /// Encodes the payload of a scene that references `assets` other assets.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] if a count exceeds its field, otherwise the errors of [`SceneView::read`].
    pub fn write(references: &[Reference], geometries: &[Geometry], assets: u32) -> Result<Vec<u8>, Error> {
        let mut writer = Writer::default();
        let (mut materials, mut coordinates, mut indices) = (Vec::new(), Vec::new(), Vec::new());
        let (mut places, mut shapes) = (Vec::new(), Vec::new());
        for reference in references {
            let (first_tag, tags) = writer.tags(&reference.tags)?;
            let (first_data, data) = writer.data(&reference.data)?;
            places.push(ReferenceRecord {
                id: writer.id(reference.id.as_ref())?,
                mesh: reference.mesh.unwrap_or(NONE),
                first_material: number(materials.len())?,
                materials: number(reference.materials.len())?,
                first_tag,
                tags,
                first_data,
                data,
                rotation: reference.rotation,
                translation: reference.translation,
                scale: reference.scale,
            });
            materials.extend_from_slice(&reference.materials);
        }
        for geometry in geometries {
            let (first_tag, tags) = writer.tags(&geometry.tags)?;
            let (first_data, data) = writer.data(&geometry.data)?;
            shapes.push(GeometryRecord {
                id: writer.id(geometry.id.as_ref())?,
                first_coordinate: number(coordinates.len())?,
                coordinates: number(geometry.coordinates.len())?,
                first_index: number(indices.len())?,
                indices: number(geometry.indices.len())?,
                first_tag,
                tags,
                first_data,
                data,
                rotation: geometry.rotation,
                translation: geometry.translation,
                scale: geometry.scale,
            });
            coordinates.extend_from_slice(&geometry.coordinates);
            indices.extend_from_slice(&geometry.indices);
        }
        let head = SceneHead {
            references: number(places.len())?,
            geometries: number(shapes.len())?,
            materials: number(materials.len())?,
            tags: number(writer.tags.len())?,
            data: number(writer.data.len())?,
            coordinates: number(coordinates.len())?,
            indices: number(indices.len())?,
            text_len: writer.texts.len(),
        };
        let mut out = Vec::new();
        Le::put(head, &mut out);
        for part in [
            as_bytes(&writer.data),
            as_bytes(&places),
            as_bytes(&shapes),
            as_bytes(&materials),
            as_bytes(&writer.tags),
            as_bytes(&coordinates),
            as_bytes(&indices),
            writer.texts.bytes(),
        ] {
            out.extend_from_slice(part);
        }
        SceneView::read(&out, assets)?;
        Ok(out)
    }
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn references_and_nested_data_round_trip() {
        let inner = vec![("b".to_string(), Value::Bool(true)), ("t".to_string(), Value::Text("x".into()))];
        let list = Value::Array(vec![Value::Int(-3), Value::Float(0.5), Value::Table(inner)]);
        let reference = Reference {
            id: Some("door".into()),
            mesh: Some(1),
            materials: vec![0, 1],
            tags: vec!["a".into(), "b".into()],
            data: vec![("list".to_string(), list), ("n".to_string(), Value::Int(7))],
            rotation: [0.0, 0.0, 0.0, 1.0],
            ..Reference::default()
        };
        let geometry = Geometry { coordinates: vec![0.0; 9], indices: vec![0, 1, 2], ..Geometry::default() };
        let bytes =
            write(&[reference.clone(), Reference::default()], core::slice::from_ref(&geometry), 2).unwrap();
        let view = SceneView::read(&bytes, 2).unwrap();
        let first = view.references().get(0).unwrap();
        assert_eq!(view.text(first.id), Some("door"));
        assert_eq!(view.text(view.references().get(1).unwrap().id), None);
        assert_eq!(view.tags(first.first_tag, first.tags).collect::<Vec<_>>(), ["a", "b"]);
        let data: Vec<_> = view.data(first.first_data, first.data).collect();
        assert_eq!(data[1], ("n", Data::Int(7)));
        let ("list", Data::Array(start, 3)) = data[0] else { panic!("{data:?}") };
        let list: Vec<_> = view.data(start, 3).map(|(_, value)| value).collect();
        assert_eq!(list[..2], [Data::Int(-3), Data::Float(0.5)]);
        let Data::Table(start, 2) = list[2] else { panic!("{list:?}") };
        let table: Vec<_> = view.data(start, 2).collect();
        assert_eq!(table, [("b", Data::Bool(true)), ("t", Data::Text("x"))]);

        assert!(SceneView::read(&bytes, 1).is_err(), "asset 1 is not there");
        let out_of_range = Geometry { indices: vec![0, 1, 3], ..geometry.clone() };
        assert!(write(&[], &[out_of_range], 0).is_err());
        let flat = Geometry { coordinates: vec![0.0; 8], ..geometry };
        assert!(write(&[], &[flat], 0).is_err());
        for len in 0..bytes.len() {
            assert!(SceneView::read(&bytes[..len], 2).is_err());
        }
    }

    #[test]
    fn rejects_cyclic_data() {
        let reference = Reference {
            data: vec![("a".to_string(), Value::Array(vec![Value::Int(1)]))],
            ..Reference::default()
        };
        let mut bytes = write(&[reference], &[], 0).unwrap();
        // Makes the first value contain itself.
        bytes[SceneHead::SIZE + 16] = 0;
        assert!(SceneView::read(&bytes, 0).is_err());
    }
}
