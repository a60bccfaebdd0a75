//! Decides the class of an asset and how much of its content is read, by its importer or else by its extension.

use super::scripted_importers::is_gltfast;
use crate::class_id::{ClassId, class_from_ext};
use crate::documents::Depth;
use crate::file_name;
use crate::meta::Meta;

/// The part of an asset's content that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentScan {
    /// Nothing: the `.meta` is sufficient.
    Nothing,
    /// The YAML documents of Unity.
    Yaml(Depth),
    /// Other text that may contain references.
    Text,
    /// The names of the nodes, meshes, materials and clips of a model.
    Model(ModelFormat),
    /// The actions of Unity's Input System.
    InputActions,
    /// The names of the meshes and clips of a glTF file.
    Gltf,
}

/// The model formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelFormat {
    Fbx,
    Obj,
}

/// The class of an asset and how to read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImportPlan {
    /// The class of the asset.
    pub(crate) class: ClassId,
    /// True if the main object of its YAML decides the class instead.
    pub(crate) from_yaml: bool,
    pub(crate) read: ContentScan,
    /// The fileID of the main object.
    pub(crate) main: i64,
    /// True if that is the main object whatever the YAML contains.
    pub(crate) has_own_main: bool,
    /// True if the names of its sub-assets are scoped to the asset and not to the project.
    pub(crate) scoped: bool,
    /// True if GUIDs may stand after keys that do not end in `guid`.
    pub(crate) plain_keys: bool,
}

/// Returns whether files with this extension are in Unity's YAML.
fn is_yaml(ext: &str) -> bool {
    matches!(
        ext,
        "asset"
            | "prefab"
            | "unity"
            | "mat"
            | "anim"
            | "controller"
            | "overridecontroller"
            | "mask"
            | "spriteatlas"
            | "spriteatlasv2"
            | "mixer"
            | "playable"
            | "physicmaterial"
            | "physicsmaterial2d"
            | "preset"
            | "lighting"
            | "terrainlayer"
            | "brush"
            | "flare"
            | "giparams"
            | "guiskin"
            | "fontsettings"
            | "rendertexture"
            | "cubemap"
            | "shadervariants"
            | "signal"
            | "mesh"
            | "vfx"
            | "vfxoperator"
            | "scenetemplate"
    )
}

/// Returns whether files with this extension are other text with references.
fn is_text(ext: &str) -> bool {
    matches!(
        ext,
        "asmdef" | "asmref" | "shadergraph" | "shadersubgraph" | "uxml" | "uss" | "tss" | "vfxblock" | "json"
    )
}

/// Returns whether the names of sub-assets are scoped to files with this extension.
fn is_scoped(ext: &str) -> bool {
    matches!(
        ext,
        "prefab"
            | "controller"
            | "anim"
            | "mixer"
            | "playable"
            | "inputactions"
            | "ase"
            | "aseprite"
            | "psb"
            | "svg"
            | "glb"
            | "gltf"
    )
}

/// Returns the extension of a file name in lower case.
pub(crate) fn extension<'a>(name: &str, buffer: &'a mut String) -> &'a str {
    buffer.clear();
    buffer.push_str(file_name::extension(name));
    buffer.make_ascii_lowercase();
    buffer
}

/// Decides the class of an asset and how to read it.
pub(crate) fn plan(ext: &str, meta: &Meta<'_>) -> ImportPlan {
    let by_ext = class_from_ext(ext);
    let model = match ext {
        "fbx" => ContentScan::Model(ModelFormat::Fbx),
        "obj" => ContentScan::Model(ModelFormat::Obj),
        _ => ContentScan::Nothing,
    };
    let yaml = is_yaml(ext);
    let mut plan = ImportPlan {
        class: by_ext.unwrap_or(ClassId::DefaultAsset),
        from_yaml: false,
        read: ContentScan::Nothing,
        main: 0,
        has_own_main: false,
        scoped: is_scoped(ext),
        plain_keys: matches!(ext, "asset" | "shadergraph" | "shadersubgraph"),
    };
    let class = match meta.importer {
        "ModelImporter" | "SpeedTreeImporter" | "SketchUpImporter" => {
            plan.scoped = true;
            plan.read = if meta.importer == "ModelImporter" { model } else { ContentScan::Nothing };
            Some(ClassId::GameObject)
        }
        "TextureImporter" | "IHVImageFormatImporter" => Some(match meta.texture_shape {
            Some(2) => ClassId::Cubemap,
            Some(4) => ClassId::Texture2DArray,
            Some(8) => ClassId::Texture3D,
            _ => ClassId::Texture2D,
        }),
        "AudioImporter" => Some(ClassId::AudioClip),
        "MonoImporter" => Some(ClassId::MonoScript),
        "ShaderImporter" => Some(ClassId::Shader),
        "ComputeShaderImporter" => Some(ClassId::ComputeShader),
        "RayTracingShaderImporter" => Some(ClassId::RayTracingShader),
        "VideoClipImporter" | "MovieImporter" => Some(ClassId::VideoClip),
        "TrueTypeFontImporter" => {
            plan.scoped = true;
            Some(ClassId::Font)
        }
        "TextScriptImporter" => Some(ClassId::TextAsset),
        "AssemblyDefinitionImporter" => Some(ClassId::AssemblyDefinitionAsset),
        "AssemblyDefinitionReferenceImporter" => Some(ClassId::AssemblyDefinitionReferenceAsset),
        "PackageManifestImporter" => Some(ClassId::PackageManifest),
        "LocalizationImporter" => Some(ClassId::LocalizationAsset),
        "VisualEffectImporter" => Some(ClassId::VisualEffectAsset),
        "SpriteAtlasImporter" => Some(ClassId::SpriteAtlas),
        "PrefabImporter" => Some(ClassId::Prefab),
        "PluginImporter" | "ShaderIncludeImporter" | "SubstanceImporter" => Some(ClassId::DefaultAsset),
        "DefaultImporter" if !yaml => Some(ClassId::DefaultAsset),
        _ => None,
    };
    if let Some(class) = class {
        plan.class = class;
    }
    match ext {
        "prefab" => (plan.class, plan.read) = (ClassId::Prefab, ContentScan::Yaml(Depth::Prefab)),
        "unity" => (plan.class, plan.read) = (ClassId::SceneAsset, ContentScan::Yaml(Depth::References)),
        _ if yaml || meta.importer == "NativeFormatImporter" => {
            plan.read = ContentScan::Yaml(Depth::All);
            plan.from_yaml = class.is_none();
            // The importer makes the main object, and the documents are its source.
            plan.has_own_main = meta.importer == "VisualEffectImporter";
        }
        "inputactions" => plan.read = ContentScan::InputActions,
        "glb" | "gltf" if is_gltfast(meta) => plan.read = ContentScan::Gltf,
        _ if is_text(ext) => plan.read = ContentScan::Text,
        _ => {}
    }
    plan.main = main_file_id(ext, plan.class, meta);
    plan
}

/// Returns the fileID of the main object. ScriptedImporters of packages use constants of their own, equal for all their
/// assets.
fn main_file_id(ext: &str, class: ClassId, meta: &Meta<'_>) -> i64 {
    if let Some(id) = meta.main_file_id {
        return id;
    }
    match (ext, class) {
        ("shadergraph", _) => -6_465_566_751_694_194_690,
        ("shadersubgraph", _) => -5_475_051_401_550_479_605,
        ("uxml", _) => 9_197_481_963_319_205_126,
        ("uss", _) => 7_433_441_132_597_879_392,
        ("tss", _) => -4_733_365_628_477_956_816,
        ("inputactions", _) => -944_628_639_613_478_452,
        ("vfx", _) => 8_926_484_042_661_614_526,
        (_, ClassId::SpriteAtlas) => 4_343_727_234_628_468_602,
        (_, ClassId::LightingSettings) => 4_890_085_278_179_872_738,
        (_, ClassId::TerrainLayer) => 8_574_412_962_073_106_934,
        (_, ClassId::Preset) => 2_655_988_077_585_873_504,
        (_, ClassId::SceneAsset) => 102_900_000,
        (_, ClassId::GameObject) => 100_100_000,
        (_, class) => class.canonical_subobject_fid(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, importer: &str, class: ClassId, read: ContentScan) {
        let meta = Meta { importer, ..Meta::default() };
        let plan = plan(extension(name, &mut String::new()), &meta);
        assert_eq!((plan.class, plan.read), (class, read), "{name} {importer}");
    }

    #[test]
    fn importer_overrides_extension() {
        check("a.txt", "TextScriptImporter", ClassId::TextAsset, ContentScan::Nothing);
        check("a.txt", "DefaultImporter", ClassId::DefaultAsset, ContentScan::Nothing);
        check("a.txt", "", ClassId::TextAsset, ContentScan::Nothing);
        check("a.bin", "TextureImporter", ClassId::Texture2D, ContentScan::Nothing);
        check("A.CS", "", ClassId::MonoScript, ContentScan::Nothing);
        check("a.dll", "PluginImporter", ClassId::DefaultAsset, ContentScan::Nothing);
        check("a.unknown", "", ClassId::DefaultAsset, ContentScan::Nothing);
        check("a.unity", "DefaultImporter", ClassId::SceneAsset, ContentScan::Yaml(Depth::References));
        check("A.FBX", "ModelImporter", ClassId::GameObject, ContentScan::Model(ModelFormat::Fbx));
        check("a.prefab", "PrefabImporter", ClassId::Prefab, ContentScan::Yaml(Depth::Prefab));
        check("a.weird", "NativeFormatImporter", ClassId::DefaultAsset, ContentScan::Yaml(Depth::All));
    }

    #[test]
    fn texture_shape_decides_class() {
        let shape = |shape| {
            plan("png", &Meta { importer: "TextureImporter", texture_shape: shape, ..Meta::default() }).class
        };
        assert_eq!(shape(None), ClassId::Texture2D);
        assert_eq!(shape(Some(2)), ClassId::Cubemap);
        assert_eq!(shape(Some(4)), ClassId::Texture2DArray);
        assert_eq!(shape(Some(8)), ClassId::Texture3D);
    }
}
