//! `assetc report`: files and messages of the command. The content of the page is tested with the library.

use crate::project::{Project, test_image};
use serde_json::Value;
use std::fs;

fn project() -> Project {
    let p = Project::new();
    p.write("assets/a.png", test_image(24, 16, 1)).write("assets/dir/b.n.png", test_image(8, 8, 2));
    p.run(&["--pack"]).expect(0);
    p
}

fn data(html: &[u8]) -> Value {
    let html = std::str::from_utf8(html).unwrap();
    let data = html.split("id=\"kiln-report\">").nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn report_is_written_beside_the_output() {
    let p = project();
    let ran = p.run(&["report"]).expect(0);
    let outputs: usize = p.tree("runtime").values().map(Vec::len).sum();
    let size = outputs + p.read("runtime/assets.sha256").len();
    assert_eq!(
        ran.stdout,
        format!("4 files, {size} B -> runtime.report.html\n").replace(&format!("{size} B"), &human(size))
    );
    let page = p.read("runtime.report.html");
    let reported = data(&page);
    assert_eq!((&reported["title"], &reported["size"]), (&"runtime".into(), &size.into()));
    let paths: Vec<&str> =
        reported["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a.ktx2", "assets.hman", "assets.sha256", "dir/b.n.ktx2"]);
    assert_eq!(reported["files"][0]["levels"].as_array().unwrap().len(), 5);

    // The report of the pack equals that of the directory, except for the title.
    p.run(&["report", "runtime.hpack", "--out", "pages.html"]).expect(0);
    let mut packed = data(&p.read("pages.html"));
    assert_eq!(packed["title"], "runtime.hpack");
    packed["title"] = "runtime".into();
    assert_eq!(packed, reported);

    // A second report is equal, and no temporary files are left.
    p.run(&["report", "runtime/.", "-q"]).expect(0);
    let mut names: Vec<_> =
        fs::read_dir(p.root()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["assets", "pages.html", "runtime", "runtime.hpack", "runtime.report.html"]);
    p.run(&["report"]).expect(0);
    assert!(p.read("runtime.report.html") == page);
}

fn human(size: usize) -> String {
    if size < 1024 { format!("{size} B") } else { format!("{:.1} KB", size as f64 / 1024.0) }
}

#[test]
fn report_since_prints_growth() {
    let p = project();
    p.run(&["report", "--out", "old.html"]).expect(0);
    p.write("assets/c.png", test_image(40, 40, 3));
    p.run(&["--pack"]).expect(0);
    let reported = p.run(&["report", "--since", "old.html", "--json"]).expect(0).json();
    assert_eq!(
        (&reported["files"], &reported["broken"], &reported["notes"]),
        (&5.into(), &0.into(), &serde_json::json!([]))
    );
    // A standalone texture does not change the manifest; the digests list it.
    assert_eq!(
        (&reported["since"]["added"], &reported["since"]["changed"], &reported["since"]["removed"]),
        (&1.into(), &1.into(), &0.into())
    );
    assert_eq!(reported["bytes"], p.read("runtime.report.html").len());
    let ran = p.run(&["report", "--since", "old.html"]).expect(0);
    assert!(
        ran.stdout.ends_with(": 1 new, 1 changed, 0 removed\n") && ran.stdout.contains("\n+"),
        "{}",
        ran.stdout
    );

    for (page, why) in [
        ("assetc.yml", "cannot read the earlier report"),
        ("assets/a.png", "not valid UTF-8"),
        ("bad.html", "no report"),
    ] {
        p.write("bad.html", "<html>");
        let ran = p.run(&["report", "--since", page]).expect(2);
        assert!(ran.stderr.contains("error[report-since]") && ran.stderr.contains(why), "{}", ran.stderr);
    }
}

#[test]
fn report_handles_damage_and_unusual_paths() {
    let p = project();
    let mut texture = p.read("runtime/a.ktx2");
    texture.truncate(200);
    p.write("runtime/a.ktx2", texture);
    let ran = p.run(&["report"]).expect(1);
    assert!(ran.stdout.ends_with("1 file is damaged\n"), "{}", ran.stdout);
    assert!(data(&p.read("runtime.report.html"))["files"][0]["error"].as_str().is_some());

    // A report inside the output does not include itself.
    p.run(&["report", "runtime", "--out", "runtime/page.html"]).expect(1);
    let first = p.read("runtime/page.html");
    p.run(&["report", "runtime", "--out", "runtime/page.html"]).expect(1);
    assert!(p.read("runtime/page.html") == first);

    let ran = p.run(&["report", "nowhere"]).expect(2);
    assert!(ran.stderr.contains("error[output-missing]"), "{}", ran.stderr);
    let ran = p.run(&["report", "--out", "no/such/dir.html"]).expect(2);
    assert!(ran.stderr.contains("error[unwritable]"), "{}", ran.stderr);
    p.run(&["report", "--max-texture", "3"]).expect(2);
    p.run(&["report", "--pack"]).expect(2);
}

#[test]
fn report_lists_warnings_gpu_memory_and_tiles() {
    let p = Project::new();
    p.write("assets/big.png", test_image(256, 128, 1));
    // The missing material library is a warning.
    p.write("assets/m.obj", "mtllib missing.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl x\nf 1 2 3\n");
    let built = p.run(&["--json"]).expect(0).json();
    let warnings: usize =
        built["assets"].as_array().unwrap().iter().map(|a| a["warnings"].as_array().unwrap().len()).sum();
    assert!(warnings > 0, "{built}");
    p.run(&["report", "--max-texture", "64", "--tiles"]).expect(0);
    let html = p.read("runtime.report.html");
    let reported = data(&html);
    assert_eq!(reported["warnings"].as_array().unwrap().len(), warnings);
    let kinds = reported["kinds"].as_array().unwrap();
    let textures = kinds.iter().find(|kind| kind["ext"] == "ktx2").unwrap();
    assert_eq!(
        textures["totals"]["gpu_bytes"],
        16 * (64 * 32 + 32 * 16 + 16 * 8 + 8 * 4 + 4 * 2 + 2 + 1 + 1 + 1)
    );
    let big = reported["files"].as_array().unwrap().iter().find(|f| f["path"] == "big.ktx2").unwrap();
    assert_eq!(big["levels"][0]["shown"], serde_json::json!([64, 32]));
    assert_eq!(big["levels"][0]["images"], big["levels"][2]["images"], "the mip level of that size is shown");
    let tile = big["tile"].as_str().unwrap();
    assert!(tile.starts_with("runtime.report.tiles/"), "{tile}");
    let reader = png::Decoder::new(std::io::Cursor::new(p.read(tile))).read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (256, 128));
    assert!(String::from_utf8(html).unwrap().contains("img-src blob: data: 'self' file:;"));

    p.run(&["report", "--max-texture", "64", "--out", "plain.html"]).expect(0);
    let plain = String::from_utf8(p.read("plain.html")).unwrap();
    assert!(plain.contains("img-src blob: data:;") && !p.exists("plain.tiles"));
}

#[test]
fn tiles_are_reused_and_removed_with_their_report() {
    let p = Project::new();
    p.write("assetc.yml", "texture: { depth: auto }\n");
    p.write("assets/a.png", test_image(256, 128, 1)).write("assets/b.png", test_image(128, 256, 2));
    p.write("assets/small.png", test_image(32, 32, 3)).write("assets/deep.png", deep_image(256, 64));
    p.run(&["-q"]).expect(0);
    let report = |extra: &[&str]| {
        let args =
            [&["report", "--tiles", "--max-texture", "32", "--max-tile", "64", "--json"], extra].concat();
        let result = p.run(&args).expect(0).json();
        let page = result["written"].as_str().unwrap().to_owned();
        let data = data(&fs::read(page).unwrap());
        let files = data["files"].as_array().unwrap().clone();
        let tile = move |path: &str| {
            let file = files.iter().find(|file| file["path"] == path).unwrap();
            file.get("tile").map(|tile| tile.as_str().unwrap().to_owned())
        };
        (result["tiles"].clone(), tile)
    };
    let (counts, tile) = report(&[]);
    assert_eq!(counts, serde_json::json!({"files": 3, "written": 3}));
    assert_eq!(tile("small.ktx2"), None, "the page has the whole texture");
    let sizes = ["a.ktx2", "b.ktx2", "deep.ktx2"].map(|path| {
        let reader =
            png::Decoder::new(std::io::Cursor::new(p.read(&tile(path).unwrap()))).read_info().unwrap();
        (reader.info().width, reader.info().height)
    });
    assert_eq!(sizes, [(64, 32), (32, 64), (64, 16)]);

    // A truncated tile is written again, a changed texture has a new one, and the old one is removed.
    let (old, kept) = (tile("a.ktx2").unwrap(), tile("b.ktx2").unwrap());
    let whole = p.read(&kept);
    p.write(&kept, &whole[..whole.len() - 1]);
    p.write("runtime.report.tiles/photo.png", &whole);
    p.write("assets/a.png", test_image(256, 128, 7));
    p.run(&["-q"]).expect(0);
    let (counts, tile) = report(&[]);
    assert_eq!(counts, serde_json::json!({"files": 3, "written": 2}));
    assert!(p.exists(&tile("a.ktx2").unwrap()) && !p.exists(&old));
    assert!(p.read(&kept) == whole && p.exists("runtime.report.tiles/photo.png"));
    let (counts, _) = report(&[]);
    assert_eq!(counts["written"], 0);

    // The tiles of a report that was moved away stay.
    fs::rename(p.root().join("runtime.report.html"), p.root().join("kept.html")).unwrap();
    fs::remove_file(p.root().join("assets/b.png")).unwrap();
    p.run(&["-q"]).expect(0);
    assert_eq!(report(&[]).0["files"], 2);
    assert!(p.exists(&kept));

    // A report inside the output includes neither itself nor its tiles.
    drop(report(&["--out", "runtime/page.html"]));
    assert_eq!(report(&["--out", "runtime/page.html"]).0["written"], 0);
    let inside = data(&p.read("runtime/page.html"));
    assert!(
        inside["files"]
            .as_array()
            .unwrap()
            .iter()
            .all(|file| !file["path"].as_str().unwrap().starts_with("page")),
        "{inside}"
    );

    p.run(&["report", "--max-tile", "64"]).expect(2);
    p.run(&["report", "--tiles", "--max-tile", "8"]).expect(2);
}

/// A grey PNG of 16 bits.
fn deep_image(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Sixteen);
    let texels: Vec<u8> = (0..width * height).flat_map(|n| (n as u16).to_be_bytes()).collect();
    encoder.write_header().unwrap().write_image_data(&texels).unwrap();
    bytes
}
