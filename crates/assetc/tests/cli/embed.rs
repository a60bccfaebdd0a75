//! Files that are copied, manifests of everything, and the graph of a build.

use crate::project::{Project, picture};
use kiln_format::hman::{Colorspace, HmanView, Kind};
use kiln_format::hpack::HpackView;
use kiln_format::refs::hash_asset_ref;

const CONFIG: &str = "embed: [\"text/*\", \"raw.png\"]\n";
const OBJ: &str = "mtllib a.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

fn project(config: &str) -> Project {
    let p = Project::new();
    p.write("assetc.yml", config)
        .write("assets/text/en.json", "{}")
        .write("assets/text/.secret", "no")
        .write("assets/raw.png", "not even a picture")
        .write("assets/notes.txt", "nobody asks for it")
        .write("assets/wall.png", picture(8, 8, 1))
        .write("assets/wall.n.png", picture(8, 8, 2))
        .write("assets/warm.lut.cube", format!("LUT_3D_SIZE 2\n{}", "0 0.5 1\n".repeat(8)))
        .write("assets/a.obj", OBJ)
        .write("assets/a.mtl", "newmtl m\nmap_Kd wall.png\n")
        .write("assets/x.shader/v.wgsl", "@compute @workgroup_size(1) fn main() {}");
    p
}

#[test]
fn embedded_files_are_copied_packed_followed_and_removed() {
    let p = project(CONFIG);
    p.run(&["--pack"]).expect(0);
    assert_eq!(p.read("runtime/text/en.json"), b"{}");
    assert_eq!(p.read("runtime/raw.png"), b"not even a picture");
    for none in ["runtime/text/.secret", "runtime/notes.txt", "runtime/raw.ktx2"] {
        assert!(!p.exists(none), "{none}");
    }
    let pack = p.read("runtime.hpack");
    assert_eq!(HpackView::read(&pack).unwrap().get("text/en.json"), Some(&b"{}"[..]));
    p.run(&["check"]).expect(0);

    p.write("assets/text/en.json", "{\"a\": 1}");
    assert!(p.run(&["--pack"]).expect(0).stdout.contains("1 built"));
    assert_eq!(p.read("runtime/text/en.json"), b"{\"a\": 1}");
    p.write("assetc.yml", "embed: text/*\n");
    assert_eq!(p.run(&[]).code, 1, "now it is a broken picture");
    p.write("assetc.yml", "").write("assets/raw.png", picture(4, 4, 3));
    p.run(&[]).expect(0);
    for gone in ["runtime/text/en.json", "runtime/raw.png"] {
        assert!(!p.exists(gone), "{gone}");
    }
}

#[test]
fn what_cannot_be_embedded_is_said() {
    let p = project("embed: \"*.hman\"\n");
    p.write("assets/assets.hman", "x");
    let ran = p.run(&[]);
    assert!(ran.code == 1 && ran.stderr.contains("error[embed-reserved]: assets.hman: "), "{}", ran.stderr);
    for bad in ["embed: {a: b}\n", "embed: [[a]]\n", "manifest: some\n", "manifest: [all]\n"] {
        let ran = project(bad).run(&[]);
        assert!(ran.code == 2 && ran.stderr.contains("error[config-bad-value]: "), "{bad}: {}", ran.stderr);
    }
}

#[test]
fn a_manifest_of_everything_lists_every_file() {
    let p = project(&format!("{CONFIG}manifest: all\n"));
    p.run(&["--verify"]).expect(0);
    let (texture, srgb, linear) = (Kind::Texture, Colorspace::Srgb, Colorspace::Linear);
    let mut expected = vec![
        ("a.hmat", "a.hmat", Kind::Material, linear),
        ("a.hmesh", "a.hmesh", Kind::Mesh, linear),
        ("a/tex_0", "a/tex_0.ktx2", texture, srgb),
        ("raw.png", "raw.png", Kind::Embed, linear),
        ("text/en.json", "text/en.json", Kind::Embed, linear),
        ("wall", "wall.ktx2", texture, srgb),
        ("wall.n", "wall.n.ktx2", texture, linear),
        ("warm.lut", "warm.lut.ktx2", Kind::Lut, linear),
        ("x.shader/compute.spv", "x.shader/compute.spv", Kind::Shader, linear),
    ];
    expected.sort_by_key(|row| hash_asset_ref(row.0));
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(text, path, kind, space)| (hash_asset_ref(text), path, kind, space))
        .collect();
    let bytes = p.read("runtime/assets.hman");
    let found: Vec<_> = HmanView::read(&bytes).unwrap().entries().collect();
    let found: Vec<_> = found.iter().map(|e| (e.hash, e.path, e.kind, e.colorspace)).collect();
    assert_eq!(found, expected);
    p.run(&["check"]).expect(0);
    let info = p.run(&["info"]).expect(0).stdout;
    assert!(
        info.contains("9 entries | kind: 3 texture/1 mesh/1 material/1 lut/1 shader/2 embed |"),
        "{info}"
    );

    // Nothing to do leaves it alone; a texture that changes its colours changes it; the other kind is as documented.
    let stamp = || std::fs::metadata(p.path("runtime/assets.hman")).unwrap().modified().unwrap();
    let before = stamp();
    p.run(&[]).expect(0);
    assert_eq!(stamp(), before);
    p.write("assetc.yml", CONFIG);
    p.run(&[]).expect(0);
    let bytes = p.read("runtime/assets.hman");
    let paths: Vec<_> = HmanView::read(&bytes).unwrap().entries().map(|e| e.path.to_owned()).collect();
    assert_eq!(paths, ["a/tex_0.ktx2"]);
    p.write("assetc.yml", format!("{CONFIG}manifest: all\n"));
    p.run(&[]).expect(0);
    assert_eq!(HmanView::read(&p.read("runtime/assets.hman")).unwrap().len(), 9);
    p.remove("assets/text/en.json");
    p.run(&[]).expect(0);
    assert_eq!(HmanView::read(&p.read("runtime/assets.hman")).unwrap().len(), 8);
}

#[test]
fn the_graph_tells_what_was_read_and_written() {
    let p = project(CONFIG);
    let early = p.run(&["graph"]);
    assert!(early.code == 2 && early.stderr.contains("build first"), "{}", early.stderr);
    p.run(&[]).expect(0);
    let dot = p.run(&["graph"]).expect(0).stdout;
    for edge in [
        "\"in:a.mtl\" -> \"in:a.obj\";",
        "\"in:wall.png\" -> \"in:a.obj\";",
        "\"in:a.obj\" -> \"out:a/tex_0.ktx2\";",
        "\"in:wall.png\" -> \"out:wall.ktx2\";",
        "\"in:text/en.json\" -> \"out:text/en.json\";",
        "\"in:x.shader\" -> \"out:x.shader/compute.spv\";",
    ] {
        assert!(dot.contains(edge), "{edge} in {dot}");
    }
    assert!(dot.starts_with("digraph assets {") && dot.ends_with("}\n"));
    // Who has to do with a picture: the model that uses it, and its own texture.
    let json = p.run(&["graph", "wall.png", "--json"]).expect(0).json();
    let sources: Vec<String> = json["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["source"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(sources, ["a.obj", "wall.png"]);
    assert_eq!(p.run(&["graph", "nothing.png"]).code, 2);
}
