//! Keys: every key resolves even if its content is deduplicated, and the pak contains no absolute path.

use crate::project::{Model, Project};
use pak::{Error, Kind, Overlay, Pak, PakBuf};

#[test]
fn deduplicates_equal_payloads_and_resolves_every_key() {
    let project = Project::new();
    for name in ["a", "b", "c"] {
        project.put(&format!("art/{name}.toml"), "[material]\ncolor = '#ff0000'\n");
        project.put(&format!("art/{name}.bin"), vec![7; 100_000]);
    }
    let pak = project.open();
    assert_eq!((pak.material_count(), pak.bitmap_count(), pak.blob_count()), (1, 1, 1));
    for name in ["a", "b", "c"] {
        assert!(pak.read_material(format!("art/{name}")).is_some(), "{name}");
        assert_eq!(*pak.read_blob(format!("art/{name}.bin")).unwrap(), vec![7; 100_000]);
    }
    assert!(pak.file_len() < 110_000, "stored once, not three times: {}", pak.file_len());
    assert_eq!(
        pak.keys().collect::<Vec<_>>(),
        ["art/a", "art/a.bin", "art/b", "art/b.bin", "art/c", "art/c.bin"]
    );
}

#[test]
fn bitmap_keeps_its_key_when_a_material_refers_to_it() {
    for [material, image] in [["a", "z"], ["z", "a"]] {
        let project = Project::new();
        project.png(&format!("art/{image}.png"), 1, 3, &[1, 2, 3]);
        project.put(&format!("art/{material}.toml"), format!("[material]\ncolor = '{image}.png'\n"));
        let pak = project.open();
        let info = pak.read_material(format!("art/{material}")).unwrap();
        assert_eq!(pak.bitmap_id(format!("art/{image}.png")), Some(info.color));
        assert_eq!(pak.bitmap_count(), 1);
    }
}

#[test]
fn keys_are_relative_paths_without_toml_extension() {
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.node(serde_json::json!({"mesh": mesh}), None);
    model.write(&project, "art/deep/m.gltf");
    project.put("art/deep/m.toml", "[mesh]\n");
    project.put("art/x.bin.toml", "[blob]\n");
    project.put("art/x.bin", "hello");
    project.put(
        "scene/s.toml",
        "[scene]\n[[scene.ref]]\nmesh = '../art/deep/m.toml'\nmaterials = ['/mat/red.toml']\n",
    );
    project.put("mat/red.toml", "[material]\ncolor = '#f00'\n");
    project.content("none", "['scene/*.toml', 'art/x.bin.toml']");
    let pak = project.open();
    assert_eq!(pak.keys().collect::<Vec<_>>(), ["art/deep/m", "art/x.bin", "mat/red", "scene/s"]);
    let here = project.dir.path().to_str().unwrap().as_bytes().to_vec();
    assert!(!project.bytes().windows(here.len()).any(|window| window == here));
}

#[test]
fn descriptions_may_have_an_extension_in_capitals() {
    let project = Project::new();
    project.png("src/A.png", 1, 1, &[9]);
    project.put("src/A.TOML", "[bitmap]\n");
    project.put("src/x.bin.Toml", "[blob]\n");
    project.put("src/x.bin", "hello");
    project.content("none", "['src/*.T*', 'src/*.Toml']");
    let pak = project.open();
    assert_eq!(pak.keys().collect::<Vec<_>>(), ["src/A", "src/x.bin"]);
    assert_eq!(pak.read_bitmap("src/A").unwrap().pixels(), [9]);
    assert_eq!(&*pak.read_blob("src/x.bin").unwrap(), b"hello");
}

#[test]
fn relative_and_absolute_content_paths_bake_equal_paks() {
    let project = Project::new();
    project.put("art/s.toml", "[scene]\n[[scene.ref]]\nmaterials = ['red.toml']\n");
    project.put("art/red.toml", "[material]\n");
    project.open();
    let absolute = project.bytes();
    // The folder of the content file is "" here, as it is for `bake("pak.toml")` in its own folder.
    let odd = project.path("./out/../pak.toml");
    pak::bake::Bake::new(odd, project.path("out/b.pak")).run().unwrap();
    assert_eq!(std::fs::read(project.path("out/b.pak")).unwrap(), absolute);
}

#[test]
fn distinguishes_wrong_kind_from_unknown_key() {
    let project = Project::new();
    project.put("art/a.bin", "x");
    let pak = project.open();
    assert_eq!(pak.mesh_id("art/a.bin"), None);
    let Err(Error::NotFound { kind: Kind::Mesh, found: Some(Kind::Blob), .. }) = pak.read_mesh("art/a.bin")
    else {
        panic!("a blob was read as a mesh");
    };
    let error = pak.read_blob("art/b.bin").unwrap_err();
    assert_eq!(error.to_string(), "the pak has no blob with the key \"art/b.bin\"");
    assert!(pak.read_blob_id(1usize).is_err());
}

#[test]
fn rejects_duplicate_keys_naming_both_files() {
    let project = Project::new();
    project.png("art/a.png", 1, 3, &[1, 2, 3]);
    project.put("art/a.png.toml", "[bitmap]\n");
    let error = project.error();
    assert!(
        error.contains("pak-key")
            && error.contains("art/a.png.toml")
            && error.contains("also the key of art/a.png"),
        "{error}"
    );
}

#[test]
fn overlays_replace_assets_and_redirect_references() {
    let (base, patch) = (Project::new(), Project::new());
    base.put("art/s.toml", "[scene]\n[[scene.ref]]\nid = 'a'\nmaterials = ['m.toml', 'n.toml']\n");
    base.put("art/m.toml", "[material]\ncolor = '#ff0000'\n");
    base.put("art/n.toml", "[material]\ncolor = '#0000ff'\n");
    base.put("art/x.bin", "old");
    patch.put("art/m.toml", "[material]\ncolor = '#00ff00'\n");
    patch.put("art/x.bin", "new");
    patch.put("art/y.bin", "more");
    let mut overlay = Overlay::new();
    overlay.push(base.open());
    overlay.push(patch.open());
    assert_eq!(overlay.keys().collect::<Vec<_>>(), ["art/m", "art/n", "art/s", "art/x.bin", "art/y.bin"]);
    assert_eq!(*overlay.read_blob("art/x.bin").unwrap(), *b"new");
    assert_eq!(*overlay.read_blob("art/y.bin").unwrap(), *b"more");
    assert_eq!(*overlay.read_blob_id(0usize).unwrap(), *b"old", "ids of the first pak come first");
    let scene = overlay.read_scene("art/s").unwrap();
    let materials = scene.refs().next().unwrap().materials();
    let color = |n: usize| {
        let info = overlay.read_material_id(materials[n]).unwrap();
        overlay.read_bitmap_id(info.color).unwrap().pixels().to_vec()
    };
    assert_eq!((color(0), color(1)), (vec![0, 255, 0, 255], vec![0, 0, 255, 255]));
    assert!(overlay.read_mesh("art/m").is_err());
    overlay.replace(1, base.open());
    assert_eq!(*overlay.read_blob("art/x.bin").unwrap(), *b"old");
}

#[test]
fn streams_and_bytes_read_equal_content() {
    let project = Project::new();
    let content: Vec<u8> = (0..3_000_000u32).map(|n| (n / 1000) as u8).collect();
    project.put("art/a.bin", &content);
    for codec in ["none", "snap", "brotli", "zstd", "lz4"] {
        project.content(codec, "['art/*']");
        let mapped = project.open();
        let bytes: &'static [u8] = project.bytes().leak();
        let paks = [
            mapped,
            PakBuf::from_bytes(bytes).unwrap(),
            PakBuf::try_from(bytes).unwrap(),
            PakBuf::from_stream(std::io::Cursor::new(bytes)).unwrap(),
            PakBuf::from_stream(std::fs::File::open(project.path("out/a.pak")).unwrap()).unwrap(),
        ];
        for pak in &paks {
            assert!(*pak.read_blob("art/a.bin").unwrap() == *content, "{codec}");
            use std::io::{Read, Seek, SeekFrom};
            let mut stream = pak.stream_blob("art/a.bin").unwrap();
            assert_eq!(stream.len(), 3_000_000);
            stream.seek(SeekFrom::Start(1_048_570)).unwrap();
            let mut part = [0; 20];
            stream.read_exact(&mut part).unwrap();
            assert_eq!(part, content[1_048_570..1_048_590], "across a block boundary");
            stream.seek(SeekFrom::End(-3)).unwrap();
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).unwrap();
            assert_eq!(rest, content[2_999_997..]);
            assert!(pak.validate_hash().unwrap());
        }
        assert_eq!(paks[0].read_blob("art/a.bin").unwrap().is_in_place(), codec == "none");
    }
}

#[test]
fn identity_is_equal_for_equal_assets_across_paks() {
    let (a, b) = (Project::new(), Project::new());
    for project in [&a, &b] {
        project.png("src/p.png", 1, 1, &[7]);
        project.put("src/f.fnt", "page id=0 file=\"p.png\"\n");
        project.put("art/f.toml", "[bitmap-font]\nsrc = '/src/f.fnt'\n");
        project.put("art/m.toml", "[material]\ncolor = '/src/p.png'\n");
        project.put("art/n.toml", "[material]\ncolor = '#fff'\n");
        project.put("art/s.toml", "[scene]\n[[scene.ref]]\nmaterials = ['m.toml']\n");
        project.put("art/x.bin", "x");
    }
    // Only the ids change.
    b.png("art/a.png", 1, 1, &[1]);
    b.put("art/a.bin", "a");
    let old = a.open();
    let differing = |new: PakBuf| -> Vec<String> {
        let entries = old.entries().filter(|was| {
            let now = new.entries().find(|now| now.key == was.key).unwrap();
            old.identity(was.kind, was.id) != new.identity(now.kind, now.id)
        });
        entries.map(|entry| entry.key.to_owned()).collect()
    };
    assert_eq!(differing(b.open()), [""; 0]);
    b.put("art/s.toml", "[scene]\n[[scene.ref]]\nmaterials = ['n.toml']\n");
    assert_eq!(differing(b.open()), ["art/s"], "the payload is equal, but its references differ");
    b.put("art/s.toml", "[scene]\n[[scene.ref]]\nmaterials = ['m.toml']\n");
    b.png("src/p.png", 1, 1, &[8]);
    assert_eq!(differing(b.open()), ["art/f", "art/m", "art/s"]);
}

#[test]
fn reads_from_many_threads() {
    fn is<T: Send + Sync>() {}
    is::<PakBuf>();
    is::<Overlay>();
}
