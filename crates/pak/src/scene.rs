//! Scene assets: placed references to meshes and materials, geometry, tags and user data.

use crate::{Bytes, IndexBuffer, Kind, MaterialId, MeshId, Quat, Vec3};
use kiln_format::pak::scene::{Data, GeometryRecord, ReferenceRecord, SceneView};

/// A scene: placed references and geometries.
#[derive(Clone, Debug)]
pub struct Scene {
    bytes: Bytes,
    refs: Vec<(Kind, usize)>,
}

impl Scene {
    /// Wraps a payload that was validated with this number of references.
    pub(crate) fn new(bytes: Bytes, refs: Vec<(Kind, usize)>) -> Scene {
        Scene { bytes, refs }
    }

    pub(crate) fn rebase(&mut self, mut moved: impl FnMut(Kind, usize) -> usize) {
        self.refs.iter_mut().for_each(|(kind, id)| *id = moved(*kind, *id));
    }

    fn view(&self) -> Option<SceneView<'_>> {
        SceneView::from_checked(&self.bytes)
    }

    /// Returns the references, in source order.
    pub fn refs(&self) -> impl ExactSizeIterator<Item = ReferenceRef<'_>> {
        let view = self.view();
        let records = view.map(|view| view.references()).unwrap_or_default();
        let refs = &self.refs;
        records.iter().map(move |record| ReferenceRef { view, record, materials: refs })
    }

    /// Returns the geometries, in source order.
    pub fn geometries(&self) -> impl ExactSizeIterator<Item = GeometryRef<'_>> {
        let view = self.view();
        let records = view.map(|view| view.geometries()).unwrap_or_default();
        records.iter().map(move |record| GeometryRef { view, record })
    }
}

/// A placed reference: an optional mesh with materials, a transform, tags and user data.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceRef<'a> {
    view: Option<SceneView<'a>>,
    record: ReferenceRecord,
    materials: &'a [(Kind, usize)],
}

impl<'a> ReferenceRef<'a> {
    /// Returns the id that the author gave the reference.
    pub fn id(&self) -> Option<&'a str> {
        self.view?.text(self.record.id)
    }

    /// Returns the mesh of the reference.
    pub fn mesh(&self) -> Option<MeshId> {
        self.named(self.record.mesh, Kind::Mesh).map(MeshId)
    }

    /// Returns the materials, one for each material slot of the mesh.
    pub fn materials(&self) -> Vec<MaterialId> {
        let own = self.view.map(|view| view.materials(self.record.first_material, self.record.materials));
        let own = own.unwrap_or_default();
        own.iter().filter_map(|number| self.named(number, Kind::Material).map(MaterialId)).collect()
    }

    fn named(&self, number: u32, wanted: Kind) -> Option<usize> {
        self.materials.get(number as usize).filter(|(kind, _)| *kind == wanted).map(|(_, id)| *id)
    }
}

/// Triangle geometry that is part of the scene, such as a navigation mesh.
#[derive(Clone, Copy, Debug)]
pub struct GeometryRef<'a> {
    view: Option<SceneView<'a>>,
    record: GeometryRecord,
}

impl<'a> GeometryRef<'a> {
    /// Returns the id that the author gave the geometry.
    pub fn id(&self) -> Option<&'a str> {
        self.view?.text(self.record.id)
    }

    /// Returns the index buffer; `None` if the geometry has no triangles.
    pub fn index_buf(&self) -> Option<IndexBuffer> {
        let indices = self.view?.indices(self.record.first_index, self.record.indices);
        IndexBuffer::new(&indices.iter().collect::<Vec<_>>())
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
            pub fn tags(&self) -> impl Iterator<Item = &'a str> + use<'a> {
                let (first, count) = (self.record.first_tag, self.record.tags);
                self.view.into_iter().flat_map(move |view| view.tags(first, count))
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

    /// Returns the value if it is a number, rounded to `f32`.
    pub fn as_f32(&self) -> Option<f32> {
        self.as_f64().map(|value| value as f32)
    }

    /// Returns the value if it is a string.
    pub fn as_str(&self) -> Option<&'a str> {
        match self.data {
            Data::Text(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the elements if the value is an array.
    pub fn as_iter(&self) -> Option<impl Iterator<Item = DataRef<'a>> + use<'a>> {
        match self.data {
            Data::Array(first, count) => Some(values(Some(self.view), first, count).map(|(_, value)| value)),
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
}
