//! Generated meshes for tests.

use crate::vector::{Vec3, unit};

pub(crate) struct Sample {
    pub(crate) positions: Vec<Vec3>,
    pub(crate) normals: Vec<Vec3>,
    pub(crate) uvs: Vec<[f32; 2]>,
    pub(crate) indices: Vec<u32>,
}

/// A unit sphere with UVs once around; front faces point outward. The poles have degenerate triangles.
pub(crate) fn sphere(segments: u32, rings: u32) -> Sample {
    let mut sample = Sample { positions: vec![], normals: vec![], uvs: vec![], indices: vec![] };
    for ring in 0..=rings {
        for segment in 0..=segments {
            let (u, v) = (f64::from(segment) / f64::from(segments), f64::from(ring) / f64::from(rings));
            // Closed bit for bit: around the seam and at both poles.
            let around = f64::from(segment % segments) / f64::from(segments) * std::f64::consts::TAU;
            let down = v * std::f64::consts::PI;
            let wide = if ring == rings { 0.0 } else { libm::sin(down) };
            let p = [libm::cos(around) * wide, libm::cos(down), libm::sin(around) * wide].map(|c| c as f32);
            sample.positions.push(p);
            sample.normals.push(unit(p));
            sample.uvs.push([u as f32, v as f32]);
        }
    }
    for ring in 0..rings {
        for segment in 0..segments {
            let a = ring * (segments + 1) + segment;
            let b = a + segments + 1;
            sample.indices.extend([a, a + 1, b, b, a + 1, b + 1]);
        }
    }
    sample
}

/// A wavy sheet in the xy plane that faces +z, with the UVs mirrored at its middle column: u runs from 0 to 1
/// and back. Vertices are shared across the mirror line.
pub(crate) fn mirrored_sheet(cells: u32) -> Sample {
    let mut sample = Sample { positions: vec![], normals: vec![], uvs: vec![], indices: vec![] };
    let step = 1.0 / cells as f32;
    for row in 0..=cells {
        for column in 0..=cells {
            let (x, y) = (column as f32 * step, row as f32 * step);
            let height = |x: f32, y: f32| libm::sinf(x * 7.0) * 0.1 + libm::cosf(y * 5.0) * 0.07;
            let (dx, dy) = (libm::cosf(x * 7.0) * 0.7, -libm::sinf(y * 5.0) * 0.35);
            sample.positions.push([x, y, height(x, y)]);
            sample.normals.push(unit([-dx, -dy, 1.0]));
            sample.uvs.push([1.0 - (2.0 * x - 1.0).abs(), 1.0 - y]);
        }
    }
    for row in 0..cells {
        for column in 0..cells {
            let a = row * (cells + 1) + column;
            let b = a + cells + 1;
            sample.indices.extend([a, a + 1, b, b, a + 1, b + 1]);
        }
    }
    sample
}

/// A pseudo-random generator: the same numbers on every platform.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.next() % limit
    }

    /// Returns a number from -1 to 1.
    pub(crate) fn signed(&mut self) -> f32 {
        self.below(1 << 20) as f32 / (1 << 19) as f32 - 1.0
    }
}

/// Triangles between random vertices: non-manifold, flipped, mirrored, every corner its own vertex or shared.
pub(crate) fn soup(seed: u64, vertices: u32, triangles: u32) -> Sample {
    let mut random = Random(seed);
    let mut sample = Sample { positions: vec![], normals: vec![], uvs: vec![], indices: vec![] };
    for _ in 0..vertices {
        sample.positions.push(std::array::from_fn(|_| random.signed()));
        sample.normals.push(unit(std::array::from_fn(|axis| random.signed() + [0.0, 0.0, 2.0][axis])));
        sample.uvs.push(std::array::from_fn(|_| random.signed()));
    }
    for _ in 0..triangles {
        let [a, b, c] = std::array::from_fn(|_| random.below(vertices));
        if a != b && b != c && c != a {
            sample.indices.extend([a, b, c]);
        }
    }
    sample
}

/// `fans` cones of `sides` triangles each, every corner its own vertex with the normal of its face.
pub(crate) fn flat_fans(fans: u32, sides: u32) -> Sample {
    let mut sample = Sample { positions: vec![], normals: vec![], uvs: vec![], indices: vec![] };
    for fan in 0..fans {
        let rim = |side: u32| {
            let turn = (side % sides) as f32 / sides as f32 * std::f32::consts::TAU;
            [libm::cosf(turn) + 3.0 * fan as f32, libm::sinf(turn), 0.0]
        };
        for side in 0..sides {
            sample.positions.extend([[3.0 * fan as f32, 0.0, 1.0], rim(side), rim(side + 1)]);
        }
    }
    sample.indices = (0..sample.positions.len() as u32).collect();
    let triangles = crate::Triangles::new(&sample.indices, sample.positions.len()).unwrap();
    let faces = crate::normals::flat(triangles, &sample.positions);
    sample.normals = faces.iter().flat_map(|&normal| [normal; 3]).collect();
    sample.uvs = vec![[0.0; 2]; sample.positions.len()];
    sample
}
