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
        for (i, sub) in self.submeshes().iter().enumerate() {
            let at = self.place(ChunkId::SubMeshes, i, SubMesh::SIZE, offset_of!(SubMesh, bounds));
            check_bounds(&sub.bounds, at)?;
            if !in_box(sub.bounds.aabb_min, &bounds, room) || !in_box(sub.bounds.aabb_max, &bounds, room) {
                let why = "lie outside those of the mesh";
                return Err(Error::Fault { at, field: "bounds", why });
            }
        }
        Ok(room)
    }

    fn check_vertices(&self, room: Room) -> Result<(), Error> {
        let bounds = self.bounds();
        let tangents = self.has_tangents();
        for (i, vertex) in self.vertices().iter().enumerate() {
            let at = |offset| self.place(ChunkId::Vertices, i, GpuVertex::SIZE, offset);
            finite(at(offset_of!(GpuVertex, position)), "position", &vertex.position)?;
            finite(at(offset_of!(GpuVertex, uv)), "uv", &vertex.uv)?;
            if !in_bounds(vertex.position, &bounds, room) {
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
        let indices = self.submesh_indices(sub);
        let each = usize::from(self.desc().index_width);
        let corner = |i: usize, index: u32| -> Result<(), Error> {
            let at = || self.place(ChunkId::Indices, sub.first_index as usize + i, each, 0);
            let Some(vertex) = vertices.get(index as usize) else {
                return below(at(), "index", index, self.desc().vertex_count);
            };
            if !in_bounds(vertex.position, &sub.bounds, room) {
                let at = self.place(ChunkId::SubMeshes, number, SubMesh::SIZE, offset_of!(SubMesh, bounds));
                return Err(Error::Fault {
                    at,
                    field: "bounds",
                    why: "do not hold all vertices of the submesh",
                });
            }
            Ok(())
        };
        match indices {
            Indices::U16(indices) => triangles(indices.iter().map(u32::from), corner),
            Indices::U32(indices) => triangles(indices.iter(), corner),
        }
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
        for (i, index) in vertices.iter().enumerate() {
            let Some(vertex) = self.vertices().get(index as usize) else {
                let at = self.place(ChunkId::MeshletVertices, meshlet.vertex_offset as usize + i, 4, 0);
                return below(at, "vertex", index, self.desc().vertex_count).map(|()| Sum::default());
            };
            if !in_sphere(vertex.position, bounds.center, bounds.radius, room) {
                let why = "does not hold all vertices of the meshlet";
                return Err(Error::Fault { at: at(0), field: "sphere", why });
            }
        }
        let mut sum = Sum::default();
        for (i, corners) in triangles.iter().enumerate() {
            let mut triangle = [0; 3];
            for (j, local) in corners.into_iter().enumerate() {
                let at = self.place(ChunkId::MeshletTriangles, meshlet.triangle_offset as usize + i, 3, j);
                below(at, "corner", local, meshlet.vertex_count)?;
                triangle[j] = vertices.get(local.into()).unwrap_or_default();
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
        let [a, b, c] = [a, b, c].min([b, c, a]).min([c, a, b]);
        // The finish of MurmurHash3 spreads each bit, so that sums of neighbouring triangles do not cancel out.
        let mut hash = (u64::from(a) << 32 | u64::from(b)) ^ u64::from(c).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        self.add(Sum { count: 1, hash: hash ^ hash >> 33 });
    }

    fn add(&mut self, other: Sum) {
        self.count += other.count;
        self.hash = self.hash.wrapping_add(other.hash);
    }
}

/// Sums up triangles, each of whose corners is looked at.
fn triangles(
    indices: impl Iterator<Item = u32>,
    mut corner: impl FnMut(usize, u32) -> Result<(), Error>,
) -> Result<Sum, Error> {
    let mut sum = Sum::default();
    let mut triangle = [0; 3];
    for (i, index) in indices.enumerate() {
        corner(i, index)?;
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
}

fn in_bounds(point: [f32; 3], bounds: &MeshBounds, room: Room) -> bool {
    in_box(point, bounds, room) && in_sphere(point, bounds.sphere_center, bounds.sphere_radius, room)
}

fn in_box(point: [f32; 3], bounds: &MeshBounds, room: Room) -> bool {
    let axes = bounds.aabb_min.into_iter().zip(bounds.aabb_max);
    point.into_iter().zip(axes).all(|(p, (min, max))| p >= min - room.of_box && p <= max + room.of_box)
}

fn in_sphere(point: [f32; 3], center: [f32; 3], radius: f32, room: Room) -> bool {
    let square = |(p, c): (f32, f32)| (f64::from(p) - f64::from(c)) * (f64::from(p) - f64::from(c));
    let distance: f64 = point.into_iter().zip(center).map(square).sum();
    let radius = f64::from(radius) + f64::from(room.of_sphere);
    distance <= radius * radius
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
