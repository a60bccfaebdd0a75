//! Baked materials: colors, constant values, parameter channels, flags and color spaces.

use crate::project::{Model, Project, png};
use pak::bitmap::{Bitmap, BitmapColor, BitmapFormat};
use pak::{BitmapId, MaterialInfo, MaterialParameterFlags, Pak, PakBuf};
use serde_json::json;

fn material(project: &Project, fields: &str) -> (PakBuf, MaterialInfo) {
    project.put("art/m.toml", format!("[material]\n{fields}\n"));
    let pak = project.open();
    let info = pak.read_material("art/m").unwrap();
    (pak, info)
}

fn bitmap(pak: &PakBuf, id: BitmapId) -> Bitmap {
    pak.read_bitmap_id(id).unwrap()
}

#[test]
fn solid_colors_are_exact_srgb() {
    let project = Project::new();
    for (text, expected) in [
        ("", [0x8c, 0x57, 0x38, 255]),
        ("color = '#abc'", [0xaa, 0xbb, 0xcc, 255]),
        ("color = '#abcd'", [0xaa, 0xbb, 0xcc, 0xdd]),
        ("color = '#01fE20'", [1, 0xfe, 0x20, 255]),
        ("color = '#01fe2080'", [1, 0xfe, 0x20, 0x80]),
        ("color = [1, 0.5, 0]", [255, 128, 0, 255]),
        ("color = [0.999, 0, 1, 0.25]", [255, 0, 255, 64]),
    ] {
        let (pak, info) = material(&project, text);
        let color = bitmap(&pak, info.color);
        assert_eq!((color.pixels(), color.extent()), (&expected[..], (1, 1)), "{text}");
        assert_eq!((color.color(), color.format()), (BitmapColor::Srgb, BitmapFormat::Rgba));
        assert_eq!((info.normal, info.emissive, info.params), (None, None, None));
    }
}

#[test]
fn rejects_invalid_colors_with_their_place() {
    let project = Project::new();
    for bad in ["'#é1'", "'#12345'", "'#'", "'#xyz'", "[1, 2, 3]", "[1, 1]", "3", "true", "'#ff0000ff0'"] {
        project.put("art/m.toml", format!("[material]\ncolor = {bad}\n"));
        let error = project.error();
        assert!(error.contains("error[pak-value]: art/m.toml:2:"), "{bad}: {error}");
    }
    project.put("art/m.toml", "[material]\nemissive = '#11223344'\n");
    assert!(project.error().contains("#rgb or #rrggbb"), "emissive colors have no alpha");
}

#[test]
fn values_and_images_fill_parameter_channels() {
    let project = Project::new();
    // Eight texels whose red channel is 10 to 17.
    let texels: Vec<u8> = (0..8).flat_map(|n| [10 + n, 100, 200]).collect();
    project.png("art/rgb.png", 4, 3, &texels);
    project.png("art/small.png", 1, 1, &[77]);
    let (pak, info) = material(
        &project,
        "metal = 'rgb.png'\nrough = { src = 'rgb.png', swizzle = 'b' }\nheight = 'small.png'",
    );
    let params = bitmap(&pak, info.params.unwrap());
    assert_eq!(
        (params.extent(), params.format(), params.color()),
        ((4, 2), BitmapFormat::Rgba, BitmapColor::Linear)
    );
    let expected: Vec<u8> = (0..8).flat_map(|n| [10 + n, 200, 77, 0]).collect();
    assert_eq!(params.pixels(), expected);
    let used = MaterialParameterFlags::METAL | MaterialParameterFlags::ROUGH | MaterialParameterFlags::HEIGHT;
    assert_eq!(info.params_used, used);

    let (pak, info) = material(&project, "metal = 1\ntransmission = '#8'");
    assert_eq!(
        bitmap(&pak, info.params.unwrap()).pixels(),
        [255, 255, 0, 0x88],
        "the default of rough is 255"
    );
    let (pak, info) = material(&project, "rough = 0.999\ndisplacement = '#7f'");
    assert_eq!(bitmap(&pak, info.params.unwrap()).pixels(), [0, 255, 0x7f, 0]);
    assert!(info.params_used.contains(MaterialParameterFlags::HEIGHT), "displacement is height");
    project.put("art/m.toml", "[material]\nheight = 0\ndisplacement = 1\n");
    assert!(project.error().contains("height and displacement set the same parameter"));
}

#[test]
fn parameter_channels_are_those_of_any_image() {
    let project = Project::new();
    project.png("art/gray.png", 2, 1, &[10, 20]);
    project.png("art/rgb.png", 2, 3, &[1, 2, 3, 4, 5, 6]);
    project.png("art/rgba.png", 2, 4, &[1, 2, 3, 40, 5, 6, 7, 80]);
    let halves: Vec<u8> =
        [[0x1234u16, 0x8080, 0xffff]; 2].concat().iter().flat_map(|v| v.to_be_bytes()).collect();
    project.put("art/deep.png", png(2, 3, png::BitDepth::Sixteen, &halves));
    for (src, swizzle, expected) in [
        ("gray.png", "r", [10, 20]),
        ("gray.png", "b", [10, 20]),
        ("gray.png", "a", [255, 255]),
        ("rgb.png", "g", [2, 5]),
        ("rgb.png", "a", [255, 255]),
        ("rgba.png", "b", [3, 7]),
        ("rgba.png", "a", [40, 80]),
        ("deep.png", "g", [0x80, 0x80]),
        ("deep.png", "a", [255, 255]),
    ] {
        let fields = format!("metal = 0\nrough = {{ src = '{src}', swizzle = '{swizzle}' }}");
        let (pak, info) = material(&project, &fields);
        let params = bitmap(&pak, info.params.unwrap());
        let roughness: Vec<u8> = params.pixels().iter().skip(1).step_by(4).copied().collect();
        assert_eq!(roughness, expected, "{src} {swizzle}");
    }
}

#[test]
fn normal_maps_are_linear_and_emissive_maps_srgb() {
    let project = Project::new();
    project.png("art/n.png", 1, 4, &[128, 128, 255, 9]);
    let (pak, info) = material(&project, "normal = 'n.png'\nemissive = 'n.png'");
    let normal = bitmap(&pak, info.normal.unwrap());
    assert_eq!((normal.color(), normal.pixels()), (BitmapColor::Linear, &[128, 128, 255][..]));
    let emissive = bitmap(&pak, info.emissive.unwrap());
    assert_eq!((emissive.color(), emissive.pixels()), (BitmapColor::Srgb, &[128, 128, 255][..]));
    project.put("art/b.toml", "[bitmap]\nsrc = 'n.png'\nswizzle = 'gr'\n");
    let (pak, info) = material(&project, "normal = 'b.toml'");
    let normal = bitmap(&pak, info.normal.unwrap());
    assert_eq!((normal.color(), normal.pixels()), (BitmapColor::Linear, &[128, 128][..]));
}

#[test]
fn stores_material_flags() {
    let project = Project::new();
    let (_, info) = material(&project, "double-sided = true");
    assert!(info.double_sided && !info.alpha_test);
    let (_, info) = material(&project, "alpha-test = true\nalpha-cutoff = 0.25");
    assert!(!info.double_sided && info.alpha_test && info.alpha_cutoff == 0.25);
}

#[test]
fn bakes_materials_and_images_of_gltf_files() {
    let project = Project::new();
    project.png("art/base.png", 2, 3, &[1, 2, 3, 4, 5, 6]);
    project.png("art/orm.png", 1, 3, &[10, 20, 30]);
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.json["meshes"][0]["primitives"][0]["material"] = json!(1);
    model.node(json!({"mesh": mesh}), None);
    model.json["images"] = json!([{"uri": "base.png", "name": "base"}, {"uri": "orm.png"}]);
    model.json["textures"] = json!([{"source": 0}, {"source": 1}]);
    model.json["materials"] = json!([
        {"name": "Unused", "pbrMetallicRoughness": {"baseColorFactor": [0.5, 0, 1, 1], "metallicFactor": 0, "roughnessFactor": 0.5}},
        {"name": "Gold", "doubleSided": true, "alphaMode": "MASK", "alphaCutoff": 0.75, "pbrMetallicRoughness": {
            "baseColorTexture": {"index": 0}, "metallicRoughnessTexture": {"index": 1}}},
    ]);
    model.write(&project, "art/m.gltf");
    project.put(
        "art/s.toml",
        "[scene]\n[[scene.ref]]\nmesh = 'm.gltf'\nmaterials = ['m.gltf#Gold', 'm.gltf', 'm.gltf#0']\n",
    );
    project.put("art/b.toml", "[bitmap]\nsrc = 'm.gltf#base'\n");
    project.content("none", "['art/*.toml']");
    let pak = project.open();
    assert_eq!(pak.read_bitmap("art/b").unwrap().pixels(), [1, 2, 3, 4, 5, 6]);
    let scene = pak.read_scene("art/s").unwrap();
    let materials = scene.refs().next().unwrap().materials();
    assert_eq!(materials.len(), 3);
    assert_eq!(materials[0], materials[1], "the only material that is drawn");
    let gold = pak.read_material_id(materials[0]).unwrap();
    assert!(gold.double_sided && gold.alpha_test && gold.alpha_cutoff == 0.75);
    assert_eq!(bitmap(&pak, gold.color).pixels(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(bitmap(&pak, gold.params.unwrap()).pixels(), [30, 20, 0, 0]);
    let unused = pak.read_material_id(materials[2]).unwrap();
    // 0.5 in linear light is 188 in sRGB.
    assert_eq!(bitmap(&pak, unused.color).pixels(), [188, 0, 255, 255]);
    assert_eq!(bitmap(&pak, unused.params.unwrap()).pixels(), [0, 128, 0, 0]);
    project.put("art/b.toml", "[material]\ncolor = 'm.gltf#nothing'\n");
    assert!(project.error().contains("the file has no image \"nothing\""));
}
