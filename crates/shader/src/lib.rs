//! Shader sources to SPIR-V: GLSL and HLSL through glslang, WGSL through naga, one kind of result for all.
//!
//! Text in, words and findings out: nothing here reads a file. Who calls says what an `#include` leads to
//! ([`Includes`]). Every module that comes out has one entry point, and that is called `main`. Messages of the
//! compilers become diagnostics with file, line and the source line.
//!
//! glslang and naga recurse as deep as a source nests, have no limits of their own, and abort the process when the
//! stack or the memory is exhausted. A program that compiles sources it does not trust does it in a worker process
//! ([`compile_apart`], [`serve`]).
//!
//! glslang's C++ is behind the feature `glsl`, which is on by default; without it GLSL and HLSL are refused with a
//! message that says so.

#[cfg(feature = "glsl")]
mod embed;
#[cfg(feature = "glsl")]
mod glsl;
mod messages;
mod scan;
mod stack;
mod stage;
mod wgsl;
mod worker;

pub use kiln_format::spv::Stage;
pub use messages::{Finding, Findings};
pub use scan::{Reference, references};
pub use stage::{Language, language_of, stage_of};
pub use wgsl::stages as wgsl_stages;
pub use worker::{
    Channel, WorkerError, compile_apart, limit_memory, read_frame, serve, warm_up, wgsl_stages_apart,
    write_frame,
};

use kiln_engine::{Code, Diag};

/// The most bytes that a source and its includes may have together: beyond what people or generators write, and few
/// enough that an expression as long as that fits the stack of glslang.
const MAX_TEXT: usize = 1 << 20;

/// What a module has to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// SPIR-V 1.0.
    Vulkan1_0,
    /// SPIR-V 1.3.
    Vulkan1_1,
    /// SPIR-V 1.5.
    Vulkan1_2,
    /// SPIR-V 1.6.
    Vulkan1_3,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 4] = [Target::Vulkan1_0, Target::Vulkan1_1, Target::Vulkan1_2, Target::Vulkan1_3];

    /// The version of SPIR-V that goes with it.
    pub fn spirv(self) -> (u8, u8) {
        match self {
            Target::Vulkan1_0 => (1, 0),
            Target::Vulkan1_1 => (1, 3),
            Target::Vulkan1_2 => (1, 5),
            Target::Vulkan1_3 => (1, 6),
        }
    }

    /// As compilers call it on their command lines.
    pub fn name(self) -> &'static str {
        match self {
            Target::Vulkan1_0 => "vulkan1.0",
            Target::Vulkan1_1 => "vulkan1.1",
            Target::Vulkan1_2 => "vulkan1.2",
            Target::Vulkan1_3 => "vulkan1.3",
        }
    }
}

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// What for.
    pub target: Target,
    /// Whether the module carries its source text and, where the compiler tells them, lines.
    pub debug: bool,
    /// Macros, or the overrides of WGSL: name and value.
    pub defines: &'a [(String, String)],
}

/// A text to compile.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// What messages call it, and what includes are relative to.
    pub path: &'a str,
    /// All of it.
    pub text: &'a str,
    /// What it is written in.
    pub language: Language,
    /// The stage to compile.
    pub stage: Stage,
}

/// An `#include` to follow.
#[derive(Clone, Copy, Debug)]
pub struct Include<'a> {
    /// What stands between the quotes or brackets.
    pub name: &'a str,
    /// The path of the file that asks.
    pub from: &'a str,
    /// Whether it stands between brackets.
    pub system: bool,
}

/// What an `#include` leads to.
#[derive(Clone, Debug)]
pub struct Included {
    /// What messages call it, and what its own includes are relative to.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// Follows includes.
pub trait Includes: Send {
    /// The file, or `None` when there is none, or none that may be read.
    fn include(&mut self, include: Include<'_>) -> Option<Included>;
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The module.
    pub words: Vec<u32>,
    /// What the compiler had to say.
    pub warnings: Vec<Diag>,
}

impl Compiled {
    /// The module as it stands in a file.
    pub fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Compiles one stage in this process, on a thread with a large stack. Slang and finished modules are no business of
/// this crate.
///
/// A source that is made to nest hundreds of thousands of levels deep, or to exhaust the memory, aborts the process:
/// neither glslang nor naga has limits. Use [`compile_apart`] for sources that are not trusted.
///
/// # Errors
/// When the source is refused by its compiler, holds a zero byte, has more than 1 MiB, or is in a language that this
/// build of Kiln cannot compile.
pub fn compile(
    source: &Source<'_>,
    options: &Options<'_>,
    includes: &mut dyn Includes,
) -> Result<Compiled, Diag> {
    check(source.path, source.text)?;
    match source.language {
        Language::Wgsl => wgsl::compile(source, options),
        #[cfg(feature = "glsl")]
        Language::Glsl | Language::Hlsl => glsl::compile(source, options, includes),
        language => {
            let _ = includes;
            let message = format!("this build of Kiln cannot compile {}", language.name());
            Err(Diag::new(Code::ShaderLanguage, message)
                .path(source.path)
                .hint("build it with the feature `glsl`, which is on by default"))
        }
    }
}

fn check(path: &str, text: &str) -> Result<(), Diag> {
    if text.contains('\0') {
        return Err(Diag::new(Code::ShaderEncoding, "the source holds a zero byte").path(path));
    }
    if text.len() > MAX_TEXT {
        let message = format!("the source has {} bytes, more than {} MiB", text.len(), MAX_TEXT >> 20);
        return Err(Diag::new(Code::ShaderCompile, message).path(path).hint("split it"));
    }
    Ok(())
}
