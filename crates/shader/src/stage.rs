//! Shader stages and languages, and their detection from file names.

use kiln_format::spv::Stage;

/// The usual extension of each stage.
const EXTENSIONS: [(Stage, &str); 14] = [
    (Stage::Vertex, "vert"),
    (Stage::Fragment, "frag"),
    (Stage::Compute, "comp"),
    (Stage::Geometry, "geom"),
    (Stage::TessControl, "tesc"),
    (Stage::TessEval, "tese"),
    (Stage::Task, "task"),
    (Stage::Mesh, "mesh"),
    (Stage::Raygen, "rgen"),
    (Stage::Intersection, "rint"),
    (Stage::AnyHit, "rahit"),
    (Stage::ClosestHit, "rchit"),
    (Stage::Miss, "rmiss"),
    (Stage::Callable, "rcall"),
];

fn from_extension(extension: &str) -> Option<Stage> {
    EXTENSIONS.iter().find(|row| row.1.eq_ignore_ascii_case(extension)).map(|row| row.0)
}

/// A shading language, or a compiled module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// The OpenGL Shading Language for Vulkan.
    Glsl,
    /// The High-Level Shading Language of Direct3D.
    Hlsl,
    /// The WebGPU Shading Language.
    Wgsl,
    /// The Slang shading language.
    Slang,
    /// A compiled SPIR-V module.
    Spirv,
}

impl Language {
    /// Returns the display name of the language.
    pub fn name(self) -> &'static str {
        match self {
            Language::Glsl => "GLSL",
            Language::Hlsl => "HLSL",
            Language::Wgsl => "WGSL",
            Language::Slang => "Slang",
            Language::Spirv => "SPIR-V",
        }
    }

    /// Returns the name of the compiler for the language.
    pub(crate) fn compiler(self) -> &'static str {
        match self {
            Language::Glsl | Language::Hlsl => "glslang",
            Language::Wgsl => "naga",
            Language::Slang => "slangc",
            Language::Spirv => "none",
        }
    }
}

/// Returns the language of a file by its last extension: `glsl` or that of a stage, `hlsl`, `wgsl`, `slang`,
/// `spv`.
pub fn language_of(file_name: &str) -> Option<Language> {
    let (_, extension) = file_name.rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "glsl" => Some(Language::Glsl),
        "hlsl" => Some(Language::Hlsl),
        "wgsl" => Some(Language::Wgsl),
        "slang" => Some(Language::Slang),
        "spv" => Some(Language::Spirv),
        other => from_extension(other).map(|_| Language::Glsl),
    }
}

/// Returns the stage of a source file: by the extension of a stage, last (`sky.vert`) or last but one
/// (`sky.vert.glsl`), or else by its stem (`vertex.glsl`). A name such as `mesh.frag` is a fragment shader.
pub fn stage_of(file_name: &str) -> Option<Stage> {
    language_of(file_name)?;
    let mut parts = file_name.split('.');
    let stem = parts.next().unwrap_or_default();
    let by_extension = parts.rev().take(2).find_map(from_extension);
    by_extension.or_else(|| {
        Stage::all().find(|stage| stage.name().eq_ignore_ascii_case(stem)).or_else(|| from_extension(stem))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_stage_and_language_from_names() {
        let check = |name: &str, stage, language| {
            assert_eq!((stage_of(name), language_of(name)), (Some(stage), Some(language)), "{name}");
        };
        check("vertex.slang", Stage::Vertex, Language::Slang);
        check("fragment.glsl", Stage::Fragment, Language::Glsl);
        check("sky.vert", Stage::Vertex, Language::Glsl);
        check("Sky.VERT", Stage::Vertex, Language::Glsl);
        check("sky.vert.glsl", Stage::Vertex, Language::Glsl);
        check("sky.v2.frag.hlsl", Stage::Fragment, Language::Hlsl);
        check("vert.wgsl", Stage::Vertex, Language::Wgsl);
        check("mesh.frag", Stage::Fragment, Language::Glsl);
        check("mesh.glsl", Stage::Mesh, Language::Glsl);
        check("mesh.mesh", Stage::Mesh, Language::Glsl);
        check("miss.rmiss", Stage::Miss, Language::Glsl);
        check("compute.spv", Stage::Compute, Language::Spirv);
        for stage in Stage::all() {
            check(&format!("{}.hlsl", stage.name()), stage, Language::Hlsl);
            let (_, extension) = EXTENSIONS.iter().find(|row| row.0 == stage).expect("every stage has one");
            check(&format!("a.{extension}"), stage, Language::Glsl);
        }
        for none in ["lighting.glsl", "vertex.txt", "vertex", "vertex.glsl.bak", "a.vertex.glsl", ""] {
            assert_eq!(stage_of(none), None, "{none}");
        }
        assert_eq!(language_of("lighting.glsl"), Some(Language::Glsl));
        assert_eq!(language_of("noise.h"), None);
    }
}
