//! Looking inside a pak: `list --all`, `extract` and `report`.

use crate::Project;
use kiln_fault_injection::file_contents;
use serde_json::Value;

#[test]
fn list_all_shows_assets_without_keys_and_sizes_by_kind() {
    let project = Project::new();
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    let keyed = project.stdout_of(&["list", "a.pak"]);
    assert!(!keyed.contains("bitmap"), "{keyed}");
    let all = project.stdout_of(&["list", "a.pak", "--all"]);
    assert!(all.contains("bitmap      unnamed/bitmap-0"), "{all}");
    assert!(all.contains("1 asset, 1 without a key") && all.contains("\nindex "), "{all}");
    let json: Value =
        serde_json::from_str(&project.stdout_of(&["list", "a.pak", "--all", "--json"])).unwrap();
    assert_eq!(json["bytes"], std::fs::metadata(project.path("a.pak")).unwrap().len());
    let assets = json["assets"].as_array().unwrap();
    let bitmap = assets.iter().find(|asset| asset["kind"] == "bitmap").unwrap();
    assert_eq!((&bitmap["key"], &bitmap["id"]), (&Value::Null, &0.into()));
    let stored: u64 =
        json["kinds"].as_array().unwrap().iter().map(|kind| kind["stored"].as_u64().unwrap()).sum();
    assert_eq!(stored + json["index"].as_u64().unwrap(), json["bytes"].as_u64().unwrap());
}

#[test]
fn extract_writes_common_formats_and_raw_payloads() {
    let project = Project::new();
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, 3, 2);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&[0, 50, 100, 150, 200, 250]).unwrap();
    project.put("art/a.png", &png);
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    project.stdout_of(&["extract", "a.pak", "out"]);
    let read = |name: &str| std::fs::read(project.path(name)).unwrap();
    assert!(read("out/art/a.png").starts_with(b"\x89PNG"));
    let scene: Value = serde_json::from_slice(&read("out/art/level.scene.json")).unwrap();
    assert_eq!(scene["refs"][0]["materials"][0], "art/red");
    assert!(!project.path("out/unnamed").exists());
    project.stdout_of(&["extract", "a.pak", "all", "--all"]);
    let material: Value = serde_json::from_slice(&read("all/art/red.material.json")).unwrap();
    let color = material["color"].as_str().unwrap();
    assert!(read(&format!("all/{color}.png")).starts_with(b"\x89PNG"));
    project.stdout_of(&["extract", "a.pak", "raw", "--raw"]);
    let payload = read("raw/art/a.png.bitmap");
    assert_eq!((payload.len(), &payload[16..22]), (22, &[0, 50, 100, 150, 200, 250][..]));
    assert!(project.path("raw/art/level.scene").is_file() && project.path("raw/art/red.material").is_file());
}

#[test]
fn extract_escapes_reserved_and_dangerous_names() {
    let project = Project::new();
    for (key, file) in [
        ("con", "%63on"),
        ("~/x", "%7E/x"),
        (".git/hooks/pre-commit", "%2Egit/hooks/pre-commit"),
        ("a/nul.txt", "a/%6Eul.txt"),
    ] {
        project.put("evil.pak", file_contents::pak_with(key));
        project.stdout_of(&["extract", "evil.pak", "out"]);
        assert_eq!(std::fs::read(project.path(&format!("out/{file}"))).unwrap(), b"evil", "{key}");
    }
    let names: Vec<_> =
        std::fs::read_dir(project.path("out")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn report_shows_assets_and_growth() {
    let project = Project::new();
    project.put("art/model.obj.txt", "x");
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    let stdout = project.stdout_of(&["report", "a.pak"]);
    assert!(stdout.contains("a.report.html"), "{stdout}");
    let html = std::fs::read_to_string(project.path("a.report.html")).unwrap();
    for name in ["art/red.hmat", "unnamed/bitmap-0.ktx2", "art/notes.txt", "art/level"] {
        assert!(html.contains(&format!("\"path\":\"{name}\"")), "{name}");
    }
    assert!(html.contains("R8G8B8A8_SRGB"), "the material's bitmap is decoded");
    project.put("art/notes.txt", "shorter");
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    let stdout = project.stdout_of(&["report", "a.pak", "--out", "b.html", "--since", "a.report.html"]);
    assert!(stdout.contains("0 new, 1 changed, 0 removed"), "{stdout}");
    project.put("mine.html", "mine");
    let (code, _, err) = project.pak(&["report", "a.pak", "--out", "mine.html"]);
    assert!(code != 0 && err.contains("output-not-owned"), "{err}");
}

#[test]
fn sounds_are_checked_and_stored_unchanged() {
    let project = Project::new();
    let mut wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0".to_vec();
    wav.extend([0x44, 0xac, 0, 0, 0x10, 0xb1, 2, 0, 4, 0, 16, 0]);
    wav.extend(b"data\x40\0\0\0");
    wav.resize(wav.len() + 64, 9);
    project.put("art/gong.wav", &wav);
    project.put("art/gong.toml", "[sound]\n");
    project.put("art/raw.wav", "not a sound");
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    let info = project.stdout_of(&["info", "a.pak", "art/gong"]);
    assert!(info.contains("WAV, 2 channels, 44100 Hz"), "{info}");
    let pak = pak::PakBuf::open(project.path("a.pak")).unwrap();
    let sound = pak::Pak::read_sound(&pak, "art/gong").unwrap();
    assert_eq!((&*sound.bytes, sound.info.frames), (&wav[..], Some(16)));
    let error = pak::Pak::read_sound(&pak, "art/raw.wav").unwrap_err().to_string();
    assert!(error.contains("not an Ogg, MP3, WAV or FLAC file"), "{error}");
    project.put("art/gong.wav", &wav[..wav.len() - 1]);
    let (code, _, err) = project.pak(&["bake", "pak.toml", "a.pak"]);
    assert!(code == 1 && err.contains("pak-sound") && err.contains("truncated"), "{err}");
}
