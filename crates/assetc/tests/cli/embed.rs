//! Embedded files, manifests of all files, and the dependency graph.

use crate::project::{Project, test_image};
use kiln_format::hman::{Colorspace, HmanView, ManifestKind};
use kiln_format::hpack::HpackView;
use kiln_format::refs::hash_asset_ref;

const CONFIG: &str = "embed: [\"text/*\", \"raw.png\"]\n";
const OBJ: &str = "mtllib a.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

fn project(config: &str) -> Project {
    let p = Project::new();
    p.write("assetc.yml", config)
        .write("assets/text/en.json", "{}")
        .write("assets/text/.secret", "no")
        .write("assets/raw.png", "not an image")
        .write("assets/notes.txt", "not embedded")
        .write("assets/wall.png", test_image(8, 8, 1))
        .write("assets/wall.n.png", test_image(8, 8, 2))
        .write("assets/warm.lut.cube", format!("LUT_3D_SIZE 2\n{}", "0 0.5 1\n".repeat(8)))
        .write("assets/a.obj", OBJ)
        .write("assets/a.mtl", "newmtl m\nmap_Kd wall.png\n")
        .write("assets/x.shader/v.wgsl", "@compute @workgroup_size(1) fn main() {}");
    p
}

#[test]
fn embedded_files_are_copied_packed_updated_and_removed() {
    let p = project(CONFIG);
    p.run(&["--pack"]).expect(0);
    assert_eq!(p.read("runtime/text/en.json"), b"{}");
    assert_eq!(p.read("runtime/raw.png"), b"not an image");
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
    assert_eq!(p.run(&[]).code, 1, "now it is a broken image");
    p.write("assetc.yml", "").write("assets/raw.png", test_image(4, 4, 3));
    p.run(&[]).expect(0);
    for gone in ["runtime/text/en.json", "runtime/raw.png"] {
        assert!(!p.exists(gone), "{gone}");
    }
}

#[test]
fn rejects_invalid_embed_settings() {
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
fn manifest_all_lists_every_file() {
    let p = project(&format!("{CONFIG}manifest: all\n"));
    p.run(&["--verify"]).expect(0);
    let (texture, srgb, linear) = (ManifestKind::Texture, Colorspace::Srgb, Colorspace::Linear);
    let mut expected = vec![
        ("a.hmat", "a.hmat", ManifestKind::Material, linear),
        ("a.hmesh", "a.hmesh", ManifestKind::Mesh, linear),
        ("a/tex_0", "a/tex_0.ktx2", texture, srgb),
        ("raw.png", "raw.png", ManifestKind::Embed, linear),
        ("text/en.json", "text/en.json", ManifestKind::Embed, linear),
        ("wall", "wall.ktx2", texture, srgb),
        ("wall.n", "wall.n.ktx2", texture, linear),
        ("warm.lut", "warm.lut.ktx2", ManifestKind::Lut, linear),
        ("x.shader/compute.spv", "x.shader/compute.spv", ManifestKind::Shader, linear),
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
        info.contains("9 entries | kinds: 3 texture/1 mesh/1 material/1 lut/1 shader/2 embed |"),
        "{info}"
    );

    // An up-to-date manifest is not written; another `manifest` setting rewrites it.
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
fn graph_lists_inputs_and_outputs() {
    let p = project(CONFIG);
    let early = p.run(&["graph"]);
    assert!(early.code == 2 && early.stderr.contains("run a build first"), "{}", early.stderr);
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
    // The sources that depend on an image: the model that uses it, and the image itself.
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
