//! A camera that sees the whole of a model from the front, above and to the right.

use kiln_format::hmesh::MeshBounds;

/// The matrix that takes a model's points to the screen, column by column.
pub(crate) fn around(bounds: &MeshBounds) -> [f32; 16] {
    let centre = bounds.sphere_center;
    let radius = bounds.sphere_radius.max(1e-3);
    let back = normalize([0.55, 0.45, 0.9]);
    let right = normalize(cross([0.0, 1.0, 0.0], back));
    let up = cross(back, right);
    let distance = radius * 2.9;
    let eye = [0, 1, 2].map(|i| centre[i] + back[i] * distance);
    let (near, far) = (distance - radius * 1.5, distance + radius * 1.5);
    // A view of 42 degrees: 1 / tan(21 degrees).
    let focal = 2.6;
    let (depth, shift) = (far / (near - far), near * far / (near - far));
    let row = |axis: [f32; 3]| [axis[0], axis[1], axis[2], -dot(axis, eye)];
    let (x, y, z) = (row(right).map(|n| n * focal), row(up).map(|n| n * focal), row(back));
    let mut matrix = [0.0; 16];
    for column in 0..4 {
        let w = if column == 3 { shift } else { 0.0 };
        matrix[column * 4..][..4].copy_from_slice(&[x[column], y[column], z[column] * depth + w, -z[column]]);
    }
    matrix
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn normalize(v: [f32; 3]) -> [f32; 3] {
    let length = dot(v, v).sqrt();
    v.map(|x| x / length)
}
