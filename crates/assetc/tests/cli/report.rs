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
