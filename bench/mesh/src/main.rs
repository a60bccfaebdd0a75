//! A sphere of 1,048,576 triangles through the whole pipeline: what each stage costs, on one thread and on two.
//!
//! `cargo run --release --manifest-path bench/mesh/Cargo.toml`. On Linux times are CPU time of the thread that ran the stage
//! (so a busy machine does not spoil them) and memory is the peak above what the source mesh takes; elsewhere times
//! are wall time and memory is not shown.
#![allow(clippy::print_stdout)]

use kiln_mesh::process::{Input, Output, Settings, Stage};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

const SEGMENTS: u32 = 1024;
const RINGS: u32 = 512;

fn main() {
    let sphere = Sphere::new();
    let input = Input {
        indices: &sphere.indices,
        positions: &sphere.positions,
        normals: Some(&sphere.positions),
        uvs: Some(&sphere.uvs),
        ..Input::default()
    };
    let plain = Settings { lods: Vec::new(), meshlets: false, ..Settings::default() };
    println!("{} triangles, {} vertices", sphere.indices.len() / 3, sphere.positions.len());
    run("one thread, no meshlets, no levels", 1, &input, &plain);
    let one = run("one thread", 1, &input, &Settings::default());
    let two = run("two threads", 2, &input, &Settings::default());
    assert!(one == two, "the result must not depend on the number of threads");
    quality(&one);
}

/// A unit sphere: its positions are its normals.
struct Sphere {
    positions: Vec<[f32; 3]>,
    uvs: Vec<[f32; 2]>,
    indices: Vec<u32>,
}

impl Sphere {
    fn new() -> Self {
        let (mut positions, mut uvs, mut indices) = (Vec::new(), Vec::new(), Vec::new());
        for ring in 0..=RINGS {
            for segment in 0..=SEGMENTS {
                let (u, v) = (f64::from(segment) / f64::from(SEGMENTS), f64::from(ring) / f64::from(RINGS));
                // Closed to the bit: around the seam and at both poles.
                let around = f64::from(segment % SEGMENTS) / f64::from(SEGMENTS) * std::f64::consts::TAU;
                let down = v * std::f64::consts::PI;
                let wide = if ring == RINGS { 0.0 } else { libm::sin(down) };
                let (x, z) = (libm::cos(around) * wide, libm::sin(around) * wide);
                positions.push([x, libm::cos(down), z].map(|c| c as f32));
                uvs.push([u as f32, v as f32]);
            }
        }
        for ring in 0..RINGS {
            for segment in 0..SEGMENTS {
                let a = ring * (SEGMENTS + 1) + segment;
                let b = a + SEGMENTS + 1;
                indices.extend([a, a + 1, b, b, a + 1, b + 1]);
            }
        }
        Self { positions, uvs, indices }
    }

    fn bytes(&self) -> usize {
        self.positions.len() * (12 + 12 + 8) + self.indices.len() * 4
    }
}

fn run(title: &str, threads: usize, input: &Input<'_>, settings: &Settings) -> Output {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool");
    let open = Mutex::new(BTreeMap::new());
    let total = Mutex::new(BTreeMap::<Stage, f64>::new());
    let watch = |stage, begin| {
        let now = thread_seconds();
        if begin {
            open.lock().expect("no panic").insert(stage, now);
        } else {
            let since = open.lock().expect("no panic").remove(&stage).unwrap_or(now);
            *total.lock().expect("no panic").entry(stage).or_default() += now - since;
        }
    };
    reset_peak();
    let before = memory("VmRSS:");
    let (start, cpu) = (Instant::now(), process_seconds());
    let output = pool.install(|| kiln_mesh::process_watched(input, settings, &watch)).expect("a sound mesh");
    let (wall, cpu) = (start.elapsed().as_secs_f64(), process_seconds() - cpu);
    println!("\n{title}: {:.0} ms wall, {:.0} ms CPU", wall * 1e3, cpu * 1e3);
    if let (Some(before), Some(peak)) = (before, memory("VmHWM:")) {
        let mesh = Sphere::new().bytes() as f64 / 1e6;
        println!("  memory: {:.0} MB at most beside the source mesh of {mesh:.0} MB", (peak - before) / 1e3);
    }
    let total = total.into_inner().expect("no panic");
    let ordering = total.get(&Stage::LodOrder).copied().unwrap_or(0.0);
    for (stage, mut seconds) in total {
        // Part of the levels, on one thread: taken out of them.
        if stage == Stage::Lods && threads == 1 {
            seconds -= ordering;
        }
        println!("  {:10} {:6.1} ms  {:4.1} %", format!("{stage:?}"), seconds * 1e3, seconds / cpu * 100.0);
    }
    output
}

fn quality(output: &Output) {
    let clusters = &output.meshlets;
    let squares: f64 = clusters.bounds.iter().map(|b| f64::from(b.radius).powi(2)).sum();
    println!(
        "\n{} vertices, {} meshlets, sum of squared radii {squares:.4}",
        output.vertices.len(),
        clusters.meshlets.len()
    );
    let positions: Vec<[f32; 3]> = output.vertices.iter().map(|vertex| vertex.position).collect();
    let adapter =
        meshopt::VertexDataAdapter::new(meshopt::typed_to_bytes(&positions), 12, 0).expect("positions");
    let whole = meshopt::build_meshlets(&output.indices, &adapter, 64, 124, 0.25);
    let whole_squares: f64 =
        whole.iter().map(|m| f64::from(meshopt::compute_meshlet_bounds(m, &adapter).radius).powi(2)).sum();
    println!("in one piece: {} meshlets, sum of squared radii {whole_squares:.4}", whole.len());
    for (level, lod) in output.lods.iter().enumerate() {
        println!("level {}: {} triangles, error {:.6}", level + 1, lod.indices.len() / 3, lod.error);
        let mut error = 0.0;
        let target = (output.indices.len() / 3) >> (level + 1);
        let plain = meshopt::simplify(
            &output.indices,
            &adapter,
            target * 3,
            0.05,
            meshopt::SimplifyOptions::None,
            Some(&mut error),
        );
        println!(
            "  by position alone: {} triangles, error {:.6}",
            plain.len() / 3,
            error * meshopt::simplify_scale(&adapter)
        );
        println!(
            "  farthest from the sphere: {:.6} here, {:.6} by position alone",
            sag(&positions, &lod.indices),
            sag(&positions, &plain)
        );
    }
}

/// How far the middles of triangles lie inside the unit sphere, at most.
fn sag(positions: &[[f32; 3]], indices: &[u32]) -> f64 {
    let deepest = |triangle: &[u32; 3]| {
        let mut middle = [0.0f64; 3];
        for &corner in triangle {
            for axis in 0..3 {
                middle[axis] += f64::from(positions[corner as usize][axis]) / 3.0;
            }
        }
        1.0 - middle.iter().map(|c| c * c).sum::<f64>().sqrt()
    };
    indices.as_chunks::<3>().0.iter().map(deepest).fold(0.0, f64::max)
}

fn thread_seconds() -> f64 {
    nanoseconds("/proc/thread-self/schedstat").map_or_else(wall_seconds, |ns| ns / 1e9)
}

/// Ticks of a hundredth: user and system time of all threads.
fn process_seconds() -> f64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return wall_seconds() };
    let after_name = stat.rsplit(')').next().unwrap_or("");
    after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>()
        / 100.0
}

fn nanoseconds(path: impl AsRef<std::path::Path>) -> Option<f64> {
    std::fs::read_to_string(path).ok()?.split(' ').next()?.parse().ok()
}

fn wall_seconds() -> f64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}

fn memory(field: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Linux forgets the peak when told 5.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
