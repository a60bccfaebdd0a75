//! The local cache directory end to end: no build follows a link in it, deletes a foreign file, or uses a directory that
//! is not a cache. A rejected directory disables the cache, and the build succeeds.

#[path = "cli/project.rs"]
#[allow(dead_code, reason = "the project is shared with the other tests of the executable")]
mod project;

use project::{Project, Ran, test_image};
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Runs the executable with these variables.
fn run(p: &Project, args: &[&str], vars: &[(&str, &Path)]) -> Ran {
    let mut command = p.command(args);
    command.env("KILN_CACHE", "on").envs(vars.iter().copied()).output().unwrap().into()
}

fn project() -> Project {
    let p = Project::new();
    p.write("assets/a.png", test_image(8, 8, 1));
    p
}

/// Writes files that were last modified long ago, so that every file with the name of a temporary is stale.
fn place(dir: &Path, names: &[&str]) {
    let long_ago = SystemTime::now() - Duration::from_secs(40 * 24 * 3600);
    for name in names {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "precious").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    }
}

fn assert_intact(dir: &Path, names: &[&str]) {
    for name in names {
        let text = fs::read_to_string(dir.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(text, "precious", "{name}");
    }
}

/// The cache directory tag as every version of the cache has written it.
const TAG: &str =
    "Signature: 8a477f597d28d172789f06886806bc55\n# Results of Kiln's tools; it may be removed.\n";

/// The name of a temporary file of a killed process, and of a cache entry.
const TEMPORARY: &str = "4711-1700000000000000000-3";
const ENTRY: &str = "zz0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd";
const HEX: &str = "ab0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd";

#[cfg(unix)]
#[test]
fn does_not_follow_links_in_the_cache_directory() {
    use std::os::unix::fs::symlink;
    let links = [
        ("tmp", "docs"),
        ("swept", "docs/bashrc"),
        ("CACHEDIR.TAG", "docs/bashrc"),
        ("ac", "docs"),
        ("cas", "docs"),
        ("ac/zz", "docs"),
        ("ac/ab", "docs"),
        ("cas/ab", "docs"),
    ];
    let precious = ["letter.txt", "bashrc", TEMPORARY, ENTRY, HEX];
    for (link, target) in links {
        for command in [&[][..], &["--no-cache"], &["cache", "gc", "--max-size", "0"], &["cache", "stats"]] {
            let p = project();
            // A directory that a project could contain: it looks like a cache, last collected long ago.
            p.write("assetc.yml", "cache:\n  dir: c\n").write("c/CACHEDIR.TAG", TAG).write("c/ac/x", "");
            place(&p.path("c"), &["swept"]);
            place(&p.path("docs"), &precious);
            let _ = fs::remove_file(p.path("c").join(link));
            let _ = fs::remove_dir_all(p.path("c").join(link));
            fs::create_dir_all(p.path("c").join(link).parent().unwrap()).unwrap();
            symlink(p.path(target), p.path("c").join(link)).unwrap();
            let ran = run(&p, command, &[]);
            assert_intact(&p.path("docs"), &precious);
            assert_eq!(fs::read_dir(p.path("docs")).unwrap().count(), precious.len(), "{link}");
            let refusals = ran.stderr.matches("[cache-dir-link]").count();
            assert_eq!(refusals, 1, "{link} {command:?}: {}", ran.stderr);
            assert!(ran.stderr.contains(link), "{link} is not named: {}", ran.stderr);
            let building = !command.starts_with(&["cache"]);
            assert_eq!(ran.code, if building { 0 } else { 2 }, "{link} {command:?}: {}", ran.stderr);
            assert_eq!(p.exists("runtime/a.ktx2"), building);
        }
    }
}

#[test]
fn rejects_directory_that_is_not_a_cache() {
    let files = ["tmp/letter.txt", &format!("tmp/{TEMPORARY}"), "notes.txt", "cas/ab/notes", "swept"];
    let entry = format!("ac/ab/{HEX}");
    let files = [&files[..], &[&entry]].concat();
    let foreign = "Signature: 8a477f597d28d172789f06886806bc55\n# Of another program.\n";
    for tag in [None, Some(foreign), Some("")] {
        let (p, home) = (project(), tempfile::tempdir().unwrap());
        place(home.path(), &files);
        if let Some(tag) = tag {
            fs::write(home.path().join("CACHEDIR.TAG"), tag).unwrap();
        }
        let vars = [("HOME", home.path()), ("KILN_CACHE_DIR", home.path())];
        let ran = run(&p, &[], &vars).expect(0);
        assert_eq!(ran.stderr.matches("warning[cache-dir-not-owned]").count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(home.path().to_str().unwrap()), "{}", ran.stderr);
        for command in [&["cache", "gc", "--max-size", "0"][..], &["cache", "stats"]] {
            let ran = run(&p, command, &vars).expect(2);
            assert!(ran.stderr.contains("cache-dir-not-owned"), "{}", ran.stderr);
        }
        assert_intact(home.path(), &files);
        assert_eq!(home.path().join("CACHEDIR.TAG").exists(), tag.is_some());
    }
}

#[test]
fn gc_deletes_only_cache_files() {
    let p = project();
    let dir = tempfile::tempdir().unwrap();
    let vars = [("KILN_CACHE_DIR", dir.path())];
    run(&p, &[], &vars).expect(0);
    let deep = format!("ac/zz/{ENTRY}");
    let elsewhere = format!("ac/cd/{HEX}");
    let foreign = ["tmp/letter.txt", "tmp/1-2", "ac/notes", "ac/ab/notes", "notes.txt", &deep, &elsewhere];
    let (temporary, entry) = (format!("tmp/{TEMPORARY}"), format!("cas/ab/{HEX}"));
    place(dir.path(), &foreign);
    place(dir.path(), &[&temporary, &entry]);
    let before = run(&p, &["cache", "stats", "--json"], &vars).expect(0).json();
    run(&p, &["cache", "gc", "--max-size", "0"], &vars).expect(0);
    assert_intact(dir.path(), &foreign);
    assert!(!dir.path().join(temporary).exists() && !dir.path().join(entry).exists());
    let after = run(&p, &["cache", "stats", "--json"], &vars).expect(0).json();
    assert!(before["blobs"].as_u64() > Some(0), "{before}");
    assert_eq!((after["records"].as_u64(), after["blobs"].as_u64()), (Some(0), Some(0)), "{after}");
}

#[cfg(unix)]
#[test]
fn cache_directory_may_be_a_link() {
    use std::os::unix::fs::symlink;
    let (p, place) = (project(), tempfile::tempdir().unwrap());
    let (real, link) = (place.path().join("real"), place.path().join("link"));
    fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    let ran = run(&p, &[], &[("KILN_CACHE_DIR", &link)]).expect(0);
    assert!(!ran.stderr.contains("cache-dir"), "{}", ran.stderr);
    assert!(real.join("CACHEDIR.TAG").exists() && real.join("cas").exists());
    p.remove("runtime");
    let ran = run(&p, &["--json"], &[("KILN_CACHE_DIR", &link)]).expect(0);
    assert_eq!(ran.json()["fetched"].as_u64(), Some(1));
}

#[test]
fn uses_cache_of_an_earlier_version() {
    let (p, dir) = (project(), tempfile::tempdir().unwrap());
    fs::create_dir(dir.path().join("tmp")).unwrap();
    fs::write(dir.path().join("CACHEDIR.TAG"), TAG).unwrap();
    let ran = run(&p, &[], &[("KILN_CACHE_DIR", dir.path())]).expect(0);
    assert!(!ran.stderr.contains("cache-dir"), "{}", ran.stderr);
    assert!(dir.path().join("cas").exists());
}
