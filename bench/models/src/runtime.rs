//! A compiled model: its triangles in the scene's space, in the pose of its skeleton, and its materials.

use glam::{DMat3, DMat4, DQuat, DVec2, DVec3};
use kiln_format::hmat::HmatView;
use kiln_format::hmesh::{GpuJoint, GpuVertex, HmeshView};

use crate::{Corner, Factors, Model, Triangle};

/// Reads a mesh and its materials.
pub fn read(mesh: &[u8], materials: Option<&[u8]>) -> Result<Model, String> {
    let view = HmeshView::read(mesh).map_err(|e| e.to_string())?;
    view.verify().map_err(|e| e.to_string())?;
    let vertices: Vec<GpuVertex> = view.vertices().iter().collect();
    let joints: Vec<GpuJoint> = view.joints().iter().collect();
    let poses: Vec<DMat4> = (0..joints.len()).map(|joint| pose(&joints, joint)).collect::<Result<_, _>>()?;
    let skin: Vec<_> = view.skin().iter().collect();
    let corner = |index: u32| {
        let vertex = &vertices[index as usize];
        let matrix = match skin.get(index as usize) {
            Some(s) => s.joints.iter().zip(s.weights).fold(DMat4::ZERO, |sum, (&joint, weight)| {
                sum + poses[usize::from(joint)] * f64::from(weight)
            }),
            None => DMat4::IDENTITY,
        };
        let linear = DMat3::from_mat4(matrix);
        let handed = if vertex.tangent[0] & 1 == 0 { 1.0 } else { -1.0 } * linear.determinant().signum();
        let tangent = (linear * decode(vertex.tangent)).normalize_or_zero();
        Corner {
            position: matrix.transform_point3(DVec3::from_array(vertex.position.map(f64::from))),
            normal: (linear.inverse().transpose() * decode(vertex.normal)).try_normalize(),
            uv: DVec2::from_array(vertex.uv.map(f64::from)),
            tangent: view.has_tangents().then_some((tangent, handed)),
        }
    };
    let references: Vec<u64> = view.materials().iter().collect();
    let mut model = Model::default();
    for (number, submesh) in view.submeshes().iter().enumerate() {
        let indices: Vec<u32> = view.submesh_indices(&submesh).iter().collect();
        let mut stored: Vec<[u32; 3]> = indices.chunks_exact(3).map(|t| turned([t[0], t[1], t[2]])).collect();
        let mut clustered: Vec<[u32; 3]> = Vec::new();
        for meshlet in view.submesh_meshlets(&submesh).iter() {
            let (own, triangles) = view.meshlet(&meshlet);
            let own: Vec<u32> = own.iter().collect();
            clustered.extend(triangles.iter().map(|t| turned(t.map(|i| own[usize::from(i)]))));
        }
        stored.sort_unstable();
        clustered.sort_unstable();
        if stored != clustered {
            return Err(format!("the meshlets of submesh {number} do not hold its triangles"));
        }
        let material = references.get(submesh.material_slot as usize).copied();
        let triangles =
            indices.chunks_exact(3).map(|t| Triangle { corners: [t[0], t[1], t[2]].map(corner), material });
        model.triangles.extend(triangles);
    }
    let rows: Vec<_> = match materials {
        Some(bytes) => HmatView::read(bytes).map_err(|e| e.to_string())?.materials().iter().collect(),
        None => Vec::new(),
    };
    if rows.len() != references.len() {
        return Err(format!("{} materials in the mesh and {} rows", references.len(), rows.len()));
    }
    model.materials = rows
        .iter()
        .zip(references)
        .map(|(row, reference)| Factors {
            reference,
            base_color: row.base_color_factor,
            emissive: row.emissive_factor,
            rest: [
                row.metallic_factor,
                row.roughness_factor,
                row.normal_scale,
                row.occlusion_strength,
                row.alpha_cutoff,
            ],
            alpha_mode: row.alpha_mode() as u8,
            double_sided: row.double_sided(),
            textures: row.textures().map(|texture| texture != 0),
        })
        .collect();
    Ok(model)
}

/// The triangle, starting with its lowest vertex.
fn turned([a, b, c]: [u32; 3]) -> [u32; 3] {
    [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap_or_default()
}

/// From the space of vertices to that of the scene.
fn pose(joints: &[GpuJoint], joint: usize) -> Result<DMat4, String> {
    let mut world = DMat4::IDENTITY;
    let (mut at, mut steps) = (joint as i32, 0);
    while at >= 0 {
        let j = &joints[at as usize];
        let vector = |v: [f32; 3]| DVec3::from_array(v.map(f64::from));
        let turn = DQuat::from_array(j.bind_r.map(f64::from));
        world = DMat4::from_scale_rotation_translation(vector(j.bind_s), turn, vector(j.bind_t)) * world;
        (at, steps) = (j.parent, steps + 1);
        if steps > joints.len() {
            return Err("a joint is its own ancestor".to_owned());
        }
    }
    Ok(world * DMat4::from_cols_array(&joints[joint].inverse_bind.map(f64::from)))
}

/// The direction of an octahedral pair.
fn decode(pair: [i16; 2]) -> DVec3 {
    let [x, y] = pair.map(|v| f64::from(v) / 32767.0);
    let z = 1.0 - x.abs() - y.abs();
    let fold = (-z).max(0.0);
    let shrink = |v: f64| if v >= 0.0 { v - fold } else { v + fold };
    DVec3::new(shrink(x), shrink(y), z).normalize()
}
