//! Small valid meshes for the tests to write and to damage.

use kiln_format::hmesh::*;

/// An owned mesh.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mesh {
    pub(crate) bounds: MeshBounds,
    pub(crate) vertices: Vec<GpuVertex>,
    pub(crate) has_tangents: bool,
    pub(crate) indices: Vec<u32>,
    pub(crate) meshlets: Vec<Meshlet>,
    pub(crate) meshlet_vertices: Vec<u32>,
    pub(crate) meshlet_triangles: Vec<[u8; 3]>,
    pub(crate) meshlet_bounds: Vec<MeshletBounds>,
    pub(crate) meshlet_max: [u32; 2],
    pub(crate) materials: Vec<u64>,
    pub(crate) submeshes: Vec<SubMesh>,
    pub(crate) skin: Vec<GpuSkinVertex>,
    pub(crate) joints: Vec<GpuJoint>,
    pub(crate) lod_count: u32,
    pub(crate) lods: Vec<MeshLod>,
    pub(crate) lod_indices: Vec<u32>,
    pub(crate) colors8: Vec<[u8; 4]>,
    pub(crate) colors16: Vec<[u16; 4]>,
    pub(crate) colors32: Vec<[f32; 4]>,
    pub(crate) uv_sets: Vec<[f32; 2]>,
    pub(crate) morph_sets: Vec<MorphSet>,
    pub(crate) morph_targets: Vec<MorphTarget>,
    pub(crate) morph_deltas: Vec<MorphDelta>,
    pub(crate) morph_normals: Vec<[f32; 3]>,
    pub(crate) morph_tangents: Vec<[f32; 3]>,
    pub(crate) nodes: Vec<MeshNode>,
    pub(crate) names: String,
    pub(crate) clusters: Option<Clusters>,
}

/// An owned hierarchy of clusters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clusters {
    pub(crate) groups: Vec<GroupPart>,
    pub(crate) clusters: Vec<ClusterPart>,
    pub(crate) vertices: Vec<u32>,
    pub(crate) triangles: Vec<[u8; 3]>,
}

/// The description of a mesh to be built.
#[derive(Clone, Debug)]
pub(crate) struct MeshSpec {
    pub(crate) positions: Vec<[f32; 3]>,
    /// For each submesh its triangles, as vertex indices modulo the number of vertices, and whether it has a
    /// material.
    pub(crate) submeshes: Vec<(Vec<[u32; 3]>, bool)>,
    pub(crate) has_tangents: bool,
    pub(crate) has_meshlets: bool,
    /// Parents, modulo the number of preceding joints; the order is then reversed.
    pub(crate) joints: Vec<u32>,
    pub(crate) lod_count: u32,
}

pub(crate) fn bounds_of(points: &[[f32; 3]]) -> MeshBounds {
    let fold = |start: f32, pick: fn(f32, f32) -> f32| {
        [0, 1, 2].map(|axis| points.iter().fold(start, |most, p| pick(most, p[axis])))
    };
    let (aabb_min, aabb_max) = match points {
        [] => ([0.0; 3], [0.0; 3]),
        _ => (fold(f32::INFINITY, f32::min), fold(f32::NEG_INFINITY, f32::max)),
    };
    let sphere_center = [0, 1, 2].map(|axis| 0.5 * (aabb_min[axis] + aabb_max[axis]));
    let distance = |p: &[f32; 3]| (0..3).map(|a| (p[a] - sphere_center[a]).powi(2)).sum::<f32>();
    let sphere_radius = points.iter().map(distance).fold(0.0, f32::max).sqrt();
    MeshBounds { aabb_min, aabb_max, sphere_center, sphere_radius }
}

impl Mesh {
    pub(crate) fn build(spec: &MeshSpec) -> Mesh {
        let positions = &spec.positions;
        let tangent = if spec.has_tangents { [-7, 5] } else { [0; 2] };
        let vertex = |(i, &position): (usize, &[f32; 3])| GpuVertex {
            position,
            normal: [i as i16, -(i as i16)],
            tangent,
            uv: [i as f32 / 8.0, 1.5],
        };
        let mut mesh = Mesh {
            bounds: bounds_of(positions),
            vertices: positions.iter().enumerate().map(vertex).collect(),
            has_tangents: spec.has_tangents,
            meshlet_max: [MESHLET_MAX_VERTS, MESHLET_MAX_TRIS],
            lod_count: spec.lod_count,
            ..Mesh::default()
        };
        let count = positions.len() as u32;
        for (triangles, material) in &spec.submeshes {
            let triangles: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(|corner| corner % count)).collect();
            let (first_index, first_meshlet) = (mesh.indices.len() as u32, mesh.meshlets.len() as u32);
            mesh.indices.extend(triangles.iter().flatten());
            // Two triangles per meshlet, last triangle first, each starting with another corner.
            if spec.has_meshlets {
                triangles.rchunks(2).for_each(|triangles| mesh.meshlet(triangles));
            }
            // Each LOD has one triangle less, down to zero.
            for level in 1..=spec.lod_count as usize {
                let kept = &triangles[..triangles.len().saturating_sub(level)];
                let first_index = if kept.is_empty() { 0 } else { mesh.lod_indices.len() as u32 };
                mesh.lods.push(MeshLod { first_index, index_count: kept.len() as u32 * 3 });
                mesh.lod_indices.extend(kept.iter().flatten());
            }
            let material_slot = if *material { mesh.materials.len() as u32 } else { NO_MATERIAL };
            if *material {
                mesh.materials.push(0x1111_0000_0000_0001 + u64::from(material_slot));
            }
            let points: Vec<_> = triangles.iter().flatten().map(|&i| positions[i as usize]).collect();
            let bounds = if points.is_empty() { mesh.bounds } else { bounds_of(&points) };
            mesh.submeshes.push(SubMesh {
                first_index,
                index_count: mesh.indices.len() as u32 - first_index,
                first_meshlet,
                meshlet_count: mesh.meshlets.len() as u32 - first_meshlet,
                material_slot,
                base_vertex: 0,
                bounds,
            });
        }
        mesh.skeleton(&spec.joints);
        mesh
    }

    fn meshlet(&mut self, triangles: &[[u32; 3]]) {
        let mut vertices: Vec<u32> = triangles.iter().flatten().copied().collect();
        vertices.sort_unstable();
        vertices.dedup();
        let local = |corner: &u32| vertices.iter().position(|v| v == corner).unwrap() as u8;
        self.meshlets.push(Meshlet {
            vertex_offset: self.meshlet_vertices.len() as u32,
            vertex_count: vertices.len() as u32,
            triangle_offset: self.meshlet_triangles.len() as u32,
            triangle_count: triangles.len() as u32,
        });
        self.meshlet_triangles.extend(triangles.iter().map(|[a, b, c]| [b, c, a].map(local)));
        let points: Vec<_> = vertices.iter().map(|&v| self.vertices[v as usize].position).collect();
        let bounds = bounds_of(&points);
        self.meshlet_bounds.push(MeshletBounds {
            center: bounds.sphere_center,
            radius: bounds.sphere_radius,
            cone_axis: [0.0, 1.0, 0.0],
            cone_cutoff: 1.0,
        });
        self.meshlet_vertices.extend(vertices);
    }

    /// Adds a hierarchy of clusters: for each submesh with triangles a group with a cluster for each triangle, which one
    /// cluster with the first triangle replaces.
    pub(crate) fn with_clusters(mut self) -> Mesh {
        let triangles_of = |sub: &SubMesh| {
            let first = sub.first_index as usize;
            self.indices[first..first + sub.index_count as usize].as_chunks::<3>().0
        };
        let filled: Vec<(u32, &[[u32; 3]])> = (0..)
            .zip(self.submeshes.iter().map(triangles_of))
            .filter(|(_, triangles)| !triangles.is_empty())
            .collect();
        let mut all = Clusters::default();
        // In the order of the writer: the coarse groups of all submeshes come first.
        for depth in [1, 0] {
            for (at, &(submesh, triangles)) in filled.iter().enumerate() {
                let drawn = if depth == 1 { &triangles[..1] } else { triangles };
                all.groups.push(GroupPart {
                    center: self.bounds.sphere_center,
                    radius: self.bounds.sphere_radius,
                    error: if depth == 1 { ROOT_ERROR } else { 0.25 },
                    submesh,
                    depth,
                    cluster_count: drawn.len() as u32,
                });
                for triangle in drawn {
                    all.clusters.push(ClusterPart {
                        bounds: MeshletBounds {
                            center: self.bounds.sphere_center,
                            radius: self.bounds.sphere_radius,
                            cone_axis: [0.0, 1.0, 0.0],
                            cone_cutoff: 1.0,
                        },
                        refined: if depth == 1 { (filled.len() + at) as u32 } else { NO_GROUP },
                        vertex_count: 3,
                        triangle_count: 1,
                    });
                    all.vertices.extend(triangle);
                    all.triangles.push([0, 1, 2]);
                }
            }
        }
        self.clusters = Some(all);
        self
    }

    /// Adds joints with parents that come after them.
    fn skeleton(&mut self, parents: &[u32]) {
        let count = parents.len() as u32;
        let mut identity = [0.0; 16];
        [0, 5, 10, 15].into_iter().for_each(|i| identity[i] = 1.0);
        for (i, parent) in (0..count).zip(parents) {
            let parent = if i == 0 { NO_PARENT } else { (count - 1 - parent % i) as i32 };
            self.joints.push(GpuJoint {
                inverse_bind: identity,
                bind_t: [i as f32, 0.0, 0.5],
                bind_r: [0.0, 0.0, 0.0, 1.0],
                bind_s: [1.0; 3],
                parent,
                pad: 0,
            });
        }
        self.joints.reverse();
        if count > 0 {
            let joint = |i: usize| (i as u32 % count) as u16;
            let skin =
                |i| GpuSkinVertex { joints: [joint(i), joint(i + 1), 0, 0], weights: [0.75, 0.25, 0.0, 0.0] };
            self.skin = (0..self.vertices.len()).map(skin).collect();
        }
    }

    /// Adds optional content: two bits for the format of vertex colours, two for the number of further UV sets, and one
    /// each for morph targets, their normals, their tangents, and nodes.
    pub(crate) fn with_extra(mut self, bits: u8) -> Mesh {
        let has = |bit: u8| bits >> bit & 1 == 1;
        let count = self.vertices.len();
        let value = |i: usize| (i * 37 % 256) as u8;
        match bits & 3 {
            0 => {}
            1 => self.colors8 = (0..count).map(|i| [value(i), 0, 255, value(i + 1)]).collect(),
            2 => self.colors16 = (0..count).map(|i| [u16::from(value(i)) * 200, 0, 65535, 1]).collect(),
            _ => self.colors32 = (0..count).map(|i| [f32::from(value(i)), -1.0, 0.25, 1e6]).collect(),
        }
        let sets = usize::from(bits >> 2 & 3);
        self.uv_sets = (0..count * sets).map(|i| [i as f32, 0.5]).collect();
        self.names = "Grün head".to_owned();
        if has(4) {
            for submesh in (0..self.submeshes.len() as u32).step_by(2) {
                let first_target = self.morph_targets.len() as u32;
                self.morph_sets.push(MorphSet {
                    first_submesh: submesh,
                    submesh_count: 1,
                    first_target,
                    target_count: 2,
                });
                for step in [1, 2] {
                    let first_delta = self.morph_deltas.len() as u32;
                    let delta = |vertex: usize| MorphDelta {
                        vertex: vertex as u32,
                        position: [0.5, vertex as f32, -1.0],
                    };
                    self.morph_deltas.extend((0..count).step_by(step).map(delta));
                    let delta_count = self.morph_deltas.len() as u32 - first_delta;
                    let name_size = step as u32 * 5 - 5;
                    let target =
                        MorphTarget { name_offset: 0, name_size, weight: 0.25, first_delta, delta_count };
                    self.morph_targets.push(target);
                }
            }
            let deltas = self.morph_deltas.len();
            self.morph_normals = if has(5) { vec![[0.0, 0.25, 1.0]; deltas] } else { Vec::new() };
            self.morph_tangents = if has(6) { vec![[1.0, 0.0, -0.5]; deltas] } else { Vec::new() };
        }
        if has(7) {
            let submesh_count = self.submeshes.len() as u32;
            let node = |parent, first_submesh, submesh_count| MeshNode {
                name_offset: 6,
                name_size: 4,
                parent,
                first_submesh,
                submesh_count,
                translation: [1.0, 2.0, 3.0],
                rotation: [0.0, 0.6, 0.0, 0.8],
                scale: [1.0, 1.0, -1.0],
            };
            self.nodes =
                vec![node(NO_PARENT, 0, 0), node(0, 0, submesh_count), node(0, submesh_count - 1, 1)];
        }
        if !has(4) && !has(7) {
            self.names.clear();
        }
        self
    }

    fn colors(&self) -> Option<Colors<'_>> {
        match self {
            _ if !self.colors8.is_empty() => Some(Colors::Rgba8(self.colors8.as_slice().into())),
            _ if !self.colors16.is_empty() => Some(Colors::Rgba16(self.colors16.as_slice().into())),
            _ if !self.colors32.is_empty() => Some(Colors::Rgba32F(self.colors32.as_slice().into())),
            _ => None,
        }
    }

    pub(crate) fn parts(&self) -> Parts<'_> {
        Parts {
            bounds: self.bounds,
            vertices: &self.vertices,
            has_tangents: self.has_tangents,
            indices: &self.indices,
            meshlets: &self.meshlets,
            meshlet_vertices: &self.meshlet_vertices,
            meshlet_triangles: &self.meshlet_triangles,
            meshlet_bounds: &self.meshlet_bounds,
            meshlet_max_verts: self.meshlet_max[0],
            meshlet_max_tris: self.meshlet_max[1],
            materials: &self.materials,
            submeshes: &self.submeshes,
            skin: &self.skin,
            joints: &self.joints,
            lod_count: self.lod_count,
            lods: &self.lods,
            lod_indices: &self.lod_indices,
            clusters: self.clusters.as_ref().map(|all| ClusterParts {
                groups: &all.groups,
                clusters: &all.clusters,
                vertices: &all.vertices,
                triangles: &all.triangles,
            }),
            colors: self.colors(),
            uv_sets: &self.uv_sets,
            morph_sets: &self.morph_sets,
            morph_targets: &self.morph_targets,
            morph_deltas: &self.morph_deltas,
            morph_normals: &self.morph_normals,
            morph_tangents: &self.morph_tangents,
            nodes: &self.nodes,
            names: &self.names,
        }
    }

    /// Copies the contents of a file.
    pub(crate) fn of(view: &HmeshView<'_>) -> Mesh {
        Mesh {
            bounds: view.bounds(),
            vertices: view.vertices().iter().collect(),
            has_tangents: view.has_tangents(),
            indices: view.indices().iter().collect(),
            meshlets: view.meshlets().iter().collect(),
            meshlet_vertices: view.meshlet_vertices().iter().collect(),
            meshlet_triangles: view.meshlet_triangles().iter().collect(),
            meshlet_bounds: view.meshlet_bounds().iter().collect(),
            meshlet_max: [view.desc().meshlet_max_verts, view.desc().meshlet_max_tris],
            materials: view.materials().iter().collect(),
            submeshes: view.submeshes().iter().collect(),
            skin: view.skin().iter().collect(),
            joints: view.joints().iter().collect(),
            lod_count: view.lod_count(),
            lods: view.lods().iter().collect(),
            lod_indices: view.lod_indices().iter().collect(),
            clusters: view.clusters().as_ref().map(Clusters::of),
            colors8: match view.colors() {
                Some(Colors::Rgba8(colors)) => colors.iter().collect(),
                _ => Vec::new(),
            },
            colors16: match view.colors() {
                Some(Colors::Rgba16(colors)) => colors.iter().collect(),
                _ => Vec::new(),
            },
            colors32: match view.colors() {
                Some(Colors::Rgba32F(colors)) => colors.iter().collect(),
                _ => Vec::new(),
            },
            uv_sets: (1..view.uv_set_count()).flat_map(|set| view.uv_set(set).unwrap().iter()).collect(),
            morph_sets: view.morph_sets().iter().collect(),
            morph_targets: view.morph_targets().iter().collect(),
            morph_deltas: morphs(view).flat_map(|morph| morph.deltas.iter()).collect(),
            morph_normals: morphs(view).flat_map(|morph| morph.normals.iter()).collect(),
            morph_tangents: morphs(view).flat_map(|morph| morph.tangents.iter()).collect(),
            nodes: view.nodes().iter().collect(),
            names: String::from_utf8(
                view.chunks().filter(|(tag, _)| tag == b"NAME").flat_map(|(_, b)| b.to_vec()).collect(),
            )
            .unwrap(),
        }
    }
}

impl Clusters {
    /// Copies the hierarchy of a file.
    fn of(view: &ClusterHierarchy<'_>) -> Clusters {
        let mut all = Clusters::default();
        all.groups.extend(view.groups().iter().map(|group| GroupPart {
            center: group.center,
            radius: group.radius,
            error: group.error,
            submesh: group.submesh,
            depth: group.depth,
            cluster_count: group.cluster_count,
        }));
        for cluster in view.clusters() {
            all.clusters.push(ClusterPart {
                bounds: cluster.bounds,
                refined: cluster.refined,
                vertex_count: cluster.vertex_count,
                triangle_count: cluster.triangle_count,
            });
            let geometry = view.geometry(&cluster);
            all.vertices.extend(geometry.indices.iter());
            all.triangles.extend(geometry.triangles.iter());
        }
        all
    }
}

fn morphs<'a>(view: &HmeshView<'a>) -> impl Iterator<Item = Morph<'a>> {
    let view = *view;
    (0..view.morph_targets().len()).map(move |target| view.morph(target).unwrap())
}

/// A strip of quads with LODs and a skin: large enough that every chunk shrinks.
#[allow(dead_code, reason = "the property tests make meshes of their own")]
pub(crate) fn strip() -> Mesh {
    let columns = 300u32;
    let positions = (0..columns).flat_map(|x| [0.0, 1.0].map(|y| [x as f32 * 0.25, y, 0.0])).collect();
    let quad = |x: u32| [[2 * x, 2 * x + 2, 2 * x + 1], [2 * x + 1, 2 * x + 2, 2 * x + 3]];
    // A meshlet has at most 256 vertices.
    let parts = (0..columns - 1).collect::<Vec<_>>();
    let parts = parts.chunks(20).map(|part| (part.iter().flat_map(|&x| quad(x)).collect(), false));
    Mesh::build(&MeshSpec {
        positions,
        submeshes: parts.collect(),
        has_tangents: true,
        has_meshlets: true,
        joints: vec![0, 0, 1],
        lod_count: 2,
    })
}
