//! `*.shader/`: a folder of shader sources to one SPIR-V module (`.spv`) per stage, in a folder of the same name.
//!
//! The stage of a source is its extension (`sky.vert`) or its stem (`vertex.glsl`); a `.wgsl` without a stage in its name
//! compiles to all its entry points. All other files of the folder are for includes. Two sources for one stage, sources
//! that are not UTF-8, and invalid modules are errors.

mod external;
mod includes;

use self::includes::ProjectIncludes;
use crate::artifact::{FileArtifact, FileMetadata};
use crate::config::{Optimize, Settings};
use crate::recipe::{Recipe, Suffix};
use crate::tools::{Tool, Tools};
use kiln_engine::{ActionContext, Code, Diag, Entry, RelPath, SourceTree, Tree};
use kiln_format::spv::Reflection;
use kiln_shader::{Language, Options, Source, Stage, language_of, stage_of};

/// The number of bytes at the start of a source that are read for its `#version`.
const HEAD: usize = 4 << 10;

/// The recipe for a folder of shaders.
pub(crate) struct Shader;

impl Recipe for Shader {
    fn name(&self) -> &'static str {
        "shader"
    }

    fn sections(&self) -> &'static [&'static str] {
        &["shader"]
    }

    fn version(&self) -> u32 {
        1
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        !is_file && suffix.is(&["shader"])
    }

    /// Returns the folder of the modules.
    fn output(&self, source: &RelPath) -> Option<RelPath> {
        Some(source.clone())
    }

    fn writes(&self, source: &RelPath, output: &RelPath) -> bool {
        let stage = output.file_name().strip_suffix(".spv");
        output.parent().as_ref() == Some(source) && Stage::all().any(|known| Some(known.name()) == stage)
    }

    fn reads_other_files(&self) -> bool {
        true
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
        for name in names.map(|entry| entry.path.file_name()).filter(|name| stage_of(name).is_some()) {
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

    fn run(
        &self,
        cx: &mut ActionContext<'_>,
        settings: &Settings,
        tools: &Tools,
    ) -> Result<Vec<FileArtifact>, Diag> {
        let mut artifacts = vec![];
        for job in jobs(cx, tools)? {
            let module = job.compile(cx, settings, tools).and_then(|module| {
                external::optimize(cx, tools, settings, module).map_err(|diag| diag.path(&job.path))
            });
            check_deadline(cx, &job.path)?;
            let module = module?;
            job.check(&module)?;
            let file = format!("{}.spv", job.stage.name());
            let output = cx.source().join(&file).map_err(|e| Diag::new(Code::Shader, e.to_string()))?;
            artifacts.push(cx.artifact(&output, FileMetadata::of(&output), &module)?);
        }
        Ok(artifacts)
    }
}

/// Returns the external HLSL compiler, if one was found.
fn hlsl_compiler(tools: &Tools) -> Option<Tool> {
    [Tool::Dxc, Tool::Slangc].into_iter().find(|tool| tools.get(*tool).is_some())
}

/// One stage of one source.
struct Job {
    path: RelPath,
    language: Language,
    stage: Stage,
}

/// Lists the stages to compile, sorted by stage.
fn jobs(cx: &mut ActionContext<'_>, tools: &Tools) -> Result<Vec<Job>, Diag> {
    let files: Vec<&Entry> =
        cx.inputs.list(cx.source())?.into_iter().filter(|entry| entry.file.is_some()).collect();
    let mut jobs: Vec<Job> = Vec::new();
    for entry in files {
        let name = entry.path.file_name();
        let Some(language) = language_of(name) else { continue };
        let stages = match stage_of(name) {
            Some(stage) => vec![stage],
            None if language == Language::Wgsl => {
                let text = text(cx, &entry.path)?;
                let found = tools.wgsl_stages(entry.path.as_str(), &text, cx.inputs.deadline());
                check_deadline(cx, &entry.path)?;
                let found = found?;
                let mut stages: Vec<Stage> = found.into_iter().map(|(stage, _)| stage).collect();
                stages.sort();
                stages.dedup();
                stages
            }
            None => continue,
        };
        jobs.extend(stages.into_iter().map(|stage| Job { path: entry.path.clone(), language, stage }));
    }
    jobs.sort_by(|a, b| (a.stage, &a.path).cmp(&(b.stage, &b.path)));
    if let Some(pair) = jobs.windows(2).find(|pair| pair[0].stage == pair[1].stage) {
        let (first, second) = (pair[0].path.file_name(), pair[1].path.file_name());
        let message =
            format!("{first} and {second} are both the {} shader of this folder", pair[0].stage.name());
        return Err(Diag::new(Code::ShaderStageDuplicate, message).hint("remove or rename one of the files"));
    }
    if jobs.is_empty() {
        return Err(Diag::new(
            Code::ShaderNoStage,
            "the shader folder contains no file that is named after a stage",
        )
        .hint("name the sources vertex.glsl and fragment.glsl, or x.vert and x.frag"));
    }
    Ok(jobs)
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

impl Job {
    fn compile(
        &self,
        cx: &mut ActionContext<'_>,
        settings: &Settings,
        tools: &Tools,
    ) -> Result<Vec<u8>, Diag> {
        let external = match self.language {
            Language::Spirv => return cx.inputs.read(&self.path),
            Language::Slang => Some(tools.require(Tool::Slangc, "Slang").map_err(|d| d.path(&self.path))?),
            Language::Hlsl => hlsl_compiler(tools).and_then(|tool| tools.get(tool)),
            Language::Glsl | Language::Wgsl => None,
        };
        if let Some(program) = external {
            return external::compile(cx, self, settings, tools, program);
        }
        let text = text(cx, &self.path)?;
        let source =
            Source { path: self.path.as_str(), text: &text, language: self.language, stage: self.stage };
        let defines = defines(settings);
        let options =
            Options { target: settings.shader.target, debug: settings.shader.debug, defines: &defines };
        let deadline = cx.inputs.deadline();
        let mut includes = ProjectIncludes::new(cx);
        let compiled = tools.compile_shader(&source, &options, &mut includes, deadline);
        if let Some(fault) = includes.fault() {
            return Err(fault);
        }
        let compiled = compiled?;
        for warning in &compiled.warnings {
            if !cx.has_warned(warning) {
                cx.warn(warning.clone());
            }
        }
        let module = compiled.bytes();
        if self.language == Language::Hlsl {
            self.check_hlsl(cx, &module, settings, tools)?;
        }
        Ok(module)
    }

    /// Checks that the module is valid and has an entry point of the stage.
    fn check(&self, module: &[u8]) -> Result<(), Diag> {
        let bad = |why: String| {
            let subject = match self.language {
                Language::Spirv => "the SPIR-V module",
                _ => "the SPIR-V module of the compiler",
            };
            Diag::new(Code::ShaderModule, format!("{subject} cannot be used: {why}")).path(&self.path)
        };
        let found = Reflection::read(module).map_err(|error| bad(error.to_string()))?;
        let stages: Vec<&str> = found.entry_points.iter().map(|entry| entry.stage.name()).collect();
        if !stages.contains(&self.stage.name()) {
            let wanted = self.stage.name();
            return Err(bad(format!("expected a {wanted} entry point, found {}", stages.join(", "))));
        }
        Ok(())
    }

    /// Validates a module that glslang compiled from HLSL, because glslang does not legalise HLSL.
    fn check_hlsl(
        &self,
        cx: &mut ActionContext<'_>,
        module: &[u8],
        settings: &Settings,
        tools: &Tools,
    ) -> Result<(), Diag> {
        const HINT: &str = "install dxc or slangc, which compile HLSL completely";
        let unfit = Reflection::read(module).ok().and_then(|found| found.vulkan_error);
        if let Some(unfit) = unfit {
            let message = format!("glslang cannot compile this HLSL to a SPIR-V module for Vulkan: {unfit}");
            return Err(Diag::new(Code::ShaderHlsl, message).path(&self.path).hint(HINT));
        }
        if external::validate(cx, tools, settings, module).map_err(|d| d.path(&self.path).hint(HINT))? {
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

fn defines(settings: &Settings) -> Vec<(String, String)> {
    let defines = settings.shader.defines.iter().flat_map(|defines| defines.iter());
    defines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
