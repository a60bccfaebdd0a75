//! The JSON output against its published schema.

use crate::{Project, json_schema};
use serde_json::Value;

/// The published schema of the JSON output, for one of its definitions.
fn output_schema(definition: &str) -> Value {
    let text = include_str!("../../../../docs/schema/pak-output.schema.json");
    let mut schema: Value = serde_json::from_str(text).unwrap();
    let root = schema.as_object_mut().unwrap();
    root.remove("anyOf");
    root.insert("$ref".to_owned(), format!("#/$defs/{definition}").into());
    schema
}

#[test]
fn json_of_every_command_is_valid_under_its_published_schema() {
    let project = Project::new();
    let check = |definition: &str, args: &[&str], expected: i32| {
        let (code, out, err) = project.pak(&[args, &["--json"]].concat());
        assert_eq!(code, expected, "{args:?}: {err}");
        assert!(out.starts_with("{\"version\":1,"), "{args:?}: {out}");
        json_schema::assert_valid(&output_schema(definition), &serde_json::from_str(&out).unwrap());
    };
    check("bake", &["bake", "pak.toml", "old.pak"], 0);
    project.put("art/notes.txt", "other ".repeat(1000));
    check("bake", &["bake", "pak.toml", "new.pak"], 0);
    check("list", &["list", "new.pak"], 0);
    check("list", &["list", "new.pak", "--all", "--long"], 0);
    check("info", &["info", "new.pak", "art/red"], 0);
    check("verify", &["verify", "new.pak"], 0);
    check("keys", &["keys", "new.pak"], 0);
    check("diff", &["diff", "old.pak", "new.pak"], 1);
    check("diff", &["diff", "old.pak", "new.pak", "--patch-size"], 1);
    check("written", &["patch", "old.pak", "new.pak", "-o", "p.pak"], 0);
    check("written", &["apply", "old.pak", "p.pak", "-o", "applied.pak"], 0);
    check("written", &["merge", "old.pak", "new.pak", "-o", "merged.pak"], 0);
    check("keygen", &["keygen", "key"], 0);
    check("written", &["sign", "new.pak", "--key", "key"], 0);
    check("extract", &["extract", "new.pak", "files"], 0);
    check("report", &["report", "new.pak", "--out", "report.html"], 0);
    let mut bytes = std::fs::read(project.path("new.pak")).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 4;
    project.put("damaged.pak", &bytes);
    check("verify", &["verify", "damaged.pak"], 1);
    check("error", &["list", "none.pak"], 2);
    project.put("art/red.toml", "[material]\ncolor = 7\n");
    check("failed_bake", &["bake", "pak.toml", "new.pak"], 1);
    let (_, out, _) = project.pak(&["bake", "pak.toml", "new.pak", "--json=lines"]);
    assert!(out.lines().last().unwrap().starts_with("{\"event\":\"result\",\"version\":1,"), "{out}");
    let schema = output_schema("event");
    out.lines().for_each(|line| json_schema::assert_valid(&schema, &serde_json::from_str(line).unwrap()));
}
