//! Shared results: an image that several sources use is encoded once, also across builds.
//!
//! `engine/tests/sharing.rs` counts executions within a build. Here, reads of outputs show the sharing: a source that
//! reuses a result reads it from the output, and a source that encodes the image reads no output.

use crate::model::Model;
use crate::shapes::{image, png, quad};
use assetc::config::Config;
use assetc::plan::{Versions, plan};
use assetc::tools::Tools;
use kiln_engine::mem::Mem;
use kiln_engine::{DirectorySink, Fs, Journal, Plan, RelPath, SourceTree, State, run};
use serde_json::{Value, json};

struct Project {
    src: Mem,
    out: Mem,
}

impl Project {
    /// A project in which the image was built as a source of its own, as colour.
    fn new() -> Project {
        let project = Project { src: Mem::new(), out: Mem::new() };
        project.src.put("wood.png", png(8, 3));
        assert!(project.build("").is_empty());
        project
    }

    /// Builds with these settings; returns the outputs that were read.
    fn build(&self, settings: &str) -> Vec<String> {
        self.src.tick(1_000_000_000);
        self.out.tick(1_000_000_000);
        let config = Config::parse(&format!("default: {{{settings}}}"), "assetc.yml").unwrap();
        let mut journal = Journal::open(&self.out, &RelPath::new(".journal").unwrap(), &|| ()).unwrap();
        let (src_tree, out_tree) = (self.src.walk(None).unwrap(), self.out.walk(None).unwrap());
        let sources = SourceTree { fs: &self.src, tree: &src_tree };
        let sink = DirectorySink::new(&self.out, &out_tree);
        let tools = Tools::default();
        let planned = plan(&src_tree, &config.resolver(None), &tools, Versions::Asked);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        self.out.take_reads();
        let done = run(sources, &sink, &mut journal, &planned.assets, &[], Plan::new(&pool)).unwrap();
        assert!(done.iter().all(|done| !matches!(done.state, State::Failed(_))), "{done:?}");
        self.out.take_reads()
    }

    fn out(&self, path: &str) -> Vec<u8> {
        self.out.get(path).unwrap_or_else(|| panic!("no {path}"))
    }
}

/// A quad with this material, whose first texture is an embedded image.
fn inside(encoded: &[u8], material: Value) -> Vec<u8> {
    let mut model = Model::new();
    image(&mut model, encoded);
    square(model, material).glb()
}

fn square(mut model: Model, material: Value) -> Model {
    model.push("textures", json!({"source": 0}));
    model.push("materials", material);
    let mut primitive = quad(&mut model);
    primitive["material"] = json!(0);
    model.mesh(json!([primitive]));
    model
}

fn colour() -> Value {
    json!({"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}})
}

#[test]
fn models_reuse_texture_of_standalone_image() {
    let p = Project::new();
    let mut beside = Model::new();
    beside.push("images", json!({"uri": "wood.png"}));
    p.src.put("a.glb", inside(&png(8, 3), colour()));
    p.src.put("b.glb", inside(&png(8, 3), json!({"emissiveTexture": {"index": 0}})));
    p.src.put("c.glb", square(beside, colour()).glb());
    assert_eq!(p.build(""), ["wood.ktx2"; 3]);
    for output in ["a/tex_0.ktx2", "b/tex_0.ktx2", "c/tex_0.ktx2"] {
        assert_eq!(p.out(output), p.out("wood.ktx2"), "{output}");
    }
    // Also when the image and its texture were removed.
    let wood = p.out("wood.ktx2");
    p.src.delete("wood.png");
    p.src.delete("c.glb");
    p.src.put("d.glb", inside(&png(8, 3), colour()));
    let reads = p.build("");
    assert!(
        matches!(reads.as_slice(), [one] if ["a/tex_0.ktx2", "b/tex_0.ktx2"].contains(&one.as_str())),
        "{reads:?}"
    );
    assert_eq!((p.out("d/tex_0.ktx2"), p.out.get("wood.ktx2")), (wood, None));
}

#[test]
fn different_image_mode_or_settings_are_encoded_separately() {
    let p = Project::new();
    p.src.put("other.glb", inside(&png(8, 4), colour()));
    p.src.put("normal.glb", inside(&png(8, 3), json!({"normalTexture": {"index": 0}})));
    p.src.put("data.glb", inside(&png(8, 3), json!({"occlusionTexture": {"index": 0}})));
    p.src.put("small.glb", inside(&png(8, 3), colour()));
    assert_eq!(p.build("rules: [{match: small.glb, texture: {max_size: 4}}]"), Vec::<String>::new());
    let mut all = ["wood", "other/tex_0", "normal/tex_0", "data/tex_0", "small/tex_0"]
        .map(|name| p.out(&format!("{name}.ktx2")));
    all.sort();
    assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "all differ");
}

#[test]
fn does_not_reuse_modified_texture() {
    let p = Project::new();
    let wood = p.out("wood.ktx2");
    let mut damaged = wood.clone();
    *damaged.last_mut().unwrap() ^= 1;
    p.out.tick(1);
    p.out.put("wood.ktx2", damaged);
    p.src.put("a.glb", inside(&png(8, 3), colour()));
    p.build("");
    assert_eq!(p.out("a/tex_0.ktx2"), wood);
    assert_eq!(p.out("wood.ktx2"), wood);
}
