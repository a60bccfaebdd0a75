//! Limits on each asset: errors, the values that messages name, and the configuration that sets them.

use crate::project::{Project, Ran, png, test_image};

/// Asserts that one asset failed with this code, and that message and hint have these parts.
#[track_caller]
fn refused(ran: &Ran, code: &str, parts: &[&str]) {
    assert_eq!(ran.code, 1, "{ran:?}");
    for part in [&[code], parts].concat() {
        assert!(ran.stderr.contains(part), "{part} is not in:\n{}", ran.stderr);
    }
}

/// Runs the executable with a user configuration.
fn run_as(project: &Project, config: &str, args: &[&str]) -> Ran {
    project.write("user/config.yml", config);
    project.command(args).env("KILN_CONFIG_DIR", project.path("user")).output().unwrap().into()
}

#[test]
fn limit_error_names_limit_value_and_flag() {
    let p = Project::new();
    p.write("assets/a.png", test_image(64, 64, 1)).write("assets/small.png", test_image(4, 4, 1));
    let ran = p.run(&["--max-pixels", "4095"]);
    let named = ["a.png:IHDR", "64x64 = 4096 pixels", "max_pixels is 4095", "--max-pixels 4096"];
    refused(&ran, "image-too-large", &named);
    assert!(ran.stdout.contains("2 assets: 1 built, 0 cached, 1 failed"), "{ran:?}");
    p.run(&["--max-pixels", "4096"]).expect(0);

    let ran = p.run(&["--no-cache", "--max-memory", "100K"]);
    refused(
        &ran,
        "memory-limit",
        &["a.png: the texels of 64x64 pixels", "102400 (100 KiB)", "--max-memory "],
    );
    p.run(&["--no-cache", "--max-memory", "1G"]).expect(0);

    let ran = p.run(&["--no-cache", "--time-limit", "0.000000001"]);
    refused(&ran, "time-limit", &["a.png: ", "max_time of 0.000000001 s", "--time-limit"]);
    p.run(&["--no-cache", "--time-limit", "0"]).expect(0);
    for bad in [["--max-pixels", "0"], ["--max-memory", "lots"], ["--time-limit", "-1"]] {
        p.run(&bad).expect(2);
    }
}

/// A tiny file is admitted by an estimate that does not depend on its header; its texels are counted when it is read.
#[test]
fn tiny_file_with_many_texels_exceeds_the_memory_limit() {
    let p = Project::new();
    for n in 0..4 {
        let flat = png(256, 256, png::ColorType::Grayscale, &[n; 256 * 256]);
        assert!(flat.len() < 1024, "{}", flat.len());
        p.write(&format!("assets/{n}.png"), flat);
    }
    let ran = p.run(&["--max-memory", "100K"]);
    refused(&ran, "memory-limit", &["0.png: the texels of 256x256 pixels", "3.png: the texels"]);
    p.run(&["--max-memory", "32M", "-j", "2"]).expect(0);
    let runtime = p.tree("runtime");
    p.run(&["--no-cache", "--max-memory", "1G", "-j", "1"]).expect(0);
    assert!(p.tree("runtime") == runtime);
}

#[test]
fn default_limit_is_a_side_of_16384() {
    let p = Project::new();
    p.write("assets/edge.png", test_image(16384, 2, 1));
    p.run(&[]).expect(0);
    p.write("assets/wide.png", test_image(16385, 2, 1));
    let ran = p.run(&[]);
    refused(&ran, "image-too-large", &["wide.png:IHDR", "16385x2", "a side may have 16384", "268435456"]);
    p.run(&["--max-pixels", "268468225"]).expect(0);
}

#[test]
fn does_not_read_file_beyond_the_memory_limit() {
    let p = Project::new();
    p.write("assetc.yml", "embed: ['*.bin']\n").write("assets/a.bin", vec![7; 5000]);
    let ran = p.run(&["--max-memory", "4K"]);
    refused(
        &ran,
        "memory-limit",
        &["a.bin: the bytes of the file need 5000 bytes (5 KiB)", "--max-memory 1M"],
    );
    p.run(&["--max-memory", "5K"]).expect(0);
}

#[test]
fn memory_limit_counts_all_layers() {
    let p = Project::new();
    p.write("assets/one.png", test_image(256, 256, 1));
    (0..100).for_each(|n| _ = p.write(&format!("assets/all.array/{n:03}.png"), test_image(256, 256, n)));
    let ran = p.run(&["-j", "1", "--max-memory", "20M"]);
    refused(&ran, "memory-limit", &["all.array", "--max-memory"]);
    assert!(ran.stdout.contains("2 assets: 1 built"), "{ran:?}");
    p.run(&["-j", "1"]).expect(0);
}

#[test]
fn memory_limit_counts_instances() {
    let p = Project::new();
    let model = |instances: u32| {
        format!(
            r#"{{"asset":{{"version":"2.0"}},"scene":0,"scenes":[{{"nodes":[0]}}],
            "extensionsUsed":["EXT_mesh_gpu_instancing"],
            "nodes":[{{"mesh":0,"extensions":{{"EXT_mesh_gpu_instancing":{{"attributes":{{"TRANSLATION":1}}}}}}}}],
            "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}}}}]}}],
            "accessors":[{{"bufferView":0,"componentType":5126,"type":"VEC3","count":3,"min":[0,0,0],"max":[1,1,0]}},
            {{"componentType":5126,"type":"VEC3","count":{instances}}}],
            "bufferViews":[{{"buffer":0,"byteLength":36}}],"buffers":[{{"byteLength":36,
            "uri":"data:;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"}}]}}"#
        )
    };
    p.write("assets/m.gltf", model(1_000_000));
    let ran = p.run(&[]);
    refused(&ran, "memory-limit", &["m.gltf: 1000000 triangles", "1000000 instances", "--max-memory"]);
    p.write("assets/m.gltf", model(10));
    p.run(&[]).expect(0);
    // An accessor without a buffer view is all zeros and takes no bytes in the file.
    let zeros = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],
        "meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],
        "accessors":[{"componentType":5126,"type":"VEC3","count":3000000,"min":[0,0,0],"max":[0,0,0]}]}"#;
    p.write("assets/m.gltf", zeros);
    let ran = p.run(&["--max-memory", "32M"]);
    refused(&ran, "memory-limit", &["m.gltf:/meshes/0/primitives/0: 3000000 vertices", "--max-memory 46M"]);
}

#[test]
fn project_cannot_set_limits() {
    let p = Project::new();
    p.write("assets/a.png", test_image(64, 64, 1));
    let strict = "limits: {max_pixels: 100}\n";
    let ran = run_as(&p, strict, &[]);
    refused(&ran, "image-too-large", &["max_pixels is 100"]);
    run_as(&p, strict, &["--max-pixels", "4096"]).expect(0);
    let ran = run_as(&p, "limits: {max_memory: none}\n", &[]).expect(2);
    assert!(ran.stderr.contains("config-bad-value") && ran.stderr.contains("limits.max_memory"), "{ran:?}");

    p.write("assetc.yml", "limits: {max_pixels: 1}\n");
    let ran = run_as(&p, "", &["--no-cache"]).expect(0);
    for part in ["config-unknown-key", "'limits'", "config.yml", "--max-pixels"] {
        assert!(ran.stderr.contains(part), "{part} is not in:\n{}", ran.stderr);
    }
}
