//! Nodes, scene selection, instances and skins (glTF 2.0, 3.5 and 3.7.3; `EXT_mesh_gpu_instancing`).

use std::collections::BTreeSet;

use kiln_diagnostics::{Code, Diag};
use kiln_ir::transform::normalize;
use kiln_ir::{CameraId, LightId, Matrix, MeshId, Node, NodeId, Skin, SkinId, Transform, Trs};

use super::accessor::Accessor;
use super::buffers::Buffers;
use super::document::Document;
use super::value::Value;
use super::{Options, SceneSelection};

/// The deviation of a quaternion's squared length from one beyond which it is normalized.
const UNIT_TOLERANCE: f64 = 1e-5;

/// The tolerance of the last row of a matrix, 0 0 0 1: exporters multiply matrices.
const LAST_ROW_TOLERANCE: f32 = 1e-3;

/// Reads the nodes of a document.
pub(super) fn read<'a>(
    document: &Document<'a>,
    buffers: &Buffers<'a>,
    options: &Options<'_>,
) -> Result<Vec<Node>, Diag> {
    document.nodes.iter().map(|at| node(at, document, buffers, options)).collect()
}

fn node<'a>(
    at: Value<'a>,
    document: &Document<'a>,
    buffers: &Buffers<'a>,
    options: &Options<'_>,
) -> Result<Node, Diag> {
    let transform = match at.get("matrix") {
        Some(matrix) => {
            let mut values = matrix.floats::<16>()?;
            for (index, wanted) in [(3, 0.0), (7, 0.0), (11, 0.0), (15, 1.0)] {
                if (values[index] - wanted).abs() > LAST_ROW_TOLERANCE {
                    return Err(matrix.invalid("the last row of the matrix is not 0 0 0 1"));
                }
                values[index] = wanted;
            }
            Transform::Matrix(Matrix::from_columns(&values))
        }
        None => Transform::Trs(Trs {
            translation: at.floats_or("translation", [0.0; 3])?,
            rotation: unit(at.floats_or("rotation", Trs::IDENTITY.rotation)?),
            scale: at.floats_or("scale", [1.0; 3])?,
        }),
    };
    let mut children = Vec::new();
    for child in at.list("children")?.iter() {
        children.push(NodeId(child.resolve(document.nodes, "node")?.0));
    }
    let mesh = at.get("mesh").map(|mesh| mesh.resolve(document.meshes, "mesh")).transpose()?;
    let skin = at.get("skin").map(|skin| skin.resolve(document.skins, "skin")).transpose()?;
    let instances = match at.extension("EXT_mesh_gpu_instancing") {
        Some(extension) => instances(extension.required("attributes")?, document, buffers)?,
        None => Vec::new(),
    };
    let scene_data = Some(at).filter(|_| options.scene_data);
    let camera = scene_data.and_then(|at| at.get("camera"));
    let camera = camera.map(|camera| camera.resolve(document.cameras, "camera")).transpose()?;
    let punctual = scene_data.and_then(|at| at.extension("KHR_lights_punctual"));
    let punctual = punctual
        .map(|extension| extension.required("light")?.resolve(document.lights, "light"))
        .transpose()?;
    let mut morph_weights = Vec::new();
    if options.morph_targets && mesh.is_some() {
        for weight in at.list("weights")?.iter() {
            morph_weights.push(weight.float()?);
        }
    }
    Ok(Node {
        name: at.string_or_empty("name")?.to_owned(),
        camera: camera.map(|(id, _)| CameraId(id)),
        light: punctual.map(|(id, _)| LightId(id)),
        morph_weights,
        extras: scene_data.map(Value::extras).unwrap_or_default(),
        transform,
        children,
        mesh: mesh.map(|(id, _)| MeshId(id)),
        skin: skin.map(|(id, _)| SkinId(id)),
        instances,
    })
}

/// Normalizes a quaternion, unless it has unit length within the tolerance.
fn unit(rotation: [f32; 4]) -> [f32; 4] {
    let wide = rotation.map(f64::from);
    let square: f64 = wide.iter().map(|v| v * v).sum();
    if (square - 1.0).abs() <= UNIT_TOLERANCE { rotation } else { normalize(wide).map(|v| v as f32) }
}

fn instances<'a>(
    attributes: Value<'a>,
    document: &Document<'a>,
    buffers: &Buffers<'a>,
) -> Result<Vec<Trs>, Diag> {
    fn column<'a, const N: usize>(
        attributes: Value<'a>,
        name: &str,
        document: &Document<'a>,
        buffers: &Buffers<'a>,
    ) -> Result<Option<Vec<[f32; N]>>, Diag> {
        let Some(reference) = attributes.get(name) else { return Ok(None) };
        Accessor::new(reference, document.accessors, buffers)?.floats(None).map(Some)
    }
    let translations = column::<3>(attributes, "TRANSLATION", document, buffers)?;
    let rotations = column::<4>(attributes, "ROTATION", document, buffers)?;
    let scales = column::<3>(attributes, "SCALE", document, buffers)?;
    let counts = [
        translations.as_ref().map(Vec::len),
        rotations.as_ref().map(Vec::len),
        scales.as_ref().map(Vec::len),
    ];
    let mut counts = counts.into_iter().flatten();
    let count = counts.next().unwrap_or(0);
    if let Some(other) = counts.find(|&other| other != count) {
        return Err(attributes.error(
            Code::GltfAccessor,
            format_args!("the instance attributes have different numbers of elements: {count} and {other}"),
        ));
    }
    let instance = |index: usize| Trs {
        translation: translations.as_ref().map_or([0.0; 3], |list| list[index]),
        rotation: rotations.as_ref().map_or(Trs::IDENTITY.rotation, |list| unit(list[index])),
        scale: scales.as_ref().map_or([1.0; 3], |list| list[index]),
    };
    buffers.charge(count.saturating_mul(size_of::<Trs>()), attributes)?;
    Ok((0..count).map(instance).collect())
}

/// Returns the root nodes and the index of a scene: the selected one, the default one, or the first. In a document
/// without scenes, the roots are all nodes without a parent.
pub(super) fn roots(
    document: &Document<'_>,
    nodes: &[Node],
    wanted: SceneSelection<'_>,
) -> Result<(Vec<NodeId>, Option<usize>), Diag> {
    let index = match (wanted, document.root.get("scene")) {
        (SceneSelection::Index(wanted), _) => wanted as usize,
        (SceneSelection::Name(name), _) => scene_by_name(document, name)?,
        (SceneSelection::Default, Some(default)) => default.resolve(document.scenes, "scene")?.0 as usize,
        (SceneSelection::Default, None) => 0,
    };
    let Some(scene) = document.scenes.get(index) else {
        if wanted != SceneSelection::Default {
            let message = format!(
                "scene index {index} is out of range: the document has {}",
                crate::counted(document.scenes.len(), "scene", "scenes")
            );
            return Err(document.root.error(Code::GltfReference, message));
        }
        let children: BTreeSet<NodeId> =
            nodes.iter().flat_map(|node| node.children.iter().copied()).collect();
        let ids = (0..nodes.len() as u32).map(NodeId);
        return Ok((ids.filter(|id| !children.contains(id)).collect(), None));
    };
    let mut roots = Vec::new();
    for root in scene.list("nodes")?.iter() {
        roots.push(NodeId(root.resolve(document.nodes, "node")?.0));
    }
    Ok((roots, Some(index)))
}

/// Returns the index of the scene with this name.
fn scene_by_name(document: &Document<'_>, name: &str) -> Result<usize, Diag> {
    let mut names = Vec::new();
    for (index, scene) in document.scenes.iter().enumerate() {
        let own = scene.string_or_empty("name")?;
        if own == name {
            return Ok(index);
        }
        names.push(format!("{own:?}"));
    }
    let message = format!("there is no scene named {name:?}; the document has {}", names.join(", "));
    Err(document.root.error(Code::GltfReference, message))
}

/// Marks these nodes and their descendants; terminates for cyclic graphs too.
pub(super) fn reachable(nodes: &[Node], roots: &[NodeId]) -> Vec<bool> {
    let mut reached = vec![false; nodes.len()];
    let mut waiting = roots.to_vec();
    while let Some(id) = waiting.pop() {
        if !std::mem::replace(&mut reached[id.0 as usize], true) {
            waiting.extend(&nodes[id.0 as usize].children);
        }
    }
    reached
}

/// Reads the skins of a document.
pub(super) fn skins<'a>(
    document: &Document<'a>,
    buffers: &Buffers<'a>,
    options: &Options<'_>,
) -> Result<Vec<Skin>, Diag> {
    let with_extras = |at: Value<'a>| {
        let extras = if options.scene_data { at.extras() } else { String::new() };
        Ok(Skin { extras, ..skin(at, document, buffers)? })
    };
    document.skins.iter().map(with_extras).collect()
}

fn skin<'a>(at: Value<'a>, document: &Document<'a>, buffers: &Buffers<'a>) -> Result<Skin, Diag> {
    let mut joints = Vec::new();
    for joint in at.list("joints")?.iter() {
        joints.push(NodeId(joint.resolve(document.nodes, "node")?.0));
    }
    let inverse_bind = match at.get("inverseBindMatrices") {
        Some(reference) => {
            let accessor = Accessor::new(reference, document.accessors, buffers)?;
            if accessor.count() < joints.len() {
                let message = format!(
                    "the skin has {} inverse bind matrices for {} joints",
                    accessor.count(),
                    joints.len()
                );
                return Err(reference.error(Code::GltfAccessor, message));
            }
            let first: Vec<u32> = (0..joints.len() as u32).collect();
            accessor.floats::<16>(Some(&first))?
        }
        None => vec![Matrix::IDENTITY.to_columns(); joints.len()],
    };
    Ok(Skin { name: at.string_or_empty("name")?.to_owned(), joints, inverse_bind, ..Skin::default() })
}
