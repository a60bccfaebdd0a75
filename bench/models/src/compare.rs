//! Comparison of the triangles and materials of two models.

use std::collections::HashMap;

use crate::{Corner, Factors, Model, Triangle};

/// The tolerance within which two values are equal.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Of positions, as a part of the model's extent.
    position: f64,
    /// Of the angle between normals, in radians. Two 16-bit numbers are good for a tenth of the smaller one.
    normal: f64,
    uv: f64,
}

impl Tolerance {
    pub const EXACT: Tolerance = Tolerance { position: 2e-6, normal: 1e-3, uv: 1e-5 };
    /// For what was quantised on the way: 11 bits for positions, 8 for normals, 10 for coordinates.
    pub const QUANTISED: Tolerance = Tolerance { position: 1e-3, normal: 0.1, uv: 2e-3 };
}

/// Findings beside equality.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Corners whose bitangent points as the texture coordinates say, of all that have one.
    pub handed: (usize, usize),
    /// Corners whose authored tangent contradicts the texture coordinates; they are not counted above.
    pub contradict: usize,
}

/// The part of corners that may have another handedness: tangents are shared where coordinates have little area.
const HANDED_APART: f64 = 0.005;

/// Compares; an error says what differs.
pub fn compare(source: &Model, compiled: &Model, tolerance: Tolerance) -> Result<Verdict, String> {
    let scale = source
        .triangles
        .iter()
        .flat_map(|t| t.corners)
        .map(|c| c.position.abs().max_element())
        .fold(0.0, f64::max);
    let near = (tolerance.position * scale).max(1e-9);
    let cell = near * 8.0;
    let key = |t: &Triangle| {
        let centre = t.corners.iter().map(|c| c.position).sum::<glam::DVec3>() / 3.0 / cell;
        centre.to_array().map(|v| v.floor() as i64)
    };
    let mut grid: HashMap<[i64; 3], Vec<usize>> = HashMap::new();
    for (index, triangle) in compiled.triangles.iter().enumerate() {
        grid.entry(key(triangle)).or_default().push(index);
    }
    let around = |t: &Triangle| {
        let [x, y, z] = key(t);
        let steps = [-1, 0, 1];
        let cells = steps.into_iter().flat_map(move |i| {
            steps.into_iter().flat_map(move |j| steps.map(move |k| [x + i, y + j, z + k]))
        });
        cells.filter_map(|cell| grid.get(&cell)).flatten().copied().collect::<Vec<usize>>()
    };
    let mut used = vec![false; compiled.triangles.len()];
    let mut verdict = Verdict::default();
    let mut left = Vec::new();
    for triangle in &source.triangles {
        let found = around(triangle).into_iter().filter(|&i| !used[i]).find_map(|index| {
            let other = &compiled.triangles[index];
            let turn = (0..3).find(|&turn| differs(triangle, other, turn, near, tolerance).is_none())?;
            Some((index, turn))
        });
        match found {
            Some((index, turn)) => {
                used[index] = true;
                for (i, corner) in triangle.corners.iter().enumerate() {
                    let other = compiled.triangles[index].corners[(i + turn) % 3];
                    let (Some((_, sign)), Some(wanted)) = (other.tangent, handedness(triangle, i)) else {
                        continue;
                    };
                    if corner.tangent.is_some_and(|(_, authored)| authored != wanted) {
                        verdict.contradict += 1;
                    } else {
                        verdict.handed.0 += usize::from(sign == wanted);
                        verdict.handed.1 += 1;
                    }
                }
            }
            None => left.push(triangle),
        }
    }
    if let Some(triangle) = left.first() {
        // The nearest miss says most.
        let misses = around(triangle).into_iter().filter(|&i| !used[i]).flat_map(|i| {
            let other = &compiled.triangles[i];
            (0..3).filter_map(move |turn| differs(triangle, other, turn, near, tolerance))
        });
        let why =
            misses.max_by_key(|(rank, _)| *rank).map_or("nothing is near it".to_owned(), |(_, why)| why);
        let place = triangle.corners.map(|c| c.position.to_array());
        return Err(format!(
            "{} of {} triangles are missing; at {place:?}: {why}",
            left.len(),
            source.triangles.len()
        ));
    }
    let extra = used.iter().filter(|used| !**used).count();
    if extra > 0 {
        return Err(format!("{extra} triangles are not in the source"));
    }
    let (same, all) = verdict.handed;
    if (all - same) as f64 > all as f64 * HANDED_APART {
        return Err(format!("only {same} of {all} corners have the right handedness"));
    }
    materials(&source.materials, &compiled.materials)?;
    Ok(verdict)
}

/// The sign that makes `cross(normal, tangent) * sign` point to the top of the texture, where v is least.
fn handedness(triangle: &Triangle, corner: usize) -> Option<f64> {
    let [a, b, c] = triangle.corners;
    let (e, f) = (b.position - a.position, c.position - a.position);
    let (s, t) = (b.uv - a.uv, c.uv - a.uv);
    let area = s.perp_dot(t);
    if area.abs() < 1e-9 {
        return None;
    }
    let tangent = (e * t.y - f * s.y) / area;
    let upward = (e * t.x - f * s.x) / area;
    let along = triangle.corners[corner].normal?.cross(tangent).dot(upward);
    (along != 0.0).then(|| along.signum())
}

/// The differences between two triangles when one is turned by some corners; the more agrees, the higher the rank.
fn differs(
    a: &Triangle,
    b: &Triangle,
    turn: usize,
    near: f64,
    tolerance: Tolerance,
) -> Option<(u32, String)> {
    let pairs = || a.corners.iter().enumerate().map(move |(i, corner)| (corner, &b.corners[(i + turn) % 3]));
    if !pairs().all(|(a, b)| (a.position - b.position).length() <= near) {
        return Some((0, "positions or winding".to_owned()));
    }
    if a.material != b.material {
        return Some((1, format!("material {:?} and not {:?}", b.material, a.material)));
    }
    let bad = |a: &Corner, b: &Corner| {
        !(a.uv - b.uv).abs().cmple(glam::DVec2::splat(tolerance.uv) * (a.uv.abs() + 1.0)).all()
    };
    if let Some((a, b)) = pairs().find(|(a, b)| bad(a, b)) {
        return Some((2, format!("texture coordinates {} and not {}", b.uv, a.uv)));
    }
    let angle = |a: &Corner, b: &Corner| match (a.normal, b.normal) {
        (Some(a), Some(b)) => a.angle_between(b),
        _ => 0.0,
    };
    let worst = pairs().map(|(a, b)| angle(a, b)).fold(0.0, f64::max);
    (worst > tolerance.normal).then(|| (3, format!("a normal is {worst:.4} radians off")))
}

fn materials(source: &[Factors], compiled: &[Factors]) -> Result<(), String> {
    if source.len() != compiled.len() {
        return Err(format!("{} materials are used, and there are {}", source.len(), compiled.len()));
    }
    for wanted in source {
        let found = compiled.iter().find(|found| found.reference == wanted.reference);
        let found = found.ok_or_else(|| format!("material {:#x} is missing", wanted.reference))?;
        if found != wanted {
            return Err(format!("a material is {found:?} and not {wanted:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{DVec2, DVec3};

    fn model() -> Model {
        let corner = |x: f64, y: f64| Corner {
            position: DVec3::new(x, y, 0.0),
            normal: Some(DVec3::Z),
            uv: DVec2::new(x, 1.0 - y),
            tangent: Some((DVec3::X, 1.0)),
        };
        let [a, b, c, d] = [corner(0.0, 0.0), corner(1.0, 0.0), corner(1.0, 1.0), corner(0.0, 1.0)];
        let triangles = vec![
            Triangle { corners: [a, b, c], material: Some(1) },
            Triangle { corners: [a, c, d], material: Some(1) },
        ];
        Model { triangles, materials: Vec::new() }
    }

    fn refuses(words: &str, change: impl FnOnce(&mut Model)) {
        let mut changed = model();
        change(&mut changed);
        let why = compare(&model(), &changed, Tolerance::EXACT).unwrap_err();
        assert!(why.contains(words), "{why}");
    }

    #[test]
    fn the_same_triangles_in_any_order_are_equal() {
        let mut other = model();
        other.triangles.reverse();
        other.triangles[0].corners.rotate_left(1);
        let verdict = compare(&model(), &other, Tolerance::EXACT).unwrap();
        assert_eq!(verdict.handed, (6, 6));
    }

    #[test]
    fn every_difference_is_found() {
        refuses("missing", |m| m.triangles.truncate(1));
        refuses("not in the source", |m| m.triangles.push(model().triangles[0]));
        refuses("missing", |m| m.triangles[1] = m.triangles[0]);
        refuses("winding", |m| m.triangles[0].corners.swap(1, 2));
        refuses("missing", |m| m.triangles[0].corners[0].position.x += 1e-4);
        refuses("material", |m| m.triangles[0].material = None);
        refuses("texture coordinates", |m| m.triangles[0].corners[1].uv.x += 1e-3);
        refuses("normal", |m| m.triangles[0].corners[1].normal = Some(DVec3::new(0.1, 0.0, 1.0).normalize()));
        refuses("handedness", |m| m.triangles[0].corners[1].tangent = Some((DVec3::X, -1.0)));
        let row = Factors {
            reference: 1,
            base_color: [1.0; 4],
            emissive: [0.0; 3],
            rest: [1.0, 1.0, 1.0, 1.0, 0.5],
            alpha_mode: 0,
            double_sided: false,
            textures: [false; 5],
        };
        assert!(materials(&[row], &[row]).is_ok());
        assert!(materials(&[row], &[]).is_err());
        assert!(materials(&[row], &[Factors { reference: 2, ..row }]).is_err());
        assert!(materials(&[row], &[Factors { double_sided: true, ..row }]).is_err());
    }
}
