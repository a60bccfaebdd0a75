//! Unity's class IDs: their names, and the class of an asset by its file extension.

mod table;

pub use table::ClassId;

impl ClassId {
    /// Returns the class with this ID, if it is known.
    ///
    /// ```
    /// use unity_assetdb::class_id::ClassId;
    /// assert_eq!(ClassId::from_raw(213), Some(ClassId::Sprite));
    /// assert_eq!(ClassId::from_raw(7), None);
    /// ```
    pub fn from_raw(id: u32) -> Option<ClassId> {
        let at = table::ALL.binary_search_by_key(&id, |(class, _)| *class as u32).ok()?;
        Some(table::ALL[at].0)
    }

    /// Returns the class of this name; case is ignored.
    pub fn from_name(name: &str) -> Option<ClassId> {
        table::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(class, _)| *class)
    }

    /// Returns the class ID as a number.
    pub fn raw(self) -> u32 {
        self as u32
    }

    /// Returns the name of the class, as Unity spells it.
    pub fn name(self) -> &'static str {
        table::ALL
            .binary_search_by_key(&self.raw(), |(class, _)| *class as u32)
            .map_or("", |at| table::ALL[at].1)
    }

    /// Returns the canonical fileID of the main object of an asset of this class: the class ID times 100,000. References use
    /// it unless Unity chose another.
    ///
    /// ```
    /// use unity_assetdb::class_id::ClassId;
    /// assert_eq!(ClassId::Sprite.canonical_subobject_fid(), 21_300_000);
    /// assert_eq!(ClassId::Prefab.canonical_subobject_fid(), 100_100_000);
    /// ```
    pub fn canonical_subobject_fid(self) -> i64 {
        canonical_fid(self.raw())
    }
}

/// Returns the canonical fileID for any class ID: see [`ClassId::canonical_subobject_fid`].
pub fn canonical_fid(class_id: u32) -> i64 {
    i64::from(class_id) * 100_000
}

/// Returns the name of a class, or its ID as a string if the class is unknown.
pub fn class_name(class_id: u32) -> std::borrow::Cow<'static, str> {
    match ClassId::from_raw(class_id) {
        Some(class) => class.name().into(),
        None => class_id.to_string().into(),
    }
}

/// Returns the class of a file with this extension (without the dot; case is ignored) unless an importer decides otherwise.
///
/// ```
/// use unity_assetdb::class_id::{ClassId, class_from_ext};
/// assert_eq!(class_from_ext("PNG"), Some(ClassId::Texture2D));
/// assert_eq!(class_from_ext("unknown"), None);
/// ```
pub fn class_from_ext(ext: &str) -> Option<ClassId> {
    let mut lower = [0; 24];
    let lower = lower.get_mut(..ext.len())?;
    lower.copy_from_slice(ext.as_bytes());
    lower.make_ascii_lowercase();
    Some(match &*lower {
        b"prefab" => ClassId::Prefab,
        b"unity" => ClassId::SceneAsset,
        b"controller" => ClassId::AnimatorController,
        b"overridecontroller" => ClassId::AnimatorOverrideController,
        b"mat" => ClassId::Material,
        b"anim" => ClassId::AnimationClip,
        b"mixer" => ClassId::AudioMixerController,
        b"shader" | b"shadergraph" => ClassId::Shader,
        b"compute" => ClassId::ComputeShader,
        b"raytrace" => ClassId::RayTracingShader,
        b"shadervariants" => ClassId::ShaderVariantCollection,
        b"physicmaterial" => ClassId::PhysicMaterial,
        b"physicsmaterial2d" => ClassId::PhysicsMaterial2D,
        b"mask" => ClassId::AvatarMask,
        b"spriteatlas" | b"spriteatlasv2" => ClassId::SpriteAtlas,
        b"rendertexture" => ClassId::RenderTexture,
        b"cubemap" => ClassId::Cubemap,
        b"flare" => ClassId::Flare,
        b"mesh" => ClassId::Mesh,
        b"fontsettings" => ClassId::Font,
        b"terrainlayer" => ClassId::TerrainLayer,
        b"giparams" => ClassId::LightmapParameters,
        b"lighting" => ClassId::LightingSettings,
        b"preset" => ClassId::Preset,
        b"vfx" => ClassId::VisualEffectAsset,
        b"asmdef" => ClassId::AssemblyDefinitionAsset,
        b"asmref" => ClassId::AssemblyDefinitionReferenceAsset,
        b"cs" => ClassId::MonoScript,
        b"fbx" | b"obj" | b"blend" | b"dae" | b"3ds" | b"dxf" | b"max" | b"ma" | b"mb" | b"c4d" | b"skp"
        | b"spm" | b"st" | b"jas" | b"lxo" => ClassId::GameObject,
        b"png" | b"jpg" | b"jpeg" | b"tga" | b"psd" | b"psb" | b"tif" | b"tiff" | b"bmp" | b"exr"
        | b"hdr" | b"gif" | b"iff" | b"pict" | b"dds" | b"ktx" | b"pvr" | b"astc" => ClassId::Texture2D,
        b"ttf" | b"otf" | b"ttc" | b"dfont" => ClassId::Font,
        b"wav" | b"mp3" | b"ogg" | b"aif" | b"aiff" | b"flac" | b"mod" | b"it" | b"s3m" | b"xm" => {
            ClassId::AudioClip
        }
        b"mp4" | b"mov" | b"webm" | b"avi" | b"m4v" | b"mpg" | b"mpeg" | b"ogv" | b"vp8" | b"wmv"
        | b"asf" | b"dv" => ClassId::VideoClip,
        b"txt" | b"json" | b"xml" | b"csv" | b"yaml" | b"html" | b"htm" | b"bytes" | b"md" | b"fnt" => {
            ClassId::TextAsset
        }
        // ScriptedImporters make ScriptableObjects of these, of scripts outside the project.
        b"uxml" | b"uss" | b"tss" | b"inputactions" | b"shadersubgraph" | b"playable" | b"signal" => {
            ClassId::MonoBehaviour
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_table_is_sorted_and_complete() {
        assert!(table::ALL.windows(2).all(|pair| (pair[0].0 as u32) < pair[1].0 as u32));
        assert!(table::ALL.len() >= 308, "{}", table::ALL.len());
        for (class, name) in table::ALL {
            assert_eq!(ClassId::from_raw(class.raw()), Some(*class));
            assert_eq!(class.name(), *name);
            assert_eq!(ClassId::from_name(&name.to_uppercase()), Some(*class));
        }
    }

    #[test]
    fn class_numbers_match_unity() {
        let check = |name: &str, id: u32| {
            assert_eq!(ClassId::from_name(name).map(ClassId::raw), Some(id), "{name}");
        };
        // The five that unity-assetdb 0.2.0 has wrong.
        check("AudioMixerController", 241);
        check("AvatarMask", 319);
        check("PrefabImporter", 468_431_735);
        check("AssemblyDefinitionAsset", 1_152_215_463);
        check("AssemblyDefinitionReferenceAsset", 662_584_278);
        // The document's examples.
        check("Sprite", 213);
        check("Prefab", 1001);
        check("Texture2D", 28);
        // Misprinted in published lists.
        check("UnityConnectSettings", 310);
        check("ScriptedImporter", 2_089_858_483);
    }

    #[test]
    fn extensions_ignore_case() {
        let check = |ext, class| assert_eq!(class_from_ext(ext), class, "{ext}");
        check("mask", Some(ClassId::AvatarMask));
        check("overrideController", Some(ClassId::AnimatorOverrideController));
        check("FBX", Some(ClassId::GameObject));
        check("", None);
        check("a-very-long-extension-of-no-kind", None);
        check("Ünï", None);
    }
}
