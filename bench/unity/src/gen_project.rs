//! A synthetic project: the same files for the same number, in the proportions of real ones.

use std::fs;
use std::io::Write;
use std::path::Path;

/// The number of assets in a folder.
const FOLDER: usize = 14;

fn guid(n: usize) -> String {
    // Spread like drawn ones, and never twice.
    let mix = |n: u64| {
        let n = (n ^ n >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let n = (n ^ n >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        n ^ n >> 31
    };
    format!("{:016x}{:016x}", mix(n as u64 + 1), mix(n as u64 ^ 0x5555_5555_0000_0000))
}

/// Writes a project of about this many assets.
pub fn generate(dir: &Path, count: usize) {
    for name in ["Assets", "ProjectSettings", "Packages"] {
        fs::create_dir_all(dir.join(name)).expect("a folder");
    }
    fs::write(dir.join("Packages/manifest.json"), "{\"dependencies\": {}}\n").expect("a manifest");
    let mut folders = 0;
    for first in (0..count).step_by(FOLDER) {
        let path =
            dir.join(format!("Assets/Area{}/Set{}/Folder{}", folders / 400, folders / 20 % 20, folders));
        fs::create_dir_all(&path).expect("a folder");
        let id = count * 2 + folders;
        let meta = format!(
            "fileFormatVersion: 2\nguid: {}\nfolderAsset: yes\nDefaultImporter:\n  externalObjects: {{}}\n  userData: \n  assetBundleName: \n  assetBundleVariant: \n",
            guid(id)
        );
        fs::write(path.with_file_name(format!("Folder{folders}.meta")), meta).expect("a file");
        for n in first..(first + FOLDER).min(count) {
            asset(&path, n, count);
        }
        folders += 1;
    }
    eprintln!("{count} assets in {folders} folders");
}

/// Writes a project with one scene, `Big`, of at least this many bytes. Returns the fileIDs of its last GameObject and of a
/// component.
pub fn scene(dir: &Path, size: usize) -> [u64; 2] {
    for name in ["Assets", "ProjectSettings"] {
        fs::create_dir_all(dir.join(name)).expect("a folder");
    }
    // Streamed: the peak memory of this process would count for its children, which are measured.
    let file = fs::File::create(dir.join("Assets/Big.unity")).expect("a file");
    let mut out = std::io::BufWriter::new(file);
    let mut written = 0;
    out.write_all(b"%YAML 1.1\n%TAG !u! tag:unity3d.com,2011:\n").expect("a file");
    let mut id = 0;
    for n in 1.. {
        // Spread like drawn ones.
        id = u64::from_str_radix(&guid(n)[..15], 16).expect("digits") << 2;
        let text = format!(
            "--- !u!1 &{id}\nGameObject:\n  m_ObjectHideFlags: 0\n  serializedVersion: 6\n  m_Component:\n  - component: {{fileID: {}}}\n  m_Layer: 0\n  m_Name: Thing{n}\n  m_TagString: Untagged\n  m_IsActive: 1\n--- !u!4 &{}\nTransform:\n  m_ObjectHideFlags: 0\n  m_GameObject: {{fileID: {id}}}\n  m_LocalRotation: {{x: 0, y: 0, z: 0, w: 1}}\n  m_LocalPosition: {{x: {n}, y: 0, z: 0}}\n  m_Father: {{fileID: 0}}\n--- !u!114 &{}\nMonoBehaviour:\n  m_ObjectHideFlags: 0\n  m_GameObject: {{fileID: {id}}}\n  m_Enabled: 1\n  m_Script: {{fileID: 11500000, guid: {}, type: 3}}\n  m_Name: \n",
            id + 1,
            id + 1,
            id + 2,
            guid(n % 10)
        );
        out.write_all(text.as_bytes()).expect("a file");
        written += text.len();
        if written >= size {
            break;
        }
    }
    out.flush().expect("a file");
    let meta = format!("fileFormatVersion: 2\nguid: {}\nDefaultImporter:\n", guid(1 << 40));
    fs::write(dir.join("Assets/Big.unity.meta"), meta).expect("a file");
    [id, id + 2]
}

fn asset(dir: &Path, n: usize, count: usize) {
    let put = |ext: &str, meta: &str, text: &[u8]| {
        // One name in eight is contested.
        let name = if n.is_multiple_of(8) { format!("Shared{}", n % 4096) } else { format!("Asset{n}") };
        let path = dir.join(format!("{name}.{ext}"));
        fs::write(
            dir.join(format!("{name}.{ext}.meta")),
            format!("fileFormatVersion: 2\nguid: {}\n{meta}", guid(n)),
        )
        .expect("a file");
        fs::write(path, text).expect("a file");
    };
    let other = |k: usize| guid((n * 31 + k * 7919) % count);
    let head = "%YAML 1.1\n%TAG !u! tag:unity3d.com,2011:\n";
    match n % 40 {
        0..=15 => put("png", &texture(1, ""), b"\x89PNG\r\n\x1a\n"),
        16..=17 => put("png", &texture(2, &sprites(n)), b"\x89PNG\r\n\x1a\n"),
        18..=24 => put(
            "cs",
            "MonoImporter:\n  externalObjects: {}\n  serializedVersion: 2\n  defaultReferences: []\n  executionOrder: 0\n  icon: {instanceID: 0}\n  userData: \n  assetBundleName: \n  assetBundleVariant: \n",
            b"class A {}\n",
        ),
        25..=29 => {
            let mut text = head.to_owned();
            for part in 0..6 {
                let id = n * 100 + part * 3;
                text += &format!(
                    "--- !u!1 &{id}\nGameObject:\n  m_ObjectHideFlags: 0\n  serializedVersion: 6\n  m_Component:\n  - component: {{fileID: {}}}\n  m_Layer: 0\n  m_Name: Part{part}\n  m_TagString: Untagged\n  m_IsActive: 1\n--- !u!4 &{}\nTransform:\n  m_ObjectHideFlags: 0\n  m_GameObject: {{fileID: {id}}}\n  m_LocalRotation: {{x: 0, y: 0, z: 0, w: 1}}\n  m_LocalPosition: {{x: 0, y: 0, z: 0}}\n  m_LocalScale: {{x: 1, y: 1, z: 1}}\n  m_Children: []\n  m_Father: {{fileID: 0}}\n--- !u!114 &{}\nMonoBehaviour:\n  m_ObjectHideFlags: 0\n  m_GameObject: {{fileID: {id}}}\n  m_Enabled: 1\n  m_Script: {{fileID: 11500000, guid: {}, type: 3}}\n  m_Name: \n  icon: {{fileID: 21300000, guid: {}, type: 3}}\n",
                    id + 1,
                    id + 1,
                    id + 2,
                    other(part),
                    other(part + 10)
                );
            }
            put(
                "prefab",
                "PrefabImporter:\n  externalObjects: {}\n  userData: \n  assetBundleName: \n  assetBundleVariant: \n",
                text.as_bytes(),
            );
        }
        30..=32 => {
            let text = format!(
                "{head}--- !u!21 &2100000\nMaterial:\n  serializedVersion: 6\n  m_Name: Asset{n}\n  m_Shader: {{fileID: 46, guid: 0000000000000000f000000000000000, type: 0}}\n  m_SavedProperties:\n    m_TexEnvs:\n    - _MainTex:\n        m_Texture: {{fileID: 2800000, guid: {}, type: 3}}\n    - _BumpMap:\n        m_Texture: {{fileID: 2800000, guid: {}, type: 3}}\n",
                other(1),
                other(2)
            );
            put(
                "mat",
                "NativeFormatImporter:\n  externalObjects: {}\n  mainObjectFileID: 2100000\n  userData: \n",
                text.as_bytes(),
            );
        }
        33..=36 => {
            let text = format!(
                "{head}--- !u!114 &11400000\nMonoBehaviour:\n  m_ObjectHideFlags: 0\n  m_Script: {{fileID: 11500000, guid: {}, type: 3}}\n  m_Name: Asset{n}\n  a: {{fileID: 21300000, guid: {}, type: 3}}\n",
                other(3),
                other(4)
            );
            put(
                "asset",
                "NativeFormatImporter:\n  externalObjects: {}\n  mainObjectFileID: 0\n  userData: \n",
                text.as_bytes(),
            );
        }
        37 => {
            let text = format!(
                "; FBX 7.3.0 project file\nObjects:  {{\n\tModel: 1, \"Model::Body{n}\", \"Mesh\" {{\n\t}}\n\tMaterial: 2, \"Material::Skin\", \"\" {{\n\t}}\n}}\nConnections:  {{\n\tC: \"OO\",1,0\n}}\n"
            );
            put(
                "fbx",
                "ModelImporter:\n  serializedVersion: 22200\n  internalIDToNameTable: []\n  externalObjects: {}\n  materials:\n    materialImportMode: 2\n  animations:\n    clipAnimations: []\n  meshes:\n    globalScale: 1\n    fileIdsGeneration: 2\n  importAnimation: 1\n  animationType: 2\n  userData: \n",
                text.as_bytes(),
            );
        }
        38 => put(
            "wav",
            "AudioImporter:\n  externalObjects: {}\n  serializedVersion: 6\n  userData: \n",
            b"RIFF",
        ),
        _ => {
            let mut text = head.to_owned();
            for part in 0..40 {
                text += &format!(
                    "--- !u!1001 &{}\nPrefabInstance:\n  m_ObjectHideFlags: 0\n  m_Modification:\n    m_Modifications:\n    - target: {{fileID: {}, guid: {}, type: 3}}\n      propertyPath: m_Name\n      value: Thing\n  m_SourcePrefab: {{fileID: 100100000, guid: {}, type: 3}}\n",
                    part + 1,
                    part * 3,
                    other(part),
                    other(part)
                );
            }
            put("unity", "DefaultImporter:\n  externalObjects: {}\n  userData: \n", text.as_bytes());
        }
    }
}

fn sprites(n: usize) -> String {
    let mut list = String::new();
    let mut table = String::new();
    for k in 0..8 {
        list += &format!(
            "    - serializedVersion: 2\n      name: Sheet{n}_{k}\n      rect:\n        serializedVersion: 2\n        x: 0\n        y: 0\n        width: 16\n        height: 16\n      alignment: 0\n      pivot: {{x: 0.5, y: 0.5}}\n      border: {{x: 0, y: 0, z: 0, w: 0}}\n      outline: []\n      physicsShape: []\n      tessellationDetail: 0\n      bones: []\n      spriteID: {:032x}\n      internalID: {}\n      vertices: []\n      indices: \n      edges: []\n      weights: []\n",
            n * 8 + k,
            n * 1000 + k
        );
        table += &format!("      Sheet{n}_{k}: {}\n", n * 1000 + k);
    }
    format!(
        "    sprites:\n{list}    outline: []\n    physicsShape: []\n    bones: []\n    spriteID: \n    internalID: 0\n    vertices: []\n    indices: \n    edges: []\n    weights: []\n    nameFileIdTable:\n{table}"
    )
}

fn texture(mode: u32, sheet: &str) -> String {
    let platform = |name: &str| {
        format!(
            "  - serializedVersion: 3\n    buildTarget: {name}\n    maxTextureSize: 2048\n    resizeAlgorithm: 0\n    textureFormat: -1\n    textureCompression: 1\n    compressionQuality: 50\n    crunchedCompression: 0\n    allowsAlphaSplitting: 0\n    overridden: 0\n    androidETC2FallbackOverride: 0\n    forceMaximumCompressionQuality_BC6H_BC7: 0\n"
        )
    };
    let platforms: String = ["DefaultTexturePlatform", "Standalone", "Android"].map(platform).concat();
    let empty = "    sprites: []\n    outline: []\n    physicsShape: []\n    bones: []\n    spriteID: 5e97eb03825dee720800000000000000\n    internalID: 0\n    vertices: []\n    indices: \n    edges: []\n    weights: []\n    nameFileIdTable: {}\n";
    let sheet = if sheet.is_empty() { empty } else { sheet };
    format!(
        "TextureImporter:\n  internalIDToNameTable: []\n  externalObjects: {{}}\n  serializedVersion: 12\n  mipmaps:\n    mipMapMode: 0\n    enableMipMap: 0\n    sRGBTexture: 1\n    linearTexture: 0\n    fadeOut: 0\n    borderMipMap: 0\n    mipMapsPreserveCoverage: 0\n    alphaTestReferenceValue: 0.5\n    mipMapFadeDistanceStart: 1\n    mipMapFadeDistanceEnd: 3\n  bumpmap:\n    convertToNormalMap: 0\n    externalNormalMap: 0\n    heightScale: 0.25\n    normalMapFilter: 0\n  isReadable: 0\n  streamingMipmaps: 0\n  grayScaleToAlpha: 0\n  generateCubemap: 6\n  cubemapConvolution: 0\n  seamlessCubemap: 0\n  textureFormat: 1\n  maxTextureSize: 2048\n  textureSettings:\n    serializedVersion: 2\n    filterMode: 1\n    aniso: 1\n    mipBias: 0\n    wrapU: 1\n    wrapV: 1\n    wrapW: 1\n  nPOTScale: 0\n  lightmap: 0\n  compressionQuality: 50\n  spriteMode: {mode}\n  spriteExtrude: 1\n  spriteMeshType: 1\n  alignment: 0\n  spritePivot: {{x: 0.5, y: 0.5}}\n  spritePixelsToUnits: 100\n  spriteBorder: {{x: 0, y: 0, z: 0, w: 0}}\n  alphaUsage: 1\n  alphaIsTransparency: 1\n  textureType: 8\n  textureShape: 1\n  singleChannelComponent: 0\n  platformSettings:\n{platforms}  spriteSheet:\n    serializedVersion: 2\n{sheet}  spritePackingTag: \n  pSDRemoveMatte: 0\n  userData: \n  assetBundleName: \n  assetBundleVariant: \n"
    )
}
