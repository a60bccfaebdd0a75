//! The memory that the drawn meshes of a document take, by what their accessors state, before any is decoded.
//!
//! Elements without a view are zeros and cost no bytes in a file, packed ones cost few, and primitives may share
//! accessors. So what all drawn primitives come to is added up first. Statements that make no sense count as nothing
//! here: they are errors when they are read.

use std::collections::BTreeSet;

use kiln_engine::{Diag, Limits};
use kiln_ir::MeshId;

use super::at::At;
use super::document::Document;

/// Checks the drawn meshes against the memory that the limits admit.
pub(super) fn check(document: &Document<'_>, drawn: &BTreeSet<MeshId>, limits: &Limits) -> Result<(), Diag> {
    let (mut vertices, mut corners, mut bytes) = (0_u64, 0_u64, 0_u64);
    let mut exceeding: Option<At<'_>> = None;
    for (index, mesh) in document.meshes.iter().enumerate() {
        if !drawn.contains(&MeshId(index as u32)) {
            continue;
        }
        for primitive in mesh.list("primitives")?.iter() {
            let size = Size::of(primitive, document);
            vertices = vertices.saturating_add(size.vertices);
            corners = corners.saturating_add(size.corners);
            bytes = bytes.saturating_add(size.bytes());
            if bytes > limits.max_memory {
                exceeding.get_or_insert(primitive);
            }
        }
    }
    // The sum of all, so that the message says how much would do, at the first place that is too much.
    let what = format!("{vertices} vertices and {corners} indices of the drawn meshes");
    let place = exceeding.map(|primitive| primitive.pointer()).unwrap_or_default();
    limits.check_memory(bytes, what).map_err(|diag| diag.at(place))
}

/// The size of a primitive when it is decoded.
struct Size {
    vertices: u64,
    corners: u64,
    vertex_bytes: u64,
}

impl Size {
    fn of(primitive: At<'_>, document: &Document<'_>) -> Size {
        let count = |reference: At<'_>| {
            let (_, accessor) = reference.refer(document.accessors, "accessor").ok()?;
            let count = accessor.need("count").ok()?.uint().ok()?;
            // An element has a byte at least: more elements than the view has bytes make no sense.
            let fits = |view: At<'_>| {
                let (_, view) = view.refer(document.buffer_views, "buffer view").ok()?;
                Some(count <= view.need("byteLength").ok()?.uint().ok()?)
            };
            accessor.get("bufferView").is_none_or(|view| fits(view) == Some(true)).then_some(count as u64)
        };
        let attribute = |name: &str| primitive.get("attributes").and_then(|attributes| attributes.get(name));
        let vertices = attribute("POSITION").and_then(count).unwrap_or(0);
        let indices = match primitive.get("indices") {
            Some(reference) => count(reference).unwrap_or(0),
            None => vertices,
        };
        // Every vertex after the second of a strip or fan makes a triangle.
        let corners = match primitive.uint_or("mode", 4) {
            Ok(4) => indices,
            Ok(5 | 6) => indices.saturating_mul(3),
            _ => 0,
        };
        let sizes = [
            ("POSITION", 12),
            ("NORMAL", 12),
            ("TANGENT", 16),
            ("TEXCOORD_0", 8),
            ("TEXCOORD_1", 8),
            ("JOINTS_0", 24),
            ("WEIGHTS_0", 16),
        ];
        let vertex_bytes =
            sizes.iter().filter(|(name, _)| attribute(name).is_some()).map(|(_, size)| size).sum();
        // Vertices that no triangle uses are not decoded.
        Size { vertices: vertices.min(corners), corners, vertex_bytes }
    }

    fn bytes(&self) -> u64 {
        self.vertices.saturating_mul(self.vertex_bytes).saturating_add(self.corners.saturating_mul(4))
    }
}
