//! One part of a mesh, from decoded attributes to interleaved vertices: placed, welded, given tangents, ordered, and
//! with levels of detail, a shadow and meshlets where they are asked for.

use super::super::plan::mesh::MeshSpec;
use kiln_format::pak::mesh::{MeshletRecord, Primitive as Stored};
use kiln_format::pak::{Role, VertexType};
use kiln_ir::{Matrix, Primitive};
use kiln_kit::{Code, Diag};
use kiln_mesh::skin::{Influences, Set};
use kiln_mesh::transform::Transform;
use kiln_mesh::weld::{Attribute, weld};
use kiln_mesh::{Triangles, bounds, meshlets, normals, order, simplify, skin, tangents};

/// A primitive and where it goes.
pub(crate) struct Surface<'a> {
    pub(crate) primitive: &'a Primitive,
    /// What its joints are called in the whole mesh, if it hangs on a skin.
    pub(crate) joints: Option<Vec<u16>>,
    pub(crate) matrix: Matrix,
    pub(crate) material: u16,
}

/// The triangles of each level and its error, the whole first.
type Lods = Vec<(Vec<u32>, f32)>;

/// A primitive that is done, and its shadow.
pub(crate) struct Baked {
    main: Vertices,
    lods: Lods,
    shadow: Option<(Vertices, Lods)>,
    meshlets: meshlets::Meshlets,
    material: u16,
}

/// Vertices, attribute by attribute; what is not there is empty.
#[derive(Clone, Default)]
struct Vertices {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    uv0: Vec<[f32; 2]>,
    uv1: Vec<[f32; 2]>,
    tangents: Vec<[f32; 4]>,
    skin: Vec<Influences>,
}

fn gather<T: Copy>(values: &[T], sources: &[u32]) -> Vec<T> {
    if values.is_empty() { Vec::new() } else { sources.iter().map(|&at| values[at as usize]).collect() }
}

impl Vertices {
    /// The vertices at these places, in their order.
    fn pick(&self, sources: &[u32]) -> Vertices {
        Vertices {
            positions: gather(&self.positions, sources),
            normals: gather(&self.normals, sources),
            uv0: gather(&self.uv0, sources),
            uv1: gather(&self.uv1, sources),
            tangents: gather(&self.tangents, sources),
            skin: gather(&self.skin, sources),
        }
    }

    fn len(&self) -> usize {
        self.positions.len()
    }

    /// Equal vertices become one.
    fn welded(&self, indices: &[u32]) -> Result<(Vertices, Vec<u32>), Diag> {
        let joints: Vec<[u16; 4]> = self.skin.iter().map(|s| s.joints).collect();
        let weights: Vec<[f32; 4]> = self.skin.iter().map(|s| s.weights).collect();
        let mut keys = vec![Attribute::F3(&self.positions)];
        keys.extend((!self.normals.is_empty()).then_some(Attribute::F3(&self.normals)));
        keys.extend((!self.uv0.is_empty()).then_some(Attribute::F2(&self.uv0)));
        keys.extend((!self.uv1.is_empty()).then_some(Attribute::F2(&self.uv1)));
        keys.extend((!self.tangents.is_empty()).then_some(Attribute::F4(&self.tangents)));
        if !self.skin.is_empty() {
            keys.extend([Attribute::U4(&joints), Attribute::F4(&weights)]);
        }
        let welded = weld(triangles(indices, self.len())?, &keys);
        Ok((self.pick(&welded.sources), welded.indices))
    }

    fn vertex_type(&self, wide: bool) -> VertexType {
        let mut found = VertexType::POSITION;
        for (there, attribute) in [
            (!self.normals.is_empty(), VertexType::NORMAL),
            (!self.uv0.is_empty(), VertexType::TEXTURE0),
            (!self.uv1.is_empty(), VertexType::TEXTURE1),
            (!self.tangents.is_empty(), VertexType::TANGENT),
            (!self.skin.is_empty(), VertexType::JOINTS_WEIGHTS),
            (!self.skin.is_empty() && wide, VertexType::JOINTS16_WEIGHTS),
        ] {
            if there {
                found |= attribute;
            }
        }
        found
    }

    /// The vertices side by side, as a GPU reads them.
    fn interleaved(&self, wide: bool) -> Vec<u8> {
        fn put<const N: usize>(out: &mut Vec<u8>, values: &[[f32; N]], at: usize) {
            if let Some(value) = values.get(at) {
                value.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
            }
        }
        let mut out = Vec::with_capacity(self.len() * self.vertex_type(wide).stride() as usize);
        for at in 0..self.len() {
            put(&mut out, &self.positions, at);
            put(&mut out, &self.normals, at);
            put(&mut out, &self.uv0, at);
            put(&mut out, &self.uv1, at);
            put(&mut out, &self.tangents, at);
            if let Some(skin) = self.skin.get(at) {
                match wide {
                    true => skin.joints.iter().for_each(|joint| out.extend_from_slice(&joint.to_le_bytes())),
                    false => out.extend(skin.joints.iter().map(|&joint| joint as u8)),
                }
                out.extend(quantized(skin.weights));
            }
        }
        out
    }
}

/// Four weights that sum to one as bytes that sum to 255: what rounding takes from one, the others get.
fn quantized(weights: [f32; 4]) -> [u8; 4] {
    let scaled = weights.map(|weight| weight.clamp(0.0, 1.0) * 255.0);
    let mut bytes = scaled.map(|weight| weight as u8);
    let mut left = 255u32.saturating_sub(bytes.iter().map(|&b| u32::from(b)).sum());
    let mut by_rest = [0, 1, 2, 3];
    let rest = |at: usize| scaled[at] - scaled[at].floor();
    by_rest.sort_by(|&a, &b| rest(b).total_cmp(&rest(a)));
    // At most one for each slot; what is beyond that came from weights that did not sum to one.
    for at in by_rest.into_iter().filter(|at| scaled[*at] > 0.0).collect::<Vec<_>>() {
        if left > 0 {
            bytes[at] = bytes[at].saturating_add(1);
            left -= 1;
        }
    }
    let most = (0..4).max_by_key(|&at| bytes[at]).unwrap_or(0);
    bytes[most] = bytes[most].saturating_add(left as u8);
    bytes
}

fn triangles(indices: &[u32], count: usize) -> Result<Triangles<'_>, Diag> {
    Triangles::new(indices, count).map_err(refused)
}

fn refused(error: kiln_mesh::Error) -> Diag {
    Diag::new(Code::PakMesh, format!("its triangles cannot be used: {error}"))
}

/// Box, sphere's centre and radius.
pub(crate) fn bounds_of(positions: &[[f32; 3]]) -> [f32; 10] {
    let found = bounds::bounds(positions.iter().copied());
    let ([a, b, c], [d, e, f], [g, h, i]) = (found.min, found.max, found.center);
    [a, b, c, d, e, f, g, h, i, found.radius]
}

impl Surface<'_> {
    /// Runs all stages.
    pub(crate) fn bake(&self, spec: &MeshSpec) -> Result<Baked, Diag> {
        let (mut vertices, mut indices) = self.attributes(spec)?;
        (vertices, indices) = vertices.welded(&indices)?;
        if spec.tangents
            && vertices.tangents.is_empty()
            && !vertices.uv0.is_empty()
            && !vertices.normals.is_empty()
        {
            let shape = triangles(&indices, vertices.len())?;
            let made = tangents::generate(shape, &vertices.positions, &vertices.normals, &vertices.uv0);
            let sources: Vec<u32> = (0..vertices.len() as u32).chain(made.added.iter().copied()).collect();
            vertices = vertices.pick(&sources);
            vertices.tangents = made.tangents;
            indices = made.indices;
        }
        self.place(&mut vertices, &mut indices)?;
        if let Some(most) = spec.max_index {
            (vertices, indices) = reduce(vertices, indices, most)?;
        }
        if spec.optimize {
            indices = order::vertex_cache(triangles(&indices, vertices.len())?);
            if spec.overdraw > 0.0 {
                indices = overdraw(&indices, &vertices.positions, spec.overdraw)?;
            }
            let sources = order::vertex_fetch(&mut indices, vertices.len());
            vertices = vertices.pick(&sources);
        }
        let mut lods = vec![(indices, 0.0)];
        if spec.lod {
            let coarser = levels(&vertices, &lods[0].0, spec)?;
            lods.extend(coarser);
        }
        let clusters = match spec.meshlets {
            true => meshlets::build(triangles(&lods[0].0, vertices.len())?, &vertices.positions),
            false => meshlets::Meshlets::default(),
        };
        let shadow = if spec.shadow { Some(shadow(&vertices, &lods, spec)?) } else { None };
        Ok(Baked { main: vertices, lods, shadow, meshlets: clusters, material: self.material })
    }

    /// The attributes that are wanted, with what is missing or unusable made up.
    fn attributes(&self, spec: &MeshSpec) -> Result<(Vertices, Vec<u32>), Diag> {
        let source = self.primitive;
        let indices = source.indices.clone();
        let shape = triangles(&indices, source.positions.len())?;
        let skin = match &self.joints {
            Some(joints) if !source.joints.is_empty() => {
                let set = Set { joints: &source.joints, weights: &source.weights };
                let (mut all, _) = skin::influences(&[set], source.positions.len());
                let renamed = |joint: u16| joints.get(usize::from(joint)).copied().unwrap_or(0);
                all.iter_mut().for_each(|one| one.joints = one.joints.map(renamed));
                all
            }
            // Rigidly on the first joint: a primitive of a skinned node moves with it.
            Some(joints) => {
                let rigid =
                    Influences { joints: [joints.first().copied().unwrap_or(0); 4], ..Influences::RIGID };
                vec![rigid; source.positions.len()]
            }
            None => Vec::new(),
        };
        let mut vertices = Vertices {
            positions: source.positions.clone(),
            normals: if spec.normals { source.normals.clone() } else { Vec::new() },
            uv0: source.uv0.clone(),
            uv1: source.uv1.clone(),
            tangents: if spec.normals && spec.tangents { source.tangents.clone() } else { Vec::new() },
            skin,
        };
        let usable = |tangent: &[f32; 4]| tangent[..3].iter().map(|v| v * v).sum::<f32>() > 1e-12;
        if !vertices.tangents.iter().all(usable) {
            vertices.tangents.clear();
        }
        if !spec.normals {
            return Ok((vertices, indices));
        }
        if source.normals.is_empty() {
            // Flat, as glTF asks: every corner its own vertex.
            let faces = normals::flat(shape, &source.positions);
            vertices = vertices.pick(&indices);
            vertices.normals = faces.into_iter().flat_map(|normal| [normal; 3]).collect();
            let corners = (0..indices.len() as u32).collect();
            return Ok((vertices, corners));
        }
        normals::repair(shape, &source.positions, &mut vertices.normals);
        Ok((vertices, indices))
    }

    fn place(&self, vertices: &mut Vertices, indices: &mut [u32]) -> Result<(), Diag> {
        if self.matrix == Matrix::IDENTITY {
            return Ok(());
        }
        let mut columns = [0.0; 16];
        columns.copy_from_slice(self.matrix.0.as_flattened());
        let transform = Transform::new(&columns);
        transform.positions(&mut vertices.positions);
        transform.normals(&mut vertices.normals);
        transform.tangents(&mut vertices.tangents);
        transform.winding(indices);
        match vertices.positions.iter().flatten().all(|v| v.is_finite()) {
            true => Ok(()),
            false => {
                Err(Diag::new(Code::PakMesh, "placed, it is not finite any more").hint("use a smaller scale"))
            }
        }
    }
}

/// Orders for less overdraw; 1.05 gives back at most five per cent of what the vertex cache gained.
fn overdraw(indices: &[u32], positions: &[[f32; 3]], threshold: f32) -> Result<Vec<u32>, Diag> {
    if threshold == order::OVERDRAW_THRESHOLD {
        return Ok(order::overdraw(triangles(indices, positions.len())?, positions));
    }
    let bytes = meshopt::typed_to_bytes(positions);
    let adapter = meshopt::VertexDataAdapter::new(bytes, size_of::<[f32; 3]>(), 0);
    let adapter =
        adapter.map_err(|e| Diag::new(Code::PakMesh, format!("its vertices cannot be used: {e}")))?;
    let mut indices = indices.to_vec();
    meshopt::optimize_overdraw_in_place(&mut indices, &adapter, threshold);
    Ok(indices)
}

/// Coarser and coarser levels, each half of the one before, as long as they are worth it.
fn levels(vertices: &Vertices, whole: &[u32], spec: &MeshSpec) -> Result<Lods, Diag> {
    let count = vertices.len();
    let full = whole.len() / 3;
    let steps = (0..32).take_while(|step| full >> (step + 1) >= spec.min_lod_triangles as usize).count();
    let finish = |indices: &[u32]| match Triangles::new(indices, count) {
        Ok(shape) if spec.optimize => order::vertex_cache(shape),
        _ => indices.to_vec(),
    };
    if spec.lod_lock_border {
        return locked(vertices, whole, steps, spec, &finish);
    }
    let skin = (!vertices.skin.is_empty()).then_some(&*vertices.skin);
    let surface = simplify::Surface {
        positions: &vertices.positions,
        normals: (!vertices.normals.is_empty()).then_some(&*vertices.normals),
        uvs: (!vertices.uv0.is_empty()).then_some(&*vertices.uv0),
        skin,
        deadline: None,
    };
    let ratios = simplify::halves(steps);
    let chain = simplify::chain(triangles(whole, count)?, &surface, &ratios, spec.lod_error, &finish);
    // A level that stalled is none.
    Ok(chain.into_iter().filter(|lod| !lod.indices.is_empty()).map(|lod| (lod.indices, lod.error)).collect())
}

/// The same with the borders as they are, so that neighbouring meshes still fit.
fn locked(
    vertices: &Vertices,
    whole: &[u32],
    steps: usize,
    spec: &MeshSpec,
    finish: &dyn Fn(&[u32]) -> Vec<u32>,
) -> Result<Lods, Diag> {
    let bytes = meshopt::typed_to_bytes(&vertices.positions);
    let adapter = meshopt::VertexDataAdapter::new(bytes, size_of::<[f32; 3]>(), 0);
    let adapter =
        adapter.map_err(|e| Diag::new(Code::PakMesh, format!("its vertices cannot be used: {e}")))?;
    let extent = meshopt::simplify_scale(&adapter);
    let options = meshopt::SimplifyOptions::LockBorder | meshopt::SimplifyOptions::ErrorAbsolute;
    let mut levels: Lods = Vec::new();
    for step in 1..=steps {
        let (from, so_far) = levels.last().map_or((whole, 0.0), |(indices, error)| (&**indices, *error));
        let allowed = spec.lod_error.min(1.0) * extent - so_far;
        let target = ((whole.len() / 3) >> step).max(1) * 3;
        let mut error = 0.0;
        let made = meshopt::simplify(from, &adapter, target, allowed.max(0.0), options, Some(&mut error));
        // Hardly smaller, or nothing: there is no more to be had.
        if made.len() < 3 || made.len() * 20 > from.len() * 19 {
            break;
        }
        levels.push((finish(&made), so_far + error));
    }
    Ok(levels)
}

/// Simplifies until no index is above `most`.
fn reduce(vertices: Vertices, indices: Vec<u32>, most: u32) -> Result<(Vertices, Vec<u32>), Diag> {
    let mut ratio = 1.0f32;
    let (mut found, mut triangles_now) = (vertices.clone(), indices.clone());
    while found.len() as u64 > u64::from(most) + 1 {
        ratio *= 0.8;
        if ratio < 1e-4 {
            let message =
                format!("its {} vertices cannot be reduced to {} and stay a mesh", vertices.len(), most + 1);
            return Err(Diag::new(Code::PakMesh, message).hint("raise max-index, or split the mesh"));
        }
        let surface = simplify::Surface {
            positions: &vertices.positions,
            normals: None,
            uvs: (!vertices.uv0.is_empty()).then_some(&*vertices.uv0),
            skin: None,
            deadline: None,
        };
        let shape = triangles(&indices, vertices.len())?;
        let made = simplify::chain(shape, &surface, &[ratio], 1.0, &|indices: &[u32]| indices.to_vec());
        let Some(level) = made.into_iter().next().filter(|lod| !lod.indices.is_empty()) else { continue };
        triangles_now = level.indices;
        let sources = order::vertex_fetch(&mut triangles_now, vertices.len());
        found = vertices.pick(&sources);
    }
    Ok((found, triangles_now))
}

/// Positions, and what moves them: the same triangles over fewer vertices.
fn shadow(main: &Vertices, lods: &[(Vec<u32>, f32)], spec: &MeshSpec) -> Result<(Vertices, Lods), Diag> {
    let bare = Vertices { positions: main.positions.clone(), skin: main.skin.clone(), ..Vertices::default() };
    let (mut vertices, whole) = bare.welded(&lods[0].0)?;
    // Every vertex of a coarser level is one of the whole.
    let mut renamed = vec![0; main.len()];
    for (old, new) in lods[0].0.iter().zip(&whole) {
        renamed[*old as usize] = *new;
    }
    let mut levels: Lods = lods
        .iter()
        .map(|(indices, error)| (indices.iter().map(|&index| renamed[index as usize]).collect(), *error))
        .collect();
    if spec.optimize {
        for (indices, _) in &mut levels {
            *indices = order::vertex_cache(triangles(indices, vertices.len())?);
        }
        let sources = order::vertex_fetch(&mut levels[0].0, vertices.len());
        let mut places = vec![0; vertices.len()];
        for (new, &old) in sources.iter().enumerate() {
            places[old as usize] = new as u32;
        }
        for (indices, _) in &mut levels[1..] {
            indices.iter_mut().for_each(|index| *index = places[*index as usize]);
        }
        vertices = vertices.pick(&sources);
    }
    Ok((vertices, levels))
}

impl Baked {
    /// The primitive, and its shadow after it.
    pub(crate) fn into_primitives(self, wide: bool) -> Vec<Stored> {
        let meshlet = |(m, b): (&meshlets::Meshlet, &meshlets::MeshletBounds)| MeshletRecord {
            vertex_offset: m.vertex_offset,
            vertex_count: m.vertex_count,
            triangle_offset: m.triangle_offset,
            triangle_count: m.triangle_count,
            center: b.center,
            radius: b.radius,
            cone_axis: b.cone_axis,
            cone_cutoff: b.cone_cutoff,
        };
        let main = Stored {
            vertex_type: self.main.vertex_type(wide),
            vertices: self.main.interleaved(wide),
            lods: self.lods,
            material: self.material,
            role: Role::Main,
            bounds: bounds_of(&self.main.positions),
            meshlets: self.meshlets.meshlets.iter().zip(&self.meshlets.bounds).map(meshlet).collect(),
            meshlet_vertices: self.meshlets.vertices,
            meshlet_triangles: self.meshlets.triangles,
        };
        let shadow = self.shadow.map(|(vertices, lods)| Stored {
            vertex_type: vertices.vertex_type(wide),
            vertices: vertices.interleaved(wide),
            lods,
            material: self.material,
            role: Role::Shadow,
            bounds: bounds_of(&vertices.positions),
            meshlets: Vec::new(),
            meshlet_vertices: Vec::new(),
            meshlet_triangles: Vec::new(),
        });
        std::iter::once(main).chain(shadow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_255() {
        for weights in [
            [1.0, 0.0, 0.0, 0.0],
            [0.25; 4],
            [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0],
            [0.999, 0.001, 0.0, 0.0],
            [0.5, 0.3, 0.15, 0.05],
            [0.4, 0.0, 0.0, 0.0],
        ] {
            let bytes = quantized(weights);
            assert_eq!(bytes.iter().map(|&b| u32::from(b)).sum::<u32>(), 255, "{weights:?} {bytes:?}");
            for (byte, weight) in bytes.iter().zip(weights) {
                let apart = (f32::from(*byte) - weight * 255.0).abs();
                assert!(apart <= 1.0 || weights == [0.4, 0.0, 0.0, 0.0], "{weights:?} {bytes:?}");
            }
        }
    }
}
