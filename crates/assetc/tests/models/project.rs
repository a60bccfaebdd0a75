//! A project in a temporary directory, built through the library.

use crate::model::Model;
use crate::shapes::Corner;
use assetc::build::{Report, Request, build};
use assetc::check::check;
use assetc::config::{Config, Roots};
use assetc::tools::Tools;
use kiln_engine::{Diag, State};
use kiln_format::hman::HmanView;
use kiln_format::hmat::{GpuMaterial, HmatView};
use kiln_format::hmesh::{GpuVertex, HmeshView};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory with sources in `assets` and outputs in `runtime`.
pub(crate) struct Project {
    dir: TempDir,
}

impl Project {
    /// An empty one, in memory where that can be had.
    pub(crate) fn new() -> Project {
        let dir = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        fs::create_dir(dir.path().join("assets")).unwrap();
        Project { dir }
    }

    /// One with these sources.
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Project {
        let project = Project::new();
        files.iter().for_each(|(path, bytes)| project.add(path, bytes));
        project
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Writes a source.
    pub(crate) fn add(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path("assets").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes the settings of `default:`.
    pub(crate) fn set(&self, settings: &str) {
        fs::write(self.path("assetc.yml"), format!("default: {{{settings}}}\n")).unwrap();
    }

    /// Builds.
    #[track_caller]
    pub(crate) fn build(&self) -> Report {
        self.try_build().unwrap()
    }

    /// Builds, or says why that cannot be finished.
    pub(crate) fn try_build(&self) -> Result<Report, Diag> {
        let config = Config::discover(self.dir.path()).unwrap();
        assert!(config.warnings().is_empty(), "{:?}", config.warnings());
        let roots = Roots::locate(&config, None, None).unwrap();
        let resolver = config.resolver(None);
        let (jobs, force, verify, pack) = (2, false, true, false);
        let tools = Tools::default();
        let request = Request {
            roots: &roots,
            resolver: &resolver,
            tools: &tools,
            jobs,
            force,
            verify,
            pack,
            overwrite: false,
            store: None,
            shard: None,
            limits: kiln_engine::Limits::default(),
            manifest: assetc::config::Manifest::Textures,
            events: &(),
        };
        build(&request)
    }

    /// Builds, and asserts that all went well and that every file is sound and agrees with the others.
    #[track_caller]
    pub(crate) fn built(&self) -> Report {
        let report = self.build();
        assert!(report.is_ok(), "{report:#?}");
        let problems = check(&self.path("runtime"), &|| ()).unwrap().problems;
        assert!(problems.is_empty(), "{problems:#?}");
        report
    }

    /// All outputs by path, without the journal.
    pub(crate) fn outputs(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(&self.path("runtime"), "", &mut found);
        found.retain(|path| path != ".assetc-cache");
        found.sort();
        found
    }

    /// An output.
    pub(crate) fn out(&self, path: &str) -> Vec<u8> {
        fs::read(self.path("runtime").join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }
}

fn list(dir: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            list(&entry.path(), &format!("{path}/"), found);
        } else {
            found.push(path);
        }
    }
}

/// How a source fared.
#[track_caller]
pub(crate) fn failure(report: &Report, source: &str) -> Diag {
    let asset = report.assets.iter().find(|asset| asset.source.as_str() == source).expect("such a source");
    match &asset.state {
        State::Failed(diag) => Diag::clone(diag),
        state => panic!("{source}: {state:?}"),
    }
}

/// One model, compiled alone.
pub(crate) struct Compiled {
    pub(crate) project: Project,
    pub(crate) warnings: Vec<Diag>,
    mesh: Vec<u8>,
}

impl Compiled {
    /// Compiles a model with the defaults.
    #[track_caller]
    pub(crate) fn new(model: &Model) -> Compiled {
        Compiled::with(model, "")
    }

    /// Compiles a model as `models/Chair.glb`.
    #[track_caller]
    pub(crate) fn with(model: &Model, settings: &str) -> Compiled {
        let project = Project::with(&[("models/Chair.glb", &model.glb())]);
        project.set(settings);
        let mut report = project.built();
        let warnings = std::mem::take(&mut report.assets[0].warnings);
        Compiled { mesh: project.out("models/Chair.hmesh"), project, warnings }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.mesh
    }

    pub(crate) fn mesh(&self) -> HmeshView<'_> {
        HmeshView::read(&self.mesh).unwrap()
    }

    /// The corners of each triangle of a submesh.
    pub(crate) fn triangles(&self, submesh: usize) -> Vec<[GpuVertex; 3]> {
        let mesh = self.mesh();
        let indices = mesh.submesh_indices(&mesh.submeshes().get(submesh).unwrap());
        let corners: Vec<GpuVertex> =
            indices.iter().map(|index| mesh.vertices().get(index as usize).unwrap()).collect();
        corners.as_chunks::<3>().0.to_vec()
    }

    /// The same, with their tangent frames.
    pub(crate) fn corners(&self, submesh: usize) -> Vec<[Corner; 3]> {
        self.triangles(submesh).into_iter().map(|triangle| triangle.map(Corner::from)).collect()
    }

    pub(crate) fn materials(&self) -> Vec<GpuMaterial> {
        let bytes = self.project.out("models/Chair.hmat");
        HmatView::read(&bytes).unwrap().materials().iter().collect()
    }

    /// The manifest: hash, whether it is sRGB, path.
    pub(crate) fn manifest(&self) -> Vec<(u64, bool, String)> {
        let bytes = self.project.out("assets.hman");
        let entries = HmanView::read(&bytes).unwrap().entries();
        entries.map(|e| (e.hash, e.colorspace as u8 == 1, e.path.to_owned())).collect()
    }

    pub(crate) fn codes(&self) -> Vec<&str> {
        self.warnings.iter().map(|warning| warning.code.as_str()).collect()
    }
}
