//! The files of a model: access restrictions, and errors for missing files.

use crate::model::{Model, base64};
use crate::project::{Project, failure};
use crate::shapes::{png, quad};
use kiln_engine::Code;
use serde_json::{Value, json};

/// A quad with an image at a URI.
fn textured(uri: &str) -> Model {
    let mut model = Model::new();
    model.push("images", json!({"uri": uri}));
    model.push("textures", json!({"source": 0}));
    model.push("materials", json!({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}));
    let mut primitive = quad(&mut model);
    primitive["material"] = json!(0);
    model.mesh(json!([primitive]));
    model
}

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";

#[test]
fn embedded_and_external_buffers_give_equal_outputs() {
    let encoded = png(4, 1);
    let external = textured("skin%20%C3%A9.png");
    let inline = textured(&format!("data:image/png;base64,{}", base64(&encoded)));
    let data = base64(&external.data);
    let project = Project::with(&[
        ("a/m.gltf", external.text(Some("my%20data.bin")).as_bytes()),
        ("a/my data.bin", &external.data),
        ("a/skin é.png", &encoded),
        ("b/m.gltf", inline.text(Some(&format!("data:application/octet-stream;base64,{data}"))).as_bytes()),
        ("c/m.glb", &inline.glb()),
    ]);
    project.built();
    for output in ["m.hmesh", "m/tex_0.ktx2"] {
        let [a, b, c] = ["a", "b", "c"].map(|dir| project.out(&format!("{dir}/{output}")));
        // The hash of the material contains the path of the source.
        if output == "m.hmesh" {
            assert_eq!((a.len(), &a[320..352]), (b.len(), &b[320..352]));
            assert_eq!(&b[320..352], &c[320..352]);
        } else {
            assert!(a == b && b == c, "{output}");
        }
    }
    // The image is also a source of its own, with the same bytes.
    assert_eq!(project.out("a/skin é.ktx2"), project.out("a/m/tex_0.ktx2"));
}

#[test]
fn broken_model_fails_alone_with_position() {
    let with = |change: fn(&mut Value)| {
        let mut model = Model::triangle();
        change(&mut model.json);
        model.glb()
    };
    let index: fn(&mut Value) = |json| {
        json["accessors"][0]["count"] = json!(2);
        json["accessors"][0]["byteOffset"] = json!(0);
    };
    let cases: [(&str, Vec<u8>, &str, &str); 6] = [
        ("index", with(index), "gltf-index", "/meshes/0/primitives/0/indices"),
        (
            "view",
            with(|json| json["bufferViews"][0]["byteLength"] = json!(1 << 30)),
            "gltf-buffer",
            "/bufferViews/0",
        ),
        (
            "accessor",
            with(|json| json["accessors"][0]["count"] = json!(1_000_000)),
            "gltf-accessor",
            "/accessors/0",
        ),
        (
            "material",
            with(|json| json["meshes"][0]["primitives"][0]["material"] = json!(3)),
            "gltf-reference",
            "/meshes/0/primitives/0/material",
        ),
        ("ring", with(|json| json["nodes"][0]["children"] = json!([0])), "gltf-model", ""),
        ("version", with(|json| json["asset"]["version"] = json!("1.0")), "gltf-version", "/asset/version"),
    ];
    let project = Project::with(&[("sound.glb", &Model::triangle().glb())]);
    project.built();
    let manifest = project.out("assets.hman");
    for (name, bytes, ..) in &cases {
        project.add(&format!("{name}.glb"), bytes);
    }
    project.add("new.glb", Model::triangle().glb());
    let mut cut = Model::triangle().glb();
    cut.truncate(cut.len() - 5);
    project.add("cut.glb", &cut);
    let report = project.build();
    assert_eq!((report.failed(), report.built(), report.fresh()), (7, 1, 1), "{report:#?}");
    for (name, _, code, at) in &cases {
        let source = format!("{name}.glb");
        let diag = failure(&report, &source);
        assert_eq!(
            (diag.code.as_str(), diag.path.as_deref().unwrap_or_default()),
            (*code, source.as_str()),
            "{diag}"
        );
        assert!(diag.at.as_deref().is_some_and(|found| !found.is_empty() && found.starts_with(at)), "{diag}");
    }
    assert_eq!(failure(&report, "cut.glb").code, Code::GltfContainer);
    assert_eq!(project.outputs(), ["assets.hman", "new.hmesh", "sound.hmesh"]);
    assert_eq!(project.out("assets.hman"), manifest, "the old manifest stays");
}

#[test]
fn reports_git_lfs_pointers() {
    let model = textured("skin.png");
    let project = Project::with(&[
        ("whole.glb", POINTER.as_bytes()),
        ("data.gltf", model.text(Some("data.bin")).as_bytes()),
        ("data.bin", POINTER.as_bytes()),
        ("image.gltf", textured("pointer.jpg").text(Some("image.bin")).as_bytes()),
        ("image.bin", &model.data),
        ("pointer.jpg", POINTER.as_bytes()),
        ("skin.png", &png(4, 0)),
    ]);
    let report = project.build();
    for (source, path) in
        [("whole.glb", "whole.glb"), ("data.gltf", "data.bin"), ("image.gltf", "pointer.jpg")]
    {
        let diag = failure(&report, source);
        assert_eq!(diag.code, Code::LfsPointer, "{diag}");
        assert!(diag.path.as_deref() == Some(path) || diag.message.contains(path), "{diag}");
        assert!(diag.hint.as_deref().is_some_and(|hint| hint.contains("git lfs pull")));
    }
}

#[test]
fn does_not_open_files_outside_the_project() {
    let project = Project::with(&[("inside.bin", b"")]);
    let encoded = png(4, 0);
    std::fs::write(project.path("secret.png"), &encoded).unwrap();
    let absolute = project.path("secret.png").to_str().unwrap().to_owned();
    let mut uris = vec![
        "../secret.png".to_owned(),
        "%2e%2e/secret.png".to_owned(),
        "x/..%2f..%2fsecret.png".to_owned(),
        "..\\secret.png".to_owned(),
        format!("file://{absolute}"),
        "https://example.com/secret.png".to_owned(),
        absolute,
    ];
    if cfg!(unix) {
        #[cfg(unix)]
        std::os::unix::fs::symlink(project.path("secret.png"), project.path("assets/link.png")).unwrap();
        uris.push("link.png".to_owned());
    }
    for (n, uri) in uris.iter().enumerate() {
        project.add(&format!("{n}.glb"), textured(uri).glb());
    }
    let report = project.build();
    for (n, uri) in uris.iter().enumerate() {
        let diag = failure(&report, &format!("{n}.glb"));
        let refused = ["gltf-uri", "unreadable", "file-missing"].contains(&diag.code.as_str());
        assert!(
            refused && diag.at.as_deref().is_some_and(|at| at.starts_with("/images/0")) || uri == "link.png",
            "{uri}: {diag}"
        );
        assert!(uri == "link.png" || diag.code == Code::GltfUri, "{uri}: {diag}");
    }
    assert!(!project.outputs().iter().any(|path| path.contains("tex_0")));
}

#[test]
fn unreadable_image_fails_the_model() {
    let project = Project::with(&[
        ("m.glb", &textured("bad.png").glb()),
        ("bad.png", b"\x89PNG\r\n\x1a\n and then nothing"),
        ("gone.glb", &textured("gone.png").glb()),
    ]);
    let report = project.build();
    let diag = failure(&report, "m.glb");
    assert!(diag.code.as_str().starts_with("image-") && diag.path.as_deref() == Some("bad.png"), "{diag}");
    let diag = failure(&report, "gone.glb");
    assert_eq!(
        (diag.code.as_str(), diag.at.as_deref().unwrap_or_default()),
        ("file-missing", "/images/0/uri"),
        "{diag}"
    );
    assert!(diag.message.contains("gone.png"));
}
