//! Where the bytes are: in one file, in the text, in files beside it.

use crate::imported::import;
use crate::model::{Model, base64};
use kiln_engine::Code;
use kiln_engine::mem::Mem;
use kiln_engine::{Fs, Inputs, RelPath, SourceTree};
use kiln_import::gltf;
use serde_json::json;

#[test]
fn a_model_is_the_same_wherever_its_bytes_are() {
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
    // A name does not make a format.
    assert_eq!(import("m.gltf", &[("m.gltf", model.glb())]).unwrap(), wanted);
}

#[test]
fn nothing_outside_the_project_is_read() {
    let model = Model::triangle();
    for uri in
        ["../m.bin", "/m.bin", "file:///m.bin", "http://x/m.bin", "%2e%2e/m.bin", "..%2fm.bin", "..\\m.bin"]
    {
        let src = Mem::new();
        src.put("m.gltf", model.text(Some(uri)));
        src.put("m.bin", model.data.clone());
        let tree = src.walk(None).unwrap();
        let source = RelPath::new("m.gltf").unwrap();
        let error =
            gltf::import(&mut Inputs::new(SourceTree { fs: &src, tree: &tree }), &source).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.at.as_deref().unwrap_or_default()),
            ("gltf-uri", "/buffers/0/uri"),
            "{uri}"
        );
        assert_eq!(src.take_reads(), ["m.gltf"], "{uri}");
    }
}

#[test]
fn absent_content_is_named() {
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
    assert!(error.message.contains("10 are there"), "{error}");
}

#[test]
fn only_pictures_that_are_used_are_read() {
    let mut model = Model::triangle();
    for name in ["a.png", "b.JPG", "c"] {
        let image = model.push("images", json!({"uri": name, "name": format!("picture {name}")}));
        model.push("textures", json!({"source": image}));
    }
    model.push("materials", json!({"emissiveTexture": {"index": 1}}));
    model.push("materials", json!({"emissiveTexture": {"index": 2}}));
    model.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    let src = Mem::new();
    src.put("x/m.gltf", model.text(Some("m.bin")));
    src.put("x/m.bin", model.data.clone());
    src.put("x/b.JPG", "picture");
    let tree = src.walk(None).unwrap();
    let source = RelPath::new("x/m.gltf").unwrap();
    let found = gltf::import(&mut Inputs::new(SourceTree { fs: &src, tree: &tree }), &source).unwrap().value;
    assert_eq!(src.take_reads(), ["x/m.gltf", "x/m.bin", "x/b.JPG"]);
    assert_eq!(found.images.len(), 3);
    let image = &found.images[1];
    assert_eq!(
        (image.name.as_str(), image.extension.as_str(), image.path.as_str()),
        ("picture b.JPG", "jpg", "x/b.JPG")
    );
    assert_eq!(image.bytes, b"picture");
    assert!(found.images[0].bytes.is_empty() && found.images[2].bytes.is_empty());
}

#[test]
fn pictures_inside_the_file() {
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
