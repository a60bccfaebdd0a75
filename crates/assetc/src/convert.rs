//! `assetc convert`: compiles one source without a project, in memory.
//!
//! The source is compiled by the same recipe and engine as in a build, so its bytes are those of a build with the same
//! settings whose input directory is the root of the conversion.

use crate::config::Config;
use crate::explain::no_source;
use crate::output::{at_root, journal_path};
use crate::plan::{Versions, plan};
use crate::tools::Tools;
use kiln_engine::mem::Mem;
use kiln_engine::{
    Code, Diag, DirectorySink, Fs, Journal, Limits, Plan, Real, RelPath, SourceTree, State, Tree, run,
};
use std::path::Path;

/// The conversion of one source: settings, external programs and limits.
#[derive(Clone, Copy)]
pub struct Convert<'a> {
    config: &'a Config,
    tools: Option<&'a Tools>,
    jobs: usize,
    limits: Limits,
}

/// The result of a conversion.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Converted {
    /// The runtime files, the main one first. Empty if the source has no content, such as a model without triangles.
    pub files: Vec<ConvertedFile>,
    /// The warnings about the source.
    pub warnings: Vec<Diag>,
}

/// A runtime file in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConvertedFile {
    /// The path relative to the output directory of a build.
    pub path: RelPath,
    /// The content.
    pub bytes: Vec<u8>,
}

impl Converted {
    /// Returns a `.glb` as a `.gltf` of this file name and the `.bin` of its buffer; other files are unchanged.
    ///
    /// # Errors
    ///
    /// `usage` if the name is not portable.
    pub fn split_gltf(mut self, name: &str) -> Result<Converted, Diag> {
        let Some(at) = self.files.iter().position(|file| file.path.as_str().ends_with(".glb")) else {
            return Ok(self);
        };
        let path = |name: String| {
            RelPath::new(name)
                .map_err(|bad| Diag::new(Code::Usage, format!("the output is not a file name: {bad}")))
        };
        let buffer_name = format!("{}.bin", name.rsplit_once('.').map_or(name, |(stem, _)| stem));
        let glb = self.files.remove(at).bytes;
        let (text, buffer) = kiln_gltf_export::split(glb, &buffer_name)?;
        self.files.insert(at, ConvertedFile { path: path(name.to_owned())?, bytes: text });
        if let Some(bytes) = buffer {
            self.files.insert(at + 1, ConvertedFile { path: path(buffer_name)?, bytes });
        }
        Ok(self)
    }
}

impl<'a> Convert<'a> {
    /// Prepares a conversion with the settings of a configuration, such as [`Config::built_in`] with changes by
    /// [`Config::set`]. Its directories, presets and cache are not used.
    pub fn new(config: &'a Config) -> Convert<'a> {
        let jobs = crate::builder::available_cores();
        Convert { config, tools: None, jobs, limits: Limits::default() }
    }

    /// Sets the external programs and the shader workers. Without them, shaders are compiled in this process.
    #[must_use]
    pub fn tools(self, tools: &'a Tools) -> Convert<'a> {
        Convert { tools: Some(tools), ..self }
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn jobs(self, jobs: usize) -> Convert<'a> {
        Convert { jobs, ..self }
    }

    /// Sets the limits on pixels, memory and time.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Convert<'a> {
        Convert { limits, ..self }
    }

    /// Converts a file or a folder below `root`. Nothing outside `root` is read.
    ///
    /// # Errors
    ///
    /// `not-a-source` or `file-missing` if no recipe compiles the path, I/O errors, and the errors of the recipe.
    pub fn path(&self, root: &Path, source: &RelPath) -> Result<Converted, Diag> {
        let fault = |e| at_root(Code::Unreadable, root, &e);
        let src = Real::open(root).map_err(fault)?;
        let tree = src.walk(None).map_err(fault)?;
        self.convert(&src, &tree, source)
    }

    /// Converts the content of a file. The suffix of `name` selects the recipe, as in a project.
    ///
    /// # Errors
    ///
    /// `not-a-source` if no recipe compiles such a name, and the errors of the recipe.
    pub fn bytes(&self, name: &RelPath, bytes: Vec<u8>) -> Result<Converted, Diag> {
        let src = Mem::new();
        src.put(name.as_str(), bytes);
        let tree = src.walk(None).map_err(|e| at_root(Code::Unreadable, Path::new(name.as_str()), &e))?;
        self.convert(&src, &tree, name)
    }

    fn convert(&self, src: &dyn Fs, tree: &Tree, source: &RelPath) -> Result<Converted, Diag> {
        let no_tools = Tools::default();
        let tools = self.tools.unwrap_or(&no_tools);
        // Planned alone: a sibling with the same output is no conflict here.
        let entries = tree.get(source.as_str()).into_iter().chain(tree.below(source)).cloned();
        let alone = Tree::new(entries.collect(), vec![]);
        let mut planned = plan(&alone, &self.config.resolver(None), tools, Versions::Asked);
        planned.assets.retain(|asset| &asset.source == source);
        if planned.assets.is_empty() {
            let skipped = planned.unread.into_iter().find(|(path, _)| path == source);
            return Err(match skipped {
                Some((_, warning)) => Diag::new(Code::NotASource, warning.message)
                    .path(source)
                    .hint(warning.hint.unwrap_or_default()),
                None => no_source(tree, source, std::iter::empty()),
            });
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.jobs)
            .build()
            .map_err(|e| Diag::new(Code::Threads, format!("cannot start {} threads: {e}", self.jobs)))?;
        let out = Mem::new();
        let in_memory = |e| at_root(Code::Unwritable, Path::new(source.as_str()), &e);
        let mut journal = Journal::open(&out, &journal_path(), &|| ()).map_err(in_memory)?;
        let (sources, empty) = (SourceTree { fs: src, tree }, Tree::default());
        let sink = DirectorySink::new(&out, &empty);
        let run_plan = Plan { limits: self.limits, ..Plan::new(&pool) };
        let outcome = run(sources, &sink, &mut journal, &planned.assets, &[], run_plan)?.pop();
        let outcome =
            outcome.ok_or_else(|| Diag::new(Code::ActionLost, "the action ended without a result"))?;
        if let State::Failed(error) = outcome.state {
            return Err(*error);
        }
        let file = |path: RelPath| ConvertedFile { bytes: out.get(path.as_str()).unwrap_or_default(), path };
        let files = outcome.artifacts.into_iter().map(|artifact| file(artifact.name)).collect();
        Ok(Converted { files, warnings: outcome.warnings })
    }
}
