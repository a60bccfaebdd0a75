//! Measures OBJ import beside `tobj`.
//!
//! `cargo run --release -p kiln-import --example obj_speed [-- <file.obj> ...]` prints for each file the best of nine
//! runs of both in CPU time, and the triangles and vertices that each found. Copying the bytes of the file is measured
//! apart and subtracted from ours. Without files the example makes a sphere of 1,048,576 triangles with UVs and normals.

#![allow(clippy::print_stdout)]

use std::fmt::Write;
use std::time::{Duration, Instant};

use kiln_import::{MemoryFiles, RelPath, SourceFiles, obj};

fn main() {
    let mut files: Vec<(String, Vec<u8>)> = std::env::args()
        .skip(1)
        .map(|name| {
            let bytes = std::fs::read(&name).expect("a file");
            (name, bytes)
        })
        .collect();
    if files.is_empty() {
        files.push(("sphere".to_owned(), sphere(1024, 512).into_bytes()));
    }
    for (name, bytes) in &files {
        let source = RelPath::new("m.obj").expect("a path");
        let mut source_files = MemoryFiles::from_iter([(source.clone(), bytes.clone())]);
        let (ours, found) = best(|| {
            let scene = obj::import(&mut source_files, &source).expect("a model").value;
            let parts = &scene.meshes[0].primitives;
            (parts.iter().map(|p| p.triangles()).sum(), parts.iter().map(|p| p.positions.len()).sum())
        });
        let (reading, _) = best(|| (source_files.read(&source).expect("a file").len(), 0));
        let ours = ours.saturating_sub(reading);
        let (theirs, also) = best(|| {
            let options = tobj::LoadOptions { triangulate: true, single_index: true, ..Default::default() };
            let (models, _) = tobj::load_obj_buf(&mut bytes.as_slice(), &options, |_| {
                Ok(tobj::load_mtl_buf(&mut &b""[..]).expect("nothing"))
            })
            .expect("a model");
            let sum = |of: fn(&tobj::Mesh) -> usize| models.iter().map(|model| of(&model.mesh)).sum();
            (sum(|mesh| mesh.indices.len() / 3), sum(|mesh| mesh.positions.len() / 3))
        });
        let megabytes = bytes.len() as f64 / 1e6;
        println!("{name}: {megabytes:.1} MB");
        println!(
            "  kiln {ours:8.1?} {:7.1} MB/s  {found:?} triangles, vertices; reading {reading:.1?}",
            megabytes / ours.as_secs_f64()
        );
        println!("  tobj {theirs:8.1?} {:7.1} MB/s  {also:?}", megabytes / theirs.as_secs_f64());
    }
}

fn best(mut run: impl FnMut() -> (usize, usize)) -> (Duration, (usize, usize)) {
    let started = Instant::now();
    let now = || cpu_time().unwrap_or_else(|| started.elapsed());
    let timed = (0..9).map(|_| {
        let start = now();
        let found = run();
        (now() - start, found)
    });
    timed.min().expect("nine runs")
}

/// Returns the CPU time of this thread where the system reports it: less noisy than wall time.
fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

fn sphere(around: u32, up: u32) -> String {
    let mut text = String::new();
    for row in 0..=up {
        for column in 0..=around {
            let (u, v) = (f64::from(column) / f64::from(around), f64::from(row) / f64::from(up));
            let (a, b) = (u * std::f64::consts::TAU, v * std::f64::consts::PI);
            let [x, y, z] = [libm::sin(b) * libm::cos(a), libm::cos(b), libm::sin(b) * libm::sin(a)];
            writeln!(text, "v {:.6} {:.6} {:.6}", x * 3.0, y * 3.0, z * 3.0).expect("memory");
            writeln!(text, "vt {u:.6} {v:.6}\nvn {x:.6} {y:.6} {z:.6}").expect("memory");
        }
    }
    for row in 0..up {
        for column in 0..around {
            let at = |row: u32, column: u32| row * (around + 1) + column + 1;
            let [a, b] = [at(row, column), at(row, column + 1)];
            let [c, d] = [at(row + 1, column), at(row + 1, column + 1)];
            writeln!(text, "f {a}/{a}/{a} {d}/{d}/{d} {c}/{c}/{c}\nf {a}/{a}/{a} {b}/{b}/{b} {d}/{d}/{d}")
                .expect("memory");
        }
    }
    text
}
