//! Channel packing: texture descriptions in `*.tex` and in the slots of `*.mat`.

use super::images::Png;
use super::read::{LINEAR, SRGB, Texture};
use super::rgba;
use crate::json_schema;
use crate::project::{Project, png};
use std::collections::BTreeMap;

const RAW: &str = "default: {texture: {compress: false, mips: false, depth: auto}}\n";

/// A grey image of one value.
fn grey(side: u32, value: u8) -> Vec<u8> {
    png(side, side, png::ColorType::Grayscale, &vec![value; (side * side) as usize])
}

/// A 16-bit grey image of one value.
fn deep(value: u16) -> Vec<u8> {
    let samples = vec![value; 16];
    Png { width: 4, height: 4, colour: 0, depth: 16, interlaced: false, palette: vec![], trns: None, samples }
        .bytes()
}

/// A project with the images of an ORM map.
fn project() -> Project {
    let p = Project::new();
    p.write("assets/t/ao.png", grey(4, 10))
        .write("assets/t/rough.png", grey(4, 20))
        .write("assets/t/metal.png", grey(4, 30))
        .write("assetc.yml", RAW);
    p
}

fn first_texel(p: &Project, path: &str) -> [u8; 4] {
    Texture::open(p, path).levels[0][..4].try_into().unwrap()
}

/// Builds and returns the state of each source.
fn states(p: &Project) -> BTreeMap<String, String> {
    let json = p.run(&["--json"]).expect(0).json();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    json["assets"].as_array().unwrap().iter().map(|a| (text(&a["source"]), text(&a["state"]))).collect()
}

/// Builds and returns the sources that were compiled.
fn built(p: &Project) -> Vec<String> {
    states(p).into_iter().filter(|(_, state)| state == "built").map(|(source, _)| source).collect()
}

#[test]
fn description_packs_channels_of_several_images() {
    let p = project();
    p.write("assets/colour.png", rgba(4, 4, &[1, 2, 3, 4].repeat(16)))
        .write("assets/orm.tex", "r: t/ao.png\ng: t/rough.png\nb: /t/metal.png\n")
        .write("assets/options.tex", "r: {image: t/ao.png, invert: true}\ng: {image: colour.png, channel: b}\nb: 0.5\na: {image: colour.png, channel: a}\n")
        .write("assets/masked.tex", "kind: color\nrgb: colour.png\na: t/metal.png\n")
        .write("assets/height.tex", "kind: grayscale\nr: t/ao.png\n");
    let json = p.run(&["--json"]).expect(0).json();
    assert_eq!(json["skipped"].as_array().unwrap().len(), 0, "{json}");
    assert_eq!(first_texel(&p, "runtime/orm.ktx2"), [10, 20, 30, 255]);
    assert_eq!(first_texel(&p, "runtime/options.ktx2"), [245, 3, 128, 4]);
    assert_eq!(first_texel(&p, "runtime/masked.ktx2"), [1, 2, 3, 30]);
    assert_eq!(first_texel(&p, "runtime/height.ktx2")[0], 10);
    assert_eq!(Texture::open(&p, "runtime/orm.ktx2").transfer, LINEAR);
    assert_eq!(Texture::open(&p, "runtime/masked.ktx2").transfer, SRGB);
    p.run(&["--verify"]).expect(0);

    let explained = p.run(&["explain", "orm.tex"]).expect(0).stdout;
    for expected in ["packed-texture", "orm.ktx2", "t/ao.png", "t/metal.png", "t/rough.png"] {
        assert!(explained.contains(expected), "{expected}: {explained}");
    }
    let info = p.run(&["info", "runtime/orm.ktx2"]).expect(0).stdout;
    assert!(info.contains("4x4 | 2D | R8G8B8A8_UNORM"), "{info}");
    // Compressed, and read back through `extract`.
    p.write("assetc.yml", "").run(&[]).expect(0);
    p.run(&["extract", "runtime/orm.ktx2", "-o", "orm.png"]).expect(0);
    let mut reader = png::Decoder::new(std::io::Cursor::new(p.read("orm.png"))).read_info().unwrap();
    let mut texels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut texels).unwrap();
    assert_eq!(texels[..4], [10, 20, 30, 255]);
    p.run(&["convert", "assets/orm.tex", "-o", "one.ktx2"]).expect(0);
    assert_eq!(p.read("one.ktx2"), p.read("runtime/orm.ktx2"));
}

#[test]
fn sixteen_bit_images_keep_their_precision() {
    let p = project();
    p.write("assets/h.png", deep(1000))
        .write("assets/a.tex", "r: h.png\ng: {image: h.png, invert: true}\nb: t/ao.png\na: 0.5\n");
    p.run(&[]).expect(0);
    let texture = Texture::open(&p, "runtime/a.ktx2");
    assert_eq!(texture.vk_format(), 91, "R16G16B16A16_UNORM");
    let texel: Vec<u16> =
        texture.levels[0][..8].as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    assert_eq!(texel, [1000, 64535, 10 * 257, 32768]);
    p.write("assetc.yml", "");
    let stderr = p.run(&[]).expect(0).stderr;
    assert!(stderr.contains("warning[texture-depth]: a.tex: "), "{stderr}");
}

#[test]
fn changes_rebuild_the_textures_concerned() {
    let p = project();
    p.write("assets/orm.tex", "r: t/ao.png\ng: t/rough.png\nb: t/metal.png\n")
        .write("assets/other.tex", "r: t/metal.png\n")
        .write("assets/a.mat", "textures: {orm: {r: t/ao.png, g: t/rough.png, b: 0}}\n")
        .write("assets/b.mat", "textures: {orm: other.tex}\n");
    assert_eq!(states(&p).len(), 7);
    assert_eq!(built(&p), [""; 0]);
    p.write("assets/t/ao.png", grey(4, 11));
    assert_eq!(built(&p), ["a.mat", "orm.tex", "t/ao.png"]);
    assert_eq!(first_texel(&p, "runtime/orm.ktx2"), [11, 20, 30, 255]);
    assert_eq!(first_texel(&p, "runtime/a/orm_linear.ktx2"), [11, 20, 0, 255]);
    p.write("assets/other.tex", "r: t/metal.png\ng: 1\n");
    assert_eq!(built(&p), ["b.mat", "other.tex"]);
    assert_eq!(first_texel(&p, "runtime/other.ktx2"), [30, 255, 0, 255]);
    p.write("assets/a.mat", "textures: {orm: {r: t/ao.png, g: t/rough.png, b: 1}}\n");
    assert_eq!(built(&p), ["a.mat"]);
    assert_eq!(first_texel(&p, "runtime/a/orm_linear.ktx2"), [11, 20, 255, 255]);
    // An image that appears where one was missing.
    p.write("assets/late.tex", "r: t/late.png\n");
    p.run(&[]).expect(1);
    p.write("assets/t/late.png", grey(4, 9));
    assert_eq!(built(&p), ["late.tex", "t/late.png"]);
    p.remove("assets/orm.tex");
    assert_eq!(built(&p), [""; 0]);
    assert!(!p.exists("runtime/orm.ktx2"));
}

#[test]
fn materials_pack_channels_and_share_equal_textures() {
    let p = project();
    p.write("assets/c/ao.png", grey(4, 77)).write("assets/shared.tex", "r: t/ao.png\n").write(
        "assets/m.mat",
        "materials:\n- textures: {orm: {r: t/ao.png, g: t/rough.png, b: t/metal.png}}\n\
         - textures: {metallic_roughness: {r: ./t/ao.png, g: t/rough.png, b: t/metal.png}, occlusion: shared.tex}\n\
         - textures: {orm: {r: c/ao.png}, base_color: {rgb: t/ao.png, a: 0.5}}\n\
         - textures: {metallic_roughness: t/ao.png, occlusion: c/ao.png}\n",
    );
    p.run(&[]).expect(0);
    p.run(&["check"]).expect(0);
    let textures: Vec<String> =
        p.tree("runtime/m").into_keys().filter(|path| path.ends_with(".ktx2")).collect();
    let expected = [
        "ao_2_linear.ktx2",
        "ao_linear.ktx2",
        "base_color_color.ktx2",
        "orm_2_linear.ktx2",
        "orm_linear.ktx2",
    ];
    assert_eq!(textures, expected);
    assert_eq!(first_texel(&p, "runtime/m/orm_linear.ktx2"), [10, 20, 30, 255]);
    assert_eq!(first_texel(&p, "runtime/m/orm_2_linear.ktx2"), [77, 0, 0, 255]);
    assert_eq!(first_texel(&p, "runtime/m/base_color_color.ktx2"), [10, 10, 10, 128]);
    assert_eq!(first_texel(&p, "runtime/m/ao_2_linear.ktx2")[0], 77);
    let facts = p.run(&["info", "--json", "runtime/assets.hman"]).expect(0).stdout;
    assert!(facts.contains("\"entries\":6") || facts.contains("\"entries\": 6"), "{facts}");
    // An excluded description is still read, and its texture belongs to the material.
    p.write("assetc.yml", format!("exclude: shared.tex\n{RAW}")).run(&[]).expect(0);
    assert!(p.exists("runtime/m/shared_linear.ktx2") && !p.exists("runtime/shared.ktx2"));
    p.run(&["check"]).expect(0);
}

#[test]
fn smaller_images_are_resized_with_a_warning() {
    let p = project();
    let step = png(2, 2, png::ColorType::Grayscale, &[0, 100, 0, 100]);
    p.write("assets/small.png", step).write("assets/a.tex", "r: small.png\ng: t/rough.png\n");
    let stderr = p.run(&[]).expect(0).stderr;
    let expected = "warning[channel-resized]: small.png: the image is 2x2 and is resized to 4x4, the size of t/rough.png";
    assert!(stderr.contains(expected), "{stderr}");
    let texture = Texture::open(&p, "runtime/a.ktx2");
    assert_eq!(texture.size(), (4, 4, 1));
    let red: Vec<u8> = texture.levels[0].chunks(4).take(4).map(|texel| texel[0]).collect();
    assert_eq!(red, [0, 25, 75, 100]);
    p.write("assets/colour.png", rgba(4, 4, &[200, 20, 3, 255].repeat(16)));
    p.write("assets/b.tex", "r: colour.png\n");
    let stderr = p.run(&[]).expect(0).stderr;
    assert!(stderr.contains("warning[channel-ambiguous]: colour.png: "), "{stderr}");
    p.write("assets/b.tex", "r: {image: colour.png, channel: g}\n");
    assert!(!p.run(&[]).expect(0).stderr.contains("channel-ambiguous"));
    assert_eq!(first_texel(&p, "runtime/b.ktx2")[0], 20);
}

#[test]
fn errors_name_file_place_value_and_fix() {
    let p = project();
    p.write("assets/wide.png", png(4, 2, png::ColorType::Grayscale, &[0; 8]));
    p.write("assets/broken.png", b"\x89PNG\r\n\x1a\nxx");
    for (text, expected) in [
        (
            "r: t/none.png\n",
            "error[channel-image]: x.tex:1:4: cannot read the image t/none.png: the file does not exist",
        ),
        (
            "r: ../../out.png\n",
            "error[channel-image]: x.tex:1:4: '../../out.png' is not a path inside the source tree",
        ),
        (
            "r: {image: t/ao.png, channel: q}\n",
            "error[channel-value]: x.tex:1:31: channel is 'q'; accepted: `r`, `g`, `b`, `a`",
        ),
        (
            "r: t/ao.png\ng: 2\n",
            "error[channel-value]: x.tex:2:4: g is '2'; accepted: the path of an image, a number from 0 to 1",
        ),
        (
            "r: t/ao.png\nalpha: 1\n",
            "error[channel-key]: x.tex:2:1: unknown key 'alpha'\n  hint: known here: r, g, b, a, rgb, kind",
        ),
        ("r: 0.5\n", "error[channel-value]: x.tex:1:1: the texture description has no image"),
        (
            "r: t/ao.png\ng: wide.png\n",
            "error[channel-size]: x.tex: the images have different aspect ratios: wide.png is 4x2, and t/ao.png is 4x4",
        ),
        ("r: broken.png\n", "error[image-"),
        ("r: [\n", "error[tex-syntax]: x.tex:2:1: "),
    ] {
        p.write("assets/x.tex", text);
        let ran = p.run(&[]).expect(1);
        assert!(ran.stderr.contains(expected), "{expected}\n{}", ran.stderr);
        assert!(p.exists("runtime/t/ao.ktx2"), "the others are compiled");
    }
    p.remove("assets/x.tex").remove("assets/broken.png");
    p.write("assets/y.mat", "textures:\n  orm: {r: t/none.png}\n");
    let stderr = p.run(&[]).expect(1).stderr;
    assert!(
        stderr.contains("error[channel-image]: y.mat:2:12: cannot read the image t/none.png"),
        "{stderr}"
    );
}

#[test]
fn output_does_not_depend_on_threads_and_cache() {
    let p = project();
    p.write("assets/a.tex", "r: t/ao.png\ng: {image: t/rough.png, invert: true}\n")
        .write("assets/b.mat", "textures: {orm: {r: t/ao.png, g: {image: t/rough.png, invert: true}}}\n")
        .write("assetc.yml", "");
    p.run(&["-j1", "-o", "one"]).expect(0);
    p.run(&["-j8", "-o", "many"]).expect(0);
    assert_eq!(p.tree("one"), p.tree("many"));
    assert_eq!(p.read("one/a.ktx2"), p.read("one/b/orm_linear.ktx2"));
    let cached = |out: &str| {
        let mut command = p.command(&["--json", "-o", out]);
        let output = command
            .env("KILN_CACHE", "on")
            .env("KILN_CACHE_DIR", p.path("cache"))
            .env_remove("CI")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        json["built"].as_u64().unwrap()
    };
    assert_eq!((cached("first"), cached("second")), (5, 0));
    assert_eq!(p.tree("one"), p.tree("second"));
}

#[test]
fn schema_of_descriptions_is_printed_and_accepts_what_the_parser_accepts() {
    let p = Project::new();
    let schema = p.run(&["schema", "tex"]).expect(0).json();
    json_schema::assert_valid(&schema, &serde_json::json!({"kind": "color", "rgb": "a.png", "a": 0.5}));
    json_schema::assert_valid(
        &schema,
        &serde_json::json!({"r": {"image": "a.png", "channel": "g", "invert": true}}),
    );
}
