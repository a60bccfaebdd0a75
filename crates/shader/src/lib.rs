//! Compiles shaders to SPIR-V: GLSL and HLSL with glslang, WGSL with naga, with one result type for all.
//!
//! # Concepts
//!
//! * A [`Source`] is the text of one **stage** in one [`Language`]. The crate reads no files: the caller
//!   resolves an `#include` ([`Includes`]).
//! * [`Compiled`] is a SPIR-V module with one entry point, which is always named `main`, and the warnings of
//!   the compiler.
//! * Compiler logs are parsed into diagnostics ([`Findings`]) with file, line and the source line.
//!
//! # Untrusted sources
//!
//! glslang and naga recurse as deep as a source nests, have no limits of their own, and abort the process
//! when the stack or the memory is exhausted. A program that compiles untrusted sources does so in a worker
//! process ([`compile_in_worker`], [`serve`]).
//!
//! # Features
//!
//! glslang's C++ is behind the feature `glsl`, which is on by default; without it GLSL and HLSL are rejected
//! with a diagnostic.
//!
//! # Example
//!
//! ```
//! use kiln_shader::{Include, Included, Includes, Language, Options, Source, Stage, Target, compile};
//!
//! struct NoIncludes;
//! impl Includes for NoIncludes {
//!     fn include(&mut self, _: Include<'_>) -> Option<Included> {
//!         None
//!     }
//! }
//!
//! let text = "@vertex fn main() -> @builtin(position) vec4f { return vec4f(); }";
//! let source = Source { path: "sky.wgsl", text, language: Language::Wgsl, stage: Stage::Vertex, entry: "main" };
//! let options = Options { target: Target::Vulkan1_2, debug: false, defines: &[] };
//! let module = compile(&source, &options, &mut NoIncludes).expect("valid WGSL");
//! assert_eq!(module.words[0], 0x0723_0203); // the magic number of SPIR-V
//! ```

#[cfg(feature = "glsl")]
mod embed;
mod entry_points;
#[cfg(feature = "glsl")]
mod glsl;
mod messages;
mod scan;
#[cfg(feature = "glsl")]
mod spirv;
mod stack;
mod stage;
mod wgsl;
mod worker;

pub use entry_points::{EntryPoint, entry_points, has_function};
pub use kiln_format::spv::Stage;
pub use messages::{Finding, Findings};
pub use scan::{Reference, references};
pub use stage::{Language, language_of, stage_of};
pub use wgsl::stages as wgsl_stages;
pub use worker::{
    Channel, WorkerError, compile_in_worker, read_frame, serve, warm_up, wgsl_stages_in_worker, write_frame,
};

use kiln_engine::{Code, Diag};

/// The maximum size of a source and its includes in bytes: beyond what people or generators write, and few
/// enough that an expression of that length fits the stack of glslang.
const MAX_TEXT: usize = 1 << 20;

/// The target environment of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Vulkan 1.0 with SPIR-V 1.0.
    Vulkan1_0,
    /// Vulkan 1.1 with SPIR-V 1.3.
    Vulkan1_1,
    /// Vulkan 1.2 with SPIR-V 1.5.
    Vulkan1_2,
    /// Vulkan 1.3 with SPIR-V 1.6.
    Vulkan1_3,
}

impl Target {
    /// All targets, oldest first.
    pub const ALL: [Target; 4] = [Target::Vulkan1_0, Target::Vulkan1_1, Target::Vulkan1_2, Target::Vulkan1_3];

    /// Returns the version of SPIR-V of this target.
    pub fn spirv(self) -> (u8, u8) {
        match self {
            Target::Vulkan1_0 => (1, 0),
            Target::Vulkan1_1 => (1, 3),
            Target::Vulkan1_2 => (1, 5),
            Target::Vulkan1_3 => (1, 6),
        }
    }

    /// Returns the name of the target on compiler command lines.
    pub fn name(self) -> &'static str {
        match self {
            Target::Vulkan1_0 => "vulkan1.0",
            Target::Vulkan1_1 => "vulkan1.1",
            Target::Vulkan1_2 => "vulkan1.2",
            Target::Vulkan1_3 => "vulkan1.3",
        }
    }
}

/// Options of a compilation.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// The target environment of the module.
    pub target: Target,
    /// Embeds the source text and, where the compiler supports it, line information.
    pub debug: bool,
    /// Macros, or the overrides of WGSL: name and value.
    pub defines: &'a [(String, String)],
}

/// The source of one shader stage.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The path for messages, to which includes are relative.
    pub path: &'a str,
    /// The whole text of the source.
    pub text: &'a str,
    /// The language of the text.
    pub language: Language,
    /// The stage to compile.
    pub stage: Stage,
    /// The name of the entry point in the source; GLSL has `main` only. In WGSL, `main` also selects the only entry
    /// point of the stage.
    pub entry: &'a str,
}

/// An `#include` directive to resolve.
#[derive(Clone, Copy, Debug)]
pub struct Include<'a> {
    /// The name between the quotes or brackets.
    pub name: &'a str,
    /// The path of the including file.
    pub from: &'a str,
    /// True if the name is in angle brackets.
    pub system: bool,
}

/// The file of an `#include` directive.
#[derive(Clone, Debug)]
pub struct Included {
    /// The path for messages, to which its own includes are relative.
    pub path: String,
    /// The whole text of the file.
    pub text: String,
}

/// A resolver of `#include` directives.
pub trait Includes: Send {
    /// Returns the included file, or `None` if it does not exist or may not be read.
    fn include(&mut self, include: Include<'_>) -> Option<Included>;
}

/// The result of a compilation.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The words of the SPIR-V module.
    pub words: Vec<u32>,
    /// Warnings of the compiler.
    pub warnings: Vec<Diag>,
}

impl Compiled {
    /// Returns the module as little-endian bytes.
    pub fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Compiles one stage in this process, on a thread with a large stack. Slang and SPIR-V sources are not
/// handled by this crate.
///
/// A source that nests hundreds of thousands of levels deep, or exhausts the memory, aborts the process:
/// neither glslang nor naga has limits. Use [`compile_in_worker`] for untrusted sources.
///
/// # Errors
/// A [`Diag`] if the compiler rejects the source, if the source contains a zero byte or is larger than 1 MiB,
/// or if this build does not support its language.
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
            let message = format!("this build of Kiln does not support {}", language.name());
            Err(Diag::new(Code::ShaderLanguage, message)
                .path(source.path)
                .hint("build Kiln with the feature `glsl`, which is on by default"))
        }
    }
}

fn check(path: &str, text: &str) -> Result<(), Diag> {
    if text.contains('\0') {
        return Err(Diag::new(Code::ShaderEncoding, "the source contains a zero byte").path(path));
    }
    if text.len() > MAX_TEXT {
        let message = format!("the source has {} bytes, but the limit is {} MiB", text.len(), MAX_TEXT >> 20);
        return Err(Diag::new(Code::ShaderCompile, message)
            .path(path)
            .hint("split the source into several files"));
    }
    Ok(())
}
