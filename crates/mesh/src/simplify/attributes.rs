//! Vertex attributes as numbers that simplification weighs against distances.

use super::LodSource;
use crate::Triangles;
use crate::skin::Influences;
use crate::vector::{Vec3, cross, length, sub};

/// A change of the normal by 1/weight counts as much as moving the surface by the same distance.
pub(super) const NORMAL_WEIGHT: f32 = 0.5;
/// The weight of sliding the texture by a length against moving the surface by it.
const UV_WEIGHT: f32 = 0.5;
/// A change of all joint weights counts as much as moving the surface by the same distance.
pub(super) const SKIN_WEIGHT: f32 = 1.0;

/// The interleaved attributes of all vertices, and their weights.
pub(crate) struct Attributes {
    /// `weights.len()` floats per vertex.
    pub(crate) values: Vec<f32>,
    pub(crate) weights: Vec<f32>,
}

impl Attributes {
    /// Gathers the attributes of `vertices`.
    pub(crate) fn gather(
        surface: &LodSource<'_>,
        vertices: impl ExactSizeIterator<Item = usize>,
        uv_weight: f32,
    ) -> Self {
        let LodSource { normals, uvs, skin, .. } = *surface;
        let mut weights = Vec::new();
        weights.extend(normals.iter().flat_map(|_| [NORMAL_WEIGHT; 3]));
        weights.extend(uvs.iter().flat_map(|_| [uv_weight; 2]));
        weights.extend(skin.iter().flat_map(|_| [SKIN_WEIGHT; SKIN_VALUES]));
        let mut values = Vec::with_capacity(vertices.len() * weights.len());
        for vertex in vertices {
            values.extend(normals.iter().flat_map(|normals| normals[vertex]));
            values.extend(uvs.iter().flat_map(|uvs| uvs[vertex]));
            values.extend(skin.iter().flat_map(|skin| project_weights(&skin[vertex])));
        }
        Self { values, weights }
    }
}

/// Returns the weight of UVs. UVs have no natural length: measured by how much of the texture the surface
/// covers, a slide of the texture becomes a distance on the surface.
pub(crate) fn uv_weight(triangles: Triangles<'_>, positions: &[Vec3], uvs: &[[f32; 2]], extent: f32) -> f32 {
    let (mut surface, mut texture) = (0.0f64, 0.0f64);
    for corners in triangles.iter() {
        let [a, b, c] = corners.map(|corner| positions[corner as usize]);
        surface += f64::from(length(cross(sub(b, a), sub(c, a))));
        let [a, b, c] = corners.map(|corner| uvs[corner as usize]);
        texture += f64::from(((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])).abs());
    }
    let extent = f64::from(extent);
    let weight = f64::from(UV_WEIGHT) * (surface / (extent * extent) / texture).sqrt();
    // No area in the texture: no slide to measure.
    if weight.is_finite() { weight.min(1e3) as f32 } else { 0.0 }
}

/// The number of values per vertex that represent its joint weights.
const SKIN_VALUES: usize = 4;

/// Projects the weights of all joints to a few dimensions: each joint has a direction of its own, so vertices
/// with the same bone influences get the same numbers, and others get numbers about as far apart as their
/// weights. (Slot by slot they cannot be compared: each vertex lists its joints in its own order.)
pub(super) fn project_weights(skin: &Influences) -> [f32; SKIN_VALUES] {
    let mut sum = [0.0; SKIN_VALUES];
    for (&joint, &weight) in skin.joints.iter().zip(&skin.weights) {
        let scrambled = (u32::from(joint) + 1).wrapping_mul(0x9e37_79b1);
        let scrambled = (scrambled ^ scrambled >> 15).wrapping_mul(0x85eb_ca77);
        for (value, byte) in sum.iter_mut().zip((scrambled ^ scrambled >> 13).to_le_bytes()) {
            *value += weight * (f32::from(byte) / 127.5 - 1.0);
        }
    }
    sum
}
