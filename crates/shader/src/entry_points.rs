//! Finds the entry points of HLSL and Slang sources without compiling them.
//!
//! An entry point is a function with the attribute `[shader("…")]`, or in HLSL, which needs no attribute, a function
//! that is named after its stage: `VSMain`, `ps_main`, `MainCS`, `VS`. Comments are skipped; conditions of the
//! preprocessor are not evaluated, and included files are not searched.

use crate::scan::without_comments;
use crate::{Language, Stage};

/// An entry point of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryPoint {
    /// The stage.
    pub stage: Stage,
    /// The name of the function.
    pub name: String,
    /// True if the function has the attribute `[shader("…")]`.
    pub has_attribute: bool,
}

/// Returns the entry points of a source in order; none for other languages than HLSL and Slang. Functions with an
/// attribute come first. Of two functions with one name and stage, the first counts.
pub fn entry_points(text: &str, language: Language) -> Vec<EntryPoint> {
    if !matches!(language, Language::Hlsl | Language::Slang) {
        return Vec::new();
    }
    let bare = without_comments(text);
    let mut found = attributed(&bare);
    if language == Language::Hlsl {
        let named = functions(&bare).into_iter().filter_map(|name| {
            Some(EntryPoint { stage: stage_of_function(&name)?, name, has_attribute: false })
        });
        found.extend(named);
    }
    let mut unique: Vec<EntryPoint> = Vec::new();
    for entry in found {
        if !unique.iter().any(|known| known.name == entry.name) {
            unique.push(entry);
        }
    }
    unique
}

/// Returns whether a source defines a function of this name.
pub fn has_function(text: &str, name: &str) -> bool {
    functions(&without_comments(text)).iter().any(|function| function == name)
}

/// Returns the text with the attributes `[shader("…")]` blanked, for compilers that do not know them. Lines keep their
/// numbers.
pub(crate) fn without_shader_attributes(text: &str) -> String {
    let mut rest = text;
    let mut blanked = String::with_capacity(text.len());
    while let Some(at) = rest.find('[') {
        blanked.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = shader_attribute(rest).map_or(1, |(_, after)| rest.len() - after.len());
        let (attribute, after) = rest.split_at(len);
        if len == 1 {
            blanked.push('[');
        } else {
            blanked.extend(attribute.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
        rest = after;
    }
    blanked.push_str(rest);
    blanked
}

/// Returns the functions with an attribute.
fn attributed(bare: &str) -> Vec<EntryPoint> {
    let mut found = Vec::new();
    let mut rest = bare;
    while let Some(at) = rest.find('[') {
        rest = &rest[at..];
        let Some((stage, after)) = shader_attribute(rest) else {
            rest = &rest[1..];
            continue;
        };
        rest = after;
        if let (Some(stage), Some(name)) = (stage_of_attribute(stage), declared_function(after)) {
            found.push(EntryPoint { stage, name: name.to_owned(), has_attribute: true });
        }
    }
    found
}

/// Parses `[shader("stage")]` at the start of a text; returns the stage and the text after it.
fn shader_attribute(text: &str) -> Option<(&str, &str)> {
    let skip = |text: &'_ str, token: &str| -> Option<usize> {
        let trimmed = text.trim_start();
        trimmed.strip_prefix(token).map(|after| text.len() - after.len())
    };
    let mut at = 0;
    for token in ["[", "shader", "(", "\""] {
        at += skip(&text[at..], token)?;
    }
    let (stage, _) = text[at..].split_once('"')?;
    at += stage.len() + 1;
    for token in [")", "]"] {
        at += skip(&text[at..], token)?;
    }
    Some((stage, &text[at..]))
}

/// Returns the name of the function that a text declares first, after further attributes: the identifier before the
/// first parenthesis outside of brackets.
fn declared_function(text: &str) -> Option<&str> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '{' | ';' | '}' if depth == 0 => return None,
            '(' if depth == 0 => return identifier_before(&text[..at]),
            _ => {}
        }
    }
    None
}

/// Returns the names of the functions that are defined at the top level.
fn functions(bare: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut braces, mut parentheses, mut brackets) = (0usize, 0usize, 0usize);
    let mut candidate: Option<&str> = None;
    let mut in_directive = false;
    let mut line_is_empty = true;
    for (at, c) in bare.char_indices() {
        match c {
            '\n' => (in_directive, line_is_empty) = (false, true),
            '#' if line_is_empty => in_directive = true,
            _ => line_is_empty &= c.is_whitespace(),
        }
        if in_directive {
            continue;
        }
        match c {
            '[' => brackets += 1,
            ']' => brackets = brackets.saturating_sub(1),
            '(' if brackets == 0 => {
                if (braces, parentheses) == (0, 0) {
                    candidate = identifier_before(&bare[..at]);
                }
                parentheses += 1;
            }
            ')' if brackets == 0 => parentheses = parentheses.saturating_sub(1),
            '{' => {
                if let (0, 0, Some(name)) = (braces, parentheses, candidate.take()) {
                    found.push(name.to_owned());
                }
                braces += 1;
            }
            '}' => braces = braces.saturating_sub(1),
            ';' | '=' if parentheses == 0 => candidate = None,
            _ => {}
        }
    }
    found
}

fn identifier_before(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = &text[text.trim_end_matches(is_part).len()..];
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
}

/// Returns the stage of an attribute in HLSL or Slang.
fn stage_of_attribute(name: &str) -> Option<Stage> {
    Some(match name.to_ascii_lowercase().as_str() {
        "vertex" => Stage::Vertex,
        "pixel" | "fragment" => Stage::Fragment,
        "compute" => Stage::Compute,
        "geometry" => Stage::Geometry,
        "hull" => Stage::TessControl,
        "domain" => Stage::TessEval,
        "amplification" => Stage::Task,
        "mesh" => Stage::Mesh,
        "raygeneration" | "raygen" => Stage::Raygen,
        "intersection" => Stage::Intersection,
        "anyhit" => Stage::AnyHit,
        "closesthit" => Stage::ClosestHit,
        "miss" => Stage::Miss,
        "callable" => Stage::Callable,
        _ => return None,
    })
}

/// Returns the stage after which a function is named: its abbreviation or name, alone or beside `main`.
fn stage_of_function(name: &str) -> Option<Stage> {
    const WORDS: [(Stage, &[&str]); 8] = [
        (Stage::Vertex, &["vs", "vertex", "vertexshader"]),
        (Stage::Fragment, &["ps", "fs", "pixel", "fragment", "pixelshader", "fragmentshader"]),
        (Stage::Compute, &["cs", "compute", "computeshader"]),
        (Stage::Geometry, &["gs", "geometry", "geometryshader"]),
        (Stage::TessControl, &["hs", "hull", "hullshader"]),
        (Stage::TessEval, &["ds", "domain", "domainshader"]),
        (Stage::Task, &["as", "amplification", "amplificationshader"]),
        (Stage::Mesh, &["ms", "mesh", "meshshader"]),
    ];
    let name = name.to_ascii_lowercase().replace('_', "");
    let word = name.strip_prefix("main").or_else(|| name.strip_suffix("main")).unwrap_or(&name);
    WORDS.iter().find(|(_, words)| words.contains(&word)).map(|(stage, _)| *stage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, language: Language) -> Vec<(Stage, String)> {
        entry_points(text, language).into_iter().map(|entry| (entry.stage, entry.name)).collect()
    }

    #[test]
    fn finds_functions_with_an_attribute() {
        let text = "// [shader(\"vertex\")] float4 no() {}\n\
                    [shader(\"vertex\")]\nVertexOut vsMain(VertexIn v) { return f(v); }\n\
                    [ shader ( \"pixel\" ) ] float4 shade(VertexOut v) : SV_Target { return 1; }\n\
                    [numthreads(8, 8, 1)]\n[shader(\"compute\")]\n[other(1)] void blur(uint3 id : SV_DispatchThreadID) {}\n\
                    [shader(\"unknown\")] void x() {}\n[shader(\"miss\")]";
        let wanted = [
            (Stage::Vertex, "vsMain".to_owned()),
            (Stage::Fragment, "shade".to_owned()),
            (Stage::Compute, "blur".to_owned()),
        ];
        assert_eq!(found(text, Language::Slang), wanted);
        assert_eq!(found(text, Language::Hlsl), wanted);
        assert!(found(text, Language::Glsl).is_empty());
    }

    #[test]
    fn finds_hlsl_functions_by_name() {
        let text = "#define VS(x) { x }\nstruct V { float4 p; };\nfloat4 helper(float4 p) { return VSMain(p); }\n\
                    V VSMain(float3 p : POSITION, uint i[2]) { if (p.x > 0) { } return 0; }\n\
                    float4 ps_main(V v) : SV_Target0\n{ return 1; }\n\
                    [numthreads(8,8,1)] void MainCS(uint3 id : ID) {}\nfloat4 PS(V v);\nfloat mesh_count(float x) { return x; }";
        let wanted = [
            (Stage::Vertex, "VSMain".to_owned()),
            (Stage::Fragment, "ps_main".to_owned()),
            (Stage::Compute, "MainCS".to_owned()),
        ];
        assert_eq!(found(text, Language::Hlsl), wanted);
        assert!(found(text, Language::Slang).is_empty());
        assert!(has_function(text, "helper") && !has_function(text, "main"));
    }

    #[test]
    fn unfinished_sources_have_no_entry_points() {
        for text in [
            "[shader(\"vertex",
            "[shader(\"vertex\")",
            "[shader(\"vertex\")] (",
            "[[[",
            "float4 VS(",
            "{(",
            "é[shader(\"vertex\")] ü(",
        ] {
            assert!(found(text, Language::Hlsl).is_empty(), "{text}");
        }
    }

    #[test]
    fn attributes_are_blanked_in_place() {
        let text = "a[0];\n[shader(\n\"vertex\")] void f() {} [shader(\"x\"]";
        assert_eq!(without_shader_attributes(text), "a[0];\n        \n           void f() {} [shader(\"x\"]");
    }
}
