//! Valid and invalid sources of every language through the public API.

use kiln_engine::{Code, Diag};
use kiln_shader::{Compiled, Include, Included, Includes, Language, Options, Source, Stage, Target, compile};
use std::collections::BTreeMap;

/// Files in memory, and the includes that were requested.
#[derive(Default)]
struct Files {
    files: BTreeMap<String, String>,
    asked: Vec<(String, String, bool)>,
}

#[cfg(feature = "glsl")]
impl Files {
    fn of(files: &[(&str, &str)]) -> Files {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Files { files: files.collect(), asked: vec![] }
    }
}

impl Includes for Files {
    fn include(&mut self, include: Include<'_>) -> Option<Included> {
        self.asked.push((include.name.to_owned(), include.from.to_owned(), include.system));
        let text = self.files.get(include.name)?.clone();
        Some(Included { path: format!("lib/{}", include.name), text })
    }
}

fn with(
    text: &str,
    language: Language,
    stage: Stage,
    options: &Options<'_>,
    files: &mut Files,
) -> Result<Compiled, Diag> {
    compile(&Source { path: "x.shader/source", text, language, stage, entry: "main" }, options, files)
}

const PLAIN: Options<'static> = Options { target: Target::Vulkan1_2, debug: false, defines: &[] };

fn one(text: &str, language: Language, stage: Stage) -> Result<Compiled, Diag> {
    with(text, language, stage, &PLAIN, &mut Files::default())
}

/// Returns the version of a module and the execution models of its entry points.
fn version_and_models(compiled: &Compiled) -> (u32, Vec<u32>) {
    let words = &compiled.words;
    assert_eq!(words[0], 0x0723_0203);
    let (mut at, mut models) = (5, vec![]);
    while at < words.len() {
        let (count, opcode) = (words[at] >> 16, words[at] & 0xffff);
        assert!(count > 0);
        if opcode == 15 {
            models.push(words[at + 1]);
            assert_eq!(words[at + 3].to_le_bytes(), *b"main");
            assert_eq!(words[at + 4], 0);
        }
        at += count as usize;
    }
    assert_eq!(at, words.len());
    (words[1], models)
}

const WGSL: &str = "
struct Out { @builtin(position) position: vec4f, @location(0) uv: vec2f }
override scale: f32 = 1.0;
@vertex fn corner(@location(0) at: vec3f) -> Out { return Out(vec4f(at * scale, 1.0), at.xy); }
@fragment fn shade(in: Out) -> @location(0) vec4f { return vec4f(in.uv, 0.0, 1.0); }
@compute @workgroup_size(64) fn main() {}
@compute @workgroup_size(8) fn other() {}
";

#[test]
fn wgsl_compiles_the_requested_stage() {
    for (stage, model) in [(Stage::Vertex, 0), (Stage::Fragment, 4), (Stage::Compute, 5)] {
        let compiled = one(WGSL, Language::Wgsl, stage).unwrap();
        assert_eq!(version_and_models(&compiled), (0x0001_0500, vec![model]));
    }
    let stages = kiln_shader::wgsl_stages("a", WGSL).unwrap();
    let names: Vec<_> = stages.iter().map(|(stage, name)| (*stage, name.as_str())).collect();
    assert_eq!(
        names,
        [
            (Stage::Vertex, "corner"),
            (Stage::Fragment, "shade"),
            (Stage::Compute, "main"),
            (Stage::Compute, "other")
        ]
    );
    let none = one(WGSL, Language::Wgsl, Stage::Mesh).unwrap_err();
    assert!(none.message.contains("no @mesh entry point"), "{none}");
    let several = one(&WGSL.replace("fn main", "fn third"), Language::Wgsl, Stage::Compute).unwrap_err();
    assert!(several.message.contains("third, other"), "{several}");
}

#[test]
fn defines_set_wgsl_overrides() {
    let build = |defines: &[(String, String)]| {
        let options = Options { defines, ..PLAIN };
        with(WGSL, Language::Wgsl, Stage::Vertex, &options, &mut Files::default())
    };
    let define = |name: &str, value: &str| [(name.to_owned(), value.to_owned())];
    let (one, two) = (build(&[]).unwrap(), build(&define("scale", "2.5")).unwrap());
    assert!(two.words.contains(&2.5f32.to_bits()) && !one.words.contains(&2.5f32.to_bits()));
    assert_eq!(build(&define("unknown", "7")).unwrap().words, one.words);
    let bad = build(&define("scale", "wide")).unwrap_err();
    assert!(bad.message.contains("expected a number"), "{bad}");
}

#[test]
fn wgsl_errors_have_a_line_and_its_text() {
    let check = |text: &str, expected: &str| {
        let error = one(text, Language::Wgsl, Stage::Vertex).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.path.as_deref().unwrap_or_default()),
            ("shader-compile", "x.shader/source")
        );
        let line = format!("{}: {}", error.at.as_deref().unwrap_or_default(), error.message);
        assert!(line.contains(expected), "{line}");
    };
    check("\nfn f() { let a = b; }", ": fn f() { let a = b; }");
    check("\n\nfn f( {", "3: ");
    check("@vertex fn f() -> vec4f { return vec4f(); }", "");
    check("", "no @vertex entry point");
    assert_eq!(one("fn f() {}\0", Language::Wgsl, Stage::Vertex).unwrap_err().code, Code::ShaderEncoding);
}

#[test]
fn targets_have_their_spirv_version() {
    let targets =
        [(Target::Vulkan1_0, 0), (Target::Vulkan1_1, 3), (Target::Vulkan1_2, 5), (Target::Vulkan1_3, 6)];
    for (target, minor) in targets {
        let options = Options { target, ..PLAIN };
        let wgsl = with(WGSL, Language::Wgsl, Stage::Vertex, &options, &mut Files::default()).unwrap();
        assert_eq!(version_and_models(&wgsl).0, 0x0001_0000 | minor << 8);
        #[cfg(feature = "glsl")]
        {
            let glsl = "#version 450\nvoid main() { gl_Position = vec4(0); }";
            let glsl = with(glsl, Language::Glsl, Stage::Vertex, &options, &mut Files::default()).unwrap();
            assert_eq!(version_and_models(&glsl).0, 0x0001_0000 | minor << 8);
        }
    }
}

#[cfg(not(feature = "glsl"))]
#[test]
fn rejects_language_without_its_compiler() {
    for language in [Language::Glsl, Language::Hlsl] {
        let error = one("", language, Stage::Vertex).unwrap_err();
        assert_eq!(error.code, Code::ShaderLanguage);
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("glsl")));
    }
}

#[cfg(feature = "glsl")]
mod glslang {
    use super::*;

    #[test]
    fn every_stage_of_glsl_compiles() {
        let ray = "#version 460\n#extension GL_EXT_ray_tracing : require\n";
        let sources = [
            (Stage::Vertex, 0, "#version 450\nvoid main() { gl_Position = vec4(0); }".to_owned()),
            (Stage::Fragment, 4, "#version 450\nlayout(location = 0) out vec4 c; void main() { c = vec4(0); }".into()),
            (Stage::Compute, 5, "#version 450\nlayout(local_size_x = 8) in; void main() {}".into()),
            (
                Stage::Geometry,
                3,
                "#version 450\nlayout(points) in; layout(points, max_vertices = 1) out; void main() { EmitVertex(); }".into(),
            ),
            (Stage::TessControl, 1, "#version 450\nlayout(vertices = 3) out; void main() {}".into()),
            (Stage::TessEval, 2, "#version 450\nlayout(triangles) in; void main() { gl_Position = vec4(0); }".into()),
            (
                Stage::Task,
                5364,
                "#version 460\n#extension GL_EXT_mesh_shader : require\nvoid main() { EmitMeshTasksEXT(1, 1, 1); }".into(),
            ),
            (
                Stage::Mesh,
                5365,
                "#version 460\n#extension GL_EXT_mesh_shader : require\nlayout(triangles, max_vertices = 3, max_primitives = 1) out;\nvoid main() { SetMeshOutputsEXT(0, 0); }".into(),
            ),
            (Stage::Raygen, 5313, format!("{ray}void main() {{}}")),
            (Stage::Intersection, 5314, format!("{ray}void main() {{ reportIntersectionEXT(1.0, 0u); }}")),
            (Stage::AnyHit, 5315, format!("{ray}void main() {{ ignoreIntersectionEXT; }}")),
            (Stage::ClosestHit, 5316, format!("{ray}void main() {{}}")),
            (Stage::Miss, 5317, format!("{ray}void main() {{}}")),
            (Stage::Callable, 5318, format!("{ray}void main() {{}}")),
        ];
        assert_eq!(sources.len(), Stage::all().count());
        for (stage, model, text) in &sources {
            let compiled = one(text, Language::Glsl, *stage).unwrap_or_else(|e| panic!("{stage:?}: {e}"));
            assert_eq!(version_and_models(&compiled), (0x0001_0500, vec![*model]), "{stage:?}");
            assert_eq!(compiled.warnings, []);
        }
    }

    #[test]
    fn compiles_main_of_hlsl() {
        let text = "float4 helper(float4 p) { return p; }\nfloat4 main(float4 p : POSITION) : SV_Position { return helper(p); }";
        assert_eq!(
            version_and_models(&one(text, Language::Hlsl, Stage::Vertex).unwrap()),
            (0x0001_0500, vec![0])
        );
        let error =
            one("float4 main() : SV_Target\n{ return x; }", Language::Hlsl, Stage::Fragment).unwrap_err();
        assert_eq!(error.at.as_deref(), Some("2"));
    }

    #[test]
    fn rejects_hlsl_without_main() {
        for stage in Stage::all() {
            for text in ["", "float a() { return 1; }\nfloat mian() { return a(); }"] {
                let error = one(text, Language::Hlsl, stage).unwrap_err();
                // Tessellation and geometry stages also lack their layouts, which glslang reports first.
                if matches!(stage, Stage::Vertex | Stage::Fragment | Stage::Compute) {
                    assert!(error.message.contains("no function `main`"), "{stage:?}: {error}");
                }
            }
        }
        one("[numthreads(1, 1, 1)] void main() {}", Language::Hlsl, Stage::Compute).unwrap();
    }

    #[test]
    fn resolves_includes_and_reports_their_errors() {
        let text = "#version 450\n#include \"a.glsl\"\n#include <b.glsl>\nvoid main() { gl_Position = vec4(a() + B); }";
        let mut files = Files::of(&[
            ("a.glsl", "#include \"c.glsl\"\nfloat a() { return C; }\n"),
            ("b.glsl", "#define B 2.0\n"),
            ("c.glsl", "#define C 1.0\n"),
        ]);
        with(text, Language::Glsl, Stage::Vertex, &PLAIN, &mut files).unwrap();
        let asked: Vec<(&str, &str, bool)> =
            files.asked.iter().map(|(name, from, system)| (name.as_str(), from.as_str(), *system)).collect();
        assert_eq!(
            asked,
            [
                ("a.glsl", "x.shader/source", false),
                ("c.glsl", "lib/a.glsl", false),
                ("b.glsl", "x.shader/source", true)
            ]
        );

        files.files.insert("a.glsl".into(), "// a comment\n\nfloat a() { return nothing; }\n".into());
        let error = with(text, Language::Glsl, Stage::Vertex, &PLAIN, &mut files).unwrap_err();
        assert_eq!(
            error.to_string(),
            "error[shader-compile]: lib/a.glsl:3: 'nothing': undeclared identifier: float a() { return nothing; }",
        );
        files.files.remove("a.glsl");
        let error = with(text, Language::Glsl, Stage::Vertex, &PLAIN, &mut files).unwrap_err();
        assert!(error.at.as_deref() == Some("2") && error.message.contains("a.glsl"), "{error}");
    }

    #[test]
    fn line_numbers_are_correct_after_includes_and_defines() {
        let defines = [("ONE".to_owned(), "1".to_owned()), ("TWO".to_owned(), String::new())];
        let options = Options { defines: &defines, ..PLAIN };
        let mut files = Files::of(&[("a.glsl", "float a;\nfloat b;\n")]);
        let text = "#version 450\n#include \"a.glsl\"\n#ifdef TWO\nvoid main() {\n  float x = ONE;\n  y = x;\n}\n#endif\n";
        let error = with(text, Language::Glsl, Stage::Vertex, &options, &mut files).unwrap_err();
        assert_eq!(
            (error.path.as_deref().unwrap_or_default(), error.at.as_deref().unwrap_or_default()),
            ("x.shader/source", "6"),
            "{error}"
        );
        assert!(error.message.ends_with(": y = x;"), "{error}");
    }

    #[test]
    fn rejects_recursive_includes() {
        let mut files = Files::of(&[("a.glsl", "#include \"a.glsl\"\n")]);
        let text = "#version 450\n#include \"a.glsl\"\nvoid main() {}";
        let error = with(text, Language::Glsl, Stage::Vertex, &PLAIN, &mut files).unwrap_err();
        assert_eq!(error.code, Code::ShaderInclude, "{error}");
        let mut files = Files::of(&[("a.glsl", &"#include \"b.glsl\"\n".repeat(400))]);
        files.files.insert("b.glsl".into(), "// padding\n".repeat(2000));
        let error = with(text, Language::Glsl, Stage::Vertex, &PLAIN, &mut files).unwrap_err();
        assert_eq!(error.code, Code::ShaderInclude, "{error}");
    }

    #[test]
    fn long_expressions_do_not_abort_the_process() {
        let sum = " + x".repeat(60_000);
        let text =
            format!("#version 450\nvoid main() {{ float x = gl_VertexIndex; gl_Position = vec4(x{sum}); }}");
        assert!(one(&text, Language::Glsl, Stage::Vertex).is_ok());
        let deep = "(".repeat(50_000);
        let text = format!("#version 450\nvoid main() {{ float x = {deep}; }}");
        assert!(one(&text, Language::Glsl, Stage::Vertex).is_err());
    }

    #[test]
    fn rejects_unsupported_versions_and_invalid_sources() {
        for text in [
            "",
            "#version 99999\n",
            "#version 100\nvoid main() {}",
            "\u{feff}",
            "#version 450 es\n",
            "#version\n",
            "ü",
        ] {
            let error = one(text, Language::Glsl, Stage::Vertex).unwrap_err();
            assert_eq!(error.code, Code::ShaderCompile, "{text:?}: {error}");
        }
    }

    #[test]
    fn concurrent_compilations_give_the_same_modules() {
        let text =
            "#version 450\nlayout(location = 0) in vec3 p; void main() { gl_Position = vec4(p * 2.0, 1.0); }";
        let first = one(text, Language::Glsl, Stage::Vertex).unwrap().words;
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        assert_eq!(one(text, Language::Glsl, Stage::Vertex).unwrap().words, first);
                        let wgsl = one(WGSL, Language::Wgsl, Stage::Vertex).unwrap().words;
                        assert_eq!(wgsl, one(WGSL, Language::Wgsl, Stage::Vertex).unwrap().words);
                    }
                });
            }
        });
    }
}
