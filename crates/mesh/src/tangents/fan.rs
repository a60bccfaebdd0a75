//! The corners around one vertex: groups them by shared tangent and averages the tangents.

use super::{Block, Face, Kind, TangentMesh, perpendicular};
use crate::vector::{Vec3, add, dot, flatten, scale, sub, unit};

const NONE: u32 = u32::MAX;

/// A corner at the current vertex.
#[derive(Clone, Copy)]
struct Corner {
    /// The vertices that follow and precede it in its triangle.
    next: u32,
    previous: u32,
    kind: Kind,
    /// The corners across its two edges.
    right: u32,
    left: u32,
    group: u32,
}

/// The corners around one vertex and their groups. Reused from vertex to vertex to avoid allocations.
#[derive(Default)]
pub(super) struct Fan {
    corners: Vec<Corner>,
    by_previous: Vec<(u32, u32)>,
    sides: Vec<Vec3>,
    sums: Vec<Vec3>,
    groups: Vec<[f32; 4]>,
    names: Vec<(u32, u32, u32)>,
}

impl Fan {
    pub(super) fn build(&mut self, mesh: &TangentMesh<'_>, faces: &[Face], vertex: usize, around: &[u32]) {
        let indices = mesh.topology.indices();
        self.corners.clear();
        self.corners.extend(around.iter().map(|&corner| {
            let (first, k) = (corner / 3 * 3, corner % 3);
            let at = |k: u32| indices[(first + k % 3) as usize];
            let kind = faces[corner as usize / 3].kind;
            Corner { next: at(k + 1), previous: at(k + 2), kind, right: NONE, left: NONE, group: NONE }
        }));
        self.join();
        self.group();
        self.average(mesh, faces, vertex, around);
    }

    /// Pairs corners across the edges at the vertex, each edge of a corner with at most one other.
    fn join(&mut self) {
        let corners = &mut self.corners;
        if corners.len() <= 24 {
            for i in 0..corners.len() {
                let next = corners[i].next;
                let fits = |c: &Corner| c.previous == next && c.left == NONE && c.kind != Kind::Collapsed;
                if corners[i].kind != Kind::Collapsed
                    && let Some(j) = corners.iter().position(fits)
                {
                    (corners[i].right, corners[j].left) = (j as u32, i as u32);
                }
            }
            return;
        }
        // The same with a sorted list, for fans where comparing every pair would take too long.
        let live = |(_, c): &(usize, &Corner)| c.kind != Kind::Collapsed;
        self.by_previous.clear();
        self.by_previous.extend(corners.iter().enumerate().filter(live).map(|(j, c)| (c.previous, j as u32)));
        self.by_previous.sort_unstable();
        let mut by_next: Vec<(u32, u32)> =
            corners.iter().enumerate().filter(live).map(|(i, c)| (c.next, i as u32)).collect();
        by_next.sort_unstable();
        let mut candidates = self.by_previous.iter().copied().peekable();
        for (next, i) in by_next {
            while candidates.next_if(|&(previous, _)| previous < next).is_some() {}
            if let Some((_, j)) = candidates.next_if(|&(previous, _)| previous == next) {
                (corners[i as usize].right, corners[j as usize].left) = (j, i);
            }
        }
    }

    /// Walks from each corner to both sides as long as the UVs are not mirrored.
    fn group(&mut self) {
        self.groups.clear();
        for start in 0..self.corners.len() {
            let Corner { kind, group, right, left, .. } = self.corners[start];
            if group != NONE || !matches!(kind, Kind::Preserving | Kind::Mirrored) {
                continue;
            }
            let name = self.groups.len() as u32;
            let sign = if kind == Kind::Preserving { -1.0 } else { 1.0 };
            self.groups.push([0.0, 0.0, 0.0, sign]);
            self.corners[start].group = name;
            for (mut at, rightward) in [(right, true), (left, false)] {
                while let Some(corner) = self.corners.get_mut(at as usize) {
                    if corner.group != NONE || !(corner.kind == kind || corner.kind == Kind::NoUvArea) {
                        break;
                    }
                    corner.group = name;
                    at = if rightward { corner.right } else { corner.left };
                }
            }
        }
    }

    /// Computes the tangent of each group, in the order of operations of the reference.
    fn average(&mut self, mesh: &TangentMesh<'_>, faces: &[Face], vertex: usize, around: &[u32]) {
        let (normal, here) = (mesh.normals[vertex], mesh.positions[vertex]);
        self.sums.clear();
        self.sums.resize(self.groups.len(), [0.0; 3]);
        // The direction of each edge at the vertex, projected on the plane of the normal; neighbours share
        // one.
        let side = |other: u32| unit(flatten(sub(mesh.positions[other as usize], here), normal));
        self.sides.clear();
        self.sides.extend(self.corners.iter().map(|corner| side(corner.previous)));
        for ((corner, at), previous) in self.corners.iter().zip(around).zip(&self.sides) {
            if corner.group == NONE || corner.kind == Kind::NoUvArea {
                continue;
            }
            let tangent = unit(flatten(faces[*at as usize / 3].tangent, normal));
            let next = self.sides.get(corner.right as usize).copied().unwrap_or_else(|| side(corner.next));
            let cosine = dot(*previous, next).clamp(-1.0, 1.0);
            let sum = &mut self.sums[corner.group as usize];
            *sum = add(*sum, scale(tangent, angle(cosine)));
        }
        for (group, &sum) in self.groups.iter_mut().zip(&self.sums) {
            let mut tangent = unit(sum);
            if tangent == [0.0; 3] {
                tangent = perpendicular(normal);
            }
            group[..3].copy_from_slice(&tangent);
        }
        if self.groups.is_empty() {
            let [x, y, z] = perpendicular(normal);
            self.groups.push([x, y, z, 1.0]);
        }
        // Corners without a usable face take the first group's tangent; equal groups are merged.
        for corner in &mut self.corners {
            let group = if corner.group == NONE { 0 } else { corner.group as usize };
            let same = self.groups[..group.min(16)].iter().position(|earlier| *earlier == self.groups[group]);
            corner.group = same.unwrap_or(group) as u32;
        }
    }

    /// Writes the tangent of every corner's vertex; a vertex with several is split.
    pub(super) fn write(&mut self, named: &[u32], around: &[u32], out: &mut Block) {
        self.names.clear();
        let name = |(corner, &at): (&Corner, &u32)| (named[at as usize], corner.group, at);
        self.names.extend(self.corners.iter().zip(around).map(name));
        let (vertex, group, _) = self.names[0];
        if self.names.iter().all(|name| (name.0, name.1) == (vertex, group)) {
            out.first.push((vertex, self.groups[group as usize]));
            return;
        }
        self.names.sort_unstable();
        let (mut last, mut which) = ((NONE, NONE), NONE);
        for &(vertex, group, at) in &self.names {
            if last != (vertex, group) {
                let tangent = (vertex, self.groups[group as usize]);
                if last.0 != vertex {
                    out.first.push(tangent);
                    which = NONE;
                } else {
                    which = out.added.len() as u32;
                    out.added.push(tangent);
                }
                last = (vertex, group);
            }
            if which != NONE {
                out.moved.push((at, which));
            }
        }
    }
}

/// Returns the arc cosine, within a millionth, without a branch. (Abramowitz and Stegun, 4.4.46)
fn angle(cosine: f32) -> f32 {
    #[allow(clippy::excessive_precision)] // as printed there
    const TERMS: [f32; 8] = [
        -0.001_262_491_1,
        0.006_670_090_1,
        -0.017_088_125_6,
        0.030_891_881,
        -0.050_174_304_6,
        0.088_978_987_4,
        -0.214_598_801_6,
        1.570_796_305,
    ];
    let x = cosine.abs();
    let acute = (1.0 - x).sqrt() * TERMS.iter().fold(0.0, |sum, term| sum * x + term);
    if cosine < 0.0 { std::f32::consts::PI - acute } else { acute }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arc_cosine_error_is_bounded() {
        for step in -100_000..=100_000 {
            let cosine = step as f32 / 100_000.0;
            assert!((f64::from(angle(cosine)) - libm::acos(f64::from(cosine))).abs() < 1e-6);
        }
    }
}
