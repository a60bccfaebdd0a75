//! `--stats` and `budget:`.

use crate::project::{Project, png, test_image};

/// A normal map that tilts by up to 45 degrees.
fn normal_map() -> Vec<u8> {
    let texel = |i: u32| [(128 + (i * 7) % 90 - 45) as u8, (128 + (i * 5) % 90 - 45) as u8, 200, 255];
    png(16, 16, png::ColorType::Rgba, &(0..256).flat_map(texel).collect::<Vec<u8>>())
}

#[test]
fn stats_have_sizes_memory_errors_and_times() {
    let p = Project::new();
    p.write("assets/a.png", test_image(16, 16, 1)).write("assets/b.n.png", normal_map());
    p.write("assets/exact.png", test_image(16, 16, 2)).write("assets/small.png", test_image(32, 32, 3));
    let rules = "{match: exact.png, texture: {compress: false}}, {match: small.png, texture: {max_size: 8}}";
    p.write("assetc.yml", format!("default: {{rules: [{rules}]}}\n"));
    let json = p.run(&["--json", "--stats"]).expect(0).json();
    let stats = &json["stats"];
    let asset = |name: &str| {
        let assets = stats["assets"].as_array().unwrap();
        assets.iter().find(|asset| asset["source"] == name).unwrap()
    };
    let a = asset("a.png");
    assert_eq!(a["source_bytes"], p.read("assets/a.png").len());
    assert_eq!(a["disk_bytes"], p.read("runtime/a.ktx2").len());
    // 16 + 4 + 1 + 1 + 1 blocks of 16 bytes.
    assert_eq!(a["gpu_bytes"]["UASTC LDR 4x4 sRGB"], 23 * 16);
    let psnr = a["error"]["psnr_db"].as_f64().unwrap();
    assert!((20.0..70.0).contains(&psnr), "{psnr}");
    assert!(a["time_ms"].is_u64());
    let normal = &asset("b.n.png")["error"];
    let (mean, max) = (normal["mean_degrees"].as_f64().unwrap(), normal["max_degrees"].as_f64().unwrap());
    assert!(mean > 0.0 && mean < max && max < 45.0, "{normal}");
    assert!(asset("exact.png")["error"]["psnr_db"].is_null() && asset("exact.png")["error"].is_object());
    let small = asset("small.png")["error"]["psnr_db"].as_f64().unwrap();
    assert!((20.0..80.0).contains(&small), "compared with the downscaled image: {small}");
    let total: u64 =
        stats["assets"].as_array().unwrap().iter().map(|a| a["disk_bytes"].as_u64().unwrap()).sum();
    assert_eq!(stats["total"]["disk_bytes"], total);

    let text = p.run(&["--stats"]).expect(0).stdout;
    for expected in
        ["encode error", " dB", "° mean, ", "lossless", "\ntotal ", "transcoded to BC7 or ASTC 4x4"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!p.run(&[]).expect(0).stdout.contains("encode error"));
}

#[test]
fn stats_measure_the_error_of_the_decoded_texture() {
    let p = Project::new();
    p.write("assets/a.png", test_image(16, 16, 1));
    let json = p.run(&["--json", "--stats"]).expect(0).json();
    p.run(&["extract", "runtime/a.ktx2", "-o", "a.png"]).expect(0);
    let read = |path: &str| {
        let mut reader = png::Decoder::new(std::io::Cursor::new(p.read(path))).read_info().unwrap();
        let mut samples = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut samples).unwrap();
        samples
    };
    let (source, decoded) = (read("assets/a.png"), read("a.png"));
    let squares: f64 = source.iter().zip(&decoded).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    let psnr = 10.0 * (255.0f64.powi(2) / (squares / source.len() as f64)).log10();
    let measured = json["stats"]["assets"][0]["error"]["psnr_db"].as_f64().unwrap();
    assert!((psnr - measured).abs() < 1e-6, "{psnr} {measured}");
}

#[test]
fn stats_honour_the_settings_and_measure_every_texture() {
    let p = Project::new();
    let flat = |texel: [u8; 4]| png(8, 8, png::ColorType::Rgba, &texel.repeat(64));
    p.write("assets/flipped.n.png", normal_map())
        .write("assets/swizzled.png", flat([10, 80, 200, 255]))
        .write("assets/ao.png", flat([40, 40, 40, 255]))
        .write("assets/orm.tex", "r: ao.png\ng: 0.5\n")
        .write("assets/l.array/0.png", test_image(8, 8, 1))
        .write("assets/m.mtl", "newmtl m\nmap_Kd color.png\nnorm bump.png\n")
        .write("assets/color.png", test_image(16, 16, 4))
        .write("assets/bump.png", normal_map())
        .write(
            "assets/m.obj",
            "mtllib m.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n",
        );
    let rules = "{match: flipped.n.png, texture: {flip_green: true}}, {match: swizzled.png, texture: {swizzle: bgra}}";
    p.write("assetc.yml", format!("default: {{rules: [{rules}]}}\n"));
    let json = p.run(&["--json", "--stats"]).expect(0).json();
    let assets = json["stats"]["assets"].as_array().unwrap();
    let asset = |name: &str| assets.iter().find(|asset| asset["source"] == name).unwrap();
    let mean = asset("flipped.n.png")["error"]["mean_degrees"].as_f64().unwrap();
    assert!(mean < 5.0, "{mean}");
    for name in ["swizzled.png", "orm.tex", "l.array", "color.png"] {
        let error = &asset(name)["error"];
        assert!(error.is_object() && error["psnr_db"].as_f64().is_none_or(|db| db > 30.0), "{name} {error}");
    }
    let textures = asset("m.obj")["textures"].as_array().unwrap();
    assert_eq!(textures.len(), 2, "{textures:?}");
    assert!(textures.iter().any(|texture| texture["error"]["mean_degrees"].is_f64()), "{textures:?}");
    assert!(asset("m.obj")["error"]["psnr_db"].as_f64().unwrap() > 20.0);
    let text = p.run(&["--stats"]).expect(0).stdout;
    assert!(text.contains("  m/tex_0.ktx2"), "{text}");
}

#[test]
fn exceeded_budget_fails_the_build() {
    let p = Project::new();
    p.write("assets/a.png", test_image(32, 32, 1))
        .write("assetc.yml", "budget: { textures: 1 MB, gpu: 1 MB }\n");
    p.run(&[]).expect(0);
    for budget in ["textures: 100 B", "total: 100 B", "gpu: 100 B", "meshes: 1 MB, textures: 100"] {
        p.write("assetc.yml", format!("budget: {{ {budget} }}\n"));
        let ran = p.run(&[]).expect(1);
        assert!(ran.stderr.contains("error[budget-exceeded]: "), "{budget}: {ran:?}");
        assert!(ran.stderr.contains("more than the budget of 100"), "{budget}: {ran:?}");
    }
    p.write("assetc.yml", "budget: { texture: 1 MB }\n");
    assert!(p.run(&[]).expect(0).stderr.contains("did you mean 'textures'?"));
    p.write("assetc.yml", "budget: { textures: much }\n");
    assert!(p.run(&[]).expect(2).stderr.contains("a size such as"));
}
