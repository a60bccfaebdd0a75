//! Scenes: what is where, with whatever data the author gave it.

use crate::{Bytes, IndexBuffer, Kind, MaterialId, MeshId, Quat, Vec3};
use kiln_format::pak::scene::{Data, GeometryRecord, ReferenceRecord, SceneView};

/// References and geometry.
#[derive(Clone, Debug)]
pub struct Scene {
    bytes: Bytes,
    refs: Vec<(Kind, usize)>,
}

impl Scene {
    /// Takes a payload that was read with this many references.
    pub(crate) fn new(bytes: Bytes, refs: Vec<(Kind, usize)>) -> Scene {
        Scene { bytes, refs }
    }

    pub(crate) fn rebase(&mut self, mut moved: impl FnMut(Kind, usize) -> usize) {
        self.refs.iter_mut().for_each(|(kind, id)| *id = moved(*kind, *id));
    }

    fn view(&self) -> Option<SceneView<'_>> {
        SceneView::trusted(&self.bytes)
    }

    /// The references, in the order of the source.
    pub fn refs(&self) -> impl ExactSizeIterator<Item = ReferenceRef<'_>> {
        let view = self.view();
        let records = view.map(|view| view.references()).unwrap_or_default();
        let refs = &self.refs;
        records.iter().map(move |record| ReferenceRef { view, record, materials: refs })
    }

    /// The geometries, in the order of the source.
    pub fn geometries(&self) -> impl ExactSizeIterator<Item = GeometryRef<'_>> {
        let view = self.view();
        let records = view.map(|view| view.geometries()).unwrap_or_default();
        records.iter().map(move |record| GeometryRef { view, record })
    }
}

/// Something at a place.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceRef<'a> {
    view: Option<SceneView<'a>>,
    record: ReferenceRecord,
    materials: &'a [(Kind, usize)],
}

impl<'a> ReferenceRef<'a> {
    /// Its name.
    pub fn id(&self) -> Option<&'a str> {
        self.view?.text(self.record.id)
    }

    /// Its mesh.
    pub fn mesh(&self) -> Option<MeshId> {
        self.named(self.record.mesh, Kind::Mesh).map(MeshId)
    }

    /// Its materials, one for each of the mesh's.
    pub fn materials(&self) -> Vec<MaterialId> {
        let own = self.view.map(|view| view.materials(self.record.first_material, self.record.materials));
        let own = own.unwrap_or_default();
        own.iter().filter_map(|number| self.named(number, Kind::Material).map(MaterialId)).collect()
    }

    fn named(&self, number: u32, wanted: Kind) -> Option<usize> {
        self.materials.get(number as usize).filter(|(kind, _)| *kind == wanted).map(|(_, id)| *id)
    }
}

/// Triangles of a scene's own.
#[derive(Clone, Copy, Debug)]
pub struct GeometryRef<'a> {
    view: Option<SceneView<'a>>,
    record: GeometryRecord,
}

impl<'a> GeometryRef<'a> {
    /// Its name.
    pub fn id(&self) -> Option<&'a str> {
        self.view?.text(self.record.id)
    }

    /// Its triangles; `None` when there are none.
    pub fn index_buf(&self) -> Option<IndexBuffer> {
        let indices = self.view?.indices(self.record.first_index, self.record.indices);
        IndexBuffer::new(&indices.iter().collect::<Vec<_>>())
    }

    /// Its vertices, three floats each, as bytes.
    pub fn vertex_data(&self) -> &'a [u8] {
        let all =
            self.view.map(|view| view.coordinates(self.record.first_coordinate, self.record.coordinates));
        all.unwrap_or_default().bytes()
    }

    /// Its vertices.
    pub fn vertices(&self) -> Vec<Vec3> {
        let all =
            self.view.map(|view| view.coordinates(self.record.first_coordinate, self.record.coordinates));
        let all: Vec<f32> = all.unwrap_or_default().iter().collect();
        all.as_chunks::<3>().0.to_vec()
    }
}

/// What things at places have alike.
macro_rules! placed {
    ($($Placed:ident),+) => { $(
        impl<'a> $Placed<'a> {
            /// How it is turned.
            pub fn rotation(&self) -> Quat {
                self.record.rotation
            }

            /// Where it is.
            pub fn translation(&self) -> Vec3 {
                self.record.translation
            }

            /// How large it is.
            pub fn scale(&self) -> Vec3 {
                self.record.scale
            }

            /// Its tags: trimmed, in lower case, sorted.
            pub fn tags(&self) -> impl Iterator<Item = &'a str> + use<'a> {
                let (first, count) = (self.record.first_tag, self.record.tags);
                self.view.into_iter().flat_map(move |view| view.tags(first, count))
            }

            /// Whether it has a tag, which is compared as the baker stores it: trimmed and in lower case.
            pub fn has_tag(&self, tag: &str) -> bool {
                has_tag(self.tags(), tag)
            }

            /// A value of its data.
            pub fn data(&self, key: &str) -> Option<DataRef<'a>> {
                self.all_data().find(|(name, _)| *name == key).map(|(_, value)| value)
            }

            /// All of its data, by key.
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

/// A value that the author gave.
#[derive(Clone, Copy, Debug)]
pub struct DataRef<'a> {
    view: SceneView<'a>,
    data: Data<'a>,
}

impl<'a> DataRef<'a> {
    /// The value, if it is a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self.data {
            Data::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The value, if it is a whole number.
    pub fn as_i64(&self) -> Option<i64> {
        match self.data {
            Data::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The value, if it is a whole number that fits.
    pub fn as_i32(&self) -> Option<i32> {
        self.as_i64()?.try_into().ok()
    }

    /// The value, if it is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self.data {
            Data::Float(value) => Some(value),
            Data::Int(value) => Some(value as f64),
            _ => None,
        }
    }

    /// The value, if it is a number.
    pub fn as_f32(&self) -> Option<f32> {
        self.as_f64().map(|value| value as f32)
    }

    /// The value, if it is a text.
    pub fn as_str(&self) -> Option<&'a str> {
        match self.data {
            Data::Text(value) => Some(value),
            _ => None,
        }
    }

    /// The values, if it is an array.
    pub fn as_iter(&self) -> Option<impl Iterator<Item = DataRef<'a>> + use<'a>> {
        match self.data {
            Data::Array(first, count) => Some(values(Some(self.view), first, count).map(|(_, value)| value)),
            _ => None,
        }
    }

    /// The values with their keys, if it is a table.
    pub fn as_table(&self) -> Option<impl Iterator<Item = (&'a str, DataRef<'a>)> + use<'a>> {
        match self.data {
            Data::Table(first, count) => Some(values(Some(self.view), first, count)),
            _ => None,
        }
    }

    /// A value of a table.
    pub fn get(&self, key: &str) -> Option<DataRef<'a>> {
        self.as_table()?.find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}
