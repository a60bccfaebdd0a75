//! Compiles GLSL and HLSL with glslang.
//!
//! glslang recurses as deep as expressions are long, so it runs on a thread with a large stack. Its symbol
//! tables are shared behind its own locks, everything else belongs to the thread; a compilation starts and
//! ends on one thread.

use crate::embed::embed;
use crate::entry_points::without_shader_attributes;
use crate::messages::Findings;
use crate::spirv::instructions;
use crate::stack::with_stack;
use crate::{Compiled, Include, Includes, Language, MAX_TEXT, Options, Source, Stage, Target};
use glslang::error::{GlslangError, GlslangErrorLog};
use glslang::include::{IncludeHandler, IncludeResult, IncludeType};
use glslang::{
    Compiler, CompilerOptions, Shader, ShaderInput, ShaderMessage, ShaderSource, ShaderStage, SourceLanguage,
    SpirvVersion, VulkanVersion,
};
use kiln_engine::{Code, Diag};
use std::collections::BTreeMap;

/// The stack size of a compilation: `x+x+x…` nests one level in two bytes, with under a kilobyte of stack
/// each.
const STACK: usize = MAX_TEXT * 512;
/// The error of a source without its entry point.
const NO_ENTRY_POINT: &str = "ERROR: the source has no function";
/// The maximum depth of nested includes.
const MAX_DEPTH: usize = 64;

pub(crate) fn compile(
    source: &Source<'_>,
    options: &Options<'_>,
    includes: &mut dyn Includes,
) -> Result<Compiled, Diag> {
    let mut follow = IncludeResolver {
        source,
        includes,
        texts: BTreeMap::new(),
        chain: Vec::new(),
        left: MAX_TEXT,
        fault: None,
    };
    follow.add(source.path, source.text);
    let done = with_stack(STACK, || run(source, options, &mut follow)).map_err(|d| d.path(source.path))?;
    let IncludeResolver { texts, fault, .. } = follow;
    if let Some(fault) = fault {
        return Err(fault);
    }
    let text_of = |file: &str| texts.get(file).cloned();
    match done {
        Ok((words, log)) => {
            let words = if options.debug { embed(words, source.path, source.text) } else { words };
            let warnings = Findings::parse(&log, source.path).warnings(source.path, &text_of);
            Ok(Compiled { words, warnings })
        }
        Err(log) => {
            let diag = Findings::parse(&log, source.path).error(source.path, &text_of);
            Err(if log.starts_with(NO_ENTRY_POINT) { diag.hint(entry_point_hint(source)) } else { diag })
        }
    }
}

/// Returns what to do about a source without the function that is compiled.
fn entry_point_hint(source: &Source<'_>) -> String {
    let stage = source.stage.name();
    format!("name the entry point main, or mark it with [shader(\"{stage}\")]")
}

/// Runs glslang; returns the module and the log, or the log alone.
fn run(
    source: &Source<'_>,
    options: &Options<'_>,
    follow: &mut IncludeResolver<'_>,
) -> Result<(Vec<u32>, String), String> {
    let compiler = Compiler::acquire().ok_or("ERROR: glslang cannot be initialised")?;
    let hlsl = source.language == Language::Hlsl;
    let how = CompilerOptions {
        source_language: if hlsl { SourceLanguage::HLSL } else { SourceLanguage::GLSL },
        target: target(options.target),
        version_profile: None,
        messages: if hlsl {
            ShaderMessage::READ_HLSL | ShaderMessage::HLSL_OFFSETS | ShaderMessage::HLSL_ENABLE_16BIT_TYPES
        } else {
            ShaderMessage::DEFAULT
        },
    };
    let text = ShaderSource::from(with_preamble(source, options));
    let none: Option<&[(&str, Option<&str>)]> = None;
    let mut handler = Handler(follow);
    let input = ShaderInput::new(&text, stage(source.stage), &how, none, Some(&mut handler))
        .map_err(|e| log_of(&e))?;
    let mut shader = Shader::new(compiler, input);
    if hlsl {
        shader.entry_point("main");
        shader.source_entry_point(source.entry);
    }
    let shader = shader.parse().map_err(|e| log_of(&e))?;
    let words = shader.compile().map_err(|e| log_of(&e))?;
    if hlsl && !calls_source_main(&words) {
        return Err(format!("{NO_ENTRY_POINT} `{}`, which is the entry point", source.entry));
    }
    Ok((words, shader.get_log()))
}

/// Returns whether the entry point of a module compiled from HLSL calls the `main` of the source. For a source without
/// one, glslang reports no error and generates an empty entry point, for some stages with an invalid execution model.
fn calls_source_main(words: &[u32]) -> bool {
    const ENTRY_POINT: u32 = 15;
    const FUNCTION: u32 = 54;
    const FUNCTION_END: u32 = 56;
    const FUNCTION_CALL: u32 = 57;
    let (mut entry_point, mut in_entry_point) = (None, false);
    for (opcode, range) in instructions(words) {
        let id = words[range].get(2);
        match opcode {
            ENTRY_POINT => entry_point = id,
            FUNCTION => in_entry_point = id == entry_point,
            FUNCTION_END => in_entry_point = false,
            FUNCTION_CALL if in_entry_point => return true,
            _ => {}
        }
    }
    false
}

/// Returns the source with the extensions and macros of the options. `#version` has to come first, so
/// additions follow it, and lines keep their numbers.
fn with_preamble(source: &Source<'_>, options: &Options<'_>) -> String {
    let defines = options.defines.iter().map(|(name, value)| format!("#define {name} {value}\n"));
    let mut head: String = defines.collect();
    if source.language == Language::Hlsl {
        // glslang does not know the attribute.
        let text = without_shader_attributes(source.text);
        return if head.is_empty() { text } else { format!("{head}#line 1\n{text}") };
    }
    head.insert_str(0, "#extension GL_GOOGLE_include_directive : enable\n");
    let directive = |line: &str| line.trim_start().strip_prefix('#').map(|rest| rest.trim_start().to_owned());
    let version = source.text.split_inclusive('\n').enumerate().find_map(|(n, line)| {
        let rest = directive(line)?;
        let number = rest.strip_prefix("version")?.split_whitespace().next()?.parse::<u32>().ok()?;
        Some((n, number))
    });
    let Some((n, number)) = version else { return source.text.to_owned() };
    let before: usize = source.text.split_inclusive('\n').take(n + 1).map(str::len).sum();
    let (before, after) = source.text.split_at(before);
    // Before GLSL 3.30 the number was that of the directive itself.
    let next = if number < 330 && !before.contains(" es") { n + 1 } else { n + 2 };
    let newline = if before.ends_with('\n') { "" } else { "\n" };
    format!("{before}{newline}{head}#line {next}\n{after}")
}

/// Returns the error of glslang in the form of its log.
fn log_of(error: &GlslangError) -> String {
    let log = |log: &GlslangErrorLog| log.log.clone();
    match error {
        GlslangError::PreprocessError(it)
        | GlslangError::ParseError(it)
        | GlslangError::MapIoError(it)
        | GlslangError::LinkError(it) => log(it),
        GlslangError::VersionUnsupported(version, _) | GlslangError::InvalidProfile(_, version, _) => {
            format!("ERROR: 0:1: #version {version} is not supported for Vulkan; use 450 or 460")
        }
        other => format!("ERROR: {other}"),
    }
}

/// Resolves includes within limits, and keeps their texts for messages.
struct IncludeResolver<'a> {
    source: &'a Source<'a>,
    includes: &'a mut dyn Includes,
    texts: BTreeMap<String, String>,
    /// The files that are being included, outermost first.
    chain: Vec<String>,
    left: usize,
    fault: Option<Diag>,
}

impl IncludeResolver<'_> {
    fn add(&mut self, path: &str, text: &str) {
        self.texts.entry(path.to_owned()).or_insert_with(|| text.to_owned());
    }

    fn include(&mut self, include: Include<'_>, depth: usize) -> Option<(String, String)> {
        if self.fault.is_some() {
            return None;
        }
        let from = if include.from.is_empty() { self.source.path } else { include.from };
        let found = self.includes.include(Include { from, ..include })?;
        self.chain.truncate(depth.saturating_sub(1));
        self.chain.push(found.path.clone());
        let cycle = cycle(self.source.path, &self.chain);
        let mut fail = |message: String| {
            let diag = |message: String| Diag::new(Code::ShaderInclude, message).path(from);
            self.fault = Some(match &cycle {
                Some(cycle) => diag(format!("include cycle: {}", cycle.join(" -> ")))
                    .hint("add an include guard (#ifndef or #pragma once), or remove one of the includes"),
                None => diag(message),
            });
            None
        };
        if depth > MAX_DEPTH {
            return fail(format!(
                "includes are nested more than {MAX_DEPTH} levels deep at {}",
                include.name
            ));
        }
        if found.text.contains('\0') {
            return fail(format!("the file {} contains a zero byte", found.path));
        }
        let Some(left) = self.left.checked_sub(found.text.len()) else {
            return fail(format!("the source and its includes are larger than {} MiB", MAX_TEXT >> 20));
        };
        self.left = left;
        self.add(&found.path, &found.text);
        Some((found.path, found.text))
    }
}

/// Returns the files from the previous inclusion of the last file in a chain on, if there is one. A file may include
/// itself behind a guard, so this is an error only where the limits are exceeded.
fn cycle(root: &str, chain: &[String]) -> Option<Vec<String>> {
    let files: Vec<&str> = std::iter::once(root).chain(chain.iter().map(String::as_str)).collect();
    let (last, before) = files.split_last()?;
    let start = before.iter().rposition(|file| file == last)?;
    Some(files[start..].iter().map(|&file| file.to_owned()).collect())
}

/// Adapts the include resolver to glslang.
struct Handler<'a, 'f>(&'a mut IncludeResolver<'f>);

impl IncludeHandler for Handler<'_, '_> {
    fn include(&mut self, ty: IncludeType, name: &str, from: &str, depth: usize) -> Option<IncludeResult> {
        let system = ty == IncludeType::System;
        let (name, data) = self.0.include(Include { name, from, system }, depth)?;
        let hlsl = self.0.source.language == Language::Hlsl;
        let data = if hlsl { without_shader_attributes(&data) } else { data };
        Some(IncludeResult { name, data })
    }
}

fn target(target: Target) -> glslang::Target {
    let (version, spirv_version) = match target {
        Target::Vulkan1_0 => (VulkanVersion::Vulkan1_0, SpirvVersion::SPIRV1_0),
        Target::Vulkan1_1 => (VulkanVersion::Vulkan1_1, SpirvVersion::SPIRV1_3),
        Target::Vulkan1_2 => (VulkanVersion::Vulkan1_2, SpirvVersion::SPIRV1_5),
        Target::Vulkan1_3 => (VulkanVersion::Vulkan1_3, SpirvVersion::SPIRV1_6),
    };
    glslang::Target::Vulkan { version, spirv_version }
}

fn stage(stage: Stage) -> ShaderStage {
    match stage {
        Stage::Vertex => ShaderStage::Vertex,
        Stage::Fragment => ShaderStage::Fragment,
        Stage::Compute => ShaderStage::Compute,
        Stage::Geometry => ShaderStage::Geometry,
        Stage::TessControl => ShaderStage::TesselationControl,
        Stage::TessEval => ShaderStage::TesselationEvaluation,
        Stage::Task => ShaderStage::Task,
        Stage::Mesh => ShaderStage::Mesh,
        Stage::Raygen => ShaderStage::RayGeneration,
        Stage::Intersection => ShaderStage::Intersect,
        Stage::AnyHit => ShaderStage::AnyHit,
        Stage::ClosestHit => ShaderStage::ClosestHit,
        Stage::Miss => ShaderStage::Miss,
        Stage::Callable => ShaderStage::Callable,
    }
}
