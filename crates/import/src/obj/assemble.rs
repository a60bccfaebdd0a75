//! Builds primitives from faces: one for each material, in the order of first use.
//!
//! Face vertices with the same position, UV and normal share a vertex, in order of first use. An attribute that only some
//! face vertices of a material have is zero in the others.

use kiln_ir::{MaterialId, Primitive};

use super::index::Index;
use super::parse::{Corner, Model, NONE};
use crate::polygon::Triangulator;

/// Builds the primitives; `materials` has the id of each of the model's materials. Also returns the number of polygons
/// whose triangles may overlap.
pub(super) fn assemble(model: &Model, materials: &[MaterialId]) -> (Vec<Primitive>, usize) {
    // The faces of each material, in the order of first use; no material counts as one.
    let mut order: Vec<usize> = Vec::new();
    let mut parts: Vec<Vec<(usize, usize)>> = vec![Vec::new(); model.materials.len() + 1];
    let mut at = 0;
    for (number, run) in model.runs.iter().enumerate() {
        let place = if run.material == NONE { model.materials.len() } else { run.material as usize };
        if parts[place].is_empty() {
            order.push(place);
        }
        parts[place].push((number, at));
        at += run.corners;
    }
    let mut index = Index::new(model.positions.len());
    let mut triangulator = Triangulator::new(model.corners.len());
    let mut points = Vec::new();
    let mut overlapping = 0;
    let mut primitives = Vec::with_capacity(order.len());
    for place in order {
        let part = &parts[place];
        let runs = || part.iter().map(|&(number, at)| (&model.runs[number], at));
        let triangles: usize =
            runs().map(|(run, _)| run.corners / run.sides as usize * (run.sides as usize - 2)).sum();
        let mut builder = Builder {
            model,
            has_uv: runs().any(|(run, _)| run.has_uv),
            // Normals were completed where needed, so the first run is representative.
            has_normal: runs().any(|(run, at)| run.corners > 0 && model.corners[at].normal != NONE),
            index: &mut index,
            primitive: Primitive {
                indices: Vec::with_capacity(triangles * 3),
                material: materials.get(place).copied(),
                ..Primitive::default()
            },
        };
        for (run, at) in runs() {
            let corners = &model.corners[at..at + run.corners];
            if run.sides == 3 {
                for &corner in corners {
                    builder.push(corner);
                }
                continue;
            }
            for face in corners.chunks_exact(run.sides as usize) {
                points.clear();
                points.extend(face.iter().map(|corner| model.positions[corner.position as usize]));
                overlapping += usize::from(!triangulator.triangulate(&points));
                for corner in triangulator.triangles.iter().flatten() {
                    builder.push(face[*corner as usize]);
                }
            }
        }
        primitives.push(builder.primitive);
        let used = runs().flat_map(|(run, at)| &model.corners[at..at + run.corners]);
        index.clear(used.map(|corner| corner.position));
    }
    (primitives, overlapping)
}

struct Builder<'a> {
    model: &'a Model,
    has_uv: bool,
    has_normal: bool,
    index: &'a mut Index,
    primitive: Primitive,
}

impl Builder<'_> {
    fn push(&mut self, corner: Corner) {
        let (vertex, is_new) = self.index.index_of(corner.position, [corner.uv, corner.normal]);
        self.primitive.indices.push(vertex);
        if is_new {
            self.primitive.positions.push(self.model.positions[corner.position as usize]);
            if self.has_uv {
                self.primitive.uv0.push(self.model.uvs.get(corner.uv as usize).copied().unwrap_or_default());
            }
            if self.has_normal {
                let normal = self.model.normals.get(corner.normal as usize);
                self.primitive.normals.push(normal.copied().unwrap_or_default());
            }
        }
    }
}
