//! The content of images: `texture.kind`, `suffixes`, `swizzle`, `flip_green`, `wrap` and `depth`.

use super::images::Png;
use super::read::{LINEAR, SRGB, Texture};
use super::{bumpy, rgba};
use crate::project::{Project, test_image};

const RAW: &str = "default: {texture: {compress: false";

#[test]
fn data_maps_that_are_compiled_as_colour_are_warned_about() {
    let p = Project::new();
    p.write("assets/wall_n.png", test_image(8, 8, 1))
        .write("assets/wall_ORM.png", test_image(8, 8, 2))
        .write("assets/rock.png", rgba(16, 16, &bumpy(16, 16)))
        .write("assets/plain.png", test_image(8, 8, 3));
    let codes = |p: &Project| {
        let json = p.run(&["--json"]).expect(0).json();
        let assets = json["assets"].as_array().unwrap().clone();
        let warned = assets.iter().filter(|asset| {
            asset["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "texture-role")
        });
        warned.map(|asset| asset["source"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&p), ["rock.png", "wall_ORM.png", "wall_n.png"]);
    assert_eq!(codes(&p), ["rock.png", "wall_ORM.png", "wall_n.png"], "repeated by a build without changes");
    assert_eq!(Texture::open(&p, "runtime/wall_n.ktx2").transfer, SRGB);

    p.write(
        "assetc.yml",
        "default:\n  texture: {suffixes: extended}\n  rules: [{match: rock.png, texture: {kind: normal}}]\n",
    );
    assert_eq!(codes(&p), [""; 0]);
    for name in ["wall_n", "wall_ORM", "rock"] {
        assert_eq!(Texture::open(&p, &format!("runtime/{name}.ktx2")).transfer, LINEAR, "{name}");
    }
    let explained = p.run(&["explain", "rock.png"]).expect(0).stdout;
    assert!(explained.contains("normal"), "{explained}");
    let kind = explained.lines().find(|line| line.contains("texture.kind")).unwrap();
    assert!(kind.contains("normal") && kind.contains("default.rules[0]"), "{kind}");

    p.write("assetc.yml", "default: {texture: {kind: color}}\n");
    assert_eq!(codes(&p), [""; 0]);
    assert_eq!(Texture::open(&p, "runtime/wall_n.ktx2").transfer, SRGB);
}

#[test]
fn channels_are_swizzled_and_green_is_flipped() {
    let p = Project::new();
    let texels: Vec<u8> = (0..16).flat_map(|i| [i, 100 + i, 200 + i, 255]).collect();
    p.write("assets/a.png", rgba(4, 4, &texels)).write("assets/a.n.png", rgba(4, 4, &texels));
    p.write("assets/l.array/0.png", rgba(4, 4, &texels));
    p.write("assetc.yml", format!("{RAW}, mips: false, swizzle: bgr0, flip_green: true}}}}\n"));
    p.run(&[]).expect(0);
    for name in ["a", "l.arr"] {
        let found = Texture::open(&p, &format!("runtime/{name}.ktx2")).levels[0].clone();
        assert_eq!(found[4..8], [201, 101, 1, 0], "{name}");
    }
    assert_eq!(Texture::open(&p, "runtime/a.n.ktx2").levels[0][4..8], [201, 255 - 101, 1, 0]);
}

/// A tiling texture whose origin is moved has the same mip levels, moved.
#[test]
fn repeated_textures_are_filtered_across_their_edges() {
    let shade = |x: u32, y: u32| ((x * 37 + y * 91) % 16 * 16) as u8;
    let tile = |by: u32| -> Vec<u8> {
        let texel = |i: u32| shade((i % 16 + by) % 16, (i / 16 + by) % 16);
        (0..256).flat_map(|i| [texel(i), texel(i), texel(i), 255]).collect()
    };
    let second_level = |wrap: &str, by: u32| {
        let p = Project::new();
        p.write("assets/a.r.png", rgba(16, 16, &tile(by)));
        p.write("assetc.yml", format!("{RAW}, wrap: {wrap}}}}}\n"));
        p.run(&[]).expect(0);
        Texture::open(&p, "runtime/a.r.ktx2").levels[1].clone()
    };
    let moved_apart = |wrap: &str| {
        let (here, there) = (second_level(wrap, 0), second_level(wrap, 8));
        let at = |x: usize, y: usize| (y % 8 * 8 + x % 8) * 4;
        let differences = (0..64).map(|i| here[at(i % 8 + 4, i / 8 + 4)].abs_diff(there[at(i % 8, i / 8)]));
        differences.max().unwrap()
    };
    assert!(moved_apart("repeat") <= 1);
    assert!(moved_apart("clamp") > 4);
    assert!(moved_apart("mirror") > 4);
}

fn deep(colour: u8, samples: Vec<u16>) -> Vec<u8> {
    Png { width: 4, height: 2, colour, depth: 16, interlaced: false, palette: vec![], trns: None, samples }
        .bytes()
}

#[test]
fn sixteen_bit_sources_keep_their_precision_on_request() {
    let p = Project::new();
    let heights: Vec<u16> = (0..8).map(|i| 1000 + 257 * i + 3).collect();
    let colours: Vec<u16> = (0..24).map(|i| 30_000 + 101 * i).collect();
    p.write("assets/a.h.png", deep(0, heights.clone()))
        .write("assets/a.n.png", deep(2, colours.clone()))
        .write("assets/orm.png", deep(2, colours.clone()))
        .write("assets/colour.png", deep(2, colours.clone()))
        .write("assets/eight.h.png", test_image(4, 2, 1));
    let warned = |config: &str| {
        p.write("assetc.yml", config);
        let json = p.run(&["--json"]).expect(0).json();
        let assets = json["assets"].as_array().unwrap().clone();
        let warned = assets.iter().filter(|asset| {
            asset["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == "texture-depth")
        });
        warned.map(|asset| asset["source"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let rules = "rules: [{match: orm.png, texture: {kind: linear}}]";
    assert_eq!(warned(""), ["a.h.png", "a.n.png", "colour.png", "orm.png"]);
    assert_eq!(
        warned(&format!("default: {{texture: {{depth: auto}}, {rules}}}\n")).len(),
        4,
        "blocks have 8 bits"
    );
    assert_eq!(warned(&format!("{RAW}, mips: false, depth: auto}}, {rules}}}\n")), ["colour.png"]);

    let open = |name: &str| Texture::open(&p, &format!("runtime/{name}.ktx2"));
    let values = |name: &str| -> Vec<u16> {
        open(name).levels[0].as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect()
    };
    assert_eq!((open("a.h").vk_format(), open("a.h").transfer), (70, LINEAR));
    assert_eq!(values("a.h"), heights);
    assert_eq!(open("a.n").vk_format(), 77);
    assert_eq!(values("a.n"), colours.chunks(3).flat_map(|t| [t[0], t[1]]).collect::<Vec<_>>());
    assert_eq!(open("orm").vk_format(), 91);
    assert_eq!(values("orm"), colours.chunks(3).flat_map(|t| [t[0], t[1], t[2], 65535]).collect::<Vec<_>>());
    assert_eq!((open("colour").vk_format(), open("eight.h").vk_format()), (43, 37));

    assert_eq!(warned(&format!("{RAW}, depth: 16}}, {rules}}}\n")), ["colour.png"]);
    assert_eq!(open("eight.h").vk_format(), 70);
    assert_eq!(open("a.h").size(), (4, 2, 3));
    p.run(&["--verify"]).expect(0);
}

#[test]
fn materials_follow_the_role_of_the_images() {
    let p = Project::new();
    p.write("assets/wall.png", test_image(8, 8, 1))
        .write("assets/brick.mat", "textures:\n  base_color: wall.png\n");
    let textures = |p: &Project| -> Vec<String> {
        p.run(&["check"]).expect(0);
        p.tree("runtime").into_keys().filter(|path| path.ends_with(".ktx2")).collect()
    };
    p.run(&[]).expect(0);
    assert_eq!(textures(&p), ["wall.ktx2"]);
    for config in [
        "exclude: wall.png\n",
        "default: {texture: {kind: linear}}\n",
        "default: {rules: [{match: wall.png, texture: {swizzle: bgra}}]}\n",
    ] {
        p.write("assetc.yml", config);
        p.run(&[]).expect(0);
        assert!(textures(&p).contains(&"brick/wall_color.ktx2".to_owned()), "{config}");
    }
    p.write("assetc.yml", "");
    p.run(&[]).expect(0);
    assert_eq!(textures(&p), ["wall.ktx2"]);
}
