//! Optimised glTF 2.0 from glTF, OBJ and FBX, for engines that load the standard: three.js, Babylon.js, Godot, Bevy.
//!
#![doc = include_str!("../README.md")]

mod animation;
mod attribute;
mod container;
mod dequantization;
mod extensions;
mod primitive;
mod references;
mod scene_document;
mod source;
mod streams;
mod textures;
mod tree;

use std::collections::BTreeMap;
use std::time::Instant;

use kiln_diagnostics::{Code, Diag, Limits, RelPath, SourceFiles};
use kiln_import::gltf::{self, ImageSelection, MaterialSelection};
use kiln_ir::{Scene, Valid};
use kiln_mesh::LodRule;
use rayon::prelude::*;

use attribute::{Elements, Formats};
use dequantization::Grids;
use primitive::{Accessors, Decoded, EncodeOptions, Encoded};
use references::{Document, List, Used};
use scene_document::SceneDocument;
use source::Source;
use streams::{Streams, Usage};
use tree::{Json, number, string};

pub use container::split;
pub use textures::{TextureEncoder, TextureRole};

/// The steps of an export. The default is that of `assetc`: everything but LODs.
///
/// ```
/// let mut options = kiln_gltf_export::Options::default();
/// options.compress = false;
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Quantises vertex attributes (`KHR_mesh_quantization`) and rotations of animations.
    pub quantize: bool,
    /// Compresses buffer views (`EXT_meshopt_compression`).
    pub compress: bool,
    /// Orders triangles and vertices for the post-transform vertex cache, overdraw and vertex fetch.
    pub optimize: bool,
    /// The number of LODs of each mesh (`MSFT_lod`), each with half the triangles of the one before.
    pub lods: usize,
    /// The largest geometric error of an LOD, relative to the size of the mesh.
    pub lod_error: f32,
    /// Keeps this scene only; otherwise all scenes are kept.
    pub scene: Option<u32>,
}

impl Default for Options {
    fn default() -> Options {
        Options { quantize: true, compress: true, optimize: true, lods: 0, lod_error: 0.05, scene: None }
    }
}

/// The result of an export.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Exported {
    /// The binary glTF.
    pub glb: Vec<u8>,
    /// Warnings about content that is not kept.
    pub warnings: Vec<Diag>,
}

/// Exports a glTF. Images are encoded by `textures`, or kept as they are without it.
///
/// # Errors
/// The errors of [`gltf::import`] for an invalid file, `memory-limit` and `time-limit` beyond the limits of `files`,
/// `gltf-too-large` for a result beyond 4 GiB, and the errors of `textures`.
pub fn export(
    files: &mut dyn SourceFiles,
    path: &RelPath,
    options: &Options,
    textures: Option<&mut TextureEncoder<'_>>,
) -> Result<Exported, Diag> {
    // Checks trees of nodes, skins, animations and materials, with the place of every error.
    let checked = gltf::Options::new()
        .geometry(false)
        .images(ImageSelection::None)
        .materials(MaterialSelection::Geometry)
        .scene(options.scene.map_or(gltf::SceneSelection::Default, gltf::SceneSelection::Index));
    gltf::import_with(files, path, &checked)?;
    let clock = Clock { limits: *files.limits(), deadline: files.deadline() };
    gltf::with_document(files, path, |document| run(document, options, textures, &clock))
}

/// Exports a scene of another source.
///
/// # Errors
/// `time-limit` after the deadline, `gltf-too-large` for a result beyond 4 GiB, and the errors of `textures`.
pub fn export_scene(
    scene: &Valid<Scene>,
    options: &Options,
    textures: Option<&mut TextureEncoder<'_>>,
    limits: Limits,
    deadline: Option<Instant>,
) -> Result<Exported, Diag> {
    run(
        &SceneDocument::new(scene),
        &Options { scene: None, ..*options },
        textures,
        &Clock { limits, deadline },
    )
}

/// The time limit of an export.
struct Clock {
    limits: Limits,
    deadline: Option<Instant>,
}

impl Clock {
    fn check(&self) -> Result<(), Diag> {
        self.limits.check_time(self.deadline)
    }
}

fn run(
    source: &dyn Source,
    options: &Options,
    textures: Option<&mut TextureEncoder<'_>>,
    clock: &Clock,
) -> Result<Exported, Diag> {
    let mut warnings = Vec::new();
    let mut root = source.json();
    let required = names(&root, "extensionsRequired");
    let unlisted = ["accessors", "bufferViews", "buffers", "extensionsUsed", "extensionsRequired"];
    unlisted.iter().for_each(|name| _ = tree::remove(&mut root, name));
    let references_known = extensions::sort_out(&mut root, &mut warnings);
    let has_pointers = extensions::used(&root).contains("KHR_animation_pointer");
    let mut document = Document::new(root);
    if let Some(scene) = options.scene {
        select_scene(&mut document, scene)?;
    }
    // A document without scenes is a library of meshes or materials.
    let prunes = references_known && !document.list(List::Scenes).is_empty();
    let mut used = if prunes { Used::by_scenes(&mut document)? } else { Used::everything(&document) };
    let mut streams = Streams::default();
    let with_textures = textures.is_some();
    if let Some(encoder) = textures {
        textures::encode(&mut document, &mut used, source, &mut streams, encoder)?;
        if prunes {
            // Images that were replaced are unused now.
            used = Used::by_scenes(&mut document)?;
        }
    }
    textures::embed_all(&mut document, &used, source, &mut streams)?;
    clock.check()?;

    let decoded = decode(source, &document, &used)?;
    let grids = match options.quantize {
        // A pointer to the weights of a node would miss the child that has the mesh.
        true => Grids::new(&document, &used, &decoded, &|mesh| {
            has_pointers
                && decoded.get(&mesh).is_some_and(|primitives| primitives.iter().any(Decoded::has_targets))
        }),
        false => Grids::none(),
    };
    let encoded = encode(&decoded, &grids, options, clock)?;
    drop(decoded);
    clock.check()?;
    let is_quantized = encoded.values().flatten().any(Encoded::is_quantized);
    let lods = write_meshes(&mut document, &mut used, &encoded, &mut streams);
    write_skins(source, &mut document, &used, &grids, &mut streams)?;
    dequantization::write_nodes(&mut document, &mut used, &grids, &lods);
    write_instances(source, &mut document, &used, &mut streams)?;
    for (at, json) in document.list_mut(List::Animations).iter_mut().enumerate() {
        if used.is_used(List::Animations, at) {
            animation::write(source, &mut streams, json, &format!("/animations/{at}"), options.quantize)?;
        }
    }
    references::compact(&mut document, &used, prunes)?;
    clock.check()?;

    let finished = streams.finish(options.compress);
    let mut root = document.into_tree();
    for (name, list) in
        [("accessors", finished.accessors), ("bufferViews", finished.views), ("buffers", finished.buffers)]
    {
        if !list.is_empty() {
            tree::set(&mut root, name, Json::Array(list));
        }
    }
    let mut all = extensions::used(&root);
    let mut needed: Vec<String> = required.into_iter().filter(|name| all.contains(name)).collect();
    needed.extend(is_quantized.then(|| "KHR_mesh_quantization".to_owned()));
    needed.extend(finished.compressed.then(|| streams::EXTENSION.to_owned()));
    needed.extend(
        (with_textures && all.contains("KHR_texture_basisu")).then(|| "KHR_texture_basisu".to_owned()),
    );
    needed.sort();
    needed.dedup();
    all.extend(needed.iter().cloned());
    let lists = [("extensionsUsed", all.into_iter().collect()), ("extensionsRequired", needed)];
    for (name, list) in lists.into_iter().filter(|(_, list): &(_, Vec<String>)| !list.is_empty()) {
        tree::set(&mut root, name, Json::Array(list.iter().map(|name| string(name)).collect()));
    }
    if let Some(asset) = tree::get_mut(&mut root, "asset") {
        tree::set(asset, "generator", string("Kiln assetc"));
    }
    Ok(Exported { glb: container::glb(&root, &finished.buffer)?, warnings })
}

fn names(root: &Json, list: &str) -> Vec<String> {
    let name = |item: &Json| if let Json::String(name) = item { Some(name.to_string()) } else { None };
    tree::items(root, list).iter().filter_map(name).collect()
}

/// Removes all scenes but one.
fn select_scene(document: &mut Document, scene: u32) -> Result<(), Diag> {
    let scenes = document.list_mut(List::Scenes);
    if scene as usize >= scenes.len() {
        let message = format!("the document has no scene {scene}");
        return Err(Diag::new(Code::GltfReference, message).at("/scenes"));
    }
    let kept = scenes.swap_remove(scene as usize);
    *scenes = vec![kept];
    tree::set(&mut document.root, "scene", number(0));
    Ok(())
}

/// Decodes the primitives of all used meshes.
fn decode(
    source: &dyn Source,
    document: &Document,
    used: &Used,
) -> Result<BTreeMap<usize, Vec<Decoded>>, Diag> {
    let mut accessors = Accessors::new();
    let mut decoded = BTreeMap::new();
    for (mesh, json) in document.list(List::Meshes).iter().enumerate() {
        if !used.is_used(List::Meshes, mesh) {
            continue;
        }
        let primitives = tree::items(json, "primitives").iter().enumerate();
        let primitives =
            primitives.map(|(primitive, json)| Decoded::new(source, &mut accessors, json, mesh, primitive));
        decoded.insert(mesh, primitives.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(decoded)
}

/// Encodes all primitives in parallel.
fn encode(
    decoded: &BTreeMap<usize, Vec<Decoded>>,
    grids: &Grids,
    options: &Options,
    clock: &Clock,
) -> Result<BTreeMap<usize, Vec<Encoded>>, Diag> {
    let wanted = EncodeOptions {
        formats: Formats { quantize: options.quantize, compress: options.compress },
        optimize: options.optimize,
        lods: (options.lods > 0).then(|| (LodRule::halves(options.lods), options.lod_error)),
        deadline: clock.deadline,
    };
    let all: Vec<(usize, &Decoded)> =
        decoded.iter().flat_map(|(&mesh, primitives)| primitives.iter().map(move |p| (mesh, p))).collect();
    let encoded = all.par_iter().map(|(mesh, primitive)| {
        clock.check()?;
        let place = |diag: Diag| diag.at(format!("/meshes/{mesh}"));
        Ok((*mesh, primitive.encode(grids.meshes.get(mesh).copied(), &wanted).map_err(place)?))
    });
    let mut meshes: BTreeMap<usize, Vec<Encoded>> = BTreeMap::new();
    for (mesh, primitive) in encoded.collect::<Result<Vec<_>, Diag>>()? {
        meshes.entry(mesh).or_default().push(primitive);
    }
    Ok(meshes)
}

/// Writes the primitives of all meshes, and adds the meshes of LODs; returns those of each mesh.
fn write_meshes(
    document: &mut Document,
    used: &mut Used,
    encoded: &BTreeMap<usize, Vec<Encoded>>,
    streams: &mut Streams,
) -> BTreeMap<usize, Vec<usize>> {
    let mut lods = BTreeMap::new();
    for (&mesh, primitives) in encoded {
        let json = &mut document.list_mut(List::Meshes)[mesh];
        for (json, primitive) in tree::items_mut(json, "primitives").iter_mut().zip(primitives) {
            primitive.write(streams, json);
        }
        let mut level = json.clone();
        let mut added = Vec::new();
        for lod in 0..primitives.iter().map(|primitive| primitive.lods.len()).max().unwrap_or(0) {
            let mut is_smaller = false;
            for (json, primitive) in tree::items_mut(&mut level, "primitives").iter_mut().zip(primitives) {
                // A primitive that stalled keeps its previous LOD.
                if let Some(indices) = primitive.lods.get(lod).filter(|indices| !indices.is_empty()) {
                    primitive.write_indices(streams, json, indices);
                    is_smaller = true;
                }
            }
            if is_smaller {
                let name = tree::string_of(json_of(document, mesh), "name");
                if !name.is_empty() {
                    let name = format!("{name} LOD {}", lod + 1);
                    tree::set(&mut level, "name", string(&name));
                }
                document.list_mut(List::Meshes).push(level.clone());
                used.added(List::Meshes);
                added.push(document.list(List::Meshes).len() - 1);
            }
        }
        if !added.is_empty() {
            lods.insert(mesh, added);
        }
    }
    lods
}

fn json_of(document: &Document, mesh: usize) -> &Json {
    &document.list(List::Meshes)[mesh]
}

/// Writes the inverse bind matrices of used skins.
fn write_skins(
    source: &dyn Source,
    document: &mut Document,
    used: &Used,
    grids: &Grids,
    streams: &mut Streams,
) -> Result<(), Diag> {
    for (at, skin) in document.list_mut(List::Skins).iter_mut().enumerate() {
        if !used.is_used(List::Skins, at) {
            continue;
        }
        let data =
            tree::index_of(skin, "inverseBindMatrices").map(|index| source.accessor(index)).transpose()?;
        let joints = tree::items(skin, "joints").len();
        let elements = match (grids.skins.get(&at), &data) {
            (Some(grid), data) => dequantization::inverse_bind_matrices(data.as_ref(), joints, *grid),
            (None, Some(data)) => Elements::tight(data),
            (None, None) => continue,
        };
        let accessor = streams.elements(Usage::Other, "matrices", &elements, false);
        tree::set(skin, "inverseBindMatrices", number(accessor));
    }
    Ok(())
}

/// Writes the transforms of instances.
fn write_instances(
    source: &dyn Source,
    document: &mut Document,
    used: &Used,
    streams: &mut Streams,
) -> Result<(), Diag> {
    for (at, node) in document.list_mut(List::Nodes).iter_mut().enumerate() {
        let extension =
            tree::get_mut(node, "extensions").and_then(|e| tree::get_mut(e, "EXT_mesh_gpu_instancing"));
        let attributes = extension.and_then(|extension| tree::get_mut(extension, "attributes"));
        let Some(Json::Object(attributes)) = attributes.filter(|_| used.is_used(List::Nodes, at)) else {
            continue;
        };
        for (_, reference) in attributes {
            let index = tree::index(reference).ok_or_else(|| {
                let message = "an attribute of instances is not an index";
                Diag::new(Code::GltfValue, message).at(format!("/nodes/{at}"))
            })?;
            let elements = Elements::tight(&source.accessor(index)?);
            *reference = number(streams.elements(Usage::Other, "instances", &elements, false));
        }
    }
    Ok(())
}
