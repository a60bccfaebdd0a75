//! Autodesk FBX, text and binary, into [`Scene`]: metres, Y up, right-handed, as glTF has it.
//!
//! Read are meshes with faces of any number of corners and smoothing where normals are missing, nodes with all that FBX
//! has for placing them, instances, materials with pictures that are embedded or lie inside the project, skins, and
//! animations as linear keys. What a scene cannot hold is named in warnings: one for the whole file, or one for each
//! material that is used. Tangents are not taken over: they are made as for models that have none.
//!
//! Files are parsed by the library ufbx, which is C. It is given the bytes and nothing else: it opens no file and calls
//! nothing back. Its memory, and what is made of its answer, are bounded by the size of the file and by the limits on
//! the source, and so is the depth of nodes. Everything is done through its safe interface. Refused are files that it refuses.

mod animation;
mod mesh;
mod nodes;
mod surface;

use std::collections::BTreeSet;
use std::time::Instant;

use kiln_engine::limits::MemoryBudget;
use kiln_engine::{Code, Diag, Inputs, Limits, RelPath};
use kiln_ir::{Scene, Valid};
use ufbx::{AllocatorOpts, CoordinateAxes, ErrorType, LoadOpts};

use crate::Imported;
use crate::files::Files;
use surface::Studio;

/// The deepest that nodes may be; helpers are added to them, and a scene may be twice as deep.
const MAX_DEPTH: u32 = Scene::MAX_DEPTH as u32 / 4;

/// Imports a model with everything it refers to.
pub fn import(cx: &mut Inputs<'_>, source: &RelPath) -> Result<Imported<Valid<Scene>>, Diag> {
    crate::open(cx, source, read)
}

/// What takes the memory of a model, in messages.
const DECODED: &str = "the decoded arrays of the model";

/// What may be taken because a file says so: arrays are compressed, meshes are drawn with several lists of materials.
struct Budget {
    /// What a file of this length may still be decoded into.
    left: usize,
    /// What the limits on the source admit, and how much of it is taken.
    memory: MemoryBudget,
    limits: Limits,
    deadline: Option<Instant>,
}

impl Budget {
    /// For a file of this length. Arrays of real models shrink to a fifth at most, and are held twice.
    fn of(length: usize, limits: Limits, deadline: Option<Instant>) -> Budget {
        let left = length.saturating_mul(32).saturating_add(64 << 20);
        Budget { left, memory: MemoryBudget::new(limits), limits, deadline }
    }

    /// Accounts for what is about to be taken, and looks at the clock.
    fn spend(&mut self, count: usize, bytes: usize) -> Result<(), Diag> {
        self.limits.check_time(self.deadline)?;
        let bytes = count.saturating_mul(bytes);
        self.memory.charge(bytes as u64, DECODED)?;
        self.left = self.left.checked_sub(bytes).ok_or_else(too_large)?;
        Ok(())
    }

    /// What each of the two allocators of the library may take: both are in use at a time.
    fn allocator(&self) -> AllocatorOpts {
        AllocatorOpts { memory_limit: self.left.min(self.half()), ..AllocatorOpts::default() }
    }

    fn half(&self) -> usize {
        usize::try_from(self.memory.left() / 2).unwrap_or(usize::MAX)
    }

    /// What is wrong with a file for which an allocator does not suffice: it is beyond the limits, or too large for its
    /// length.
    fn exhausted(&self) -> Diag {
        let beyond = self.limits.check_memory(self.limits.max_memory.saturating_add(1), DECODED);
        beyond.err().filter(|_| self.half() < self.left).unwrap_or_else(too_large)
    }
}

fn too_large() -> Diag {
    Diag::new(Code::FbxTooLarge, "the model is too large for a file of its size")
        .hint("the file is damaged: export it again")
}

/// What turned up that a scene has no room for.
#[derive(Default)]
struct Notes {
    lost: BTreeSet<&'static str>,
    /// Faces of less than three corners.
    no_triangles: usize,
    /// Faces with so many corners that their triangles may overlap.
    overlapping: usize,
    /// Vertices that hang on more than four joints.
    influences: usize,
}

impl Notes {
    fn lose(&mut self, is_there: bool, what: &'static str) {
        if is_there {
            self.lost.insert(what);
        }
    }
}

fn read(bytes: &[u8], files: &mut Files<'_, '_>) -> Result<Imported<Valid<Scene>>, Diag> {
    let mut budget = Budget::of(bytes.len(), *files.limits(), files.deadline());
    let model = load(bytes, &budget)?;
    // The library holds its answer until the scene is made of it.
    budget.memory.charge(model.metadata.result_memory_used as u64, DECODED)?;
    budget.spend(0, 0)?;
    let mut notes = Notes::default();
    note_model(&model, &mut notes);

    let mut studio = Studio::new(files);
    let drawn: BTreeSet<u32> = model
        .nodes
        .iter()
        .filter(|node| node.mesh.is_some())
        .flat_map(|node| node.materials.iter().map(|material| material.element.typed_id))
        .collect();
    let mut surfaces = Vec::with_capacity(model.materials.count);
    for material in &model.materials {
        surfaces.push(studio.surface(material, drawn.contains(&material.element.typed_id))?);
    }
    let (skins, skin_ids) = nodes::skins(&model, &mut notes)?;
    let (meshes, placed) = mesh::read(&model, &surfaces, &skin_ids, &mut budget, &mut notes)?;
    let nodes = nodes::read(&model, &placed, &skin_ids);
    let animations = animation::read(&model, &mut budget)?;

    let mut warnings = repaired(&model);
    warnings.extend(summary(notes));
    warnings.append(&mut studio.warnings);
    let scene = Scene {
        nodes,
        roots: nodes::roots(&model),
        meshes,
        materials: surfaces.into_iter().map(|surface| surface.material).collect(),
        images: studio.images,
        skins,
        animations,
    };
    let value = scene.validate().map_err(|flaw| {
        Diag::new(Code::FbxModel, flaw.to_string()).hint("the file is damaged: export it again")
    })?;
    Ok(Imported { value, warnings })
}

/// Where a file says what it is: binary ones at once, text ones in a comment or the name of a property.
const HEAD: usize = 4096;

fn load(bytes: &[u8], budget: &Budget) -> Result<ufbx::SceneRoot, Diag> {
    if !bytes[..bytes.len().min(HEAD)].windows(3).any(|word| word == b"FBX") {
        return Err(
            Diag::new(Code::FbxFormat, "this is not an FBX file").hint("export it again, or rename it")
        );
    }
    let options = LoadOpts {
        temp_allocator: budget.allocator(),
        result_allocator: budget.allocator(),
        node_depth_limit: MAX_DEPTH,
        // Not a guess: the library reads other formats, too.
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
    ufbx::load_memory(bytes, options).map_err(|error| refused(&error, budget))
}

/// Why the library refuses a file.
fn refused(error: &ufbx::Error, budget: &Budget) -> Diag {
    match error.type_ {
        ErrorType::MemoryLimit | ErrorType::AllocationLimit | ErrorType::OutOfMemory => budget.exhausted(),
        ErrorType::NodeDepthLimit => {
            Diag::new(Code::FbxTooDeep, format!("its nodes are more than {MAX_DEPTH} deep"))
        }
        _ => {
            let mut message = format!("it cannot be read: {}", &*error.description);
            if !error.info().is_empty() {
                message.push_str(&format!(" ({})", crate::excerpt(error.info())));
            }
            Diag::new(Code::FbxDamaged, message).hint("export it again")
        }
    }
}

/// Things that a scene has no room for.
fn note_model(model: &ufbx::Scene, notes: &mut Notes) {
    notes.lose(model.blend_shapes.count > 0, "morph targets");
    notes.lose(model.cache_deformers.count > 0, "geometry caches");
    notes.lose(model.nurbs_surfaces.count > 0, "NURBS surfaces");
    notes.lose(model.nurbs_curves.count + model.line_curves.count > 0, "curves");
    notes.lose(model.procedural_geometries.count > 0, "procedural geometry");
    notes.lose(model.lights.count > 0, "lights");
    notes.lose(model.constraints.count > 0, "constraints");
    notes.lose(model.lod_groups.count > 0, "the choice among levels of detail, which are all drawn");
    notes.lose(model.nodes.iter().any(|node| !node.visible), "node visibility");
    notes.lose(model.meshes.iter().any(|mesh| mesh.color_sets.count > 0), "colours of vertices");
    let is_smooth =
        |mesh: &ufbx::Mesh| mesh.subdivision_display_mode != ufbx::SubdivisionDisplayMode::Disabled;
    notes.lose(model.meshes.iter().any(|mesh| is_smooth(mesh)), "subdivision");
}

/// What the library put right in a file.
fn repaired(model: &ufbx::Scene) -> Vec<Diag> {
    let said = model.metadata.warnings.iter().map(|warning| {
        let count = if warning.count > 1 { format!(" ({} times)", warning.count) } else { String::new() };
        Diag::new(Code::FbxRepaired, format!("{}{count}", &*warning.description))
    });
    said.collect()
}

/// One warning for each kind of thing that turned up.
fn summary(notes: Notes) -> Vec<Diag> {
    let no_triangles = "faces have less than three corners, and are passed over";
    let overlapping = "faces have so many corners that their triangles may overlap";
    let influences = "vertices hang on more than four joints, and keep the strongest four";
    let kinds = [
        (notes.no_triangles, Diag::new(Code::FbxNoTriangles, no_triangles)),
        (notes.overlapping, Diag::new(Code::FbxFace, overlapping)),
        (notes.influences, Diag::new(Code::FbxInfluences, influences)),
    ];
    let mut warnings = Vec::new();
    for (count, mut warning) in kinds.into_iter().filter(|(count, _)| *count > 0) {
        warning.message.insert_str(0, &format!("{count} "));
        warnings.push(warning);
    }
    if !notes.lost.is_empty() {
        let lost: Vec<&str> = notes.lost.into_iter().collect();
        warnings.push(Diag::new(Code::FbxNotKept, format!("not kept are {}", lost.join(", "))));
    }
    warnings
}
