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

/// `info`, `list --long`, `extract` and `report` know the block formats.
#[test]
fn block_formats_are_shown_and_extracted() {
    let project = Project::new();
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, 8, 4);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&[90; 96]).unwrap();
    project.put("src/a.png", &png);
    project.put("art/a.toml", "[bitmap]\nsrc = '/src/a.png'\ncompression = 'bc1'\nmip-levels = true\n");
    project.put("art/m.toml", "[material]\nnormal = { src = '/src/a.png', compression = 'desktop' }\n");
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    let info = project.stdout_of(&["info", "a.pak", "art/a"]);
    for line in [
        "size: 8 x 4",
        "texels: BC1_RGBA_SRGB_BLOCK, 8 bytes per block",
        "mip levels: 4",
        "mip level: 0: 8 x 4, 16 bytes",
        "mip level: 3: 1 x 1, 8 bytes",
    ] {
        assert!(info.contains(line), "{line}: {info}");
    }
    let json: Value =
        serde_json::from_str(&project.stdout_of(&["inspect", "a.pak", "art/a", "--json"])).unwrap();
    let fact = |name: &str| {
        let facts = json["facts"].as_array().unwrap();
        facts.iter().find(|fact| fact["name"] == name).unwrap()["value"].clone()
    };
    assert_eq!((&fact("texels")["vk_format"], &fact("texels")["block_len"]), (&134.into(), &8.into()));
    assert_eq!(fact("mip level")["bytes"], 16);
    let list = project.stdout_of(&["list", "a.pak", "--long"]);
    assert!(list.contains("8 x 4; BC1_RGBA_SRGB_BLOCK, 8 bytes per block"), "{list}");
    let all: Value =
        serde_json::from_str(&project.stdout_of(&["list", "a.pak", "--all", "--long", "--json"])).unwrap();
    let assets = all["assets"].as_array().unwrap();
    let formats: Vec<_> = assets.iter().map(|asset| asset["facts"][1]["value"]["format"].clone()).collect();
    let normal = formats.iter().position(|format| format == "BC5_UNORM_BLOCK").expect("the normal map");
    let name = format!("unnamed/bitmap-{}", assets[normal]["id"]);
    assert!(project.stdout_of(&["info", "a.pak", &name]).contains("BC5_UNORM_BLOCK, 16 bytes per block"));
    project.stdout_of(&["extract", "a.pak", "out"]);
    let file = std::fs::read(project.path("out/art/a.ktx2")).unwrap();
    let view = kiln_format::ktx2::Ktx2View::read(&file).unwrap();
    assert_eq!((view.vk_format(), view.level_count()), (134, 4));
    project.stdout_of(&["report", "a.pak"]);
    let html = std::fs::read_to_string(project.path("a.report.html")).unwrap();
    assert!(html.contains("BC1_RGBA_SRGB_BLOCK") && html.contains("BC5_UNORM_BLOCK"));
    assert!(project.stdout_of(&["verify", "a.pak"]).contains("ok"));
}

#[test]
fn info_shows_the_vertex_layout() {
    let project = Project::new();
    let floats = [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let bytes: Vec<u8> = floats.iter().flat_map(|v| v.to_le_bytes()).collect();
    project.put("src/t.bin", bytes);
    project.put(
        "src/t.gltf",
        r#"{"asset":{"version":"2.0"},"buffers":[{"uri":"t.bin","byteLength":36}],
        "bufferViews":[{"buffer":0,"byteLength":36}],
        "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"nodes":[{"mesh":0}],"scenes":[{"nodes":[0]}]}"#,
    );
    project.put("art/t.toml", "[mesh]\nsrc = '/src/t.gltf'\n");
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    let info = project.stdout_of(&["info", "a.pak", "art/t"]);
    let layout = "vertex layout: Position Float32x3 at 0, Normal Float32x3 at 12";
    assert!(info.contains(layout) && info.contains("3 vertices of 24 bytes"), "{info}");
    let json: Value =
        serde_json::from_str(&project.stdout_of(&["info", "a.pak", "art/t", "--json"])).unwrap();
    let facts = json["facts"].as_array().unwrap();
    let layout = facts.iter().find(|fact| fact["name"] == "vertex layout").unwrap();
    assert_eq!(layout["value"]["attributes"][1]["offset"], 12);
    assert_eq!(facts.iter().find(|fact| fact["name"] == "main").unwrap()["value"]["triangles"][0], 1);
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

/// The names of `list --all` are those of every other command, and all that are unknown are reported.
#[test]
fn assets_without_keys_are_extracted_by_name() {
    let project = Project::new();
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    project.stdout_of(&["extract", "a.pak", "out", "unnamed/bitmap-0", "art/red", "art/red"]);
    assert!(project.path("out/unnamed/bitmap-0.png").is_file());
    assert!(project.path("out/art/red.material.json").is_file());
    assert!(!project.path("out/art/notes.txt").exists(), "only what was named");
    let (code, _, err) = project.pak(&["extract", "a.pak", "more", "art/rad", "art/red", "unnamed/mesh-0"]);
    assert_eq!(code, 2);
    assert!(err.contains("no key \"art/rad\"") && err.contains("did you mean \"art/red\"?"), "{err}");
    assert!(err.contains("no key \"unnamed/mesh-0\""), "{err}");
    assert!(!project.path("more").exists());
}

#[test]
fn damaged_assets_are_named_once() {
    let project = Project::new();
    let content = crate::ship::noise(1, 1000);
    project.put("art/blob.bin", &content);
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    let original = std::fs::read(project.path("a.pak")).unwrap();
    let pak = pak::PakBuf::from_bytes(&original).unwrap();
    let blob = original.windows(1000).position(|bytes| bytes == content).unwrap();
    // The payload of the only bitmap, a texel, is behind the header: it is without a key.
    assert_eq!(pak.count(pak::Kind::Bitmap), 1);
    for (at, name) in [(blob + 500, "art/blob.bin"), (70, "unnamed/bitmap-0")] {
        let mut damaged = original.clone();
        damaged[at] ^= 1;
        project.put("bad.pak", &damaged);
        let place = format!("bad.pak: {name}: block 0 is damaged: checksum mismatch");
        for command in
            [&["verify", "bad.pak"][..], &["info", "bad.pak", name], &["extract", "bad.pak", "out", name]]
        {
            let (code, _, err) = project.pak(command);
            assert!(code == 1 && err.contains(&place), "{command:?}: {err}");
        }
        let (_, json, _) = project.pak(&["verify", "bad.pak", "--json"]);
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["damaged"], serde_json::json!([name]));
    }
    project.put("short.pak", &original[..original.len() - 100]);
    let (code, _, err) = project.pak(&["verify", "short.pak"]);
    let needed = format!(
        "the pak at byte 0 needs {} bytes, but the file has {}",
        original.len(),
        original.len() - 100
    );
    assert!(code == 1 && err.contains("unexpected end of file") && err.contains(&needed), "{err}");
    project.put("long.pak", [&original[..], b"tail"].concat());
    let (code, _, err) = project.pak(&["verify", "long.pak"]);
    assert!(code == 1 && err.contains("has 4 bytes more"), "{err}");
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
