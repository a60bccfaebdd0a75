//! glTF 2.0 into [`Scene`]: `.gltf` and `.glb`, with everything they refer to inside the project.
//!
//! Read are all forms of accessors, triangle lists, strips and fans, nodes, instances, skins and animations, and the
//! extensions that `document.rs` lists. What a scene cannot hold is named in warnings; one for the whole file, or one
//! for each material that is used. Only what the chosen scene draws is decoded.
//!
//! Refused are files that contradict themselves, with the place as a JSON pointer; extensions that are required,
//! change geometry and are not known; and references out of the project. Memory is
//! bounded by the size of the files and by the limits on the source.

mod accessor;
mod animation;
mod at;
mod bounds;
mod buffers;
mod conformance;
mod document;
mod draco;
mod geometry;
mod glb;
mod images;
mod json;
mod material;
mod meshopt;
mod nodes;
mod size;
mod uri;
mod vertices;

use std::collections::BTreeSet;

use kiln_engine::{Code, Diag, Inputs, RelPath};
use kiln_ir::{Flaw, ImageId, Mesh, MeshId, Node, NodeId, Scene, Valid};

use crate::Imported;
use crate::files::Files;
use buffers::Buffers;
use document::Document;
use geometry::{Geometry, Notes};

/// Imports the default scene of a file.
pub fn import(cx: &mut Inputs<'_>, source: &RelPath) -> Result<Imported<Valid<Scene>>, Diag> {
    import_scene(cx, source, None)
}

/// Which scene of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick<'a> {
    /// The one that the file says.
    #[default]
    Default,
    /// By its number.
    Number(u32),
    /// By its name.
    Named(&'a str),
}

/// Which pictures of a file are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pictures {
    /// None: shapes do not need them, and need not fail when one is missing.
    None,
    /// Those of materials that are drawn.
    #[default]
    Drawn,
    /// All that any material uses.
    All,
}

/// Which parts of a file are wanted; what is not costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// Which scene.
    pub scene: Pick<'a>,
    /// Whether the triangles of meshes are decoded.
    pub shapes: bool,
    /// Which pictures are read.
    pub pictures: Pictures,
}

/// All of the default scene.
impl Default for Parts<'_> {
    fn default() -> Self {
        Parts { scene: Pick::Default, shapes: true, pictures: Pictures::Drawn }
    }
}

/// Imports one scene of a file, by its number, or the default one.
pub fn import_scene(
    cx: &mut Inputs<'_>,
    source: &RelPath,
    scene: Option<u32>,
) -> Result<Imported<Valid<Scene>>, Diag> {
    import_parts(cx, source, &Parts { scene: scene.map_or(Pick::Default, Pick::Number), ..Parts::default() })
}

/// Imports parts of a file.
pub fn import_parts(
    cx: &mut Inputs<'_>,
    source: &RelPath,
    parts: &Parts<'_>,
) -> Result<Imported<Valid<Scene>>, Diag> {
    crate::open(cx, source, |bytes, files| read(bytes, files, parts))
}

fn read(bytes: &[u8], files: &mut Files<'_, '_>, parts: &Parts<'_>) -> Result<Imported<Valid<Scene>>, Diag> {
    let container = glb::open(bytes)?;
    let json = json::parse(container.json)?;
    let document = Document::new(&json)?;
    let (limits, deadline) = (*files.limits(), files.deadline());
    let buffers = Buffers::new(&document, container.binary, files)?;
    let surfaces = material::read(&document)?;
    let mut nodes = nodes::read(&document, &buffers)?;
    let (mut roots, number) = nodes::roots(&document, &nodes, parts.scene)?;
    if nodes.is_empty() && document.scenes.len() == 0 {
        // A library of meshes: each is drawn where it is.
        let mesh = |id| Node { mesh: Some(MeshId(id)), ..Node::default() };
        nodes = (0..document.meshes.len() as u32).map(mesh).collect();
        roots = (0..nodes.len() as u32).map(NodeId).collect();
    }

    let reached = nodes::reachable(&nodes, &roots);
    let drawn = nodes.iter().zip(&reached).filter(|(_, r)| **r && parts.shapes);
    let drawn: BTreeSet<MeshId> = drawn.filter_map(|(n, _)| n.mesh).collect();
    size::check(&document, &drawn, &limits)?;
    let mut geometry =
        Geometry { document: &document, buffers: &buffers, surfaces: &surfaces, notes: Notes::default() };
    let mut meshes = Vec::with_capacity(document.meshes.len());
    for (index, at) in document.meshes.iter().enumerate() {
        limits.check_time(deadline)?;
        let is_drawn = drawn.contains(&MeshId(index as u32));
        meshes.push(if is_drawn {
            geometry.mesh(at)?
        } else {
            Mesh { name: at.text_of("name")?.to_owned(), ..Mesh::default() }
        });
    }
    let mut notes = geometry.notes;
    for (node, _) in document.nodes.iter().zip(&reached).filter(|(_, r)| **r && parts.shapes) {
        notes.violations.check_node(node, document.meshes)?;
    }
    let mut warnings = Vec::new();
    let mut used: BTreeSet<ImageId> = BTreeSet::new();
    for material in &notes.used {
        let surface = &surfaces[material.0 as usize];
        used.extend(surface.material.textures().map(|(_, image)| image));
        warnings.extend(surface.warnings.iter().cloned());
    }
    match parts.pictures {
        Pictures::None => used.clear(),
        Pictures::Drawn => {}
        Pictures::All => {
            used.extend(surfaces.iter().flat_map(|s| s.material.textures()).map(|(_, image)| image))
        }
    }
    let images = images::read(&document, &buffers, &used)?;
    let skins = nodes::skins(&document, &buffers)?;
    let animated = animation::read(&document, &buffers, &mut notes.violations)?;
    notes.violations.check_document(&document)?;
    notes.violations.check_bounds(document.accessors, &buffers);
    notes.unsorted = animated.unsorted;
    notes.lost.extend(animated.lost);
    note_document(&document, &mut notes.lost);
    warnings.extend(summary(&document, notes, number, parts.scene != Pick::Default)?);

    let scene = Scene {
        nodes,
        roots,
        meshes,
        materials: surfaces.into_iter().map(|surface| surface.material).collect(),
        images,
        skins,
        animations: animated.animations,
    };
    let value = scene.validate().map_err(|flaw| flawed(&flaw, number.unwrap_or_default()))?;
    Ok(Imported { value, warnings })
}

/// Things beside geometry that a scene has no room for.
fn note_document(document: &Document<'_>, lost: &mut BTreeSet<String>) {
    for (extension, what) in [("KHR_lights_punctual", "lights"), ("KHR_node_visibility", "node visibility")] {
        if document.nodes.iter().any(|node| node.extension(extension).is_some()) {
            lost.insert(what.to_owned());
        }
    }
}

/// One warning for each kind of thing that turned up.
fn summary(
    document: &Document<'_>,
    notes: Notes,
    scene: Option<usize>,
    asked: bool,
) -> Result<Vec<Diag>, Diag> {
    let mut warnings = Vec::new();
    // Who asked for a scene knows that there are others.
    if let (Some(scene), 2.., false) = (scene, document.scenes.len(), asked) {
        let message = format!("of {} scenes, only number {scene} is taken", document.scenes.len());
        warnings.push(Diag::new(Code::GltfScenes, message).at("/scenes"));
    }
    if let Some((count, at)) = notes.no_triangles {
        let message =
            format!("{count} primitives are points or lines, or have no triangles, and are passed over");
        warnings.push(Diag::new(Code::GltfNoTriangles, message).at(at));
    }
    if let Some((count, at)) = notes.no_coordinates {
        let message = format!("{count} primitives lack the texture coordinates that their material uses");
        warnings
            .push(Diag::new(Code::GltfUv, message).at(at).hint("they get the first set, if they have one"));
    }
    if let Some((count, at)) = notes.unsorted {
        let message =
            format!("{count} channels have keys out of the order of their times, and are put into it");
        warnings.push(Diag::new(Code::GltfKeyOrder, message).at(at));
    }
    if let Some((count, at)) = notes.influences {
        let message = format!("{count} vertices hang on more than four joints, and keep the strongest four");
        warnings.push(Diag::new(Code::GltfInfluences, message).at(at));
    }
    warnings.extend(notes.violations.warnings());
    if !notes.lost.is_empty() {
        let lost: Vec<String> = notes.lost.into_iter().collect();
        warnings.push(Diag::new(Code::GltfNotKept, format!("not kept are {}", lost.join(", "))));
    }
    let unknown = document.unknown_extensions()?;
    if !unknown.is_empty() {
        let message = format!("the model uses extensions that are not known: {}", unknown.join(", "));
        warnings.push(Diag::new(Code::GltfExtensionUnknown, message).at("/extensionsUsed"));
    }
    Ok(warnings)
}

/// A flaw of the model as one of the document: their lists are numbered alike.
fn flawed(flaw: &Flaw, scene: usize) -> Diag {
    let place = flaw.at.replace("roots[", &format!("scenes[{scene}].nodes["));
    let pointer = format!("/{}", place.replace(']', "").replace(['[', '.'], "/"));
    Diag::new(Code::GltfModel, flaw.what.clone()).at(pointer).hint("the file is damaged: export it again")
}
