//! The payload of a scene: references, geometry, and the data that both carry.
//!
//! Meshes and materials are numbers among the assets that the index lists for the scene. Refused are ranges that are
//! not there, data that contains itself, indices that name no vertex and places that are not finite.

use super::{NONE, Sections, text::TextRange, text::Texts};
use crate::bytes::Le;
use crate::pod::pod;
use crate::{Array, Error};

pod! {
    /// How much there is.
    pub struct SceneHead {
        /// References.
        pub references: u32,
        /// Geometries.
        pub geometries: u32,
        /// Materials of all references.
        pub materials: u32,
        /// Tags of all.
        pub tags: u32,
        /// Data of all.
        pub data: u32,
        /// Coordinates of all geometries.
        pub coordinates: u32,
        /// Indices of all geometries.
        pub indices: u32,
        /// Bytes of all texts.
        pub text_len: u32,
    }
}

pod! {
    /// Something at a place.
    pub struct ReferenceRecord {
        /// Its name; the length is [`NONE`] when it has none.
        pub id: TextRange,
        /// Its mesh among the scene's assets, or [`NONE`].
        pub mesh: u32,
        /// Its first material.
        pub first_material: u32,
        /// How many.
        pub materials: u32,
        /// Its first tag.
        pub first_tag: u32,
        /// How many.
        pub tags: u32,
        /// Its first data.
        pub first_data: u32,
        /// How many.
        pub data: u32,
        /// A quaternion, `x, y, z, w`.
        pub rotation: [f32; 4],
        /// Where it is.
        pub translation: [f32; 3],
        /// How large.
        pub scale: [f32; 3],
    }
}

pod! {
    /// Triangles of a scene's own.
    pub struct GeometryRecord {
        /// Its name; the length is [`NONE`] when it has none.
        pub id: TextRange,
        /// Its first coordinate.
        pub first_coordinate: u32,
        /// How many, three a vertex.
        pub coordinates: u32,
        /// Its first index.
        pub first_index: u32,
        /// How many, three a triangle.
        pub indices: u32,
        /// Its first tag.
        pub first_tag: u32,
        /// How many.
        pub tags: u32,
        /// Its first data.
        pub first_data: u32,
        /// How many.
        pub data: u32,
        /// A quaternion, `x, y, z, w`.
        pub rotation: [f32; 4],
        /// Where it is.
        pub translation: [f32; 3],
        /// How large.
        pub scale: [f32; 3],
    }
}

pod! {
    /// One value of the data.
    pub struct DataRecord {
        /// Its name; the length is [`NONE`] in an array.
        pub key: TextRange,
        /// Boolean 0, integer 1, float 2, text 3, array 4, table 5.
        pub kind: u32,
        /// Zero.
        pub reserved: u32,
        /// The value as bits: of a text its place, of an array or table its first value and how many. Those come
        /// after it.
        pub value: u64,
    }
}

/// A value of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data<'a> {
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(&'a str),
    /// Values: the first, and how many.
    Array(u32, u32),
    /// Named values: the first, and how many.
    Table(u32, u32),
}

/// Where a text is not.
pub const NO_TEXT: TextRange = TextRange { offset: 0, len: NONE };

/// A scene as it lies in its payload.
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
    /// Checks a payload of a scene that uses `assets` others.
    pub fn read(bytes: &'a [u8], assets: u32) -> Result<Self, Error> {
        let view = Self::parts(bytes)?;
        view.check(assets).map_err(|why| Error::Fault { at: 0, field: "scene", why })?;
        Ok(view)
    }

    /// A payload that was read before: only its parts are found again. Of one that was not, accessors may show
    /// nothing where something should be.
    pub fn trusted(bytes: &'a [u8]) -> Option<Self> {
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
            return Err("has tags that are not there");
        }
        if !self.materials.iter().all(|material| material < assets) {
            return Err("has materials that are not there");
        }
        if !self.coordinates.iter().all(f32::is_finite) {
            return Err("has coordinates that are not finite");
        }
        for (index, record) in self.data.iter().enumerate() {
            let known = match self.value(&record) {
                None => false,
                Some(Data::Array(first, count) | Data::Table(first, count)) => {
                    // What comes after cannot contain what came before: no value is inside itself.
                    first as usize > index && self.data.range(first, count).is_some()
                }
                Some(_) => true,
            };
            if !known || !text(record.key) || record.reserved != 0 {
                return Err("has data that is not there");
            }
        }
        for record in self.references {
            let mesh = record.mesh == NONE || record.mesh < assets;
            let parts = self.materials.range(record.first_material, record.materials).is_some()
                && self.tags.range(record.first_tag, record.tags).is_some()
                && self.data.range(record.first_data, record.data).is_some();
            let place = record.rotation.iter().chain(&record.translation).chain(&record.scale);
            if !mesh || !parts || !text(record.id) || !place.copied().all(f32::is_finite) {
                return Err("has a reference to what is not there");
            }
        }
        for record in self.geometries {
            let parts = self.coordinates.range(record.first_coordinate, record.coordinates).is_some()
                && self.tags.range(record.first_tag, record.tags).is_some()
                && self.data.range(record.first_data, record.data).is_some();
            let place = record.rotation.iter().chain(&record.translation).chain(&record.scale);
            let whole = record.coordinates.is_multiple_of(3) && record.indices.is_multiple_of(3);
            if !parts || !whole || !text(record.id) || !place.copied().all(f32::is_finite) {
                return Err("has a geometry whose parts are not there");
            }
            let indices = self.indices.range(record.first_index, record.indices);
            if !indices.is_some_and(|all| all.iter().all(|index| index < record.coordinates / 3)) {
                return Err("has a geometry whose indices name no vertex");
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

    /// The references, in order.
    pub fn references(&self) -> Array<'a, ReferenceRecord> {
        self.references
    }

    /// The geometries, in order.
    pub fn geometries(&self) -> Array<'a, GeometryRecord> {
        self.geometries
    }

    /// A text, unless it is none.
    pub fn text(&self, range: TextRange) -> Option<&'a str> {
        self.texts.get(range)
    }

    /// Materials among the scene's assets.
    pub fn materials(&self, first: u32, count: u32) -> Array<'a, u32> {
        self.materials.range(first, count).unwrap_or_default()
    }

    /// Some tags.
    pub fn tags(&self, first: u32, count: u32) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let texts = self.texts;
        let tags = self.tags.range(first, count).unwrap_or_default();
        tags.iter().map(move |tag| texts.get(tag).unwrap_or_default())
    }

    /// Some values with their names.
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

    /// Some coordinates.
    pub fn coordinates(&self, first: u32, count: u32) -> Array<'a, f32> {
        self.coordinates.range(first, count).unwrap_or_default()
    }

    /// Some indices.
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

    /// A value to be written.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Value {
        /// Yes or no.
        Bool(bool),
        /// A whole number.
        Int(i64),
        /// A number.
        Float(f64),
        /// A text.
        Text(String),
        /// Values.
        Array(Vec<Value>),
        /// Named values, in order.
        Table(Vec<(String, Value)>),
    }

    /// A reference to be written.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Reference {
        /// Its name.
        pub id: Option<String>,
        /// Its mesh among the scene's assets.
        pub mesh: Option<u32>,
        /// Its materials among the scene's assets.
        pub materials: Vec<u32>,
        /// Its tags.
        pub tags: Vec<String>,
        /// Its data.
        pub data: Vec<(String, Value)>,
        /// A quaternion, `x, y, z, w`.
        pub rotation: [f32; 4],
        /// Where it is.
        pub translation: [f32; 3],
        /// How large.
        pub scale: [f32; 3],
    }

    /// A geometry to be written.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Geometry {
        /// Its name.
        pub id: Option<String>,
        /// Coordinates, three a vertex.
        pub coordinates: Vec<f32>,
        /// Three a triangle.
        pub indices: Vec<u32>,
        /// Its tags.
        pub tags: Vec<String>,
        /// Its data.
        pub data: Vec<(String, Value)>,
        /// A quaternion, `x, y, z, w`.
        pub rotation: [f32; 4],
        /// Where it is.
        pub translation: [f32; 3],
        /// How large.
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

        /// Writes values side by side, then what is inside each, so that a range holds what belongs together.
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

    /// The payload of a scene that uses `assets` others.
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
    fn references_and_nested_data_come_back() {
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
    fn data_cannot_contain_itself() {
        let reference = Reference {
            data: vec![("a".to_string(), Value::Array(vec![Value::Int(1)]))],
            ..Reference::default()
        };
        let mut bytes = write(&[reference], &[], 0).unwrap();
        // The first value says where its own begin.
        bytes[SceneHead::SIZE + 16] = 0;
        assert!(SceneView::read(&bytes, 0).is_err());
    }
}
