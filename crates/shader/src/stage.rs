//! The stages and languages of shaders, and how the name of a file tells them.

/// A stage of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// One vertex.
    Vertex,
    /// One sample of a surface.
    Fragment,
    /// One cell of a grid.
    Compute,
    /// One primitive.
    Geometry,
    /// The control points of one patch.
    TessControl,
    /// One vertex of a tessellated patch.
    TessEval,
    /// One group that launches mesh groups.
    Task,
    /// One group that makes a meshlet.
    Mesh,
    /// One launched ray.
    Raygen,
    /// One ray against one box.
    Intersection,
    /// One possible hit of a ray.
    AnyHit,
    /// The nearest hit of a ray.
    ClosestHit,
    /// A ray that hits nothing.
    Miss,
    /// One callable shader.
    Callable,
}

/// Each stage with its name and its usual extension.
const STAGES: [(Stage, &str, &str); 14] = [
    (Stage::Vertex, "vertex", "vert"),
    (Stage::Fragment, "fragment", "frag"),
    (Stage::Compute, "compute", "comp"),
    (Stage::Geometry, "geometry", "geom"),
    (Stage::TessControl, "tesscontrol", "tesc"),
    (Stage::TessEval, "tesseval", "tese"),
    (Stage::Task, "task", "task"),
    (Stage::Mesh, "mesh", "mesh"),
    (Stage::Raygen, "raygen", "rgen"),
    (Stage::Intersection, "intersection", "rint"),
    (Stage::AnyHit, "anyhit", "rahit"),
    (Stage::ClosestHit, "closesthit", "rchit"),
    (Stage::Miss, "miss", "rmiss"),
    (Stage::Callable, "callable", "rcall"),
];

impl Stage {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Stage> {
        STAGES.into_iter().map(|(stage, ..)| stage)
    }

    /// Its name, which is that of its output: `vertex`.
    pub fn name(self) -> &'static str {
        STAGES.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// Its usual extension, without the dot: `vert`.
    pub fn extension(self) -> &'static str {
        STAGES.iter().find(|row| row.0 == self).map_or("", |row| row.2)
    }

    fn from_extension(extension: &str) -> Option<Stage> {
        STAGES.iter().find(|row| row.2.eq_ignore_ascii_case(extension)).map(|row| row.0)
    }
}

/// What a source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// The OpenGL Shading Language, as Vulkan has it.
    Glsl,
    /// The High-Level Shading Language of Direct3D.
    Hlsl,
    /// The WebGPU Shading Language.
    Wgsl,
    /// Slang.
    Slang,
    /// A finished module.
    Spirv,
}

impl Language {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Language::Glsl => "GLSL",
            Language::Hlsl => "HLSL",
            Language::Wgsl => "WGSL",
            Language::Slang => "Slang",
            Language::Spirv => "SPIR-V",
        }
    }
}

/// The language of a file, by its last extension: `glsl` or that of a stage, `hlsl`, `wgsl`, `slang`, `spv`.
pub fn language_of(file_name: &str) -> Option<Language> {
    let (_, extension) = file_name.rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "glsl" => Some(Language::Glsl),
        "hlsl" => Some(Language::Hlsl),
        "wgsl" => Some(Language::Wgsl),
        "slang" => Some(Language::Slang),
        "spv" => Some(Language::Spirv),
        other => Stage::from_extension(other).map(|_| Language::Glsl),
    }
}

/// The stage of a file that is written in some language: by the extension of a stage, last (`sky.vert`) or last but
/// one (`sky.vert.glsl`), or else by its stem (`vertex.glsl`). A name such as `mesh.frag` is a fragment shader.
pub fn stage_of(file_name: &str) -> Option<Stage> {
    language_of(file_name)?;
    let mut parts = file_name.split('.');
    let stem = parts.next().unwrap_or_default();
    let by_extension = parts.rev().take(2).find_map(Stage::from_extension);
    by_extension.or_else(|| {
        STAGES
            .iter()
            .find(|row| row.1.eq_ignore_ascii_case(stem) || row.2.eq_ignore_ascii_case(stem))
            .map(|row| row.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_stage_and_language() {
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
            check(&format!("a.{}", stage.extension()), stage, Language::Glsl);
        }
        for none in ["lighting.glsl", "vertex.txt", "vertex", "vertex.glsl.bak", "a.vertex.glsl", ""] {
            assert_eq!(stage_of(none), None, "{none}");
        }
        assert_eq!(language_of("lighting.glsl"), Some(Language::Glsl));
        assert_eq!(language_of("noise.h"), None);
    }
}
