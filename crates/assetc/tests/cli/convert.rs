//! `assetc convert` and `assetc extract`: bytes of a build without a project, and round trips through independent readers.

use crate::model::Model;
use crate::project::{Project, png, test_image};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

const FONT: &[u8] = include_bytes!("../../../../examples/showcase/assets/ui/inter.otf");

/// A triangle with UVs, a material and an embedded image.
fn textured() -> Model {
    let mut model = Model::new();
    let positions = model.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
    let uvs = model.floats("VEC2", &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let indices = model.shorts(&[0, 1, 2]);
    let view = model.view(&test_image(8, 8, 5));
    model.push("images", json!({"bufferView": view, "mimeType": "image/png"}));
    model.push("textures", json!({"source": 0}));
    let pbr = json!({"baseColorTexture": {"index": 0}, "baseColorFactor": [0.5, 0.25, 1.0, 1.0], "metallicFactor": 0.0});
    model.push("materials", json!({"name": "paint", "doubleSided": true, "pbrMetallicRoughness": pbr}));
    model.mesh(json!([{"attributes": {"POSITION": positions, "TEXCOORD_0": uvs}, "indices": indices, "material": 0}]));
    model
}

#[test]
fn convert_writes_the_bytes_of_a_build() {
    let p = Project::new();
    let yml = "default: {texture: {format: bc7, mips: 2, max_size: 16}, mesh: {lods: 1}, font: {size: 16}}\n";
    p.write("assetc.yml", yml).write("assets/wall.n.png", test_image(32, 32, 1));
    p.write("assets/chair.glb", textured().glb()).write("assets/ui.otf", FONT);
    let mut hdr = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 2\n".to_vec();
    hdr.extend([128, 64, 32, 130].repeat(4));
    p.write("assets/lamp.hdr", &hdr);
    p.run(&[]).expect(0);
    let built = p.tree("runtime");
    p.remove("assetc.yml");
    let settings = [
        ["--texture-format", "bc7"],
        ["--texture-mips", "2"],
        ["--texture-max-size", "16"],
        ["--mesh-lods", "1"],
        ["--font-size", "16"],
    ];
    for source in ["wall.n.png", "chair.glb", "ui.otf", "lamp.hdr"] {
        let path = format!("assets/{source}");
        let args: Vec<&str> = ["convert", &path, "-o", "out/"]
            .into_iter()
            .chain(settings.as_flattened().iter().copied())
            .collect();
        p.run(&args).expect(0);
    }
    let mut converted = p.tree("out");
    let manifest = built.iter().filter(|(path, _)| *path != "assets.hman");
    for (path, bytes) in manifest {
        assert_eq!(converted.remove(path).as_ref(), Some(bytes), "{path}");
    }
    assert!(converted.is_empty(), "{:?}", converted.keys());
}

#[test]
fn convert_places_outputs_and_rejects_bad_arguments() {
    let p = Project::new();
    p.write("a.png", test_image(8, 8, 1)).write("chair.glb", textured().glb());
    p.run(&["convert", "a.png"]).expect(0);
    p.run(&["convert", "a.png", "-o", "other.ktx2"]).expect(0);
    assert_eq!(p.read("a.ktx2"), p.read("other.ktx2"));
    let json = p.run(&["convert", "chair.glb", "--json", "-o", "m/chair.hmesh"]).expect(0).json();
    assert_eq!(json["written"].as_array().unwrap().len(), 3, "{json}");
    assert!(p.exists("m/chair.hmat") && p.exists("m/chair/tex_0.ktx2"));
    // References inside the root are those of a project with that input directory.
    p.write("in/models/chair.glb", textured().glb());
    p.run(&["convert", "in/models/chair.glb", "--root", "in", "-o", "rooted/"]).expect(0);
    p.write("project/assets/models/chair.glb", textured().glb());
    p.run(&["-C", "project"]).expect(0);
    assert_eq!(p.read("rooted/models/chair.hmat"), p.read("project/runtime/models/chair.hmat"));

    for (args, code, expected) in [
        (&["convert", "a.png", "-o", "x.png"][..], 2, ".ktx2"),
        (&["convert", "chair.glb", "-o", "seat.hmesh"], 2, "named chair.hmesh"),
        (&["convert", "chair.glb", "-o", "-"], 2, "standard output takes one file"),
        (&["convert", "missing.png"], 2, "file-missing"),
        (&["convert", "a.png", "--texture-mips", "many"], 2, "--texture-mips expects"),
    ] {
        let ran = p.run(args).expect(code);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
    p.write("a.ktx2", "not a texture");
    let ran = p.run(&["convert", "a.png"]).expect(2);
    assert!(ran.stderr.contains("output-not-owned"), "{ran:?}");
    p.run(&["convert", "a.png", "--overwrite"]).expect(0);
    assert_eq!(p.read("a.ktx2"), p.read("other.ktx2"));
    p.write("broken.png", "not an image");
    let ran = p.run(&["convert", "broken.png"]).expect(1);
    assert!(ran.stderr.contains("image-unknown") && !p.exists("broken.ktx2"), "{ran:?}");
}

/// There is no manifest: the files that were converted are all that materials can refer to.
#[test]
fn check_accepts_converted_files() {
    let p = Project::new();
    p.write("Models/Chair.glb", textured().glb()).write("ui.otf", FONT);
    p.run(&["convert", "Models/Chair.glb"]).expect(0);
    p.run(&["convert", "ui.otf", "--font-size", "16", "-o", "out/"]).expect(0);
    p.run(&["convert", "Models/Chair.glb", "-o", "out/"]).expect(0);
    p.run(&["convert", "Models/Chair.glb", "--root", ".", "-o", "rooted/"]).expect(0);
    for dir in ["Models", "out", "rooted", "."] {
        let checked = p.run(&["check", dir, "--deny", "warnings"]).expect(0);
        assert!(checked.stdout.contains("integrity OK"), "{dir}: {}", checked.stdout);
    }
    p.remove("out/Chair/tex_0.ktx2");
    let checked = p.run(&["check", "out"]).expect(0);
    for part in [
        "WARN",
        "Chair.hmat: row 0 references texture 0x",
        "no manifest assets.hman",
        "[material-without-manifest]",
    ] {
        assert!(checked.stdout.contains(part), "{part}: {}", checked.stdout);
    }
    p.run(&["check", "out", "--deny", "material-without-manifest"]).expect(1);
}

#[test]
fn convert_reads_standard_input_and_writes_standard_output() {
    let p = Project::new();
    let image = test_image(8, 8, 1);
    p.write("a.n.png", &image);
    p.run(&["convert", "a.n.png"]).expect(0);
    for args in
        [&["convert", "-", "--name", "x.n.png"][..], &["convert", "-", "--name", "x.n.png", "-o", "-"]]
    {
        let mut child = p.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&image).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout, p.read("a.n.ktx2"));
    }
}

/// Decodes a PNG with the `png` crate to RGBA8.
fn read_png(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut samples = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut samples).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgba, png::BitDepth::Eight));
    (info.width, info.height, samples)
}

#[test]
fn extracts_textures_to_images() {
    let p = Project::new();
    let rgba: Vec<u8> = (0..16 * 12).flat_map(|i| [i as u8, 255 - i as u8, (i * 3) as u8, 200]).collect();
    p.write("a.png", png(16, 12, png::ColorType::Rgba, &rgba));
    p.run(&["convert", "a.png", "-o", "raw.ktx2", "--texture-compress", "false"]).expect(0);
    p.run(&["extract", "raw.ktx2"]).expect(0);
    assert_eq!(read_png(&p.read("raw.png")), (16, 12, rgba.clone()), "uncompressed texels are exact");
    p.run(&["extract", "raw.ktx2", "--level", "1", "-o", "half.png"]).expect(0);
    assert_eq!(read_png(&p.read("half.png")).0, 8);

    for format in ["uastc", "bc7"] {
        p.run(&["convert", "a.png", "-o", "c.ktx2", "--texture-format", format]).expect(0);
        p.run(&["extract", "c.ktx2", "-o", "c.png", "--overwrite"]).expect(0);
        let (_, _, texels) = read_png(&p.read("c.png"));
        let error = texels.iter().zip(&rgba).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum::<f64>();
        assert!(error / (texels.len() as f64) < 60.0, "{format}: {error}");
        // Mip levels as the GPU reads them, by an independent reader.
        p.run(&["extract", "c.ktx2", "-o", "plain.ktx2", "--overwrite"]).expect(0);
        let (zstd, plain) = (p.read("c.ktx2"), p.read("plain.ktx2"));
        let (zstd, plain) = (ktx2::Reader::new(&zstd).unwrap(), ktx2::Reader::new(&plain).unwrap());
        assert_eq!(plain.header().supercompression_scheme, None);
        for (packed, level) in zstd.levels().zip(plain.levels()) {
            assert_eq!(zstd::stream::decode_all(packed.data).unwrap(), level.data);
        }
        p.run(&["check", "plain.ktx2"]).expect(0);
    }
    let ran = p.run(&["extract", "raw.ktx2", "-o", "a.png"]).expect(2);
    assert!(ran.stderr.contains("output-not-owned"), "a source image is not replaced: {ran:?}");
}

#[test]
fn extracts_cubemaps_and_hdr_textures() {
    let p = Project::new();
    for face in ["px", "nx", "py", "ny", "pz", "nz"] {
        p.write(
            &format!("sky.env/{face}.png"),
            test_image(4, 4, face.len() as u32 + u32::from(face.as_bytes()[0])),
        );
    }
    p.run(&["convert", "sky.env", "--texture-compress", "false"]).expect(0);
    p.run(&["extract", "sky.env.ktx2", "-o", "faces.png"]).expect(0);
    let expected = p.read("sky.env/nz.png");
    assert_eq!(read_png(&p.read("faces_nz.png")), read_png(&expected));

    let mut hdr = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 2\n".to_vec();
    hdr.extend([128, 64, 32, 130].repeat(4));
    p.write("lamp.hdr", &hdr);
    p.run(&["convert", "lamp.hdr"]).expect(0);
    p.run(&["extract", "lamp.ktx2"]).expect(0);
    // The extracted EXR compiles to the same texture.
    p.run(&["convert", "lamp.exr", "-o", "again.ktx2"]).expect(0);
    assert_eq!(p.read("lamp.ktx2"), p.read("again.ktx2"));
}

#[test]
fn extracts_meshes_to_binary_gltf() {
    let p = Project::new();
    p.write("chair.glb", textured().glb());
    p.run(&["convert", "chair.glb", "-o", "out/"]).expect(0);
    p.run(&["extract", "out/chair.hmesh", "-o", "back.glb"]).expect(0);
    let bytes = p.read("back.glb");
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    assert_eq!(
        (&bytes[..4], bytes.len() as u32),
        (&b"glTF"[..], u32::from_le_bytes(bytes[8..12].try_into().unwrap()))
    );
    let doc: Value = serde_json::from_slice(&bytes[20..20 + length]).unwrap();
    let data = &bytes[28 + length..];
    let primitive = &doc["meshes"][0]["primitives"][0];
    let accessor = |index: &Value| &doc["accessors"][index.as_u64().unwrap() as usize];
    let floats = |index: &Value| -> Vec<f32> {
        let view = &doc["bufferViews"][accessor(index)["bufferView"].as_u64().unwrap() as usize];
        let (at, len) =
            (view["byteOffset"].as_u64().unwrap() as usize, view["byteLength"].as_u64().unwrap() as usize);
        data[at..at + len].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let positions = floats(&primitive["attributes"]["POSITION"]);
    assert_eq!(positions.len(), 9);
    let mut corners: Vec<&[f32]> = positions.chunks(3).collect();
    corners.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(corners, [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 0.0, 0.0]]);
    for normal in floats(&primitive["attributes"]["NORMAL"]).chunks(3) {
        assert!((normal[2] - 1.0).abs() < 1e-3, "{normal:?}");
    }
    assert_eq!(accessor(&primitive["indices"])["count"], 3);
    let factor = doc["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"].as_array().unwrap();
    let factor: Vec<f64> = factor.iter().map(|factor| factor.as_f64().unwrap()).collect();
    assert_eq!(factor, [0.5, 0.25, 1.0, 1.0]);
    assert_eq!(doc["materials"][0]["doubleSided"], true);
    // Our importer reads it, and compiles the same geometry from it.
    p.run(&["convert", "back.glb"]).expect(0);
    let facts = |path: &str| p.run(&["info", "--json", path]).expect(0).json()["files"][0]["facts"].clone();
    let (before, after) = (facts("out/chair.hmesh"), facts("back.hmesh"));
    assert_eq!((&before["vertices"], &before["triangles"]), (&after["vertices"], &after["triangles"]));
}

#[test]
fn extracts_packs_with_safe_names() {
    let p = Project::new();
    p.write("assets/a.png", test_image(8, 8, 1)).write("assets/sub/b.png", test_image(8, 8, 2));
    p.run(&["--pack"]).expect(0);
    p.run(&["extract", "runtime.hpack"]).expect(0);
    assert_eq!(p.tree("runtime"), p.tree("runtime-extracted"));
    p.run(&["extract", "runtime.hpack"]).expect(0);
    p.write("runtime-extracted/a.ktx2", "changed");
    p.run(&["extract", "runtime.hpack"]).expect(2);
    p.run(&["extract", "runtime.hpack", "--overwrite", "-o", "runtime-extracted"]).expect(0);
    assert_eq!(p.tree("runtime"), p.tree("runtime-extracted"));
    // Names that are one file on many systems.
    let pack = kiln_format::hpack::write(&[("A.txt", &b"1"[..]), ("a.txt", &b"2"[..])]).unwrap();
    p.write("bad.hpack", pack);
    let ran = p.run(&["extract", "bad.hpack", "-o", "bad"]).expect(2);
    assert!(ran.stderr.contains("extract-name") && !p.exists("bad/A.txt"), "{ran:?}");
}

/// Returns the JSON chunk of a binary glTF.
fn glb_json(bytes: &[u8]) -> Value {
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    serde_json::from_slice(&bytes[20..20 + length]).unwrap()
}

#[test]
fn convert_writes_optimised_gltf() {
    let p = Project::new();
    p.write("chair.glb", textured().glb());
    p.run(&["convert", "chair.glb", "-o", "out/seat.glb"]).expect(0);
    let bytes = p.read("out/seat.glb");
    let json = glb_json(&bytes);
    assert_eq!(json["materials"][0]["name"], "paint");
    assert_eq!(json["images"][0]["mimeType"], "image/ktx2");
    assert!(json["extensionsRequired"].as_array().unwrap().contains(&json!("KHR_texture_basisu")), "{json}");
    // The texture is a KTX2 that an independent reader reads, with the transfer function of its slot.
    let view = &json["bufferViews"][json["images"][0]["bufferView"].as_u64().unwrap() as usize];
    let data = 28 + u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let start = data + view["byteOffset"].as_u64().unwrap_or(0) as usize;
    let texture = &bytes[start..][..view["byteLength"].as_u64().unwrap() as usize];
    let reader = ktx2::Reader::new(texture).unwrap();
    assert_eq!((reader.header().pixel_width, reader.header().level_count), (8, 4));
    // A .gltf has its buffer beside it, with the same content.
    p.run(&["convert", "chair.glb", "-o", "apart/seat.gltf"]).expect(0);
    let apart: Value = serde_json::from_slice(&p.read("apart/seat.gltf")).unwrap();
    assert_eq!(apart["buffers"][0]["uri"], "seat.bin");
    assert_eq!(p.read("apart/seat.bin"), &bytes[data..]);
    // Flags turn off each step.
    let off =
        ["--mesh-gltf-textures", "keep", "--mesh-gltf-compress", "none", "--mesh-gltf-quantize", "false"];
    let args: Vec<&str> = ["convert", "chair.glb", "-o", "plain.glb"].into_iter().chain(off).collect();
    p.run(&args).expect(0);
    let plain = glb_json(&p.read("plain.glb"));
    assert!(
        plain.get("extensionsUsed").is_none() && plain["images"][0]["mimeType"] == "image/png",
        "{plain}"
    );
    // A source is never replaced by accident.
    p.run(&["convert", "chair.glb", "-o", "chair.glb"]).expect(2);
    p.run(&["convert", "chair.glb", "--mesh-format", "gltf"]).expect(2);
    assert_eq!(p.read("chair.glb"), textured().glb());
    p.write("quad.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    p.run(&["convert", "quad.obj", "-o", "quad.glb"]).expect(0);
    assert_eq!(glb_json(&p.read("quad.glb"))["meshes"].as_array().unwrap().len(), 1);
}

#[test]
fn gltf_outputs_of_a_build_are_checked_packed_and_incremental() {
    let p = Project::new();
    let yml = "pack: true\ndefault: {rules: [{match: \"web/*\", mesh: {format: gltf}}]}\n";
    p.write("assetc.yml", yml).write("assets/web/chair.glb", textured().glb());
    p.write("assets/game/chair.glb", textured().glb());
    p.run(&[]).expect(0);
    assert!(p.exists("runtime/game/chair.hmesh") && !p.exists("runtime/game/chair.glb"));
    p.run(&["convert", "assets/web/chair.glb", "--root", "assets", "-o", "same.glb"]).expect(0);
    assert_eq!(p.read("runtime/web/chair.glb"), p.read("same.glb"));
    p.run(&["check"]).expect(0);
    p.run(&["check", "runtime.hpack"]).expect(0);
    let info = p.run(&["info", "--json", "runtime/web/chair.glb"]).expect(0).json();
    assert!(info.to_string().contains("json_bytes"), "{info}");
    let json = p.run(&["--json"]).expect(0).json();
    assert_eq!(json["built"], 0, "{json}");
    // Another format replaces the output of the one before.
    p.write("assetc.yml", "default: {mesh: {format: hmesh}}\n");
    p.run(&[]).expect(0);
    assert!(p.exists("runtime/web/chair.hmesh") && !p.exists("runtime/web/chair.glb"));
}
