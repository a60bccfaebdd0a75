//! The assets of a pak as the runtime files of `assetc`, which a report shows: bitmaps as `.ktx2`, meshes as `.hmesh`,
//! animations as `.hanim`, materials as `.hmat`. Other assets are listed with their size.
//!
//! Files are converted when the report reads them, and have the stored size of their asset.

use ::pak::anim::{Animation, Interpolation, Outputs};
use ::pak::mesh::{Bounds, Mesh, Primitive, Role, VertexSemantic};
use ::pak::{BitmapId, Entry, Kind, MaterialInfo, Pak, PakBuf};
use kiln_format::Array;
use kiln_format::hanim::{self, Channel, ClipParts, Interp, Keys, Vec3Key, Vec4Key};
use kiln_format::hmat::{self, AlphaMode, GpuMaterial};
use kiln_format::hmesh::{self, GpuVertex, MeshBounds, MeshLod, NO_MATERIAL, Parts, SubMesh};
use kiln_format::refs::{NO_REF, hash_runtime_path};
use kiln_mesh::octahedral;
use std::collections::HashMap;
use std::io;

/// The runtime files of a pak, by path.
pub(super) struct RuntimeFiles<'a> {
    pak: &'a PakBuf,
    list: Vec<(String, u64)>,
    assets: HashMap<String, (Kind, usize)>,
    bitmaps: HashMap<usize, String>,
}

impl<'a> RuntimeFiles<'a> {
    pub(super) fn new(pak: &'a PakBuf) -> RuntimeFiles<'a> {
        let (mut list, mut assets, mut bitmaps) = (Vec::new(), HashMap::new(), HashMap::new());
        for entry in pak.assets() {
            // A blob may have the name of a file that another asset becomes.
            let path = (0..).map(|n| path(&entry, n)).find(|path| !assets.contains_key(path));
            let path = path.unwrap_or_default();
            assets.insert(path.clone(), (entry.kind, entry.id));
            if entry.kind == Kind::Bitmap {
                bitmaps.insert(entry.id, path.clone());
            }
            list.push((path, entry.stored_len));
        }
        list.sort_unstable();
        RuntimeFiles { pak, list, assets, bitmaps }
    }

    /// Returns the path and stored size of every file, sorted by path.
    pub(super) fn list(&self) -> &[(String, u64)] {
        &self.list
    }

    /// Converts an asset.
    pub(super) fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let Some(&(kind, id)) = self.assets.get(path) else { return Err(io::ErrorKind::NotFound.into()) };
        match kind {
            Kind::Bitmap => Ok(::pak::export::ktx2(&self.pak.read_bitmap_id(id)?, id)?),
            Kind::Mesh => mesh(&self.pak.read_mesh_id(id)?).map_err(io::Error::other),
            Kind::Animation => animation(&self.pak.read_animation_id(id)?, path).map_err(io::Error::other),
            Kind::Material => {
                let info = self.pak.read_material_id(id).ok_or(io::ErrorKind::NotFound)?;
                hmat::write(&[self.material(&info)]).map_err(io::Error::other)
            }
            Kind::BitmapFont | Kind::Blob | Kind::Scene => Ok(self.pak.payload(kind, id)?.to_vec()),
        }
    }

    fn material(&self, info: &MaterialInfo) -> GpuMaterial {
        let bitmap = |id: BitmapId| self.bitmaps.get(&id.0).map_or(NO_REF, |path| hash_runtime_path(path));
        let alpha = match (info.alpha_blend, info.alpha_test) {
            (true, _) => AlphaMode::Blend,
            (_, true) => AlphaMode::Mask,
            _ => AlphaMode::Opaque,
        };
        GpuMaterial {
            emissive_factor: info.emissive.map_or([0.0; 3], |_| [info.emissive_strength; 3]),
            alpha_cutoff: info.alpha_cutoff,
            flags: hmat::flags(alpha, info.double_sided),
            base_color_tex: bitmap(info.color),
            metallic_roughness_tex: info.params.map_or(NO_REF, bitmap),
            normal_tex: info.normal.map_or(NO_REF, bitmap),
            emissive_tex: info.emissive.map_or(NO_REF, bitmap),
            ..GpuMaterial::default()
        }
    }
}

/// Returns the path of an asset's file; `n` distinguishes equal ones.
fn path(entry: &Entry<'_>, n: usize) -> String {
    let extension = match entry.kind {
        Kind::Animation => ".hanim",
        Kind::Bitmap => ".ktx2",
        Kind::Material => ".hmat",
        Kind::Mesh => ".hmesh",
        Kind::BitmapFont | Kind::Scene => "",
        // A blob may be any file, also one of these.
        Kind::Blob => "",
    };
    let name = entry.name();
    match n {
        0 => name + extension,
        n => format!("{name} ({n}){extension}"),
    }
}

/// Converts LODs of the regular primitives; meshlets, skin and shadow geometry are left out.
fn mesh(mesh: &Mesh) -> Result<Vec<u8>, kiln_format::Error> {
    let parts: Vec<&Primitive> = mesh.primitives().iter().filter(|part| part.role() == Role::Main).collect();
    let lod_count = parts.iter().map(|part| part.lods().len()).max().unwrap_or(1).saturating_sub(1);
    let (mut vertices, mut indices, mut submeshes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut lods, mut lod_indices) = (Vec::new(), Vec::new());
    let mut has_tangents = false;
    for part in parts {
        let base = vertices.len() as u32;
        vertices.extend(self::vertices(part, &mut has_tangents));
        let moved = |lod: &::pak::IndexBuffer| -> Vec<u32> {
            lod.u32_indices().iter().map(|index| index.saturating_add(base)).collect()
        };
        let full = part.lods().first().map(moved).unwrap_or_default();
        submeshes.push(SubMesh {
            first_index: indices.len() as u32,
            index_count: full.len() as u32,
            material_slot: NO_MATERIAL,
            bounds: bounds(part.bounds()),
            ..SubMesh::default()
        });
        indices.extend(full);
        for lod in 1..=lod_count {
            let coarser = part.lods().get(lod).map(moved).unwrap_or_default();
            let (first_index, index_count) = (lod_indices.len() as u32, coarser.len() as u32);
            lods.push(MeshLod { first_index, index_count });
            lod_indices.extend(coarser);
        }
    }
    hmesh::write(&Parts {
        bounds: bounds(mesh.bounds()),
        vertices: &vertices,
        has_tangents,
        indices: &indices,
        submeshes: &submeshes,
        lod_count: lod_count as u32,
        lods: &lods,
        lod_indices: &lod_indices,
        ..Parts::default()
    })
}

fn bounds(bounds: Bounds) -> MeshBounds {
    MeshBounds {
        aabb_min: bounds.min,
        aabb_max: bounds.max,
        sphere_center: bounds.center,
        sphere_radius: bounds.radius,
    }
}

fn vertices<'a>(part: &'a Primitive, has_tangents: &mut bool) -> impl Iterator<Item = GpuVertex> + use<'a> {
    let offset =
        |semantic| part.vertex_type().attributes().find(|a| a.semantic == semantic).map(|a| a.offset);
    let [normal, uv, tangent] =
        [VertexSemantic::Normal, VertexSemantic::TexCoord0, VertexSemantic::Tangent].map(offset);
    *has_tangents |= tangent.is_some();
    part.vertex_data().chunks_exact(part.vertex_type().stride()).map(move |vertex| GpuVertex {
        position: floats(vertex, Some(0)).unwrap_or_default(),
        normal: floats(vertex, normal).map_or([0; 2], octahedral::encode),
        tangent: floats(vertex, tangent).map_or([0; 2], octahedral::encode_tangent),
        uv: floats(vertex, uv).unwrap_or_default(),
    })
}

fn floats<const N: usize>(vertex: &[u8], offset: Option<usize>) -> Option<[f32; N]> {
    let floats = vertex.get(offset?..)?.as_chunks::<4>().0.get(..N)?;
    Some(std::array::from_fn(|n| f32::from_le_bytes(floats[n])))
}

/// Converts the keyframes. Targets are numbered in the order of their first channel; a cubic spline keeps its values.
fn animation(animation: &Animation, path: &str) -> Result<Vec<u8>, kiln_format::Error> {
    enum Track {
        Moves(Vec<Vec3Key>),
        Turns(Vec<Vec4Key>),
        Scales(Vec<Vec3Key>),
    }
    let mut targets: HashMap<&str, u32> = HashMap::new();
    let mut tracks = Vec::new();
    for channel in animation.channels() {
        let next = targets.len() as u32;
        let joint = *targets.entry(channel.target()).or_insert(next);
        let (step, first) = match channel.interpolation() {
            Interpolation::CubicSpline => (3, 1),
            Interpolation::Linear | Interpolation::Step => (1, 0),
        };
        let times = channel.inputs();
        // The runtime format requires ascending times.
        let is_new = |n: usize| n == 0 || times[n - 1] < times[n];
        let place = |n: usize| n * step + first;
        let vectors = |values: &[[f32; 3]]| -> Vec<Vec3Key> {
            let keys = (0..times.len()).filter(|n| is_new(*n));
            keys.filter_map(|n| Some(Vec3Key { time: times[n], value: *values.get(place(n))? })).collect()
        };
        let track = match channel.outputs() {
            Outputs::Translations(values) => Track::Moves(vectors(values)),
            Outputs::Scales(values) => Track::Scales(vectors(values)),
            Outputs::Rotations(values) => {
                let keys = (0..times.len()).filter(|n| is_new(*n));
                let key = |n: usize| Some(Vec4Key { time: times[n], value: *values.get(place(n))? });
                Track::Turns(keys.filter_map(key).collect())
            }
        };
        let interp =
            if channel.interpolation() == Interpolation::Step { Interp::Step } else { Interp::Linear };
        tracks.push((joint, interp, track));
    }
    let channels: Vec<Channel<'_>> = tracks
        .iter()
        .map(|(joint, interp, track)| {
            let keys = match track {
                Track::Moves(keys) => Keys::Translation(Array::from(&keys[..])),
                Track::Turns(keys) => Keys::Rotation(Array::from(&keys[..])),
                Track::Scales(keys) => Keys::Scale(Array::from(&keys[..])),
            };
            Channel { joint: *joint, interp: *interp, keys }
        })
        .collect();
    let name = path.trim_end_matches(".hanim");
    hanim::write(&[ClipParts { name, channels: &channels }])
}
