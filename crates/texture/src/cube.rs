//! Seamless cubemap filtering: the mip filter reads across the edge of a face onto its neighbour.
//!
//! Faces come in the order +X −X +Y −Y +Z −Z with the orientation that Vulkan, OpenGL and KTX2 share (Khronos
//! Data Format, cubemap coordinate transform). Beyond an edge the neighbour is unfolded into the plane of the
//! face, texel for texel. Beyond a corner no fourth face exists: there the texel is the average of the two
//! texels that are reached by crossing one edge first or the other.

use crate::filter_mode::{FilterMode, Texel};
use crate::kernel::{Edge, reach};
use crate::mips::Rows;
use crate::plane::Plane;

type Vec3 = [i64; 3];

/// The axes of a face: its outward normal (`out`) and the directions of its rows (`right`) and columns
/// (`down`).
#[derive(Clone, Copy)]
struct Frame {
    out: Vec3,
    right: Vec3,
    down: Vec3,
}

const fn frame(out: Vec3, right: Vec3, down: Vec3) -> Frame {
    Frame { out, right, down }
}

const FACES: [Frame; 6] = [
    frame([1, 0, 0], [0, 0, -1], [0, -1, 0]),
    frame([-1, 0, 0], [0, 0, 1], [0, -1, 0]),
    frame([0, 1, 0], [1, 0, 0], [0, 0, 1]),
    frame([0, -1, 0], [1, 0, 0], [0, 0, -1]),
    frame([0, 0, 1], [1, 0, 0], [0, -1, 0]),
    frame([0, 0, -1], [-1, 0, 0], [0, -1, 0]),
];

fn times(v: Vec3, k: i64) -> Vec3 {
    v.map(|c| c * k)
}

fn sum(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn dot(a: Vec3, b: Vec3) -> i64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// A texel on the unfolded surface of the cube: a frame that is rotated over each crossed edge, and texel
/// coordinates in it.
#[derive(Clone, Copy)]
struct CubeTexel {
    frame: Frame,
    x: i64,
    y: i64,
}

impl CubeTexel {
    /// Rotates the frame over the left or right edge if `x` is beyond it. A coordinate beyond the next edge
    /// as well is clamped to the last texel.
    fn cross_x(self, size: i64) -> CubeTexel {
        let Frame { out, right, down } = self.frame;
        if self.x < 0 {
            CubeTexel { frame: frame(times(right, -1), out, down), x: (self.x + size).max(0), ..self }
        } else if self.x >= size {
            CubeTexel { frame: frame(right, times(out, -1), down), x: (self.x - size).min(size - 1), ..self }
        } else {
            self
        }
    }

    /// Rotates the frame over the upper or lower edge if `y` is beyond it.
    fn cross_y(self, size: i64) -> CubeTexel {
        let Frame { out, right, down } = self.frame;
        if self.y < 0 {
            CubeTexel { frame: frame(times(down, -1), right, out), y: (self.y + size).max(0), ..self }
        } else if self.y >= size {
            CubeTexel { frame: frame(down, right, times(out, -1)), y: (self.y - size).min(size - 1), ..self }
        } else {
            self
        }
    }

    /// Returns the face, column and row of this texel.
    fn texel(self, size: i64) -> (usize, u32, u32) {
        let centred = |v: i64| 2 * v + 1 - size;
        let point = sum(times(self.frame.right, centred(self.x)), times(self.frame.down, centred(self.y)));
        let face = FACES.iter().position(|f| f.out == self.frame.out).unwrap_or(0);
        let along = |axis: Vec3| ((dot(point, axis) + size - 1) / 2) as u32;
        (face, along(FACES[face].right), along(FACES[face].down))
    }
}

/// Returns the direction of a point on a face, with coordinates from -1 to 1 along its rows and columns.
pub(crate) fn direction(face: usize, along: f64, down: f64) -> [f64; 3] {
    let frame = FACES[face];
    std::array::from_fn(|c| frame.out[c] as f64 + frame.right[c] as f64 * along + frame.down[c] as f64 * down)
}

/// Returns the face that a direction hits and the coordinates on it: the inverse of [`direction`].
pub(crate) fn face_coordinates([x, y, z]: [f64; 3]) -> (usize, f64, f64) {
    let face = match (x.abs(), y.abs(), z.abs()) {
        (ax, ay, az) if ax >= ay && ax >= az => usize::from(x < 0.0),
        (_, ay, az) if ay >= az => 2 + usize::from(y < 0.0),
        _ => 4 + usize::from(z < 0.0),
    };
    let along = |axis: Vec3| x * axis[0] as f64 + y * axis[1] as f64 + z * axis[2] as f64;
    let Frame { out, right, down } = FACES[face];
    (face, along(right) / along(out), along(down) / along(out))
}

/// Returns the face, column and row of a texel of a face with `size` texels a side; `x` and `y` may be one
/// texel beyond its edges.
pub(crate) fn texel_across_edge(face: usize, x: i64, y: i64, size: i64) -> (usize, u32, u32) {
    CubeTexel { frame: FACES[face], x, y }.cross_x(size).cross_y(size).texel(size)
}

/// A cubemap face with a border of its neighbours' texels.
pub(crate) struct Face<'a> {
    faces: &'a [Plane],
    face: usize,
    filter_mode: FilterMode,
    border: i64,
}

impl<'a> Face<'a> {
    /// Returns face number `face` of six square planes of the same size, to be downscaled to `to` texels a
    /// side.
    pub(crate) fn new(faces: &'a [Plane], face: usize, filter_mode: FilterMode, to: u32) -> Face<'a> {
        Face { faces, face, filter_mode, border: i64::from(reach(faces[face].width(), to)) }
    }

    /// Returns the texel at coordinates in the plane of this face, which may be beyond its edges.
    fn texel(&self, x: i64, y: i64) -> Texel {
        let size = i64::from(self.width());
        let here = CubeTexel { frame: FACES[self.face], x, y };
        let one = self.fetch(here.cross_x(size).cross_y(size));
        if (0..size).contains(&x) || (0..size).contains(&y) {
            return one;
        }
        let other = self.fetch(here.cross_y(size).cross_x(size));
        std::array::from_fn(|c| (one[c] + other[c]) / 2.0)
    }

    fn fetch(&self, place: CubeTexel) -> Texel {
        let (face, x, y) = place.texel(i64::from(self.width()));
        let mut texel = [[0.0; 4]];
        self.faces[face].read(self.filter_mode, x, y, &mut texel);
        texel[0]
    }
}

impl Rows for Face<'_> {
    fn width(&self) -> u32 {
        self.faces[self.face].width()
    }

    fn height(&self) -> u32 {
        self.width()
    }

    fn edge(&self) -> Edge {
        Edge::Border
    }

    fn read(&self, y: usize, out: &mut [Texel]) {
        let (size, y) = (i64::from(self.width()), y as i64 - self.border);
        let (left, rest) = out.split_at_mut(self.border as usize);
        let (middle, right) = rest.split_at_mut(size as usize);
        let walk = |texels: &mut [Texel], from: i64| {
            texels.iter_mut().zip(from..).for_each(|(texel, x)| *texel = self.texel(x, y));
        };
        walk(left, -self.border);
        if (0..size).contains(&y) {
            self.faces[self.face].read(self.filter_mode, 0, y as u32, middle);
        } else {
            walk(middle, 0);
        }
        walk(right, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mips;
    use crate::plane::ClampedPlane;
    use kiln_ir::{Image, Texels};

    /// Returns the direction through the centre of a texel, by the table of the Vulkan specification ("Cube
    /// Map Face Selection"), solved for the direction.
    fn direction(face: usize, x: u32, y: u32, size: u32) -> [f64; 3] {
        let s = (f64::from(x) + 0.5) / f64::from(size) * 2.0 - 1.0;
        let t = (f64::from(y) + 0.5) / f64::from(size) * 2.0 - 1.0;
        match face {
            0 => [1.0, -t, -s],
            1 => [-1.0, -t, s],
            2 => [s, 1.0, t],
            3 => [s, -1.0, -t],
            4 => [s, -t, 1.0],
            _ => [-s, -t, -1.0],
        }
    }

    fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn texel_across_edge_is_the_nearest_on_the_neighbour() {
        let size = 8;
        for (face, frame) in FACES.into_iter().enumerate() {
            for i in 0..size {
                for (inner, outer) in [
                    ((0, i), (-1, i)),
                    ((size - 1, i), (size, i)),
                    ((i, 0), (i, -1)),
                    ((i, size - 1), (i, size)),
                ] {
                    let place = CubeTexel { frame, x: outer.0, y: outer.1 };
                    let (other, x, y) = place.cross_x(size).cross_y(size).texel(size);
                    assert_ne!(other, face);
                    // Both centres are half a texel from the edge, so their distance is exactly this.
                    let gap = distance(
                        direction(face, inner.0 as u32, inner.1 as u32, 8),
                        direction(other, x, y, 8),
                    );
                    assert!(
                        (gap - 0.125 * std::f64::consts::SQRT_2).abs() < 1e-12,
                        "{face} {outer:?}: {gap}"
                    );
                }
            }
        }
    }

    #[test]
    fn coordinates_match_the_vulkan_specification() {
        for face in 0..6 {
            for (x, y) in [(0, 0), (3, 1), (7, 7), (2, 6)] {
                let centre = |v: u32| (f64::from(v) + 0.5) / 8.0 * 2.0 - 1.0;
                assert_eq!(super::direction(face, centre(x), centre(y)), direction(face, x, y, 8));
                let (found, along, down) = face_coordinates(direction(face, x, y, 8).map(|c| c * 3.0));
                assert_eq!(found, face);
                assert!((along - centre(x)).abs() < 1e-12 && (down - centre(y)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn corners_reach_both_other_faces() {
        for (face, frame) in FACES.into_iter().enumerate() {
            for (x, y) in [(-1, -1), (-1, 4), (4, -1), (4, 4)] {
                let here = CubeTexel { frame, x, y };
                let (a, ax, ay) = here.cross_x(4).cross_y(4).texel(4);
                let (b, bx, by) = here.cross_y(4).cross_x(4).texel(4);
                assert!(a != b && a != face && b != face);
                let corner = [x.max(0), y.max(0)].map(|v| v.min(3) as u32);
                let own = direction(face, corner[0], corner[1], 4);
                for other in [direction(a, ax, ay, 4), direction(b, bx, by, 4)] {
                    assert!(distance(own, other) < 0.25 * 1.5);
                }
            }
        }
    }

    #[test]
    fn border_wider_than_the_face_stays_on_the_cube() {
        let faces: Vec<Plane> = (0..6u8)
            .map(|i| Plane::Source(Image::new(1, 1, Texels::Rgba8(vec![i, i, i, 255])).unwrap()))
            .collect();
        let face = Face { faces: &faces, face: 0, filter_mode: FilterMode::Data, border: 5 };
        let mut row = [[0.0; 4]; 11];
        for y in 0..11 {
            face.read(y, &mut row);
            assert!(row.iter().all(|t| (0.0..=5.0 / 255.0).contains(&t[0])));
        }
    }

    /// A smooth function of the direction without the symmetries of the cube.
    fn sky(v: [f64; 3]) -> f64 {
        let length = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
        let [x, y, z] = v.map(|c| c / length);
        libm::sin(2.0 * x + 1.0 + z) + libm::cos(2.2 * y - 1.5 * z + 0.7 * x)
    }

    fn skies(size: u32) -> Vec<Plane> {
        let texel =
            |face: usize, i: u32| [sky(direction(face, i % size, i / size, size)) as f32, 0.0, 0.0, 1.0];
        let face = |face| (0..size * size).map(|i| texel(face, i)).collect();
        (0..6).map(|f| Plane::Filtered { width: size, texels: face(f) }).collect()
    }

    /// Returns the mean difference between the steps across all edges and those of the sky function.
    fn seam(faces: &[Plane]) -> f64 {
        let size = faces[0].width();
        let value = |(face, x, y): (usize, u32, u32)| {
            let mut texel = [[0.0; 4]];
            faces[face].read(FilterMode::Data, x, y, &mut texel);
            f64::from(texel[0][0]) - sky(direction(face, x, y, size))
        };
        let last = i64::from(size) - 1;
        let mut sum = 0.0;
        for (face, frame) in FACES.into_iter().enumerate() {
            for i in 0..=last {
                for (x, y, dx, dy) in [(0, i, -1, 0), (last, i, 1, 0), (i, 0, 0, -1), (i, last, 0, 1)] {
                    let over = CubeTexel { frame, x: x + dx, y: y + dy };
                    let over = over.cross_x(last + 1).cross_y(last + 1).texel(last + 1);
                    sum += (value((face, x as u32, y as u32)) - value(over)).abs();
                }
            }
        }
        sum / f64::from(24 * size)
    }

    #[test]
    fn seams_are_smaller_than_with_clamping() {
        let (mut ours, mut clamped) = (skies(64), skies(64));
        for size in [32, 16, 8] {
            let plane = |texels| Plane::Filtered { width: size, texels };
            let shrink =
                |i| mips::shrink(&Face::new(&ours, i, FilterMode::Data, size), FilterMode::Data, size, size);
            ours = (0..6).map(|i| plane(shrink(i))).collect();
            let flat = |p| {
                mips::shrink(
                    &ClampedPlane { plane: p, filter_mode: FilterMode::Data },
                    FilterMode::Data,
                    size,
                    size,
                )
            };
            clamped = clamped.iter().map(|p| plane(flat(p))).collect();
            let (ours, clamped) = (seam(&ours), seam(&clamped));
            assert!(ours < clamped / 3.0, "{size}: {ours} against {clamped}");
        }
    }
}
