//! `*.shader/`: a folder of shader sources to one SPIR-V module (`.spv`) per entry point, in a folder of the same name.
//!
//! `jobs.rs` finds the entry points. A module is named after its stage, `vertex.spv`, or if the folder has several entry
//! points of the stage, after both: `vsShadow.vertex.spv`. With `shader.variants` each permutation has a folder of its
//! own. Sources that are not UTF-8, and invalid modules are errors.

mod external;
mod includes;
mod jobs;

use self::includes::ProjectIncludes;
use self::jobs::{Job, jobs};
use crate::artifact::FileMetadata;
use crate::config::{Optimize, Settings, Variant, Variants, is_variant_name};
use crate::recipe::{Compiled, Recipe, RecipeInfo};
use crate::tools::{Tool, Tools};
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceTree, Tree};
use kiln_format::spv::Reflection;
use kiln_shader::{Language, Options, Source, Stage, language_of, stage_of};
use std::time::Instant;

/// The number of bytes at the start of a source that are read for its `#version`.
const HEAD: usize = 4 << 10;

/// The recipe for a folder of shaders.
pub(crate) struct Shader;

impl Recipe for Shader {
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            name: "shader",
            sections: &["shader"],
            version: 2,
            folders: &["shader"],
            reads_other_files: true,
            ..RecipeInfo::DEFAULT
        }
    }

    /// Returns the folder of the modules.
    fn output(&self, source: &RelPath) -> Option<RelPath> {
        Some(source.clone())
    }

    fn writes(&self, source: &RelPath, output: &RelPath) -> bool {
        let rest = output.as_str().strip_prefix(source.as_str()).and_then(|rest| rest.strip_prefix('/'));
        let Some(name) = rest.and_then(|rest| rest.strip_suffix(".spv")) else { return false };
        let name = match name.split_once('/') {
            Some((variant, name)) if is_variant_name(variant) => name,
            Some(_) => return false,
            None => name,
        };
        let is_identifier =
            |name: &str| !name.is_empty() && name.chars().all(|c| c == '_' || c.is_alphanumeric());
        let (entry, stage) = name.rsplit_once('.').unwrap_or(("main", name));
        is_identifier(entry) && Stage::all().any(|known| known.name() == stage)
    }

    fn weight(&self, source: &RelPath, _: &Settings, sources: SourceTree<'_>) -> u64 {
        let files = sources.tree.children(source).filter_map(|entry| entry.file);
        files.fold(0, |sum, file| sum.saturating_add(file.len))
    }

    fn prepare(&self, source: &RelPath, settings: &Settings, sources: SourceTree<'_>, tools: &Tools) {
        let files = sources.tree.children(source).filter(|entry| entry.file.is_some());
        for entry in files {
            let name = entry.path.file_name();
            if let (Some(Language::Glsl), Some(stage)) = (language_of(name), stage_of(name)) {
                let head = || sources.fs.peek(&entry.path, HEAD).unwrap_or_default();
                let head = || String::from_utf8_lossy(&head()).into_owned();
                tools.start_compiler(head, stage, settings.shader.target);
                break;
            }
        }
    }

    fn tools(&self, source: &RelPath, settings: &Settings, tree: &Tree, tools: &Tools) -> Vec<Tool> {
        let mut used = vec![];
        let names = tree.children(source).filter(|entry| entry.file.is_some());
        // A file without a stage in its name may have entry points, too.
        for name in names.map(|entry| entry.path.file_name()) {
            match language_of(name) {
                Some(Language::Slang) => used.push(Tool::Slangc),
                Some(Language::Hlsl) => used.push(hlsl_compiler(tools).unwrap_or(Tool::SpirvVal)),
                _ => {}
            }
        }
        if settings.shader.optimize != Optimize::None {
            used.push(Tool::SpirvOpt);
        }
        used.sort_by_key(|tool| tool.name());
        used.dedup();
        used
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, tools: &Tools) -> Compiled {
        let jobs = jobs(cx, settings, tools)?;
        let variants = settings.shader.variants.as_ref().map(Variants::combinations);
        let mut artifacts = vec![];
        for variant in variants.unwrap_or_else(|| vec![Variant::default()]) {
            let defines = defines(settings, &variant);
            for job in &jobs {
                let start = Instant::now();
                let build = Build { job, settings, tools, defines: &defines };
                let module = build.module(cx).map_err(|diag| in_variant(diag, &variant));
                check_deadline(cx, &job.path)?;
                let (module, file) = (module?, variant_file(&variant, &job.output(&jobs)));
                cx.note(format!("{file}: {:.1} ms", start.elapsed().as_secs_f64() * 1e3));
                let output = cx.source().join(&file).map_err(|e| Diag::new(Code::Shader, e.to_string()))?;
                artifacts.push(cx.artifact(&output, FileMetadata::of(&output), &module)?);
            }
        }
        Ok(artifacts)
    }
}

/// Returns the path of an output below the folder of the shader.
fn variant_file(variant: &Variant, file: &str) -> String {
    if variant.name.is_empty() { file.to_owned() } else { format!("{}/{file}", variant.name) }
}

/// Names the permutation in an error.
fn in_variant(mut diag: Diag, variant: &Variant) -> Diag {
    if !variant.name.is_empty() {
        diag.message = format!("variant {}: {}", variant.name, diag.message);
    }
    diag
}

/// Returns the external HLSL compiler, if one was found.
fn hlsl_compiler(tools: &Tools) -> Option<Tool> {
    [Tool::Dxc, Tool::Slangc].into_iter().find(|tool| tools.get(*tool).is_some())
}

/// Fails an asset that has exceeded its time limit. The error of the compiler that was killed for it does not name the
/// limit, so this check comes first.
fn check_deadline(cx: &ActionContext<'_>, path: &RelPath) -> Result<(), Diag> {
    cx.inputs.check_deadline().map_err(|diag| diag.path(path))
}

/// Reads a source as UTF-8.
fn text(cx: &mut ActionContext<'_>, path: &RelPath) -> Result<String, Diag> {
    decode(path, cx.inputs.read(path)?)
}

fn decode(path: &RelPath, bytes: Vec<u8>) -> Result<String, Diag> {
    String::from_utf8(bytes).map(|text| text.trim_start_matches('\u{feff}').to_owned()).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        Diag::new(Code::ShaderEncoding, "the shader source is not valid UTF-8")
            .path(path)
            .at(line)
            .hint("save the file as UTF-8")
    })
}

/// The compilation of one entry point in one permutation.
struct Build<'a> {
    job: &'a Job,
    settings: &'a Settings,
    tools: &'a Tools,
    defines: &'a [(String, String)],
}

impl Build<'_> {
    /// Compiles, optimises and checks the module.
    fn module(&self, cx: &mut ActionContext<'_>) -> Result<Vec<u8>, Diag> {
        let module = self.compile(cx)?;
        let module = external::optimize(cx, self.tools, self.settings, module)
            .map_err(|diag| diag.path(&self.job.path))?;
        self.check(&module)?;
        Ok(module)
    }

    fn compile(&self, cx: &mut ActionContext<'_>) -> Result<Vec<u8>, Diag> {
        let Build { job, settings, tools, defines } = *self;
        let external = match job.language {
            Language::Spirv => return cx.inputs.read(&job.path),
            Language::Slang => Some(tools.require(Tool::Slangc, "Slang").map_err(|d| d.path(&job.path))?),
            Language::Hlsl => hlsl_compiler(tools).and_then(|tool| tools.get(tool)),
            Language::Glsl | Language::Wgsl => None,
        };
        if let Some(program) = external {
            return external::compile(cx, self, program);
        }
        let text = text(cx, &job.path)?;
        let source = Source {
            path: job.path.as_str(),
            text: &text,
            language: job.language,
            stage: job.stage,
            entry: &job.entry,
        };
        let options = Options { target: settings.shader.target, debug: settings.shader.debug, defines };
        let deadline = cx.inputs.deadline();
        let mut includes = ProjectIncludes::new(cx, include_dirs(settings));
        let compiled = tools.compile_shader(&source, &options, &mut includes, deadline);
        let compiled = includes.explain(compiled)?;
        for warning in &compiled.warnings {
            if !cx.has_warned(warning) {
                cx.warn(warning.clone());
            }
        }
        let module = compiled.bytes();
        if job.language == Language::Hlsl {
            self.check_hlsl(cx, &module)?;
        }
        Ok(module)
    }

    /// Checks that the module is valid and has an entry point of the stage.
    fn check(&self, module: &[u8]) -> Result<(), Diag> {
        let bad = |why: String| {
            let subject = match self.job.language {
                Language::Spirv => "the SPIR-V module",
                _ => "the SPIR-V module of the compiler",
            };
            Diag::new(Code::ShaderModule, format!("{subject} cannot be used: {why}")).path(&self.job.path)
        };
        let found = Reflection::read(module).map_err(|error| bad(error.to_string()))?;
        let stages: Vec<&str> = found.entry_points.iter().map(|entry| entry.stage.name()).collect();
        if !stages.contains(&self.job.stage.name()) {
            let wanted = self.job.stage.name();
            return Err(bad(format!("expected a {wanted} entry point, found {}", stages.join(", "))));
        }
        Ok(())
    }

    /// Validates a module that glslang compiled from HLSL, because glslang does not legalise HLSL.
    fn check_hlsl(&self, cx: &mut ActionContext<'_>, module: &[u8]) -> Result<(), Diag> {
        const HINT: &str = "install dxc or slangc, which compile HLSL completely";
        let unfit = Reflection::read(module).ok().and_then(|found| found.vulkan_error);
        if let Some(unfit) = unfit {
            let message = format!("glslang cannot compile this HLSL to a SPIR-V module for Vulkan: {unfit}");
            return Err(Diag::new(Code::ShaderHlsl, message).path(&self.job.path).hint(HINT));
        }
        if external::validate(cx, self.tools, self.settings, module)
            .map_err(|d| d.path(&self.job.path).hint(HINT))?
        {
            return Ok(());
        }
        let message = "HLSL was compiled with glslang, which supports only part of the language, and the module was not \
                       validated, because spirv-val was not found";
        let warning = Diag::new(Code::ShaderUnvalidated, message).hint("install dxc, slangc or spirv-val");
        if !cx.has_warned(&warning) {
            cx.warn(warning);
        }
        Ok(())
    }
}

/// Returns the macros of the settings and of a permutation, which takes precedence.
fn defines(settings: &Settings, variant: &Variant) -> Vec<(String, String)> {
    let is_replaced = |name: &str| variant.defines.iter().any(|(own, _)| own == name);
    let common = settings.shader.defines.iter().flat_map(|defines| defines.iter());
    let common = common.filter(|(name, _)| !is_replaced(name));
    let common = common.map(|(name, value)| (name.to_owned(), value.to_owned()));
    common.chain(variant.defines.iter().cloned()).collect()
}

/// Returns the directories of `shader.include`.
fn include_dirs(settings: &Settings) -> Vec<RelPath> {
    settings.shader.include.iter().flat_map(|dirs| dirs.iter().cloned()).collect()
}
