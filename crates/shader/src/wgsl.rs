//! Compiles WGSL with naga.
//!
//! WGSL has no preprocessor and no includes; the defines of the options set its `override` constants.
//! Clip-space positions are not modified: the Y axis is not flipped.

use crate::stack::with_stack;
use crate::{Compiled, Options, Source, Stage};
use kiln_engine::{Code, Diag};
use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{Module, ShaderStage};

/// The name of every entry point in the output.
const ENTRY: &str = "main";

/// The stack size of a compilation. naga recurses where expressions, statements and constants nest. Executables compile it
/// without optimisation, where a level takes some twenty kilobytes of stack: people nest a few dozen levels, generators a
/// few thousand.
const STACK: usize = 256 << 20;

/// Lists the entry points of a WGSL source: stage and name, in source order. Stages that Vulkan does not have
/// are left out.
///
/// Runs in this process, which a deeply nested source aborts (see [`compile`](crate::compile));
/// [`wgsl_stages_in_worker`](crate::wgsl_stages_in_worker) is for untrusted sources.
///
/// # Errors
/// A [`Diag`] if the source is not valid WGSL.
pub fn stages(path: &str, text: &str) -> Result<Vec<(Stage, String)>, Diag> {
    crate::check(path, text)?;
    let run = || {
        let module = parse(path, text)?;
        let entries = module.entry_points.iter();
        Ok(entries.filter_map(|entry| Some((stage(entry.stage)?, entry.name.clone()))).collect())
    };
    with_stack(STACK, run).map_err(|d| d.path(path))?
}

pub(crate) fn compile(source: &Source<'_>, options: &Options<'_>) -> Result<Compiled, Diag> {
    with_stack(STACK, || run(source, options)).map_err(|d| d.path(source.path))?
}

fn run(source: &Source<'_>, options: &Options<'_>) -> Result<Compiled, Diag> {
    let compile_error = |message: String| Diag::new(Code::ShaderCompile, message).path(source.path);
    let mut module = parse(source.path, source.text)?;
    let entries = module.entry_points.iter().filter(|e| stage(e.stage) == Some(source.stage));
    let names: Vec<String> = entries.map(|e| e.name.clone()).collect();
    let name = match names.as_slice() {
        several if several.iter().any(|name| name == source.entry) => source.entry,
        [only] if source.entry == ENTRY => only,
        [] => return Err(compile_error(format!("the source has no @{} entry point", source.stage.name()))),
        several => {
            let message = format!(
                "the source has no {} entry point {}: its entry points are {}",
                source.stage.name(),
                source.entry,
                several.join(", ")
            );
            return Err(compile_error(message));
        }
    };
    module.entry_points.retain(|e| stage(e.stage) == Some(source.stage) && e.name == *name);
    module.entry_points.iter_mut().for_each(|e| e.name = ENTRY.to_owned());

    let info =
        Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module).map_err(|error| {
            let at = error.spans().next().map(|(span, _)| span.location(source.text).line_number as usize);
            placed(source.path, source.text, at, chain(error.as_inner()))
        })?;
    let mut constants = naga::back::PipelineConstants::default();
    for (name, value) in options.defines {
        let is_known = module.overrides.iter().any(|(_, o)| o.name.as_deref() == Some(name.as_str()));
        if is_known {
            let value = number(value).ok_or_else(|| {
                compile_error(format!(
                    "shader.defines sets the override {name} to {value:?}: expected a number or a boolean"
                ))
            })?;
            constants.insert(name.clone(), value);
        }
    }
    let (module, info) = naga::back::pipeline_constants::process_overrides(&module, &info, None, &constants)
        .map_err(|error| compile_error(chain(&error)))?;

    // Names are for reflection; lines and text for debuggers.
    let debug_info = options.debug.then_some(spv::DebugInfo {
        source_code: source.text,
        file_name: source.path,
        // WGSL has a source language number, but validators and drivers of a few years ago reject it.
        language: spv::SourceLanguage::Unknown,
    });
    let how = spv::Options {
        lang_version: options.target.spirv(),
        flags: spv::WriterFlags::DEBUG
            | spv::WriterFlags::LABEL_VARYINGS
            | spv::WriterFlags::CLAMP_FRAG_DEPTH,
        debug_info,
        force_loop_bounding: false,
        ..spv::Options::default()
    };
    let words = spv::write_vec(&module, &info, &how, None).map_err(|error| compile_error(chain(&error)))?;
    Ok(Compiled { words, warnings: vec![] })
}

fn parse(path: &str, text: &str) -> Result<Module, Diag> {
    naga::front::wgsl::parse_str(text).map_err(|error| {
        let at = error.location(text).map(|location| location.line_number as usize);
        placed(path, text, at, error.message().to_owned())
    })
}

fn placed(path: &str, text: &str, line: Option<usize>, message: String) -> Diag {
    let findings = crate::Findings(vec![crate::Finding {
        error: true,
        file: path.to_owned(),
        line: line.unwrap_or(0),
        text: message,
    }]);
    findings.error(path, &|_| Some(text.to_owned()))
}

/// Returns an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Parses the value of an override: a number, or a boolean of WGSL. A define without a value is true.
fn number(value: &str) -> Option<f64> {
    match value {
        "" | "true" => Some(1.0),
        "false" => Some(0.0),
        value => value.parse().ok().filter(|n: &f64| n.is_finite()),
    }
}

fn stage(stage: ShaderStage) -> Option<Stage> {
    Some(match stage {
        ShaderStage::Vertex => Stage::Vertex,
        ShaderStage::Fragment => Stage::Fragment,
        ShaderStage::Compute => Stage::Compute,
        ShaderStage::Task => Stage::Task,
        ShaderStage::Mesh => Stage::Mesh,
        ShaderStage::RayGeneration => Stage::Raygen,
        ShaderStage::AnyHit => Stage::AnyHit,
        ShaderStage::ClosestHit => Stage::ClosestHit,
        ShaderStage::Miss => Stage::Miss,
    })
}
