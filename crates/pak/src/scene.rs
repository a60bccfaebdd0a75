//! Scene assets: placed references to meshes and materials, geometry, tags and user data.

use crate::{Bytes, IndexBuffer, Kind, MaterialId, MeshId, Quat, Vec3};
use kiln_format::pak::scene::{Data, GeometryRecord, ReferenceRecord, SceneView};
use std::ops::Range;

/// A scene: placed references and geometries.
#[derive(Clone, Debug)]
pub struct Scene {
    bytes: Bytes,
    refs: Vec<(Kind, usize)>,
    /// The materials of all references, and their range for each reference.
    materials: Vec<MaterialId>,
    material_ranges: Vec<Range<usize>>,
    index_buffers: Vec<IndexBuffer>,
}

impl Scene {
    /// Wraps a payload that was validated with this number of references.
    pub(crate) fn new(bytes: Bytes, refs: Vec<(Kind, usize)>) -> Scene {
        let mut scene = Scene {
            bytes,
            refs,
            materials: Vec::new(),
            material_ranges: Vec::new(),
            index_buffers: Vec::new(),
        };
        let buffer = |view: SceneView<'_>, record: GeometryRecord| {
            let indices = view.indices(record.first_index, record.indices);
            IndexBuffer::narrowest(&indices.iter().collect::<Vec<_>>())
        };
        scene.index_buffers = scene.view().map_or_else(Vec::new, |view| {
            view.geometries().iter().map(|record| buffer(view, record)).collect()
        });
        scene.resolve_materials();
        scene
    }

    pub(crate) fn rebase(&mut self, mut moved: impl FnMut(Kind, usize) -> usize) {
        self.refs.iter_mut().for_each(|(kind, id)| *id = moved(*kind, *id));
        self.resolve_materials();
    }

    fn resolve_materials(&mut self) {
        let (mut materials, mut ranges) = (Vec::new(), Vec::new());
        if let Some(view) = self.view() {
            for record in view.references().iter() {
                let start = materials.len();
                let own = view.materials(record.first_material, record.materials);
                materials
                    .extend(own.iter().filter_map(|n| id_of(&self.refs, n, Kind::Material).map(MaterialId)));
                ranges.push(start..materials.len());
            }
        }
        (self.materials, self.material_ranges) = (materials, ranges);
    }

    fn view(&self) -> Option<SceneView<'_>> {
        SceneView::from_checked(&self.bytes)
    }

    /// Returns the references, in source order.
    pub fn refs(&self) -> impl ExactSizeIterator<Item = ReferenceRef<'_>> {
        let view = self.view();
        let records = view.map(|view| view.references()).unwrap_or_default();
        records.iter().enumerate().map(move |(number, record)| ReferenceRef {
            view,
            record,
            mesh: id_of(&self.refs, record.mesh, Kind::Mesh).map(MeshId),
            materials: self
                .material_ranges
                .get(number)
                .and_then(|range| self.materials.get(range.clone()))
                .unwrap_or_default(),
        })
    }

    /// Returns the geometries, in source order.
    pub fn geometries(&self) -> impl ExactSizeIterator<Item = GeometryRef<'_>> {
        let view = self.view();
        let records = view.map(|view| view.geometries()).unwrap_or_default();
        let all = records.iter().zip(&self.index_buffers);
        all.map(move |(record, index_buf)| GeometryRef { view, record, index_buf })
    }
}

/// Returns the id of a reference of the scene, if it is of a kind.
fn id_of(refs: &[(Kind, usize)], number: u32, wanted: Kind) -> Option<usize> {
    refs.get(number as usize).filter(|(kind, _)| *kind == wanted).map(|(_, id)| *id)
}

/// A placed reference: an optional mesh with materials, a transform, tags and user data.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceRef<'a> {
    view: Option<SceneView<'a>>,
    record: ReferenceRecord,
    mesh: Option<MeshId>,
    materials: &'a [MaterialId],
}

impl<'a> ReferenceRef<'a> {
    /// Returns the id that the author gave the reference.
    pub fn id(&self) -> Option<&'a str> {
        self.view?.text(self.record.id)
    }

    /// Returns the mesh of the reference.
    pub fn mesh(&self) -> Option<MeshId> {
        self.mesh
    }

    /// Returns the materials, one for each material slot of the mesh.
    pub fn materials(&self) -> &'a [MaterialId] {
        self.materials
    }
}

/// Triangle geometry that is part of the scene, such as a navigation mesh.
#[derive(Clone, Copy, Debug)]
pub struct GeometryRef<'a> {
    view: Option<SceneView<'a>>,
    record: GeometryRecord,
    index_buf: &'a IndexBuffer,
}

impl<'a> GeometryRef<'a> {
    /// Returns the id that the author gave the geometry.
    pub fn id(&self) -> Option<&'a str> {
        self.view?.text(self.record.id)
    }

    /// Returns the index buffer.
    pub fn index_buf(&self) -> &'a IndexBuffer {
        self.index_buf
    }

    /// Returns the positions as bytes: three little-endian `f32` per vertex.
    pub fn vertex_data(&self) -> &'a [u8] {
        let all =
            self.view.map(|view| view.coordinates(self.record.first_coordinate, self.record.coordinates));
        all.unwrap_or_default().bytes()
    }

    /// Returns the vertex positions.
    pub fn vertices(&self) -> Vec<Vec3> {
        let all =
            self.view.map(|view| view.coordinates(self.record.first_coordinate, self.record.coordinates));
        let all: Vec<f32> = all.unwrap_or_default().iter().collect();
        all.as_chunks::<3>().0.to_vec()
    }
}

/// The accessors that references and geometries share.
macro_rules! placed {
    ($($Placed:ident),+) => { $(
        impl<'a> $Placed<'a> {
            /// Returns the rotation as a quaternion.
            pub fn rotation(&self) -> Quat {
                self.record.rotation
            }

            /// Returns the translation in scene units.
            pub fn translation(&self) -> Vec3 {
                self.record.translation
            }

            /// Returns the scale factors along the axes.
            pub fn scale(&self) -> Vec3 {
                self.record.scale
            }

            /// Returns the tags: trimmed, in lower case, sorted.
            pub fn tags(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
                let (first, count) = (self.record.first_tag, self.record.tags);
                let tags: Vec<&'a str> = self.view.into_iter().flat_map(|view| view.tags(first, count)).collect();
                tags.into_iter()
            }

            /// Returns `true` if the tag is present. The argument is trimmed and lower-cased, as the baker does.
            pub fn has_tag(&self, tag: &str) -> bool {
                has_tag(self.tags(), tag)
            }

            /// Returns the value of a user data key.
            pub fn data(&self, key: &str) -> Option<DataRef<'a>> {
                self.all_data().find(|(name, _)| *name == key).map(|(_, value)| value)
            }

            /// Returns all user data, with keys.
            pub fn all_data(&self) -> impl Iterator<Item = (&'a str, DataRef<'a>)> + use<'a> {
                values(self.view, self.record.first_data, self.record.data)
            }
        }
    )+ };
}

placed!(ReferenceRef, GeometryRef);

fn has_tag<'a>(mut tags: impl Iterator<Item = &'a str>, tag: &str) -> bool {
    let tag = tag.trim().to_lowercase();
    tags.any(|own| own == tag)
}

fn values<'a>(
    view: Option<SceneView<'a>>,
    first: u32,
    count: u32,
) -> impl Iterator<Item = (&'a str, DataRef<'a>)> + use<'a> {
    view.into_iter()
        .flat_map(move |view| view.data(first, count).map(move |(key, data)| (key, DataRef { view, data })))
}

/// A value of user data.
#[derive(Clone, Copy, Debug)]
pub struct DataRef<'a> {
    view: SceneView<'a>,
    data: Data<'a>,
}

impl<'a> DataRef<'a> {
    /// Returns the value if it is a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.data {
            Data::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value if it is an integer.
    pub fn as_i64(&self) -> Option<i64> {
        match self.data {
            Data::Int(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value if it is an integer in the range of `i32`.
    pub fn as_i32(&self) -> Option<i32> {
        self.as_i64()?.try_into().ok()
    }

    /// Returns the value if it is a number; integers are converted.
    pub fn as_f64(&self) -> Option<f64> {
        match self.data {
            Data::Float(value) => Some(value),
            Data::Int(value) => Some(value as f64),
            _ => None,
        }
    }

    /// Returns the value if it is a float, rounded to `f32`; `None` for an integer, which [`DataRef::as_f64`] converts.
    pub fn as_f32(&self) -> Option<f32> {
        match self.data {
            Data::Float(value) => Some(value as f32),
            _ => None,
        }
    }

    /// Returns the value if it is a string.
    pub fn as_str(&self) -> Option<&'a str> {
        match self.data {
            Data::Text(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the elements if the value is an array.
    pub fn as_iter(&self) -> Option<impl ExactSizeIterator<Item = DataRef<'a>> + use<'a>> {
        match self.data {
            Data::Array(first, count) => {
                let values = values(Some(self.view), first, count).map(|(_, value)| value);
                Some(values.collect::<Vec<_>>().into_iter())
            }
            _ => None,
        }
    }

    /// Returns the entries if the value is a table.
    pub fn as_table(&self) -> Option<impl Iterator<Item = (&'a str, DataRef<'a>)> + use<'a>> {
        match self.data {
            Data::Table(first, count) => Some(values(Some(self.view), first, count)),
            _ => None,
        }
    }

    /// Returns an entry if the value is a table that contains the key.
    pub fn get(&self, key: &str) -> Option<DataRef<'a>> {
        self.as_table()?.find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Returns the boolean.
    ///
    /// # Panics
    /// If the value is not a boolean.
    pub fn expect_bool(&self) -> bool {
        self.as_bool().expect("a boolean")
    }

    /// Returns the float.
    ///
    /// # Panics
    /// If the value is not a float.
    pub fn expect_f32(&self) -> f32 {
        self.as_f32().expect("a float")
    }

    /// Returns the integer.
    ///
    /// # Panics
    /// If the value is not an integer in the range of `i32`.
    pub fn expect_i32(&self) -> i32 {
        self.as_i32().expect("an integer in the range of i32")
    }

    /// Returns the elements of the array.
    ///
    /// # Panics
    /// If the value is not an array.
    pub fn expect_iter(&self) -> impl ExactSizeIterator<Item = DataRef<'a>> + use<'a> {
        self.as_iter().expect("an array")
    }

    /// Returns the string.
    ///
    /// # Panics
    /// If the value is not a string.
    pub fn expect_str(&self) -> &'a str {
        self.as_str().expect("a string")
    }

    /// Returns `true` if the value is a boolean.
    pub fn is_bool(&self) -> bool {
        self.as_bool().is_some()
    }

    /// Returns `true` if the value is a float.
    pub fn is_f32(&self) -> bool {
        self.as_f32().is_some()
    }

    /// Returns `true` if the value is an integer in the range of `i32`.
    pub fn is_i32(&self) -> bool {
        self.as_i32().is_some()
    }

    /// Returns `true` if the value is an array.
    pub fn is_iter(&self) -> bool {
        matches!(self.data, Data::Array(..))
    }

    /// Returns `true` if the value is a string.
    pub fn is_str(&self) -> bool {
        self.as_str().is_some()
    }
}
