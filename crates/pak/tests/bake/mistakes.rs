//! Invalid descriptions: each is an error with file, line, field and hint, and never a panic.

use crate::project::{Model, Project};
use pak::PakBuf;
use serde_json::json;

#[test]
fn reports_invalid_descriptions_with_their_place() {
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.node(json!({"mesh": mesh}), None);
    project.put("src/font.txt", "text");
    model.write(&project, "src/m.gltf");
    project.png("src/a.png", 1, 3, &[1, 2, 3]);
    for (text, expected) in [
        (
            "[mesh]\nsrc = '/src/m.gltf'\nscale = 0",
            "art/x.toml:3:9: mesh.scale: expected a scale without zeros, found the integer 0",
        ),
        ("[mesh]\nsrc = '/src/m.gltf'\nscale = [1, 0, 1]", "mesh.scale"),
        ("[mesh]\nsrc = '/src/m.gltf'\nscale = nan", "mesh.scale"),
        ("[mesh]\nsrc = '/src/m.gltf'\nrotation = [0, 0, 0, 0]", "expected a non-zero quaternion"),
        ("[mesh]\nsrc = '/src/m.gltf'\nrotation = [1]", "expected 3 angles in degrees"),
        ("[mesh]\nsrc = '/src/m.gltf'\neuler = 'xxy'", "a permutation of the letters"),
        (
            "[mesh]\nsrc = '/src/m.gltf'\noffset = [1e39, 0, 0]",
            "expected a finite number, found the number 1e39",
        ),
        ("[mesh]\nsrc = '/src/mm.gltf'", "the file src/mm.gltf does not exist (did you mean /src/m.gltf?)"),
        (
            "[mesh]\nsrc = '/src'",
            "art/x.toml:2:7: mesh.src: src is a directory, expected a file (name a file in it)",
        ),
        (
            "[bitmap-font]\nsrc = '/src/font.txt'",
            "src/font.txt: the file has no pages: it is not an AngelCode font",
        ),
        ("[mesh]\nsrc = '../../m.gltf'", "\"../../m.gltf\" is not a path inside the root directory: "),
        ("[mesh]\nsrc = '/../m.gltf'", "is not a path inside the root directory: "),
        ("[mesh]", "none of art/x.glb, art/x.gltf exists"),
        ("[bitmap]\nsrc = '/src/a.png'\nswizzle = 'rgbar'", "one to four of the letters"),
        ("[bitmap]\nsrc = '/src/a.png'\nmip-levels = 0", "bitmap.mip-levels"),
        ("[bitmap]\nsrc = '/src/a.png'\ncolor = 'sRGB'", "did you mean \"srgb\"?"),
        ("[material]\nmetal = 1.5", "expected a number from 0 to 1, found the number 1.5"),
        ("[material]\ncolor = '/src/m.gltf.toml'", "does not exist"),
        ("[scene]\n[[scene.ref]]\nmesh = '/src/none.toml'", "the file src/none.toml does not exist"),
        ("[scene]\n[[scene.ref]]\nmesh = '/src/a.png'", "expected a mesh, found a bitmap"),
        ("[scene]\n[[scene.ref]]\nmaterials = ['/src/m.gltf#Gold']", "has no material \"Gold\""),
        (
            "[scene]\n[[scene.ref]]\ndata.when = 2020-01-01",
            "expected a string, number, boolean, array or table, found a datetime",
        ),
        ("[mesh]\n[bitmap]", "more than one asset table: [bitmap] and [mesh]"),
        ("[model]\nsrc = 'a'", "unknown field \"model\" in the top-level table"),
        ("", "the file has no asset table"),
        ("[mesh]\nsrc = '/src/m.gltf'\n[mesh]\n", "error[pak-syntax]: art/x.toml:3:"),
        ("[mesh\n", "error[pak-syntax]"),
        ("[blob]\n", "none of art/x exists"),
    ] {
        project.put("art/x.toml", text);
        let error = project.error();
        assert!(error.contains(expected), "{text}\n{error}");
        assert!(error.contains("art/x.toml") || expected.starts_with("src/"), "{error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}

#[test]
fn images_of_a_model_are_listed_by_name_or_number() {
    let project = Project::new();
    let mut model = Model::new();
    model.json["images"] = json!([{"uri": "a.png"}, {"uri": "a.png", "name": "b"}]);
    model.write(&project, "src/m.gltf");
    project.png("src/a.png", 1, 3, &[1, 2, 3]);
    project.put("art/x.toml", "[bitmap]\nsrc = '/src/m.gltf#Gold'\n");
    let error = project.error();
    let expected = "src/m.gltf: the file has no image \"Gold\" (the images of the file are 0, \"b\")";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn unknown_fields_and_unmatched_patterns_are_warnings() {
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.node(json!({"mesh": mesh}), None);
    model.write(&project, "src/m.gltf");
    project.png("src/a.png", 1, 3, &[1, 2, 3]);
    project.content("none", "['art/*.toml', 'sound/**/*.ogg']");
    for (text, expected) in [
        (
            "[mesh]\nsrc = '/src/m.gltf'\nlods = true",
            "art/x.toml:3:1: unknown field \"lods\" in [mesh] is ignored (did you mean \"lod\"?)",
        ),
        ("[bitmap]\nsrc = '/src/a.png'\nswizle = 'r'", "did you mean \"swizzle\"?"),
        ("[material]\ncolour = '#fff'", "did you mean \"color\"?"),
        ("[material]\ncolor = { src = '/src/a.png', format = 'rgb' }", "unknown field \"format\""),
        ("[scene]\n[[scene.refs]]\n", "did you mean \"ref\"?"),
        ("[scene]\n[[scene.ref]]\nvisible = true\n", "unknown field \"visible\" in [scene.ref[0]]"),
        ("[mesh]\nsrc = '/src/m.gltf'\nnormals = false\ntangents = true", "warning[pak-tangents]"),
        (
            "[mesh]\nsrc = '/src/m.gltf'\neuler = 'zyx'",
            "warning[pak-euler]: art/x.toml:3:9: mesh.euler: the angles are about x, y and z, and applied in the order \
             \"zyx\"; pak 0.7 took them as angles about z, y and x",
        ),
    ] {
        project.put("art/x.toml", text);
        for _ in 0..2 {
            let warnings: Vec<String> =
                project.bake().unwrap().warnings.iter().map(ToString::to_string).collect();
            assert_eq!(warnings.len(), 2, "{text}: {warnings:?}");
            assert!(warnings[0].contains("the pattern \"sound/**/*.ogg\" matches no file"), "{warnings:?}");
            assert!(warnings[0].starts_with("warning[pak-no-match]"), "{warnings:?}");
            assert!(warnings[1].contains(expected), "{text}: {warnings:?}");
        }
    }
    project.content("none", "['art', 'art/*.toml']");
    let warnings: Vec<String> = project.bake().unwrap().warnings.iter().map(ToString::to_string).collect();
    let expected =
        "the pattern \"art\" matches no file (it is a directory; \"art/**/*\" matches the files in it)";
    assert!(warnings.iter().any(|warning| warning.contains(expected)), "{warnings:?}");
    project.put("art/x.toml", "[mesh]\nsrc = '/src/m.gltf'\neuler = 'zyx'");
    project.put("art/y.toml", "[mesh]\nsrc = '/src/m.gltf'\neuler = 'yzx'");
    let euler = project.bake().unwrap().warnings.iter().filter(|w| w.code.as_str() == "pak-euler").count();
    assert_eq!(euler, 1, "given once");
}

#[test]
fn lists_source_files_that_do_not_exist() {
    let project = Project::new();
    project.content("none", "['art/*.toml']");
    project.put(
        "art/s.toml",
        "[scene]\n[[scene.ref]]\nmesh = '/mesh/none.toml'\nmaterials = ['m.toml', 'x.glb#0', 'x.glb']\n\
         [[scene.ref]]\nmesh = { src = '/mesh/none.glb' }\n",
    );
    project.put("art/m.toml", "[material]\ncolor = 'none.png'\nnormal = 'n.toml'\nmetal = 'there.png'\n");
    project.put("art/f.toml", "[bitmap-font]\n");
    project.png("art/there.png", 1, 1, &[1]);
    let found = PakBuf::source_files(project.path("pak.toml")).unwrap();
    let names: Vec<String> = found
        .iter()
        .map(|path| path.strip_prefix(project.dir.path()).unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(
        names,
        [
            "art/f.fon",
            "art/f.toml",
            "art/m.toml",
            "art/n.toml",
            "art/none.png",
            "art/s.toml",
            "art/there.png",
            "art/x.glb",
            "mesh/none.glb",
            "mesh/none.toml",
            "pak.toml"
        ]
    );
    assert!(project.error().contains("does not exist"), "the bake needs them");
}

#[cfg(unix)]
#[test]
fn says_that_a_link_leads_out_of_the_root() {
    let (project, outside) = (Project::new(), Project::new());
    outside.png("a.png", 1, 1, &[1]);
    project.put("art/x.toml", "[bitmap]\nsrc = 'linked/a.png'\n");
    std::os::unix::fs::symlink(outside.path("a.png"), project.path("art/b.png")).unwrap();
    project.put("art/y.toml", "[bitmap]\nsrc = 'b.png'\n");
    std::os::unix::fs::symlink(outside.dir.path(), project.path("art/linked")).unwrap();
    let error = project.error();
    for link in ["art/b.png", "art/linked"] {
        assert!(
            error.contains(&format!("is not read: {link}: the symbolic link leads outside the tree")),
            "{error}"
        );
    }
}

/// Covers chains that are longer than the stack is deep.
#[test]
fn rejects_circular_and_deeply_nested_references() {
    let project = Project::new();
    let scene = |to: &str| format!("[scene]\n[[scene.ref]]\nmaterials = ['{to}']\n");
    project.put("art/a.toml", &*scene("a.toml"));
    let error = project.error();
    assert!(
        error.contains(
            "error[pak-cycle]: art/a.toml: the description refers to itself: art/a.toml → art/a.toml"
        ),
        "{error}"
    );
    project.put("art/a.toml", &*scene("b.toml"));
    project.put("art/b.toml", &*scene("a.toml"));
    let error = project.error();
    assert!(
        error.contains("the description refers to itself: art/a.toml → art/b.toml → art/a.toml"),
        "{error}"
    );
    project.put("art/b.toml", "[material]\n");
    project.bake().unwrap();
    for n in 0..2_000 {
        project.put(&format!("art/{n:04}.toml"), &*scene(&format!("{:04}.toml", n + 1)));
    }
    project.put("art/2000.toml", "[material]\n");
    let error = project.error();
    assert!(
        error.contains(
            "art/0016.toml: the references to this description are nested more than 16 levels deep"
        ),
        "{error}"
    );
    assert!(
        error.contains("art/1998.toml:3:14: scene.ref[0].materials[0]: expected a material, found a scene"),
        "{error}"
    );
}

#[test]
fn reports_all_invalid_descriptions_and_keeps_the_old_pak() {
    let project = Project::new();
    project.put("art/good.bin", "x");
    project.open();
    let before = project.bytes();
    project.put("art/a.toml", "[mesh]\nfoo = 1\n");
    project.put("art/b.toml", "[material]\nmetal = 7\n");
    let error = project.error();
    assert!(error.contains("art/a.toml") && error.contains("art/b.toml"), "{error}");
    assert_eq!(project.bytes(), before);
}

#[test]
fn broken_source_fails_alone_and_keeps_the_old_pak() {
    let project = Project::new();
    project.png("art/a.png", 1, 3, &[1, 2, 3]);
    project.png("art/b.png", 1, 3, &[4, 5, 6]);
    project.open();
    let before = project.bytes();
    project.put("art/a.png", "not an image");
    project.png("art/b.png", 1, 3, &[7, 8, 9]);
    let error = project.error();
    assert!(error.contains("art/a.png") && !error.contains("art/b.png"), "{error}");
    assert_eq!(project.bytes(), before);
    // The assets that succeeded are not baked again.
    project.png("art/a.png", 1, 3, &[1, 1, 1]);
    let baked = project.bake().unwrap();
    let built: Vec<_> = baked.assets.iter().filter(|a| a.reason.is_some()).map(|a| a.name.as_str()).collect();
    assert_eq!(built, ["art/a.png"]);
    let leftovers = std::fs::read_dir(project.path("out")).unwrap().count();
    assert_eq!(leftovers, 2, "the file and its journal");
}
