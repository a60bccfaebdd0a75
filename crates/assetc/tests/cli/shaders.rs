//! Shader folders with the executable: stages, includes, languages, external programs, `info` and errors.

use crate::project::{Project, Ran};
use std::process::Command;

const VERTEX: &str = "#version 450
#include \"lib/camera.glsl\"
layout(location = 0) in vec3 position;
layout(location = 1) in vec2 uv;
layout(location = 0) out vec2 uv_out;
void main() { uv_out = uv; gl_Position = camera.view * vec4(position * SCALE, 1.0); }
";
const CAMERA: &str = "#include <settings.glsl>
layout(set = 0, binding = 0) uniform Camera { mat4 view; vec4 eye; } camera;
";
const FRAGMENT: &str = "#version 450
layout(set = 1, binding = 2) uniform sampler2D albedo[4];
layout(push_constant) uniform Tint { vec4 tint; int index; } push;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 colour;
void main() { colour = texture(albedo[0], uv) * push.tint; }
";
pub(crate) const WGSL: &str = "
@vertex fn corner(@location(0) at: vec3f) -> @builtin(position) vec4f { return vec4f(at, 1.0); }
@fragment fn shade() -> @location(0) vec4f { return vec4f(1.0); }
";

/// A project with one folder of GLSL and one of WGSL.
fn project() -> Project {
    let p = Project::new();
    p.write("assets/fx/wall.shader/wall.vert", VERTEX)
        .write("assets/fx/wall.shader/fragment.glsl", FRAGMENT)
        .write("assets/fx/wall.shader/lib/camera.glsl", CAMERA)
        .write("assets/fx/wall.shader/notes.txt", "not a shader")
        .write("assets/settings.glsl", "#define SCALE 2.0\n")
        .write("assets/sky.shader/all.wgsl", WGSL);
    p
}

/// Validates every module of a directory with `spirv-val`, if it is installed.
#[track_caller]
pub(crate) fn validate(p: &Project, dir: &str, target: &str) {
    for (path, bytes) in p.tree(dir).into_iter().filter(|(path, _)| path.ends_with(".spv")) {
        assert_eq!(bytes[..4], [3, 2, 0x23, 7], "{path}");
        let args = ["--target-env", target];
        match Command::new("spirv-val").args(args).arg(p.path(dir).join(&path)).output() {
            Ok(done) => assert!(done.status.success(), "{path}: {done:?}"),
            Err(e) => assert_eq!(e.kind(), std::io::ErrorKind::NotFound, "{e}"),
        }
    }
}

/// Runs the executable with only the programs in a directory of the project.
pub(crate) fn run_with(p: &Project, bin: &str, args: &[&str]) -> Ran {
    let mut command = p.command(args);
    // The programs are inside the project, so it has to be trusted; `trust.rs` tests untrusted projects.
    command.env("PATH", p.path(bin)).env("KILN_TRUST", "1").env_remove("VULKAN_SDK").env_remove("SLANG_DIR");
    command.output().unwrap().into()
}

#[test]
fn folder_compiles_to_one_module_per_stage() {
    let p = project();
    let ran = p.run(&["--verify", "--pack"]).expect(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    let outputs: Vec<String> = p.tree("runtime").into_keys().collect();
    assert_eq!(
        outputs,
        [
            "assets.hman",
            "fx/wall.shader/fragment.spv",
            "fx/wall.shader/vertex.spv",
            "sky.shader/fragment.spv",
            "sky.shader/vertex.spv"
        ]
    );
    validate(&p, "runtime", "vulkan1.2");
    p.run(&["check"]).expect(0);
    p.run(&["check", "runtime.hpack"]).expect(0);
    let packed = crate::packs::unpack(&p.read("runtime.hpack")).unwrap();
    assert_eq!(packed.iter().filter(|file| file.kind == 6).count(), 4);
    assert_eq!(p.build(), (0, 2));
    p.remove("assets/sky.shader").build();
    assert!(!p.exists("runtime/sky.shader/vertex.spv"));
}

#[test]
fn info_prints_shader_reflection() {
    let p = project();
    p.build();
    let shown = p.run(&["info"]).expect(0).stdout;
    for line in [
        "== shaders (.spv) (4)",
        "SPIR-V 1.5 | vertex \"main\" | bindings: 0.0 uniform-buffer camera | inputs: 0 vec3 position, 1 vec2 uv",
        "SPIR-V 1.5 | fragment \"main\" | bindings: 1.2 combined-image-sampler albedo[4] | push constants 20 B | \
         outputs: 0 vec4 colour",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let json = p.run(&["info", "--json"]).expect(0).json();
    let files = json["files"].as_array().unwrap();
    let facts = |path: &str| &files.iter().find(|f| f["path"] == path).unwrap()["facts"];
    let vertex = facts("fx/wall.shader/vertex.spv");
    assert_eq!(vertex["version"], "1.5");
    let entry = &vertex["entry_points"][0];
    assert_eq!(entry["stage"], "vertex");
    assert_eq!(entry["name"], "main");
    let camera = &vertex["bindings"][0];
    assert_eq!(camera["set"], 0);
    assert_eq!(camera["binding"], 0);
    assert_eq!(camera["type"], "uniform-buffer");
    assert_eq!(camera["size"], 80);
    let inputs: Vec<_> = vertex["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| (i["location"].as_u64().unwrap(), i["type"].as_str().unwrap()))
        .collect();
    assert_eq!(inputs, [(0, "vec3"), (1, "vec2")]);
    let push = &facts("fx/wall.shader/fragment.spv")["push_constants"][0];
    assert_eq!(push["offset"], 0);
    assert_eq!(push["size"], 20);
}

#[test]
fn includes_are_dependencies_also_when_missing() {
    let p = project();
    p.build();
    let before = p.read("runtime/fx/wall.shader/vertex.spv");
    p.write("assets/settings.glsl", "#define SCALE 3.0\n");
    assert_eq!(p.build(), (1, 1));
    let edited = p.read("runtime/fx/wall.shader/vertex.spv");
    assert_ne!(before, edited);
    // Files that no shader includes.
    p.write("assets/fx/wall.shader/notes.txt", "still not a shader").write("assets/lib/other.glsl", "x");
    assert_eq!(p.build(), (0, 2));
    // An include that is found in the input directory, and then a file of that name beside the including file.
    p.write("assets/fx/wall.shader/wall.vert", VERTEX.replace("lib/camera.glsl", "camera.glsl"));
    let ran = p.run(&[]).expect(1);
    let missing = "error[shader-include]: fx/wall.shader/wall.vert:";
    let places = "camera.glsl is included and was not found in fx/wall.shader/ or the input directory";
    assert!(ran.stderr.contains(missing) && ran.stderr.contains(places), "{}", ran.stderr);
    assert!(ran.stderr.contains("or add its directory to shader.include"), "{}", ran.stderr);
    p.write("assets/camera.glsl", CAMERA);
    assert_eq!(p.build(), (1, 1));
    p.write("assets/fx/wall.shader/camera.glsl", CAMERA.replace("vec4 eye", "vec4 eye; vec4 more"));
    assert_eq!(p.build(), (1, 1));
    let explained = p.run(&["explain", "fx/wall.shader"]).expect(0).stdout;
    assert!(explained.contains("settings.glsl (read)"), "{explained}");
}

#[test]
fn shader_errors_have_file_line_and_source() {
    let check = |files: &[(&str, &str)], expected: &[&str]| {
        let p = Project::new();
        for (path, text) in files {
            p.write(&format!("assets/{path}"), text);
        }
        let ran = p.run(&[]).expect(1);
        for part in expected {
            assert!(ran.stderr.contains(part), "{part}\n{}", ran.stderr);
        }
    };
    check(
        &[("a.shader/a.vert", "#version 450\nvoid main() {\n    gl_Position = nothing;\n}\n")],
        &[
            "error[shader-compile]: a.shader/a.vert:3: 'nothing': undeclared identifier: gl_Position = nothing;",
        ],
    );
    check(
        &[("a.shader/vertex.wgsl", "@vertex fn f() -> @builtin(position) vec4f {\n  return x;\n}")],
        &["error[shader-compile]: a.shader/vertex.wgsl:2: ", ": return x;"],
    );
    check(
        &[("a.shader/vertex.glsl", VERTEX), ("a.shader/x.vert", VERTEX)],
        &[
            "error[shader-stage-duplicate]: a.shader: vertex.glsl and x.vert are both the vertex shader of this folder",
        ],
    );
    check(&[("a.shader/readme.md", "")], &["error[shader-no-stage]: a.shader"]);
    check(
        &[("a.shader/x.vert", "#version 450\n#include \"../../secret.glsl\"\nvoid main() {}")],
        &["error[shader-include]: a.shader/x.vert", "../../secret.glsl", "the path leaves its root"],
    );
    check(
        &[("a.shader/x.vert", "#version 450\n#include \"/etc/hostname\"\nvoid main() {}")],
        &["error[shader-include]: a.shader/x.vert", "the path is absolute"],
    );
    check(&[("a.shader/x.vert", "#version 450\n\0")], &["error[shader-encoding]"]);
    check(
        &[("a.shader/vertex.spv", "not a module, but long enough")],
        &["error[shader-module]: a.shader/vertex.spv"],
    );
}

#[test]
fn settings_select_target_macros_and_debug_info() {
    let p = Project::new();
    p.write(
        "assets/a.shader/x.frag",
        "#version 450\nlayout(location = 0) out vec4 c;\nvoid main() { c = vec4(LEVEL); }\n",
    );
    p.write("assets/b.shader/b.wgsl", WGSL);
    p.run(&["-q"]).expect(1);
    p.write("assetc.yml", "default: {shader: {defines: 'LEVEL=0.25, FOG', target: vulkan1.0}}");
    p.build();
    validate(&p, "runtime", "vulkan1.0");
    let old = p.tree("runtime");
    assert_eq!(old["a.shader/fragment.spv"][4..8], [0, 0, 1, 0]);
    p.write("assetc.yml", "default: {shader: {defines: 'LEVEL=0.25', target: vulkan1.3, debug: true}}");
    assert_eq!(p.build(), (2, 0));
    validate(&p, "runtime", "vulkan1.3");
    let new = p.tree("runtime");
    assert_eq!(new["a.shader/fragment.spv"][4..8], [0, 6, 1, 0]);
    let holds = |path: &str, text: &[u8]| new[path].windows(text.len()).any(|window| window == text);
    assert!(holds("b.shader/vertex.spv", b"fn corner(@location"));
    assert!(holds("a.shader/fragment.spv", b"void main() { c = vec4(LEVEL); }"));
    let explained = p.run(&["explain", "a.shader"]).expect(0).stdout;
    assert!(explained.contains("shader.target = vulkan1.3"), "{explained}");
}

#[test]
fn copies_spirv_modules() {
    let p = project();
    p.build();
    let module = p.read("runtime/sky.shader/vertex.spv");
    let other = Project::new();
    other.write("assets/a.shader/vertex.spv", &module);
    other.build();
    assert_eq!(other.read("runtime/a.shader/vertex.spv"), module);
    other.write("assets/a.shader/fragment.spv", &module);
    let ran = other.run(&[]).expect(1);
    assert!(ran.stderr.contains("expected a fragment entry point, found vertex"), "{}", ran.stderr);
}

#[test]
fn modules_do_not_depend_on_threads() {
    let p = Project::new();
    for n in 0..24 {
        p.write(
            &format!("assets/{n}.shader/x.vert"),
            format!("#version 450\nvoid main() {{ gl_Position = vec4({n}); }}"),
        );
        p.write(
            &format!("assets/{n}.shader/y.wgsl"),
            WGSL.replace("@vertex fn", "fn")
                .replace("@builtin(position) ", "")
                .replace("@location(0) at", "at"),
        );
    }
    p.run(&["-q", "-j", "1", "-o", "one"]).expect(0);
    p.run(&["-q", "-j", "8", "-o", "many"]).expect(0);
    assert_eq!(p.tree("one"), p.tree("many"));
    validate(&p, "one", "vulkan1.2");
}

#[test]
fn glslang_compiles_hlsl_with_a_warning() {
    let p = Project::new();
    p.write("assets/a.shader/vertex.hlsl", "cbuffer C : register(b1) { float4x4 m; };\nfloat4 main(float3 p : POSITION) : SV_Position { return mul(m, float4(p, 1)); }\n");
    let ran = run_with(&p, "bin", &[]).expect(0);
    assert!(ran.stderr.contains("warning[shader-unvalidated]"), "{}", ran.stderr);
    validate(&p, "runtime", "vulkan1.2");
    // A texture in a local variable: valid HLSL, but not a valid module for Vulkan without legalisation.
    let texture = "Texture2D t : register(t0); SamplerState s : register(s1);\nstruct Both { Texture2D t; SamplerState s; };\nfloat4 main(float2 uv : UV) : SV_Target { Both b; b.t = t; b.s = s; return b.t.Sample(b.s, uv); }\n";
    p.write("assets/b.shader/fragment.hlsl", texture);
    let ran = run_with(&p, "bin", &[]).expect(1);
    assert!(ran.stderr.contains("error[shader-hlsl]: b.shader/fragment.hlsl"), "{}", ran.stderr);
}

#[test]
fn missing_program_error_names_program_and_feature() {
    let p = Project::new();
    p.write("assets/a.shader/vertex.slang", "import lib;\n");
    let ran = run_with(&p, "bin", &[]).expect(1);
    for part in
        ["error[shader-tool-missing]: a.shader/vertex.slang: Slang requires slangc", "tools: {slangc: …}"]
    {
        assert!(ran.stderr.contains(part), "{part}\n{}", ran.stderr);
    }
    let p = project();
    p.write("assetc.yml", "default: {shader: {optimize: size}}");
    let ran = run_with(&p, "bin", &[]).expect(1);
    assert!(ran.stderr.contains("shader.optimize requires spirv-opt"), "{}", ran.stderr);
}

/// Scripts that stand in for external compilers.
#[cfg(unix)]
mod programs {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(p: &Project, path: &str, script: &str) {
        p.write(path, format!("#!/bin/sh\n{script}"));
        std::fs::set_permissions(p.path(path), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A script that copies the module beside it to the path after `-o`, if all source files exist.
    fn slangc(version: &str, more: &str) -> String {
        format!(
            "[ \"$1\" = -v ] && {{ echo {version} >&2; exit 0; }}\n{more}\n\
             bin=${{0%/*}}; source=$1\n\
             while [ $# -gt 1 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n\
             while read -r line; do echo \"$line\"; done < \"$source\" > /dev/null\n\
             /bin/cat \"$bin/module.spv\" > \"$out\"\n"
        )
    }

    /// A project with a Slang shader and a script that compiles it.
    fn slang() -> Project {
        let made = project();
        made.build();
        let p = Project::new();
        p.write(
            "assets/a.shader/vertex.slang",
            "import lib.light;\n[shader(\"vertex\")] float4 main() { return 0; }\n",
        );
        p.write("assets/lib/light.slang", "#include \"constants.h\"\n").write("assets/lib/constants.h", "1");
        p.write("assets/b.shader/b.wgsl", WGSL);
        p.write("bin/module.spv", made.read("runtime/sky.shader/vertex.spv"));
        program(
            &p,
            "bin/slangc",
            &slangc("2026.1", "[ -f lib/light.slang ] && [ -f lib/constants.h ] || exit 9"),
        );
        p
    }

    fn built(p: &Project) -> u64 {
        run_with(p, "bin", &["--json"]).expect(0).json()["built"].as_u64().unwrap()
    }

    #[test]
    fn slangc_version_is_part_of_the_fingerprint() {
        let p = slang();
        assert_eq!(built(&p), 2);
        assert_eq!(p.read("runtime/a.shader/vertex.spv"), p.read("bin/module.spv"));
        assert_eq!(built(&p), 0);
        p.write("assets/lib/constants.h", "2");
        assert_eq!(built(&p), 1);
        // Another version rebuilds the sources that need the program, and no others.
        program(&p, "bin/slangc", &slangc("2026.2", ""));
        let ran = run_with(&p, "bin", &["-v"]).expect(0);
        assert!(ran.stderr.contains("tool.slangc") || ran.stdout.contains("tool.slangc"), "{ran:?}");
        assert_eq!(built(&p), 0);
        // The program in another directory that the configuration names.
        std::fs::rename(p.path("bin"), p.path("sdk")).unwrap();
        p.write("assetc.yml", "tools: {slangc: sdk/slangc}");
        assert_eq!(built(&p), 0);
        p.write("assets/a.shader/vertex.slang", "import lib.light;\n");
        assert_eq!(built(&p), 1);
    }

    #[test]
    fn converts_slangc_output_to_diagnostics() {
        let p = slang();
        let complain = "echo \"$1(2): error 30015: undefined identifier 'x'.\" >&2; exit 1";
        program(&p, "bin/slangc", &slangc("1", complain));
        let ran = run_with(&p, "bin", &[]).expect(1);
        let line =
            "error[shader-compile]: a.shader/vertex.slang:2: undefined identifier 'x'.: [shader(\"vertex\")]";
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
        program(&p, "bin/slangc", &slangc("1", "kill -SEGV $$"));
        let ran = run_with(&p, "bin", &[]).expect(1);
        assert!(
            ran.stderr.contains("error[shader-tool]: a.shader/vertex.slang: slangc crashed"),
            "{}",
            ran.stderr
        );
        program(&p, "bin/slangc", &slangc("1", "printf garbage > .out.spv; exit 0"));
        let ran = run_with(&p, "bin", &[]).expect(1);
        assert!(ran.stderr.contains("error[shader-module]"), "{}", ran.stderr);
    }

    /// The script checks its arguments: each entry point is compiled with its own stage, and include directories follow
    /// the folder.
    #[test]
    fn slang_module_compiles_to_all_its_entry_points() {
        let p = slang();
        p.remove("assets/a.shader");
        p.write(
            "assets/m.shader/lit.slang",
            "import light;\n[shader(\"vertex\")] float4 vsMain() : SV_Position { return 0; }\n\
             [shader(\"vertex\")]\nfloat4 vsShadow() : SV_Position { return 0; }\n",
        );
        p.write("assetc.yml", "default: {shader: {include: [lib], variants: {SKINNED: [0, 1]}}}");
        let log = "[ -f lib/light.slang ] || exit 9\necho \"$*\" >> \"${0%/*}/log\"";
        program(&p, "bin/slangc", &slangc("2026.1", log));
        assert_eq!(built(&p), 2);
        let outputs: Vec<String> = p.tree("runtime/m.shader").into_keys().collect();
        assert_eq!(
            outputs,
            [
                "SKINNED-0/vsMain.vertex.spv",
                "SKINNED-0/vsShadow.vertex.spv",
                "SKINNED-1/vsMain.vertex.spv",
                "SKINNED-1/vsShadow.vertex.spv"
            ]
        );
        let log = String::from_utf8(p.read("bin/log")).unwrap();
        let calls: Vec<&str> = log.lines().filter(|line| line.contains("m.shader")).collect();
        assert_eq!(calls.len(), 4, "{log}");
        for (call, (entry, skinned)) in
            calls.iter().zip([("vsMain", 0), ("vsShadow", 0), ("vsMain", 1), ("vsShadow", 1)])
        {
            for part in [
                format!("-entry {entry} -stage vertex"),
                "-I m.shader -I lib -I .".to_owned(),
                format!("-DSKINNED={skinned}"),
            ] {
                assert!(call.contains(&part), "{part}: {call}");
            }
        }
        p.run(&["check"]).expect(0);
    }

    #[test]
    fn rejects_includes_outside_the_project() {
        for (text, part) in [
            ("#include \"/etc/hostname\"\n", "the path is absolute"),
            ("#include \"../../x\"\n", "the path leaves its root"),
            ("#define F \"/etc/hostname\"\n#include F\n", "computed by the preprocessor"),
        ] {
            let p = slang();
            p.write("assets/a.shader/vertex.slang", text);
            let ran = run_with(&p, "bin", &[]).expect(1);
            assert!(
                ran.stderr.contains("error[shader-include]") && ran.stderr.contains(part),
                "{}",
                ran.stderr
            );
        }
    }

    #[test]
    fn prefers_dxc_for_hlsl() {
        let p = slang();
        p.write("assets/c.shader/vertex.hlsl", "float4 main() : SV_Position { return 0; }\n");
        let dxc = "[ \"$1\" = --version ] && { echo dxc 1.8; exit 0; }\nbin=${0%/*}\n\
                   while [ $# -gt 1 ]; do [ \"$1\" = -Fo ] && out=$2; shift; done\n\
                   [ -f \"$1\" ] && /bin/cat \"$bin/module.spv\" > \"$out\"\n";
        program(&p, "bin/dxc", dxc);
        let ran = run_with(&p, "bin", &[]).expect(0);
        assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
        assert_eq!(p.read("runtime/c.shader/vertex.spv"), p.read("bin/module.spv"));
    }

    #[test]
    fn optimize_setting_runs_spirv_opt() {
        let p = slang();
        p.write("assetc.yml", "default: {rules: [{match: b.shader, shader: {optimize: speed}}]}");
        let opt = "[ \"$1\" = --version ] && { echo v1; exit 0; }\nfor last; do :; done; in=\n\
                   for a; do [ \"$a\" = -O ] && fast=1; done\n[ -n \"$fast\" ] && /bin/cat .in.spv > \"$last\"\n";
        program(&p, "bin/spirv-opt", opt);
        assert_eq!(built(&p), 2);
        program(&p, "bin/spirv-opt", &opt.replace("v1", "v2"));
        assert_eq!(built(&p), 1);
    }
}

/// A shader worker: the executable in a process of its own.
struct Worker(std::process::Child);

impl Worker {
    fn new() -> Worker {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assetc"));
        let piped = std::process::Stdio::piped;
        Worker(command.arg("serve-shaders").stdin(piped()).stdout(piped()).spawn().unwrap())
    }
}

impl kiln_shader::Channel for Worker {
    fn send(&mut self, frame: &[u8]) {
        kiln_shader::write_frame(self.0.stdin.as_mut().unwrap(), frame).unwrap();
    }

    fn receive(&mut self) -> Result<Vec<u8>, kiln_shader::WorkerError> {
        Ok(kiln_shader::read_frame(self.0.stdout.as_mut().unwrap()).unwrap())
    }
}

#[test]
fn worker_and_in_process_compilation_agree() {
    use kiln_shader::{Include, Included, Includes, Language, Options, Source, Stage, Target};
    struct One;
    impl Includes for One {
        fn include(&mut self, include: Include<'_>) -> Option<Included> {
            let text = "float one() { return 1.0; }".to_owned();
            (include.name == "one.glsl").then(|| Included { path: "lib/one.glsl".into(), text })
        }
    }
    let mut worker = Worker::new();
    let good = "#version 450\n#include \"one.glsl\"\nvoid main() { gl_Position = vec4(one()); }";
    let bad = "#version 450\n#include \"two.glsl\"\nvoid main() { gl_Position = x; }";
    let hlsl = "float4 main(float3 at : POSITION) : SV_Position { return float4(at, 1); }";
    let defines = [("A".to_owned(), "1".to_owned())];
    for target in Target::ALL {
        let options = Options { target, debug: true, defines: &defines };
        for (text, language, fine) in [
            (good, Language::Glsl, cfg!(feature = "glsl")),
            (bad, Language::Glsl, false),
            (hlsl, Language::Hlsl, cfg!(feature = "glsl")),
            (WGSL, Language::Wgsl, true),
            ("@vertex fn f() -> @builtin(position) vec4f {\n  return x;\n}", Language::Wgsl, false),
        ] {
            let source = Source { path: "a.source", text, language, stage: Stage::Vertex, entry: "main" };
            let here = kiln_shader::compile(&source, &options, &mut One);
            let there = kiln_shader::compile_in_worker(&source, &options, &mut One, &mut worker);
            assert_eq!(there.is_ok(), fine);
            assert_eq!(there.map(|it| (it.words, it.warnings)), here.map(|it| (it.words, it.warnings)));
        }
    }
    let stages = |text| kiln_shader::wgsl_stages_in_worker("a", text, &mut worker);
    assert_eq!([WGSL, "fn"].map(stages), [WGSL, "fn"].map(|text| kiln_shader::wgsl_stages("a", text)));
    drop(worker.0.stdin.take());
    assert!(worker.0.wait().unwrap().success());
}
