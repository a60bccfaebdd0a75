//! One golden case: its sources are built in a temporary directory, and every stage is dumped as text.

use assetc::config::Config;
use assetc::{Build, BuildReport};
use kiln_engine::{Diag, Fs, Inputs, Real, RelPath, SourceTree, State};
use kiln_format::by_path;
use kiln_format::hanim::{HanimView, Keys};
use kiln_format::hmesh::HmeshView;
use kiln_import::gltf;
use kiln_ir::{Scene, Transform};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory below `tests/golden`.
pub(crate) struct Case {
    pub(crate) name: String,
    dir: PathBuf,
}

impl Case {
    /// Returns all cases, sorted by name.
    pub(crate) fn all() -> Vec<Case> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
        let mut cases: Vec<Case> = fs::read_dir(&root)
            .unwrap_or_else(|e| panic!("{}: {e}", root.display()))
            .map(|entry| entry.unwrap())
            .map(|entry| Case { name: entry.file_name().into_string().unwrap(), dir: entry.path() })
            .collect();
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        cases
    }

    /// Returns the golden files by name.
    pub(crate) fn expected(&self) -> BTreeMap<String, String> {
        let files = files(&self.dir.join("expected")).into_iter();
        files.map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap())).collect()
    }

    /// Returns the directory of the golden files.
    #[allow(dead_code, reason = "the test only reads")]
    pub(crate) fn expected_dir(&self) -> PathBuf {
        self.dir.join("expected")
    }

    /// Returns files that are neither golden files, nor sources, nor referenced by a source.
    #[allow(dead_code, reason = "only the test uses it")]
    pub(crate) fn strays(&self) -> Vec<String> {
        let inputs = files(&self.dir.join("in"));
        let report = self.expected().remove("report.txt").unwrap_or_default();
        let is_source = |name: &str| report.contains(&format!(" {name}: "));
        let is_named = |name: &str| {
            let last = name.rsplit('/').next().unwrap_or(name);
            inputs.values().any(|bytes| String::from_utf8_lossy(bytes).contains(last))
        };
        let known = |path: &String| match path.strip_prefix("in/") {
            Some(name) => is_source(name) || is_named(name),
            None => path.starts_with("expected/") || path == "assetc.yml",
        };
        files(&self.dir).into_keys().filter(|path| !known(path)).collect()
    }

    /// Builds the case and dumps each stage: `<model>.txt` is the imported scene, `<output>.txt` the output, `report.txt`
    /// the diagnostics and outputs.
    pub(crate) fn dumps(&self) -> BTreeMap<String, String> {
        let work = tempfile::tempdir().unwrap();
        for (name, bytes) in files(&self.dir.join("in")) {
            let path = work.path().join("assets").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        if let Ok(config) = fs::read(self.dir.join("assetc.yml")) {
            fs::write(work.path().join("assetc.yml"), config).unwrap();
        }
        let report = compile(work.path());
        let outputs = files(&work.path().join("runtime"));
        let mut dumps = BTreeMap::from([("report.txt".to_owned(), summary(&report, &outputs))]);
        let assets = Real::open(&work.path().join("assets")).unwrap();
        for asset in report.assets.iter().filter(|asset| asset.kind == "mesh") {
            dumps.insert(format!("{}.txt", asset.source), imported(&assets, &asset.source));
        }
        for (name, bytes) in &outputs {
            // Textures are described in the report: encoding quality is not part of golden files.
            let Some(format) = by_path(name).filter(|_| !name.ends_with(".ktx2")) else { continue };
            let mut text = String::new();
            format.dump(bytes, &mut text).unwrap();
            if name.ends_with(".hmesh") {
                arrays(&HmeshView::read(bytes).unwrap(), &mut text).unwrap();
            }
            if name.ends_with(".hanim") {
                keys(&HanimView::read(bytes).unwrap(), &mut text).unwrap();
            }
            dumps.insert(format!("{name}.txt"), text);
        }
        dumps
    }
}

/// Returns all files below a directory.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            let below = files(&entry.path()).into_iter();
            found.extend(below.map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

fn compile(project: &Path) -> BuildReport {
    let file = project.join("assetc.yml");
    let config = match file.is_file() {
        true => Config::load(&file, "assetc.yml").unwrap(),
        false => Config::built_in(project),
    };
    let report = Build::new(&config).jobs(2).verify(true).run().unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    report
}

/// Lists sources with their diagnostics, and outputs.
fn summary(report: &BuildReport, outputs: &BTreeMap<String, Vec<u8>>) -> String {
    let mut text = String::new();
    for asset in &report.assets {
        let state = match &asset.state {
            State::Failed(diag) => shown(diag),
            _ => "built".to_owned(),
        };
        writeln!(text, "{} {}: {state}", asset.kind, asset.source).unwrap();
        asset.warnings.iter().for_each(|warning| writeln!(text, "  {}", shown(warning)).unwrap());
    }
    for (name, bytes) in outputs.iter().filter(|(name, _)| *name != ".assetc-cache") {
        let mut line = String::new();
        if let Some(format) = by_path(name).filter(|_| name.ends_with(".ktx2")) {
            line.push_str(": ");
            format.describe(bytes, &mut line).unwrap();
        }
        writeln!(text, "writes {name}{line}").unwrap();
    }
    text
}

fn shown(diag: &Diag) -> String {
    format!("{}[{}] {} {}", diag.severity(), diag.code, diag.at.as_deref().unwrap_or_default(), diag.message)
}

/// Dumps the imported scene of a model.
fn imported(assets: &Real, source: &RelPath) -> String {
    let tree = assets.walk(None).unwrap();
    let mut text = String::new();
    match gltf::import(&mut Inputs::new(SourceTree { fs: assets, tree: &tree }), source) {
        Ok(imported) => scene(&imported.value, &mut text).unwrap(),
        Err(diag) => text = shown(&diag) + "\n",
    }
    text
}

fn scene(scene: &Scene, text: &mut String) -> std::fmt::Result {
    writeln!(text, "roots {:?}", scene.roots.iter().map(|root| root.0).collect::<Vec<_>>())?;
    for (index, node) in scene.nodes.iter().enumerate() {
        let children: Vec<u32> = node.children.iter().map(|child| child.0).collect();
        let (mesh, skin) = (node.mesh.map(|mesh| mesh.0), node.skin.map(|skin| skin.0));
        writeln!(text, "node {index} {:?} mesh {mesh:?} skin {skin:?} children {children:?}", node.name)?;
        match &node.transform {
            Transform::Trs(trs) => writeln!(text, "  {trs:?}")?,
            Transform::Matrix(matrix) => writeln!(text, "  {matrix:?}")?,
        }
        node.instances.iter().try_for_each(|instance| writeln!(text, "  instance {instance:?}"))?;
    }
    for (index, mesh) in scene.meshes.iter().enumerate() {
        writeln!(text, "mesh {index} {:?}", mesh.name)?;
        for primitive in &mesh.primitives {
            writeln!(
                text,
                "  material {:?} indices {:?}",
                primitive.material.map(|id| id.0),
                primitive.indices
            )?;
            writeln!(text, "  positions {:?}", primitive.positions)?;
            writeln!(text, "  normals {:?}", primitive.normals)?;
            writeln!(text, "  tangents {:?}", primitive.tangents)?;
            writeln!(text, "  uv0 {:?}", primitive.uv0)?;
            writeln!(text, "  joints {:?} weights {:?}", primitive.joints, primitive.weights)?;
        }
    }
    for (index, material) in scene.materials.iter().enumerate() {
        writeln!(text, "material {index} {material:?}")?;
    }
    for (index, image) in scene.images.iter().enumerate() {
        writeln!(text, "image {index} {:?} {:?} {} bytes", image.path, image.extension, image.bytes.len())?;
    }
    for (index, skin) in scene.skins.iter().enumerate() {
        writeln!(text, "skin {index} {:?}", skin.joints.iter().map(|joint| joint.0).collect::<Vec<_>>())?;
        skin.inverse_bind.iter().try_for_each(|inverse| writeln!(text, "  inverse bind {inverse:?}"))?;
    }
    for (index, animation) in scene.animations.iter().enumerate() {
        writeln!(text, "animation {index} {:?}", animation.name)?;
        animation.channels.iter().try_for_each(|channel| writeln!(text, "  {channel:?}"))?;
    }
    Ok(())
}

/// Dumps the arrays of a mesh, which the dump of the format only hashes.
fn arrays(mesh: &HmeshView<'_>, text: &mut String) -> std::fmt::Result {
    for (index, vertex) in mesh.vertices().iter().enumerate() {
        writeln!(text, "vertex {index} {vertex:?}")?;
    }
    for (index, skin) in mesh.skin().iter().enumerate() {
        writeln!(text, "skin {index} {skin:?}")?;
    }
    let indices: Vec<u32> = mesh.indices().iter().collect();
    writeln!(text, "indices {indices:?}")?;
    for (meshlet, bounds) in mesh.meshlets().iter().zip(mesh.meshlet_bounds().iter()) {
        let (vertices, triangles) = mesh.meshlet(&meshlet);
        let (vertices, triangles): (Vec<u32>, Vec<[u8; 3]>) =
            (vertices.iter().collect(), triangles.iter().collect());
        writeln!(text, "meshlet {vertices:?} {triangles:?} {bounds:?}")?;
    }
    Ok(())
}

/// The keys of all clips.
fn keys(clips: &HanimView<'_>, text: &mut String) -> std::fmt::Result {
    for channel in clips.clips().flat_map(|clip| clip.channels()) {
        match channel.keys {
            Keys::Translation(keys) | Keys::Scale(keys) => {
                keys.iter().try_for_each(|key| writeln!(text, "joint {} {key:?}", channel.joint))?;
            }
            Keys::Rotation(keys) => {
                keys.iter().try_for_each(|key| writeln!(text, "joint {} {key:?}", channel.joint))?;
            }
        }
    }
    Ok(())
}
