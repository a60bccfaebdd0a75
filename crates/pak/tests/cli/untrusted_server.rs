//! Forged results of `pak bake` from an untrusted server of the shared cache.

use crate::forge::{Result, Stock, forge_all, put_blob};
use crate::server::Server;
use kiln_engine::wire::Writer;
use kiln_fault_injection::file_contents;
use kiln_fault_injection::random::Random;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Bakes in a temporary directory; returns the pak and the output.
fn bake(dir: &Path, vars: &[(&str, &str)]) -> (Vec<u8>, String) {
    let project = TempDir::new().unwrap();
    let at = |name: &str| project.path().join(name);
    std::fs::create_dir(at("art")).unwrap();
    std::fs::write(
        at("pak.toml"),
        "[content]\ncompression = 'zstd'\n[[content.group]]\nassets = ['art/*']\n",
    )
    .unwrap();
    std::fs::write(at("art/notes.txt"), "hello ".repeat(1000)).unwrap();
    std::fs::write(at("art/wall.png"), file_contents::random_image(&mut Random::new(5), 64, 64)).unwrap();
    std::fs::write(at("art/wall.toml"), "[bitmap]\nsrc = 'wall.png'\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pak"));
    command.args(["bake", "pak.toml", "a.pak"]).current_dir(project.path()).env_remove("CI");
    let output = command
        .env("KILN_CACHE", "on")
        .env("KILN_CACHE_DIR", dir)
        .envs(vars.iter().copied())
        .output()
        .unwrap();
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}");
    (std::fs::read(at("a.pak")).unwrap(), printed)
}

#[test]
fn forged_cache_entries_are_misses() {
    let (server, dir) = (Server::start(), TempDir::new().unwrap());
    let url = server.url();
    let (expected, _) = bake(dir.path(), &[("KILN_CACHE_URL", &url), ("CI", "true")]);
    let honest = server.kept();
    let (pak, output) = bake(TempDir::new().unwrap().path(), &[("KILN_CACHE_URL", &url)]);
    assert!(pak == expected && output.contains("0 baked"), "{output}");
    // A payload with valid checksums that is not valid for the asset.
    let forgeries: [fn(&mut Stock, &mut Result); 3] = [
        |stock, result| {
            let garbage = vec![0x5a; 1000];
            let mut w = Writer::new();
            w.u64(1000);
            w.u8(0);
            w.u8(20);
            w.count(1);
            w.u64(xxhash_rust::xxh3::xxh3_64(&garbage));
            w.u32(1000);
            result.outputs[0].2 = w.finish();
            result.outputs[0].1 = put_blob(stock, &garbage);
        },
        |stock, result| {
            let metadata = result.outputs[0].2.clone();
            result.outputs.push(("evil".to_owned(), put_blob(stock, b"x"), metadata));
        },
        |_, result| result.outputs[0].2.clear(),
    ];
    for forgery in forgeries {
        let mut stock = honest.clone();
        let count = forge_all(&mut stock, "payload", forgery);
        assert!(count >= 2, "{count}");
        server.keep(stock);
        let dir = TempDir::new().unwrap();
        let (pak, output) = bake(dir.path(), &[("KILN_CACHE_URL", &url)]);
        assert!(pak == expected, "{output}");
        assert!(output.contains("warning[cache-entry-rejected]"), "{output}");
        let (pak, output) = bake(dir.path(), &[]);
        assert!(pak == expected && output.contains("0 baked") && !output.contains("warning"), "{output}");
    }
}
