//! Shader sources that overflow the stack, exhaust the memory or do not terminate: they fail alone.

use crate::project::{Project, Ran, test_image};

const GOOD: &str = "@compute @workgroup_size(1) fn main() {}";

/// Repeats a piece `n` times between two others.
fn nest(before: &str, piece: &str, n: usize, after: &str) -> String {
    format!("{before}{}{after}", piece.repeat(n))
}

/// A WGSL source with a body that nests `n` levels deep, by kind of nesting.
fn wgsl(n: usize) -> Vec<(&'static str, String)> {
    let main = |body: String| format!("@compute @workgroup_size(1) fn main() {{ {body} }}");
    let chain: String = (0..n).map(|i| format!("const c{i}=c{};", i + 1)).collect();
    vec![
        ("not", main(nest("let a = ", "!", n, "true;"))),
        ("elseif", main(nest("var x = 1; if x == 0 {}", "else if x == 1 {}", n, ""))),
        ("sum", main(nest("var x = 1; let y = x", "+x", n, ";"))),
        ("deref", main(nest("var x = 1; let y = ", "*&", n, "x;"))),
        ("chain", format!("{chain}const c{n}=1;{}", main("let a = c0;".to_owned()))),
        ("negation", main(nest("let a = ", "- ", n, "1;"))),
        ("swizzle", main(nest("var x = vec4f(1); let a = x", ".xyzw", n, ";"))),
        ("parentheses", main(nest("let a = ", "(", n, "1"))),
        ("array", format!("alias T = {};{GOOD}", nest("", "array<", n, "u32"))),
        ("comments", nest("", "/*", n, "")),
    ]
}

/// A build with limits for the worker, if any, that finds no external compilers.
fn build(p: &Project, limits: &[(&str, &str)]) -> Ran {
    let mut command = p.command(&[]);
    command.envs(limits.iter().copied()).env("PATH", p.path("bin"));
    command.env_remove("VULKAN_SDK").env_remove("SLANG_DIR").output().unwrap().into()
}

/// Builds a source beside others: it alone fails, twice, with an error that has these parts.
#[track_caller]
fn fails_alone(file: &str, text: &str, limits: &[(&str, &str)], expected: &[&str]) {
    let p = Project::new();
    p.write(&format!("assets/bad.shader/{file}"), text).write("assets/a.png", test_image(4, 4, 1));
    // These shaders are compiled before and after it, by the same worker and by the next one.
    p.write("assets/a.shader/compute.wgsl", GOOD).write("assets/z.shader/compute.wgsl", GOOD);
    for run in 0..2 {
        let ran = build(&p, limits).expect(1);
        for part in expected.iter().chain(&[&*format!("bad.shader/{file}")]) {
            assert!(ran.stderr.contains(part), "run {run}: {part}\n{}", ran.stderr);
        }
        assert_eq!(ran.stderr.matches("error[").count(), 1, "{}", ran.stderr);
    }
    for built in ["a.ktx2", "a.shader/compute.spv", "z.shader/compute.spv"] {
        assert!(p.exists(&format!("runtime/{built}")), "{built}");
    }
    p.remove("assets/bad.shader");
    assert_eq!(build(&p, &[]).expect(0).code, 0);
}

#[test]
fn deeply_nested_wgsl_compiles_or_is_rejected() {
    let p = Project::new();
    let sources = wgsl(3_800);
    for (kind, text) in &sources {
        p.write(&format!("assets/{kind}.shader/compute.wgsl"), text);
        // Named after no stage, so that its entry points are listed first.
        p.write(&format!("assets/{kind}-all.shader/all.wgsl"), text);
    }
    let ran = build(&p, &[]).expect(1);
    assert!(!ran.stderr.contains("shader-compiler"), "{}", ran.stderr);
    for (kind, _) in &sources {
        let refused = ["parentheses", "array", "comments"].contains(kind);
        for dir in [format!("{kind}.shader"), format!("{kind}-all.shader")] {
            assert_eq!(p.exists(&format!("runtime/{dir}/compute.spv")), !refused, "{dir}\n{}", ran.stderr);
        }
    }
}

#[test]
fn stack_overflow_in_naga_fails_one_source() {
    let sources = wgsl(170_000).into_iter().filter(|(kind, _)| {
        // Refused by naga itself, or by the limit of 1 MiB.
        ["not", "sum", "deref", "negation", "swizzle"].contains(kind)
    });
    for (_, text) in sources {
        for file in ["compute.wgsl", "all.wgsl"] {
            fails_alone(file, &text, &[], &["error[shader-compiler]", "naga crashed"]);
        }
    }
}

#[test]
fn rejects_sources_larger_than_1_mib() {
    let text = format!("{GOOD}{}", " ".repeat(1 << 20));
    fails_alone("compute.wgsl", &text, &[], &["error[shader-compile]", "but the limit is 1 MiB"]);
}

#[test]
fn exhausted_memory_in_naga_fails_one_source() {
    let doubled: String = (0..26).map(|i| format!("const a{} = array(a{i}, a{i});", i + 1)).collect();
    let text = format!("const a0 = 1; {doubled} @compute @workgroup_size(1) fn main() {{ let a = a26; }}");
    let limits = [("KILN_SHADER_MEMORY", "1 GB")];
    fails_alone(
        "compute.wgsl",
        &text,
        &limits,
        &["error[shader-compiler]", "naga crashed or ran out of memory"],
    );
}

#[test]
fn compiler_that_misses_its_deadline_fails_its_sources_only() {
    let p = Project::new();
    // Large enough that no machine compiles it within the deadline.
    let functions: String =
        (0..5000).map(|n| format!("fn scale_{n}(x: f32) -> f32 {{ return x * {n}.0 + 1.0; }}\n")).collect();
    p.write("assets/a.png", test_image(4, 4, 1)).write("assets/bad.shader/compute.wgsl", functions + GOOD);
    let ran = build(&p, &[("KILN_SHADER_TIMEOUT", "0.001")]).expect(1);
    let message = "error[shader-compiler]: bad.shader/compute.wgsl: naga did not finish this source within 0.001 seconds";
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
    assert!(p.exists("runtime/a.ktx2"));
    build(&p, &[]).expect(0);
    assert!(p.exists("runtime/bad.shader/compute.spv"));
    let ran = build(&p, &[("KILN_SHADER_TIMEOUT", "soon")]);
    assert!(ran.code == 2 && ran.stderr.contains("error[shader-variable]"), "{ran:?}");
}

#[cfg(feature = "glsl")]
#[test]
fn time_limit_of_an_asset_stops_its_shader_compiler() {
    let doubled: String = (0..40).map(|i| format!("#define M{} M{i} M{i}\n", i + 1)).collect();
    let p = Project::new();
    p.write("assets/a.png", test_image(4, 4, 1));
    p.write(
        "assets/bad.shader/a.vert",
        format!("#version 450\n#define M0 ;\n{doubled}void main() {{ M40 }}"),
    );
    // Without the limit, the compiler would have a day.
    let mut command = p.command(&["--no-cache", "--time-limit", "2"]);
    command.env("KILN_SHADER_TIMEOUT", "86400").env("KILN_SHADER_MEMORY", "64 GB");
    let done = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && p.exists("runtime/a.ktx2"), "{stderr}");
    assert!(stderr.contains("error[time-limit]: bad.shader/a.vert: "), "{stderr}");
    assert!(stderr.contains("max_time of 2 s"), "{stderr}");
}

#[cfg(feature = "glsl")]
#[test]
fn deeply_nested_glsl_and_hlsl_compile_or_fail_alone() {
    let p = Project::new();
    let bodies = |n: usize| {
        [
            ("not", nest("bool a = ", "!", n, "true;")),
            ("elseif", nest("int x = 1; if (x == 0) {}", "else if (x == 1) {}", n, "")),
            ("sum", nest("int x = 1; int y = x", "+x", n, ";")),
            ("parentheses", nest("int a = ", "(", n, "1") + &")".repeat(n) + ";"),
            ("blocks", "{".repeat(n) + &"}".repeat(n)),
        ]
    };
    for (kind, body) in bodies(3_800) {
        p.write(&format!("assets/{kind}.shader/a.vert"), format!("#version 450\nvoid main() {{ {body} }}"));
        let hlsl = format!("float4 main() : SV_Position {{ {body} return 0; }}");
        p.write(&format!("assets/{kind}-hlsl.shader/vertex.hlsl"), hlsl);
    }
    p.write("assets/a.png", test_image(4, 4, 1)).write("assets/good.shader/compute.wgsl", GOOD);
    let ran = build(&p, &[]);
    assert!([0, 1].contains(&ran.code), "{ran:?}");
    assert!(p.exists("runtime/a.ktx2") && p.exists("runtime/good.shader/compute.spv"), "{}", ran.stderr);
}

#[cfg(feature = "glsl")]
#[test]
fn exponential_macros_fail_one_source() {
    let doubled: String = (0..40).map(|i| format!("#define M{} M{i} M{i}\n", i + 1)).collect();
    let limits = [("KILN_SHADER_MEMORY", "1 GB"), ("KILN_SHADER_TIMEOUT", "3")];
    let text = format!("#version 450\n#define M0 ;\n{doubled}void main() {{ M40 }}");
    fails_alone("a.vert", &text, &limits, &["error[shader-compiler]", "glslang"]);
    let text = format!("#define M0 ;\n{doubled}float4 main() : SV_Position {{ M40 return 0; }}");
    fails_alone("vertex.hlsl", &text, &limits, &["error[shader-compiler]", "glslang"]);
}
