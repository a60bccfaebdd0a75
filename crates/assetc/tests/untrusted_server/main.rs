//! A shared cache with forged records: a build always succeeds with the bytes of a build without a cache, and leaves a
//! valid local cache for the next build.

#[path = "../cli/project.rs"]
#[allow(dead_code, reason = "the project is shared with the other tests of the executable")]
mod project;
#[path = "../../../remote-cache/tests/store/server.rs"]
#[allow(dead_code, reason = "the server is shared with the tests of the cache")]
mod server;

mod forge;

use forge::{Result, Stock, Warning, blob, forge, forge_all, put_blob, results, unsigned};
use kiln_engine::wire::Writer;
use kiln_format::{hmat, refs};
use project::{Project, Ran, test_image};
use server::Server;
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

const KEY: &str = "a secret of the whole team, and of nobody else";

fn checkout() -> Project {
    let p = Project::new();
    p.write("assetc.yml", "pack: true\nembed: ['*.txt']\n");
    p.write("assets/a.png", test_image(16, 16, 1)).write("assets/b.png", test_image(12, 8, 2));
    p.write("assets/c.n.png", test_image(8, 8, 3)).write("assets/odd.jpg", test_image(9, 9, 1));
    p.write("assets/readme.txt", "as it is");
    p.write("assets/stone.mat", "textures:\n  base_color: a.png\n  metallic_roughness: b.png\n");
    p.write(
        "assets/box.obj",
        "mtllib box.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n",
    );
    p.write("assets/box.mtl", "newmtl m\nmap_Kd wood.png\n").write("assets/wood.png", test_image(8, 8, 9));
    // Another source in the texture folder of the model.
    p.write("assets/box/tex_7.png", test_image(8, 8, 7));
    p
}

fn run(p: &Project, dir: &Path, vars: &[(&str, &str)]) -> Ran {
    let mut command = p.command(&["--json", "-v"]);
    command.env("KILN_CACHE", "on").env_remove("CI").env("KILN_CACHE_DIR", dir).envs(vars.iter().copied());
    command.output().unwrap().into()
}

/// Returns the files of the output, and the pack.
fn left(p: &Project) -> (BTreeMap<String, Vec<u8>>, Vec<u8>) {
    (p.tree("runtime"), p.read("runtime.hpack"))
}

fn number(ran: &Ran, name: &str) -> u64 {
    ran.json()[name].as_u64().unwrap()
}

/// Returns the objects of a server after a build with write access.
fn stocked(vars: &[(&str, &str)]) -> Stock {
    let (server, dir, p) = (Server::start(), TempDir::new().unwrap(), checkout());
    let url = server.url();
    run(&p, dir.path(), &[&[("KILN_CACHE_URL", &*url), ("CI", "true")], vars].concat()).expect(0);
    server.kept()
}

/// Builds with a server that has these objects, and asserts the invariants; returns the output of the run.
#[track_caller]
fn build(stock: &Stock, vars: &[(&str, &str)]) -> Ran {
    let expected = {
        let p = checkout();
        p.run(&[]).expect(0);
        left(&p)
    };
    let (server, dir, p) = (Server::start(), TempDir::new().unwrap(), checkout());
    server.keep(stock.clone());
    let url = server.url();
    let online = [&[("KILN_CACHE_URL", &*url)], vars].concat();
    let ran = run(&p, dir.path(), &online).expect(0);
    assert_eq!(left(&p), expected, "{}", ran.stderr);
    // The next build, without the server, rejects nothing in the local cache.
    let offline = checkout();
    let again = run(&offline, dir.path(), vars).expect(0);
    assert_eq!(left(&offline), expected, "{}", again.stderr);
    assert!(!again.stderr.contains("cache-entry-rejected"), "{}", again.stderr);
    // A forged record may evict a file of another asset, which is then rebuilt.
    assert!(number(&again, "built") <= 1, "results are missing in the local cache: {}", again.stderr);
    ran
}

type Forgery<'a> = (&'a str, &'a str, &'a dyn Fn(&mut Stock, &mut Result));

/// Changes the metadata of the first artifact whose name ends like this. It has a kind, a colour space, whether the
/// manifest lists the file, and the textures of other sources that the file refers to, each with its colour space.
fn change_metadata(ending: &str, change: impl Fn(&mut Vec<u8>)) -> impl Fn(&mut Stock, &mut Result) {
    move |_, result| {
        change(&mut result.outputs.iter_mut().find(|(name, ..)| name.ends_with(ending)).unwrap().2);
    }
}

/// Adds a reference to a texture of another source.
fn add_reference(metadata: &mut Vec<u8>) {
    metadata[3] += 1;
    let mut w = Writer::new();
    w.text("b.ktx2");
    w.u8(1);
    metadata.extend(w.finish());
}

#[test]
fn forged_result_is_a_cache_miss() {
    let honest = stocked(&[]);
    let ran = build(&honest, &[]);
    assert_eq!(number(&ran, "built"), 0, "an honest result was refused: {}", ran.stderr);

    let texture = |output: &'static str| {
        let honest = &honest;
        move |_: &mut Stock, result: &mut Result| {
            let all = results(honest);
            let found = all.iter().flat_map(|(_, r)| &r.outputs).find(|(path, ..)| path == output);
            result.outputs[0].1 = found.unwrap().1;
        }
    };
    let space = change_metadata("tex_0.ktx2", |metadata| metadata[1] ^= 1);
    let kind = change_metadata("tex_0.ktx2", |metadata| metadata[0] ^= 1);
    let unlisted = change_metadata("tex_0.ktx2", |metadata| metadata[2] = 0);
    let more = change_metadata(".hmat", add_reference);
    let other = change_metadata(".hmesh", add_reference);
    let referred = change_metadata(".hmat", |metadata| *metadata.last_mut().unwrap() ^= 1);
    let unreferred = change_metadata(".hmat", |metadata| {
        metadata.truncate(7);
        metadata[3] = 0;
    });
    let (to_linear, to_mesh) = (texture("c.n.ktx2"), texture("box.hmesh"));
    let forgeries: &[Forgery<'_>] = &[
        ("the output of another asset", "a.ktx2", &|_, r| r.outputs[0].0 = "b.ktx2".to_owned()),
        ("the same in another case", "a.ktx2", &|_, r| r.outputs[0].0 = "A.ktx2".to_owned()),
        ("the manifest", "readme.txt", &|_, r| r.outputs[0].0 = "assets.hman".to_owned()),
        ("one more output", "a.ktx2", &|stock, r| {
            let metadata = r.outputs[0].2.clone();
            r.outputs.push(("b.ktx2".into(), put_blob(stock, b"x"), metadata));
        }),
        ("one more output of its own", "box.hmesh", &|stock, r| {
            let metadata = r.outputs[0].2.clone();
            r.outputs.push(("box/evil.ktx2".into(), put_blob(stock, b"x"), metadata));
        }),
        ("no output at all", "box.hmesh", &|_, r| r.outputs.clear()),
        ("the main output missing", "box.hmesh", &|_, r| drop(r.outputs.remove(0))),
        ("garbage", "a.ktx2", &|stock, r| r.outputs[0].1 = put_blob(stock, &[0x5a; 5000])),
        ("an empty file", "a.ktx2", &|stock, r| r.outputs[0].1 = put_blob(stock, b"")),
        ("a truncated file", "a.ktx2", &|stock, r| {
            let bytes = blob(stock, &r.outputs[0].1).to_vec();
            r.outputs[0].1 = put_blob(stock, &bytes[..bytes.len() - 7]);
        }),
        ("a file of another format", "a.ktx2", &to_mesh),
        ("a texture with another transfer function", "a.ktx2", &to_linear),
        ("other bytes of an embedded file", "readme.txt", &|stock, r| {
            r.outputs[0].1 = put_blob(stock, b"something else")
        }),
        ("a garbage mesh", "box.hmesh", &|stock, r| r.outputs[0].1 = put_blob(stock, b"HMSHHMSHHMSH")),
        ("a texture that is not to be listed", "a.ktx2", &|_, r| r.outputs[0].2[2] = 1),
        ("metadata that is none", "a.ktx2", &|_, r| r.outputs[0].2 = b"\xff\xff\xff\xff".to_vec()),
        ("no metadata", "a.ktx2", &|_, r| r.outputs[0].2.clear()),
        ("another colour space in the manifest", "box.hmesh", &space),
        ("another kind in the manifest", "box.hmesh", &kind),
        ("a texture missing in the manifest", "box.hmesh", &unlisted),
        ("one more texture in the manifest", "box.hmesh", &more),
        ("a mesh that refers to a texture", "box.hmesh", &other),
        ("another colour space of a texture that is referred to", "stone/b_linear.ktx2", &referred),
        ("no texture that is referred to", "stone/b_linear.ktx2", &unreferred),
    ];
    for (what, output, change) in forgeries {
        let mut stock = honest.clone();
        forge(&mut stock, output, change);
        let ran = build(&stock, &[]);
        assert_eq!(ran.stderr.matches("warning[cache-entry-rejected]").count(), 1, "{what}: {}", ran.stderr);
        assert_eq!(number(&ran, "built"), 1, "{what}: {}", ran.stderr);
    }
}

/// The texture of an image is found by the content of the image as well, for sources without a result of their own.
#[test]
fn forged_shared_result_is_a_cache_miss() {
    let honest = stocked(&[]);
    let linear =
        results(&honest).into_iter().flat_map(|(_, r)| r.outputs).find(|(path, ..)| path == "c.n.ktx2");
    let linear = blob(&honest, &linear.unwrap().1).to_vec();
    for bytes in [b"garbage".to_vec(), linear] {
        let mut stock = honest.clone();
        forge(&mut stock, "a.ktx2", |_, r| r.outputs[0].0 = "b.ktx2".to_owned());
        let count = forge_all(&mut stock, "shared", |stock, r| r.outputs[0].1 = put_blob(stock, &bytes));
        assert!(count >= 5, "{count}");
        let ran = build(&stock, &[]);
        assert!(ran.stderr.contains("warning[cache-entry-rejected]: 2 cache entries"), "{}", ran.stderr);
    }
}

/// Of two results with the same output at least one is wrong, possibly the one of the cache.
#[test]
fn rebuilds_on_conflict_with_cached_result() {
    let mut stock = stocked(&[]);
    let path = "box/tex_7.ktx2";
    forge(&mut stock, "box.hmesh", |stock, result| {
        let texture = result.outputs.iter().find(|(path, ..)| path.ends_with("tex_0.ktx2")).unwrap().clone();
        result.outputs.push((path.to_owned(), texture.1, texture.2));
        let table = result.outputs.iter_mut().find(|(path, ..)| path.ends_with(".hmat")).unwrap();
        let bytes = blob(stock, &table.1);
        let mut materials: Vec<_> = hmat::HmatView::read(bytes).unwrap().materials().iter().collect();
        materials[0].emissive_tex = refs::hash_runtime_path(path);
        table.1 = put_blob(stock, &hmat::write(&materials).unwrap());
    });
    let ran = build(&stock, &[]);
    assert!(!ran.stderr.contains("output-conflict"), "{}", ran.stderr);
    assert!(
        !ran.stderr.contains("cache-entry-rejected"),
        "the entry cannot be distinguished from a genuine one: {}",
        ran.stderr
    );
    assert!(number(&ran, "built") >= 1, "{}", ran.stderr);
}

#[test]
fn output_conflict_is_an_error_with_a_cache() {
    let dir = TempDir::new().unwrap();
    for _ in 0..3 {
        let p = checkout();
        p.write("assets/box/tex_0.png", test_image(8, 8, 4));
        // A new output directory each time, so that cached results are used.
        for _ in 0..2 {
            let ran = run(&p, dir.path(), &[]).expect(1);
            assert_eq!(ran.stderr.matches("error[output-conflict]").count(), 2, "{}", ran.stderr);
        }
    }
}

#[test]
fn escapes_control_characters_of_cached_warnings() {
    let honest = stocked(&[]);
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}txt.exe\u{2066}\r\n";
    let warning = |code: &str| -> Warning {
        [code.to_owned(), evil.to_owned(), evil.to_owned(), evil.to_owned(), evil.to_owned()]
    };
    for (code, is_used) in
        [("image-animated", true), ("image-odd", false), (evil, false), ("image-truncated", false)]
    {
        let mut stock = honest.clone();
        forge(&mut stock, "a.ktx2", |_, result| result.warnings.push(warning(code)));
        let (server, dir, p) = (Server::start(), TempDir::new().unwrap(), checkout());
        server.keep(stock);
        let ran = run(&p, dir.path(), &[("KILN_CACHE_URL", &server.url())]).expect(0);
        let raw = |c: char| {
            (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!ran.stderr.contains(raw) && !ran.stdout.contains(raw), "{:?}", ran.stderr);
        assert_eq!(ran.stderr.contains("\\u{1b}]0;owned"), is_used, "{}", ran.stderr);
    }
}

#[test]
fn uses_only_signed_records_with_a_key() {
    let key = ("KILN_CACHE_SIGNING_KEY", KEY);
    let signed = stocked(&[key]);
    let ran = build(&signed, &[key]);
    assert_eq!(number(&ran, "built"), 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains("cache-entry"), "{}", ran.stderr);
    // Without a key, signed records are used as well: signatures cannot be checked.
    assert_eq!(number(&build(&signed, &[]), "built"), 0);

    let assets = {
        let p = checkout();
        number(&p.run(&["--json"]).expect(0), "built")
    };
    let other = ("KILN_CACHE_SIGNING_KEY", "another secret, of about the same length");
    let wrong = [unsigned(&signed, None), unsigned(&signed, Some([7; 32])), stocked(&[]), stocked(&[other])];
    for stock in wrong {
        let ran = build(&stock, &[key]);
        assert_eq!(number(&ran, "built"), assets, "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("warning[cache-entry-unsigned]").count(), 1, "{}", ran.stderr);
        let named = ran.stderr.split("ac/").nth(1).map(|rest| &rest[..64]);
        assert!(named.is_some_and(|key| stock.contains_key(&format!("/team/ac/{key}"))), "{}", ran.stderr);
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(KEY));
    }
    // A forged record with the signature of the original record is rejected.
    let mut forged = signed.clone();
    forge(&mut forged, "a.ktx2", |stock, r| r.outputs[0].1 = put_blob(stock, &[0x5a; 5000]));
    for (path, bytes) in
        forged.iter_mut().filter(|(path, bytes)| signed.get(*path).is_some_and(|was| was != *bytes))
    {
        bytes.extend(&signed[path][signed[path].len() - 34..]);
    }
    let ran = build(&forged, &[key]);
    assert_eq!(number(&ran, "built"), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("of the server was not used, because it is not signed"), "{}", ran.stderr);
}

#[test]
fn ignores_unsigned_local_entries() {
    let (dir, vars) = (TempDir::new().unwrap(), [("KILN_CACHE_SIGNING_KEY", KEY)]);
    let assets = number(&run(&checkout(), dir.path(), &[]).expect(0), "built");
    let ran = run(&checkout(), dir.path(), &vars).expect(0);
    assert_eq!(number(&ran, "built"), assets, "{}", ran.stderr);
    assert_eq!(number(&run(&checkout(), dir.path(), &vars).expect(0), "built"), 0);
    let short = [("KILN_CACHE_SIGNING_KEY", "too short")];
    let ran = run(&checkout(), dir.path(), &short).expect(2);
    assert!(ran.stderr.contains("cache-variable") && !ran.stderr.contains("too short"), "{}", ran.stderr);
}

#[test]
fn writers_replace_invalid_records() {
    let honest = stocked(&[]);
    let mut forged = honest.clone();
    forge(&mut forged, "a.ktx2", |_, r| r.outputs[0].0 = "b.ktx2".to_owned());
    for (stock, vars) in [(forged, vec![]), (honest, vec![("KILN_CACHE_SIGNING_KEY", KEY)])] {
        let server = Server::start();
        server.keep(stock);
        let url = server.url();
        let online = [&[("KILN_CACHE_URL", &*url)], &*vars].concat();
        let writer = [&online[..], &[("CI", "true")]].concat();
        let ran = run(&checkout(), TempDir::new().unwrap().path(), &writer).expect(0);
        assert!(ran.stderr.contains("warning[cache-entry-"), "{}", ran.stderr);
        let ran = run(&checkout(), TempDir::new().unwrap().path(), &online).expect(0);
        assert!(number(&ran, "built") == 0 && !ran.stderr.contains("cache-entry"), "{}", ran.stderr);
    }
}
