//! The contents of a mesh: every number that an engine or a GPU will follow, and every bound it will cull by.

use core::mem::offset_of;

use super::records::*;
use super::view::{HmeshView, Indices};
use crate::error::{below, equal, finite};
use crate::{Array, Error};

/// Weights are divided by their sum in 32 bits, and other writers may round them to 16.
const WEIGHT_TOLERANCE: f32 = 1e-3;

impl HmeshView<'_> {
    /// Checks what [`read`](Self::read) leaves out: that no index leads astray, that meshlets hold the triangles of
    /// their submesh, that bounds hold what they bound, that numbers are finite, and that no byte is unaccounted
    /// for. Takes time in proportion to the file, which one that Kiln wrote need not spend again.
    pub fn verify(&self) -> Result<(), Error> {
        self.chunks.check_layout()?;
        let room = self.check_bounds()?;
        self.check_vertices(room)?;
        self.check_skin()?;
        self.check_joint_values()?;
        let mut meshlets = Meshlets::default();
        for (i, sub) in self.submeshes().iter().enumerate() {
            let triangles = self.check_submesh(i, &sub, room)?;
            if self.desc().meshlet_count > 0 && self.check_meshlets(&sub, &mut meshlets, room)? != triangles {
                let at = self.at(ChunkId::SubMeshes) + (i * SubMesh::SIZE) as u64;
                let why = "holds other triangles in its meshlets than in its indices";
                return Err(Error::Fault { at, field: "submesh", why });
            }
        }
        self.must_be(ChunkId::MeshletVertices, meshlets.vertices * 4)?;
        self.must_be(ChunkId::MeshletTriangles, meshlets.triangles * 3)?;
        for (i, index) in self.lod_indices().iter().enumerate() {
            below(self.place(ChunkId::LodIndices, i, 4, 0), "index", index, self.desc().vertex_count)?;
        }
        Ok(())
    }

    /// Where a field of a record is.
    fn place(&self, id: ChunkId, index: usize, each: usize, offset: usize) -> u64 {
        self.at(id) + (index * each + offset) as u64
    }

    /// The bounds of the mesh and of its parts, and how far rounding may take something out of them.
    fn check_bounds(&self) -> Result<Room, Error> {
        let bounds = self.bounds();
        check_bounds(&bounds, self.at(ChunkId::Bounds))?;
        let room = Room::of(&bounds);
        let hull = room.around_box(&bounds);
        for (i, sub) in self.submeshes().iter().enumerate() {
            let at = self.place(ChunkId::SubMeshes, i, SubMesh::SIZE, offset_of!(SubMesh, bounds));
            check_bounds(&sub.bounds, at)?;
            if !hull.holds(sub.bounds.aabb_min) || !hull.holds(sub.bounds.aabb_max) {
                let why = "lie outside those of the mesh";
                return Err(Error::Fault { at, field: "bounds", why });
            }
        }
        Ok(room)
    }

    fn check_vertices(&self, room: Room) -> Result<(), Error> {
        let hull = room.around(&self.bounds());
        let tangents = self.has_tangents();
        for (i, vertex) in self.vertices().iter().enumerate() {
            let at = |offset| self.place(ChunkId::Vertices, i, GpuVertex::SIZE, offset);
            finite(at(offset_of!(GpuVertex, position)), "position", &vertex.position)?;
            finite(at(offset_of!(GpuVertex, uv)), "uv", &vertex.uv)?;
            if !hull.holds(vertex.position) {
                let at = at(offset_of!(GpuVertex, position));
                return Err(Error::Fault {
                    at,
                    field: "position",
                    why: "lies outside the bounds of the mesh",
                });
            }
            if !tangents && vertex.tangent != [0; 2] {
                let at = at(offset_of!(GpuVertex, tangent));
                return Err(Error::Fault {
                    at,
                    field: "tangent",
                    why: "is there, but the mesh says it has none",
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
                let why = "are negative, or do not add up to 1";
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

    /// The indices of a submesh; returns what its triangles add up to.
    fn check_submesh(&self, number: usize, sub: &SubMesh, room: Room) -> Result<Sum, Error> {
        let vertices = self.vertices();
        let each = usize::from(self.desc().index_width);
        let hull = room.around(&sub.bounds);
        let fine = |index: u32| vertices.get(index as usize).is_some_and(|v| hull.holds(v.position));
        let sum = match self.submesh_indices(sub) {
            Indices::U16(indices) => triangles(indices.iter().map(u32::from), fine),
            Indices::U32(indices) => triangles(indices.iter(), fine),
        };
        sum.map_err(|(i, index)| {
            let at = self.place(ChunkId::Indices, sub.first_index as usize + i, each, 0);
            let bounds_at =
                self.place(ChunkId::SubMeshes, number, SubMesh::SIZE, offset_of!(SubMesh, bounds));
            let why = "do not hold all vertices of the submesh";
            let outside = Error::Fault { at: bounds_at, field: "bounds", why };
            below(at, "index", index, self.desc().vertex_count).err().unwrap_or(outside)
        })
    }

    /// The meshlets of a submesh; returns what their triangles add up to.
    fn check_meshlets(&self, sub: &SubMesh, done: &mut Meshlets, room: Room) -> Result<Sum, Error> {
        let desc = self.desc();
        let mut sum = Sum::default();
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
                return Err(Error::Fault { at: at(0), field: "meshlet", why: "reaches beyond its chunks" });
            };
            sum.add(self.check_meshlet(number, &meshlet, vertices, triangles, room)?);
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
        room: Room,
    ) -> Result<Sum, Error> {
        let at = |offset| self.place(ChunkId::MeshletBounds, number, MeshletBounds::SIZE, offset);
        let bounds = self.meshlet_bounds().get(number).unwrap_or_default();
        finite(at(offset_of!(MeshletBounds, center)), "center", &bounds.center)?;
        radius_at(at(offset_of!(MeshletBounds, radius)), "radius", bounds.radius)?;
        finite(at(offset_of!(MeshletBounds, cone_axis)), "cone_axis", &bounds.cone_axis)?;
        finite(at(offset_of!(MeshletBounds, cone_cutoff)), "cone_cutoff", &[bounds.cone_cutoff])?;
        let hull = room.around_sphere(bounds.center, bounds.radius);
        // As many as a byte can name.
        let mut global = [0; 256];
        let mut all_inside = true;
        for (i, (index, slot)) in vertices.iter().zip(&mut global).enumerate() {
            *slot = index;
            let Some(vertex) = self.vertices().get(index as usize) else {
                let at = self.place(ChunkId::MeshletVertices, meshlet.vertex_offset as usize + i, 4, 0);
                return below(at, "vertex", index, self.desc().vertex_count).map(|()| Sum::default());
            };
            all_inside &= hull.holds(vertex.position);
        }
        let mut sum = Sum::default();
        for (i, corners) in triangles.iter().enumerate() {
            if let Some(j) = corners.into_iter().position(|corner| u32::from(corner) >= meshlet.vertex_count)
            {
                let at = self.place(ChunkId::MeshletTriangles, meshlet.triangle_offset as usize + i, 3, j);
                below(at, "corner", corners[j], meshlet.vertex_count)?;
            }
            let triangle = corners.map(|corner| global[usize::from(corner)]);
            if !all_inside {
                let corners = triangle.map(|v| self.vertices().get(v as usize).unwrap_or_default().position);
                // A triangle that is never seen may have been left out of the sphere.
                if has_area(corners) && !corners.into_iter().all(|corner| hull.holds(corner)) {
                    let why = "does not hold all triangles of the meshlet";
                    return Err(Error::Fault { at: at(0), field: "sphere", why });
                }
            }
            sum.triangle(triangle);
        }
        Ok(sum)
    }
}

/// How much of the vertices and triangles of meshlets was seen.
#[derive(Default)]
struct Meshlets {
    vertices: u64,
    triangles: u64,
}

/// What a bag of triangles adds up to, in whatever order they come and with whichever corner they start, but not
/// wound the other way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    count: u64,
    hash: u64,
}

impl Sum {
    fn triangle(&mut self, [a, b, c]: [u32; 3]) {
        // The least rotation; that its first two corners decide, since where they tie all three are the same.
        let side = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        let turns = [(side(a, b), c), (side(b, c), a), (side(c, a), b)];
        let least = |x: (u64, u32), y: (u64, u32)| if y.0 < x.0 { y } else { x };
        let (side, corner) = least(least(turns[0], turns[1]), turns[2]);
        // The finish of MurmurHash3 spreads each bit, so that sums of neighbouring triangles do not cancel out.
        let mut hash = side ^ u64::from(corner).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        self.add(Sum { count: 1, hash: hash ^ hash >> 33 });
    }

    fn add(&mut self, other: Sum) {
        self.count += other.count;
        self.hash = self.hash.wrapping_add(other.hash);
    }
}

/// Sums up triangles, unless a corner is not fine: then returns its place and what it is.
fn triangles(indices: impl Iterator<Item = u32>, fine: impl Fn(u32) -> bool) -> Result<Sum, (usize, u32)> {
    let mut sum = Sum::default();
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

/// How far rounding may have taken something out of its bounds.
#[derive(Clone, Copy)]
struct Room {
    of_box: f32,
    of_sphere: f32,
}

impl Room {
    /// A box is made of coordinates of the vertices themselves. A sphere is the result of arithmetic, whose error
    /// grows with the distance from the origin.
    fn of(bounds: &MeshBounds) -> Room {
        let axes = || bounds.aabb_min.into_iter().zip(bounds.aabb_max);
        let extent = axes().fold(1.0, |most: f32, (min, max)| most.max(max - min));
        let far = axes().fold(extent, |most, (min, max)| most.max(-min).max(max));
        Room { of_box: 1e-5 * extent, of_sphere: 1e-5 * far }
    }

    fn around_box(self, bounds: &MeshBounds) -> Hull {
        Hull {
            min: bounds.aabb_min.map(|min| min - self.of_box),
            max: bounds.aabb_max.map(|max| max + self.of_box),
            ..Hull::EVERYWHERE
        }
    }

    fn around_sphere(self, center: [f32; 3], radius: f32) -> Hull {
        let radius = f64::from(radius) + f64::from(self.of_sphere);
        Hull { center: center.map(f64::from), square: radius * radius, ..Hull::EVERYWHERE }
    }

    fn around(self, bounds: &MeshBounds) -> Hull {
        let Hull { center, square, .. } = self.around_sphere(bounds.sphere_center, bounds.sphere_radius);
        Hull { center, square, ..self.around_box(bounds) }
    }
}

/// Bounds with room.
struct Hull {
    min: [f32; 3],
    max: [f32; 3],
    center: [f64; 3],
    /// Of the radius.
    square: f64,
}

impl Hull {
    const EVERYWHERE: Hull = Hull {
        min: [f32::NEG_INFINITY; 3],
        max: [f32::INFINITY; 3],
        center: [0.0; 3],
        square: f64::INFINITY,
    };

    #[inline]
    fn holds(&self, point: [f32; 3]) -> bool {
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

/// Whether a triangle is more than a line: its angle at `a` is at least 1e-5, beyond what 32 bits could round away.
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
