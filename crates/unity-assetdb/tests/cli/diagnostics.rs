//! Diagnostics for people and programs: message formats, denied warnings, explanations of codes.

use crate::json_schema;
use crate::project::Project;
use serde_json::Value;

/// A project with one warning of a bake, in line 2 of a `.meta`.
fn project_with_warning() -> Project {
    let project = Project::sample();
    project.write("Assets/bad.txt", "").write("Assets/bad.txt.meta", "fileFormatVersion: 2\nguid: 123\n");
    project
}

#[test]
fn bake_and_check_write_all_message_formats() {
    let project = project_with_warning();
    // Unity gives such an asset another GUID, which is an error of the check.
    for (command, code, name, level) in
        [("bake", 0, "unity-meta-guid", "warning"), ("check", 1, "unity-invalid-guid", "error")]
    {
        let run = project.run(&[command, "--message-format", "sarif"]);
        assert_eq!(run.code, code, "{}", run.err);
        let sarif = json_schema::sarif(&run.out);
        let result = &sarif["runs"][0]["results"][0];
        assert_eq!(result["ruleId"], name, "{}", run.out);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["region"]["startLine"], 2);
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.ends_with("bad.txt.meta"), "{uri}");

        let run = project.run(&[command, "--message-format", "json"]);
        let line: Value = serde_json::from_str(run.out.lines().next().unwrap()).unwrap();
        assert_eq!((&line["code"], &line["line"]), (&name.into(), &2.into()), "{}", run.out);
        let run = project.run(&[command, "--message-format", "github"]);
        assert!(run.out.starts_with(&format!("::{level} file=bad.txt.meta,line=2,")), "{}", run.out);
    }
}

#[test]
fn denied_warnings_fail_the_bake() {
    let project = project_with_warning();
    assert_eq!(project.run(&["bake", "--deny", "unity-bom"]).code, 0);
    for deny in [&["--deny", "warnings"][..], &["--deny", "unity-meta-guid"], &["--strict"]] {
        let run = project.run(&[&["bake"], deny].concat());
        assert_eq!(run.code, 1, "{deny:?}: {}", run.err);
        assert!(run.err.contains("error[unity-meta-guid]: Assets/bad.txt.meta:2: "), "{}", run.err);
    }
    let run = project.run(&["--explain", "unity-meta-guid"]);
    assert!(run.code == 0 && run.out.starts_with("warning[unity-meta-guid] (Unity projects)"), "{}", run.out);
}
