//! Meshes to binary glTF 2.0: geometry, material factors and the skeleton in its bind pose.
//!
//! Each submesh is a primitive; all share one set of vertex attributes. Textures, LODs, meshlets and clips are not
//! part of the result.

use kiln_engine::{Code, Diag, Json};
use kiln_format::hmat::{AlphaMode, GpuMaterial, HmatView};
use kiln_format::hmesh::{self, GpuJoint, HmeshView, NO_MATERIAL};
use kiln_mesh::octahedral;

const FLOAT: u64 = 5126;
const UNSIGNED_SHORT: u64 = 5123;
const UNSIGNED_INT: u64 = 5125;
const ARRAY_BUFFER: u64 = 34962;
const ELEMENT_ARRAY_BUFFER: u64 = 34963;

/// Converts a mesh, with the factors of its companion material table, if there is one.
///
/// # Errors
///
/// `check-corrupt` if the mesh or the table is damaged, or if the result would exceed the 4 GiB of a binary glTF.
pub fn glb(mesh: &[u8], materials: Option<&[u8]>) -> Result<Vec<u8>, Diag> {
    let corrupt = |error: kiln_format::Error| Diag::new(Code::CheckCorrupt, error.to_string());
    let mesh = hmesh::decoded(mesh).map_err(corrupt)?;
    let view = HmeshView::read(&mesh).map_err(corrupt)?;
    let table = materials.map(HmatView::read).transpose().map_err(corrupt)?;
    let mut doc = Document::default();
    let attributes = attributes(&mut doc, &view);
    let indices: Vec<u8> = view.indices().iter().flat_map(u32::to_le_bytes).collect();
    let index_view = doc.view(&indices, Some(ELEMENT_ARRAY_BUFFER));
    let mut primitives = Vec::new();
    for submesh in view.submeshes().iter() {
        let accessor = Json::object([
            ("bufferView", index_view.into()),
            ("byteOffset", (u64::from(submesh.first_index) * 4).into()),
            ("componentType", UNSIGNED_INT.into()),
            ("count", u64::from(submesh.index_count).into()),
            ("type", "SCALAR".into()),
        ]);
        let mut primitive = vec![
            ("attributes".to_owned(), Json::Object(attributes.clone())),
            ("indices".to_owned(), doc.accessor(accessor).into()),
        ];
        if submesh.material_slot != NO_MATERIAL {
            primitive.push(("material".to_owned(), u64::from(submesh.material_slot).into()));
        }
        primitives.push(Json::Object(primitive));
    }
    let slots = view.materials().len();
    let materials = (0..slots).map(|slot| match table.and_then(|table| table.materials().get(slot)) {
        Some(material) => material_json(slot, &material),
        None => Json::object([("name", format!("material_{slot}").into())]),
    });
    let materials: Vec<Json> = materials.collect();
    let joints: Vec<GpuJoint> = view.joints().iter().collect();
    let skin = (!joints.is_empty() && !view.skin().is_empty()).then(|| skin(&mut doc, &joints));
    let mut nodes = vec![node(skin.is_some())];
    nodes.extend(joint_nodes(&joints));
    let roots =
        (0..joints.len()).filter(|joint| parent(&joints, *joint).is_none()).map(|joint| joint as u64 + 1);
    let scene = Json::object([("nodes", Json::list(std::iter::once(0).chain(roots).collect::<Vec<u64>>()))]);
    let mut members = vec![
        ("asset", Json::object([("version", "2.0".into()), ("generator", "Kiln assetc".into())])),
        ("scene", 0u64.into()),
        ("scenes", Json::List(vec![scene])),
        ("nodes", Json::List(nodes)),
        ("meshes", Json::List(vec![Json::object([("primitives", Json::List(primitives))])])),
    ];
    if !materials.is_empty() {
        members.push(("materials", Json::List(materials)));
    }
    members.extend(skin.map(|skin| ("skins", Json::List(vec![skin]))));
    doc.finish(members)
}

/// The accessors, buffer views and the buffer of a document.
#[derive(Default)]
struct Document {
    accessors: Vec<Json>,
    views: Vec<Json>,
    data: Vec<u8>,
}

impl Document {
    fn view(&mut self, bytes: &[u8], target: Option<u64>) -> u64 {
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        let mut view = vec![
            ("buffer".to_owned(), 0u64.into()),
            ("byteOffset".to_owned(), self.data.len().into()),
            ("byteLength".to_owned(), bytes.len().into()),
        ];
        view.extend(target.map(|target| ("target".to_owned(), target.into())));
        self.data.extend_from_slice(bytes);
        self.views.push(Json::Object(view));
        self.views.len() as u64 - 1
    }

    fn accessor(&mut self, accessor: Json) -> u64 {
        self.accessors.push(accessor);
        self.accessors.len() as u64 - 1
    }

    /// Adds an accessor of a whole view of its own.
    fn array(
        &mut self,
        bytes: &[u8],
        component: u64,
        kind: &str,
        count: usize,
        bounds: Option<[Json; 2]>,
    ) -> u64 {
        let view = self.view(bytes, (kind != "MAT4").then_some(ARRAY_BUFFER));
        let mut accessor = vec![
            ("bufferView".to_owned(), view.into()),
            ("componentType".to_owned(), component.into()),
            ("count".to_owned(), count.into()),
            ("type".to_owned(), kind.into()),
        ];
        if let Some([min, max]) = bounds {
            accessor.extend([("min".to_owned(), min), ("max".to_owned(), max)]);
        }
        self.accessor(Json::Object(accessor))
    }

    /// Lays out the JSON chunk and the binary chunk.
    fn finish(mut self, mut members: Vec<(&str, Json)>) -> Result<Vec<u8>, Diag> {
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        members.push(("accessors", Json::List(self.accessors)));
        members.push(("bufferViews", Json::List(self.views)));
        members.push(("buffers", Json::List(vec![Json::object([("byteLength", self.data.len().into())])])));
        let json = Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
        kiln_format::glb::write(&json.to_string(), &self.data)
            .map_err(|_| Diag::new(Code::CheckCorrupt, "the mesh exceeds the 4 GiB of a binary glTF"))
    }
}

/// Writes the vertex attributes, which all primitives share.
fn attributes(doc: &mut Document, view: &HmeshView<'_>) -> Vec<(String, Json)> {
    let vertices = view.vertices();
    let count = vertices.len();
    let floats =
        |values: &mut dyn Iterator<Item = f32>| values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
    let mut attributes = Vec::new();
    let mut add = |name: &str, accessor: u64| attributes.push((name.to_owned(), Json::from(accessor)));
    let positions = floats(&mut vertices.iter().flat_map(|v| v.position));
    let bounds = view.bounds();
    let bounds = [bounds.aabb_min, bounds.aabb_max].map(numbers);
    add("POSITION", doc.array(&positions, FLOAT, "VEC3", count, Some(bounds)));
    let normals = floats(&mut vertices.iter().flat_map(|v| octahedral::decode(v.normal)));
    add("NORMAL", doc.array(&normals, FLOAT, "VEC3", count, None));
    if view.has_tangents() {
        let tangents = floats(&mut vertices.iter().flat_map(|v| octahedral::decode_tangent(v.tangent)));
        add("TANGENT", doc.array(&tangents, FLOAT, "VEC4", count, None));
    }
    let uvs = floats(&mut vertices.iter().flat_map(|v| v.uv));
    add("TEXCOORD_0", doc.array(&uvs, FLOAT, "VEC2", count, None));
    if !view.skin().is_empty() {
        let joints: Vec<u8> = view.skin().iter().flat_map(|v| v.joints).flat_map(u16::to_le_bytes).collect();
        add("JOINTS_0", doc.array(&joints, UNSIGNED_SHORT, "VEC4", count, None));
        let weights = floats(&mut view.skin().iter().flat_map(|v| v.weights));
        add("WEIGHTS_0", doc.array(&weights, FLOAT, "VEC4", count, None));
    }
    attributes
}

fn material_json(slot: usize, material: &GpuMaterial) -> Json {
    let mut members = vec![
        ("name".to_owned(), Json::from(format!("material_{slot}"))),
        (
            "pbrMetallicRoughness".to_owned(),
            Json::object([
                ("baseColorFactor", numbers(material.base_color_factor)),
                ("metallicFactor", number(material.metallic_factor)),
                ("roughnessFactor", number(material.roughness_factor)),
            ]),
        ),
        ("emissiveFactor".to_owned(), numbers(material.emissive_factor.map(|factor| factor.clamp(0.0, 1.0)))),
        ("doubleSided".to_owned(), material.double_sided().into()),
    ];
    match material.alpha_mode() {
        AlphaMode::Opaque => {}
        AlphaMode::Mask => {
            members.push(("alphaMode".to_owned(), "MASK".into()));
            members.push(("alphaCutoff".to_owned(), number(material.alpha_cutoff)));
        }
        AlphaMode::Blend => members.push(("alphaMode".to_owned(), "BLEND".into())),
    }
    Json::Object(members)
}

fn node(skinned: bool) -> Json {
    let mut members = vec![("mesh".to_owned(), 0u64.into())];
    if skinned {
        members.push(("skin".to_owned(), 0u64.into()));
    }
    Json::Object(members)
}

fn skin(doc: &mut Document, joints: &[GpuJoint]) -> Json {
    let matrices: Vec<u8> =
        joints.iter().flat_map(|joint| joint.inverse_bind).flat_map(f32::to_le_bytes).collect();
    let accessor = doc.array(&matrices, FLOAT, "MAT4", joints.len(), None);
    let nodes: Vec<u64> = (0..joints.len()).map(|joint| joint as u64 + 1).collect();
    Json::object([("inverseBindMatrices", accessor.into()), ("joints", Json::list(nodes))])
}

/// Returns the parent of a joint.
fn parent(joints: &[GpuJoint], joint: usize) -> Option<usize> {
    usize::try_from(joints[joint].parent).ok().filter(|parent| *parent < joints.len())
}

/// Returns one node for each joint in the bind pose; node 0 is the mesh.
fn joint_nodes(joints: &[GpuJoint]) -> Vec<Json> {
    let mut children = vec![Vec::new(); joints.len()];
    for joint in 0..joints.len() {
        if let Some(parent) = parent(joints, joint) {
            children[parent].push(joint as u64 + 1);
        }
    }
    let node = |(joint, children): (&GpuJoint, Vec<u64>)| {
        let mut members = vec![
            ("translation".to_owned(), numbers(joint.bind_t)),
            ("rotation".to_owned(), numbers(joint.bind_r)),
            ("scale".to_owned(), numbers(joint.bind_s)),
        ];
        if !children.is_empty() {
            members.push(("children".to_owned(), Json::list(children)));
        }
        Json::Object(members)
    };
    joints.iter().zip(children).map(node).collect()
}

fn number(value: f32) -> Json {
    Json::Float(value.into())
}

fn numbers<const N: usize>(values: [f32; N]) -> Json {
    Json::List(values.map(number).into())
}
