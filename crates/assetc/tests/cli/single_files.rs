//! `info FILE…` and `check FILE…`: single runtime files of every format, inside and outside an output directory.

use crate::model::Model;
use crate::project::{Project, test_image};

/// A project with one file of every runtime format.
fn every_format() -> Project {
    let p = Project::new();
    p.write("assets/a.png", test_image(8, 8, 1));
    p.write("assets/m.glb", Model::triangle().glb());
    p.write("assets/b.mat", "textures: {base_color: a.png}\n");
    p.write("assets/f.otf", include_bytes!("../../../../examples/showcase/assets/ui/inter.otf"));
    p.write(
        "assets/s.shader/vertex.wgsl",
        "@vertex fn main() -> @builtin(position) vec4f { return vec4f(); }",
    );
    p.run(&["--pack"]).expect(0);
    p
}

#[test]
fn info_and_check_accept_every_runtime_format() {
    let p = every_format();
    let files = ["a.ktx2", "m.hmesh", "b.hmat", "assets.hman", "f.hfont", "s.shader/vertex.spv"];
    for file in files {
        let path = format!("runtime/{file}");
        let ran = p.run(&["info", &path]).expect(0);
        assert!(ran.stdout.starts_with(&format!("Inspecting {path}\n")), "{ran:?}");
        assert!(ran.stdout.contains(&format!("\n  {path}\n")), "{ran:?}");
        let ran = p.run(&["check", &path]).expect(0);
        assert!(ran.stdout.contains("integrity OK: 1 ") && ran.stdout.contains("1 file matches"), "{ran:?}");
        // Elsewhere, and without an extension, the first bytes are the format.
        p.write("elsewhere/file", p.read(&path));
        let json = p.run(&["info", "--json", "elsewhere/file"]).expect(0).json();
        assert_eq!(json["files"][0]["path"], "elsewhere/file");
        assert_eq!(json["files"][0]["format"], file.rsplit('.').next().unwrap(), "{json}");
        p.run(&["check", "elsewhere/file"]).expect(0);
    }
    let all: Vec<String> = files.iter().map(|file| format!("runtime/{file}")).collect();
    let args: Vec<&str> = ["info", "--json"]
        .into_iter()
        .chain(all.iter().map(String::as_str))
        .chain(["runtime.hpack"])
        .collect();
    let json = p.run(&args).expect(0).json();
    assert_eq!(json["failed"], 0);
    let paths: Vec<&str> =
        json["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"runtime/a.ktx2") && paths.contains(&"runtime.hpack/a.ktx2"), "{paths:?}");
}

#[test]
fn check_of_one_file_finds_damage_and_broken_references() {
    let p = every_format();
    let texture = p.read("runtime/a.ktx2");
    p.write("copy.ktx2", &texture[..texture.len() - 1]);
    let ran = p.run(&["check", "copy.ktx2"]).expect(1);
    assert!(ran.stdout.contains("FAIL copy.ktx2: ") && ran.stdout.contains("[check-corrupt]"), "{ran:?}");
    p.run(&["info", "copy.ktx2"]).expect(1);

    // The material table inside the output refers to a texture that is gone; the other files are healthy.
    p.remove("runtime/a.ktx2");
    let ran = p.run(&["check", "runtime/b.hmat"]).expect(1);
    assert!(ran.stdout.contains("FAIL runtime/b.hmat: "), "{ran:?}");
    p.run(&["check", "runtime/m.hmesh"]).expect(0);

    let ran = p.run(&["check", "missing.ktx2", "runtime/m.hmesh"]).expect(2);
    assert!(ran.stderr.contains("output-missing") && ran.stdout.contains("1 mesh"), "{ran:?}");
    p.write("notes.txt", "text");
    let ran = p.run(&["check", "notes.txt"]).expect(1);
    assert!(ran.stdout.contains("FAIL notes.txt: the file is not a runtime file"), "{ran:?}");
    p.write("empty", "");
    assert!(p.run(&["info", "empty"]).expect(1).stderr.contains("is not a runtime file"));
    // A pack is one by its extension, too.
    p.write("cut.hpack", "HP");
    assert!(p.run(&["check", "cut.hpack"]).expect(1).stdout.contains("unexpected end of file"));
}

#[test]
fn info_shows_the_extents_of_a_small_model() {
    let p = Project::new();
    p.write("assets/m.obj", "v 0 0 0\nv 0.004 0 0\nv 0 0.0025 0\nf 1 2 3\n");
    p.write("assets/l.obj", "v 0 0 0\nv 4 0 0\nv 0 2.5 0\nf 1 2 3\n");
    p.run(&[]).expect(0);
    let info = p.run(&["info"]).expect(0).stdout;
    assert!(info.contains("AABB 0.0040x0.0025x0.0000, radius 0.0024"), "{info}");
    assert!(info.contains("AABB 4.00x2.50x0.00, radius 2.36"), "{info}");
}

#[test]
fn info_names_formats_and_gpu_memory() {
    let p = Project::new();
    p.write("assets/a.png", test_image(8, 8, 1)).write("assets/b.n.png", test_image(8, 8, 1));
    p.run(&[]).expect(0);
    let ran = p.run(&["info", "runtime/a.ktx2", "runtime/b.n.ktx2"]).expect(0);
    for expected in ["UASTC LDR 4x4 sRGB", "UASTC LDR 4x4 linear", "GPU memory: 112 B", "GPU memory: 224 B"] {
        assert!(ran.stdout.contains(expected), "{expected}: {}", ran.stdout);
    }
    let json = p.run(&["info", "--json", "runtime/a.ktx2"]).expect(0).json();
    let facts = &json["files"][0]["facts"];
    assert_eq!((&facts["format"], &facts["gpu_bytes"]), (&"UASTC LDR 4x4 sRGB".into(), &112.into()));
    assert!(facts.get("vk_format").is_none(), "{facts}");
}
