//! The up-to-date check: an unchanged project bakes nothing, and every change of an input is detected.

use crate::project::{Model, Project};
use kiln_engine::{Event, Events};
use pak::Pak;
use pak::bake::{Bake, Baked};
use serde_json::json;
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};

/// Records whether the engine judged assets one by one.
#[derive(Default)]
struct Judged(AtomicBool);

impl Events for Judged {
    fn on(&self, event: Event<'_>) {
        self.0.fetch_or(matches!(event, Event::Judged { .. }), Ordering::Relaxed);
    }
}

/// Bakes; returns the report and whether the engine judged any asset.
fn bake(project: &Project) -> (Baked, bool) {
    let judged = Judged::default();
    let baked = Bake::new(project.path("pak.toml"), project.path("out/a.pak")).events(&judged).run();
    (baked.unwrap(), judged.0.into_inner())
}

/// Creates a project with a material and its image, a model with an external buffer, and two files.
fn project() -> Project {
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.triangle("m");
    model.node(json!({"mesh": mesh}), None);
    model.write(&project, "src/m.gltf");
    project.png("src/p.png", 1, 3, &[1, 2, 3]);
    project.put("art/m.toml", "[mesh]\nsrc = '/src/m.gltf'\n");
    project.put("art/red.toml", "[material]\ncolor = '/src/p.png'\n");
    project.put("art/a.bin", "one");
    project.put("art/b.bin", "two");
    project
}

#[test]
fn up_to_date_bake_runs_no_action_and_repeats_warnings() {
    let project = project();
    let (cold, looked) = bake(&project);
    assert!(looked && !cold.unchanged);
    let bytes = project.bytes();
    for _ in 0..3 {
        let (warm, looked) = bake(&project);
        assert!(warm.unchanged && !looked && warm.built() == 0);
        assert_eq!((warm.keys, warm.file_len), (cold.keys, cold.file_len));
        let names = |baked: &Baked| baked.assets.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&warm), names(&cold));
        assert_eq!(warm.warnings, cold.warnings);
        assert_eq!(project.bytes(), bytes);
    }
    // A file that is touched but not changed is hashed once, and then up to date again.
    File::options()
        .append(true)
        .open(project.path("art/a.bin"))
        .unwrap()
        .set_modified(std::time::UNIX_EPOCH)
        .unwrap();
    for _ in 0..2 {
        let (touched, looked) = bake(&project);
        assert!(touched.unchanged && !looked);
    }
}

#[test]
fn detects_edits_with_equal_timestamp_and_size() {
    let project = project();
    let path = project.path("art/a.bin");
    for round in 0..40 {
        let text = format!("{:03}", round);
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        project.put("art/a.bin", &text);
        // Every other edit restores the mtime.
        if round % 2 == 0 {
            File::options().append(true).open(&path).unwrap().set_modified(before).unwrap();
        }
        let pak = project.open();
        assert_eq!(*pak.read_blob("art/a.bin").unwrap(), *text.as_bytes());
    }
}

#[test]
fn detects_changes_of_every_input() {
    let project = project();
    let fresh = |what: &str| {
        let (baked, _) = bake(&project);
        assert!(!baked.unchanged, "{what}");
        let bytes = project.bytes();
        Bake::new(project.path("pak.toml"), project.path("fresh/a.pak")).force(true).run().unwrap();
        assert_eq!(bytes, fs::read(project.path("fresh/a.pak")).unwrap(), "{what}");
        assert!(bake(&project).0.unchanged, "{what}");
    };
    fresh("the first time");
    project.png("src/p.png", 1, 3, &[1, 2, 4]);
    fresh("an image that only a material uses");
    let mut bin = fs::read(project.path("src/m.bin")).unwrap();
    bin[..4].copy_from_slice(&0.5f32.to_le_bytes());
    project.put("src/m.bin", bin);
    fresh("the buffer of a model");
    project.put("art/red.toml", "[material]\ncolor = '/src/p.png'\nmetal = 1\n");
    fresh("a description");
    project.put("art/c.bin", "three");
    fresh("a new file that a pattern matches");
    fs::rename(project.path("art/c.bin"), project.path("art/d.bin")).unwrap();
    fresh("another name");
    fs::remove_file(project.path("art/d.bin")).unwrap();
    fresh("a removed file");
    for ext in ["gltf", "bin"] {
        fs::copy(project.path(&format!("src/m.{ext}")), project.path(&format!("art/m.{ext}"))).unwrap();
    }
    project.put("art/m.toml", "[mesh]\n");
    fresh("a model found by its name");
    project.put("art/m.glb", "no model");
    assert!(project.error().contains("art/m.glb"), "one that is found before it: {}", project.error());
    fs::remove_file(project.path("art/m.glb")).unwrap();
    project.put("pak.toml", "[content]\ncompression = 'snap'\n[[content.group]]\nassets = ['art/*.bin']\n");
    fresh("the content file");
}

#[test]
fn reports_a_removed_source() {
    let project = project();
    bake(&project);
    let bytes = project.bytes();
    fs::remove_file(project.path("src/m.bin")).unwrap();
    assert!(project.error().contains("src/m.bin"), "{}", project.error());
    fs::remove_file(project.path("src/p.png")).unwrap();
    assert!(project.error().contains("the file src/p.png does not exist"), "{}", project.error());
    assert_eq!(project.bytes(), bytes, "the old file stays");
}

#[test]
fn reuses_payloads_after_a_failed_bake() {
    let project = project();
    bake(&project);
    let (bytes, good) = (project.bytes(), fs::read(project.path("src/p.png")).unwrap());
    project.put("src/p.png", "not an image");
    project.put("art/b.bin", "new");
    project.error();
    project.put("src/p.png", &good);
    project.put("art/b.bin", "two");
    let (back, looked) = bake(&project);
    assert!(back.unchanged && !looked);
    assert_eq!(project.bytes(), bytes);
}

#[test]
fn rewrites_a_modified_pak() {
    let project = project();
    bake(&project);
    let good = project.bytes();
    let path = project.path("out/a.pak");
    for at in [10, 70, good.len() - 3] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let age = fs::metadata(&path).unwrap().modified().unwrap();
        fs::write(&path, &bad).unwrap();
        File::options().append(true).open(&path).unwrap().set_modified(age).unwrap();
        assert!(!bake(&project).0.unchanged);
        assert_eq!(project.bytes(), good);
    }
    fs::remove_file(&path).unwrap();
    assert!(!bake(&project).0.unchanged);
    assert_eq!(project.bytes(), good);
}

#[cfg(unix)]
#[test]
fn detects_a_retargeted_symlink() {
    let project = project();
    project.put("src/one", "11");
    project.put("src/two", "22");
    let turn = |to: &str| {
        let _ = fs::remove_file(project.path("art/link.bin"));
        std::os::unix::fs::symlink(project.path(to), project.path("art/link.bin")).unwrap();
        project.open().read_blob("art/link.bin").unwrap().to_vec()
    };
    assert_eq!(turn("src/one"), b"11");
    assert_eq!(turn("src/two"), b"22");
    assert_eq!(turn("src/one"), b"11");
}
