//! The vertex attributes of a primitive, from accessors or from Draco.
//!
//! Only vertices that triangles use are decoded, because exporters share one vertex buffer among many primitives.
//! Rejects attributes with another number of elements than the positions.

use kiln_diagnostics::{Code, Diag};
use kiln_ir::MorphTarget;

use super::accessor::Accessor;
use super::buffers::Buffers;
use super::draco::Draco;
use super::value::{List, Value};

/// The maximum number of joint sets that are read: more than any exporter writes.
const MAX_JOINT_SETS: usize = 8;

/// The sources of a primitive's attributes, and the vertices that are decoded.
pub(super) struct Vertices<'b, 'a> {
    attributes: Value<'a>,
    pub(super) draco: Option<Draco<'a>>,
    accessors: List<'a>,
    buffers: &'b Buffers<'a>,
    /// The number of vertices of the attributes.
    pub(super) count: usize,
    /// The vertices that triangles use, in ascending order, or `None` for all.
    pub(super) only: Option<Vec<u32>>,
}

/// The bone influences of vertices: four joint indices and weights for each, and the number of vertices that had more.
pub(super) struct Influences {
    pub(super) joints: Vec<[u16; 4]>,
    pub(super) weights: Vec<[f32; 4]>,
    pub(super) reduced: usize,
}

impl<'b, 'a> Vertices<'b, 'a> {
    /// Creates the vertices of a primitive; `draco` is its decompressed data if it has Draco compression.
    pub(super) fn new(
        attributes: Value<'a>,
        draco: Option<Draco<'a>>,
        accessors: List<'a>,
        buffers: &'b Buffers<'a>,
    ) -> Result<Vertices<'b, 'a>, Diag> {
        let count = match &draco {
            Some(draco) => draco.count(),
            None => Accessor::new(attributes.required("POSITION")?, accessors, buffers)?.count(),
        };
        Ok(Vertices { attributes, draco, accessors, buffers, count, only: None })
    }

    /// Decodes an attribute as floats, if the primitive has it.
    pub(super) fn read<const N: usize>(&self, name: &str) -> Result<Option<Vec<[f32; N]>>, Diag> {
        let Some(reference) = self.attributes.get(name) else { return Ok(None) };
        let accessor = Accessor::new(reference, self.accessors, self.buffers)?;
        if let Some(draco) = self.draco.as_ref().filter(|draco| draco.has(name)) {
            self.buffers.charge(self.count.saturating_mul(size_of::<[f32; N]>()), reference)?;
            let values = draco.floats(name, accessor.is_normalized())?;
            return Ok(Some(match &self.only {
                Some(only) => only.iter().map(|&index| values[index as usize]).collect(),
                None => values,
            }));
        }
        self.check_count(reference, &accessor)?;
        accessor.floats(self.only.as_deref()).map(Some)
    }

    /// Decodes an attribute of joint indices.
    fn read_joints(&self, name: &str) -> Result<Vec<[u16; 4]>, Diag> {
        let reference = self.attributes.required(name)?;
        let joints: Vec<[u32; 4]> = if self.draco.as_ref().is_some_and(|draco| draco.has(name)) {
            let values = self.read::<4>(name)?.unwrap_or_default();
            values.into_iter().map(|v| v.map(|joint| joint as u32)).collect()
        } else {
            let accessor = Accessor::new(reference, self.accessors, self.buffers)?;
            self.check_count(reference, &accessor)?;
            accessor.uints(self.only.as_deref())?
        };
        let too_large = || reference.error(Code::GltfAccessor, "a joint index is larger than 65535");
        let narrow = |joint: u32| u16::try_from(joint).map_err(|_| too_large());
        joints.into_iter().map(|[a, b, c, d]| Ok([narrow(a)?, narrow(b)?, narrow(c)?, narrow(d)?])).collect()
    }

    /// Decodes vertex colours of three or four components, without alpha as opaque ones.
    pub(super) fn colors(&self, name: &str) -> Result<Vec<[f32; 4]>, Diag> {
        let Some(reference) = self.attributes.get(name) else { return Ok(Vec::new()) };
        match Accessor::new(reference, self.accessors, self.buffers)?.components() {
            3 => {
                let colors = self.read::<3>(name)?.unwrap_or_default();
                self.buffers.charge(colors.len().saturating_mul(size_of::<[f32; 4]>()), reference)?;
                Ok(colors.into_iter().map(|[r, g, b]| [r, g, b, 1.0]).collect())
            }
            _ => Ok(self.read::<4>(name)?.unwrap_or_default()),
        }
    }

    /// Decodes the displacements of a morph target, which are accessors also where the primitive is compressed.
    pub(super) fn morph_target(&self, target: Value<'a>) -> Result<MorphTarget, Diag> {
        let read = |name: &str| match target.get(name) {
            Some(reference) => {
                let accessor = Accessor::new(reference, self.accessors, self.buffers)?;
                self.check_count(reference, &accessor)?;
                accessor.floats::<3>(self.only.as_deref())
            }
            None => Ok(Vec::new()),
        };
        Ok(MorphTarget { positions: read("POSITION")?, normals: read("NORMAL")?, tangents: read("TANGENT")? })
    }

    fn check_count(&self, reference: Value<'a>, accessor: &Accessor<'_, 'a>) -> Result<(), Diag> {
        if accessor.count() == self.count {
            return Ok(());
        }
        let message = format!(
            "the attribute has {} elements, and there are {} positions",
            accessor.count(),
            self.count
        );
        Err(reference.error(Code::GltfAccessor, message))
    }

    /// Decodes the four strongest bone influences of each vertex from all joint sets. A joint without weight is 0.
    pub(super) fn influences(&self) -> Result<Influences, Diag> {
        let mut found = Influences { joints: Vec::new(), weights: Vec::new(), reduced: 0 };
        for set in 0..MAX_JOINT_SETS {
            let names = [format!("JOINTS_{set}"), format!("WEIGHTS_{set}")];
            if names.iter().any(|name| self.attributes.get(name).is_none()) {
                break;
            }
            let joints = self.read_joints(&names[0])?;
            let mut weights = self.read::<4>(&names[1])?.unwrap_or_default();
            weights.iter_mut().flatten().for_each(|weight| *weight = weight.max(0.0));
            if set == 0 {
                (found.joints, found.weights) = (joints, weights);
            } else {
                found.add(&joints, &weights);
            }
        }
        for (joint, weight) in found.joints.as_flattened_mut().iter_mut().zip(found.weights.as_flattened()) {
            if *weight == 0.0 {
                *joint = 0;
            }
        }
        Ok(found)
    }
}

impl Influences {
    /// Merges another joint set, keeping the four strongest influences of each vertex.
    fn add(&mut self, joints: &[[u16; 4]], weights: &[[f32; 4]]) {
        let more = joints.iter().zip(weights);
        let mut reduced = 0;
        for ((own_joints, own_weights), (joints, weights)) in
            self.joints.iter_mut().zip(&mut self.weights).zip(more)
        {
            let joints = own_joints.iter().chain(joints).copied();
            let weights = own_weights.iter().chain(weights).copied();
            let mut influences: Vec<(u16, f32)> =
                joints.zip(weights).filter(|(_, weight)| *weight > 0.0).collect();
            reduced += usize::from(influences.len() > 4);
            // A stable sort: of equal weights, the first in the source is kept.
            influences.sort_by(|a, b| b.1.total_cmp(&a.1));
            influences.resize(influences.len().max(4), (0, 0.0));
            *own_joints = [0, 1, 2, 3].map(|i| influences[i].0);
            *own_weights = [0, 1, 2, 3].map(|i| influences[i].1);
        }
        self.reduced = self.reduced.max(reduced);
    }
}

/// Selects the vertices that triangles use, in ascending order, and remaps the indices to them; returns `None` if all
/// are used. The cost depends on the number of triangles, not of vertices.
pub(super) fn select(indices: &mut [u32], count: usize) -> Option<Vec<u32>> {
    if count / 4 > indices.len() {
        let mut only = indices.to_vec();
        only.sort_unstable();
        only.dedup();
        for index in indices {
            // Every index is in the list.
            *index = only.binary_search(index).unwrap_or_default() as u32;
        }
        return Some(only);
    }
    let mut used = vec![false; count];
    for &index in &*indices {
        used[index as usize] = true;
    }
    if used.iter().all(|used| *used) {
        return None;
    }
    let only: Vec<u32> = (0..count as u32).filter(|&index| used[index as usize]).collect();
    let mut places = vec![0; count];
    for (place, &index) in only.iter().enumerate() {
        places[index as usize] = place as u32;
    }
    for index in indices {
        *index = places[*index as usize];
    }
    Some(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_vertices_are_removed_by_both_methods() {
        for count in [8, 8000] {
            let mut indices = [5, 1, 7, 7, 1, 2];
            assert_eq!(select(&mut indices, count), Some(vec![1, 2, 5, 7]));
            assert_eq!(indices, [2, 0, 3, 3, 0, 1]);
        }
        let mut indices = [2, 0, 1];
        assert_eq!(select(&mut indices, 3), None);
        assert_eq!(indices, [2, 0, 1]);
    }
}
