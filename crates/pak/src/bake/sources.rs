//! The source files of a pak, for build scripts and tools.

use super::plan::material::Channel;
use super::plan::{MissingFiles, Plan, Recipe};
use super::{Bake, BakeError};
use crate::PakBuf;
use kiln_engine::{Inputs, Limits, RelPath, SourceTree};
use kiln_import::gltf::{self, ImageSelection, Options};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// An animation that a content file lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceAnimation {
    /// The key of the animation in the pak.
    pub key: String,
    /// The TOML file that describes the animation.
    pub manifest_path: PathBuf,
    /// The glTF file that contains the animation.
    pub source_path: PathBuf,
    /// The name of the animation in that file; `None` for the first one.
    pub name: Option<String>,
    /// The targets whose channels are excluded.
    pub exclude: Vec<String>,
}

impl Bake<'_> {
    /// Returns every file that the pak depends on, sorted: the content file, descriptions, sources, and the files they
    /// refer to (buffers and images of glTF files, pages of bitmap fonts). For `cargo:rerun-if-changed`. A source that does
    /// not exist is listed, too.
    ///
    /// # Errors
    /// [`BakeError`] if the content file or a description cannot be read or is invalid.
    pub fn source_files(&self) -> Result<Vec<PathBuf>, BakeError> {
        let (src, tree) = self.sources()?;
        let sources = SourceTree { fs: &src, tree: &tree };
        let mut inputs = Inputs::new(sources).limited(self.plan_limits());
        let text = self.read_content_file()?;
        let plan = self.plan(&text, &mut inputs, &src, &tree, MissingFiles::Accept)?;
        let mut files: BTreeSet<RelPath> = inputs.files_read().cloned().collect();
        files.extend(plan.missing.iter().cloned());
        files.extend(plan.keys.values().map(|(_, path)| path.clone()));
        files.extend(dependencies(&plan, sources, self.plan_limits()));
        let root = self.root();
        let mut paths: Vec<PathBuf> = files.iter().map(|path| path.below(&root)).collect();
        paths.push(self.src.clone());
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// Returns the animations that the content file lists, sorted by key. Their glTF files are not opened.
    ///
    /// # Errors
    /// [`BakeError`] if the content file or a description cannot be read or is invalid.
    pub fn source_animations(&self) -> Result<Vec<SourceAnimation>, BakeError> {
        let (src, tree) = self.sources()?;
        let sources = SourceTree { fs: &src, tree: &tree };
        let mut inputs = Inputs::new(sources).limited(self.plan_limits());
        let text = self.read_content_file()?;
        let plan = self.plan(&text, &mut inputs, &src, &tree, MissingFiles::Accept)?;
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

/// Returns the files that the actions of a plan read.
fn dependencies(plan: &Plan, sources: SourceTree<'_>, limits: Limits) -> BTreeSet<RelPath> {
    let mut files = BTreeSet::new();
    // The glTF files, and whether their images are read too.
    let mut models: BTreeMap<&RelPath, ImageSelection> = BTreeMap::new();
    for node in &plan.nodes {
        let mut images = Vec::new();
        match &node.recipe {
            Recipe::Blob(path) | Recipe::Sound(path) => drop(files.insert(path.clone())),
            Recipe::Bitmap(spec) => images.push(&spec.src),
            Recipe::Params(spec) => images.extend(spec.channels.iter().filter_map(|channel| match channel {
                Channel::Image(spec) => Some(&spec.src),
                _ => None,
            })),
            Recipe::Mesh(spec, _) => drop(models.entry(&spec.src).or_insert(ImageSelection::None)),
            Recipe::Animation(spec) => drop(models.entry(&spec.src).or_insert(ImageSelection::None)),
            _ => {}
        }
        for image in images {
            match image.part {
                Some(_) => drop(models.insert(&image.path, ImageSelection::All)),
                None => drop(files.insert(image.path.clone())),
            }
        }
    }
    for (path, images) in models {
        let mut inputs = Inputs::new(sources).limited(limits);
        // An invalid or missing file is reported by the bake; here it is a source like any other.
        let _ = gltf::import_with(&mut inputs, path, &Options::new().geometry(false).images(images));
        files.extend(inputs.files_read().cloned());
        files.insert(path.clone());
    }
    files
}

impl PakBuf {
    /// Returns every file that a pak depends on. See [`Bake::source_files`].
    ///
    /// # Errors
    /// As for [`Bake::source_files`].
    pub fn source_files(src: impl AsRef<Path>) -> Result<Box<[PathBuf]>, BakeError> {
        Bake::new(src.as_ref(), "").source_files().map(Vec::into_boxed_slice)
    }

    /// Returns every file that a pak depends on, with paths relative to `dir`. See [`Bake::source_files`].
    ///
    /// # Errors
    /// As for [`Bake::source_files`].
    pub fn source_files_with_dir(
        src: impl AsRef<Path>,
        dir: impl AsRef<Path>,
    ) -> Result<Box<[PathBuf]>, BakeError> {
        Bake::new(src.as_ref(), "").dir(dir.as_ref()).source_files().map(Vec::into_boxed_slice)
    }

    /// Returns the animations that a content file lists. See [`Bake::source_animations`].
    ///
    /// # Errors
    /// As for [`Bake::source_animations`].
    pub fn source_animations(src: impl AsRef<Path>) -> Result<Box<[SourceAnimation]>, BakeError> {
        Bake::new(src.as_ref(), "").source_animations().map(Vec::into_boxed_slice)
    }

    /// Returns the animations that a content file lists, with paths relative to `dir`. See [`Bake::source_animations`].
    ///
    /// # Errors
    /// As for [`Bake::source_animations`].
    pub fn source_animations_with_dir(
        src: impl AsRef<Path>,
        dir: impl AsRef<Path>,
    ) -> Result<Box<[SourceAnimation]>, BakeError> {
        Bake::new(src.as_ref(), "").dir(dir.as_ref()).source_animations().map(Vec::into_boxed_slice)
    }
}
