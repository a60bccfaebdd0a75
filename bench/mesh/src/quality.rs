//! Meshlets and levels of detail beside those of meshoptimizer's standard builders, on the same ordered mesh.

use crate::distance::Surface;
use kiln_mesh::{MeshOutput, octahedral};
use meshopt::{SimplifyOptions, SimplifyVertex, VertexDataAdapter};
use rayon::prelude::*;

/// Quality of meshlets: fewer, smaller, and facing one way so that more can be skipped.
#[derive(Default)]
pub struct Clusters {
    count: usize,
    radius: f64,
    square: f64,
    cutoff: f64,
    cullable: usize,
}

impl Clusters {
    fn add(&mut self, radius: f32, cutoff: f32) {
        self.count += 1;
        self.radius += f64::from(radius);
        self.square += f64::from(radius).powi(2);
        self.cutoff += f64::from(cutoff);
        self.cullable += usize::from(cutoff < 1.0);
    }

    pub fn row(&self, name: &str) {
        let n = self.count as f64;
        println!(
            "| {name:28} | {:6} | {:.6} | {:.5} | {:.4} | {:.1} % |",
            self.count,
            self.radius / n,
            self.square,
            self.cutoff / n,
            self.cullable as f64 / n * 100.0
        );
    }
}

/// Ours and the standard builder's clusters of all parts of a model.
pub fn clusters(outputs: &[MeshOutput]) -> (Clusters, Clusters) {
    let (mut ours, mut theirs) = (Clusters::default(), Clusters::default());
    for output in outputs {
        output.meshlets.bounds.iter().for_each(|b| ours.add(b.radius, b.cone_cutoff));
        let positions = positions(output);
        let vertices = adapter(&positions);
        for meshlet in meshopt::build_meshlets(&output.indices, &vertices, 64, 124, 0.25).iter() {
            let bounds = meshopt::compute_meshlet_bounds(meshlet, &vertices);
            theirs.add(bounds.radius, bounds.cone_cutoff);
        }
    }
    (ours, theirs)
}

/// The distance of a LOD from the full mesh, measured from the vertices of the full mesh.
#[derive(Clone, Copy, Default)]
pub struct Apart {
    pub triangles: usize,
    /// As part of the diagonal of the full mesh: the mean and the largest distance.
    mean: f64,
    max: f64,
    /// Degrees between the normals, on average.
    turned: f64,
}

impl Apart {
    pub fn row(&self, name: &str) {
        println!(
            "| {name:40} | {:7} | {:.3e} | {:.3e} | {:.3} |",
            self.triangles, self.mean, self.max, self.turned
        );
    }
}

/// The standard simplifier, position-only, on every primitive: the least memory that levels take with it.
pub fn simplify_alone(scene: &kiln_ir::Scene) {
    for p in scene.meshes.iter().flat_map(|mesh| &mesh.primitives) {
        let vertices = adapter(&p.positions);
        meshopt::simplify(&p.indices, &vertices, p.indices.len() / 6 * 3, 0.05, SimplifyOptions::None, None);
    }
}

/// A level beside the standard builders' at the same number of triangles.
pub struct Level {
    pub ours: Apart,
    /// By position alone.
    pub plain: Apart,
    /// With normals, at the weight that gltfpack gives them.
    pub weighed: Apart,
}

/// Each level of the largest part. The standard builders start from the full mesh each time.
pub fn levels(outputs: &[MeshOutput]) -> Vec<Level> {
    let Some(output) = outputs.iter().max_by_key(|output| output.indices.len()) else { return Vec::new() };
    let positions = positions(output);
    let vertices = adapter(&positions);
    let normals: Vec<[f32; 3]> = output.vertices.iter().map(|v| octahedral::decode(v.normal)).collect();
    let free = vec![SimplifyVertex::None; positions.len()];
    let level = |indices: &[u32]| {
        let (full, target, options) = (&output.indices, indices.len(), SimplifyOptions::None);
        let plain = meshopt::simplify(full, &vertices, target, 1.0, options, None);
        let weighed = meshopt::simplify_with_attributes_and_locks(
            full,
            &vertices,
            normals.as_flattened(),
            &[0.5; 3],
            12,
            &free,
            target,
            1.0,
            options,
            None,
        );
        let [ours, plain, weighed] =
            [indices, &plain, &weighed].map(|level| apart(output, &positions, level));
        Level { ours, plain, weighed }
    };
    output.lods.iter().filter(|lod| !lod.indices.is_empty()).map(|lod| level(&lod.indices)).collect()
}

fn apart(output: &MeshOutput, positions: &[[f32; 3]], indices: &[u32]) -> Apart {
    let surface = Surface::new(positions, indices);
    let diagonal: f64 =
        (0..3).map(|a| f64::from(output.bounds.max[a] - output.bounds.min[a]).powi(2)).sum::<f64>().sqrt();
    // Every vertex of a small mesh, an even selection of a large one.
    let step = (output.vertices.len() / 100_000).max(1);
    let picks: Vec<usize> = (0..output.vertices.len()).step_by(step).collect();
    let found: Vec<(f64, f64)> = picks
        .par_iter()
        .filter_map(|&vertex| {
            let hit = surface.nearest(positions[vertex])?;
            let corners = hit.triangle.map(|v| octahedral::decode(output.vertices[v as usize].normal));
            let there: [f64; 3] =
                std::array::from_fn(|i| (0..3).map(|c| f64::from(corners[c][i]) * hit.weights[c]).sum());
            let here = octahedral::decode(output.vertices[vertex].normal).map(f64::from);
            let length = there.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-9);
            let cosine = (0..3).map(|i| here[i] * there[i]).sum::<f64>() / length;
            Some((hit.square.sqrt() / diagonal, cosine.clamp(-1.0, 1.0).acos().to_degrees()))
        })
        .collect();
    let n = found.len().max(1) as f64;
    Apart {
        triangles: indices.len() / 3,
        mean: found.iter().map(|f| f.0).sum::<f64>() / n,
        max: found.iter().map(|f| f.0).fold(0.0, f64::max),
        turned: found.iter().map(|f| f.1).sum::<f64>() / n,
    }
}

fn positions(output: &MeshOutput) -> Vec<[f32; 3]> {
    output.vertices.iter().map(|vertex| vertex.position).collect()
}

fn adapter(positions: &[[f32; 3]]) -> VertexDataAdapter<'_> {
    VertexDataAdapter::new(meshopt::typed_to_bytes(positions), 12, 0).expect("whole positions")
}
