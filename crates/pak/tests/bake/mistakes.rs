//! Mistakes in descriptions: each is an error with file, line, field and a way out, and never a panic.

use crate::project::{Model, Project};
use serde_json::json;

#[test]
fn mistakes_are_named_where_they_are() {
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.node(json!({"mesh": mesh}), None);
    model.write(&project, "src/m.gltf");
    project.png("src/a.png", 1, 3, &[1, 2, 3]);
    for (text, expected) in [
        (
            "[mesh]\nsrc = '/src/m.gltf'\nlods = true",
            "art/x.toml:3:1: [mesh] has no field \"lods\" (did you mean \"lod\"?)",
        ),
        ("[mesh]\nsrc = '/src/m.gltf'\nscale = 0", "art/x.toml:3:9: mesh.scale: 0 is not a scale"),
        ("[mesh]\nsrc = '/src/m.gltf'\nscale = [1, 0, 1]", "mesh.scale"),
        ("[mesh]\nsrc = '/src/m.gltf'\nscale = nan", "mesh.scale"),
        ("[mesh]\nsrc = '/src/m.gltf'\nrotation = [0, 0, 0, 0]", "all four are zero"),
        ("[mesh]\nsrc = '/src/m.gltf'\nrotation = [1]", "three angles in degrees"),
        ("[mesh]\nsrc = '/src/m.gltf'\neuler = 'xxy'", "an order of the letters"),
        ("[mesh]\nsrc = '/src/m.gltf'\noffset = [1e39, 0, 0]", "is not a number"),
        ("[mesh]\nsrc = '/src/mm.gltf'", "there is no file src/mm.gltf (did you mean /src/m.gltf?)"),
        ("[mesh]\nsrc = '../../m.gltf'", "is not a path inside the root: it leaves the root"),
        ("[mesh]\nsrc = '/../m.gltf'", "it leaves the root"),
        ("[mesh]", "none of art/x.glb, art/x.gltf is there"),
        ("[bitmap]\nsrc = '/src/a.png'\nswizle = 'r'", "did you mean \"swizzle\"?"),
        ("[bitmap]\nsrc = '/src/a.png'\nswizzle = 'rgbar'", "one to four of the letters"),
        ("[bitmap]\nsrc = '/src/a.png'\nmip-levels = 0", "bitmap.mip-levels"),
        ("[bitmap]\nsrc = '/src/a.png'\ncolor = 'sRGB'", "did you mean \"srgb\"?"),
        ("[material]\ncolour = '#fff'", "did you mean \"color\"?"),
        ("[material]\nmetal = 1.5", "1.5 is not a number from 0 to 1"),
        ("[material]\ncolor = '/src/m.gltf.toml'", "there is no file"),
        ("[scene]\n[[scene.ref]]\nmesh = '/src/none.toml'", "there is no file src/none.toml"),
        ("[scene]\n[[scene.ref]]\nmesh = '/src/a.png'", "it is a bitmap, and a mesh is wanted"),
        ("[scene]\n[[scene.ref]]\nmaterials = ['/src/m.gltf#Gold']", "has no material \"Gold\""),
        ("[scene]\n[[scene.refs]]\n", "did you mean \"ref\"?"),
        ("[scene]\n[[scene.ref]]\ndata.when = 2020-01-01", "dates and times go into texts"),
        ("[mesh]\n[bitmap]", "[bitmap] and [mesh] are in one file"),
        ("[model]\nsrc = 'a'", "this file has no field \"model\""),
        ("", "there is no asset table"),
        ("[mesh]\nsrc = '/src/m.gltf'\n[mesh]\n", "error[pak-syntax]: art/x.toml:3:"),
        ("[mesh\n", "error[pak-syntax]"),
        ("[blob]\n", "none of art/x is there"),
    ] {
        project.put("art/x.toml", text);
        let error = project.error();
        assert!(error.contains(expected), "{text}\n{error}");
        assert!(error.contains("art/x.toml"), "{error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}

/// Also where there are more of them than a stack is deep.
#[test]
fn descriptions_that_refer_to_each_other_without_end_are_refused() {
    let project = Project::new();
    let scene = |to: &str| format!("[scene]\n[[scene.ref]]\nmaterials = ['{to}']\n");
    project.put("art/a.toml", &*scene("a.toml"));
    let error = project.error();
    assert!(
        error.contains("error[pak-circle]: art/a.toml: it refers to itself: art/a.toml → art/a.toml"),
        "{error}"
    );
    project.put("art/a.toml", &*scene("b.toml"));
    project.put("art/b.toml", &*scene("a.toml"));
    let error = project.error();
    assert!(error.contains("it refers to itself: art/a.toml → art/b.toml → art/a.toml"), "{error}");
    project.put("art/b.toml", "[material]\n");
    project.bake().unwrap();
    for n in 0..2_000 {
        project.put(&format!("art/{n:04}.toml"), &*scene(&format!("{:04}.toml", n + 1)));
    }
    project.put("art/2000.toml", "[material]\n");
    let error = project.error();
    assert!(error.contains("art/0016.toml: 16 descriptions refer to each other in a row"), "{error}");
    assert!(
        error.contains(
            "art/1998.toml:3:14: scene.ref[0].materials[0]: it is a scene, and a material is wanted"
        ),
        "{error}"
    );
}

#[test]
fn all_bad_descriptions_are_named_at_once_and_the_old_file_stays() {
    let project = Project::new();
    project.put("art/good.bin", "x");
    project.open();
    let before = project.bytes();
    project.put("art/a.toml", "[mesh]\nfoo = 1\n");
    project.put("art/b.toml", "[material]\nbar = 1\n");
    let error = project.error();
    assert!(error.contains("art/a.toml") && error.contains("art/b.toml"), "{error}");
    assert_eq!(project.bytes(), before);
}

#[test]
fn a_broken_source_fails_alone_and_the_old_file_stays() {
    let project = Project::new();
    project.png("art/a.png", 1, 3, &[1, 2, 3]);
    project.png("art/b.png", 1, 3, &[4, 5, 6]);
    project.open();
    let before = project.bytes();
    project.put("art/a.png", "no picture");
    project.png("art/b.png", 1, 3, &[7, 8, 9]);
    let error = project.error();
    assert!(error.contains("art/a.png") && !error.contains("art/b.png"), "{error}");
    assert_eq!(project.bytes(), before);
    // What was baked beside it is not baked again.
    project.png("art/a.png", 1, 3, &[1, 1, 1]);
    let baked = project.bake().unwrap();
    let built: Vec<_> = baked.assets.iter().filter(|a| a.why.is_some()).map(|a| a.name.as_str()).collect();
    assert_eq!(built, ["art/a.png"]);
    let leftovers = std::fs::read_dir(project.path("out")).unwrap().count();
    assert_eq!(leftovers, 2, "the file and its journal");
}
