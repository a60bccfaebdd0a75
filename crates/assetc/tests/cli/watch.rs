//! `assetc watch` while sources are added, changed, moved, broken and removed.
//!
//! No test depends on timing: each waits for an expected event, with a timeout of two minutes.

use crate::diagnostics::output_schema;
use crate::json_schema;
use crate::project::{Project, test_image};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The example client of the notification server.
#[allow(dead_code, reason = "the main function is not called")]
#[path = "../../examples/hot_reload.rs"]
mod hot_reload;

const LONG: Duration = Duration::from_secs(120);

/// A running watch and the lines of its standard output.
struct Watching<'a> {
    project: &'a Project,
    child: Child,
    lines: Receiver<Value>,
}

impl Watching<'_> {
    /// Starts a watch with `--json`.
    fn start<'a>(project: &'a Project, args: &[&str]) -> Watching<'a> {
        let mut command = project.command(&["watch", "--json", "-v"]);
        let errors = fs::File::create(project.path("stderr")).unwrap();
        let child = command.args(args).stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let (sender, lines) = channel();
        let mut watching = Watching { project, child, lines };
        let stdout = BufReader::new(watching.child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        watching
    }

    /// Starts a watch without `--json`; both output streams go to one file, as on a terminal.
    fn start_plain(project: &Project) -> Watching<'_> {
        let output = fs::File::create(project.path("stderr")).unwrap();
        let mut command = project.command(&["watch"]);
        let child = command.stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap();
        Watching { project, child, lines: channel().1 }
    }

    fn errors(&self) -> String {
        String::from_utf8_lossy(&self.project.read("stderr")).into_owned()
    }

    /// Waits for the next line of standard output.
    #[track_caller]
    fn line(&self) -> Value {
        self.lines.recv_timeout(LONG).unwrap_or_else(|e| panic!("{e}; stderr:\n{}", self.errors()))
    }

    /// Waits until standard error has these, one after the other.
    #[track_caller]
    fn wait_for(&self, texts: &[&str]) {
        let start = Instant::now();
        let has_all = |errors: &str| {
            texts.iter().try_fold(errors, |rest, text| Some(rest.split_once(text)?.1)).is_some()
        };
        while !has_all(&self.errors()) {
            assert!(start.elapsed() < LONG, "{texts:?} not in:\n{}", self.errors());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Reads lines until one matches, and returns it.
    #[track_caller]
    fn until(&self, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let line = self.line();
            if wanted(&line) {
                return line;
            }
        }
    }

    /// Waits until the output equals that of a clean build.
    #[track_caller]
    fn wait_for_clean_build(&self) {
        let fresh = Project::in_memory();
        for (path, bytes) in self.project.tree("assets") {
            fresh.write(&format!("assets/{path}"), bytes);
        }
        if self.project.exists("assetc.yml") {
            fresh.write("assetc.yml", self.project.read("assetc.yml"));
        }
        fresh.run(&[]).expect(0);
        self.wait_for_files(&fresh.tree("runtime"));
    }

    #[track_caller]
    fn wait_for_files(&self, wanted: &BTreeMap<String, Vec<u8>>) {
        let start = Instant::now();
        let runtime = self.project.path("runtime");
        let is_equal = |files: &mut BTreeMap<String, Vec<u8>>| {
            collect(&runtime, "", files);
            files == wanted
        };
        while !is_equal(&mut BTreeMap::new()) {
            assert!(start.elapsed() < LONG, "stderr:\n{}", self.errors());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends SIGINT; returns the exit code.
    #[cfg(unix)]
    fn interrupt(&mut self) -> Option<i32> {
        let kill = format!("kill -INT {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns whether a line lists a path in a member.
fn lists(line: &Value, name: &str, path: &str) -> bool {
    line[name].as_array().is_some_and(|paths| paths.iter().any(|p| p == path))
}

/// Collects all files below a directory, while others are added and removed.
fn collect(dir: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap();
        match fs::read(entry.path()) {
            _ if name == ".assetc-cache" => {}
            Ok(bytes) => _ = files.insert(format!("{prefix}{name}"), bytes),
            Err(_) => collect(&entry.path(), &format!("{prefix}{name}/"), files),
        }
    }
}

/// Writes a file atomically, so that no snapshot sees a part of it.
fn put(project: &Project, path: &str, bytes: impl AsRef<[u8]>) {
    project.write("half", bytes);
    fs::rename(project.path("half"), project.path(path)).unwrap();
}

fn project() -> Project {
    let project = Project::new();
    project.write("assets/a.png", test_image(4, 4, 1)).write("assets/sub/b.png", test_image(4, 4, 2));
    project
}

#[test]
fn rebuilds_after_every_kind_of_edit() {
    let p = project();
    let watching = Watching::start(&p, &[]);
    let first = watching.line();
    assert!(first["ok"] == true && first["build"] == 1, "{first}");
    assert!(lists(&first, "changed", "a.ktx2") && lists(&first, "changed", "sub/b.ktx2"), "{first}");
    let changed = |path: &str| _ = watching.until(|line| lists(line, "changed", path));
    let removed = |path: &str| _ = watching.until(|line| lists(line, "removed", path));

    p.write("assets/a.png", test_image(4, 4, 3));
    changed("a.ktx2");
    // A temporary file and a rename, as many editors save.
    p.write("assets/.a.png.tmp", test_image(4, 4, 4));
    fs::rename(p.path("assets/.a.png.tmp"), p.path("assets/a.png")).unwrap();
    changed("a.ktx2");
    p.write("assets/new/deep/c.png", test_image(4, 4, 5));
    changed("new/deep/c.ktx2");
    fs::rename(p.path("assets/new"), p.path("assets/old")).unwrap();
    changed("old/deep/c.ktx2");
    p.write("assets/old/deep/c.png", test_image(4, 4, 6));
    changed("old/deep/c.ktx2");
    p.remove("assets/a.png");
    removed("a.ktx2");
    p.remove("assets/old");
    removed("old/deep/c.ktx2");
    watching.wait_for_clean_build();

    // The whole input is moved away and back.
    fs::rename(p.path("assets"), p.path("away")).unwrap();
    // A build in flight may find a single source missing first.
    let failed = watching.until(|line| line["failed"][0]["code"] == "input-missing");
    assert!(failed["failed"][0]["message"].as_str().unwrap().contains("assets"), "{failed}");
    assert!(p.exists("runtime/sub/b.ktx2"), "outputs stay while the input is missing");
    fs::rename(p.path("away"), p.path("assets")).unwrap();
    watching.until(|line| line["ok"] == true);
    p.remove("assets").write("assets/d.png", test_image(4, 4, 7));
    changed("d.ktx2");
    p.write("assets/d.png", test_image(4, 4, 8));
    changed("d.ktx2");
    watching.wait_for_clean_build();
}

#[test]
fn retries_failed_source_when_it_changes() {
    let p = project();
    let watching = Watching::start(&p, &["--interval", "0.1"]);
    assert_eq!(watching.line()["ok"], true);
    p.write("assets/bad.png", "not an image");
    let line = watching.until(|line| line["ok"] == false);
    assert_eq!(line["failed"][0]["source"], "bad.png");
    assert!(line["failed"][0]["message"].as_str().unwrap().len() > 5, "{line}");
    // Other sources are built meanwhile, and the error is repeated.
    p.write("assets/a.png", test_image(4, 4, 9));
    let line = watching.until(|line| lists(line, "changed", "a.ktx2"));
    assert!(line["ok"] == false && line["failed"][0]["source"] == "bad.png", "{line}");
    p.write("assets/bad.png", test_image(4, 4, 10));
    let line = watching.until(|line| line["ok"] == true);
    assert!(lists(&line, "changed", "bad.ktx2") && line["failed"] == serde_json::json!([]), "{line}");
    watching.wait_for_clean_build();
}

#[test]
fn repeats_errors_until_fixed() {
    let p = project();
    let watching = Watching::start_plain(&p);
    let mut expected = vec!["built a.png\n", "2 assets: 2 built, 0 cached, 0 failed -> runtime", "watching"];
    let mut continues_with = |more: &[&'static str]| {
        expected.extend(more);
        watching.wait_for(&expected);
    };
    continues_with(&["press Ctrl-C to stop\n"]);
    put(&p, "assets/bad.png", "not an image");
    continues_with(&[
        "failed bad.png\n",
        "error[",
        "bad.png",
        "3 assets: 0 built, 2 cached, 1 failed",
        ")\n",
    ]);
    put(&p, "assets/a.png", test_image(4, 4, 9));
    continues_with(&["built a.png\n", "error[", "bad.png", "3 assets: 1 built, 1 cached, 1 failed", ")\n"]);
    put(&p, "assets/bad.png", test_image(4, 4, 10));
    continues_with(&[
        "built bad.png\n",
        "3 assets: 1 built, 2 cached, 0 failed",
        ")\nrecovered: all errors are fixed\n",
    ]);
    put(&p, "assetc.yml", "embed: [\n");
    continues_with(&["error[", "assetc.yml"]);
    put(&p, "assetc.yml", "");
    continues_with(&["3 assets: 0 built, 3 cached, 0 failed", ")\nrecovered: all errors are fixed\n"]);
    assert_eq!(watching.errors().matches("watching for changes").count(), 1);
    assert!(!watching.errors().contains("polled"), "a poll without changes is not reported");
}

#[test]
fn reports_warning_once() {
    let p = project();
    put(&p, "assetc.yml", "unknown: 1\n");
    let watching = Watching::start_plain(&p);
    watching.wait_for(&["warning[", "unknown", "watching for changes"]);
    put(&p, "assets/a.png", test_image(4, 4, 9));
    watching.wait_for(&["watching for changes", "built a.png", "1 built, 1 cached"]);
    assert_eq!(watching.errors().matches("warning[").count(), 1, "{}", watching.errors());
}

#[test]
fn stops_when_stdout_is_closed() {
    let p = project();
    let mut child = p.command(&["watch", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"build\":1"));
    drop(lines);
    put(&p, "assets/a.png", test_image(4, 4, 9));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn rebuilds_when_configuration_changes() {
    let p = project();
    p.write("assets/notes.txt", "hello");
    let watching = Watching::start(&p, &[]);
    assert_eq!(watching.line()["ok"], true);
    put(&p, "assetc.yml", "embed: \"*.txt\"\n");
    watching.until(|line| lists(line, "changed", "notes.txt"));
    put(&p, "assetc.yml", "embed: [\n");
    let line = watching.until(|line| line["ok"] == false);
    assert_eq!(line["failed"][0]["source"], "assetc.yml");
    put(&p, "assetc.yml", "output: elsewhere\n");
    let line = watching.until(|line| line["ok"] == true);
    assert!(lists(&line, "changed", "a.ktx2"), "{line}");
    assert!(p.exists("elsewhere/a.ktx2") && p.exists("runtime/notes.txt"));
    p.remove("assetc.yml");
    watching.until(|line| lists(line, "removed", "notes.txt"));
}

#[test]
fn notifies_clients_of_changes() {
    let p = project();
    let watching = Watching::start(&p, &["--notify", "0", "--pack"]);
    let listening = watching.line();
    json_schema::assert_valid(&output_schema("listening"), &listening);
    let address = listening["listening"].as_str().unwrap().to_owned();
    watching.until(|line| line["build"] == 1);
    let connect = || {
        let mut lines = BufReader::new(TcpStream::connect(&address).unwrap()).lines();
        move || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() }
    };
    let (mut one, mut two) = (connect(), connect());
    let nothing =
        serde_json::json!({"version": 1, "build": 1, "ok": true, "changed": [], "removed": [], "failed": []});
    assert_eq!((one(), two()), (nothing.clone(), nothing));
    put(&p, "assets/a.png", test_image(4, 4, 20));
    let line = watching.until(|line| lists(line, "changed", "a.ktx2"));
    assert_eq!(line["changed"], serde_json::json!(["a.ktx2"]), "the manifest has not changed");
    assert_eq!((&one(), &two()), (&line, &line));
    drop(one);
    p.remove("assets/a.png");
    let line = watching.until(|line| lists(line, "removed", "a.ktx2"));
    assert_eq!(two(), line);
    json_schema::assert_valid(&output_schema("watch"), &line);
    assert!(p.exists("runtime.hpack"));
}

#[test]
fn example_client_reloads_changed_files() {
    let p = project();
    let watching = Watching::start(&p, &["--notify", "0"]);
    let changes = hot_reload::listen(watching.line()["listening"].as_str().unwrap().to_owned());
    let next = || changes.recv_timeout(LONG).unwrap_or_else(|e| panic!("{e}; {}", watching.errors()));
    next();
    let mut loaded = BTreeMap::new();
    let name = "assets/sub/ü '.png";
    put(&p, name, test_image(4, 4, 20));
    let mut wait_for = |wanted: &dyn Fn(&hot_reload::Change) -> bool| {
        loop {
            let change = next();
            hot_reload::apply(&mut loaded, &p.path("runtime"), &change);
            if wanted(&change) {
                return loaded.clone();
            }
        }
    };
    let output = "sub/ü '.ktx2".to_owned();
    let there = wait_for(&|change| change.changed.contains(&output));
    assert_eq!(there[&output], p.read(&format!("runtime/{output}")));
    p.remove(name);
    let there = wait_for(&|change| change.removed.contains(&output));
    assert!(!there.contains_key(&output));
}

/// Every file is written twice, so that there are far more events than the event queue holds (16,384 on Linux).
#[test]
fn burst_of_20000_files_is_built_completely() {
    const FILES: usize = 20_000;
    let p = Project::in_memory();
    p.write("assetc.yml", "embed: \"**\"\n").write("assets/first", "1");
    let watching = Watching::start(&p, &[]);
    assert_eq!(watching.line()["ok"], true);
    for round in ["1", "22"] {
        for n in 0..FILES {
            let path = p.path(&format!("assets/{}/{n}", n % 100));
            if n < 100 && round == "1" {
                fs::create_dir(path.parent().unwrap()).unwrap();
            }
            fs::write(path, round).unwrap();
        }
    }
    let wanted = |n: usize| (format!("{}/{n}", n % 100), b"22".to_vec());
    let mut files: BTreeMap<_, _> = (0..FILES).map(wanted).collect();
    files.insert("first".to_owned(), b"1".to_vec());
    let start = Instant::now();
    let arrived = |(path, bytes): (&String, &Vec<u8>)| {
        fs::read(p.path(&format!("runtime/{path}"))).is_ok_and(|there| there == *bytes)
    };
    while !files.iter().all(arrived) {
        assert!(start.elapsed() < LONG, "stderr:\n{}", watching.errors());
        std::thread::sleep(Duration::from_millis(50));
    }
    // The watch still responds to changes.
    p.write("assets/first", "2");
    watching.until(|line| lists(line, "changed", "first"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_idle_watch() {
    let p = project();
    let mut watching = Watching::start(&p, &["--notify", "./game.sock"]);
    watching.until(|line| line["build"] == 1);
    assert!(p.exists("game.sock"));
    assert_eq!(watching.interrupt(), Some(0));
    watching.wait_for(&["\nstopped"]);
    assert!(!p.exists("game.sock"), "the socket is removed");
    watching.wait_for_clean_build();
    // The exit code is 0 also after a failed build.
    p.write("assets/a.png", "not an image");
    let mut watching = Watching::start(&p, &[]);
    assert_eq!(watching.line()["ok"], false);
    assert_eq!(watching.interrupt(), Some(0));
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_during_a_build() {
    let p = Project::in_memory();
    for n in 0..60 {
        p.write(&format!("assets/{n}.png"), test_image(256, 256, n));
    }
    let mut watching = Watching::start(&p, &["-j", "2"]);
    let start = Instant::now();
    while !watching.errors().contains("built ") {
        assert!(start.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(watching.interrupt(), Some(0), "{}", watching.errors());
    watching.wait_for(&["\nstopped"]);
    // All files are complete and equal to those of the finished build.
    let mut there = BTreeMap::new();
    collect(&p.path("runtime"), "", &mut there);
    // Unless the build finished before the signal arrived, `check` knows that outputs are missing.
    let checked = p.run(&["check"]);
    let says = |text: &str| checked.stdout.contains(text);
    assert!(
        checked.code == 0 || says("the last build was interrupted") && says("1 problem found"),
        "{checked:?}"
    );
    p.run(&[]).expect(0);
    p.run(&["check"]).expect(0);
    watching.wait_for_clean_build();
    let all = p.tree("runtime");
    // Only a build that exceeds the grace period leaves temporary files, which the next build removes.
    let late = watching.errors().contains("during a build");
    there.retain(|path, _| !(late && path.starts_with(".kiln-")));
    assert!(there.iter().all(|(path, bytes)| all.get(path) == Some(bytes)), "{:?}", there.keys());
}

#[test]
fn rejects_invalid_flags() {
    let p = project();
    let refused = |args: &[&str], word: &str| {
        let ran = p.run(args).expect(2);
        assert!(ran.stderr.contains(word), "{}", ran.stderr);
    };
    refused(&["--verify", "watch"], "--verify");
    refused(&["watch", "--no-cache"], "--no-cache");
    refused(&["watch", "--notify", "0.0.0.0:7750"], "other machines");
    refused(&["watch", "--interval", "0"], "0.1 to 86400");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    refused(&["watch", "--notify", &taken.local_addr().unwrap().to_string()], "error[notify]");
}
