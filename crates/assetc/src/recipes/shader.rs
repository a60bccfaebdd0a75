//! `*.shader/`: a folder of sources to one `.spv` for each stage, in a folder of the same name.
//!
//! A source is found by the extension of a stage (`sky.vert`) or by its stem (`vertex.glsl`); a `.wgsl` that is named
//! after no stage gives all its entry points. Whatever else lies in the folder is there to be included. Refuses two
//! sources for one stage, sources that are not UTF-8, and modules that are not sound.

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

/// How much of a source is looked at to learn its version.
const HEAD: usize = 4 << 10;

/// A folder of shaders.
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

    /// The folder that the stages are written to.
    fn output(&self, source: &RelPath) -> Option<RelPath> {
        Some(source.clone())
    }

    fn writes(&self, source: &RelPath, output: &RelPath) -> bool {
        let stage = output.file_name().strip_suffix(".spv");
        output.parent().as_ref() == Some(source) && Stage::all().any(|known| Some(known.name()) == stage)
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
            in_time(cx, &job.path)?;
            let module = module?;
            job.check(&module)?;
            let file = format!("{}.spv", job.stage.name());
            let output = cx.source().join(&file).map_err(|e| Diag::new(Code::Shader, e.to_string()))?;
            artifacts.push(cx.artifact(&output, FileMetadata::of(&output), &module)?);
        }
        Ok(artifacts)
    }
}

/// What compiles HLSL properly, if it was found.
fn hlsl_compiler(tools: &Tools) -> Option<Tool> {
    [Tool::Dxc, Tool::Slangc].into_iter().find(|tool| tools.get(*tool).is_some())
}

/// One stage of one source.
struct Job {
    path: RelPath,
    language: Language,
    stage: Stage,
}

/// What a folder asks for, by stage.
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
                in_time(cx, &entry.path)?;
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
        let message = format!("{first} and {second} are both its {} shader", pair[0].stage.name());
        return Err(Diag::new(Code::ShaderStageTwice, message).hint("remove or rename one of them"));
    }
    if jobs.is_empty() {
        return Err(Diag::new(Code::ShaderNoStage, "no file in it is named after a stage")
            .hint("call the sources vertex.glsl and fragment.glsl, or x.vert and x.frag"));
    }
    Ok(jobs)
}

/// Ends an asset that has taken longer than its limit. A compiler that was stopped for that has an error of its own,
/// which does not name the limit.
fn in_time(cx: &ActionContext<'_>, path: &RelPath) -> Result<(), Diag> {
    cx.inputs.check_deadline().map_err(|diag| diag.path(path))
}

/// A source as text.
fn text(cx: &mut ActionContext<'_>, path: &RelPath) -> Result<String, Diag> {
    decode(path, cx.inputs.read(path)?)
}

fn decode(path: &RelPath, bytes: Vec<u8>) -> Result<String, Diag> {
    String::from_utf8(bytes).map(|text| text.trim_start_matches('\u{feff}').to_owned()).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        Diag::new(Code::ShaderEncoding, "the source is not UTF-8")
            .path(path)
            .at(line)
            .hint("save it as UTF-8")
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
            Language::Slang => Some(tools.need(Tool::Slangc, "Slang").map_err(|d| d.path(&self.path))?),
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

    /// Whether the module is sound, and is what was asked for.
    fn check(&self, module: &[u8]) -> Result<(), Diag> {
        let bad = |why: String| {
            let whose = if self.language == Language::Spirv { "it is" } else { "the compiler wrote" };
            Diag::new(Code::ShaderModule, format!("{whose} a module that cannot be used: {why}"))
                .path(&self.path)
        };
        let found = Reflection::read(module).map_err(|error| bad(error.to_string()))?;
        let stages: Vec<&str> = found.entry_points.iter().map(|entry| entry.stage.name()).collect();
        if !stages.contains(&self.stage.name()) {
            return Err(bad(format!("its stages are {}, not {}", stages.join(", "), self.stage.name())));
        }
        Ok(())
    }

    /// glslang does not legalise HLSL, so that its modules are not believed until something has checked them.
    fn check_hlsl(
        &self,
        cx: &mut ActionContext<'_>,
        module: &[u8],
        settings: &Settings,
        tools: &Tools,
    ) -> Result<(), Diag> {
        const CURE: &str = "install dxc or slangc: then they compile HLSL";
        let unfit = Reflection::read(module).ok().and_then(|found| found.unfit);
        if let Some(unfit) = unfit {
            let message = format!("glslang cannot turn this HLSL into a module for Vulkan: {unfit}");
            return Err(Diag::new(Code::ShaderHlsl, message).path(&self.path).hint(CURE));
        }
        if external::validate(cx, tools, settings, module).map_err(|d| d.path(&self.path).hint(CURE))? {
            return Ok(());
        }
        let message = "HLSL was compiled by glslang, which knows only part of it, and spirv-val is not here to \
                       validate the result";
        let warning = Diag::new(Code::ShaderUnchecked, message).hint("install dxc, slangc or spirv-val");
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
