//! Wavefront OBJ with its MTL libraries into [`Scene`]: one mesh, with a primitive for each material.
//!
//! Read are vertices, faces of any number of corners, smoothing groups where normals are missing, and materials with
//! their pictures (`obj/material.rs` says what becomes of each key). Texture coordinates are turned over, because
//! here they count from the top. Objects and groups give no more than a name. Colours of vertices, points, lines,
//! curves, surfaces and unknown statements are passed over, with one warning for each kind; so are libraries and
//! pictures that are not there.
//!
//! Refused are numbers that are none or not finite and faces with vertices that do not exist, with their line.
//! Memory is bounded by the size of the files.

mod assemble;
mod cursor;
mod index;
mod material;
mod mtl;
mod number;
mod parse;
mod smooth;

use kiln_engine::{Code, Diag, Inputs, RelPath};
use kiln_ir::{MaterialId, Mesh, MeshId, Node, NodeId, Scene, Valid};

use crate::files::{Files, Sought};
use crate::{Imported, excerpt};
use material::{Pictures, Studio};
use mtl::Looks;
use parse::Model;

/// Imports a model with everything it refers to.
pub fn import(cx: &mut Inputs<'_>, source: &RelPath) -> Result<Imported<Valid<Scene>>, Diag> {
    crate::open(cx, source, read)
}

fn read(bytes: &[u8], files: &mut Files<'_, '_>) -> Result<Imported<Valid<Scene>>, Diag> {
    let mut model = parse::parse(bytes)?;
    let mut warnings = passed_over(&model);
    let mut looks = Looks::default();
    let are_whole = libraries(&model, files, &mut looks, &mut warnings)?;
    let ids = resolve(&model, &mut looks, are_whole, &mut warnings);

    let mut studio = Studio { files, pictures: Pictures::default(), warnings: Vec::new() };
    let mut materials: Vec<_> = looks.list.iter().map(|look| material::plain(look, [None; 5])).collect();
    for id in &ids {
        let look = std::mem::take(&mut looks.list[id.0 as usize]);
        materials[id.0 as usize] = studio.material(look)?;
    }
    warnings.append(&mut studio.warnings);
    let images = studio.pictures.list;

    smooth::complete(&mut model);
    let (primitives, overlapping) = assemble::assemble(&model, &ids);
    if overlapping > 0 {
        let message = format!("{overlapping} faces have so many corners that their triangles may overlap");
        warnings.push(Diag::new(Code::ObjFace, message).hint("cut them up where the model is made"));
    }
    let name = String::from_utf8_lossy(&model.name).into_owned();
    let scene = Scene {
        nodes: vec![Node { name: name.clone(), mesh: Some(MeshId(0)), ..Node::default() }],
        roots: vec![NodeId(0)],
        meshes: vec![Mesh { name, primitives }],
        materials,
        images,
        ..Scene::default()
    };
    let value = scene.validate().map_err(|flaw| Diag::new(Code::ObjModel, flaw.to_string()))?;
    Ok(Imported { value, warnings })
}

/// One warning for each kind of thing that is not kept.
fn passed_over(model: &Model) -> Vec<Diag> {
    let no_triangles = "points, lines and faces of less than three corners are passed over";
    let unknown = format!("statements that are not known, such as {}, are passed over", model.unknown_word);
    let kinds = [
        (Diag::new(Code::ObjColours, "colours of vertices are passed over"), model.colours),
        (Diag::new(Code::ObjNoTriangles, no_triangles), model.no_triangles),
        (Diag::new(Code::ObjFreeForm, "curves and surfaces are passed over"), model.free_form),
        (Diag::new(Code::ObjKeyword, unknown), model.unknown),
    ];
    let mut warnings = Vec::new();
    for (mut warning, passed) in kinds {
        if let Some((count, line)) = passed {
            warning.message.push_str(&format!(" ({count} statements)"));
            warnings.push(warning.at(format_args!("line {line}")));
        }
    }
    warnings
}

/// Reads the libraries that a model names. False when one is not there.
fn libraries(
    model: &Model,
    files: &mut Files<'_, '_>,
    looks: &mut Looks,
    warnings: &mut Vec<Diag>,
) -> Result<bool, Diag> {
    let mut are_whole = true;
    for (name, line) in &model.libraries {
        let mut open = |name: &str| match files.seek(name)? {
            Sought::Found(path, bytes) => looks.parse(&bytes, &path).map(|()| None),
            Sought::Missing(path) => Ok(Some(format!("it names {path}, and there is no such file"))),
            Sought::Refused(why) => Ok(Some(format!("{} is not read: {why}", excerpt(name)))),
        };
        let name = String::from_utf8_lossy(name).replace('\\', "/");
        // A name with blanks in it, or else several names.
        let mut missing: Vec<String> = open(&name)?.into_iter().collect();
        let mut words = name.split_ascii_whitespace().peekable();
        if !missing.is_empty() && words.clone().nth(1).is_some() {
            let tries = words.by_ref().map(&mut open).collect::<Result<Vec<_>, Diag>>()?;
            // None of them is there: then it was one name.
            if tries.iter().any(Option::is_none) {
                missing = tries.into_iter().flatten().collect();
            }
        }
        are_whole &= missing.is_empty();
        let hint = "copy it there, or remove the line; materials are plain without it";
        let warning = |what| Diag::new(Code::ObjLibrary, what).at(format_args!("line {line}")).hint(hint);
        warnings.extend(missing.into_iter().map(warning));
    }
    Ok(are_whole)
}

/// The number of each material that faces have, among those of the libraries. Those that are in none are added: their
/// names count.
fn resolve(model: &Model, looks: &mut Looks, are_whole: bool, warnings: &mut Vec<Diag>) -> Vec<MaterialId> {
    let mut unknown: Option<(usize, String, usize)> = None;
    let mut ids = Vec::with_capacity(model.materials.len());
    for (name, line) in &model.materials {
        let id = looks.find(name).unwrap_or_else(|| {
            unknown.get_or_insert_with(|| (0, excerpt(&String::from_utf8_lossy(name)), *line)).0 += 1;
            looks.define(name.clone(), None)
        });
        ids.push(MaterialId(id as u32));
    }
    if let (Some((count, name, line)), true) = (unknown, are_whole) {
        let message = format!("{count} materials are in no library, such as {name}");
        let hint = "they are plain; name a library that has them with mtllib";
        let warning = Diag::new(Code::ObjMaterialUnknown, message);
        warnings.push(warning.at(format_args!("line {line}")).hint(hint));
    }
    ids
}
