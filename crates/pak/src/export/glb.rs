//! Meshes as binary glTF 2.0. Vertices are embedded as they are stored: interleaved, with the formats of the pak.
//!
//! Node 0 has LOD 0 of all regular primitives. The other LODs are meshes of nodes that only the extension `MSFT_lod` of
//! node 0 refers to, and shadow geometry is a node beside the scene, so that a viewer shows LOD 0.

use crate::error::Fault;
use crate::mesh::{Mesh, MorphTarget, Primitive, Role, Skin, VertexAttribute, VertexFormat, VertexSemantic};
use crate::{Error, IndexBuffer, IndexType, Kind, Mat4};
use kiln_engine::Json;

const UNSIGNED_BYTE: u64 = 5121;
const UNSIGNED_SHORT: u64 = 5123;
const UNSIGNED_INT: u64 = 5125;
const FLOAT: u64 = 5126;
const ARRAY_BUFFER: u64 = 34962;
const ELEMENT_ARRAY_BUFFER: u64 = 34963;

/// Encodes a mesh as a GLB file.
pub(super) fn write(mesh: &Mesh, name: &str, id: usize) -> Result<Vec<u8>, Error> {
    let mut doc = Document::default();
    let regular: Vec<&Primitive> =
        mesh.primitives().iter().filter(|part| part.role() == Role::Main).collect();
    let shadows: Vec<&Primitive> =
        mesh.primitives().iter().filter(|part| part.role() != Role::Main).collect();
    let attributes: Vec<Json> = regular.iter().map(|part| doc.vertices(part)).collect();
    // All primitives of a glTF mesh have the same number of morph targets.
    let morphs = regular.first().map_or(&[][..], |part| part.morph_targets());
    let same = regular.iter().all(|part| part.morph_targets().len() == morphs.len());
    let morphs = if same { morphs } else { &[] };
    let targets: Vec<Vec<Json>> = match morphs {
        [] => vec![Vec::new(); regular.len()],
        _ => regular.iter().map(|part| doc.morph_targets(part)).collect(),
    };
    let shadow_attributes: Vec<Json> = shadows.iter().map(|part| doc.vertices(part)).collect();
    let lods = regular.iter().map(|part| part.lods().len()).max().unwrap_or(0);
    let skin = mesh.skin().map(|skin| doc.skin(skin));
    let mut nodes = Vec::new();
    let mut node = |doc: &mut Document, name: String, primitives: Vec<Json>, morphs: &[MorphTarget]| {
        let mesh = doc.mesh(&name, primitives, morphs);
        let mut members = vec![("name", name.into()), ("mesh", mesh.into())];
        members.extend(skin.is_some().then_some(("skin", 0u64.into())));
        nodes.push(members);
    };
    for lod in 0..lods {
        let parts = regular.iter().zip(attributes.iter().zip(&targets));
        // A primitive with fewer LODs keeps its last one.
        let parts =
            parts.filter_map(|(part, own)| Some((part, own, part.lods().get(lod).or(part.lods().last())?)));
        let primitives =
            parts.map(|(part, own, indices)| doc.primitive(own, indices, Some(part.material()))).collect();
        let name = if lod == 0 { name.to_owned() } else { format!("{name} LOD {lod}") };
        node(&mut doc, name, primitives, morphs);
    }
    if let Some(lod) = Some(&shadows).filter(|shadows| !shadows.is_empty()) {
        let parts = lod.iter().zip(&shadow_attributes);
        let primitives = parts
            .filter_map(|(part, own)| Some(doc.primitive((own, &Vec::new()), part.lods().first()?, None)))
            .collect();
        node(&mut doc, format!("{name} shadow"), primitives, &[]);
    }
    if lods > 1 {
        let ids = Json::list((1..lods as u64).collect::<Vec<u64>>());
        let lod = Json::object([("MSFT_lod", Json::object([("ids", ids)]))]);
        nodes[0].push(("extensions", lod));
    }
    let first_joint = nodes.len() as u64;
    let mut roots: Vec<u64> = if regular.is_empty() { vec![] } else { vec![0] };
    let joints = mesh.skin().map_or(&[][..], Skin::joints);
    roots
        .extend((0..).zip(joints).filter(|(n, j)| j.parent_index == *n).map(|(n, _)| first_joint + n as u64));
    let nodes = nodes.into_iter().map(object).chain(joint_nodes(joints, first_joint));
    let materials = mesh.materials().iter().map(|name| Json::object([("name", name.as_str().into())]));
    let mut members = vec![
        ("asset", Json::object([("version", "2.0".into()), ("generator", "Kiln pak".into())])),
        ("scene", 0u64.into()),
        ("scenes", Json::list([Json::object([("nodes", Json::list(roots))])])),
        ("nodes", Json::list(nodes)),
    ];
    members.extend((lods > 1).then(|| ("extensionsUsed", Json::list(["MSFT_lod"]))));
    if let Some(inverse_binds) = skin {
        let list = Json::list((0..joints.len() as u64).map(|joint| first_joint + joint));
        let skin = Json::object([("inverseBindMatrices", inverse_binds.into()), ("joints", list)]);
        members.push(("skins", Json::list([skin])));
    }
    let lists = [("meshes", std::mem::take(&mut doc.meshes)), ("materials", materials.collect())];
    let lists = lists.into_iter().chain([
        ("accessors", std::mem::take(&mut doc.accessors)),
        ("bufferViews", std::mem::take(&mut doc.views)),
    ]);
    // An empty list is not valid glTF.
    members.extend(lists.filter(|(_, list)| !list.is_empty()).map(|(name, list)| (name, Json::List(list))));
    if !doc.bytes.is_empty() {
        let buffer = Json::object([("byteLength", doc.bytes.len().into())]);
        members.push(("buffers", Json::list([buffer])));
    }
    kiln_format::glb::write(&object(members).to_string(), &doc.bytes).map_err(|_| {
        let why = Fault::TooLarge { len: u64::from(u32::MAX) };
        Error::Asset { kind: Kind::Mesh, name: format!("id {id}"), why }
    })
}

/// The lists of a glTF document under construction, and its buffer.
#[derive(Default)]
struct Document {
    bytes: Vec<u8>,
    views: Vec<Json>,
    accessors: Vec<Json>,
    meshes: Vec<Json>,
}

impl Document {
    /// Appends bytes to the buffer, aligned to 4; returns the index of the buffer view.
    fn view(&mut self, bytes: &[u8], more: &[(&'static str, u64)]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let mut members = vec![
            ("buffer", 0u64.into()),
            ("byteOffset", self.bytes.len().into()),
            ("byteLength", bytes.len().into()),
        ];
        members.extend(more.iter().map(|(name, value)| (*name, Json::from(*value))));
        self.bytes.extend_from_slice(bytes);
        self.views.push(object(members));
        self.views.len() as u64 - 1
    }

    fn accessor(&mut self, members: Vec<(&'static str, Json)>) -> u64 {
        self.accessors.push(object(members));
        self.accessors.len() as u64 - 1
    }

    /// Adds the vertices of a primitive; returns its `attributes`.
    fn vertices(&mut self, part: &Primitive) -> Json {
        let stride = part.vertex_type().stride();
        let view = self.view(part.vertex_data(), &[("byteStride", stride as u64), ("target", ARRAY_BUFFER)]);
        let mut attributes = Vec::new();
        for attribute in part.vertex_type().attributes() {
            let name = match attribute.semantic {
                VertexSemantic::Position => "POSITION",
                VertexSemantic::Normal => "NORMAL",
                VertexSemantic::TexCoord0 => "TEXCOORD_0",
                VertexSemantic::TexCoord1 => "TEXCOORD_1",
                VertexSemantic::Tangent => "TANGENT",
                VertexSemantic::Joints => "JOINTS_0",
                VertexSemantic::Weights => "WEIGHTS_0",
                _ => continue,
            };
            let Some(mut members) = elements(view, attribute, part.vertex_count()) else { continue };
            if attribute.semantic == VertexSemantic::Position {
                members.extend(extent(part.vertex_data(), stride));
            }
            attributes.push((name.to_owned(), self.accessor(members).into()));
        }
        for (number, colors) in part.colors().iter().enumerate() {
            let stride = colors.format().byte_len() as u64;
            let view = self.view(colors.data(), &[("byteStride", stride), ("target", ARRAY_BUFFER)]);
            let attribute =
                VertexAttribute { semantic: VertexSemantic::Position, format: colors.format(), offset: 0 };
            let Some(members) = elements(view, attribute, colors.len()) else { continue };
            attributes.push((format!("COLOR_{number}"), self.accessor(members).into()));
        }
        Json::Object(attributes.into_iter().collect())
    }

    /// Adds the morph targets of a primitive; returns its `targets`.
    fn morph_targets(&mut self, part: &Primitive) -> Vec<Json> {
        let mut targets = Vec::new();
        for target in part.morph_targets() {
            let stride = target.stride();
            let view = self.view(target.data(), &[("byteStride", stride as u64), ("target", ARRAY_BUFFER)]);
            let mut attributes = Vec::new();
            for attribute in target.attributes() {
                let name = match attribute.semantic {
                    VertexSemantic::Position => "POSITION",
                    VertexSemantic::Normal => "NORMAL",
                    _ => "TANGENT",
                };
                let Some(mut members) = elements(view, attribute, part.vertex_count()) else { continue };
                if attribute.semantic == VertexSemantic::Position {
                    members.extend(extent(target.data(), stride));
                }
                attributes.push((name, self.accessor(members).into()));
            }
            targets.push(object(attributes));
        }
        targets
    }

    fn primitive(
        &mut self,
        (attributes, targets): (&Json, &Vec<Json>),
        indices: &IndexBuffer,
        material: Option<u16>,
    ) -> Json {
        // The largest value of an index type is the primitive restart value.
        let has = |value: u32| indices.u32_indices().contains(&value);
        let widened: Vec<u8>;
        let (component, bytes) = match indices.index_type() {
            IndexType::U8 if has(0xff) => {
                widened = indices.u32_indices().iter().flat_map(|&i| (i as u16).to_le_bytes()).collect();
                (UNSIGNED_SHORT, &widened[..])
            }
            IndexType::U16 if has(0xffff) => {
                widened = indices.u32_indices().iter().flat_map(|i| i.to_le_bytes()).collect();
                (UNSIGNED_INT, &widened[..])
            }
            IndexType::U8 => (UNSIGNED_BYTE, indices.bytes()),
            IndexType::U16 => (UNSIGNED_SHORT, indices.bytes()),
            IndexType::U32 => (UNSIGNED_INT, indices.bytes()),
        };
        let view = self.view(bytes, &[("target", ELEMENT_ARRAY_BUFFER)]);
        let accessor = self.accessor(vec![
            ("bufferView", view.into()),
            ("componentType", component.into()),
            ("count", indices.index_count().into()),
            ("type", "SCALAR".into()),
        ]);
        let mut members = vec![("attributes", attributes.clone()), ("indices", accessor.into())];
        members.extend(material.map(|slot| ("material", u64::from(slot).into())));
        members.extend((!targets.is_empty()).then(|| ("targets", Json::List(targets.clone()))));
        object(members)
    }

    fn mesh(&mut self, name: &str, primitives: Vec<Json>, morphs: &[MorphTarget]) -> u64 {
        let mut members = vec![("name", name.into()), ("primitives", Json::List(primitives))];
        if !morphs.is_empty() {
            let names = Json::list(morphs.iter().map(MorphTarget::name));
            members.push(("weights", Json::list(morphs.iter().map(MorphTarget::weight))));
            members.push(("extras", Json::object([("targetNames", names)])));
        }
        self.meshes.push(object(members));
        self.meshes.len() as u64 - 1
    }

    /// Adds the inverse bind matrices; returns their accessor.
    fn skin(&mut self, skin: &Skin) -> u64 {
        let matrices = skin.joints().iter().flat_map(|joint| joint.inverse_bind);
        let bytes: Vec<u8> = matrices.flat_map(f32::to_le_bytes).collect();
        let view = self.view(&bytes, &[]);
        self.accessor(vec![
            ("bufferView", view.into()),
            ("componentType", FLOAT.into()),
            ("count", skin.joints().len().into()),
            ("type", "MAT4".into()),
        ])
    }
}

fn object(members: Vec<(&'static str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Returns the members of an accessor for an attribute; `None` if glTF has no such format.
fn elements(view: u64, attribute: VertexAttribute, count: usize) -> Option<Vec<(&'static str, Json)>> {
    let (component, kind, normalized) = match attribute.format {
        VertexFormat::Float32x2 => (FLOAT, "VEC2", false),
        VertexFormat::Float32x3 => (FLOAT, "VEC3", false),
        VertexFormat::Float32x4 => (FLOAT, "VEC4", false),
        VertexFormat::Uint8x4 => (UNSIGNED_BYTE, "VEC4", false),
        VertexFormat::Uint16x4 => (UNSIGNED_SHORT, "VEC4", false),
        VertexFormat::Unorm8x4 => (UNSIGNED_BYTE, "VEC4", true),
        VertexFormat::Unorm16x4 => (UNSIGNED_SHORT, "VEC4", true),
        _ => return None,
    };
    let mut members = vec![
        ("bufferView", view.into()),
        ("byteOffset", attribute.offset.into()),
        ("componentType", component.into()),
        ("count", count.into()),
        ("type", kind.into()),
    ];
    members.extend(normalized.then_some(("normalized", true.into())));
    Some(members)
}

/// Returns the corners of the bounding box of positions at the start of each element, as members of an accessor.
fn extent(vertices: &[u8], stride: usize) -> [(&'static str, Json); 2] {
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for vertex in vertices.chunks_exact(stride.max(1)) {
        for (axis, bytes) in vertex.as_chunks::<4>().0.iter().take(3).enumerate() {
            let value = f32::from_le_bytes(*bytes);
            (min[axis], max[axis]) = (min[axis].min(value), max[axis].max(value));
        }
    }
    [("min", Json::list(min)), ("max", Json::list(max))]
}

/// Returns a node for each joint, in the bind pose.
fn joint_nodes(joints: &[crate::mesh::Joint], first: u64) -> impl Iterator<Item = Json> + '_ {
    let mut children = vec![Vec::new(); joints.len()];
    for (number, joint) in joints.iter().enumerate().filter(|(number, joint)| joint.parent_index != *number) {
        if let Some(list) = children.get_mut(joint.parent_index) {
            list.push(first + number as u64);
        }
    }
    joints.iter().zip(children).enumerate().map(move |(number, (joint, children))| {
        let bind = inverse(&joint.inverse_bind);
        let local = match joints.get(joint.parent_index).filter(|_| joint.parent_index != number) {
            Some(parent) => product(&parent.inverse_bind, &bind),
            None => bind,
        };
        let mut members =
            vec![("name", joint.name.as_str().into()), ("matrix", Json::list(local.iter().copied()))];
        if !children.is_empty() {
            members.push(("children", Json::list(children)));
        }
        object(members)
    })
}

/// Returns the product of two column-major matrices.
fn product(a: &Mat4, b: &Mat4) -> Mat4 {
    let cell =
        |n: usize| (0..4).map(|k| f64::from(a[k * 4 + n % 4]) * f64::from(b[n / 4 * 4 + k])).sum::<f64>();
    std::array::from_fn(|n| cell(n) as f32)
}

/// Returns the inverse of an affine matrix; the identity if it is singular.
fn inverse(matrix: &Mat4) -> Mat4 {
    let m = |row: usize, column: usize| f64::from(matrix[column * 4 + row]);
    let minor = |r: usize, c: usize| {
        let (r1, r2, c1, c2) = ((r + 1) % 3, (r + 2) % 3, (c + 1) % 3, (c + 2) % 3);
        m(r1, c1) * m(r2, c2) - m(r1, c2) * m(r2, c1)
    };
    let determinant: f64 = (0..3).map(|column| m(0, column) * minor(0, column)).sum();
    let linear = |row: usize, column: usize| minor(column, row) / determinant;
    let cell = |n: usize| match (n % 4, n / 4) {
        (3, 3) => 1.0,
        (3, _) => 0.0,
        (row, 3) => -(0..3).map(|k| linear(row, k) * m(k, 3)).sum::<f64>(),
        (row, column) => linear(row, column),
    };
    let result: Mat4 = std::array::from_fn(|n| cell(n) as f32);
    let identity = || std::array::from_fn(|n| if n % 5 == 0 { 1.0 } else { 0.0 });
    if result.iter().all(|value| value.is_finite()) { result } else { identity() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_of_an_affine_matrix_multiplies_to_the_identity() {
        // Rotation about z by 90 degrees, scale 2, translation (3, 4, 5).
        let matrix = [0.0, 2.0, 0.0, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 3.0, 4.0, 5.0, 1.0];
        let unit = product(&matrix, &inverse(&matrix));
        let identity: Mat4 = std::array::from_fn(|n| if n % 5 == 0 { 1.0 } else { 0.0 });
        assert!(unit.iter().zip(identity).all(|(a, b)| (a - b).abs() < 1e-6), "{unit:?}");
        assert_eq!(inverse(&[0.0; 16]), identity);
    }
}
