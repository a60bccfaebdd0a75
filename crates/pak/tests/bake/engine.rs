//! The bake as a whole: determinism, incremental bakes, and the list of source files.

use crate::project::{Model, Project};
use pak::bake::{Bake, DevPak};
use pak::{Overlay, Pak, PakBuf};
use serde_json::json;
use std::collections::BTreeSet;

/// Writes sources of every kind.
fn corpus(project: &Project) {
    let mut model = Model::new();
    let (a, b) = (model.grid("A", 30), model.triangle("B"));
    model.node(json!({"mesh": a, "name": "one"}), None);
    model.node(json!({"mesh": b, "name": "two"}), None);
    let times = model.floats("SCALAR", &[0.0, 1.0]);
    let places = model.floats("VEC3", &[0.0; 6]);
    model.json["animations"] = json!([{"channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
        "samplers": [{"input": times, "output": places}]}]);
    model.write(project, "art/m.gltf");
    project.put("art/m.toml", "[mesh]\nlod = true\nshadow = true\nmeshlets = true\n");
    project.put("art/walk.toml", "[animation]\nsrc = 'm.gltf'\n");
    let texels: Vec<u8> = (0..64 * 64 * 3).map(|n: u32| (n * n / 7) as u8).collect();
    for n in 0..6 {
        project.png(
            &format!("art/p{n}.png"),
            64,
            3,
            &texels[n..].iter().chain(&texels[..n]).copied().collect::<Vec<_>>(),
        );
        project.put(
            &format!("art/m{n}.toml"),
            format!(
                "[material]\ncolor = 'p{n}.png'\nmetal = 'p{}.png'\nnormal = 'p{n}.png'\nrough = 0.5\n",
                (n + 1) % 6
            ),
        );
    }
    project
        .put("art/s.toml", "[scene]\n[[scene.ref]]\nmesh = 'm.toml'\nmaterials = ['m1.toml', 'm2.toml']\n");
    project.put("art/big.bin", (0..2_500_000u32).map(|n| (n / 999) as u8).collect::<Vec<_>>());
    project.put("art/f.fnt", "page id=0 file=\"p0.png\"\n");
    project.put("art/f.toml", "[bitmap-font]\n");
}

#[test]
fn bakes_are_deterministic_across_threads_and_directories() {
    let mut hashes = BTreeSet::new();
    for n in 0..20 {
        let project = Project::new();
        corpus(&project);
        project.content("snap", "['art/*.toml', 'art/*.png', 'art/*.bin']");
        let bake =
            Bake::new(project.path("pak.toml"), project.path(&format!("out{n}/x.pak"))).jobs(1 + n % 4);
        bake.run().unwrap();
        hashes.insert(std::fs::read(project.path(&format!("out{n}/x.pak"))).unwrap());
    }
    assert_eq!(hashes.len(), 1);
}

#[test]
fn bakes_changed_assets_only_and_reports_the_reason() {
    let project = Project::new();
    corpus(&project);
    project.content("zstd", "['art/*']");
    let cold = project.bake().unwrap();
    assert!(!cold.unchanged && cold.built() == cold.assets.len() && cold.built() > 10);
    let cold_bytes = project.bytes();
    let warm = project.bake().unwrap();
    assert!(warm.unchanged && warm.built() == 0);

    // One setting and one image.
    project.put("art/m.toml", "[mesh]\nlod = true\nshadow = true\n");
    project.png("art/p3.png", 1, 3, &[1, 2, 3]);
    let edited = project.bake().unwrap();
    let why: Vec<String> = edited
        .assets
        .iter()
        .filter_map(|asset| Some(format!("{}: {}", asset.name, asset.reason.as_ref()?)))
        .collect();
    assert!(why.iter().any(|line| line.starts_with("art/m.toml: ") && line.contains("meshlets")), "{why:?}");
    assert!(why.iter().any(|line| line.contains("art/p3.png changed")), "{why:?}");
    assert!(why.len() < 7, "{why:?}");
    let edited_bytes = project.bytes();

    // An incremental bake equals a clean one.
    Bake::new(project.path("pak.toml"), project.path("out/a.pak")).force(true).run().unwrap();
    assert_eq!(project.bytes(), edited_bytes);
    // Reverting the edit restores the bytes.
    corpus(&project);
    project.open();
    assert_eq!(project.bytes(), cold_bytes);
    // Removing a description removes its key.
    std::fs::remove_file(project.path("art/walk.toml")).unwrap();
    assert_eq!(project.open().animation_count(), 0);
}

#[test]
fn rebakes_a_missing_or_damaged_pak() {
    let project = Project::new();
    corpus(&project);
    project.open();
    let good = project.bytes();
    let mut damaged = good.clone();
    damaged[5000] ^= 1;
    for bad in [None, Some(&damaged[..]), Some(&good[..4000]), Some(b"x")] {
        match bad {
            None => std::fs::remove_file(project.path("out/a.pak")).unwrap(),
            Some(bytes) => std::fs::write(project.path("out/a.pak"), bytes).unwrap(),
        }
        let baked = project.bake().unwrap();
        assert!(!baked.unchanged);
        assert_eq!(project.bytes(), good);
    }
    // The right file was restored: nothing has to be baked.
    std::fs::write(project.path("out/a.pak"), &good).unwrap();
    assert_eq!(project.bake().unwrap().built(), 0);
    assert_eq!(project.bytes(), good);
}

/// An empty asset has no stored bytes that could be missing.
#[test]
fn empty_asset_survives_a_missing_pak() {
    let project = Project::new();
    project.put("art/empty.txt", "");
    project.put("art/full.txt", "x");
    project.open();
    let good = project.bytes();
    std::fs::remove_file(project.path("out/a.pak")).unwrap();
    project.open();
    assert_eq!(project.bytes(), good);
}

#[test]
fn source_files_lists_every_file_read() {
    let project = Project::new();
    corpus(&project);
    project.content("none", "['art/s.toml', 'art/f.toml', 'art/walk.toml']");
    let files = PakBuf::source_files(project.path("pak.toml")).unwrap();
    let names: Vec<String> = files
        .iter()
        .map(|path| path.strip_prefix(project.dir.path()).unwrap().to_str().unwrap().to_owned())
        .collect();
    let expected = [
        "art/f.fnt",
        "art/f.toml",
        "art/m.bin",
        "art/m.gltf",
        "art/m.toml",
        "art/m1.toml",
        "art/m2.toml",
        "art/p0.png",
        "art/p1.png",
        "art/p2.png",
        "art/p3.png",
        "art/s.toml",
        "art/walk.toml",
        "pak.toml",
    ];
    assert_eq!(names, expected);
    let animations = PakBuf::source_animations(project.path("pak.toml")).unwrap();
    assert_eq!(animations.len(), 1);
    assert_eq!(
        (animations[0].key.as_str(), &animations[0].source_path),
        ("art/walk", &project.path("art/m.gltf"))
    );
}

#[test]
fn dir_changes_keys_and_paths() {
    let project = Project::new();
    project.put("conf/pak.toml", "[content]\n[[content.group]]\nassets = ['x.bin']\n");
    project.put("art/x.bin", "hello");
    PakBuf::bake_with_dir(project.path("conf/pak.toml"), project.path("o.pak"), project.path("art")).unwrap();
    let pak = PakBuf::open(project.path("o.pak")).unwrap();
    assert_eq!(pak.keys().collect::<Vec<_>>(), ["x.bin"]);
    assert_eq!(*pak.read_blob("x.bin").unwrap(), *b"hello");
}

#[test]
fn pak_in_the_source_directory_is_not_an_asset() {
    let project = Project::new();
    project.content("none", "['**/*']");
    project.put("a.bin", "x");
    for _ in 0..2 {
        Bake::new(project.path("pak.toml"), project.path("a.pak")).run().unwrap();
        let pak = PakBuf::open(project.path("a.pak")).unwrap();
        assert_eq!(pak.keys().collect::<Vec<_>>(), ["a.bin"]);
    }
}

#[test]
fn dev_pak_rebakes_changed_sources() {
    let project = Project::new();
    project.put("art/a.bin", "one");
    let mut dev_pak = DevPak::open(project.path("pak.toml"), project.path("out/l.pak")).unwrap();
    let old = dev_pak.pak();
    assert_eq!(*old.read_blob("art/a.bin").unwrap(), *b"one");
    assert!(dev_pak.refresh().unwrap().unchanged);
    project.put("art/a.bin", "two!");
    assert_eq!(dev_pak.refresh().unwrap().built(), 1);
    assert_eq!(*dev_pak.pak().read_blob("art/a.bin").unwrap(), *b"two!");
    assert_eq!(
        *old.read_blob("art/a.bin").unwrap(),
        *b"one",
        "a pak that is already open keeps the old file"
    );

    // As the top layer over the shipped pak, it overrides assets during development.
    let mut overlay = Overlay::new();
    overlay.push(old);
    overlay.push(dev_pak.pak());
    assert_eq!(*overlay.read_blob("art/a.bin").unwrap(), *b"two!");
    project.put("art/a.bin", "three");
    dev_pak.refresh().unwrap();
    overlay.replace(1, dev_pak.pak());
    assert_eq!(*overlay.read_blob("art/a.bin").unwrap(), *b"three");
}

#[test]
fn stores_compressed_file_formats_uncompressed() {
    let project = Project::new();
    let zeros = vec![0; 50_000];
    for name in ["a.ogg", "b.MP3", "c.jpg.blob", "d.ktx2", "e.wav"] {
        project.put(&format!("art/{name}"), &zeros);
    }
    project.content("brotli", "['art/*']");
    let pak = project.open();
    for entry in pak.entries() {
        let left = entry.key.ends_with("ogg") || entry.key.ends_with("MP3") || entry.key.ends_with("ktx2");
        assert_eq!(entry.stored_len == entry.len, left, "{}", entry.key);
    }
    assert_eq!(pak.blob_count(), 2, "equal content with equal compression is stored once");
}

#[test]
fn bakes_inside_an_async_runtime() {
    let project = Project::new();
    corpus(&project);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (toml, out) = (project.path("pak.toml"), project.path("out/a.pak"));
    runtime.block_on(async { PakBuf::bake(&toml, &out) }).unwrap();
    let inside = project.bytes();
    let spawned = runtime.spawn(async move { Bake::new(toml, out).force(true).run().map(|_| ()) });
    runtime.block_on(spawned).unwrap().unwrap();
    assert_eq!(project.bytes(), inside);
}

#[test]
fn groups_override_compression() {
    let project = Project::new();
    project.put("art/a.bin", vec![1; 9000]);
    project.put("art/b.dat", vec![2; 9000]);
    project.put(
        "pak.toml",
        "[content]\ncompression = 'snap'\n[[content.group]]\nassets = ['art/*.bin']\n\
         [[content.group]]\nassets = ['art/*.dat']\ncompression = 'lz4'\n",
    );
    let pak = project.open();
    let codecs: Vec<_> = pak.entries().map(|e| e.codec.name()).collect();
    assert_eq!(codecs, ["snap", "lz4"]);
}
