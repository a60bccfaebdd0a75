//! Models that Blender wrote as FBX and as glTF (`data/fbx/make.py`): both have to be the same.

use crate::{good, near};
use kiln_import::{Limits, MemoryFiles, RelPath, gltf, image};
use kiln_ir::{Animation, Matrix, Property, Scene, Slot, Transform, Trs, Valid};

fn both(fbx: &[u8], glb: &[u8]) -> (Valid<Scene>, Valid<Scene>) {
    let mut files = MemoryFiles::new();
    files.insert("m.glb", glb).unwrap();
    let theirs = gltf::import(&mut files, &RelPath::new("m.glb").unwrap()).unwrap();
    (good(fbx).value, theirs.value)
}

fn shapes() -> (Valid<Scene>, Valid<Scene>) {
    both(include_bytes!("../data/fbx/shapes.fbx"), include_bytes!("../data/fbx/shapes.glb"))
}

fn rig() -> (Valid<Scene>, Valid<Scene>) {
    both(include_bytes!("../data/fbx/rig.fbx"), include_bytes!("../data/fbx/rig.glb"))
}

/// The world-space measures of a primitive that do not depend on its triangulation.
#[derive(Debug)]
struct Measure {
    node: String,
    material: String,
    triangles: usize,
    area: f64,
    /// Six times the volume under it, as seen from the origin; turns with the triangles.
    volume: f64,
    /// Position, normal and texture coordinates of each corner, each once.
    corners: Vec<[f32; 8]>,
}

fn measures(scene: &Valid<Scene>) -> Vec<Measure> {
    let mut found = Vec::new();
    for draw in scene.draws() {
        for part in &scene.meshes[draw.mesh.0 as usize].primitives {
            let (world, normal_matrix) = (draw.world, draw.world.normal_matrix());
            let point = |index: u32| world.point(part.positions[index as usize]).map(f64::from);
            let (mut area, mut volume) = (0.0, 0.0);
            for triangle in part.indices.chunks_exact(3) {
                // A map that mirrors turns triangles round.
                let [a, mut b, mut c] = [0, 1, 2].map(|i| point(triangle[i]));
                if world.determinant() < 0.0 {
                    std::mem::swap(&mut b, &mut c);
                }
                let (u, v) = ([0, 1, 2].map(|i| b[i] - a[i]), [0, 1, 2].map(|i| c[i] - a[i]));
                let n = cross(u, v);
                area += n.iter().map(|v| v * v).sum::<f64>().sqrt() / 2.0;
                volume += (0..3).map(|i| n[i] * a[i]).sum::<f64>();
            }
            let corner = |&index: &u32| {
                let at = index as usize;
                let [x, y, z] = world.point(part.positions[at]);
                let normal = normal_matrix.vector(part.normals[at]);
                let length = normal.iter().map(|v| v * v).sum::<f32>().sqrt();
                let [nx, ny, nz] = normal.map(|v| v / length);
                let [u, v] = part.uv0.get(at).copied().unwrap_or_default();
                [x, y, z, nx, ny, nz, u, v]
            };
            let mut corners: Vec<[f32; 8]> = part.indices.iter().map(corner).collect();
            // By a grid, so that rounding does not tell apart what is one.
            let key = |corner: &[f32; 8]| corner.map(|v| (v * 1000.0 + 0.25).round() as i64);
            corners.sort_by_key(key);
            corners.dedup_by_key(|corner| key(corner));
            found.push(Measure {
                node: scene.nodes[draw.node.0 as usize].name.clone(),
                material: scene.materials[part.material.unwrap().0 as usize].name.clone(),
                triangles: part.triangles(),
                area,
                volume,
                corners,
            });
        }
    }
    found.sort_by(|a, b| (&a.node, &a.material).cmp(&(&b.node, &b.material)));
    found
}

fn cross(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

#[test]
fn geometry_matches_gltf() {
    let (ours, theirs) = shapes();
    let (ours, theirs) = (measures(&ours), measures(&theirs));
    let list = |all: &[Measure]| -> Vec<(String, String, usize, usize)> {
        all.iter().map(|m| (m.node.clone(), m.material.clone(), m.triangles, m.corners.len())).collect()
    };
    assert_eq!(list(&ours), list(&theirs));
    assert_eq!(ours.iter().map(|m| m.triangles).sum::<usize>(), 3 * 20);
    for (a, b) in ours.iter().zip(&theirs) {
        near(&[a.area as f32, a.volume as f32], &[b.area as f32, b.volume as f32], 1e-3);
        for (a, b) in a.corners.iter().zip(&b.corners) {
            near(a, b, 2e-3);
        }
    }
}

#[test]
fn node_hierarchies_match_gltf() {
    for (ours, theirs) in [shapes(), rig()] {
        // Blender hangs what has a skin below its skeleton in glTF, and nowhere in FBX.
        let is_bare = |scene: &Valid<Scene>, id: usize| scene.nodes[id].skin.is_none();
        let edges = |scene: &Valid<Scene>| {
            let name = |id: usize| scene.nodes[id].name.clone();
            let parents = scene.parents();
            let edge = |(id, parent): (usize, &Option<kiln_ir::NodeId>)| {
                (name(id), parent.map(|parent| name(parent.0 as usize)))
            };
            let mut edges: Vec<_> =
                parents.iter().enumerate().filter(|(id, _)| is_bare(scene, *id)).map(edge).collect();
            edges.sort();
            edges
        };
        assert_eq!(edges(&ours), edges(&theirs));
    }
}

#[test]
fn materials_and_images_match_gltf() {
    let (ours, theirs) = shapes();
    let named = |scene: &Valid<Scene>, name: &str| {
        scene.materials.iter().find(|material| material.name == name).cloned().unwrap()
    };
    for name in ["painted", "glass"] {
        let (a, b) = (named(&ours, name), named(&theirs, name));
        near(&a.base_color_factor, &b.base_color_factor, 1e-4);
        // Blender writes roughness as a shininess of whole percent.
        near(&[a.roughness_factor, a.metallic_factor], &[b.roughness_factor, b.metallic_factor], 1e-2);
        assert_eq!(
            (a.alpha_mode, a.texture(Slot::BaseColor).is_some()),
            (b.alpha_mode, b.texture(Slot::BaseColor).is_some())
        );
    }
    let texels = |scene: &Valid<Scene>| {
        let image = named(scene, "painted").texture(Slot::BaseColor).unwrap();
        let source = &scene.images[image.0 as usize];
        image::import(&source.bytes, &source.extension, &Limits::default()).unwrap().value
    };
    assert_eq!(texels(&ours), texels(&theirs));
}

/// A scene as a clip has it at a time.
fn posed(scene: &Valid<Scene>, clip: &Animation, time: f32) -> Valid<Scene> {
    let mut posed: Scene = Scene::clone(scene);
    for channel in &clip.channels {
        let last = channel.times.len() - 1;
        let next = channel.times.iter().position(|t| *t >= time).unwrap_or(last);
        let before = if channel.times[next] > time { next.saturating_sub(1) } else { next };
        let (a, b) = (channel.times[before], channel.times[next]);
        let part = if b > a { ((time - a) / (b - a)).clamp(0.0, 1.0) } else { 0.0 };
        let (from, to) = (channel.value(before), channel.value(next));
        let sign = if from.iter().zip(to).map(|(a, b)| a * b).sum::<f32>() < 0.0 { -1.0 } else { 1.0 };
        let sign = if channel.property == Property::Rotation { sign } else { 1.0 };
        let mixed: Vec<f32> = from.iter().zip(to).map(|(a, b)| a * (1.0 - part) + sign * b * part).collect();
        let node = &mut posed.nodes[channel.node.0 as usize];
        let mut trs: Trs = node.transform.trs();
        match channel.property {
            Property::Translation => trs.translation.copy_from_slice(&mixed),
            Property::Scale => trs.scale.copy_from_slice(&mixed),
            Property::Rotation => {
                let length = mixed.iter().map(|v| v * v).sum::<f32>().sqrt();
                trs.rotation.copy_from_slice(&mixed.iter().map(|v| v / length).collect::<Vec<_>>());
            }
        }
        node.transform = Transform::Trs(trs);
    }
    posed.validate().unwrap()
}

/// Returns the skinned positions of the only mesh, sorted.
fn skinned(scene: &Valid<Scene>) -> Vec<[f32; 3]> {
    let worlds = scene.worlds();
    let node = scene.nodes.iter().find(|node| node.mesh.is_some()).unwrap();
    let skin = &scene.skins[node.skin.unwrap().0 as usize];
    let bind = |joint: usize| {
        worlds[skin.joints[joint].0 as usize] * Matrix::from_columns(&skin.inverse_bind[joint])
    };
    let joints: Vec<Matrix> = (0..skin.joints.len()).map(bind).collect();
    let mut found = Vec::new();
    for part in &scene.meshes[node.mesh.unwrap().0 as usize].primitives {
        for (vertex, &position) in part.positions.iter().enumerate() {
            let mut at = [0.0; 3];
            for (joint, weight) in part.joints[vertex].into_iter().zip(part.weights[vertex]) {
                let moved = joints[usize::from(joint)].point(position);
                at = [0, 1, 2].map(|i| at[i] + moved[i] * weight);
            }
            found.push(at);
        }
    }
    let key = |at: &[f32; 3]| at.map(|v| (v * 1000.0 + 0.25).round() as i64);
    found.sort_by_key(key);
    found.dedup_by_key(|at| key(at));
    found
}

#[test]
fn animated_skins_match_gltf() {
    let (ours, theirs) = rig();
    let clips = [&ours, &theirs].map(|scene| {
        assert_eq!(scene.animations.len(), 1);
        &scene.animations[0]
    });
    let end =
        |clip: &Animation| clip.channels.iter().flat_map(|c| c.times.last().copied()).fold(0.0, f32::max);
    // Its clips begin with the first frame in glTF, and at zero here.
    const FRAME: f32 = 1.0 / 24.0;
    near(&[end(clips[0]), end(clips[1])], &[1.0, 1.0 + FRAME], 1e-4);
    let rest = skinned(&ours);
    let mut farthest = 0f32;
    for frame in 0..=24 {
        let time = frame as f32 / 24.0;
        let a = skinned(&posed(&ours, clips[0], time));
        let b = skinned(&posed(&theirs, clips[1], time + FRAME));
        assert_eq!((a.len(), b.len()), (20, 20), "at {time}");
        for at in &a {
            let apart = |other: &[f32; 3]| (0..3).map(|i| (at[i] - other[i]).powi(2)).sum::<f32>().sqrt();
            let nearest = b.iter().map(apart).fold(f32::MAX, f32::min);
            assert!(nearest < 1e-3, "at {time}, {at:?} is {nearest} away");
            farthest = rest.iter().map(apart).fold(f32::MAX, f32::min).max(farthest);
        }
    }
    assert!(farthest > 0.3, "it moves: {farthest}");
}
