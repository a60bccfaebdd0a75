//! Servers that keep the index warm: requests and queries that need no refresh see every change nevertheless.

#![cfg(target_os = "linux")]

use crate::project::{Project, guid};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::net::UnixListener;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A running MCP server.
struct Server {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Server {
    fn start(project: &Project) -> Server {
        let mut command = project.command(&["mcp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Server { child, input, output: BufReader::new(output).lines() }
    }

    /// Calls a tool. Returns the rows of the answer.
    fn rows(&mut self, tool: &str, arguments: Value) -> Vec<Value> {
        let params = json!({"name": tool, "arguments": arguments});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        writeln!(self.input, "{request}").unwrap();
        let answer: Value = serde_json::from_str(&self.output.next().unwrap().unwrap()).unwrap();
        answer["result"]["structuredContent"]["rows"].as_array().unwrap().clone()
    }

    fn paths(&mut self, pattern: &str) -> Vec<String> {
        let rows = self.rows("find", json!({"pattern": pattern}));
        rows.iter().map(|row| row["path"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn mcp_sees_every_change_before_a_call() {
    let project = Project::sample();
    let mut server = Server::start(&project);
    assert_eq!(server.paths("New").len(), 0);
    for round in 0..20 {
        // A file in a folder that did not exist, and one in a folder below it after the first call.
        let folder = format!("Assets/Round{round}/Deep");
        project.asset(&format!("{folder}/New{round}.txt"), 100 + round, "", "");
        assert_eq!(server.paths(&format!("New{round}")), [format!("{folder}/New{round}.txt")]);
        project.asset(&format!("{folder}/Second{round}.txt"), 200 + round, "", "");
        assert_eq!(server.paths(&format!("Second{round}")).len(), 1);
        // An edit in place.
        project.asset(
            "Assets/Pole.prefab",
            2,
            "PrefabImporter:\n",
            &format!(
                "%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: a\n  x: {{fileID: 0, guid: {}, type: 3}}\n",
                guid(100 + round)
            ),
        );
        assert_eq!(server.rows("uses", json!({"asset": guid(100 + round)})).len(), 1);
        fs::rename(project.root().join(format!("Assets/Round{round}")), project.root().join("Assets/Moved"))
            .unwrap();
        assert_eq!(server.paths(&format!("New{round}")), [format!("Assets/Moved/Deep/New{round}.txt")]);
        fs::remove_dir_all(project.root().join("Assets/Moved")).unwrap();
        assert_eq!(server.paths(&format!("New{round}")).len(), 0);
    }
    // A root that did not exist.
    project.asset("Packages/com.a/NewPackage.txt", 300, "", "");
    assert_eq!(server.paths("NewPackage").len(), 1);
}

#[test]
fn warm_calls_do_not_refresh() {
    let project = Project::sample();
    let mut server = Server::start(&project);
    assert_eq!(server.paths("Flag").len(), 2);
    // A refresh takes this lock; the call would wait for it.
    let lock = File::open(project.root().join("Library/unity-assetdb/.asset-db.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(server.paths("Flag").len(), 2);
}

#[test]
fn links_are_refreshed_at_each_call() {
    let project = Project::sample();
    let elsewhere = tempfile::tempdir().unwrap();
    let meta = elsewhere.path().join("linked.meta");
    fs::write(elsewhere.path().join("Linked.txt"), "").unwrap();
    fs::write(&meta, format!("guid: {}\n", guid(40))).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("Linked.txt"), project.root().join("Assets/Linked.txt"))
        .unwrap();
    std::os::unix::fs::symlink(&meta, project.root().join("Assets/Linked.txt.meta")).unwrap();
    let mut server = Server::start(&project);
    assert_eq!(server.rows("resolve", json!({"asset": guid(40)})).len(), 1);
    // The project itself has no event.
    fs::write(&meta, format!("guid: {}\n", guid(41))).unwrap();
    assert_eq!(server.rows("resolve", json!({"asset": guid(41)})).len(), 1);
}

#[test]
fn queries_ask_a_running_watch() {
    let project = Project::sample();
    let mut child = project.command(&["serve"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains(" assets, refreshed in "));
    let socket = project.root().join("Library/unity-assetdb/.asset-db.sock");
    while !socket.exists() {
        std::thread::yield_now();
    }
    for n in 0..10 {
        project.asset(&format!("Assets/New{n}.txt"), 30 + n, "", "");
        assert_eq!(project.run(&["guid", &format!("Assets/New{n}.txt")]).code, 0, "{n}");
    }
    // A second watch leaves the socket to the first.
    let mut second =
        project.command(&["watch"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let note = BufReader::new(second.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(note.contains("another watch of this project is running"), "{note}");
    for child in [&mut child, &mut second] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // The socket of a watch that was killed is ignored by queries and replaced by the next watch.
    project.asset("Assets/Later.txt", 50, "", "");
    assert_eq!(project.run(&["guid", "Assets/Later.txt"]).code, 0);
}

#[test]
fn queries_trust_the_answer_of_the_socket() {
    let project = Project::sample();
    assert_eq!(project.run(&["bake"]).code, 0);
    let listener = UnixListener::bind(project.root().join("Library/unity-assetdb/.asset-db.sock")).unwrap();
    let answers = ["fresh\n", "failed\n", "", "fresher than"].map(str::as_bytes);
    let server = std::thread::spawn(move || {
        for (answer, stream) in answers.into_iter().zip(listener.incoming()) {
            stream.unwrap().write_all(answer).unwrap();
        }
    });
    project.asset("Assets/New.txt", 30, "", "");
    assert_eq!(project.run(&["guid", "Assets/New.txt"]).code, 1, "the index as it is");
    for n in 0..3 {
        let path = format!("Assets/New{n}.txt");
        project.asset(&path, 31 + n, "", "");
        assert_eq!(project.run(&["guid", &path]).code, 0, "{n}: the query refreshes");
    }
    server.join().unwrap();
}
