//! A project in a temporary directory, built with the library.

use crate::model::Model;
use crate::shapes::Corner;
use assetc::config::Config;
use assetc::{Build, BuildReport, check};
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
    /// Creates an empty project, on a memory file system if there is one.
    pub(crate) fn new() -> Project {
        let dir = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        fs::create_dir(dir.path().join("assets")).unwrap();
        Project { dir }
    }

    /// Creates a project with these sources.
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Project {
        let project = Project::new();
        files.iter().for_each(|(path, bytes)| project.add(path, bytes));
        project
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Writes a source file.
    pub(crate) fn add(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path("assets").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes the settings of `default:`.
    pub(crate) fn set(&self, settings: &str) {
        fs::write(self.path("assetc.yml"), format!("default: {{{settings}}}\n")).unwrap();
    }

    /// Builds the project; sources may fail.
    #[track_caller]
    pub(crate) fn build(&self) -> BuildReport {
        self.try_build().unwrap()
    }

    /// Builds the project, or returns the error that prevents it.
    pub(crate) fn try_build(&self) -> Result<BuildReport, Diag> {
        let config = Config::discover(self.dir.path()).unwrap();
        assert!(config.warnings().is_empty(), "{:?}", config.warnings());
        Build::new(&config).jobs(2).verify(true).run()
    }

    /// Builds the project, and asserts that no source failed and that all outputs are valid and consistent.
    #[track_caller]
    pub(crate) fn built(&self) -> BuildReport {
        let report = self.build();
        assert!(report.is_ok(), "{report:#?}");
        let problems = check(&self.path("runtime"), &|| ()).unwrap().problems;
        assert!(problems.is_empty(), "{problems:#?}");
        report
    }

    /// Returns the paths of all outputs, without the journal.
    pub(crate) fn outputs(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(&self.path("runtime"), "", &mut found);
        found.retain(|path| path != ".assetc-cache");
        found.sort();
        found
    }

    /// Reads an output file.
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

/// Returns the error of a source.
#[track_caller]
pub(crate) fn failure(report: &BuildReport, source: &str) -> Diag {
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

    /// Returns the vertices of each triangle of a submesh.
    pub(crate) fn triangles(&self, submesh: usize) -> Vec<[GpuVertex; 3]> {
        let mesh = self.mesh();
        let indices = mesh.submesh_indices(&mesh.submeshes().get(submesh).unwrap());
        let corners: Vec<GpuVertex> =
            indices.iter().map(|index| mesh.vertices().get(index as usize).unwrap()).collect();
        corners.as_chunks::<3>().0.to_vec()
    }

    /// Returns the vertices of each triangle of a submesh with their tangent frames.
    pub(crate) fn corners(&self, submesh: usize) -> Vec<[Corner; 3]> {
        self.triangles(submesh).into_iter().map(|triangle| triangle.map(Corner::from)).collect()
    }

    pub(crate) fn materials(&self) -> Vec<GpuMaterial> {
        let bytes = self.project.out("models/Chair.hmat");
        HmatView::read(&bytes).unwrap().materials().iter().collect()
    }

    /// Returns the manifest entries: hash, whether the texture is sRGB, path.
    pub(crate) fn manifest(&self) -> Vec<(u64, bool, String)> {
        let bytes = self.project.out("assets.hman");
        let entries = HmanView::read(&bytes).unwrap().entries();
        entries.map(|e| (e.hash, e.colorspace as u8 == 1, e.path.to_owned())).collect()
    }

    pub(crate) fn codes(&self) -> Vec<&str> {
        self.warnings.iter().map(|warning| warning.code.as_str()).collect()
    }
}
