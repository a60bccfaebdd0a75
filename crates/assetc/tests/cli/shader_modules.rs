//! Shader modules with the executable: several entry points in one file, permutations and include cycles.

use crate::project::Project;
use crate::shaders::{WGSL, run_with, validate};

/// VS and PS in one file, marked by attributes, with two pixel shaders.
const HLSL_MODULE: &str = "#include \"lighting.hlsli\"
struct Varying { float4 position : SV_Position; float2 uv : TEXCOORD0; };
[shader(\"vertex\")]
Varying vsMain(float3 position : POSITION) { Varying v; v.position = float4(position * SCALE, 1); v.uv = position.xy; return v; }
[shader(\"pixel\")]
float4 psLit(Varying v) : SV_Target { return float4(v.uv, 1, 1); }
[shader(\"pixel\")]
float4 psShadow(Varying v) : SV_Target { return v.position.z; }
";

#[test]
fn hlsl_module_compiles_to_all_its_entry_points() {
    let p = Project::new();
    p.write("assets/a.shader/lit.hlsl", HLSL_MODULE)
        .write("assets/shaders/lighting.hlsli", "#define SCALE 2.0\n")
        // Without attributes, entry points are found by their names.
        .write("assets/b.shader/b.hlsl", "#include \"c.hlsl\"\nfloat4 VSMain(float3 p : POSITION) : SV_Position { return float4(p, one()); }\nfloat4 PSMain() : SV_Target { return 1; }\n")
        .write("assets/b.shader/c.hlsl", "float one() { return 1; }\nfloat4 VS(float3 p : POSITION) : SV_Position { return 0; }\n")
        .write("assets/c.shader/vertex.hlsl", "float4 vs_main(float3 p : POSITION) : SV_Position { return float4(p, 1); }\n")
        .write("assetc.yml", "default: {shader: {include: [shaders]}}");
    run_with(&p, "bin", &["--pack", "--verify"]).expect(0);
    let outputs: Vec<String> = p.tree("runtime").into_keys().collect();
    assert_eq!(
        outputs,
        [
            "a.shader/psLit.fragment.spv",
            "a.shader/psShadow.fragment.spv",
            "a.shader/vertex.spv",
            "assets.hman",
            "b.shader/fragment.spv",
            "b.shader/vertex.spv",
            "c.shader/vertex.spv",
        ]
    );
    validate(&p, "runtime", "vulkan1.2");
    assert_ne!(
        p.read("runtime/a.shader/psLit.fragment.spv"),
        p.read("runtime/a.shader/psShadow.fragment.spv")
    );
    let info = p.run(&["info"]).expect(0).stdout;
    assert!(info.contains("fragment \"main\"") && !info.contains("psLit\""), "{info}");
    p.run(&["check"]).expect(0);
    p.run(&["check", "runtime.hpack"]).expect(0);
    // The file of an include directory is a dependency, and so is the place where it would be found first.
    p.write("assets/shaders/lighting.hlsli", "#define SCALE 3.0\n");
    assert_eq!(run_with(&p, "bin", &["--json"]).expect(0).json()["built"], 1);
    p.write("assets/a.shader/lighting.hlsli", "#define SCALE 4.0\n");
    assert_eq!(run_with(&p, "bin", &["--json"]).expect(0).json()["built"], 1);
    // The module of an entry point that was removed is removed.
    p.write("assets/a.shader/lit.hlsl", &HLSL_MODULE[..HLSL_MODULE.rfind("[shader").unwrap()]);
    run_with(&p, "bin", &[]).expect(0);
    let outputs: Vec<String> = p.tree("runtime/a.shader").into_keys().collect();
    assert_eq!(outputs, ["fragment.spv", "vertex.spv"]);
}

#[test]
fn entry_point_errors_name_the_function_and_the_fix() {
    let p = Project::new();
    p.write("assets/a.shader/vertex.hlsl", "float4 helper() { return 0; }\n");
    let ran = run_with(&p, "bin", &[]).expect(1);
    for part in
        ["a.shader/vertex.hlsl", "the source has no function `main`", "mark it with [shader(\"vertex\")]"]
    {
        assert!(ran.stderr.contains(part), "{part}\n{}", ran.stderr);
    }
    p.remove("assets/a.shader")
        .write("assets/b.shader/x.hlsl", "[shader(\"vertex\")] float4 f() : SV_Position { return 0; }\n");
    p.write("assets/b.shader/y.hlsl", "[shader(\"vertex\")] float4 F() : SV_Position { return 0; }\n");
    let ran = run_with(&p, "bin", &[]).expect(1);
    assert!(ran.stderr.contains("error[shader-stage-duplicate]"), "{}", ran.stderr);
}

#[test]
fn wgsl_entry_points_of_one_stage_are_named() {
    let p = Project::new();
    let more = format!("{WGSL}@fragment fn depth() -> @location(0) vec4f {{ return vec4f(0.5); }}\n");
    p.write("assets/a.shader/all.wgsl", more);
    p.run(&[]).expect(0);
    let outputs: Vec<String> = p.tree("runtime/a.shader").into_keys().collect();
    assert_eq!(outputs, ["depth.fragment.spv", "shade.fragment.spv", "vertex.spv"]);
    validate(&p, "runtime", "vulkan1.2");
}

#[test]
fn variants_compile_every_combination() {
    let p = Project::new();
    let source = "#version 450\nlayout(location = 0) out vec4 c;\n#if SHADOWS\n#define S 0.5\n#else\n#define S 1.0\n#endif\n\
                  void main() { c = vec4(S * QUALITY); }\n";
    p.write("assets/a.shader/fragment.glsl", source);
    p.write("assetc.yml", "default:\n  shader:\n    defines: SHADOWS=0, OTHER\n    variants:\n      SHADOWS: [0, 1]\n      QUALITY: [1, 2]\n");
    let ran = p.run(&["-v", "--pack"]).expect(0);
    let outputs: Vec<String> = p.tree("runtime/a.shader").into_keys().collect();
    let wanted = ["QUALITY-1+SHADOWS-0", "QUALITY-1+SHADOWS-1", "QUALITY-2+SHADOWS-0", "QUALITY-2+SHADOWS-1"];
    assert_eq!(outputs, wanted.map(|name| format!("{name}/fragment.spv")));
    // The constants differ, and the durations of the modules are printed.
    let modules: std::collections::BTreeSet<Vec<u8>> = p.tree("runtime/a.shader").into_values().collect();
    assert_eq!(modules.len(), 3, "1 * 0.5, 1 * 1 = 2 * 0.5, 2 * 1");
    for name in wanted {
        let line = ran.stderr.lines().find(|line| line.contains(&format!("{name}/fragment.spv: ")));
        assert!(line.is_some_and(|line| line.ends_with(" ms")), "{}", ran.stderr);
    }
    validate(&p, "runtime", "vulkan1.2");
    p.run(&["check"]).expect(0);
    p.run(&["check", "runtime.hpack"]).expect(0);
    assert_eq!(p.build(), (0, 1));
    // From the cache: the same files.
    let before = p.tree("runtime");
    std::fs::remove_dir_all(p.path("runtime")).unwrap();
    p.run(&["--pack"]).expect(0);
    assert_eq!(p.tree("runtime"), before);
    // An error names the permutation.
    p.write("assets/a.shader/fragment.glsl", source.replace("#define S 0.5", "#define S oops"));
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("variant QUALITY-1+SHADOWS-1: "), "{}", ran.stderr);
    // Without the setting there is one module, and the folders of the permutations are removed.
    p.write("assetc.yml", "default: {shader: {defines: 'SHADOWS=0, QUALITY=3'}}");
    p.write("assets/a.shader/fragment.glsl", source).run(&[]).expect(0);
    assert_eq!(p.tree("runtime/a.shader").into_keys().collect::<Vec<_>>(), ["fragment.spv"]);
    p.write("assetc.yml", "default: {shader: {variants: {SHADOWS: [0, ../../x]}}}");
    let ran = p.run(&[]).expect(2);
    assert!(ran.stderr.contains("a map from macro names to lists of values"), "{}", ran.stderr);
    p.write("assetc.yml", "default: {shader: {include: [../outside]}}");
    let ran = p.run(&[]).expect(2);
    assert!(ran.stderr.contains("directories below the input directory"), "{}", ran.stderr);
}

#[test]
fn include_cycle_is_named_as_a_cycle() {
    let p = Project::new();
    p.write("assets/a.shader/vertex.glsl", "#version 450\n#include \"x.h\"\nvoid main() {}\n")
        .write("assets/a.shader/x.h", "#include \"y.h\"\n")
        .write("assets/a.shader/y.h", "#include \"x.h\"\n");
    let ran = p.run(&[]).expect(1);
    let part = "include cycle: a.shader/x.h -> a.shader/y.h -> a.shader/x.h";
    assert!(
        ran.stderr.contains("error[shader-include]") && ran.stderr.contains(part)
            || ran.stderr.contains("include cycle: a.shader/y.h -> a.shader/x.h -> a.shader/y.h"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("include guard"), "{}", ran.stderr);
    // Behind a guard, files may include each other.
    p.write("assets/a.shader/x.h", "#ifndef X\n#define X\n#include \"y.h\"\n#endif\n");
    p.run(&[]).expect(0);
}
