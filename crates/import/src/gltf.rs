//! glTF 2.0 (`.gltf` and `.glb`) into [`Scene`], with all files it refers to inside the project.
//!
//! Supports all forms of accessors, triangle lists, strips and fans, nodes, instances, skins and animations; the tables
//! in [`support`] list all features and extensions. Content that a scene cannot represent, and content that [`Options`]
//! do not ask for, is named in warnings, once for the whole file. Only content of the selected scene is decoded.
//!
//! Rejects invalid files, with the place as a JSON pointer; unknown required extensions that may change geometry; and
//! references outside of the project. Memory is bounded by the size of the files and by the limits of the source.

mod accessor;
mod animation;
mod bounds;
mod buffers;
mod cameras_lights;
mod conformance;
mod document;
mod draco;
mod geometry;
mod glb;
mod images;
mod json;
mod losses;
mod material;
mod material_extensions;
mod meshopt;
mod morph;
mod nodes;
mod size;
mod source_document;
mod specular_glossiness;
pub mod support;
mod uri;
mod value;
mod vertices;

use std::collections::BTreeSet;

use kiln_diagnostics::{Code, Diag, RelPath, SourceFiles};
use kiln_ir::{ImageId, Mesh, MeshId, Node, NodeId, Scene, Valid, ValidationError};

use crate::files::Files;
use crate::{Imported, counted};
use buffers::Buffers;
use document::Document;
use geometry::{Geometry, Notes};
use images::Images;
pub use json::Json;
pub use source_document::{AccessorData, DracoPrimitive, SourceDocument, with_document};

/// Imports the default scene of a file, with the images of the materials that it draws.
///
/// # Errors
/// A code that starts with `gltf-` for an invalid file, with the JSON pointer of the place; `file-missing`, `file-empty`
/// or `lfs-pointer` for a file without content; `memory-limit` or `time-limit` beyond the limits of `files`; and any
/// error of reading through `files`.
pub fn import(files: &mut dyn SourceFiles, source: &RelPath) -> Result<Imported<Valid<Scene>>, Diag> {
    import_with(files, source, &Options::new())
}

/// Imports one scene of a file by its index, or the default scene.
///
/// # Errors
/// `gltf-reference` if there is no such scene, and the errors of [`import`].
pub fn import_scene(
    files: &mut dyn SourceFiles,
    source: &RelPath,
    scene: Option<u32>,
) -> Result<Imported<Valid<Scene>>, Diag> {
    let scene = scene.map_or(SceneSelection::Default, SceneSelection::Index);
    import_with(files, source, &Options::new().scene(scene))
}

/// Imports the parts of a file that the options select.
///
/// # Errors
/// `gltf-reference` if there is no such scene, and the errors of [`import`].
pub fn import_with(
    files: &mut dyn SourceFiles,
    source: &RelPath,
    options: &Options<'_>,
) -> Result<Imported<Valid<Scene>>, Diag> {
    crate::open(files, source, |bytes, files| read(bytes, files, options))
}

/// The scene of a file that is imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SceneSelection<'a> {
    /// The default scene of the file, or its first one.
    #[default]
    Default,
    /// The scene with this index.
    Index(u32),
    /// The first scene with this name.
    Name(&'a str),
}

/// The images of a file that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageSelection {
    /// No images: geometry does not need them, and a missing image is no error.
    None,
    /// The images of materials that are drawn.
    #[default]
    Drawn,
    /// The images of all materials.
    All,
}

/// The materials whose warnings are returned. All materials are imported in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MaterialSelection {
    /// None, except for warnings about UVs, which are part of the geometry.
    Geometry,
    /// The materials that are drawn.
    #[default]
    Drawn,
    /// All materials, and each one's own warnings with its pointer, not merged: for a caller that selects materials.
    All,
}

/// The parts of a file that are imported; others are not decoded.
///
/// ```
/// use kiln_import::gltf::{ImageSelection, Options};
///
/// let options = Options::new().geometry(false).images(ImageSelection::All);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options<'a> {
    /// The scene.
    pub scene: SceneSelection<'a>,
    /// Decodes the primitives of meshes; without it, meshes have a name only.
    pub geometry: bool,
    /// The images that are read.
    pub images: ImageSelection,
    /// The materials whose warnings are returned.
    pub materials: MaterialSelection,
    /// Imports `KHR_materials_transmission`; without it, the extension is reported as unsupported.
    pub transmission: bool,
    /// Imports vertex colours (`COLOR_0`); without it, they are reported as unsupported.
    pub vertex_colors: bool,
    /// Imports all UV sets; without it, only the set of the material and one more are, and others are reported.
    pub uv_sets: bool,
    /// Imports UV sets as they are in the source, in their order, without the texture transforms of the material;
    /// without it, the first UV set is that of the material's first texture, with its transform applied.
    pub raw_uvs: bool,
    /// Imports morph targets, their weights and the animations of the weights; without it, they are reported.
    pub morph_targets: bool,
    /// Imports cameras, punctual lights and `extras`; without it, they are reported.
    pub scene_data: bool,
    /// Imports the extensions of materials, and the UV set, transform and sampler of each texture; without it, they are
    /// reported.
    pub material_extensions: bool,
}

impl<'a> Options<'a> {
    /// Creates options for the default scene with its geometry and the images that it draws.
    pub fn new() -> Options<'a> {
        Options {
            scene: SceneSelection::Default,
            geometry: true,
            images: ImageSelection::Drawn,
            materials: MaterialSelection::Drawn,
            transmission: false,
            vertex_colors: false,
            uv_sets: false,
            raw_uvs: false,
            morph_targets: false,
            scene_data: false,
            material_extensions: false,
        }
    }

    /// Creates options for the default scene with everything that a scene can represent, and UV sets as they are in the
    /// source: for a caller that writes models.
    pub fn everything() -> Options<'a> {
        Options {
            transmission: true,
            vertex_colors: true,
            uv_sets: true,
            raw_uvs: true,
            morph_targets: true,
            scene_data: true,
            material_extensions: true,
            ..Options::new()
        }
    }

    /// Selects the scene.
    pub fn scene(self, scene: SceneSelection<'a>) -> Options<'a> {
        Options { scene, ..self }
    }

    /// Enables or disables decoding the primitives of meshes.
    pub fn geometry(self, geometry: bool) -> Options<'a> {
        Options { geometry, ..self }
    }

    /// Selects the images that are read.
    pub fn images(self, images: ImageSelection) -> Options<'a> {
        Options { images, ..self }
    }

    /// Selects the materials whose warnings are returned.
    pub fn materials(self, materials: MaterialSelection) -> Options<'a> {
        Options { materials, ..self }
    }

    /// Enables or disables importing `KHR_materials_transmission`.
    pub fn transmission(self, transmission: bool) -> Options<'a> {
        Options { transmission, ..self }
    }

    /// Enables or disables importing vertex colours.
    pub fn vertex_colors(self, vertex_colors: bool) -> Options<'a> {
        Options { vertex_colors, ..self }
    }

    /// Enables or disables importing all UV sets.
    pub fn uv_sets(self, uv_sets: bool) -> Options<'a> {
        Options { uv_sets, ..self }
    }

    /// Enables or disables importing UV sets without the texture transforms of the material.
    pub fn raw_uvs(self, raw_uvs: bool) -> Options<'a> {
        Options { raw_uvs, ..self }
    }

    /// Enables or disables importing morph targets.
    pub fn morph_targets(self, morph_targets: bool) -> Options<'a> {
        Options { morph_targets, ..self }
    }

    /// Enables or disables importing cameras, punctual lights and `extras`.
    pub fn scene_data(self, scene_data: bool) -> Options<'a> {
        Options { scene_data, ..self }
    }

    /// Enables or disables importing the extensions of materials.
    pub fn material_extensions(self, material_extensions: bool) -> Options<'a> {
        Options { material_extensions, ..self }
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options::new()
    }
}

fn read(bytes: &[u8], files: &mut Files<'_>, options: &Options<'_>) -> Result<Imported<Valid<Scene>>, Diag> {
    let container = glb::open(bytes)?;
    let json = json::parse(container.json)?;
    let document = Document::new(&json)?;
    let (limits, deadline) = (*files.limits(), files.deadline());
    let buffers = Buffers::new(&document, container.binary, files)?;
    let materials = material::read(&document, options)?;
    let mut nodes = nodes::read(&document, &buffers, options)?;
    let (mut roots, number) = nodes::roots(&document, &nodes, options.scene)?;
    if nodes.is_empty() && document.scenes.len() == 0 {
        // A mesh library without nodes: each mesh is drawn at the origin.
        let mesh = |id| Node { mesh: Some(MeshId(id)), ..Node::default() };
        nodes = (0..document.meshes.len() as u32).map(mesh).collect();
        roots = (0..nodes.len() as u32).map(NodeId).collect();
    }

    let reached = nodes::reachable(&nodes, &roots);
    let drawn = nodes.iter().zip(&reached).filter(|(_, reached)| **reached);
    let mut drawn: BTreeSet<MeshId> = drawn.filter_map(|(n, _)| n.mesh).collect();
    let with_materials = if options.geometry { BTreeSet::new() } else { std::mem::take(&mut drawn) };
    size::check(&document, &drawn, options, &limits)?;
    let material::Materials { list: materials, conversions } = materials;
    let mut geometry = Geometry {
        document: &document,
        buffers: &buffers,
        materials: &materials,
        options,
        notes: Notes::default(),
    };
    let mut meshes = Vec::with_capacity(document.meshes.len());
    for (index, at) in document.meshes.iter().enumerate() {
        limits.check_time(deadline)?;
        let is_drawn = drawn.contains(&MeshId(index as u32));
        if with_materials.contains(&MeshId(index as u32)) {
            geometry.note_materials(at)?;
        }
        meshes.push(if is_drawn {
            geometry.mesh(at)?
        } else {
            Mesh { name: at.string_or_empty("name")?.to_owned(), ..Mesh::default() }
        });
    }
    let mut notes = geometry.notes;
    morph::fit_node_weights(&mut nodes, &meshes);
    for (node, _) in document.nodes.iter().zip(&reached).filter(|(_, r)| **r && options.geometry) {
        notes.violations.check_node(node, document.meshes)?;
    }
    let drawn = || notes.used.iter().map(|id| &materials[id.0 as usize]);
    let mut warnings = match options.materials {
        MaterialSelection::Geometry => Vec::new(),
        MaterialSelection::Drawn => material::warnings(drawn()),
        MaterialSelection::All => materials.iter().flat_map(|m| m.warnings.iter().cloned()).collect(),
    };
    let lost_sampling: BTreeSet<&str> = match options.materials {
        MaterialSelection::Geometry => BTreeSet::new(),
        MaterialSelection::Drawn => drawn().flat_map(|m| m.lost_sampling.iter().copied()).collect(),
        MaterialSelection::All => materials.iter().flat_map(|m| m.lost_sampling.iter().copied()).collect(),
    };
    let mut used: BTreeSet<ImageId> = drawn().flat_map(|material| material.material.images()).collect();
    match options.images {
        ImageSelection::None => used.clear(),
        ImageSelection::Drawn => {}
        ImageSelection::All => used.extend(materials.iter().flat_map(|m| m.material.images())),
    }
    let mut images = Images { document: &document, used, limits: &limits, deadline };
    let images = images.read(&buffers, &conversions, &mut warnings)?;
    let skins = nodes::skins(&document, &buffers, options)?;
    let mut animated = animation::read(&document, &buffers, options, &mut notes.violations)?;
    if options.geometry {
        morph::keep_matching_channels(&mut animated, &nodes, &meshes);
    }
    notes.violations.check_document(&document)?;
    notes.violations.check_bounds(document.accessors, &buffers);
    notes.unsorted = animated.unsorted;
    notes.unsupported.extend(animated.unsupported);
    notes.unsupported.extend(lost_sampling.into_iter().map(str::to_owned));
    losses::find(&document, &reached, options, &mut notes.unsupported);
    warnings.extend(summary(&document, notes, number, options.scene != SceneSelection::Default)?);

    let described = number.and_then(|number| document.scenes.get(number)).filter(|_| options.scene_data);
    let scene = Scene {
        name: described.map_or(Ok(""), |at| at.string_or_empty("name"))?.to_owned(),
        extras: described.map(|at| at.extras()).unwrap_or_default(),
        document_extras: if options.scene_data { document.root.extras() } else { String::new() },
        cameras: if options.scene_data { cameras_lights::cameras(&document)? } else { Vec::new() },
        lights: if options.scene_data { cameras_lights::lights(&document)? } else { Vec::new() },
        nodes,
        roots,
        meshes,
        materials: materials.into_iter().map(|import| import.material).collect(),
        images,
        skins,
        animations: animated.animations,
    };
    let value = scene.validate().map_err(|error| validation_diag(&error, number.unwrap_or_default()))?;
    Ok(Imported { value, warnings })
}

/// Creates one warning for each kind of finding.
fn summary(
    document: &Document<'_>,
    notes: Notes,
    scene: Option<usize>,
    scene_selected: bool,
) -> Result<Vec<Diag>, Diag> {
    let mut warnings = Vec::new();
    // A caller that selects a scene knows about the others.
    if let (Some(scene), 2.., false) = (scene, document.scenes.len(), scene_selected) {
        let message =
            format!("the document has {} scenes, and only scene {scene} is imported", document.scenes.len());
        warnings.push(Diag::new(Code::GltfScenes, message).at("/scenes"));
    }
    if let Some((count, at)) = notes.no_triangles {
        let primitives =
            counted(count, "primitive has no triangles and is", "primitives have no triangles and are");
        let message = format!("{primitives} ignored: points and lines are not supported");
        warnings.push(Diag::new(Code::GltfNoTriangles, message).at(at));
    }
    if let Some((count, at)) = notes.too_few_vertices {
        let primitives = counted(
            count,
            "primitive has fewer than three vertices and is",
            "primitives have fewer than three vertices and are",
        );
        let message = format!("{primitives} dropped: a triangle needs three");
        let hint = "look for loose vertices and edges in the source";
        warnings.push(Diag::new(Code::GltfTooFewVertices, message).at(at).hint(hint));
    }
    if let Some((count, at)) = notes.missing_uvs {
        let primitives = counted(count, "primitive lacks", "primitives lack");
        let message = format!("{primitives} the UV set of the material's textures");
        warnings.push(
            Diag::new(Code::GltfUv, message).at(at).hint("the first UV set is used instead, if there is one"),
        );
    }
    if let Some((count, at)) = notes.unsorted {
        let channels = counted(count, "animation channel has", "animation channels have");
        let message = format!("{channels} keyframes out of order, which are sorted by time");
        warnings.push(Diag::new(Code::GltfKeyframeOrder, message).at(at));
    }
    if let Some((count, at)) = notes.influences {
        let vertices = counted(count, "vertex has", "vertices have");
        let message =
            format!("{vertices} more than four bone influences, and only the strongest four are kept");
        warnings.push(Diag::new(Code::GltfInfluences, message).at(at));
    }
    warnings.extend(notes.violations.warnings());
    if !notes.unsupported.is_empty() {
        let unsupported: Vec<String> = notes.unsupported.into_iter().collect();
        warnings.push(Diag::new(
            Code::GltfDataIgnored,
            format!("unsupported content is ignored: {}", unsupported.join(", ")),
        ));
    }
    let unknown = document.unknown_extensions()?;
    if !unknown.is_empty() {
        let message = format!("the model uses unknown extensions, which are ignored: {}", unknown.join(", "));
        warnings.push(Diag::new(Code::GltfExtensionUnknown, message).at("/extensionsUsed"));
    }
    Ok(warnings)
}

/// Converts a validation error to a diagnostic of the document, whose arrays have the same indices.
fn validation_diag(error: &ValidationError, scene: usize) -> Diag {
    let place = error.at.replace("roots[", &format!("scenes[{scene}].nodes["));
    let pointer = format!("/{}", place.replace(']', "").replace(['[', '.'], "/"));
    Diag::new(Code::GltfModel, error.message.clone()).at(pointer).hint("the file is damaged: export it again")
}
