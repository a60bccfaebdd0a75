//! Autodesk FBX, text and binary, into [`Scene`]: metres, Y up, right-handed, as glTF has it.
//!
//! Supports meshes with polygons of any size and smoothing where normals are missing, nodes with all transform properties
//! of FBX, instances, materials with images that are embedded or inside the project, skins, and animations as linear
//! keyframes. Content that a scene cannot represent is listed in warnings: one for the whole file, or one for each used
//! material. Tangents are not imported: they are generated as for models without them.
//!
//! Files are parsed by the C library ufbx, through its safe interface. The library gets the bytes and nothing else: it opens
//! no files and has no callbacks. Its memory, the memory of the scene, and the depth of nodes are bounded by the size of the
//! file and by the limits of the source. Rejects the files that ufbx rejects.

mod animation;
mod material;
mod mesh;
mod nodes;

use std::collections::BTreeSet;
use std::time::Instant;

use kiln_diagnostics::{Code, Diag, Limits, MemoryBudget, RelPath, SourceFiles};
use kiln_ir::{Scene, Valid};
use ufbx::{AllocatorOpts, CoordinateAxes, ErrorType, LoadOpts};

use crate::files::Files;
use crate::{Imported, counted};
use material::MaterialReader;

/// The maximum depth of nodes; helper nodes are added to them, and a scene may be twice as deep.
const MAX_DEPTH: u32 = Scene::MAX_DEPTH as u32 / 4;

/// Imports a model with the images that it refers to.
///
/// # Errors
/// A code that starts with `fbx-` for an invalid file; `file-missing`, `file-empty` or `lfs-pointer` for a source without
/// content; `memory-limit` or `time-limit` beyond the limits of `files`; and any error of reading through `files`. A missing
/// image is a warning.
pub fn import(files: &mut dyn SourceFiles, source: &RelPath) -> Result<Imported<Valid<Scene>>, Diag> {
    crate::open(files, source, read)
}

/// The name of the memory of a model in messages.
const DECODED: &str = "the decoded arrays of the model";

/// The memory that a file may be decoded into: arrays are compressed, and meshes are drawn with several material lists.
struct Budget {
    /// The bytes that may still be allocated by the length of the file.
    left: usize,
    /// The budget by the limits of the source.
    memory: MemoryBudget,
    limits: Limits,
    deadline: Option<Instant>,
}

impl Budget {
    /// Creates the budget of a file of this length. Arrays of real models compress to a fifth at best, and are held twice.
    fn of(length: usize, limits: Limits, deadline: Option<Instant>) -> Budget {
        let left = length.saturating_mul(32).saturating_add(64 << 20);
        Budget { left, memory: MemoryBudget::new(limits), limits, deadline }
    }

    /// Charges memory that is about to be allocated, and checks the deadline.
    fn charge(&mut self, count: usize, bytes: usize) -> Result<(), Diag> {
        self.limits.check_time(self.deadline)?;
        let bytes = count.saturating_mul(bytes);
        self.memory.charge(bytes as u64, DECODED)?;
        self.left = self.left.checked_sub(bytes).ok_or_else(too_large)?;
        Ok(())
    }

    /// Returns the options of each of the two allocators of the library, which are in use at the same time.
    fn allocator(&self) -> AllocatorOpts {
        AllocatorOpts { memory_limit: self.left.min(self.half()), ..AllocatorOpts::default() }
    }

    fn half(&self) -> usize {
        usize::try_from(self.memory.left() / 2).unwrap_or(usize::MAX)
    }

    /// Returns the error of an exhausted allocator: the limits are exceeded, or the model is too large for its file.
    fn exhausted(&self) -> Diag {
        let beyond = self.limits.check_memory(self.limits.max_memory.saturating_add(1), DECODED);
        beyond.err().filter(|_| self.half() < self.left).unwrap_or_else(too_large)
    }
}

fn too_large() -> Diag {
    Diag::new(Code::FbxTooLarge, "the decoded model is too large for a file of this size")
        .hint("the file is damaged: export it again")
}

/// Findings that deserve one warning each for the whole file.
#[derive(Default)]
struct Notes {
    unsupported: BTreeSet<&'static str>,
    /// The number of faces of less than three vertices.
    no_triangles: usize,
    /// The number of faces whose triangles may overlap.
    overlapping: usize,
    /// The number of vertices with more than four bone influences.
    influences: usize,
}

impl Notes {
    fn note_unsupported(&mut self, exists: bool, what: &'static str) {
        if exists {
            self.unsupported.insert(what);
        }
    }
}

fn read(bytes: &[u8], files: &mut Files<'_>) -> Result<Imported<Valid<Scene>>, Diag> {
    let mut budget = Budget::of(bytes.len(), *files.limits(), files.deadline());
    let model = load(bytes, &budget)?;
    // The library keeps its result until the scene is built.
    budget.memory.charge(model.metadata.result_memory_used as u64, DECODED)?;
    budget.charge(0, 0)?;
    let mut notes = Notes::default();
    note_model(&model, &mut notes);

    let mut reader = MaterialReader::new(files);
    let drawn: BTreeSet<u32> = model
        .nodes
        .iter()
        .filter(|node| node.mesh.is_some())
        .flat_map(|node| node.materials.iter().map(|material| material.element.typed_id))
        .collect();
    let mut materials = Vec::with_capacity(model.materials.count);
    for material in &model.materials {
        materials.push(reader.read(material, drawn.contains(&material.element.typed_id))?);
    }
    let (skins, skin_ids) = nodes::skins(&model, &mut notes)?;
    let (meshes, placed) = mesh::read(&model, &materials, &skin_ids, &mut budget, &mut notes)?;
    let nodes = nodes::read(&model, &placed, &skin_ids);
    let animations = animation::read(&model, &mut budget)?;

    let mut warnings = repaired(&model);
    warnings.extend(summary(notes));
    warnings.append(&mut reader.warnings);
    let scene = Scene {
        nodes,
        roots: nodes::roots(&model),
        meshes,
        materials: materials.into_iter().map(|import| import.material).collect(),
        images: reader.images,
        skins,
        animations,
        ..Scene::default()
    };
    let value = scene.validate().map_err(|error| {
        Diag::new(Code::FbxModel, error.to_string()).hint("the file is damaged: export it again")
    })?;
    Ok(Imported { value, warnings })
}

/// The length of the prefix that contains the format: binary files start with it, text files have it in a comment or the
/// name of a property.
const HEAD: usize = 4096;

fn load(bytes: &[u8], budget: &Budget) -> Result<ufbx::SceneRoot, Diag> {
    if !bytes[..bytes.len().min(HEAD)].windows(3).any(|word| word == b"FBX") {
        return Err(Diag::new(Code::FbxFormat, "the file is not an FBX file")
            .hint("export the model again, or rename the file"));
    }
    let options = LoadOpts {
        temp_allocator: budget.allocator(),
        result_allocator: budget.allocator(),
        node_depth_limit: MAX_DEPTH,
        // The library would detect other formats, too.
        file_format: ufbx::FileFormat::Fbx,
        load_external_files: false,
        target_axes: CoordinateAxes::right_handed_y_up(),
        target_unit_meters: 1.0,
        space_conversion: ufbx::SpaceConversion::ModifyGeometry,
        geometry_transform_handling: ufbx::GeometryTransformHandling::ModifyGeometry,
        inherit_mode_handling: ufbx::InheritModeHandling::Compensate,
        handedness_conversion_axis: ufbx::MirrorAxis::Z,
        generate_missing_normals: true,
        normalize_normals: true,
        clean_skin_weights: true,
        use_blender_pbr_material: true,
        ..LoadOpts::default()
    };
    ufbx::load_memory(bytes, options).map_err(|error| library_error(&error, budget))
}

/// Converts an error of the library to a diagnostic.
fn library_error(error: &ufbx::Error, budget: &Budget) -> Diag {
    match error.type_ {
        ErrorType::MemoryLimit | ErrorType::AllocationLimit | ErrorType::OutOfMemory => budget.exhausted(),
        ErrorType::NodeDepthLimit => {
            Diag::new(Code::FbxTooDeep, format!("nodes are nested deeper than {MAX_DEPTH} levels"))
        }
        _ => {
            let mut message = format!("the file cannot be parsed: {}", &*error.description);
            if !error.info().is_empty() {
                message.push_str(&format!(" ({})", crate::excerpt(error.info())));
            }
            Diag::new(Code::FbxDamaged, message).hint("export the model again")
        }
    }
}

/// Records content that a scene cannot represent.
fn note_model(model: &ufbx::Scene, notes: &mut Notes) {
    notes.note_unsupported(model.blend_shapes.count > 0, "morph targets");
    notes.note_unsupported(model.cache_deformers.count > 0, "geometry caches");
    notes.note_unsupported(model.nurbs_surfaces.count > 0, "NURBS surfaces");
    notes.note_unsupported(model.nurbs_curves.count + model.line_curves.count > 0, "curves");
    notes.note_unsupported(model.procedural_geometries.count > 0, "procedural geometry");
    notes.note_unsupported(model.lights.count > 0, "lights");
    notes.note_unsupported(model.constraints.count > 0, "constraints");
    notes.note_unsupported(model.lod_groups.count > 0, "LOD groups, whose levels are all drawn");
    notes.note_unsupported(model.nodes.iter().any(|node| !node.visible), "node visibility");
    notes.note_unsupported(model.meshes.iter().any(|mesh| mesh.color_sets.count > 0), "vertex colours");
    let is_smooth =
        |mesh: &ufbx::Mesh| mesh.subdivision_display_mode != ufbx::SubdivisionDisplayMode::Disabled;
    notes.note_unsupported(model.meshes.iter().any(|mesh| is_smooth(mesh)), "subdivision");
}

/// Returns the repairs that the library made, as warnings.
fn repaired(model: &ufbx::Scene) -> Vec<Diag> {
    let repairs = model.metadata.warnings.iter().map(|warning| {
        let count = if warning.count > 1 { format!(" ({} times)", warning.count) } else { String::new() };
        Diag::new(Code::FbxRepaired, format!("{}{count}", &*warning.description))
    });
    repairs.collect()
}

/// Creates one warning for each kind of finding.
fn summary(notes: Notes) -> Vec<Diag> {
    let no_triangles = counted(
        notes.no_triangles,
        "face with less than three vertices is",
        "faces with less than three vertices are",
    );
    let overlapping = counted(notes.overlapping, "face has", "faces have");
    let influences = counted(notes.influences, "vertex has", "vertices have");
    let kinds = [
        (notes.no_triangles, Code::FbxNoTriangles, format!("{no_triangles} ignored")),
        (
            notes.overlapping,
            Code::FbxFace,
            format!("{overlapping} too many vertices for an exact triangulation; triangles may overlap"),
        ),
        (
            notes.influences,
            Code::FbxInfluences,
            format!("{influences} more than four bone influences, and only the strongest four are kept"),
        ),
    ];
    let kinds = kinds.into_iter().filter(|(count, ..)| *count > 0);
    let mut warnings: Vec<Diag> = kinds.map(|(_, code, message)| Diag::new(code, message)).collect();
    if !notes.unsupported.is_empty() {
        let unsupported: Vec<&str> = notes.unsupported.into_iter().collect();
        warnings.push(Diag::new(
            Code::FbxDataIgnored,
            format!("unsupported content is ignored: {}", unsupported.join(", ")),
        ));
    }
    warnings
}
