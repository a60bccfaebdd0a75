//! `texture.standalone`: images of models that are compiled on their own, too, or left out.

use crate::project::{Project, test_image};

const UNREFERENCED: &str = "default: {texture: {standalone: unreferenced, mips: false}}\n";

/// Writes a triangle whose material has this image as colour.
fn model(p: &Project, name: &str, image: &str) {
    let corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n";
    p.write(&format!("assets/{name}.obj"), format!("mtllib {name}.mtl\n{corners}usemtl m\nf 1/1 2/2 3/3\n"));
    p.write(&format!("assets/{name}.mtl"), format!("newmtl m\nmap_Kd {image}\n"));
}

fn textured() -> Project {
    let p = Project::new();
    p.write("assets/wood.png", test_image(8, 8, 1)).write("assets/ui.png", test_image(8, 8, 2));
    model(&p, "crate", "wood.png");
    p
}

fn outputs(p: &Project) -> Vec<String> {
    p.tree("runtime").into_keys().filter(|path| path.ends_with(".ktx2")).collect()
}

#[test]
fn default_compiles_images_of_models_and_states_their_size() {
    let p = textured();
    let ran = p.run(&[]).expect(0);
    assert_eq!(outputs(&p), ["crate/tex_0.ktx2", "ui.ktx2", "wood.ktx2"]);
    let line = "; 1 image of models or materials shipped twice: ";
    assert!(ran.stdout.contains(line) && ran.stdout.contains("(texture.standalone)"), "{ran:?}");
    // A build that compiles nothing does not repeat it, except in verbose output.
    assert!(!p.run(&[]).expect(0).stdout.contains("shipped twice"));
    assert!(p.run(&["-v"]).expect(0).stdout.contains(line));
    let json = p.run(&["--json"]).expect(0).json();
    assert_eq!(json["duplicates"]["images"], 1);
    assert_eq!(json["duplicates"]["bytes"], p.read("runtime/wood.ktx2").len() as u64);
    assert_eq!(json["contained"], serde_json::json!([]));
}

#[test]
fn unreferenced_follows_the_references_of_models() {
    let p = textured();
    p.write("assetc.yml", UNREFERENCED);
    let ran = p.run(&["-v"]).expect(0);
    assert_eq!(outputs(&p), ["crate/tex_0.ktx2", "ui.ktx2"]);
    assert!(
        ran.stderr.contains("not standalone: wood.png\n") && !ran.stdout.contains("shipped twice"),
        "{ran:?}"
    );
    assert_eq!(p.build(), (0, 2), "a second build is up to date");
    p.run(&["check"]).expect(0);
    let json = p.run(&["--json"]).expect(0).json();
    assert_eq!(json["contained"], serde_json::json!(["wood.png"]));
    let ran = p.run(&["explain", "wood.png"]).expect(2);
    assert!(ran.stderr.contains("the image is a part of crate.obj, and not compiled on its own"), "{ran:?}");

    // The model stops referring to one image and starts referring to the other.
    model(&p, "crate", "ui.png");
    p.run(&[]).expect(0);
    assert_eq!(outputs(&p), ["crate/tex_0.ktx2", "wood.ktx2"]);
    assert_eq!(p.build(), (0, 2));
    let dry = p.run(&["--dry-run", "--json"]).expect(0).json();
    assert_eq!((&dry["build"], &dry["remove"]), (&serde_json::json!([]), &serde_json::json!([])), "{dry}");

    // A second model, a broken model and a deleted model.
    model(&p, "box", "wood.png");
    p.run(&[]).expect(0);
    assert_eq!(outputs(&p), ["box/tex_0.ktx2", "crate/tex_0.ktx2"]);
    p.write("assets/box.obj", "f 1 2 3\n");
    p.run(&[]).expect(1);
    assert_eq!(outputs(&p), ["box/tex_0.ktx2", "crate/tex_0.ktx2"], "a failed model keeps its references");
    p.remove("assets/box.obj").run(&[]).expect(0);
    assert_eq!(outputs(&p), ["crate/tex_0.ktx2", "wood.ktx2"]);

    // Changing the setting rebuilds no other source, and the result is that of a clean build.
    p.write("assetc.yml", "default: {texture: {standalone: all, mips: false}}\n");
    assert_eq!(p.build(), (1, 2));
    p.write("assetc.yml", UNREFERENCED).run(&["-q", "--pack", "--verify"]).expect(0);
    let incremental = p.tree("runtime");
    p.run(&["-q", "--no-cache", "-o", "clean", "--pack"]).expect(0);
    assert!(p.tree("clean") == incremental);
    p.run(&["check", "runtime.hpack"]).expect(0);
}

#[test]
fn images_of_texture_descriptions_are_not_images_of_models() {
    let p = Project::new();
    p.write("assets/ao.png", test_image(8, 8, 1)).write("assets/rough.png", test_image(8, 8, 2));
    p.write("assets/rock.tex", "r: ao.png\ng: rough.png\nb: 0\n");
    let ran = p.run(&[]).expect(0);
    assert!(ran.stdout.starts_with("3 assets: 3 built") && !ran.stdout.contains("shipped twice"), "{ran:?}");
    p.write("assetc.yml", UNREFERENCED).run(&[]).expect(0);
    assert_eq!(outputs(&p), ["rock.ktx2"]);
}

/// A dry run and a shard know the images of models that were never built, as a build does.
#[test]
fn images_of_new_models_are_known_before_they_are_built() {
    let p = textured();
    p.write("assets/ao.png", test_image(8, 8, 3));
    p.write("assets/rock.tex", "r: ao.png\ng: 1\nb: 0\n");
    p.write("assets/slate.png", test_image(8, 8, 4)).write("assets/orm.png", test_image(8, 8, 5));
    p.write("assets/floor.mat", "textures:\n  base_color: slate.png\n  occlusion: orm.png\n");
    p.write("assetc.yml", UNREFERENCED);
    let planned = |p: &Project| {
        let json = p.run(&["--dry-run", "--json"]).expect(0).json();
        let sources = json["build"].as_array().unwrap().iter();
        sources.map(|one| one["source"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let built = ["crate.obj", "floor.mat", "rock.tex", "slate.png", "ui.png"];
    assert_eq!(planned(&p), built);
    let events = p.run(&["--json=lines"]).expect(0).stdout;
    let events: Vec<serde_json::Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let counts: Vec<_> = events.iter().filter(|event| event["event"] == "planned").collect();
    assert_eq!(counts.len(), 1, "{counts:?}");
    assert_eq!((&counts[0]["total"], &counts[0]["stale"]), (&5.into(), &5.into()));
    let started = events.iter().filter(|event| event["event"] == "finished").count();
    assert_eq!(started, built.len(), "{events:?}");
    assert!(p.run(&["-v"]).expect(0).stderr.contains("0 of 5 assets out of date\n"));

    // A model that changes its reference, without a build.
    model(&p, "crate", "ui.png");
    assert_eq!(planned(&p), ["crate.obj", "wood.png"]);

    // Shards compile no image that a model of another shard contains.
    let shared = Project::new();
    std::fs::rename(p.path("assets"), shared.path("assets")).unwrap();
    shared.write("assetc.yml", UNREFERENCED);
    let cache = shared.path("cache").display().to_string();
    let mut sources = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let mut command =
            shared.command(&["--json", "--shard", shard, "-o", &format!("out-{}", &shard[..1])]);
        let ran = command.env("KILN_CACHE", "on").env("KILN_CACHE_DIR", &cache).output().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
        let built = json["assets"].as_array().unwrap().iter();
        sources.extend(built.map(|asset| asset["source"].as_str().unwrap().to_owned()));
    }
    sources.sort();
    assert_eq!(sources, ["crate.obj", "floor.mat", "rock.tex", "slate.png", "wood.png"]);
}

#[test]
fn rules_select_images_and_references_of_materials_are_kept() {
    let p = textured();
    // The material refers to the texture of the image, which the model contains as well.
    p.write("assets/floor.mat", "textures:\n  base_color: wood.png\n");
    p.write("assetc.yml", UNREFERENCED);
    p.run(&[]).expect(0);
    assert_eq!(outputs(&p), ["crate/tex_0.ktx2", "ui.ktx2", "wood.ktx2"]);
    p.run(&["check"]).expect(0);
    p.remove("assets/floor.mat");
    p.write(
        "assetc.yml",
        "default: {texture: {mips: false}, rules: [{match: \"wood.*\", texture: {standalone: unreferenced}}]}\n",
    );
    p.run(&[]).expect(0);
    assert_eq!(outputs(&p), ["crate/tex_0.ktx2", "ui.ktx2"]);
}

#[test]
fn image_with_the_name_of_a_texture_of_a_model_fails_alone() {
    let p = textured();
    p.write("assets/crate/tex_0.png", test_image(4, 4, 3)).write("assetc.yml", UNREFERENCED);
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("crate/tex_0.png and crate.obj both write crate/tex_0.ktx2"), "{ran:?}");
    let texture = p.read("runtime/crate/tex_0.ktx2");
    p.run(&[]).expect(1);
    assert_eq!(p.read("runtime/crate/tex_0.ktx2"), texture);
    // An image that the model contains is no conflict.
    model(&p, "crate", "crate/tex_0.png");
    p.run(&[]).expect(0);
    assert_eq!(outputs(&p), ["crate/tex_0.ktx2", "ui.ktx2", "wood.ktx2"]);
}

#[test]
fn new_projects_leave_images_of_models_out() {
    let p = Project::new();
    p.run(&["init"]).expect(0);
    assert!(String::from_utf8(p.read("assetc.yml")).unwrap().contains("standalone: unreferenced"));
}

/// The images of a glTF model are those of the materials that it draws, also before it is decoded.
#[test]
fn images_of_new_gltf_models_are_known_before_they_are_built() {
    let p = Project::new();
    for (number, name) in ["drawn", "unused"].into_iter().enumerate() {
        p.write(&format!("assets/{name}.png"), test_image(8, 8, number as u32));
    }
    let triangle: Vec<u8> =
        [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    p.write("assets/m.bin", triangle);
    let material = |texture: usize| {
        format!("{{\"pbrMetallicRoughness\":{{\"baseColorTexture\":{{\"index\":{texture}}}}}}}")
    };
    let model = |generator: &str| {
        format!(
            "{{\"asset\":{{\"version\":\"2.0\",\"generator\":\"{generator}\"}},\"scenes\":[{{\"nodes\":[0]}}],\
             \"nodes\":[{{\"mesh\":0}}],\
             \"meshes\":[{{\"primitives\":[{{\"attributes\":{{\"POSITION\":0}},\"material\":0}}]}}],\
             \"materials\":[{},{}],\"textures\":[{{\"source\":0}},{{\"source\":1}}],\
             \"images\":[{{\"uri\":\"drawn.png\"}},{{\"uri\":\"unused.png\"}}],\
             \"accessors\":[{{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\",\
             \"min\":[0,0,0],\"max\":[1,1,0]}}],\
             \"bufferViews\":[{{\"buffer\":0,\"byteLength\":36}}],\
             \"buffers\":[{{\"uri\":\"m.bin\",\"byteLength\":36}}]}}",
            material(0),
            material(1)
        )
    };
    p.write("assets/m.gltf", model("one")).write("assetc.yml", UNREFERENCED);
    let planned = || {
        let json = p.run(&["--dry-run", "--json"]).expect(0).json();
        let sources = json["build"].as_array().unwrap().iter();
        sources.map(|one| one["source"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(planned(), ["m.gltf", "unused.png"]);
    assert_eq!(p.build(), (2, 0));
    assert!(!p.exists("runtime/drawn.ktx2"));
    p.write("assets/m.gltf", model("two"));
    assert_eq!(planned(), ["m.gltf"]);
}
