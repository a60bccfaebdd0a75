//! Diagnostics for people and programs: message formats, denied warnings, explanations of codes.

use crate::json_schema;
use crate::project::{Project, Ran, test_image};
use serde_json::Value;

/// A project with one warning in `assetc.yml` (line 2) and one source that fails.
fn project_with_warning_and_error() -> Project {
    let p = Project::new();
    p.write("assetc.yml", "input: assets\ncolour: red\n");
    p.write("assets/a b,c.png", b"not an image").write("assets/ok.png", test_image(4, 4, 1));
    p
}

#[test]
fn json_messages_are_one_object_per_line() {
    let p = project_with_warning_and_error();
    let ran = p.run(&["--message-format", "json"]).expect(1);
    let lines: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{}", ran.stdout);
    assert_eq!(lines[0]["code"], "config-unknown-key");
    assert_eq!((&lines[0]["severity"], &lines[0]["line"]), (&"warning".into(), &2.into()));
    assert_eq!(lines[0]["file"], "assetc.yml");
    assert_eq!((&lines[1]["code"], &lines[1]["path"]), (&"image-unknown".into(), &"a b,c.png".into()));
    assert_eq!(lines[1]["file"], "assets/a b,c.png");
    assert!(ran.stderr.contains("1 failed"), "the summary is on standard error: {}", ran.stderr);
}

#[test]
fn github_messages_are_escaped_workflow_commands() {
    let p = project_with_warning_and_error();
    let ran = p.run(&["build", "--message-format", "github"]).expect(1);
    let commands: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("::")).collect();
    assert_eq!(commands.len(), 2, "{}", ran.stdout);
    assert!(commands[0].starts_with("::warning file=assetc.yml,line=2,col=1,title=config-unknown-key::"));
    assert!(
        commands[1].starts_with("::error file=assets/a b%2Cc.png,title=image-unknown::"),
        "{}",
        commands[1]
    );
    assert!(!ran.stderr.contains("[image-unknown]"), "{}", ran.stderr);
    // In a checkout, paths are relative to its root, wherever the step runs.
    let workspace = p.root().parent().unwrap();
    let ran = p.command(&["--message-format", "github"]).env("GITHUB_WORKSPACE", workspace).output().unwrap();
    let name = p.root().file_name().unwrap().to_str().unwrap();
    let stdout = String::from_utf8(ran.stdout).unwrap();
    assert!(stdout.contains(&format!("::error file={name}/assets/a b%2Cc.png,")), "{stdout}");
}

#[test]
fn sarif_is_valid_and_locates_files() {
    let p = project_with_warning_and_error();
    let sarif = json_schema::sarif(&p.run(&["--message-format=sarif"]).expect(1).stdout);
    let run = &sarif["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "assetc");
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    let location = |n: usize| &results[n]["locations"][0]["physicalLocation"];
    assert_eq!(
        (&results[0]["ruleId"], &results[0]["level"]),
        (&"config-unknown-key".into(), &"warning".into())
    );
    assert_eq!(location(0)["artifactLocation"]["uri"], "assetc.yml");
    assert_eq!(location(0)["region"]["startLine"], 2);
    assert_eq!((&results[1]["ruleId"], &results[1]["level"]), (&"image-unknown".into(), &"error".into()));
    assert_eq!(location(1)["artifactLocation"]["uri"], "assets/a%20b,c.png");

    // Valid without results, after a fatal error, and for a check.
    p.remove("assets/a b,c.png").write("assetc.yml", "");
    let empty = json_schema::sarif(&p.run(&["--message-format=sarif"]).expect(0).stdout);
    assert_eq!(empty["runs"][0]["results"], Value::Array(vec![]));
    p.write("runtime/ok.ktx2", b"short");
    let check = json_schema::sarif(&p.run(&["check", "--message-format=sarif"]).expect(1).stdout);
    let found = check["runs"][0]["results"].as_array().unwrap();
    let uri = &found[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(uri, "runtime/ok.ktx2");
    p.write("assetc.yml", "input: [");
    let fatal = json_schema::sarif(&p.run(&["--message-format=sarif"]).expect(2).stdout);
    assert_eq!(fatal["runs"][0]["results"][0]["ruleId"], "config-syntax");
    assert_eq!(fatal["runs"][0]["invocations"][0]["executionSuccessful"], false);
}

#[test]
fn denied_warnings_fail_the_build() {
    let p = project_with_warning_and_error();
    p.remove("assets/a b,c.png");
    p.run(&[]).expect(0);
    for deny in [&["--deny", "warnings"][..], &["--deny=config-unknown-key"], &["--strict"]] {
        let ran = p.run(deny).expect(1);
        assert!(ran.stderr.contains("error[config-unknown-key]: assetc.yml:2:1: "), "{}", ran.stderr);
        let ran = p.run(&[deny, &["--json"]].concat()).expect(1);
        assert_eq!(ran.json()["ok"], false);
    }
    p.run(&["--deny", "symlink-ignored", "--deny", "clean-kept"]).expect(0);
    let ran = p.run(&["--deny", "config-unknow-key"]).expect(2);
    assert!(ran.stderr.contains("did you mean 'config-unknown-key'?"), "{}", ran.stderr);
    let ran = p.run(&["-q", "--strict"]).expect(1);
    assert!(ran.stderr.contains("error[config-unknown-key]"), "{}", ran.stderr);
}

#[test]
fn explains_codes_without_a_project() {
    let p = Project::new();
    let ran = p.run(&["--explain", "image-truncated"]).expect(0);
    assert!(ran.stdout.starts_with("error[image-truncated] ("), "{}", ran.stdout);
    assert!(ran.stdout.contains("always fails the command"), "{}", ran.stdout);
    let ran = p.run(&["--explain=symlink-ignored"]).expect(0);
    assert!(ran.stdout.contains("--deny symlink-ignored"), "{}", ran.stdout);
    let ran = p.run(&["--explain", "image-truncate"]).expect(2);
    assert!(ran.stderr.contains("did you mean 'image-truncated'?"), "{}", ran.stderr);
}

#[test]
fn message_format_cannot_share_standard_output_with_json() {
    let p = project_with_warning_and_error();
    for format in ["json", "sarif"] {
        let ran = p.run(&["--json", "--message-format", format]).expect(2);
        assert!(ran.stdout.contains("\"code\":\"usage\""), "{}", ran.stdout);
    }
    let ran = p.run(&["--json", "--message-format", "github"]).expect(1);
    assert_eq!(ran.json()["ok"], false);
    assert!(ran.stderr.contains("::error file=assets/"), "{}", ran.stderr);
    let ran = p.run(&["watch", "--message-format", "sarif"]).expect(2);
    assert!(ran.stdout.contains("watch cannot write SARIF"), "{}", ran.stdout);
}

/// A project with `count` images whose extension is wrong: a warning for each.
fn project_with_warnings(count: u32) -> Project {
    let p = Project::new();
    for n in 0..count {
        p.write(&format!("assets/{n}.jpg"), test_image(4, 4, n));
    }
    p
}

#[test]
fn groups_warnings_by_code_and_does_not_repeat_them() {
    let p = project_with_warnings(9);
    let first = p.run(&[]).expect(0);
    assert_eq!(first.stderr.matches("warning[image-extension]: ").count(), 4, "{}", first.stderr);
    assert!(
        first.stderr.contains("warning[image-extension]: 6 more with this code after the first 3;"),
        "{}",
        first.stderr
    );
    // A build without changes prints one line on both streams together.
    let again = p.run(&[]).expect(0);
    assert_eq!(again.stderr, "");
    assert!(
        again.stdout.starts_with(
            "9 assets: 0 built, 9 cached, 0 failed, 9 cached warnings (-v shows them) -> runtime ("
        ),
        "{}",
        again.stdout
    );
    assert_eq!(again.stdout.lines().count(), 1);
    // All of them on request, for programs, and for a gate.
    let verbose = p.run(&["-v"]).expect(0);
    assert_eq!(verbose.stderr.matches("warning[image-extension]: ").count(), 9, "{}", verbose.stderr);
    assert!(!verbose.stdout.contains("cached warnings"), "{}", verbose.stdout);
    let json = p.run(&["--message-format=json"]).expect(0);
    assert_eq!(json.stdout.lines().count(), 9, "{}", json.stdout);
    let denied = p.run(&["--deny", "image-extension"]).expect(1);
    assert_eq!(denied.stderr.matches("error[image-extension]: ").count(), 4, "{}", denied.stderr);
    // A rebuilt source reports its own warnings again.
    p.write("assets/3.jpg", test_image(4, 4, 77));
    let one = p.run(&[]).expect(0);
    assert_eq!(one.stderr.matches("warning[image-extension]: 3.jpg: ").count(), 1, "{}", one.stderr);
    assert!(one.stdout.contains("8 cached warnings"), "{}", one.stdout);
}

#[test]
fn lint_levels_of_the_project() {
    let p = project_with_warnings(2);
    p.write("assetc.yml", "lints: {image-extension: allow}\n");
    let ran = p.run(&["-v"]).expect(0);
    assert!(!ran.stderr.contains("image-extension"), "{}", ran.stderr);
    assert!(!p.run(&[]).expect(0).stdout.contains("warning"));
    p.run(&["--deny", "warnings"]).expect(0);
    assert_eq!(p.run(&["--json"]).expect(0).json()["assets"][0]["warnings"], Value::Array(vec![]));
    let ran = p.run(&["--deny", "image-extension"]).expect(1);
    assert!(ran.stderr.contains("error[image-extension]: 0.jpg: "), "{}", ran.stderr);

    p.write("assetc.yml", "lints: {image-extension: deny}\n");
    let ran = p.run(&[]).expect(1);
    assert_eq!(ran.stderr.matches("error[image-extension]").count(), 2, "{}", ran.stderr);
    p.write("assetc.yml", "lints:\n  image-extnsion: deny\n");
    let ran = p.run(&[]).expect(2);
    assert!(
        ran.stderr
            .contains("error[config-bad-value]: assetc.yml:2:3: no diagnostic has the code 'image-extnsion'"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("did you mean 'image-extension'?"), "{}", ran.stderr);
}

#[test]
fn summary_counts_denied_warnings() {
    let p = project_with_warnings(5);
    let ran = p.run(&["--deny", "warnings"]).expect(1);
    assert!(ran.stdout.contains("5 built, 0 cached, 0 failed, 5 denied warnings ->"), "{ran:?}");
    let again = p.run(&["--deny", "warnings"]).expect(1);
    assert!(again.stdout.contains("5 cached, 0 failed, 5 denied warnings ->"), "{again:?}");
    let allowed = p.run(&[]).expect(0);
    assert!(!allowed.stdout.contains("denied"), "{allowed:?}");
}

/// The published schema of the JSON output, for one of its definitions.
pub(crate) fn output_schema(definition: &str) -> Value {
    let text = include_str!("../../../../docs/schema/assetc-output.schema.json");
    let mut schema: Value = serde_json::from_str(text).unwrap();
    let root = schema.as_object_mut().unwrap();
    root.remove("anyOf");
    root.insert("$ref".to_owned(), format!("#/$defs/{definition}").into());
    schema
}

#[test]
fn json_output_is_valid_under_its_published_schema() {
    let p = project_with_warning_and_error();
    p.write("assets/wrong.jpg", test_image(4, 4, 2));
    let build = p.run(&["--json"]).expect(1).json();
    json_schema::assert_valid(&output_schema("build"), &build);
    let again = p.run(&["--json"]).expect(1).json();
    json_schema::assert_valid(&output_schema("build"), &again);
    let asset = |build: &Value, source: &str| {
        build["assets"].as_array().unwrap().iter().find(|asset| asset["source"] == source).unwrap().clone()
    };
    let ok = asset(&build, "ok.png");
    assert!(ok["duration_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(ok["outputs"][0]["path"], "ok.ktx2");
    assert_eq!(ok["outputs"][0]["size"], p.read("runtime/ok.ktx2").len());
    assert_eq!(asset(&again, "ok.png")["duration_ms"], Value::Null);
    assert_eq!(asset(&again, "ok.png")["outputs"], ok["outputs"]);

    let check = p.run(&["check", "--json"]).json();
    json_schema::assert_valid(&output_schema("check"), &check);
    for line in p.run(&["--message-format", "json"]).expect(1).stdout.lines() {
        json_schema::assert_valid(&output_schema("message"), &serde_json::from_str(line).unwrap());
    }
    p.write("assetc.yml", "input: [");
    json_schema::assert_valid(&output_schema("error"), &p.run(&["--json"]).expect(2).json());
}

#[test]
fn json_of_info_report_clean_and_stats_is_valid_under_its_published_schema() {
    let p = Project::new();
    p.write("assets/a.png", test_image(8, 8, 1)).write("assets/b.n.png", test_image(8, 8, 2));
    p.write("assets/exact.png", test_image(8, 8, 3)).write("assets/t.txt", "t");
    p.write(
        "assetc.yml",
        "embed: t.txt\ndefault: {rules: [{match: exact.png, texture: {compress: false}}]}\n",
    );
    let check = |definition: &str, args: &[&str], code: i32| {
        let mut command = p.command(args);
        command.env("KILN_CACHE", "on").env("KILN_CACHE_DIR", p.path("cache"));
        let ran = Ran::from(command.output().unwrap()).expect(code);
        assert!(ran.stdout.starts_with("{\"version\":1,"), "{}", ran.stdout);
        json_schema::assert_valid(&output_schema(definition), &ran.json());
    };
    check("build", &["--json", "--stats"], 0);
    check("info", &["info", "--json"], 0);
    check("dry_run", &["--dry-run", "--json", "--no-cache"], 0);
    check("explain", &["explain", "a.png", "--json"], 0);
    check("graph", &["graph", "--json"], 0);
    p.run(&["--pack"]).expect(0);
    check("pack_info", &["pack", "info", "--json"], 0);
    check("written", &["convert", "assets/a.png", "-o", "c.ktx2", "--json"], 0);
    check("written", &["extract", "c.ktx2", "--json"], 0);
    check("report", &["report", "--json", "--out", "old.html"], 0);
    p.write("assets/a.png", test_image(8, 8, 9)).run(&[]).expect(0);
    check("report", &["report", "--json", "--out", "new.html", "--since", "old.html"], 0);
    check("cache", &["cache", "stats", "--json"], 0);
    check("cache", &["cache", "gc", "--dry-run", "--json"], 0);
    check("trust", &["trust", "--json"], 0);
    check("trust", &["trust", "--list", "--json"], 0);
    check("trust", &["trust", "--revoke", "--json"], 0);
    p.write("runtime/a.ktx2", "damaged");
    check("info", &["info", "--json"], 1);
    check("clean", &["clean", "--json"], 0);
}

#[test]
fn json_lines_are_events_and_the_result() {
    let p = project_with_warning_and_error();
    let ran = p.run(&["--json=lines"]).expect(1);
    let events: Vec<Value> = ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let schema = output_schema("event");
    events.iter().for_each(|event| json_schema::assert_valid(&schema, event));
    let count = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((count("planned"), count("started"), count("finished")), (1, 2, 2), "{}", ran.stdout);
    assert_eq!(count("diagnostic"), 2, "{}", ran.stdout);
    assert_eq!(events.last().unwrap()["event"], "result");
    assert_eq!(events.last().unwrap()["version"], 1);
    p.write("assetc.yml", "input: [");
    let ran = p.run(&["--json=lines"]).expect(2);
    let last = ran.stdout.lines().last().unwrap();
    json_schema::assert_valid(&schema, &serde_json::from_str(last).unwrap());
}

#[test]
fn timings_are_a_page_beside_the_output() {
    let p = project_with_warnings(3);
    let ran = p.run(&["--timings"]).expect(0);
    assert!(ran.stdout.contains("timings -> runtime.timings.html"), "{}", ran.stdout);
    let page = String::from_utf8(p.read("runtime.timings.html")).unwrap();
    assert_eq!(page.matches("<rect ").count(), 3, "{page}");
    assert!(!page.contains("<script") && !page.contains("http"), "the page is self-contained");
    // A page is replaced, another file is not.
    p.run(&["build", "--timings"]).expect(0);
    assert!(String::from_utf8(p.read("runtime.timings.html")).unwrap().contains("0 assets"));
    p.write("notes.html", "<p>mine");
    p.run(&["--timings=notes.html"]).expect(2);
    assert_eq!(p.read("notes.html"), b"<p>mine");
    p.run(&["--timings=other.html"]).expect(0);
    assert!(p.exists("other.html"));
}

#[test]
fn unencrypted_cache_names_the_variable_that_permits_it() {
    let p = project_with_warnings(1);
    let ran =
        p.command(&[]).env("KILN_CACHE", "on").env("KILN_CACHE_URL", "http://cache.example.com/").output();
    let stderr = String::from_utf8(ran.unwrap().stderr).unwrap();
    assert!(
        stderr.contains("error[cache-address]") && stderr.contains("KILN_CACHE_ALLOW_HTTP=1"),
        "{stderr}"
    );
}
