//! Normals for face vertices without one: face normals or, within a smoothing group, smooth normals.
//!
//! The smooth normal of a group at a position is the average of its face normals, weighted by the angle of each face at
//! that vertex, so that it does not depend on the triangulation. Groups span materials. A material without any normal or
//! smooth face gets none: its normals follow from its triangles.

use std::collections::BTreeSet;

use super::index::Index;
use super::parse::{Corner, Model, NONE};
use crate::polygon::newell;

/// Adds a normal to every face vertex without one, in materials that need them.
pub(super) fn complete(model: &mut Model) {
    // Materials with normals, and groups with a missing normal.
    let shaded: BTreeSet<u32> =
        model.runs.iter().filter(|run| run.has_normal || run.group != 0).map(|run| run.material).collect();
    let smooth: BTreeSet<u32> =
        model.runs.iter().filter(|run| run.bare && run.group != 0).map(|run| run.group).collect();
    if !model.runs.iter().any(|run| run.bare && shaded.contains(&run.material)) {
        return;
    }
    let mut index = Index::new(model.positions.len());
    let mut sums: Vec<[f64; 3]> = Vec::new();
    let mut points: Vec<[f32; 3]> = Vec::new();
    let mut at = 0;
    for run in &model.runs {
        let corners = &model.corners[at..at + run.corners];
        at += run.corners;
        if !smooth.contains(&run.group) {
            continue;
        }
        for face in corners.chunks_exact(run.sides as usize) {
            place(face, &model.positions, &mut points);
            let normal = unit(newell(&points));
            for (place, corner) in face.iter().enumerate() {
                let (number, is_new) = index.index_of(corner.position, [run.group, 0]);
                if is_new {
                    sums.push([0.0; 3]);
                }
                let angle = angle(&points, place);
                let sum = &mut sums[number as usize];
                (0..3).for_each(|axis| sum[axis] += normal[axis] * angle);
            }
        }
    }

    let first = model.normals.len() as u32;
    model.normals.extend(sums.into_iter().map(|sum| unit(sum).map(|v| v as f32)));
    let mut at = 0;
    for run in &model.runs {
        let corners = &mut model.corners[at..at + run.corners];
        at += run.corners;
        if !run.bare || !shaded.contains(&run.material) {
            continue;
        }
        for face in corners.chunks_exact_mut(run.sides as usize) {
            let mut own = NONE;
            if run.group == 0 {
                place(face, &model.positions, &mut points);
                own = model.normals.len() as u32;
                model.normals.push(unit(newell(&points)).map(|v| v as f32));
            }
            for corner in face.iter_mut().filter(|corner| corner.normal == NONE) {
                corner.normal = match run.group {
                    0 => own,
                    group => first + index.index_of(corner.position, [group, 0]).0,
                };
            }
        }
    }
}

fn place(face: &[Corner], positions: &[[f32; 3]], points: &mut Vec<[f32; 3]>) {
    points.clear();
    points.extend(face.iter().map(|corner| positions[corner.position as usize]));
}

/// Returns the interior angle at a vertex of a polygon.
fn angle(points: &[[f32; 3]], place: usize) -> f64 {
    let (here, count) = (points[place], points.len());
    let toward = |point: [f32; 3]| [0, 1, 2].map(|axis| f64::from(point[axis]) - f64::from(here[axis]));
    let (a, b) = (toward(points[(place + count - 1) % count]), toward(points[(place + 1) % count]));
    let (a, b) = (unit(a), unit(b));
    let cross = [0, 1, 2].map(|axis| {
        let (y, z) = ((axis + 1) % 3, (axis + 2) % 3);
        a[y] * b[z] - a[z] * b[y]
    });
    libm::atan2(dot(cross, cross).sqrt(), dot(a, b))
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Normalizes a vector; zero stays zero.
fn unit(v: [f64; 3]) -> [f64; 3] {
    let length = dot(v, v).sqrt();
    if length > 0.0 { v.map(|v| v / length) } else { [0.0; 3] }
}
