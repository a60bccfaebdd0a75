//! The memory of the drawn meshes of a document, from the counts of their accessors, before any is decoded.
//!
//! Accessors without a view are zeros and take no bytes in a file, compressed ones take few, and primitives may share
//! accessors. So the sizes of all drawn primitives are added up first. Invalid accessors count as nothing here: they
//! are errors when they are decoded.

use std::collections::BTreeSet;

use kiln_diagnostics::{Diag, Limits};
use kiln_ir::MeshId;

use super::Options;
use super::document::Document;
use super::value::Value;

/// Checks the drawn meshes against the memory that the limits admit.
pub(super) fn check(
    document: &Document<'_>,
    drawn: &BTreeSet<MeshId>,
    options: &Options<'_>,
    limits: &Limits,
) -> Result<(), Diag> {
    let (mut vertices, mut indices_total, mut bytes) = (0_u64, 0_u64, 0_u64);
    let mut exceeding: Option<Value<'_>> = None;
    for (index, mesh) in document.meshes.iter().enumerate() {
        if !drawn.contains(&MeshId(index as u32)) {
            continue;
        }
        for primitive in mesh.list("primitives")?.iter() {
            let size = Size::of(primitive, document, options);
            vertices = vertices.saturating_add(size.vertices);
            indices_total = indices_total.saturating_add(size.indices_total);
            bytes = bytes.saturating_add(size.bytes());
            if bytes > limits.max_memory {
                exceeding.get_or_insert(primitive);
            }
        }
    }
    // The message has the sum of all, so that it states a sufficient limit, at the first primitive beyond the limit.
    let what = format!("{vertices} vertices and {indices_total} indices of the drawn meshes");
    let place = exceeding.map(|primitive| primitive.pointer()).unwrap_or_default();
    limits.check_memory(bytes, what).map_err(|diag| diag.at(place))
}

/// The decoded size of a primitive.
struct Size {
    vertices: u64,
    indices_total: u64,
    vertex_bytes: u64,
}

impl Size {
    fn of(primitive: Value<'_>, document: &Document<'_>, options: &Options<'_>) -> Size {
        let count = |reference: Value<'_>| {
            let (_, accessor) = reference.resolve(document.accessors, "accessor").ok()?;
            let count = accessor.required("count").ok()?.uint().ok()?;
            // An element has at least one byte: more elements than the view has bytes are invalid.
            let fits = |view: Value<'_>| {
                let (_, view) = view.resolve(document.buffer_views, "buffer view").ok()?;
                Some(count <= view.required("byteLength").ok()?.uint().ok()?)
            };
            accessor.get("bufferView").is_none_or(|view| fits(view) == Some(true)).then_some(count as u64)
        };
        let attribute = |name: &str| primitive.get("attributes").and_then(|attributes| attributes.get(name));
        let vertices = attribute("POSITION").and_then(count).unwrap_or(0);
        let indices = match primitive.get("indices") {
            Some(reference) => count(reference).unwrap_or(0),
            None => vertices,
        };
        // Every index after the second of a strip or fan adds a triangle.
        let indices_total = match primitive.uint_or("mode", 4) {
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
        let mut vertex_bytes: u64 =
            sizes.iter().filter(|(name, _)| attribute(name).is_some()).map(|(_, size)| size).sum();
        if options.vertex_colors && attribute("COLOR_0").is_some() {
            vertex_bytes += 16;
        }
        if options.uv_sets {
            let sets = primitive.get("attributes").into_iter().flat_map(Value::names);
            let further = sets.filter(|name| name.starts_with("TEXCOORD_")).count().saturating_sub(2);
            vertex_bytes += 8 * further as u64;
        }
        if options.morph_targets
            && let Ok(targets) = primitive.list("targets")
        {
            vertex_bytes += targets.iter().map(|target| 12 * target.names().count() as u64).sum::<u64>();
        }
        // Vertices that no triangle uses are not decoded.
        Size { vertices: vertices.min(indices_total), indices_total, vertex_bytes }
    }

    fn bytes(&self) -> u64 {
        self.vertices.saturating_mul(self.vertex_bytes).saturating_add(self.indices_total.saturating_mul(4))
    }
}
