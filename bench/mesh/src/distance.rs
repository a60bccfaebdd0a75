//! Distances of points from a triangle mesh: an independent measure of LODs.

type Vec3 = [f64; 3];

/// Triangles in the cells of a grid.
pub struct Surface<'a> {
    positions: &'a [[f32; 3]],
    triangles: &'a [[u32; 3]],
    min: Vec3,
    cell: f64,
    size: [usize; 3],
    cells: Vec<Vec<u32>>,
}

/// The nearest point of a surface: how far, in which triangle, and the weights of its corners there.
#[derive(Clone, Copy)]
pub struct Hit {
    pub square: f64,
    pub triangle: [u32; 3],
    pub weights: Vec3,
}

impl<'a> Surface<'a> {
    /// Over `triangles`, with room for the boxes of all `positions`.
    pub fn new(positions: &'a [[f32; 3]], indices: &'a [u32]) -> Self {
        let (triangles, _) = indices.as_chunks::<3>();
        let (mut min, mut max) = ([f64::MAX; 3], [f64::MIN; 3]);
        for p in positions {
            for axis in 0..3 {
                min[axis] = min[axis].min(f64::from(p[axis]));
                max[axis] = max[axis].max(f64::from(p[axis]));
            }
        }
        let extent = (0..3).map(|axis| max[axis] - min[axis]).fold(1e-30, f64::max);
        // About a triangle to a cell of the surface.
        let cell = extent / ((triangles.len() as f64).sqrt() * 0.5).clamp(1.0, 400.0);
        let size = std::array::from_fn(|axis| ((max[axis] - min[axis]) / cell) as usize + 1);
        let mut surface =
            Self { positions, triangles, min, cell, size, cells: vec![Vec::new(); size.iter().product()] };
        for (number, triangle) in triangles.iter().enumerate() {
            let corners = triangle.map(|v| surface.cell_of(surface.at(v)));
            let low: [usize; 3] =
                std::array::from_fn(|axis| corners.iter().map(|c| c[axis]).min().unwrap_or(0));
            let high: [usize; 3] =
                std::array::from_fn(|axis| corners.iter().map(|c| c[axis]).max().unwrap_or(0));
            for z in low[2]..=high[2] {
                for y in low[1]..=high[1] {
                    for x in low[0]..=high[0] {
                        surface.cells[(z * size[1] + y) * size[0] + x].push(number as u32);
                    }
                }
            }
        }
        surface
    }

    fn at(&self, vertex: u32) -> Vec3 {
        self.positions[vertex as usize].map(f64::from)
    }

    fn cell_of(&self, point: Vec3) -> [usize; 3] {
        std::array::from_fn(|axis| {
            (((point[axis] - self.min[axis]) / self.cell) as usize).min(self.size[axis] - 1)
        })
    }

    /// The nearest point to `point`, ring of cells by ring of cells.
    pub fn nearest(&self, point: [f32; 3]) -> Option<Hit> {
        let point = point.map(f64::from);
        let centre = self.cell_of(point).map(|c| c as isize);
        let mut best: Option<Hit> = None;
        for ring in 0..*self.size.iter().max()? as isize {
            // Whatever is in this ring is at least so far away.
            let least = (ring - 1).max(0) as f64 * self.cell;
            if best.is_some_and(|hit| hit.square < least * least) {
                break;
            }
            let range = |axis: usize| {
                (centre[axis] - ring).max(0)..=(centre[axis] + ring).min(self.size[axis] as isize - 1)
            };
            for z in range(2) {
                for y in range(1) {
                    let shell = (z - centre[2]).abs() == ring || (y - centre[1]).abs() == ring;
                    for x in range(0).filter(|x| shell || (x - centre[0]).abs() == ring) {
                        let cell = (z as usize * self.size[1] + y as usize) * self.size[0] + x as usize;
                        for &number in &self.cells[cell] {
                            let triangle = self.triangles[number as usize];
                            let (square, weights) = to_triangle(point, triangle.map(|v| self.at(v)));
                            if best.is_none_or(|hit| square < hit.square) {
                                best = Some(Hit { square, triangle, weights });
                            }
                        }
                    }
                }
            }
        }
        best
    }
}

fn sub(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The squared distance, and the weights of the nearest point: inside, or on the nearest edge.
fn to_triangle(p: Vec3, [a, b, c]: [Vec3; 3]) -> (f64, Vec3) {
    let (u, v, w) = (sub(b, a), sub(c, a), sub(p, a));
    let (uu, uv, vv, wu, wv) = (dot(u, u), dot(u, v), dot(v, v), dot(w, u), dot(w, v));
    let area = uu * vv - uv * uv;
    let (s, t) = ((vv * wu - uv * wv) / area, (uu * wv - uv * wu) / area);
    let square = |weights: Vec3| {
        let at: Vec3 = std::array::from_fn(|i| a[i] * weights[0] + b[i] * weights[1] + c[i] * weights[2]);
        (dot(sub(p, at), sub(p, at)), weights)
    };
    if s >= 0.0 && t >= 0.0 && s + t <= 1.0 {
        return square([1.0 - s - t, s, t]);
    }
    let along = |from: Vec3, to: Vec3| {
        let edge = sub(to, from);
        let length = dot(edge, edge);
        if length > 0.0 { (dot(sub(p, from), edge) / length).clamp(0.0, 1.0) } else { 0.0 }
    };
    let (x, y, z) = (along(a, b), along(b, c), along(c, a));
    let edges = [square([1.0 - x, x, 0.0]), square([0.0, 1.0 - y, y]), square([z, 0.0, 1.0 - z])];
    edges.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::MAX, [1.0, 0.0, 0.0]))
}
