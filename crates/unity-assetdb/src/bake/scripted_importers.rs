//! The objects that importers of Unity's packages make, as far as the `.meta` determines them.
//!
//! A ScriptedImporter gives an identifier to each object, and Unity derives the fileID from the class and the identifier as it
//! does for models: the xxHash64 of `Type:Sprite->IDENTIFIER0`. Each rule below reproduces fileIDs that a public project
//! contains (the tests have the values); what no project has shown is left out.
//!
//! | importer | object | identifier | name |
//! |---|---|---|---|
//! | 2D Aseprite, animated sprite | sprites | `spriteID` in the `.meta` | `name` in the `.meta` |
//! | 2D Aseprite, with prefab and clips | animator controller | `<file>_Controller` | the same |
//! | 2D PSD, character rig | prefab | `Prefab` | that of the file |
//! | 2D PSD, character rig of its own | sprites | `spriteID` in the `.meta` | `name` in the `.meta` |
//! | Vector Graphics, vector sprite | sprite | `sprite` | `<file>Sprite` |

use super::model::file_id;
use crate::class_id::ClassId;
use crate::meta::Meta;

/// The GUIDs of the importers' scripts.
const GLTFAST: u128 = 0x715d_f937_2183_c47e_389b_b6e1_9fbc_3b52;
const ASEPRITE: u128 = 0x62a9_f0aa_5b59_740c_fbad_c7e5_f982_3bb0;
const PSD: u128 = 0xb2a9_5919_90af_9874_3ba3_ff7c_f100_0886;
const VECTOR_GRAPHICS: u128 = 0xa574_7791_3897_c46a_f95d_590f_5808_78bd;

/// `fileImportMode` of an animated sprite.
const ANIMATED: i64 = 1;
/// The class name of a prefab in the text that is hashed, which is that of current versions of Unity.
const PREFAB_INSTANCE: &str = "PrefabInstance";

/// Returns whether glTFast imports the asset, of which the file determines the objects: see [`super::gltf`].
pub(super) fn is_gltfast(meta: &Meta<'_>) -> bool {
    meta.scripted.as_ref().is_some_and(|settings| settings.script == GLTFAST)
}

/// Calls `put` with the fileID, class and name of each object that the importer of the asset `stem` makes.
pub(super) fn for_each_object(meta: &Meta<'_>, stem: &str, mut put: impl FnMut(i64, ClassId, &str)) {
    let Some(settings) = &meta.scripted else { return };
    match settings.script {
        ASEPRITE if settings.file_import_mode.is_none_or(|mode| mode == ANIMATED) => {
            for (name, id) in &settings.animated_sprites {
                put(file_id("Sprite", id, 0), ClassId::Sprite, name);
            }
            // One frame has no clip, and so no controller.
            if settings.generates_prefab && settings.generates_clips && settings.animated_sprites.len() > 1 {
                let name = format!("{stem}_Controller");
                put(file_id("AnimatorController", &name, 0), ClassId::AnimatorController, &name);
            }
        }
        PSD if settings.is_character => {
            if settings.prefab_name.is_empty() {
                put(file_id(PREFAB_INSTANCE, "Prefab", 0), ClassId::Prefab, stem);
            }
            for (name, id) in settings.rig_sprites.iter().filter(|_| !settings.shares_skeleton) {
                put(file_id("Sprite", id, 0), ClassId::Sprite, name);
            }
        }
        VECTOR_GRAPHICS if settings.svg_type == Some(0) => {
            put(file_id("Sprite", "sprite", 0), ClassId::Sprite, &format!("{stem}Sprite"));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta;

    fn objects(stem: &str, text: &str) -> Vec<(i64, ClassId, String)> {
        let mut found = Vec::new();
        let text = format!(
            "fileFormatVersion: 2\nguid: 284f3c6a07792fd4794d18144698280a\nScriptedImporter:\n{text}"
        );
        for_each_object(&meta::parse(text.as_bytes()), stem, |id, class, name| {
            found.push((id, class, name.to_owned()));
        });
        found
    }

    /// `Player.aseprite` of github.com/ujisuke/Game_Paint at 3ae82c7a, shortened: `Assets/Prefabs/main/player/Player.prefab`
    /// refers to the first frame as -3527161270779841385 and to the controller as -8096178915444821780.
    #[test]
    fn names_sprites_and_controller_of_aseprite_files() {
        let text = concat!(
            "  script: {fileID: 11500000, guid: 62a9f0aa5b59740cfbadc7e5f9823bb0, type: 3}\n",
            "  previousAsepriteImporterSettings:\n    fileImportMode: 0\n    generateModelPrefab: 0\n",
            "  asepriteImporterSettings:\n    fileImportMode: 1\n    generateModelPrefab: 1\n    generateAnimationClips: 1\n",
            "  singleSpriteImportData:\n  - name: \n    spriteID: \n",
            "  animatedSpriteImportData:\n  - name: Frame_0\n    originalName: \n    rect:\n      serializedVersion: 2\n",
            "    spriteID: 0c8a6856379ef35478f50d073b086fe4\n    spriteBone: []\n",
            "  - name: Frame_1\n    spriteID: 25359972c77e42d4eba640ab78f0e0f6\n",
            "  spriteSheetImportData: []\n  asepriteLayers:\n  - layerIndex: 0\n    name: Player\n    cells:\n",
            "    - name: Frame_0\n      spriteId: 0c8a6856379ef35478f50d073b086fe4\n",
        );
        let found = objects("Player", text);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], (-3_527_161_270_779_841_385, ClassId::Sprite, "Frame_0".to_owned()));
        assert_eq!(
            found[2],
            (-8_096_178_915_444_821_780, ClassId::AnimatorController, "Player_Controller".to_owned())
        );
        assert!(objects("Player", &text.replace("fileImportMode: 1", "fileImportMode: 0")).is_empty());
        assert!(objects("Player", &text.replace("62a9f0aa", "72a9f0aa")).is_empty(), "another importer");
    }

    /// `circle.svg` of github.com/kadlgames/points-jumper at b389af39, to whose sprite `Circle.prefab` refers as
    /// 3286163911610860551.
    #[test]
    fn names_sprite_of_svg_files() {
        let text =
            "  script: {fileID: 11500000, guid: a57477913897c46af95d590f580878bd, type: 3}\n  svgType: 0\n";
        let expected = (3_286_163_911_610_860_551, ClassId::Sprite, "circleSprite".to_owned());
        assert_eq!(objects("circle", text), [expected]);
        assert!(objects("circle", &text.replace("svgType: 0", "svgType: 3")).is_empty());
    }

    /// `Player.psb` of github.com/Vailhou/NOKIA-3310-JAM-6 at b32e17f7: `m_SourcePrefab` of `Player.prefab` and
    /// `Enemy.prefab` is 4843985084834002234.
    #[test]
    fn names_prefab_of_psb_files() {
        let text = concat!(
            "  script: {fileID: 11500000, guid: b2a9591990af98743ba3ff7cf1000886, type: 3}\n",
            "  mosaicLayers: 1\n  characterMode: 1\n  textureAssetName: \n  prefabAssetName: \n",
        );
        let expected = (4_843_985_084_834_002_234, ClassId::Prefab, "Player".to_owned());
        assert_eq!(objects("Player", text), [expected]);
        assert!(objects("Player", &text.replace("characterMode: 1", "characterMode: 0")).is_empty());
        assert!(objects("Player", &text.replace("prefabAssetName: ", "prefabAssetName: Old")).is_empty());
    }

    /// `Fei.psb` of github.com/key-sp/2DPsdImporter-6.0.7 at cd72c516, shortened: the entries `staff` and `head` of
    /// `Fei Sprite Library Asset.spriteLib` refer to these sprites.
    #[test]
    fn names_rig_sprites_of_psb_files() {
        let text = concat!(
            "  script: {fileID: 11500000, guid: b2a9591990af98743ba3ff7cf1000886, type: 3}\n",
            "  spriteImportData:\n  - name: \n    spriteID: \n    spriteBone: []\n  mosaicSpriteImportData: []\n",
            "  rigSpriteImportData:\n  - name: staff_2\n    originalName: \n    spriteID: 4aa5e4b5ede7fa84db8ab0ece9fc978a\n",
            "    spriteBone:\n    - name: bone_15\n      guid: 9731150fd75e6b947931525982e7a80f\n    spriteOutline: []\n",
            "  - name: staff\n    spriteID: da2ad2a842209424f960ebc2ece5cd29\n",
            "  - name: head2\n    spriteID: a761462cbffd7f5488fada549727b731\n",
            "  - name: head\n    spriteID: f274faa4981acb343ba2f6817ab60522\n",
            "  mosaicLayers: 1\n  characterMode: 1\n  skeletonAssetReferenceID: \n  rigPSDLayers:\n  - name: head\n",
            "    spriteID: 882d66015975ee543831b9423d366355\n  prefabAssetName: \n",
        );
        let sprites = |text: &str| -> Vec<(i64, String)> {
            let sprites = objects("Fei", text).into_iter().filter(|(_, class, _)| *class == ClassId::Sprite);
            sprites.map(|(id, _, name)| (id, name)).collect()
        };
        let expected = [
            (8_416_852_843_969_421_618, "staff_2"),
            (1_450_555_960_048_892_307, "staff"),
            (9_044_410_265_548_057_539, "head2"),
            (-5_907_485_967_773_009_724, "head"),
        ];
        assert_eq!(sprites(text), expected.map(|(id, name)| (id, name.to_owned())));
        let shared = text.replace("ReferenceID: ", "ReferenceID: 8f57b4a070f7b43bbb3925467e6752ab");
        assert!(sprites(&shared).is_empty(), "the sprites of a shared skeleton are those of another list");
        assert!(sprites(&text.replace("characterMode: 1", "characterMode: 0")).is_empty());
    }

    /// The constants of the import plan, which references of the shared projects contain.
    #[test]
    fn constant_main_objects_follow_the_rule() {
        for (ext, class, identifier) in [
            ("uxml", "MonoBehaviour", "tree"),
            ("uss", "MonoBehaviour", "stylesheet"),
            ("shadergraph", "Shader", "MainAsset"),
            ("shadersubgraph", "MonoBehaviour", "MainAsset"),
            ("inputactions", "MonoBehaviour", "<root>"),
        ] {
            let plan = crate::bake::import_plan::plan(ext, &Meta::default());
            assert_eq!(plan.main, file_id(class, identifier, 0), "{ext}");
        }
    }
}
