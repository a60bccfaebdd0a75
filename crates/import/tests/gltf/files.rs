//! Sources of buffers and images: the GLB chunk, data URIs, files beside the document.

use crate::imported::{import, memory_files};
use crate::model::{Model, base64};
use kiln_import::{Code, Recorder, RelPath, gltf};
use serde_json::json;

#[test]
fn imports_buffers_from_any_source() {
    let model = Model::triangle();
    let wanted = model.import().unwrap();
    assert_eq!(wanted.warnings, []);
    assert_eq!(wanted.value.meshes[0].primitives[0].positions[1], [1.0, 0.0, 0.0]);
    let inline = format!("data:application/octet-stream;base64,{}", base64(&model.data));
    assert_eq!(import("a/m.gltf", &[("a/m.gltf", model.text(Some(&inline)).into())]).unwrap(), wanted);
    for (uri, path) in [
        ("m.bin", "a/m.bin"),
        ("my%20m%C3%B6del.bin", "a/my m\u{f6}del.bin"),
        ("my m\u{f6}del.bin", "a/my m\u{f6}del.bin"),
        ("../data/m.bin", "data/m.bin"),
    ] {
        let files = [("a/m.gltf", model.text(Some(uri)).into()), (path, model.data.clone())];
        assert_eq!(import("a/m.gltf", &files).unwrap(), wanted, "{uri}");
    }
    // The content decides the format, not the name.
    assert_eq!(import("m.gltf", &[("m.gltf", model.glb())]).unwrap(), wanted);
}

#[test]
fn reads_nothing_outside_the_project() {
    let model = Model::triangle();
    for uri in
        ["../m.bin", "/m.bin", "file:///m.bin", "http://x/m.bin", "%2e%2e/m.bin", "..%2fm.bin", "..\\m.bin"]
    {
        let files = [("m.gltf", model.text(Some(uri)).into()), ("m.bin", model.data.clone())];
        let mut recorder = Recorder::new(memory_files(&files));
        let source = RelPath::new("m.gltf").unwrap();
        let error = gltf::import(&mut recorder, &source).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.at.as_deref().unwrap_or_default()),
            ("gltf-uri", "/buffers/0/uri"),
            "{uri}"
        );
        assert_eq!(recorder.files_read(), [source], "{uri}");
        assert_eq!(recorder.files_missing().count(), 0, "{uri}");
    }
}

#[test]
fn records_missing_files() {
    let text = Model::triangle().text(Some("my%20m.bin"));
    let mut recorder = Recorder::new(memory_files(&[("a/m.gltf", text.into())]));
    let error = gltf::import(&mut recorder, &RelPath::new("a/m.gltf").unwrap()).unwrap_err();
    assert_eq!(error.code, Code::FileMissing);
    let missing: Vec<&str> = recorder.files_missing().map(RelPath::as_str).collect();
    assert_eq!(missing, ["a/my m.bin", "a/my%20m.bin"], "either spelling repairs the model");
}

#[test]
fn reports_missing_empty_and_truncated_files() {
    let text = Model::triangle().text(Some("m.bin"));
    let error = import("m.gltf", &[("m.gltf", text.clone().into())]).unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.at.as_deref().unwrap_or_default()),
        ("file-missing", "/buffers/0/uri")
    );
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n".to_vec();
    let error = import("m.gltf", &[("m.gltf", text.clone().into()), ("m.bin", pointer.clone())]).unwrap_err();
    assert_eq!((error.code.as_str(), error.path.as_deref().unwrap_or_default()), ("lfs-pointer", "m.bin"));
    assert_eq!(import("m.glb", &[("m.glb", pointer)]).unwrap_err().code, Code::LfsPointer);
    assert_eq!(import("m.glb", &[("m.glb", vec![])]).unwrap_err().code, Code::FileEmpty);
    assert_eq!(import("m.glb", &[]).unwrap_err().code, Code::FileMissing);
    let error = import("m.gltf", &[("m.gltf", text.into()), ("m.bin", vec![0; 10])]).unwrap_err();
    assert_eq!((error.code.as_str(), error.at.as_deref().unwrap_or_default()), ("gltf-buffer", "/buffers/0"));
    assert!(error.message.contains("its data has 10"), "{error}");
}

#[test]
fn reads_used_images_only() {
    let mut model = Model::triangle();
    for name in ["a.png", "b.JPG", "c"] {
        let image = model.push("images", json!({"uri": name, "name": format!("image {name}")}));
        model.push("textures", json!({"source": image}));
    }
    model.push("materials", json!({"emissiveTexture": {"index": 1}}));
    model.push("materials", json!({"emissiveTexture": {"index": 2}}));
    model.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    let files = [
        ("x/m.gltf", model.text(Some("m.bin")).into()),
        ("x/m.bin", model.data.clone()),
        ("x/b.JPG", b"image".to_vec()),
    ];
    let mut recorder = Recorder::new(memory_files(&files));
    let found = gltf::import(&mut recorder, &RelPath::new("x/m.gltf").unwrap()).unwrap().value;
    let read: Vec<&str> = recorder.files_read().iter().map(RelPath::as_str).collect();
    assert_eq!(read, ["x/m.gltf", "x/m.bin", "x/b.JPG"]);
    assert_eq!(found.images.len(), 3);
    let image = &found.images[1];
    assert_eq!(
        (image.name.as_str(), image.extension.as_str(), image.path.as_str()),
        ("image b.JPG", "jpg", "x/b.JPG")
    );
    assert_eq!(image.bytes, b"image");
    assert!(found.images[0].bytes.is_empty() && found.images[2].bytes.is_empty());
}

#[test]
fn reads_embedded_images() {
    let mut model = Model::triangle();
    let view = model.view(b"PNG bytes");
    let inside = model.push("images", json!({"bufferView": view, "mimeType": "image/png"}));
    let inline = model.push("images", json!({"uri": format!("data:image/jpeg;base64,{}", base64(b"JPEG"))}));
    for image in [inside, inline] {
        model.push("textures", json!({"source": image}));
    }
    model.push("materials", json!({"emissiveTexture": {"index": 0}, "occlusionTexture": {"index": 1}}));
    model.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    let images = model.scene().into_inner().images;
    assert_eq!((images[0].extension.as_str(), images[0].bytes.as_slice()), ("png", &b"PNG bytes"[..]));
    assert_eq!((images[1].extension.as_str(), images[1].bytes.as_slice()), ("jpg", &b"JPEG"[..]));
    assert!(images[0].path.is_empty() && images[1].path.is_empty());
}
