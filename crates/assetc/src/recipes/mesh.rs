//! Models, `*.gltf`, `*.glb`, `*.obj` and (feature `fbx`) `*.fbx`, to `.hmesh`, with `.hmat`, textures and `.hanim` beside it
//! where the model has materials and animations; with `mesh.scene_data` also `.hscn` and `.hmatx`.
//!
//! The model is imported, the primitives that it draws are processed one by one, materials and textures follow in the
//! order of the mesh's material slots, and animation channels are converted to the joints of the skeleton.

mod clips;
mod cluster_lods;
mod curve;
mod extra;
mod geometry;
mod material_extensions;
pub(crate) mod materials;
mod parts;
mod scene_file;
mod skeleton;

use crate::artifact::{FileArtifact, FileMetadata};
use crate::config::{Index, MeshFormat, Settings, Skins};
use crate::recipe::{Compiled, Recipe, RecipeInfo, suffix};
use crate::recipes::gltf::GltfModel;
use crate::recipes::ktx;
use crate::tools::Tools;
use geometry::Geometry;
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceFiles, SourceTree, counted};
use kiln_import::gltf::{self, SceneSelection};
use kiln_import::{Imported, obj};
use kiln_ir::{NodeId, Scene, Valid};
use materials::{is_texture_name, with_ending};
use scene_file::SceneFile;
use skeleton::Skeleton;

/// The version of the mesh pipeline without textures.
const VERSION: u32 = 6;

/// The recipe for a model.
pub(crate) struct Mesh;

impl Recipe for Mesh {
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            name: "mesh",
            sections: &["animation", "mesh", "texture"],
            // A new version of the texture pipeline rebuilds the textures of models, too.
            version: VERSION * 100 + ktx::VERSION,
            files: if cfg!(feature = "fbx") {
                &["gltf", "glb", "obj", "fbx"]
            } else {
                &["gltf", "glb", "obj"]
            },
            output: "hmesh",
            lists_textures: true,
            reads_other_files: true,
            contains_images: true,
            ..RecipeInfo::DEFAULT
        }
    }

    fn with_settings(&self, _: &RelPath, settings: &Settings) -> Option<&'static dyn Recipe> {
        (settings.mesh.format == MeshFormat::Gltf).then_some(&GltfModel)
    }

    fn writes(&self, source: &RelPath, output: &RelPath) -> bool {
        let Some(rest) = suffix(source).and_then(|s| output.as_str().strip_prefix(s.stem)) else {
            return false;
        };
        matches!(rest, ".hmesh" | ".hmat" | ".hanim" | ".hscn" | ".hmatx")
            || rest.strip_prefix('/').is_some_and(is_texture_name)
    }

    fn find_images(
        &self,
        source: &RelPath,
        settings: &Settings,
        files: &mut dyn SourceFiles,
    ) -> Result<Vec<RelPath>, Diag> {
        import(source, settings, files, false).map(|_| vec![])
    }

    fn weight(&self, source: &RelPath, _: &Settings, sources: SourceTree<'_>) -> u64 {
        weigh(source, sources)
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let source = cx.source();
        let output = self
            .output(source)
            .ok_or_else(|| Diag::new(Code::Mesh, "the file name has no stem, so the output has no name"))?;
        let imported = import(source, settings, &mut cx.inputs, true)?;
        imported.warnings.into_iter().for_each(|warning| cx.warn(warning));
        compile(cx, imported.value, &output, settings)
    }
}

/// Imports a model; without its geometry, if that is not wanted and the format allows it.
fn import(
    source: &RelPath,
    settings: &Settings,
    files: &mut dyn SourceFiles,
    geometry: bool,
) -> Result<Imported<Valid<Scene>>, Diag> {
    let is = |extension| suffix(source).is_some_and(|s| s.is(&[extension]));
    match () {
        () if is("obj") => obj::import(files, source),
        #[cfg(feature = "fbx")]
        () if is("fbx") => kiln_import::fbx::import(files, source),
        () => {
            let scene = settings.mesh.scene.map(Index::get);
            let scene = scene.map_or(SceneSelection::Default, SceneSelection::Index);
            let options = gltf::Options::new().scene(scene).geometry(geometry);
            let options = options.vertex_colors(true).uv_sets(true).morph_targets(true);
            let with_scene = settings.mesh.scene_data;
            let options =
                options.scene_data(with_scene).transmission(with_scene).material_extensions(with_scene);
            gltf::import_with(files, source, &options)
        }
    }
}

/// Compiles a scene to its runtime files.
fn compile(
    cx: &mut ActionContext<'_>,
    scene: Valid<Scene>,
    output: &RelPath,
    settings: &Settings,
) -> Result<Vec<FileArtifact>, Diag> {
    let skeleton = Skeleton::of(&scene, settings.mesh.skins)?;
    let scene_file = if settings.mesh.scene_data { Some(SceneFile::of(&scene)?) } else { None };
    let stem = output.as_str().strip_suffix(".hmesh").unwrap_or(output.as_str());
    let found = parts::parts(&scene, skeleton.as_ref(), settings.mesh.merge, cx.inputs.limits())?;
    if let Some(message) = further_skins(&scene, found.other_skins, settings.mesh.skins) {
        let hint = "set mesh.skins to all, merge the skins, or export each of them as a separate model";
        cx.warn(Diag::new(Code::GltfSecondSkin, message).hint(hint));
    }
    if skeleton.as_ref().is_some_and(|skeleton| skeleton.sheared) {
        let message = "nodes above rotated joints have a non-uniform scale, which joints cannot represent; poses are \
                       approximated";
        cx.warn(Diag::new(Code::SkeletonShear, message).hint("apply the scale of these nodes in the source"));
    }
    let mut scene = scene.into_inner();
    let meshes = std::mem::take(&mut scene.meshes);
    let wanted = geometry::mesh_options(settings, cx.inputs.deadline());
    let with_clusters = settings.mesh.clusters;
    let (drawn, limits) = (found.drawn, cx.inputs.limits());
    let geometry =
        Geometry::of(found.parts, meshes, &drawn, &scene.materials, &wanted, with_clusters, limits)?;
    let Some(geometry) = geometry else {
        let Some(scene_file) = scene_file else {
            cx.warn(Diag::new(Code::MeshEmpty, "the model has no triangles, so no output is written"));
            return Ok(vec![]);
        };
        cx.warn(Diag::new(Code::MeshEmpty, "the model has no triangles, so only its scene is written"));
        let (path, bytes) = (with_ending(stem, ".hscn")?, scene_file.write(|_| (0, 0))?);
        return Ok(vec![cx.artifact(&path, FileMetadata::of(&path), &bytes)?]);
    };
    geometry.warnings.iter().for_each(|warning| cx.warn(warning.clone()));

    geometry.stalled_lods().into_iter().for_each(|note| cx.note(note));

    let slots = geometry.slots.clone();
    let hashes = materials::hashes(cx, &scene.materials, &slots);
    let nodes = (!settings.mesh.merge && !scene.nodes.is_empty()).then_some((&scene, drawn.as_slice()));
    let submeshes =
        nodes.filter(|_| scene_file.is_some()).map(|(scene, drawn)| geometry.node_submeshes(scene, drawn));
    let mesh = geometry.write(&hashes, skeleton.as_ref(), nodes, settings.mesh.compress)?;
    let mut artifacts = vec![cx.artifact(output, FileMetadata::of(output), &mesh)?];
    if !slots.is_empty() {
        artifacts.extend(materials::artifacts(cx, &scene, &slots, output, settings)?);
    }
    unexported_motion(&scene, skeleton.is_some(), settings).into_iter().for_each(|warning| cx.warn(warning));
    if let Some(skeleton) = &skeleton {
        let clips = clips::clips(&scene, skeleton, settings)?;
        clips.warnings.into_iter().for_each(|warning| cx.warn(warning));
        if let Some(bytes) = clips.bytes {
            let clips = with_ending(stem, ".hanim")?;
            artifacts.push(cx.artifact(&clips, FileMetadata::of(&clips), &bytes)?);
        }
    }
    if let Some(scene_file) = scene_file {
        let of = |node: NodeId| submeshes.as_ref().map_or((0, 0), |submeshes| submeshes[node.0 as usize]);
        let (path, bytes) = (with_ending(stem, ".hscn")?, scene_file.write(of)?);
        artifacts.push(cx.artifact(&path, FileMetadata::of(&path), &bytes)?);
    }
    Ok(artifacts)
}

/// Returns the warnings about animations that the outputs do not have, or that cannot move what is drawn.
fn unexported_motion(scene: &Scene, has_skeleton: bool, settings: &Settings) -> Vec<Diag> {
    let mut warnings = Vec::new();
    let morph_channels: usize = scene.animations.iter().map(|clip| clip.morph_channels.len()).sum();
    if morph_channels > 0 && !settings.mesh.scene_data {
        let (one, many) = (
            "animation channel changes morph target weights, and is not exported",
            "animation channels change morph target weights, and are not exported",
        );
        let message = counted(morph_channels, one, many);
        warnings.push(Diag::new(Code::GltfDataIgnored, message).hint("set mesh.scene_data to true"));
    }
    // A clip of morph target weights moves no node.
    let moving =
        scene.animations.iter().filter(|clip| !clip.channels.is_empty() || clip.morph_channels.is_empty());
    let moving = moving.count();
    if has_skeleton || moving == 0 {
        return warnings;
    }
    if !settings.mesh.scene_data {
        let (one, many) = (
            "animation moves nodes that are not joints of a skin, and is not exported",
            "animations move nodes that are not joints of a skin, and are not exported",
        );
        let hint = "bind the mesh to a skin, or set mesh.scene_data to true";
        warnings.push(Diag::new(Code::AnimationNotJoint, counted(moving, one, many)).hint(hint));
    } else if settings.mesh.merge {
        let (one, many) = (
            "animation moves nodes, but the vertices of the mesh are in world space",
            "animations move nodes, but the vertices of the mesh are in world space",
        );
        let hint = "set mesh.merge to false to keep each mesh in the space of its node";
        warnings.push(Diag::new(Code::AnimationNotJoint, counted(moving, one, many)).hint(hint));
    }
    warnings
}

/// Returns the warning about skins after the first: `posed` of them have drawn meshes, the others are unused.
fn further_skins(scene: &Scene, posed: usize, skins: Skins) -> Option<String> {
    if skins == Skins::All {
        return None;
    }
    let unused = scene.skins.len().saturating_sub(1 + posed);
    let posed = (posed > 0).then(|| {
        let (one, many) = (
            "skin after the first is not animated and stays in its bind pose",
            "skins after the first are not animated and stay in their bind pose",
        );
        counted(posed, one, many)
    });
    let unused = (unused > 0).then(|| {
        let (one, many) = (
            "skin after the first is used by no drawn mesh and is not exported",
            "skins after the first are used by no drawn mesh and are not exported",
        );
        counted(unused, one, many)
    });
    let messages: Vec<String> = [posed, unused].into_iter().flatten().collect();
    (!messages.is_empty()).then(|| messages.join("; "))
}

/// Estimates the peak memory of compiling a model in bytes. Numbers in text and compressed geometry grow most; images are
/// encoded one at a time. The buffer of a `.gltf` usually lies beside it and shares its name.
pub(super) fn weigh(source: &RelPath, sources: SourceTree<'_>) -> u64 {
    let len = |path: &str| sources.tree.stamp(path).map_or(0, |stamp| stamp.len);
    let beside = suffix(source).map_or(0, |s| len(&format!("{}.bin", s.stem)));
    const IMAGE: u64 = 64 << 20;
    len(source.as_str()).saturating_add(beside).saturating_mul(8).saturating_add(IMAGE)
}
