//! What a class number in a Unity file means, and which class a file of some extension is.

mod table;

pub use table::ClassId;

impl ClassId {
    /// The class with this number, if it is known.
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

    /// The class of this name, whatever the case of its letters.
    pub fn from_name(name: &str) -> Option<ClassId> {
        table::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(class, _)| *class)
    }

    /// Its number.
    pub fn raw(self) -> u32 {
        self as u32
    }

    /// Its name, as Unity spells it.
    pub fn name(self) -> &'static str {
        table::ALL
            .binary_search_by_key(&self.raw(), |(class, _)| *class as u32)
            .map_or("", |at| table::ALL[at].1)
    }

    /// The fileID that references to an asset of this class carry, where Unity did not choose another: the number of
    /// the class times 100,000.
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

/// [`ClassId::canonical_subobject_fid`] for any number.
pub fn canonical_fid(class_id: u32) -> i64 {
    i64::from(class_id) * 100_000
}

/// The name of a class, or its number where no name is known.
pub fn class_name(class_id: u32) -> std::borrow::Cow<'static, str> {
    match ClassId::from_raw(class_id) {
        Some(class) => class.name().into(),
        None => class_id.to_string().into(),
    }
}

/// The class of a file with this extension (without the dot, in any case) when no importer says otherwise.
///
/// ```
/// use unity_assetdb::class_id::{ClassId, class_from_ext};
/// assert_eq!(class_from_ext("PNG"), Some(ClassId::Texture2D));
/// assert_eq!(class_from_ext("what"), None);
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
        // What a ScriptedImporter makes a ScriptableObject of a script outside the project from.
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
    fn the_table_is_sorted_and_whole() {
        assert!(table::ALL.windows(2).all(|pair| (pair[0].0 as u32) < pair[1].0 as u32));
        assert!(table::ALL.len() >= 308, "{}", table::ALL.len());
        for (class, name) in table::ALL {
            assert_eq!(ClassId::from_raw(class.raw()), Some(*class));
            assert_eq!(class.name(), *name);
            assert_eq!(ClassId::from_name(&name.to_uppercase()), Some(*class));
        }
    }

    #[test]
    fn the_numbers_are_those_of_unity() {
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
        // Misprints of lists that go around.
        check("UnityConnectSettings", 310);
        check("ScriptedImporter", 2_089_858_483);
    }

    #[test]
    fn extensions_are_compared_without_case() {
        let check = |ext, class| assert_eq!(class_from_ext(ext), class, "{ext}");
        check("mask", Some(ClassId::AvatarMask));
        check("overrideController", Some(ClassId::AnimatorOverrideController));
        check("FBX", Some(ClassId::GameObject));
        check("", None);
        check("a-very-long-extension-of-no-kind", None);
        check("Ünï", None);
    }
}
