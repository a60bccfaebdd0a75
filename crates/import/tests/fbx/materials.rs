//! Materials, and the images that are found, embedded, missing or out of bounds.

use crate::text::{SQUARE, Text, by_corner, materials, square};
use crate::{codes, good, import_with, near};
use kiln_ir::{AlphaMode, Material, Slot};

fn number(name: &str, value: f64) -> String {
    format!("P: \"{name}\", \"Number\", \"\", \"A\",{value}\n")
}

fn colour(name: &str, [r, g, b]: [f64; 3]) -> String {
    format!("P: \"{name}\", \"Color\", \"\", \"A\",{r},{g},{b}\n")
}

/// A square of a material with these properties; its number is 5.
fn painted(model: &str, props: &str) -> Text {
    let body = format!("Version: 102\nShadingModel: \"{model}\"\nProperties70:  {{\n{props}}}");
    square(&materials(&[0]), &[]).object("Material", 5, "paint", "", &body).link(5, 2)
}

fn material(model: &str, props: &str) -> Material {
    good(&painted(model, props).bytes()).value.materials[0].clone()
}

/// An image for a property of material 5.
fn with_image(text: Text, id: u32, property: &str, relative: &str, more: &str) -> Text {
    let body = format!(
        "Type: \"TextureVideoClip\"\nVersion: 202\nTextureName: \"Texture::t\"\n\
        FileName: \"C:\\secret\\{relative}\"\nRelativeFilename: \"{relative}\"\n{more}"
    );
    text.object("Texture", id, "t", "", &body).link_property(id, 5, property)
}

#[test]
fn converts_phong_and_lambert_materials() {
    let props = colour("DiffuseColor", [0.5, 0.25, 1.0])
        + &number("DiffuseFactor", 0.5)
        + &colour("EmissiveColor", [1.0, 0.0, 0.5])
        + &number("EmissiveFactor", 2.0)
        + &number("ShininessExponent", 30.0);
    let found = material("phong", &props);
    assert_eq!(
        (found.name.as_str(), found.alpha_mode, found.double_sided),
        ("paint", AlphaMode::Opaque, false)
    );
    near(&found.base_color_factor, &[0.25, 0.125, 0.5, 1.0], 1e-6);
    near(&found.emissive_factor, &[2.0, 0.0, 1.0], 1e-6);
    // The fourth root of 2 / 32.
    near(&[found.roughness_factor, found.metallic_factor], &[0.5, 0.0], 1e-6);
    let lambert = material("lambert", &colour("DiffuseColor", [0.1, 0.2, 0.3]));
    near(&lambert.base_color_factor, &[0.1, 0.2, 0.3, 1.0], 1e-6);
    near(&[lambert.roughness_factor, lambert.metallic_factor], &[1.0, 0.0], 0.0);
}

#[test]
fn transparent_materials_are_blended() {
    let alpha = |props: String| {
        let found = material("lambert", &props);
        (found.base_color_factor[3], found.alpha_mode)
    };
    assert_eq!(alpha(number("Opacity", 0.25)), (0.25, AlphaMode::Blend));
    let half = colour("TransparentColor", [1.0; 3]) + &number("TransparencyFactor", 0.5);
    assert_eq!(alpha(half), (0.5, AlphaMode::Blend));
    let clear = colour("TransparentColor", [0.0; 3]) + &number("TransparencyFactor", 1.0);
    assert_eq!(alpha(clear), (1.0, AlphaMode::Opaque));
    // Nobody makes a material to be unseen.
    let unseen = colour("TransparentColor", [1.0; 3]) + &number("TransparencyFactor", 1.0);
    assert_eq!(alpha(unseen), (1.0, AlphaMode::Opaque));
}

#[test]
fn faces_use_materials_of_the_drawing_node() {
    let faces: &[&[i32]] = &[&[0, 1, 2], &[0, 2, 3], &[0, 1, 3]];
    let paint = |text: Text, id: u32, name: &str| text.object("Material", id, name, "", "Version: 102");
    let mut text = Text::new().mesh(1, &SQUARE, faces, &materials(&[1, 0, 1]));
    text = paint(paint(paint(text, 5, "a"), 6, "b"), 7, "c");
    for (node, list) in [(2, [5, 6]), (3, [5, 6]), (4, [5, 7])] {
        text = text.node(node, "n", "Mesh", &[]).link(1, node).link(node, 0);
        text = list.into_iter().fold(text, |text, material| text.link(material, node));
    }
    let scene = good(&text.bytes()).value;
    let names: Vec<&str> = scene.materials.iter().map(|material| material.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(scene.meshes.len(), 2, "one for each list of materials");
    let parts = |mesh: usize| {
        let part = |p: &kiln_ir::Primitive| (p.material.unwrap().0, p.triangles());
        scene.meshes[mesh].primitives.iter().map(part).collect::<Vec<_>>()
    };
    assert_eq!((parts(0), parts(1)), (vec![(0, 1), (1, 2)], vec![(0, 1), (2, 2)]));
    let drawn: Vec<u32> = scene.draws().map(|draw| draw.mesh.0).collect();
    assert_eq!(drawn, [0, 0, 1]);
}

#[test]
fn finds_images_inside_the_project_only() {
    let props = colour("DiffuseColor", [0.5, 0.5, 0.5]);
    let look = |relative: &str, files: &[(&str, &[u8])]| {
        let text = with_image(painted("phong", &props), 8, "DiffuseColor", relative, "");
        let (found, mut reads) = import_with(&text.bytes(), files);
        let found = found.unwrap();
        reads.retain(|path| path != "models/m.fbx");
        let texture = found.value.materials[0].texture(Slot::BaseColor);
        let path = texture.map(|image| found.value.images[image.0 as usize].path.clone());
        let codes: Vec<String> = codes(&found).into_iter().map(str::to_owned).collect();
        (path, codes, reads)
    };
    let fine = |path: &str| (Some(path.to_owned()), vec![], vec![path.to_owned()]);
    assert_eq!(look("a.png", &[("models/a.png", b"1")]), fine("models/a.png"));
    assert_eq!(look(r"..\art\a.png", &[("art/a.png", b"1")]), fine("art/a.png"));
    assert_eq!(look(r"..\..\a.png", &[("models/a.png", b"1")]), fine("models/a.png"));
    assert_eq!(look("/etc/passwd", &[("models/textures/passwd", b"1")]), fine("models/textures/passwd"));
    assert_eq!(look(r"D:\work\a.png", &[("models/a.png", b"1")]), fine("models/a.png"));
    let missing = (None, vec!["fbx-texture".to_owned()], vec![]);
    for relative in
        ["a.png", "/etc/passwd", r"C:\windows\a.png", "../../../../etc/passwd", r"\\host\share\a.png"]
    {
        assert_eq!(look(relative, &[("a.png", b"1"), ("etc/passwd", b"1")]), missing, "{relative}");
    }
}

#[test]
fn image_replaces_colour_and_is_read_once() {
    let props = colour("DiffuseColor", [0.5, 0.25, 0.125]) + &number("DiffuseFactor", 0.5);
    let mut text = with_image(painted("phong", &props), 8, "DiffuseColor", "a.png", "");
    text = with_image(text, 9, "EmissiveColor", "a.png", "");
    text = with_image(text, 10, "Bump", "n.png", "");
    text = with_image(text, 11, "SpecularColor", "s.png", "");
    let files: [(&str, &[u8]); 3] = [("models/a.png", b"a"), ("models/n.png", b"n"), ("models/s.png", b"s")];
    let (found, reads) = import_with(&text.bytes(), &files);
    let found = found.unwrap();
    let made = &found.value.materials[0];
    near(&made.base_color_factor, &[0.5, 0.5, 0.5, 1.0], 1e-6);
    assert_eq!(made.texture(Slot::Emissive), made.texture(Slot::BaseColor));
    assert_eq!(found.value.images.iter().map(|i| &*i.bytes).collect::<Vec<_>>(), [b"a", b"n"]);
    assert_eq!(reads, ["models/m.fbx", "models/a.png", "models/n.png"]);
    assert_eq!(
        (codes(&found), made.unsupported.clone()),
        (vec!["fbx-material"], vec!["SpecularColor".to_owned()])
    );
    // What is not drawn is not looked for.
    let text = text.text().replace("C: \"OO\",5,2", "");
    let (found, reads) = import_with(text.as_bytes(), &files);
    assert_eq!((found.unwrap().value.images.len(), reads.len()), (0, 1));
}

#[test]
fn reads_embedded_images() {
    let text = with_image(painted("phong", ""), 8, "DiffuseColor", "a.PNG", "")
        .object(
            "Video",
            9,
            "v",
            "Clip",
            "Type: \"Clip\"\nFileName: \"C:\\a.PNG\"\nRelativeFilename: \"a.PNG\"\nContent: ,\n\"UE5HIQ==\"",
        )
        .link(9, 8);
    let (found, reads) = import_with(&text.bytes(), &[("models/a.PNG", b"another")]);
    let image = found.unwrap().value.images[0].clone();
    assert_eq!((image.name.as_str(), image.extension.as_str(), image.path.as_str()), ("a", "png", ""));
    assert_eq!((image.bytes.as_slice(), reads), (b"PNG!".as_slice(), vec!["models/m.fbx".to_owned()]));
}

#[test]
fn textures_select_their_uv_set() {
    let first = by_corner("LayerElementUV", "UV", "one", &[0.25; 8]);
    let second = by_corner("LayerElementUV", "UV", "two", &[0.5; 8]).replace("UV: 0", "UV: 1");
    let more = "Properties70:  {\nP: \"UVSet\", \"KString\", \"\", \"\", \"two\"\n}";
    let mut text = painted("phong", "").text();
    text = text.replace("GeometryVersion: 124\n", &format!("GeometryVersion: 124\n{first}\n{second}\n"));
    let named = with_image(painted("phong", ""), 8, "DiffuseColor", "a.png", more).text();
    let objects = &named[named.find("\tTexture:").unwrap()..named.find("Connections:").unwrap()];
    let links = &named[named.find("Connections:").unwrap()..];
    let end = text.find("}\nConnections:").unwrap();
    let whole = format!("{}{objects}{links}", &text[..end]);
    let (found, _) = import_with(whole.as_bytes(), &[("models/a.png", b"1")]);
    let found = found.unwrap().value;
    let part = &found.meshes[0].primitives[0];
    assert_eq!((part.uv0[0], part.uv1[0]), ([0.5, 0.5], [0.25, 0.75]));
}
