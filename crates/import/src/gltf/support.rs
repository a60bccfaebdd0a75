//! The support of glTF features and extensions: the tables that the importer classifies extensions with and that
//! `docs/reference/gltf.md` shows.
//!
//! An extension that is not listed is unknown: ignored with a warning, or an error where a file requires it and it may
//! change geometry.

use std::fmt;

use kiln_diagnostics::Code;

/// The extent to which a compiled model keeps a feature of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Support {
    /// The feature is kept.
    Supported,
    /// The feature is converted to one that runtime files have.
    Approximated,
    /// The feature is ignored.
    Dropped,
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Support::Supported => "supported",
            Support::Approximated => "approximated",
            Support::Dropped => "dropped",
        })
    }
}

/// A feature or an extension of glTF 2.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Feature {
    /// The name; that of an extension as in `extensionsUsed`.
    pub name: &'static str,
    /// The extent to which it is kept.
    pub support: Support,
    /// The code of the warning that names the loss, once for each model; `None` where nothing is lost.
    pub warning: Option<Code>,
    /// The content of a dropped extension, or what a feature is converted to, in Markdown.
    pub note: &'static str,
}

const fn supported(name: &'static str, note: &'static str) -> Feature {
    Feature { name, support: Support::Supported, warning: None, note }
}

const fn approximated(name: &'static str, warning: Code, note: &'static str) -> Feature {
    Feature { name, support: Support::Approximated, warning: Some(warning), note }
}

const fn dropped(name: &'static str, warning: Code, note: &'static str) -> Feature {
    Feature { name, support: Support::Dropped, warning: Some(warning), note }
}

/// The features of glTF 2.0 itself.
pub const FEATURES: &[Feature] = &[
    supported("`.gltf` and `.glb`; buffers and images in files, in data URIs and in the binary chunk", ""),
    supported("accessors with a stride, normalized integers, sparse accessors", ""),
    approximated("several scenes", Code::GltfScenes, "the default scene is compiled, or `mesh.scene`"),
    dropped(
        "`extras`",
        Code::GltfDataIgnored,
        "kept with `mesh.scene_data`; those of `asset` are ignored without a warning",
    ),
    supported("triangle lists, strips and fans", "as triangle lists"),
    dropped("points, lines, line loops and line strips", Code::GltfNoTriangles, ""),
    dropped("primitives with fewer than three vertices", Code::GltfTooFewVertices, ""),
    supported(
        "`POSITION`, `NORMAL`, `TANGENT`",
        "without normals: flat shading; without tangents: generated",
    ),
    supported(
        "`TEXCOORD_0` to `TEXCOORD_7`",
        "the first UV set of `.hmesh` is that of the material's first textured slot, others follow",
    ),
    dropped("`TEXCOORD_8` and further UV sets", Code::GltfDataIgnored, "unless a material uses one"),
    supported("`COLOR_0`", "vertex colours"),
    dropped("`COLOR_1` and further vertex colours", Code::GltfDataIgnored, ""),
    supported("`JOINTS_0`, `WEIGHTS_0`", ""),
    approximated(
        "further joint sets",
        Code::GltfInfluences,
        "the four bone influences with the largest weights",
    ),
    dropped("custom attributes (`_NAME`)", Code::GltfDataIgnored, ""),
    supported(
        "morph targets: `POSITION`, `NORMAL`, `TANGENT`; names and default weights",
        "tangents where those of the source are kept",
    ),
    dropped("morph targets: UVs and colours", Code::GltfDataIgnored, ""),
    supported(
        "nodes with translation, rotation and scale, or a matrix",
        "applied to the vertices with `mesh.merge`, else kept as a hierarchy with names",
    ),
    supported("several nodes with one mesh", "one submesh each with `mesh.merge`"),
    dropped("cameras", Code::GltfDataIgnored, "kept with `mesh.scene_data`"),
    supported("the first skin", "transforms of nodes between joints are folded into the joint below"),
    approximated(
        "further skins with meshes",
        Code::GltfSecondSkin,
        "their meshes are kept in the bind pose; kept with `mesh.skins: all`",
    ),
    dropped("further skins that no drawn mesh uses", Code::GltfSecondSkin, "kept with `mesh.skins: all`"),
    supported("animations of joints: `translation`, `rotation`, `scale`; `STEP` and `LINEAR`", ""),
    approximated(
        "`CUBICSPLINE`",
        Code::AnimationCubic,
        "linear keys; `animation.cubic: resample` follows the curve; kept with `mesh.scene_data`",
    ),
    dropped(
        "animations of nodes that are not joints of the first skin",
        Code::AnimationNotJoint,
        "kept with `mesh.scene_data`",
    ),
    dropped("animations of morph target `weights`", Code::GltfDataIgnored, "kept with `mesh.scene_data`"),
    dropped("animation channels without a node", Code::GltfDataIgnored, ""),
    supported("metallic-roughness materials with all five textures", ""),
    supported("`alphaMode`, `alphaCutoff`, `doubleSided`", ""),
    approximated(
        "textures of one material with different UV sets or transforms",
        Code::GltfUv,
        "the first textured slot decides; kept with `mesh.scene_data`",
    ),
    dropped(
        "samplers with nearest filtering",
        Code::GltfDataIgnored,
        "`.hmat` has no samplers; kept with `mesh.scene_data`",
    ),
    dropped(
        "samplers with a wrap mode other than `REPEAT`",
        Code::GltfDataIgnored,
        "`.hmat` has no samplers; kept with `mesh.scene_data`",
    ),
    supported("PNG and JPEG images", "also WebP, TGA, BMP and KTX2"),
    dropped("images in other formats", Code::GltfTexture, "the slot has no texture"),
];

/// The extensions that the importer knows, by name.
pub const EXTENSIONS: &[Feature] = &[
    dropped("ADOBE_materials_clearcoat_specular", Code::GltfMaterial, "clearcoat"),
    dropped("ADOBE_materials_clearcoat_tint", Code::GltfMaterial, "clearcoat"),
    dropped("ADOBE_materials_thin_transparency", Code::GltfMaterial, "transmission"),
    dropped("AGI_articulations", Code::GltfDataIgnored, "articulations"),
    dropped("AGI_stk_metadata", Code::GltfDataIgnored, "metadata"),
    dropped("CESIUM_primitive_outline", Code::GltfDataIgnored, "outlines"),
    dropped("EXT_instance_features", Code::GltfDataIgnored, "feature IDs"),
    dropped("EXT_lights_ies", Code::GltfDataIgnored, "lights"),
    dropped("EXT_lights_image_based", Code::GltfDataIgnored, "image-based lighting"),
    dropped("EXT_mesh_features", Code::GltfDataIgnored, "feature IDs"),
    supported("EXT_mesh_gpu_instancing", "each instance becomes a copy of the mesh"),
    dropped("EXT_mesh_manifold", Code::GltfDataIgnored, "manifold topology"),
    supported("EXT_meshopt_compression", ""),
    dropped("EXT_structural_metadata", Code::GltfDataIgnored, "metadata"),
    dropped("EXT_texture_avif", Code::GltfTexture, "the PNG or JPEG image beside it is used"),
    supported("EXT_texture_webp", "the PNG or JPEG image beside it is preferred"),
    dropped("FB_geometry_metadata", Code::GltfDataIgnored, "metadata"),
    dropped("GODOT_single_root", Code::GltfDataIgnored, "root node flag"),
    dropped("GRIFFEL_bim_data", Code::GltfDataIgnored, "metadata"),
    approximated(
        "KHR_animation_pointer",
        Code::GltfDataIgnored,
        "transforms of nodes are animated, other properties are dropped",
    ),
    dropped("KHR_audio_emitter", Code::GltfDataIgnored, "audio"),
    supported("KHR_draco_mesh_compression", ""),
    dropped("KHR_gaussian_splatting", Code::GltfDataIgnored, "Gaussian splats"),
    dropped("KHR_implicit_shapes", Code::GltfDataIgnored, "collision shapes"),
    dropped("KHR_interactivity", Code::GltfDataIgnored, "behaviour graphs"),
    dropped("KHR_lights_punctual", Code::GltfDataIgnored, "lights"),
    dropped("KHR_materials_anisotropy", Code::GltfMaterial, "anisotropy"),
    dropped("KHR_materials_clearcoat", Code::GltfMaterial, "clearcoat"),
    dropped("KHR_materials_diffuse_transmission", Code::GltfMaterial, "transmission"),
    dropped("KHR_materials_dispersion", Code::GltfMaterial, "dispersion"),
    supported("KHR_materials_emissive_strength", "multiplied into the emissive factor"),
    dropped("KHR_materials_ior", Code::GltfMaterial, "index of refraction"),
    dropped("KHR_materials_iridescence", Code::GltfMaterial, "iridescence"),
    approximated(
        "KHR_materials_pbrSpecularGlossiness",
        Code::GltfSpecularGlossiness,
        "factors and textures are converted to metallic-roughness, unless the material has both",
    ),
    dropped("KHR_materials_sheen", Code::GltfMaterial, "sheen"),
    dropped("KHR_materials_specular", Code::GltfMaterial, "specular reflectance"),
    dropped("KHR_materials_transmission", Code::GltfMaterial, "transmission; kept by `pak`"),
    dropped("KHR_materials_unlit", Code::GltfMaterial, "unlit shading"),
    dropped("KHR_materials_variants", Code::GltfDataIgnored, "material variants"),
    dropped("KHR_materials_volume", Code::GltfMaterial, "volume absorption"),
    dropped("KHR_materials_volume_scatter", Code::GltfMaterial, "volume scattering"),
    supported("KHR_mesh_quantization", "decoded to 32-bit floats"),
    supported("KHR_meshopt_compression", ""),
    dropped("KHR_node_hoverability", Code::GltfDataIgnored, "node hoverability"),
    dropped("KHR_node_selectability", Code::GltfDataIgnored, "node selectability"),
    dropped("KHR_node_visibility", Code::GltfDataIgnored, "node visibility"),
    dropped("KHR_physics_rigid_bodies", Code::GltfDataIgnored, "rigid bodies"),
    supported("KHR_texture_basisu", "the PNG or JPEG image beside it is preferred"),
    approximated(
        "KHR_texture_transform",
        Code::GltfUv,
        "applied to the UVs; of different transforms in one material, that of the first textured slot",
    ),
    dropped("KHR_xmp_json_ld", Code::GltfDataIgnored, "metadata"),
    dropped("MPEG_media", Code::GltfDataIgnored, "timed media"),
    dropped("MPEG_texture_video", Code::GltfDataIgnored, "video textures"),
    dropped("MSFT_lod", Code::GltfDataIgnored, "LODs of the source, of which the first is compiled"),
    dropped("MSFT_packing_normalRoughnessMetallic", Code::GltfMaterial, "alternative texture packing"),
    dropped("MSFT_packing_occlusionRoughnessMetallic", Code::GltfMaterial, "alternative texture packing"),
    dropped("MSFT_texture_dds", Code::GltfTexture, "the PNG or JPEG image beside it is used"),
    dropped("NV_materials_mdl", Code::GltfMaterial, "MDL materials"),
    dropped("VRM", Code::GltfDataIgnored, "avatar metadata"),
    dropped("VRMC_materials_mtoon", Code::GltfMaterial, "toon shading"),
    dropped("VRMC_node_constraint", Code::GltfDataIgnored, "constraints"),
    dropped("VRMC_springBone", Code::GltfDataIgnored, "spring bones"),
    dropped("VRMC_vrm", Code::GltfDataIgnored, "avatar metadata"),
];

/// Returns the entry of an extension, if it is known.
pub fn extension(name: &str) -> Option<&'static Feature> {
    EXTENSIONS.iter().find(|extension| extension.name == name)
}

/// Renders features as a table in Markdown; names of extensions are set as code.
pub fn markdown_table(features: &[Feature]) -> String {
    let mut table = String::from("| Feature | Support | Warning | Note |\n|---|---|---|---|\n");
    for Feature { name, support, warning, note } in features {
        let is_extension = extension(name).is_some();
        let name = if is_extension { format!("`{name}`") } else { (*name).to_owned() };
        let warning = warning.map(|code| format!("`{code}`")).unwrap_or_default();
        let row = format!("| {name} | {support} | {warning} | {note} |\n");
        table.push_str(&row.replace("|  |", "| |").replace("|  |", "| |"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_sorted_and_unique() {
        let names: Vec<&str> = EXTENSIONS.iter().map(|extension| extension.name).collect();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    }

    #[test]
    fn every_loss_names_a_warning() {
        for feature in FEATURES.iter().chain(EXTENSIONS) {
            assert_eq!(feature.warning.is_none(), feature.support == Support::Supported, "{}", feature.name);
        }
    }
}
