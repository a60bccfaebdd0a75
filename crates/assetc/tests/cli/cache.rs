//! The build cache and its server with the real executable: shared results, shards, statistics and eviction.

use crate::project::{Project, Ran, test_image};
use crate::server::{Fault, Server, When};
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;

/// A checkout of a small project with every simple kind of source, in a new directory.
fn checkout() -> Project {
    let p = Project::new();
    p.write("assetc.yml", "pack: true\n");
    for n in 0..12 {
        let suffix = ["", ".n", ".r"][n as usize % 3];
        p.write(&format!("assets/dir{}/image{n}{suffix}.png", n % 4), test_image(24 + n, 16, n));
    }
    for face in ["px", "nx", "py", "ny", "pz", "nz"] {
        p.write(&format!("assets/sky.env/{face}.png"), test_image(8, 8, 3));
    }
    p.write("assets/stone.mat", "textures:\n  base_color: dir0/image0.png\n");
    // A PNG with the extension of a JPEG, which is a warning.
    p.write("assets/odd.jpg", test_image(9, 9, 1));
    p
}

fn run(p: &Project, args: &[&str], vars: &[(&str, &str)]) -> Ran {
    let mut command = p.command(args);
    command.env("KILN_CACHE", "on").env_remove("CI").envs(vars.iter().copied());
    command.output().unwrap().into()
}

fn number(ran: &Ran, path: &[&str]) -> u64 {
    let json = ran.json();
    path.iter().fold(&json, |json, name| &json[name]).as_u64().unwrap_or_else(|| panic!("{path:?}: {json}"))
}

/// The files of the output with their bytes, the pack, and the warnings of all assets.
type BuildResult = (Vec<(String, Vec<u8>)>, Vec<u8>, String);

/// Returns everything a build leaves: outputs, manifest, pack, and the warnings of each asset.
fn result(p: &Project, ran: &Ran) -> BuildResult {
    let json = ran.json();
    let warnings: Vec<_> =
        json["assets"].as_array().unwrap().iter().map(|a| a["warnings"].to_string()).collect();
    (p.tree("runtime").into_iter().collect(), p.read("runtime.hpack"), warnings.join("\n"))
}

#[test]
fn checkouts_share_results_through_the_local_cache() {
    let store = TempDir::new().unwrap();
    let vars = [("KILN_CACHE_DIR", store.path().to_str().unwrap())];
    let (first, second, alone) = (checkout(), checkout(), checkout());
    let expected = result(&alone, &alone.run(&["--json"]).expect(0));
    let ran = run(&first, &["--json"], &vars).expect(0);
    let assets = number(&ran, &["built"]);
    assert!(assets >= 15 && number(&ran, &["store", "found"]) == 0, "{}", ran.stdout);
    assert_eq!(result(&first, &ran), expected);
    let ran = run(&second, &["--json"], &vars).expect(0);
    assert_eq!((number(&ran, &["built"]), number(&ran, &["fetched"])), (0, assets));
    assert_eq!(number(&ran, &["store", "found"]), assets);
    assert_eq!(result(&second, &ran), expected);
    assert!(expected.2.contains("image-extension"), "no warning: {}", expected.2);
    // The next build is up to date.
    let ran = run(&second, &["--json"], &vars).expect(0);
    assert_eq!(number(&ran, &["cached"]), assets);
    // Editing an output does not modify the cache.
    second.write("runtime/stone.hmat", "edited");
    let ran = run(&second, &["--json"], &vars).expect(0);
    assert_eq!((number(&ran, &["fetched"]), result(&second, &ran)), (1, expected));
}

#[test]
fn switching_presets_and_branches_hits_the_cache() {
    let store = TempDir::new().unwrap();
    let vars = [("KILN_CACHE_DIR", store.path().to_str().unwrap())];
    let p = Project::new();
    p.write("assets/a.png", test_image(20, 20, 1));
    let branch = |compress: bool, seed: u32| {
        p.write("assetc.yml", format!("default:\n  texture:\n    compress: {compress}\n"));
        p.write("assets/a.png", test_image(20, 20, seed));
        let ran = run(&p, &["--json"], &vars).expect(0);
        (number(&ran, &["built"]), p.read("runtime/a.ktx2"))
    };
    let states = [(true, 1), (false, 1), (true, 2)];
    let cold = states.map(|(compress, seed)| branch(compress, seed));
    assert!(cold.iter().all(|(built, _)| *built == 1));
    for ((compress, seed), (_, bytes)) in states.into_iter().zip(cold) {
        assert_eq!(branch(compress, seed), (0, bytes));
    }
}

#[test]
fn shards_combine_even_if_one_is_killed() {
    let alone = checkout();
    let expected = result(&alone, &alone.run(&["--json"]).expect(0));
    for (count, killed) in [(2, None), (4, Some(3)), (2, Some(1))] {
        let store = TempDir::new().unwrap();
        let vars = [("KILN_CACHE_DIR", store.path().to_str().unwrap())];
        let parts: Vec<(Project, _)> = (1..=count)
            .map(|part| {
                let p = checkout();
                let mut command = p.command(&["--shard", &format!("{part}/{count}")]);
                command.env("KILN_CACHE", "on").envs(vars).stdout(Stdio::null()).stderr(Stdio::null());
                let child = command.spawn().unwrap();
                (p, child)
            })
            .collect();
        for (part, (p, mut child)) in (1..=count).zip(parts) {
            if killed == Some(part) {
                std::thread::sleep(Duration::from_millis(5));
                let _ = child.kill();
                child.wait().unwrap();
                continue;
            }
            assert!(child.wait().unwrap().success());
            assert!(!p.exists("runtime.hpack") && !p.exists("runtime/assets.hman"), "a shard is not linked");
        }
        let whole = checkout();
        let ran = run(&whole, &["--json"], &vars).expect(0);
        let (built, fetched) = (number(&ran, &["built"]), number(&ran, &["fetched"]));
        assert!(killed.is_some() || built == 0, "{built} built");
        assert!(fetched > 0, "nothing was fetched");
        assert_eq!(result(&whole, &ran), expected, "{count} shards");
    }
}

#[test]
fn shard_keeps_outputs_of_other_shards() {
    let store = TempDir::new().unwrap();
    let vars = [("KILN_CACHE_DIR", store.path().to_str().unwrap())];
    let p = checkout();
    let before = result(&p, &run(&p, &["--json"], &vars).expect(0));
    let ran = run(&p, &["--shard", "1/3", "--json"], &vars).expect(0);
    assert_eq!(number(&ran, &["built"]) + number(&ran, &["fetched"]), 0);
    assert_eq!(result(&p, &run(&p, &["--json"], &vars).expect(0)), before);
}

#[test]
fn machines_share_results_through_a_server() {
    let server = Server::start();
    let alone = checkout();
    let expected = result(&alone, &alone.run(&["--json"]).expect(0));
    let url = server.url();
    let machine = |ci: &str| {
        let (store, p) = (TempDir::new().unwrap(), checkout());
        let dir = store.path().to_str().unwrap().to_owned();
        let vars = [("KILN_CACHE_DIR", &*dir), ("KILN_CACHE_URL", &*url), ("CI", ci)];
        let ran = run(&p, &["--json"], &vars).expect(0);
        assert_eq!(result(&p, &ran), expected);
        assert!(!ran.stderr.contains("cache-server"), "{}", ran.stderr);
        ran
    };
    let person = machine("");
    assert!(number(&person, &["built"]) > 0 && server.kept().is_empty());
    let ci = machine("true");
    assert!(number(&ci, &["store", "bytes_up"]) > 0);
    let person = machine("");
    assert_eq!(number(&person, &["built"]), 0);
    assert_eq!(number(&person, &["store", "from_server"]), number(&person, &["fetched"]));

    server.inject_fault(Fault::Status(403), When { method: "", kind: "", after: 0 });
    let (store, p) = (TempDir::new().unwrap(), checkout());
    let dir = store.path().to_str().unwrap();
    let secret = [("KILN_CACHE_DIR", dir), ("KILN_CACHE_URL", &url), ("KILN_CACHE_TOKEN", "hush-hush")];
    let ran = run(&p, &["--json", "-v"], &secret).expect(0);
    assert_eq!(ran.stderr.matches("warning[cache-server]").count(), 1, "{}", ran.stderr);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("hush"));
    assert_eq!(result(&p, &ran), expected);
}

#[test]
fn cache_stats_and_gc_report_sizes() {
    let store = TempDir::new().unwrap();
    let vars = [("KILN_CACHE_DIR", store.path().to_str().unwrap())];
    let p = checkout();
    run(&p, &[], &vars).expect(0);
    let stats = |name: &str| number(&run(&p, &["cache", "stats", "--json"], &vars).expect(0), &[name]);
    let bytes = stats("bytes");
    assert!(bytes > 0 && stats("records") > 15 && stats("blobs") >= 15);
    let shown = run(&p, &["cache", "stats"], &vars).expect(0).stdout;
    assert!(shown.contains("records") && shown.contains("20.0 GB"), "{shown}");
    let half = (bytes / 2).to_string();
    let gc = |more: &[&str]| {
        let args = [&["cache", "gc", "--json", "--max-size", &half], more].concat();
        let ran = run(&p, &args, &vars).expect(0);
        (number(&ran, &["removed"]), number(&ran, &["left"]))
    };
    let would = gc(&["--dry-run"]);
    assert!(would.0 > 0 && would.1 <= bytes / 2 && stats("bytes") == bytes);
    assert_eq!(gc(&[]), would);
    assert_eq!(stats("bytes"), would.1);
    // After eviction some results are rebuilt, and one build fills the cache again.
    let (again, whole) = (checkout(), checkout());
    run(&again, &["--json"], &vars).expect(0);
    assert_eq!(number(&run(&whole, &["--json"], &vars).expect(0), &["built"]), 0);
    run(&p, &["cache", "gc", "--max-size", "lots"], &vars).expect(2);
}

#[test]
fn cache_can_be_disabled_and_moved() {
    let p = checkout();
    let home = TempDir::new().unwrap();
    let at = home.path().to_str().unwrap();
    let vars = [("HOME", at), ("XDG_CACHE_HOME", at)];
    p.write("assetc.yml", "cache:\n  dir: false\n");
    run(&p, &[], &vars).expect(0);
    assert!(run(&p, &["cache", "stats"], &vars).expect(2).stderr.contains("cache-disabled"));
    assert!(run(&p, &["--shard", "1/2"], &vars).expect(2).stderr.contains("shard-without-cache"));
    assert!(run(&p, &["--shard", "3/2"], &vars).expect(2).stderr.contains("such as 1/4"));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    p.write("assetc.yml", "cache:\n  dir: .results\n");
    run(&p, &["--no-cache"], &vars).expect(0);
    assert!(p.exists(".results/CACHEDIR.TAG") && p.exists(".results/cas"));
    // A cache directory that cannot be used is a warning.
    p.write("file", "").write("assetc.yml", "cache:\n  dir: file\n");
    let ran = run(&p, &["--no-cache"], &vars).expect(0);
    assert!(ran.stderr.contains("warning[cache-unwritable]"), "{}", ran.stderr);
}
