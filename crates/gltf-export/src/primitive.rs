//! One primitive: its vertices decoded, encoded in their final formats, welded and ordered, with LODs.
//!
//! Triangle strips and fans become triangle lists. Vertices that no index uses are removed. Points and lines keep their
//! order. Rejects indices out of range, incomplete triangles, and attributes of different lengths.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use kiln_diagnostics::{Code, Diag};
use kiln_import::gltf::AccessorData;
use kiln_mesh::LodRule;
use kiln_mesh::packed::{self, LodSurface, PackedStream};

use crate::attribute::{Elements, Formats, Grid, needs_quantization, vectors};
use crate::source::Source;
use crate::streams::{Streams, Usage};
use crate::tree::{self, Json, number};

/// A primitive whose accessors are decoded, with the vertices that it uses.
pub(crate) struct Decoded {
    attributes: Vec<(String, AccessorData)>,
    targets: Vec<Vec<(String, AccessorData)>>,
    indices: Option<Vec<u32>>,
    /// True for a list of triangles.
    triangles: bool,
}

/// Accessors that were decoded, which primitives share.
pub(crate) type Accessors = BTreeMap<usize, Rc<AccessorData>>;

impl Decoded {
    /// Decodes a primitive of a mesh.
    pub(crate) fn new(
        source: &dyn Source,
        accessors: &mut Accessors,
        json: &Json,
        mesh: usize,
        primitive: usize,
    ) -> Result<Decoded, Diag> {
        let place = format!("/meshes/{mesh}/primitives/{primitive}");
        let invalid = |code, message: String| Diag::new(code, message).at(&place);
        let mut load = |reference: &Json| {
            let index = tree::index(reference)
                .ok_or_else(|| invalid(Code::GltfValue, "an accessor is not an index".to_owned()))?;
            if let Some(known) = accessors.get(&index) {
                return Ok(known.clone());
            }
            let data = Rc::new(source.accessor(index)?);
            accessors.insert(index, data.clone());
            Ok::<_, Diag>(data)
        };
        let draco = source.draco(mesh, primitive)?;
        let mut attributes: Vec<(String, Rc<AccessorData>)> = Vec::new();
        for (name, reference) in tree::members(tree::get(json, "attributes")) {
            let decompressed =
                draco.as_ref().and_then(|d| d.attributes.iter().find(|(found, _)| found == name));
            let data = match decompressed {
                Some((_, data)) => Rc::new(data.clone()),
                None => load(reference)?,
            };
            attributes.push((name.to_string(), data));
        }
        let mut targets = Vec::new();
        for target in tree::items(json, "targets") {
            let mut displacements = Vec::new();
            for (name, reference) in tree::members(Some(target)) {
                displacements.push((name.to_string(), load(reference)?));
            }
            targets.push(displacements);
        }
        let count = attributes.first().map_or(0, |(_, data)| data.count);
        let mut all = attributes.iter().chain(targets.iter().flatten());
        if let Some((name, data)) = all.find(|(_, data)| data.count != count) {
            let message =
                format!("{name} has {} elements, and the primitive has {count} vertices", data.count);
            return Err(invalid(Code::GltfAccessor, message));
        }
        let mode = tree::index_of(json, "mode").unwrap_or(4);
        if mode > 6 {
            return Err(invalid(Code::GltfValue, format!("mode must be between 0 and 6, got {mode}")));
        }
        let stored = match (&draco, tree::get(json, "indices")) {
            (Some(draco), _) => Some(draco.indices.clone()),
            (None, Some(reference)) => {
                Some(crate::attribute::numbers_u32(&*load(reference)?).ok_or_else(|| {
                    invalid(Code::GltfAccessor, "indices must be unsigned integers".to_owned())
                })?)
            }
            (None, None) => None,
        };
        if let Some(index) = stored.iter().flatten().find(|index| **index as usize >= count) {
            let message = format!("the index {index} is out of range: the primitive has {count} vertices");
            return Err(invalid(Code::GltfIndex, message));
        }
        let triangles = mode >= 4 || draco.is_some();
        let indices = if triangles {
            let stored = stored.unwrap_or_else(|| (0..count as u32).collect());
            let list = triangle_list(stored, if draco.is_some() { 4 } else { mode });
            Some(list.ok_or_else(|| {
                invalid(
                    Code::GltfIndex,
                    "the number of indices of a triangle list must be a multiple of 3".to_owned(),
                )
            })?)
        } else {
            stored
        };
        let mut decoded = Decoded { attributes: vec![], targets: vec![], indices, triangles };
        let used = decoded.compact(count);
        let pick = |list: &[(String, Rc<AccessorData>)]| -> Vec<(String, AccessorData)> {
            list.iter().map(|(name, data)| (name.clone(), select(data, used.as_deref()))).collect()
        };
        decoded.attributes = pick(&attributes);
        decoded.targets = targets.iter().map(|target| pick(target)).collect();
        Ok(decoded)
    }

    /// Renumbers the indices without unused vertices; returns the used ones, or `None` for all.
    fn compact(&mut self, count: usize) -> Option<Vec<u32>> {
        let indices = self.indices.as_mut()?;
        let mut is_used = vec![false; count];
        indices.iter().for_each(|index| is_used[*index as usize] = true);
        if is_used.iter().all(|used| *used) {
            return None;
        }
        let mut renamed = vec![0u32; count];
        let mut used = Vec::new();
        for old in (0..count).filter(|old| is_used[*old]) {
            renamed[old] = used.len() as u32;
            used.push(old as u32);
        }
        indices.iter_mut().for_each(|index| *index = renamed[*index as usize]);
        Some(used)
    }

    /// Returns the positions, if they are floats.
    pub(crate) fn positions(&self) -> Option<Vec<[f32; 3]>> {
        let (_, data) = self.attributes.iter().find(|(name, _)| name == "POSITION")?;
        (data.component_type == crate::attribute::FLOAT).then(|| vectors(data)).flatten()
    }

    /// Returns the largest displacement of a position along an axis.
    pub(crate) fn largest_displacement(&self) -> f32 {
        let positions = self.targets.iter().flatten().filter(|(name, _)| name == "POSITION");
        let values = positions.flat_map(|(_, data)| crate::attribute::numbers(data));
        values.fold(0.0, |most, value| most.max(value.abs()))
    }

    /// Returns true if the primitive has morph targets.
    pub(crate) fn has_targets(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Encodes the vertices, welds and orders them, and makes LODs.
    pub(crate) fn encode(&self, grid: Option<Grid>, options: &EncodeOptions) -> Result<Encoded, Diag> {
        let formats = options.formats;
        let sets: Vec<&AccessorData> = self
            .attributes
            .iter()
            .filter(|(name, _)| name.starts_with("WEIGHTS_"))
            .map(|(_, data)| data)
            .collect();
        let mut weights = formats.weights(&sets).into_iter();
        let mut attributes: Vec<(String, Elements)> = Vec::new();
        for (name, data) in &self.attributes {
            let encoded = if name.starts_with("WEIGHTS_") { weights.next() } else { None };
            let elements = encoded.unwrap_or_else(|| formats.attribute(name, data, grid));
            attributes.push((name.clone(), elements));
        }
        let target = |target: &Vec<(String, AccessorData)>| {
            target
                .iter()
                .map(|(name, data)| (name.clone(), formats.displacements(name, data, grid)))
                .collect()
        };
        let mut encoded = Encoded {
            attributes,
            targets: self.targets.iter().map(target).collect(),
            indices: self.indices.clone(),
            triangles: self.triangles,
            lods: vec![],
        };
        let positions = self.attributes.iter().find(|(name, _)| name == "POSITION");
        let positions = positions.and_then(|(_, data)| vectors::<3>(data));
        let (Some(indices), Some(positions), true) = (&self.indices, positions, self.triangles) else {
            return Ok(encoded);
        };
        let words: Vec<(Vec<u32>, usize)> =
            encoded.elements().map(|elements| (elements.words(), elements.stride / 4)).collect();
        let streams: Vec<PackedStream<'_>> =
            words.iter().map(|(words, stride)| PackedStream { words, stride: *stride }).collect();
        let failed = |error: kiln_mesh::Error| Diag::new(Code::Mesh, error.to_string());
        let welded = packed::weld(indices, &positions, &streams, options.optimize).map_err(failed)?;
        encoded.elements_mut().for_each(|elements| *elements = elements.gather(&welded.sources));
        if let Some((rule, error)) = options.lods.as_ref().filter(|_| self.targets.is_empty()) {
            let at =
                |list: &[[f32; 3]]| welded.sources.iter().map(|&at| list[at as usize]).collect::<Vec<_>>();
            let positions = at(&positions);
            let find =
                |name: &str| self.attributes.iter().find(|(found, _)| found == name).map(|(_, data)| data);
            let normals = find("NORMAL").and_then(vectors::<3>).map(|normals| at(&normals));
            let uvs = find("TEXCOORD_0").and_then(vectors::<2>);
            let uvs = uvs.map(|uvs| welded.sources.iter().map(|&at| uvs[at as usize]).collect::<Vec<_>>());
            let surface = LodSurface {
                positions: &positions,
                normals: normals.as_deref(),
                uvs: uvs.as_deref(),
                deadline: options.deadline,
            };
            let lods = packed::lods(&welded.indices, surface, rule, *error).map_err(failed)?;
            encoded.lods = lods.into_iter().map(|lod| lod.indices).collect();
        }
        encoded.indices = Some(welded.indices);
        Ok(encoded)
    }
}

/// The options of [`Decoded::encode`].
pub(crate) struct EncodeOptions {
    pub(crate) formats: Formats,
    /// Orders triangles and vertices for the GPU.
    pub(crate) optimize: bool,
    /// The rule for LODs and their largest relative error.
    pub(crate) lods: Option<(LodRule, f32)>,
    pub(crate) deadline: Option<Instant>,
}

/// A primitive in its final formats.
pub(crate) struct Encoded {
    attributes: Vec<(String, Elements)>,
    targets: Vec<Vec<(String, Elements)>>,
    indices: Option<Vec<u32>>,
    triangles: bool,
    /// The indices of each LOD; empty where simplification stalled.
    pub(crate) lods: Vec<Vec<u32>>,
}

impl Encoded {
    fn elements(&self) -> impl Iterator<Item = &Elements> {
        self.attributes.iter().chain(self.targets.iter().flatten()).map(|(_, elements)| elements)
    }

    fn elements_mut(&mut self) -> impl Iterator<Item = &mut Elements> {
        self.attributes.iter_mut().chain(self.targets.iter_mut().flatten()).map(|(_, elements)| elements)
    }

    /// Returns true if the formats need `KHR_mesh_quantization`.
    pub(crate) fn is_quantized(&self) -> bool {
        let attributes = self.attributes.iter().any(|(name, e)| needs_quantization(name, e, false));
        attributes || self.targets.iter().flatten().any(|(name, e)| needs_quantization(name, e, true))
    }

    /// Writes the vertices and the indices, and replaces the accessors of the primitive's JSON.
    pub(crate) fn write(&self, streams: &mut Streams, json: &mut Json) {
        tree::remove_extension(json, "KHR_draco_mesh_compression");
        let mut put = |class: &str, list: &[(String, Elements)]| {
            let members = list.iter().map(|(name, elements)| {
                let bounds = name == "POSITION";
                let class = format!("{class}{name}");
                (name.clone().into(), number(streams.elements(Usage::Vertices, &class, elements, bounds)))
            });
            Json::Object(members.collect())
        };
        tree::set(json, "attributes", put("", &self.attributes));
        if !self.targets.is_empty() {
            let targets = self.targets.iter().map(|target| put("target ", target)).collect();
            tree::set(json, "targets", Json::Array(targets));
        }
        if self.triangles {
            tree::remove(json, "mode");
        }
        if let Some(indices) = &self.indices {
            self.write_indices(streams, json, indices);
        }
    }

    /// Writes indices and sets those of the primitive's JSON.
    pub(crate) fn write_indices(&self, streams: &mut Streams, json: &mut Json, indices: &[u32]) {
        let usage = if self.triangles { Usage::Triangles } else { Usage::Indices };
        tree::set(json, "indices", number(streams.indices(usage, indices)));
    }
}

/// Returns the elements of an accessor at these indices.
fn select(data: &AccessorData, used: Option<&[u32]>) -> AccessorData {
    let Some(used) = used else { return data.clone() };
    let size = data.components * crate::attribute::component_size(data.component_type);
    let bytes = used.iter().flat_map(|&at| &data.bytes[at as usize * size..][..size]).copied().collect();
    AccessorData { kind: data.kind.clone(), count: used.len(), bytes, ..*data }
}

/// Converts the indices of triangles, a strip or a fan to a list; `None` if a triangle is incomplete.
fn triangle_list(indices: Vec<u32>, mode: usize) -> Option<Vec<u32>> {
    let windows = indices.windows(3);
    match mode {
        4 => indices.len().is_multiple_of(3).then_some(indices),
        // Every second triangle of a strip has the opposite winding.
        5 => Some(
            windows
                .enumerate()
                .flat_map(|(at, w)| if at % 2 == 0 { [w[0], w[1], w[2]] } else { [w[0], w[2], w[1]] })
                .collect(),
        ),
        _ => {
            let Some((&first, rest)) = indices.split_first() else { return Some(indices) };
            Some(rest.windows(2).flat_map(|w| [w[0], w[1], first]).collect())
        }
    }
}
