//! `mcp`, `lsp` and `watch`: the real executable beside recorded sessions and a real client.

use crate::project::{Project, finish, guid};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Plays a recorded session. Returns the answers of the server and those of the recording.
fn play(project: &Project, trace: &str) -> (Vec<Value>, Vec<Value>, i32) {
    let root = format!("file://{}", project.root().canonicalize().unwrap().display());
    let trace =
        trace.replace("$ROOT", &root).replace("$1", &guid(1)).replace("$VERSION", env!("CARGO_PKG_VERSION"));
    let (mut input, mut expected) = (String::new(), Vec::new());
    for line in trace.lines() {
        match line.split_at_checked(2) {
            Some(("> ", body)) => input += &format!("Content-Length: {}\r\n\r\n{body}", body.len()),
            Some(("< ", body)) => expected.push(serde_json::from_str(body).unwrap()),
            _ => assert!(line.starts_with('#'), "{line}"),
        }
    }
    let run = project.pipe(&["lsp"], &input);
    let mut answers = Vec::new();
    let mut rest = &*run.out;
    while let Some((head, body)) = rest.split_once("\r\n\r\n") {
        let length: usize = head.strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        answers.push(serde_json::from_str(&body[..length]).unwrap());
        rest = &body[length..];
    }
    (answers, expected, run.code)
}

#[test]
fn lsp_answers_a_recorded_session() {
    let trace = include_str!("../traces/lsp.txt");
    let (answers, expected, code) = play(&Project::sample(), trace);
    for (answer, expected) in answers.iter().zip(&expected) {
        assert_eq!(answer, expected);
    }
    assert_eq!((answers.len(), code), (expected.len(), 0));
    let (_, _, code) = play(&Project::sample(), "> {\"jsonrpc\":\"2.0\",\"method\":\"exit\"}");
    assert_eq!(code, 1, "an exit without a shutdown");
}

/// Sends requests to the MCP server and returns the answers.
fn mcp(project: &Project, args: &[&str], requests: &[Value]) -> Vec<Value> {
    let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let run = project.pipe(&[&["mcp"], args].concat(), &input);
    assert_eq!(run.code, 0, "{}", run.err);
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn mcp_offers_read_only_tools_with_pages() {
    let project = Project::sample();
    let answers = mcp(
        &project,
        &[],
        &[
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
            call("uses", json!({"asset": "Flag"})),
            call("list", json!({"limit": 2, "offset": 1})),
            call("mv", json!({"from": "Flag", "to": "Assets/x.png"})),
            call("uses", json!({})),
            call("uses", json!({"asset": "Flag", "colour": 1})),
            call("unused", json!({})),
            call("check", json!({"changed_since": "main"})),
            call("why", json!({"asset": "Flag"})),
        ],
    );
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-03-26");
    let tools: Vec<_> =
        answers[1]["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(tools.len(), 10, "{tools:?}");
    let rows = &answers[2]["result"]["structuredContent"]["rows"];
    assert_eq!((&rows[0]["path"], &rows[0]["line"]), (&json!("Assets/Pole.prefab"), &json!(8)));
    let text = answers[2]["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), answers[2]["result"]["structuredContent"]);
    let page = &answers[3]["result"]["structuredContent"];
    assert_eq!(
        (page["rows"].as_array().unwrap().len(), &page["total"], &page["nextOffset"]),
        (2, &json!(5), &json!(3))
    );
    assert!(answers[4]["error"]["message"].as_str().unwrap().contains("--allow-writes"), "{}", answers[4]);
    assert!(answers[5]["error"]["message"].as_str().unwrap().contains("requires the string \"asset\""));
    assert_eq!(answers[6]["error"]["code"], -32602);
    assert_eq!(answers[7]["result"]["structuredContent"]["rows"][0]["path"], "Assets/Art/Unused.mat");
    assert_eq!(answers[8]["result"]["isError"], true, "no repository");
    assert_eq!(answers[9]["result"]["structuredContent"]["total"], 4);
}

#[test]
fn mcp_writes_only_if_allowed() {
    let project = Project::sample();
    project.init();
    let answers = mcp(
        &project,
        &["--allow-writes"],
        &[
            call("mv", json!({"from": "Flag", "to": "Assets/Banner.png"})),
            call("find", json!({"pattern": "Banner"})),
        ],
    );
    assert_eq!(answers[0]["result"]["isError"], false, "{}", answers[0]);
    assert!(project.root().join("Assets/Banner.png.meta").exists());
    assert_eq!(answers[1]["result"]["structuredContent"]["total"], 2, "the next call sees the change");
}

/// Runs the client of the Python SDK, if `UNITY_ASSETDB_MCP_PYTHON` names an interpreter that has it.
#[test]
fn mcp_answers_a_real_client() {
    let Some(python) = std::env::var_os("UNITY_ASSETDB_MCP_PYTHON") else {
        let _ = writeln!(
            std::io::stderr(),
            "not tested: set UNITY_ASSETDB_MCP_PYTHON to a Python with the package mcp"
        );
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/mcp_client.py");
    let run =
        finish(Command::new(python).arg(script).arg(env!("CARGO_BIN_EXE_unity-assetdb")).output().unwrap());
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("resolve: p50 "), "{}", run.out);
}

#[test]
fn watch_refreshes_on_file_events() {
    let project = Project::sample();
    let mut child = project.command(&["watch"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains(" assets, refreshed in "), "{first}");
    project.asset("Assets/New.txt", 30, "", "");
    let mut found = false;
    // Each line is a refresh; the second event of the two files may come after the first refresh.
    for _ in 0..5 {
        lines.next().unwrap().unwrap();
        found = project.run(&["guid", "Assets/New.txt", "--no-refresh"]).code == 0;
        if found {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found);
}
