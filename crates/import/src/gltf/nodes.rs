//! Nodes, the choice of a scene, instances and skins (glTF 2.0, 3.5 and 3.7.3; `EXT_mesh_gpu_instancing`).

use std::collections::BTreeSet;

use kiln_engine::{Code, Diag};
use kiln_ir::transform::normalize;
use kiln_ir::{Matrix, MeshId, Node, NodeId, Skin, SkinId, Transform, Trs};

use super::Pick;
use super::accessor::Accessor;
use super::at::At;
use super::buffers::Buffers;
use super::document::Document;

/// How far from one the length of a quaternion may be before it is made one.
const UNIT_SLACK: f64 = 1e-5;

/// How far from 0 0 0 1 the last row of a matrix may be, because its exporter multiplied.
const LAST_ROW_SLACK: f32 = 1e-3;

/// Reads the nodes of a document.
pub(super) fn read<'a>(document: &Document<'a>, buffers: &Buffers<'a>) -> Result<Vec<Node>, Diag> {
    document.nodes.iter().map(|at| node(at, document, buffers)).collect()
}

fn node<'a>(at: At<'a>, document: &Document<'a>, buffers: &Buffers<'a>) -> Result<Node, Diag> {
    let transform = match at.get("matrix") {
        Some(matrix) => {
            let mut values = matrix.floats::<16>()?;
            for (index, wanted) in [(3, 0.0), (7, 0.0), (11, 0.0), (15, 1.0)] {
                if (values[index] - wanted).abs() > LAST_ROW_SLACK {
                    return Err(matrix.bad("its last row is not 0 0 0 1"));
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
        children.push(NodeId(child.refer(document.nodes, "node")?.0));
    }
    let mesh = at.get("mesh").map(|mesh| mesh.refer(document.meshes, "mesh")).transpose()?;
    let skin = at.get("skin").map(|skin| skin.refer(document.skins, "skin")).transpose()?;
    let instances = match at.extension("EXT_mesh_gpu_instancing") {
        Some(extension) => instances(extension.need("attributes")?, document, buffers)?,
        None => Vec::new(),
    };
    Ok(Node {
        name: at.text_of("name")?.to_owned(),
        transform,
        children,
        mesh: mesh.map(|(id, _)| MeshId(id)),
        skin: skin.map(|(id, _)| SkinId(id)),
        instances,
    })
}

/// A quaternion of unit length; one that nearly is stays as it is.
fn unit(rotation: [f32; 4]) -> [f32; 4] {
    let wide = rotation.map(f64::from);
    let square: f64 = wide.iter().map(|v| v * v).sum();
    if (square - 1.0).abs() <= UNIT_SLACK { rotation } else { normalize(wide).map(|v| v as f32) }
}

fn instances<'a>(
    attributes: At<'a>,
    document: &Document<'a>,
    buffers: &Buffers<'a>,
) -> Result<Vec<Trs>, Diag> {
    fn column<'a, const N: usize>(
        attributes: At<'a>,
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
        return Err(attributes
            .fault(Code::GltfAccessor, format_args!("the attributes have {count} and {other} elements")));
    }
    let instance = |index: usize| Trs {
        translation: translations.as_ref().map_or([0.0; 3], |list| list[index]),
        rotation: rotations.as_ref().map_or(Trs::IDENTITY.rotation, |list| unit(list[index])),
        scale: scales.as_ref().map_or([1.0; 3], |list| list[index]),
    };
    buffers.spend(count.saturating_mul(size_of::<Trs>()), attributes)?;
    Ok((0..count).map(instance).collect())
}

/// The nodes that a scene draws: those of the scene that is asked for, or of the default scene, or of the first, or,
/// in a document without scenes, all that have no parent. With them the number of the scene.
pub(super) fn roots(
    document: &Document<'_>,
    nodes: &[Node],
    wanted: Pick<'_>,
) -> Result<(Vec<NodeId>, Option<usize>), Diag> {
    let index = match (wanted, document.root.get("scene")) {
        (Pick::Number(wanted), _) => wanted as usize,
        (Pick::Named(name), _) => named(document, name)?,
        (Pick::Default, Some(default)) => default.refer(document.scenes, "scene")?.0 as usize,
        (Pick::Default, None) => 0,
    };
    let Some(scene) = document.scenes.get(index) else {
        if wanted != Pick::Default {
            let message = format!("there is no scene {index}: there are {}", document.scenes.len());
            return Err(document.root.fault(Code::GltfReference, message));
        }
        let children: BTreeSet<NodeId> =
            nodes.iter().flat_map(|node| node.children.iter().copied()).collect();
        let ids = (0..nodes.len() as u32).map(NodeId);
        return Ok((ids.filter(|id| !children.contains(id)).collect(), None));
    };
    let mut roots = Vec::new();
    for root in scene.list("nodes")?.iter() {
        roots.push(NodeId(root.refer(document.nodes, "node")?.0));
    }
    Ok((roots, Some(index)))
}

/// The number of the scene with this name.
fn named(document: &Document<'_>, name: &str) -> Result<usize, Diag> {
    let mut names = Vec::new();
    for (index, scene) in document.scenes.iter().enumerate() {
        let own = scene.text_of("name")?;
        if own == name {
            return Ok(index);
        }
        names.push(format!("{own:?}"));
    }
    let message = format!("there is no scene {name:?}: there are {}", names.join(", "));
    Err(document.root.fault(Code::GltfReference, message))
}

/// Whether each node is one of these or below one; also for nodes that go round in circles.
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
pub(super) fn skins<'a>(document: &Document<'a>, buffers: &Buffers<'a>) -> Result<Vec<Skin>, Diag> {
    document.skins.iter().map(|at| skin(at, document, buffers)).collect()
}

fn skin<'a>(at: At<'a>, document: &Document<'a>, buffers: &Buffers<'a>) -> Result<Skin, Diag> {
    let mut joints = Vec::new();
    for joint in at.list("joints")?.iter() {
        joints.push(NodeId(joint.refer(document.nodes, "node")?.0));
    }
    let inverse_bind = match at.get("inverseBindMatrices") {
        Some(reference) => {
            let accessor = Accessor::new(reference, document.accessors, buffers)?;
            if accessor.count() < joints.len() {
                let message =
                    format!("{} matrices are too few for {} joints", accessor.count(), joints.len());
                return Err(reference.fault(Code::GltfAccessor, message));
            }
            let first: Vec<u32> = (0..joints.len() as u32).collect();
            accessor.floats::<16>(Some(&first))?
        }
        None => vec![Matrix::IDENTITY.to_columns(); joints.len()],
    };
    Ok(Skin { name: at.text_of("name")?.to_owned(), joints, inverse_bind })
}
