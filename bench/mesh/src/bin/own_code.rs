//! The stages that Kiln has code of its own for, beside the functions of meshoptimizer that could replace them, on one
//! thread: medians of the CPU time of seven runs in turn.
//!
//! ```text
//! cargo run --release --manifest-path bench/mesh/Cargo.toml --bin own_code
//! ```

use kiln_mesh::{LodRule, MeshInput, MeshOptions, Stage, process_watched};
use std::collections::BTreeMap;
use std::sync::Mutex;

#[path = "../clock.rs"]
#[allow(dead_code, reason = "shared with the other bench")]
mod clock;

use clock::thread_seconds;

const RUNS: usize = 7;

/// Position, normal and UVs of each vertex, and the triangles.
struct Sphere {
    positions: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    indices: Vec<u32>,
}

fn sphere(segments: u32) -> Sphere {
    let rings = segments / 2;
    let mut sphere = Sphere { positions: vec![], uvs: vec![], indices: vec![] };
    for ring in 0..=rings {
        for segment in 0..=segments {
            let (u, v) = (segment as f32 / segments as f32, ring as f32 / rings as f32);
            let (around, down) = (u * std::f32::consts::TAU, v * std::f32::consts::PI);
            let wide = down.sin();
            sphere.positions.push([around.cos() * wide, down.cos(), around.sin() * wide]);
            sphere.uvs.push([u, v]);
        }
    }
    for ring in 0..rings {
        for segment in 0..segments {
            let a = ring * (segments + 1) + segment;
            let b = a + segments + 1;
            sphere.indices.extend([a, a + 1, b, b, a + 1, b + 1]);
        }
    }
    sphere
}

impl Sphere {
    /// Every corner its own vertex: the input of a weld.
    fn exploded(&self) -> Sphere {
        let pick = |index: &u32| *index as usize;
        Sphere {
            positions: self.indices.iter().map(|i| self.positions[pick(i)]).collect(),
            uvs: self.indices.iter().map(|i| self.uvs[pick(i)]).collect(),
            indices: (0..self.indices.len() as u32).collect(),
        }
    }
}

/// Milliseconds of each stage of ours.
fn ours(sphere: &Sphere) -> BTreeMap<Stage, f64> {
    let spent = Mutex::new(BTreeMap::<Stage, f64>::new());
    let begun = Mutex::new(BTreeMap::<Stage, f64>::new());
    let watch = |stage: Stage, begins: bool| {
        if begins {
            begun.lock().expect("no panic").insert(stage, thread_seconds());
        } else {
            let start = begun.lock().expect("no panic")[&stage];
            *spent.lock().expect("no panic").entry(stage).or_default() += (thread_seconds() - start) * 1e3;
        }
    };
    let input = MeshInput {
        indices: (&sphere.indices).into(),
        positions: (&sphere.positions).into(),
        // On a unit sphere the normals are the positions.
        normals: Some((&sphere.positions).into()),
        uvs: Some((&sphere.uvs).into()),
        ..MeshInput::default()
    };
    let mut options = MeshOptions::default();
    options.lods = LodRule::halves(0);
    process_watched(input, &options, &watch).expect("a sound mesh");
    spent.into_inner().expect("no panic")
}

fn timed(work: impl FnOnce() -> usize) -> f64 {
    let start = thread_seconds();
    assert!(work() > 0);
    (thread_seconds() - start) * 1e3
}

/// Milliseconds of meshoptimizer's weld, tangents and meshlets with bounds.
fn theirs(sphere: &Sphere, welded: &Sphere) -> [f64; 3] {
    let bytes =
        |positions: &[[f32; 3]]| positions.as_flattened().iter().flat_map(|f| f.to_le_bytes()).collect();
    // As ours: attributes in arrays of their own, and -0.0 equals 0.0.
    let weld = timed(|| {
        let positions: Vec<_> = sphere.positions.iter().map(|p| p.map(|x| x + 0.0)).collect();
        let normals = positions.clone();
        let uvs: Vec<_> = sphere.uvs.iter().map(|uv| uv.map(|x| x + 0.0)).collect();
        let streams = [
            meshopt::VertexStream::new(positions.as_ptr()),
            meshopt::VertexStream::new(normals.as_ptr()),
            meshopt::VertexStream::new(uvs.as_ptr()),
        ];
        let (count, remap) =
            meshopt::generate_vertex_remap_multi(positions.len(), &streams, Some(&sphere.indices));
        let indices = meshopt::remap_index_buffer(Some(&sphere.indices), sphere.indices.len(), &remap);
        let positions = meshopt::remap_vertex_buffer(&positions, count, &remap);
        let normals = meshopt::remap_vertex_buffer(&normals, count, &remap);
        let uvs = meshopt::remap_vertex_buffer(&uvs, count, &remap);
        indices.len() + positions.len() + normals.len() + uvs.len()
    });
    let tangents = timed(|| {
        meshopt::generate_tangents(
            Some(&welded.indices),
            &welded.positions,
            &welded.positions,
            &welded.uvs,
            meshopt::TangentOptions::Compatible,
        )
        .len()
    });
    let ordered = meshopt::optimize_vertex_cache(&welded.indices, welded.positions.len());
    let positions: Vec<u8> = bytes(&welded.positions);
    let adapter = meshopt::VertexDataAdapter::new(&positions, 12, 0).expect("whole positions");
    let meshlets = timed(|| {
        let meshlets = meshopt::build_meshlets(&ordered, &adapter, 64, 124, 0.25);
        let radius = |meshlet| meshopt::compute_meshlet_bounds(meshlet, &adapter).radius;
        meshlets.iter().map(radius).sum::<f32>().ceil() as usize
    });
    [weld, tangents, meshlets]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    println!("| sphere, triangles | stage | Kiln, ms | meshoptimizer, ms | ratio |\n|---|---|---|---|---|");
    for segments in [256, 1024] {
        let welded = sphere(segments);
        let exploded = welded.exploded();
        let (mut own, mut other) = ([vec![], vec![], vec![]], [vec![], vec![], vec![]]);
        for _ in 0..RUNS {
            let spent = pool.install(|| ours(&exploded));
            let stages = [Stage::Weld, Stage::Tangents, Stage::Meshlets];
            own.iter_mut().zip(stages).for_each(|(list, stage)| list.push(spent[&stage]));
            other.iter_mut().zip(theirs(&exploded, &welded)).for_each(|(list, time)| list.push(time));
        }
        for ((name, own), other) in ["weld", "tangents", "meshlets"].iter().zip(own).zip(other) {
            let (own, other) = (median(own), median(other));
            let triangles = welded.indices.len() / 3;
            println!("| {triangles} | {name} | {own:.1} | {other:.1} | {:.2} |", own / other);
        }
    }
}
