//! Full validation of a mesh: every index that an engine or a GPU will follow, and every bound that it will
//! cull by.

mod clusters;

use core::mem::offset_of;

use super::records::*;
use super::view::{HmeshView, Indices};
use crate::error::{below, equal, finite};
use crate::{Array, Error};

/// Tolerance of the sum of weights: they are normalised in 32-bit floats, and other writers may round them to
/// 16 bits.
const WEIGHT_TOLERANCE: f32 = 1e-3;

impl HmeshView<'_> {
    /// Checks what [`read`](Self::read) leaves out: indices are in range, meshlets contain the triangles of
    /// their submesh, bounds contain what they bound, numbers are finite, and no byte is unaccounted for. The
    /// time is linear in the size of the file; files that Kiln wrote need no second check.
    ///
    /// # Errors
    ///
    /// [`Error`] at the first defect.
    pub fn verify(&self) -> Result<(), Error> {
        self.chunks.check_layout()?;
        let tolerance = self.check_bounds()?;
        self.check_vertices(tolerance)?;
        self.check_skin()?;
        self.check_joint_values()?;
        self.check_extra()?;
        let mut meshlets = Meshlets::default();
        let mut source = TriangleChecksum::default();
        for (i, sub) in self.submeshes().iter().enumerate() {
            let triangles = self.check_submesh(i, &sub, tolerance)?;
            source.add(triangles.of_submesh(i as u32));
            if self.desc().meshlet_count > 0
                && self.check_meshlets(&sub, &mut meshlets, tolerance)? != triangles
            {
                let at = self.at(ChunkId::SubMeshes) + (i * SubMesh::SIZE) as u64;
                let why = "has meshlets with other triangles than its indices";
                return Err(Error::Fault { at, field: "submesh", why });
            }
        }
        self.must_be(ChunkId::MeshletVertices, meshlets.vertices * 4)?;
        self.must_be(ChunkId::MeshletTriangles, meshlets.triangles * 3)?;
        for (i, index) in self.lod_indices().iter().enumerate() {
            below(self.place(ChunkId::LodIndices, i, 4, 0), "index", index, self.desc().vertex_count)?;
        }
        self.check_clusters(source, tolerance)
    }

    /// Returns the byte offset of a field of record `index`.
    pub(super) fn place(&self, id: ChunkId, index: usize, each: usize, offset: usize) -> u64 {
        self.at(id) + (index * each + offset) as u64
    }

    /// Checks the bounds of the mesh and its submeshes; returns the rounding tolerance.
    fn check_bounds(&self) -> Result<Tolerance, Error> {
        let bounds = self.bounds();
        check_bounds(&bounds, self.at(ChunkId::Bounds))?;
        let tolerance = Tolerance::of(&bounds);
        let padded = tolerance.around_box(&bounds);
        for (i, sub) in self.submeshes().iter().enumerate() {
            let at = self.place(ChunkId::SubMeshes, i, SubMesh::SIZE, offset_of!(SubMesh, bounds));
            check_bounds(&sub.bounds, at)?;
            if !padded.contains(sub.bounds.aabb_min) || !padded.contains(sub.bounds.aabb_max) {
                let why = "are outside the bounds of the mesh";
                return Err(Error::Fault { at, field: "bounds", why });
            }
        }
        Ok(tolerance)
    }

    fn check_vertices(&self, tolerance: Tolerance) -> Result<(), Error> {
        let padded = tolerance.around(&self.bounds());
        let tangents = self.has_tangents();
        for (i, vertex) in self.vertices().iter().enumerate() {
            let at = |offset| self.place(ChunkId::Vertices, i, GpuVertex::SIZE, offset);
            finite(at(offset_of!(GpuVertex, position)), "position", &vertex.position)?;
            finite(at(offset_of!(GpuVertex, uv)), "uv", &vertex.uv)?;
            if !padded.contains(vertex.position) {
                let at = at(offset_of!(GpuVertex, position));
                return Err(Error::Fault { at, field: "position", why: "is outside the bounds of the mesh" });
            }
            if !tangents && vertex.tangent != [0; 2] {
                let at = at(offset_of!(GpuVertex, tangent));
                return Err(Error::Fault {
                    at,
                    field: "tangent",
                    why: "is set, but the mesh has no tangents",
                });
            }
        }
        Ok(())
    }

    fn check_skin(&self) -> Result<(), Error> {
        let joints = self.joints().len() as u64;
        for (i, skin) in self.skin().iter().enumerate() {
            let at = |offset| self.place(ChunkId::Skin, i, GpuSkinVertex::SIZE, offset);
            for (j, joint) in skin.joints.into_iter().enumerate() {
                below(at(offset_of!(GpuSkinVertex, joints) + 2 * j), "joint", joint, joints)?;
            }
            let at = at(offset_of!(GpuSkinVertex, weights));
            finite(at, "weights", &skin.weights)?;
            let sum: f32 = skin.weights.iter().sum();
            if skin.weights.iter().any(|&w| w < 0.0) || (sum - 1.0).abs() > WEIGHT_TOLERANCE {
                let why = "are negative or do not sum to 1";
                return Err(Error::Fault { at, field: "weights", why });
            }
        }
        Ok(())
    }

    fn check_joint_values(&self) -> Result<(), Error> {
        for (i, joint) in self.joints().iter().enumerate() {
            let at = |offset| self.place(ChunkId::Skeleton, i, GpuJoint::SIZE, offset);
            finite(at(offset_of!(GpuJoint, inverse_bind)), "inverse_bind", &joint.inverse_bind)?;
            finite(at(offset_of!(GpuJoint, bind_t)), "bind_t", &joint.bind_t)?;
            finite(at(offset_of!(GpuJoint, bind_r)), "bind_r", &joint.bind_r)?;
            finite(at(offset_of!(GpuJoint, bind_s)), "bind_s", &joint.bind_s)?;
            equal(at(offset_of!(GpuJoint, pad)), "pad", joint.pad, 0u32)?;
        }
        Ok(())
    }

    /// Checks the indices of a submesh; returns the checksum of its triangles.
    fn check_submesh(
        &self,
        number: usize,
        sub: &SubMesh,
        tolerance: Tolerance,
    ) -> Result<TriangleChecksum, Error> {
        let vertices = self.vertices();
        let each = usize::from(self.desc().index_width);
        let padded = tolerance.around(&sub.bounds);
        let fine = |index: u32| vertices.get(index as usize).is_some_and(|v| padded.contains(v.position));
        let sum = match self.submesh_indices(sub) {
            Indices::U16(indices) => triangles(indices.iter().map(u32::from), fine),
            Indices::U32(indices) => triangles(indices.iter(), fine),
        };
        sum.map_err(|(i, index)| {
            let at = self.place(ChunkId::Indices, sub.first_index as usize + i, each, 0);
            let bounds_at =
                self.place(ChunkId::SubMeshes, number, SubMesh::SIZE, offset_of!(SubMesh, bounds));
            let why = "do not contain all vertices of the submesh";
            let outside = Error::Fault { at: bounds_at, field: "bounds", why };
            below(at, "index", index, self.desc().vertex_count).err().unwrap_or(outside)
        })
    }

    /// Checks the meshlets of a submesh; returns the checksum of their triangles.
    fn check_meshlets(
        &self,
        sub: &SubMesh,
        done: &mut Meshlets,
        tolerance: Tolerance,
    ) -> Result<TriangleChecksum, Error> {
        let desc = self.desc();
        let mut sum = TriangleChecksum::default();
        for (i, meshlet) in self.submesh_meshlets(sub).iter().enumerate() {
            let number = sub.first_meshlet as usize + i;
            let at = |offset| self.place(ChunkId::Meshlets, number, Meshlet::SIZE, offset);
            let Meshlet { vertex_offset, vertex_count, triangle_offset, triangle_count } = meshlet;
            let most = |max: u32| u64::from(max) + 1;
            equal(at(offset_of!(Meshlet, vertex_offset)), "vertex_offset", vertex_offset, done.vertices)?;
            let max = most(desc.meshlet_max_verts);
            below(at(offset_of!(Meshlet, vertex_count)), "vertex_count", vertex_count, max)?;
            let offset = offset_of!(Meshlet, triangle_offset);
            equal(at(offset), "triangle_offset", triangle_offset, done.triangles)?;
            let max = most(desc.meshlet_max_tris);
            below(at(offset_of!(Meshlet, triangle_count)), "triangle_count", triangle_count, max)?;
            let ranges = (
                self.meshlet_vertices().range(vertex_offset, vertex_count),
                self.meshlet_triangles().range(triangle_offset, triangle_count),
            );
            let (Some(vertices), Some(triangles)) = ranges else {
                return Err(Error::Fault {
                    at: at(0),
                    field: "meshlet",
                    why: "has a range out of the bounds of its chunks",
                });
            };
            sum.add(self.check_meshlet(number, &meshlet, vertices, triangles, tolerance)?);
            done.vertices += u64::from(vertex_count);
            done.triangles += u64::from(triangle_count);
        }
        Ok(sum)
    }

    fn check_meshlet(
        &self,
        number: usize,
        meshlet: &Meshlet,
        vertices: Array<'_, u32>,
        triangles: Array<'_, [u8; 3]>,
        tolerance: Tolerance,
    ) -> Result<TriangleChecksum, Error> {
        let at = |offset| self.place(ChunkId::MeshletBounds, number, MeshletBounds::SIZE, offset);
        let bounds = self.meshlet_bounds().get(number).unwrap_or_default();
        finite(at(offset_of!(MeshletBounds, center)), "center", &bounds.center)?;
        radius_at(at(offset_of!(MeshletBounds, radius)), "radius", bounds.radius)?;
        finite(at(offset_of!(MeshletBounds, cone_axis)), "cone_axis", &bounds.cone_axis)?;
        finite(at(offset_of!(MeshletBounds, cone_cutoff)), "cone_cutoff", &[bounds.cone_cutoff])?;
        let padded = tolerance.around_sphere(bounds.center, bounds.radius);
        // As many vertices as a byte can index.
        let mut global = [0; 256];
        let mut all_inside = true;
        for (i, (index, slot)) in vertices.iter().zip(&mut global).enumerate() {
            *slot = index;
            let Some(vertex) = self.vertices().get(index as usize) else {
                let at = self.place(ChunkId::MeshletVertices, meshlet.vertex_offset as usize + i, 4, 0);
                return below(at, "vertex", index, self.desc().vertex_count)
                    .map(|()| TriangleChecksum::default());
            };
            all_inside &= padded.contains(vertex.position);
        }
        let mut sum = TriangleChecksum::default();
        for (i, corners) in triangles.iter().enumerate() {
            if let Some(j) = corners.into_iter().position(|corner| u32::from(corner) >= meshlet.vertex_count)
            {
                let at = self.place(ChunkId::MeshletTriangles, meshlet.triangle_offset as usize + i, 3, j);
                below(at, "corner", corners[j], meshlet.vertex_count)?;
            }
            let triangle = corners.map(|corner| global[usize::from(corner)]);
            if !all_inside {
                let corners = triangle.map(|v| self.vertices().get(v as usize).unwrap_or_default().position);
                // A degenerate triangle is never visible and may be outside the sphere.
                if has_area(corners) && !corners.into_iter().all(|corner| padded.contains(corner)) {
                    let why = "does not contain all triangles of the meshlet";
                    return Err(Error::Fault { at: at(0), field: "sphere", why });
                }
            }
            sum.triangle(triangle);
        }
        Ok(sum)
    }
}

/// The meshlet vertices and triangles consumed so far.
#[derive(Default)]
struct Meshlets {
    vertices: u64,
    triangles: u64,
}

/// An order-independent checksum of triangles. It does not depend on which corner a triangle starts with, but
/// it does depend on the winding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TriangleChecksum {
    count: u64,
    hash: u64,
}

impl TriangleChecksum {
    fn triangle(&mut self, [a, b, c]: [u32; 3]) {
        // The smallest rotation. The first two corners decide, since all three are equal if these tie.
        let side = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        let turns = [(side(a, b), c), (side(b, c), a), (side(c, a), b)];
        let least = |x: (u64, u32), y: (u64, u32)| if y.0 < x.0 { y } else { x };
        let (side, corner) = least(least(turns[0], turns[1]), turns[2]);
        // The finaliser of MurmurHash3 mixes all bits, so that sums of adjacent triangles do not cancel out.
        let mut hash = side ^ u64::from(corner).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        self.add(TriangleChecksum { count: 1, hash: hash ^ hash >> 33 });
    }

    /// Returns the checksum, made different for each submesh.
    fn of_submesh(self, submesh: u32) -> Self {
        Self { hash: self.hash.wrapping_mul(2 * u64::from(submesh) + 1), ..self }
    }

    fn add(&mut self, other: TriangleChecksum) {
        self.count += other.count;
        self.hash = self.hash.wrapping_add(other.hash);
    }
}

/// Computes the checksum of triangles; if a corner fails the predicate `fine`, returns its position and
/// value.
fn triangles(
    indices: impl Iterator<Item = u32>,
    fine: impl Fn(u32) -> bool,
) -> Result<TriangleChecksum, (usize, u32)> {
    let mut sum = TriangleChecksum::default();
    let mut triangle = [0; 3];
    for (i, index) in indices.enumerate() {
        if !fine(index) {
            return Err((i, index));
        }
        triangle[i % 3] = index;
        if i % 3 == 2 {
            sum.triangle(triangle);
        }
    }
    Ok(sum)
}

/// The tolerance for rounding errors in bounds.
#[derive(Clone, Copy)]
struct Tolerance {
    of_box: f32,
    of_sphere: f32,
}

impl Tolerance {
    /// Computes the tolerance. A box consists of vertex coordinates, so it is exact. A sphere is computed,
    /// and its error grows with the distance from the origin.
    fn of(bounds: &MeshBounds) -> Tolerance {
        let axes = || bounds.aabb_min.into_iter().zip(bounds.aabb_max);
        let extent = axes().fold(1.0, |most: f32, (min, max)| most.max(max - min));
        let far = axes().fold(extent, |most, (min, max)| most.max(-min).max(max));
        Tolerance { of_box: 1e-5 * extent, of_sphere: 1e-5 * far }
    }

    fn around_box(self, bounds: &MeshBounds) -> PaddedBounds {
        PaddedBounds {
            min: bounds.aabb_min.map(|min| min - self.of_box),
            max: bounds.aabb_max.map(|max| max + self.of_box),
            ..PaddedBounds::EVERYWHERE
        }
    }

    fn around_sphere(self, center: [f32; 3], radius: f32) -> PaddedBounds {
        let radius = f64::from(radius) + f64::from(self.of_sphere);
        PaddedBounds { center: center.map(f64::from), square: radius * radius, ..PaddedBounds::EVERYWHERE }
    }

    fn around(self, bounds: &MeshBounds) -> PaddedBounds {
        let PaddedBounds { center, square, .. } =
            self.around_sphere(bounds.sphere_center, bounds.sphere_radius);
        PaddedBounds { center, square, ..self.around_box(bounds) }
    }
}

/// Bounds, extended by the tolerance.
struct PaddedBounds {
    min: [f32; 3],
    max: [f32; 3],
    center: [f64; 3],
    /// The square of the radius.
    square: f64,
}

impl PaddedBounds {
    const EVERYWHERE: PaddedBounds = PaddedBounds {
        min: [f32::NEG_INFINITY; 3],
        max: [f32::INFINITY; 3],
        center: [0.0; 3],
        square: f64::INFINITY,
    };

    #[inline]
    fn contains(&self, point: [f32; 3]) -> bool {
        let mut inside = true;
        let mut square = 0.0;
        for (axis, p) in point.into_iter().enumerate() {
            inside &= self.min[axis] <= p && p <= self.max[axis];
            let distance = f64::from(p) - self.center[axis];
            square += distance * distance;
        }
        inside && square <= self.square
    }
}

/// Returns whether a triangle is non-degenerate: its angle at `a` is at least 1e-5 radians, beyond the
/// rounding error of 32-bit floats.
fn has_area([a, b, c]: [[f32; 3]; 3]) -> bool {
    let side = |to: [f32; 3]| [0, 1, 2].map(|axis| f64::from(to[axis]) - f64::from(a[axis]));
    let square = |[x, y, z]: [f64; 3]| x * x + y * y + z * z;
    let ([x, y, z], [u, v, w]) = (side(b), side(c));
    square([y * w - z * v, z * u - x * w, x * v - y * u]) > 1e-10 * square([x, y, z]) * square([u, v, w])
}

fn check_bounds(bounds: &MeshBounds, at: u64) -> Result<(), Error> {
    let at = |offset: usize| at + offset as u64;
    finite(at(offset_of!(MeshBounds, aabb_min)), "aabb_min", &bounds.aabb_min)?;
    finite(at(offset_of!(MeshBounds, aabb_max)), "aabb_max", &bounds.aabb_max)?;
    finite(at(offset_of!(MeshBounds, sphere_center)), "sphere_center", &bounds.sphere_center)?;
    radius_at(at(offset_of!(MeshBounds, sphere_radius)), "sphere_radius", bounds.sphere_radius)?;
    if bounds.aabb_min.into_iter().zip(bounds.aabb_max).any(|(min, max)| min > max) {
        return Err(Error::Fault { at: at(0), field: "aabb_min", why: "is greater than aabb_max" });
    }
    Ok(())
}

fn radius_at(at: u64, field: &'static str, radius: f32) -> Result<(), Error> {
    finite(at, field, &[radius])?;
    if radius < 0.0 { Err(Error::Fault { at, field, why: "is negative" }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
