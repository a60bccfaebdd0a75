//! What a bake depends on, for build scripts and tools.

use super::plan::material::Channel;
use super::plan::{Plan, Recipe};
use super::{Bake, BakeError};
use crate::PakBuf;
use kiln_engine::{Diag, Inputs, Limits, RelPath, SourceTree};
use kiln_import::gltf::{self, Parts, Pictures};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// An animation that a content file lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceAnimation {
    /// Its key in the pak.
    pub key: String,
    /// The file that describes it.
    pub manifest_path: PathBuf,
    /// The file it comes from.
    pub source_path: PathBuf,
    /// Which animation of that file; the first when there is none.
    pub name: Option<String>,
    /// The targets that are left out.
    pub exclude: Vec<String>,
}

impl Bake<'_> {
    /// Every file that the pak is made from, sorted: the content file, descriptions, sources, and what those refer to
    /// (buffers and pictures of glTF files, pages of fonts). For `cargo:rerun-if-changed`.
    pub fn source_files(&self) -> Result<Vec<PathBuf>, BakeError> {
        let (src, tree) = self.sources()?;
        let sources = SourceTree { fs: &src, tree: &tree };
        let mut inputs = Inputs::new(sources).limited(self.plan_limits());
        let plan = self.plan(&self.text()?, &mut inputs, &src, &tree)?;
        let mut files: BTreeSet<RelPath> = inputs.files_read().cloned().collect();
        files.extend(plan.keys.values().map(|(_, path)| path.clone()));
        files.extend(dependencies(&plan, sources, self.plan_limits())?);
        let root = self.root();
        let mut paths: Vec<PathBuf> = files.iter().map(|path| path.below(&root)).collect();
        paths.push(self.src.clone());
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// The animations that the content file lists, by key. Their sources are not opened.
    pub fn source_animations(&self) -> Result<Vec<SourceAnimation>, BakeError> {
        let (src, tree) = self.sources()?;
        let sources = SourceTree { fs: &src, tree: &tree };
        let mut inputs = Inputs::new(sources).limited(self.plan_limits());
        let plan = self.plan(&self.text()?, &mut inputs, &src, &tree)?;
        let root = self.root();
        let animation = |(key, (id, path)): (&String, &(super::plan::NodeId, RelPath))| {
            let Recipe::Animation(spec) = &plan.nodes[id.0].recipe else { return None };
            Some(SourceAnimation {
                key: key.clone(),
                manifest_path: path.below(&root),
                source_path: spec.src.below(&root),
                name: spec.name.clone(),
                exclude: spec.exclude.clone(),
            })
        };
        Ok(plan.keys.iter().filter_map(animation).collect())
    }
}

/// The files that assets read.
fn dependencies(plan: &Plan, sources: SourceTree<'_>, limits: Limits) -> Result<BTreeSet<RelPath>, Diag> {
    let mut files = BTreeSet::new();
    // Which glTF files, and whether their pictures are read too.
    let mut models: BTreeMap<&RelPath, Pictures> = BTreeMap::new();
    for node in &plan.nodes {
        let mut pictures = Vec::new();
        match &node.recipe {
            Recipe::Blob(path) => drop(files.insert(path.clone())),
            Recipe::Bitmap(spec) => pictures.push(&spec.src),
            Recipe::Params(spec) => {
                pictures.extend(spec.channels.iter().filter_map(|channel| match channel {
                    Channel::Picture(spec) => Some(&spec.src),
                    _ => None,
                }))
            }
            Recipe::Mesh(spec, _) => drop(models.entry(&spec.src).or_insert(Pictures::None)),
            Recipe::Animation(spec) => drop(models.entry(&spec.src).or_insert(Pictures::None)),
            _ => {}
        }
        for picture in pictures {
            match picture.part {
                Some(_) => drop(models.insert(&picture.path, Pictures::All)),
                None => drop(files.insert(picture.path.clone())),
            }
        }
    }
    for (path, pictures) in models {
        let mut inputs = Inputs::new(sources).limited(limits);
        gltf::import_parts(&mut inputs, path, &Parts { shapes: false, pictures, ..Parts::default() })?;
        files.extend(inputs.files_read().cloned());
    }
    Ok(files)
}

impl PakBuf {
    /// Every file that a pak is made from: see [`Bake::source_files`].
    pub fn source_files(src: impl AsRef<Path>) -> Result<Box<[PathBuf]>, BakeError> {
        Bake::new(src.as_ref(), "").source_files().map(Vec::into_boxed_slice)
    }

    /// The same, relative to `dir`.
    pub fn source_files_with_dir(
        src: impl AsRef<Path>,
        dir: impl AsRef<Path>,
    ) -> Result<Box<[PathBuf]>, BakeError> {
        Bake::new(src.as_ref(), "").dir(dir.as_ref()).source_files().map(Vec::into_boxed_slice)
    }

    /// The animations that a content file lists: see [`Bake::source_animations`].
    pub fn source_animations(src: impl AsRef<Path>) -> Result<Box<[SourceAnimation]>, BakeError> {
        Bake::new(src.as_ref(), "").source_animations().map(Vec::into_boxed_slice)
    }

    /// The same, relative to `dir`.
    pub fn source_animations_with_dir(
        src: impl AsRef<Path>,
        dir: impl AsRef<Path>,
    ) -> Result<Box<[SourceAnimation]>, BakeError> {
        Bake::new(src.as_ref(), "").dir(dir.as_ref()).source_animations().map(Vec::into_boxed_slice)
    }
}
