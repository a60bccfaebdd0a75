//! MTL libraries: conversion of their keys, and the files that are read for them.

use crate::{import_with, warnings};
use kiln_import::Imported;
use kiln_ir::{AlphaMode, Material, Scene, Slot, Valid};

const FACE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n";

fn with(library: &str, files: &[(&str, &str)]) -> Imported<Valid<Scene>> {
    let text = format!("mtllib m.mtl\nusemtl a\n{FACE}");
    let library = format!("newmtl a\n{library}");
    let files: Vec<(&str, &str)> =
        [("models/m.mtl", library.as_str())].iter().chain(files).copied().collect();
    import_with(text.as_bytes(), &files).0.unwrap_or_else(|error| panic!("{error}"))
}

fn material(library: &str) -> Material {
    let images = ["a", "b", "c", "d", "e"].map(|name| format!("models/{name}.png"));
    let images: Vec<(&str, &str)> = images.iter().map(|path| (path.as_str(), "image")).collect();
    with(library, &images).value.materials[0].clone()
}

/// The paths of the images of a material, by slot.
fn paths(found: &Imported<Valid<Scene>>) -> [Option<String>; 5] {
    let path = |slot| {
        let image = found.value.materials[0].texture(slot)?;
        Some(found.value.images[image.0 as usize].path.clone())
    };
    Slot::ALL.map(path)
}

#[test]
fn factors() {
    let plain = material("");
    assert_eq!((plain.name.as_str(), plain.base_color_factor), ("a", [1.0; 4]));
    assert_eq!((plain.metallic_factor, plain.roughness_factor), (0.0, 1.0));
    assert_eq!((plain.alpha_mode, plain.emissive_factor), (AlphaMode::Opaque, [0.0; 3]));
    let full = material("Kd 0.1 0.2 0.3\nd 0.5\nKe 4 5 6\nPr 0.25\nPm 0.75\nNs 900");
    assert_eq!(full.base_color_factor, [0.1, 0.2, 0.3, 0.5]);
    assert_eq!((full.alpha_mode, full.emissive_factor), (AlphaMode::Blend, [4.0, 5.0, 6.0]));
    assert_eq!((full.metallic_factor, full.roughness_factor), (0.75, 0.25));
    assert_eq!(material("Tr 0.25").base_color_factor[3], 0.75);
    assert_eq!(material("Kd 0 0 0").base_color_factor, [0.0, 0.0, 0.0, 1.0]);
}

/// A Blinn-Phong exponent n is as rough as Beckmann's alpha = sqrt(2 / (n + 2)) (Walter et al. 2007), and roughness is
/// the square root of alpha (glTF 2.0, B.2).
#[test]
fn exponents_are_roughness() {
    for (exponent, roughness) in [("0", 1.0), ("30", 0.5), ("510", 0.25), ("8190", 0.125)] {
        let found = material(&format!("Ns {exponent}")).roughness_factor;
        assert!((found - roughness).abs() < 1e-6, "{exponent}: {found}");
        assert_eq!(material(&format!("illum 1\nNs {exponent}")).roughness_factor, 1.0);
    }
    assert_eq!(material("Ns -5").roughness_factor, 1.0);
}

#[test]
fn textures_go_to_their_slots() {
    let images = ["a", "b", "c", "d", "e"].map(|name| format!("models/{name}.png"));
    let images: Vec<(&str, &str)> = images.iter().map(|path| (path.as_str(), "image")).collect();
    let found = with(
        "Kd 0 0 0\nKe 0 0 0\nmap_Ke e.png\nmap_ORM d.png\nmap_Bump c.png\nnorm -bm 0.5 b.png\nmap_Kd a.png\n",
        &images,
    );
    assert_eq!(found.warnings, []);
    let path = |name: &str| Some(format!("models/{name}.png"));
    assert_eq!(paths(&found), [path("a"), path("d"), path("b"), path("d"), path("e")]);
    // Numbered in the order of use, by slot.
    let order: Vec<&str> = found.value.images.iter().map(|image| image.path.as_str()).collect();
    assert_eq!(order, ["models/a.png", "models/d.png", "models/b.png", "models/e.png"]);
    assert!(found.value.images.iter().all(|image| image.extension == "png" && image.bytes == b"image"));
    let material = &found.value.materials[0];
    assert_eq!((material.base_color_factor, material.emissive_factor), ([1.0; 4], [1.0; 3]));
    assert_eq!((material.metallic_factor, material.roughness_factor), (1.0, 1.0));
    assert_eq!((material.normal_scale, material.occlusion_strength), (0.5, 1.0));
    // Without a normal map, a bump map is one.
    assert_eq!(paths(&with("bump -bm 2 c.png", &images))[Slot::Normal as usize], path("c"));
    // Opacity in the image of the colour is its alpha.
    let cutout = crate::materials::material("map_Kd a.png\nmap_d a.png");
    assert_eq!((cutout.alpha_mode, cutout.unsupported.len()), (AlphaMode::Blend, 0));
}

#[test]
fn roughness_and_metalness_need_one_image() {
    let both = material("map_Pr a.png\nmap_Pm a.png");
    assert!(both.texture(Slot::MetallicRoughness).is_some() && both.unsupported.is_empty());
    assert_eq!((both.metallic_factor, both.roughness_factor), (1.0, 1.0));
    let rough = material("map_Pr a.png\nPr 0.5");
    assert!(rough.texture(Slot::MetallicRoughness).is_some() && rough.unsupported.is_empty());
    assert_eq!((rough.metallic_factor, rough.roughness_factor), (0.0, 0.5));
    let apart = material("map_Pr a.png\nmap_Pm b.png\nPr 0.5\nPm 1");
    assert_eq!(apart.texture(Slot::MetallicRoughness), None);
    assert_eq!(apart.unsupported, ["map_Pr", "map_Pm"]);
    assert_eq!((apart.metallic_factor, apart.roughness_factor), (1.0, 0.5));
    assert_eq!(material("map_Pr a.png\nPm 1").unsupported, ["map_Pr"]);
    assert_eq!(material("map_Pm a.png").unsupported, ["map_Pm"]);
}

#[test]
fn what_is_not_kept_is_said_once_for_each_material() {
    let found = with(
        "map_Ks s.png\nKs 1 0 0\nmap_Ns n.png\nmap_d other.png\nmap_Kd -s 2 2 2 a.png\nPc 1\nmap_RMA r.png",
        &[("models/a.png", "image")],
    );
    assert_eq!(warnings(&found), [("obj-material", "line 1")]);
    assert_eq!(found.warnings[0].path.as_deref(), Some("models/m.mtl"));
    let unsupported = &found.value.materials[0].unsupported;
    for key in ["map_Ks", "Ks", "map_Ns", "map_d", "map_Kd -s", "Pc", "map_RMA"] {
        assert!(unsupported.iter().any(|found| found == key), "{key} in {unsupported:?}");
    }
    // What every exporter writes is not worth a word.
    let usual = "Ns 250\nKa 1 1 1\nKs 0.5 0.5 0.5\nKe 0 0 0\nNi 1.45\nd 1\nillum 2\nTf 1 1 1\nPs 0\naniso 0";
    assert!(with(usual, &[]).warnings.is_empty());
}

#[test]
fn only_what_is_used_is_read_and_all_of_it_is_recorded() {
    let library = "newmtl other\nmap_Kd other.png\nnewmtl a\nmap_Kd ..\\tex\\a b.png\nmap_Ke missing.png";
    let files = [
        ("lib/m.mtl", library),
        ("tex/a b.png", "image"),
        ("lib/other.png", "image"),
        ("models/m.mtl", "newmtl a\nKd 0 0 0"),
    ];
    let text = format!("mtllib ../lib/m.mtl\nusemtl a\n{FACE}");
    let (found, reads) = import_with(text.as_bytes(), &files);
    let found = found.unwrap();
    assert_eq!(reads, ["models/m.obj", "lib/m.mtl", "tex/a b.png"]);
    assert_eq!(found.value.images.len(), 1);
    assert_eq!(warnings(&found), [("obj-texture", "line 5")]);
    assert!(found.warnings[0].message.contains("lib/missing.png"), "{}", found.warnings[0]);
    // An image that is not there does not make things glow.
    assert_eq!(found.value.materials[1].emissive_factor, [0.0; 3]);
    let names: Vec<&str> = found.value.materials.iter().map(|material| material.name.as_str()).collect();
    assert_eq!(names, ["other", "a"]);
    assert_eq!(found.value.meshes[0].primitives[0].material.unwrap().0, 1);
}

#[test]
fn several_libraries_and_names_with_blanks() {
    let files = [
        ("models/a.mtl", "newmtl a\nKd 1 0 0"),
        ("models/b.mtl", "newmtl b\n"),
        ("models/a b.mtl", "newmtl a\n"),
    ];
    let read = |line: &str, files: &[(&str, &str)]| {
        let (found, reads) = import_with(format!("{line}\nusemtl a\n{FACE}").as_bytes(), files);
        let found = found.unwrap();
        let codes: Vec<String> = found.warnings.iter().map(|warning| warning.code.to_string()).collect();
        (reads[1..].to_vec(), codes)
    };
    assert_eq!(read("mtllib a b.mtl", &files).0, ["models/a b.mtl"]);
    assert_eq!(read("mtllib a.mtl b.mtl", &files).0, ["models/a.mtl", "models/b.mtl"]);
    assert_eq!(read("mtllib a.mtl\nmtllib ./b.mtl", &files).0, ["models/a.mtl", "models/b.mtl"]);
    assert_eq!(
        read("mtllib a.mtl c.mtl", &files),
        (vec!["models/a.mtl".to_owned()], vec!["obj-library".to_owned()])
    );
    // Missing: one warning for the cause, none for what follows from it.
    assert_eq!(read("mtllib my c.mtl", &[]).1, ["obj-library"]);
}

#[test]
fn nothing_outside_the_project_is_looked_for() {
    for name in ["../../x", "/etc/passwd", "C:\\x", "..\\..\\x", "\\\\server\\x", "file:///x", "a/../../../x"]
    {
        let library = format!("newmtl a\nmap_Kd {name}\nbump -bm 1 {name}");
        let text = format!("mtllib {name}\nmtllib m.mtl\nusemtl a\n{FACE}");
        let (found, reads) = import_with(text.as_bytes(), &[("models/m.mtl", library.as_str()), ("x", "x")]);
        let found = found.unwrap();
        assert_eq!(reads, ["models/m.obj", "models/m.mtl"], "{name}");
        assert_eq!(
            warnings(&found),
            [("obj-library", "line 1"), ("obj-texture", "line 2"), ("obj-texture", "line 3")],
            "{name}"
        );
    }
}

#[test]
fn content_that_git_did_not_fetch_is_an_error() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
    let error = import_with(pointer.as_bytes(), &[]).0.unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.path.as_deref().unwrap_or_default()),
        ("lfs-pointer", "models/m.obj")
    );
    let text = format!("mtllib m.mtl\nusemtl a\n{FACE}");
    let error = import_with(text.as_bytes(), &[("models/m.mtl", pointer)]).0.unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.path.as_deref().unwrap_or_default()),
        ("lfs-pointer", "models/m.mtl")
    );
    let files = [("models/m.mtl", "newmtl a\nmap_Kd a.png"), ("models/a.png", pointer)];
    let error = import_with(text.as_bytes(), &files).0.unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.path.as_deref().unwrap_or_default()),
        ("lfs-pointer", "models/a.png")
    );
    let error = import_with(text.as_bytes(), &[("models/m.mtl", "newmtl a\nKd x")]).0.unwrap_err();
    assert_eq!(
        (
            error.code.as_str(),
            error.path.as_deref().unwrap_or_default(),
            error.at.as_deref().unwrap_or_default()
        ),
        ("obj-syntax", "models/m.mtl", "line 2")
    );
}
