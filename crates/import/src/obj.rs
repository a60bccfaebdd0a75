//! Wavefront OBJ with its MTL libraries into [`Scene`]: one mesh, with a primitive for each material.
//!
//! Supports vertices, polygons of any size, smoothing groups where normals are missing, and materials with their images
//! (`obj/material.rs` lists the keys). V coordinates are flipped, because the UV origin of a scene is at the top. Objects
//! and groups only give the mesh its name. Vertex colours, points, lines, curves, surfaces and unknown statements are
//! ignored, with one warning for each kind; so are missing libraries and images.
//!
//! Rejects invalid numbers and face indices out of range, with their line. Memory is bounded by the size of the files.

mod assemble;
mod cursor;
mod index;
mod material;
mod mtl;
mod number;
mod parse;
mod smooth;

use kiln_diagnostics::{Code, Diag, RelPath, SourceFiles};
use kiln_ir::{MaterialId, Mesh, MeshId, Node, NodeId, Scene, Valid};

use crate::files::{Files, Lookup};
use crate::{Imported, counted, excerpt};
use material::{ImageTable, MaterialReader};
use mtl::MtlMaterials;
use parse::Model;

/// Imports a model with the MTL libraries and images that it refers to.
///
/// # Errors
/// A code that starts with `obj-` for an invalid file, with its line; `file-missing`, `file-empty` or `lfs-pointer` for a
/// source without content; and any error of reading through `files`. A missing library or image is a warning.
pub fn import(files: &mut dyn SourceFiles, source: &RelPath) -> Result<Imported<Valid<Scene>>, Diag> {
    crate::open(files, source, read)
}

fn read(bytes: &[u8], files: &mut Files<'_>) -> Result<Imported<Valid<Scene>>, Diag> {
    let mut model = parse::parse(bytes)?;
    let mut warnings = ignored_statements(&model);
    let mut library = MtlMaterials::default();
    let complete = read_libraries(&model, files, &mut library, &mut warnings)?;
    let ids = resolve_materials(&model, &mut library, complete, &mut warnings);

    let mut reader = MaterialReader { files, images: ImageTable::default(), warnings: Vec::new() };
    let mut materials: Vec<_> =
        library.list.iter().map(|source| material::convert(source, [None; 5])).collect();
    for id in &ids {
        let source = std::mem::take(&mut library.list[id.0 as usize]);
        materials[id.0 as usize] = reader.material(source)?;
    }
    warnings.append(&mut reader.warnings);
    let images = reader.images.list;

    smooth::complete(&mut model);
    let (primitives, overlapping) = assemble::assemble(&model, &ids);
    if overlapping > 0 {
        let message = format!(
            "{} too many vertices for an exact triangulation; triangles may overlap",
            counted(overlapping, "face has", "faces have")
        );
        warnings
            .push(Diag::new(Code::ObjFace, message).hint("triangulate these faces in the modelling tool"));
    }
    let name = String::from_utf8_lossy(&model.name).into_owned();
    let scene = Scene {
        nodes: vec![Node { name: name.clone(), mesh: Some(MeshId(0)), ..Node::default() }],
        roots: vec![NodeId(0)],
        meshes: vec![Mesh { name, primitives, ..Mesh::default() }],
        materials,
        images,
        ..Scene::default()
    };
    let value = scene.validate().map_err(|error| Diag::new(Code::ObjModel, error.to_string()))?;
    Ok(Imported { value, warnings })
}

/// Creates one warning for each kind of ignored statement.
fn ignored_statements(model: &Model) -> Vec<Diag> {
    let no_triangles = "points, lines and faces of less than three vertices are ignored";
    let unknown = format!("unknown statements, such as {}, are ignored", model.unknown_word);
    let kinds = [
        (Diag::new(Code::ObjVertexColours, "vertex colours are ignored"), model.colours),
        (Diag::new(Code::ObjNoTriangles, no_triangles), model.no_triangles),
        (Diag::new(Code::ObjFreeForm, "free-form curves and surfaces are ignored"), model.free_form),
        (Diag::new(Code::ObjKeyword, unknown), model.unknown),
    ];
    let mut warnings = Vec::new();
    for (mut warning, occurrences) in kinds {
        if let Some((count, line)) = occurrences {
            warning.message.push_str(&format!(" ({})", counted(count, "statement", "statements")));
            warnings.push(warning.at(format_args!("line {line}")));
        }
    }
    warnings
}

/// Reads the MTL libraries of a model. Returns `false` when one is missing.
fn read_libraries(
    model: &Model,
    files: &mut Files<'_>,
    library: &mut MtlMaterials,
    warnings: &mut Vec<Diag>,
) -> Result<bool, Diag> {
    let mut complete = true;
    for (name, line) in &model.libraries {
        let mut open = |name: &str| match files.lookup(name)? {
            Lookup::Found(path, bytes) => library.parse(&bytes, &path).map(|()| None),
            Lookup::Missing(path) => Ok(Some(format!("the material library {path} does not exist"))),
            Lookup::Rejected(why) => {
                Ok(Some(format!("the material library {} is not read: {why}", excerpt(name))))
            }
        };
        let name = String::from_utf8_lossy(name).replace('\\', "/");
        // One name with spaces, or several names.
        let mut missing: Vec<String> = open(&name)?.into_iter().collect();
        let mut words = name.split_ascii_whitespace().peekable();
        if !missing.is_empty() && words.clone().nth(1).is_some() {
            let tries = words.by_ref().map(&mut open).collect::<Result<Vec<_>, Diag>>()?;
            // If none of them exists, it was one name.
            if tries.iter().any(Option::is_none) {
                missing = tries.into_iter().flatten().collect();
            }
        }
        complete &= missing.is_empty();
        let hint = "copy the file there, or remove the line; its materials get default values";
        let warning = |what| Diag::new(Code::ObjLibrary, what).at(format_args!("line {line}")).hint(hint);
        warnings.extend(missing.into_iter().map(warning));
    }
    Ok(complete)
}

/// Returns the index of each used material in the list of the libraries. Undefined materials are added, because runtime
/// files refer to materials by name.
fn resolve_materials(
    model: &Model,
    library: &mut MtlMaterials,
    complete: bool,
    warnings: &mut Vec<Diag>,
) -> Vec<MaterialId> {
    let mut unknown: Option<(usize, String, usize)> = None;
    let mut ids = Vec::with_capacity(model.materials.len());
    for (name, line) in &model.materials {
        let id = library.find(name).unwrap_or_else(|| {
            unknown.get_or_insert_with(|| (0, excerpt(&String::from_utf8_lossy(name)), *line)).0 += 1;
            library.define(name.clone(), None)
        });
        ids.push(MaterialId(id as u32));
    }
    if let (Some((count, name, line)), true) = (unknown, complete) {
        let message = format!(
            "{} not defined in any library, such as {name}",
            counted(count, "material is", "materials are")
        );
        let hint = "name a library that defines them with mtllib; they get default values";
        let warning = Diag::new(Code::ObjMaterialUnknown, message);
        warnings.push(warning.at(format_args!("line {line}")).hint(hint));
    }
    ids
}
