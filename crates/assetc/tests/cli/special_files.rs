//! Source and output trees on disk with symbolic links, pipes, sockets, devices and unportable names, and files that other
//! processes change concurrently.
#![cfg(unix)]

use crate::project::{Project, Ran, test_image};
use kiln_engine::{Fs, Journal, Real, RelPath};
use kiln_fault_injection::file_contents;
use kiln_fault_injection::random::Random;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// An image whose encoded size depends only on its dimensions.
fn flat(seed: u64, side: u32) -> Vec<u8> {
    file_contents::random_image(&mut Random::new(seed), side, side)
}

fn outputs(project: &Project) -> Vec<String> {
    project.tree("runtime").into_keys().filter(|path| path != "assets.hman").collect()
}

/// Returns the warnings and errors about a path.
fn about<'a>(ran: &'a Ran, path: &str) -> Vec<&'a str> {
    ran.stderr.lines().filter(|line| line.contains(path)).collect()
}

#[track_caller]
fn warned(ran: &Ran, code: &str, path: &str) {
    let lines = about(ran, path);
    assert!(
        lines.len() == 1 && lines[0].starts_with(&format!("warning[{code}]")),
        "{path}: {lines:?}\n{}",
        ran.stderr
    );
}

/// The extension of an output is longer than that of its source.
#[test]
fn output_names_too_long_for_a_file_system_fail_before_they_are_built() {
    let p = Project::new();
    let (long, fits) = ("l".repeat(251), "f".repeat(250));
    p.write(&format!("assets/{long}.png"), flat(1, 4)).write(&format!("assets/{fits}.png"), flat(2, 4));
    let ran = p.run(&[]).expect(1);
    assert_eq!(outputs(&p), [format!("{fits}.ktx2")]);
    assert!(
        ran.stderr.contains(&format!("failed {long}.png")) && !ran.stderr.contains(&format!("built {long}"))
    );
    assert!(
        ran.stderr.contains(&format!(
            "error[unwritable]: {long}.ktx2: the output cannot be written: the file name has 256 bytes"
        )),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("hint: shorten the name of the source"), "{}", ran.stderr);
}

#[test]
fn follows_links_to_files_inside_the_tree_only() {
    let p = Project::new();
    p.write("assets/real/a.png", test_image(4, 4, 1));
    p.write("outside/secret.png", test_image(4, 4, 2));
    let link = |target: &str, name: &str| symlink(target, p.path("assets").join(name)).unwrap();
    link("real/a.png", "inside.png");
    link("inside.png", "twice.png");
    link("../outside/secret.png", "out.png");
    link(p.path("outside/secret.png").to_str().unwrap(), "absolute.png");
    link("../assets/real/a.png", "around.png");
    link("real", "folder");
    link("real", "folder.array");
    link("nowhere", "dangling.png");
    link("loop.png", "loop.png");
    link("/dev/zero", "endless.png");

    let ran = p.run(&["-v"]).expect(0);
    for ignored in
        ["out.png", "absolute.png", "folder: ", "folder.array", "dangling.png", "loop.png", "endless.png"]
    {
        warned(&ran, "symlink-ignored", ignored);
    }
    assert_eq!(outputs(&p), ["around.ktx2", "inside.ktx2", "real/a.ktx2", "twice.ktx2"]);
    let same = p.read("runtime/real/a.ktx2");
    assert!(["around", "inside", "twice"].iter().all(|n| p.read(&format!("runtime/{n}.ktx2")) == same));

    // A change of the target rebuilds the link.
    p.write("assets/real/a.png", test_image(4, 4, 3));
    assert_eq!(p.build(), (4, 0));
    assert!(
        p.read("runtime/twice.ktx2") == p.read("runtime/real/a.ktx2") && p.read("runtime/twice.ktx2") != same
    );
    p.remove("assets/real/a.png");
    assert_eq!(p.build(), (0, 0));
    assert_eq!(outputs(&p), [""; 0]);
}

/// An image outside the tree does not become a face because a link in the folder names it.
#[test]
fn folder_source_does_not_follow_outside_links() {
    let p = Project::new();
    p.write("outside.png", test_image(4, 4, 1));
    for face in ["px", "nx", "py", "ny", "pz"] {
        p.write(&format!("assets/sky.env/{face}.png"), test_image(4, 4, 2));
    }
    symlink("../../outside.png", p.path("assets/sky.env/nz.png")).unwrap();
    let ran = p.run(&[]).expect(1);
    warned(&ran, "symlink-ignored", "sky.env/nz.png");
    assert!(ran.stderr.contains("lacks the face nz"), "{}", ran.stderr);
}

/// Two files of one size that were written within one tick of the clock have equal stamps; a link whose target changes
/// from one to the other is still rebuilt.
#[test]
fn rebuilds_when_link_target_changes() {
    let p = Project::new();
    let bytes = [1, 2].map(|seed| flat(seed, 8));
    let stamp = |path: &str| {
        let meta = fs::metadata(p.path(path)).unwrap();
        (meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec(), meta.len())
    };
    for _ in 0..200 {
        // Created again: a file whose stamp was queried gets a finer timestamp at the next write.
        let _ = fs::remove_dir_all(p.path("assets"));
        p.write("assets/a.png", &bytes[0]).write("assets/b.png", &bytes[1]);
        if stamp("assets/a.png") == stamp("assets/b.png") {
            break;
        }
    }
    std::thread::sleep(Duration::from_millis(40));
    for (n, target) in ["a.png", "b.png", "a.png", "b.png"].into_iter().enumerate() {
        let _ = fs::remove_file(p.path("assets/link.png"));
        symlink(target, p.path("assets/link.png")).unwrap();
        let built = if n == 0 { 3 } else { 1 };
        assert_eq!(p.build(), (built, 3 - built), "turned to {target}");
        let expected = p.read(&format!("runtime/{}", target.replace("png", "ktx2")));
        assert!(p.read("runtime/link.ktx2") == expected, "turned to {target}");
    }
    assert_eq!(p.build(), (0, 3));
}

#[test]
fn skips_pipes_sockets_and_devices() {
    let p = Project::new();
    p.write("assets/a.png", test_image(4, 4, 1));
    p.write("assets/sky.env/px.png", test_image(4, 4, 1));
    let make = |program: &str, args: &[&str], path: &str| {
        Command::new(program).arg(p.path(path)).args(args).status().is_ok_and(|status| status.success())
    };
    assert!(make("mkfifo", &[], "assets/pipe.png"));
    assert!(make("mkfifo", &[], "assets/sky.env/nx.png"));
    let _socket = std::os::unix::net::UnixListener::bind(p.path("assets/socket.png")).unwrap();
    // Creating a device requires privileges; it would be skipped like the others.
    make("mknod", &["c", "1", "5"], "assets/zeros.png");
    fs::create_dir(p.path("runtime")).unwrap();
    assert!(make("mkfifo", &[], "runtime/a.ktx2"));
    assert!(make("mkfifo", &[], "runtime/theirs"));

    let start = Instant::now();
    let ran = p.run(&["--pack"]).expect(1);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(ran.stderr.contains("lacks the faces nx, py"), "{}", ran.stderr);
    p.remove("assets/sky.env");
    let ran = p.run(&["--pack"]).expect(1);
    assert!(ran.stderr.contains("error[output-not-regular]: a.ktx2"), "{}", ran.stderr);
    p.remove("runtime/a.ktx2");
    let ran = p.run(&["--pack"]).expect(0);
    assert_eq!(about(&ran, "pipe.png"), [""; 0]);
    p.run(&["check", "runtime.hpack"]).expect(0);
    p.run(&["info"]).expect(0);
    p.run(&["check"]).expect(0);
    assert!(p.exists("runtime/theirs"));
}

#[test]
fn warns_about_unportable_names() {
    let p = Project::new();
    p.write("assets/fine.png", test_image(4, 4, 1));
    let write_name = |name: &[u8]| {
        let path = p.path("assets").join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, test_image(4, 4, 2)).unwrap();
    };
    write_name(b"latin-\xe9.png");
    write_name(b"back\\slash.png");
    write_name(b"co:lon.png");
    write_name(b"new\nline.png");
    write_name("\u{fc}mlaut \u{1f3a8} spaces.png".as_bytes());
    let ran = p.run(&[]).expect(0);
    warned(&ran, "path-not-utf8", "latin-");
    warned(&ran, "path-not-portable", "slash");
    warned(&ran, "path-not-portable", "lon.png");
    assert_eq!(outputs(&p), ["fine.ktx2", "\u{fc}mlaut \u{1f3a8} spaces.ktx2"]);
    assert_eq!(p.build(), (0, 2));
}

/// A file that exceeds the memory limit is rejected before it is read.
#[test]
fn oversized_source_fails_alone() {
    let p = Project::new();
    p.write("assets/a.png", test_image(4, 4, 1)).write("assets/huge.png", "");
    File::options().write(true).open(p.path("assets/huge.png")).unwrap().set_len(5 << 30).unwrap();
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("error[memory-limit]: huge.png"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--max-memory"), "{}", ran.stderr);
    assert_eq!(p.tree("runtime").into_keys().collect::<Vec<_>>(), ["a.ktx2", "assets.hman"]);
    // Files are read whole, so there is an upper bound for any limit.
    let ran = p.run(&["--max-memory", "8G"]).expect(1);
    assert!(ran.stderr.contains("error[unreadable]: huge.png"), "{}", ran.stderr);
}

/// Bit rot: the bytes of an output change without a new timestamp.
#[test]
fn verify_detects_and_repairs_bit_rot() {
    let p = Project::new();
    p.write("assets/a.png", test_image(4, 4, 1))
        .write("assets/b.png", test_image(4, 4, 2))
        .run(&[])
        .expect(0);
    let sound = p.tree("runtime");
    let real = Real::open(&p.path("runtime")).unwrap();
    let journal = RelPath::new(".assetc-cache").unwrap();
    for (name, output) in [("a.png", "a.ktx2"), ("//manifest", "assets.hman")] {
        let mut bytes = sound[output].clone();
        *bytes.last_mut().unwrap() ^= 1;
        p.write(&format!("runtime/{output}"), bytes);
        // The journal records the stamp of the damaged file.
        let mut cache = Journal::open(&real, &journal, &|| ()).unwrap();
        let mut record = cache.records().get(name).unwrap().into_owned();
        record.outputs[0].stamp = real.stamp(&RelPath::new(output).unwrap()).unwrap().unwrap();
        cache.append(&[(name, Some(&record))]).unwrap();
        drop(cache);
        p.run(&[]).expect(0);
        assert!(p.tree("runtime") != sound, "{output}: an equal stamp is up to date");
        p.run(&["check"]).expect(1);
        p.run(&["--verify"]).expect(0);
        assert!(p.tree("runtime") == sound, "{output}");
    }
}

/// A missing output of a failed source is not reported as an internal error by `--verify`.
#[test]
fn verify_ignores_outputs_of_failed_sources() {
    let p = Project::new();
    p.write("assets/a.png", test_image(4, 4, 1))
        .write("assets/b.png", test_image(4, 4, 2))
        .run(&[])
        .expect(0);
    p.write("assets/a.png", "not an image").remove("runtime/a.ktx2");
    let ran = p.run(&["--verify"]).expect(1);
    assert_eq!(about(&ran, "error").len(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("error[image-unknown]: a.png"), "{}", ran.stderr);
}

/// A hard link outside the tree changes the same file.
#[test]
fn rebuilds_after_edit_through_hard_link() {
    let p = Project::new();
    let bytes = [1, 2].map(|seed| flat(seed, 8));
    p.write("assets/a.png", &bytes[0]);
    fs::hard_link(p.path("assets/a.png"), p.path("outside.png")).unwrap();
    assert_eq!(p.build(), (1, 0));
    let before = fs::metadata(p.path("outside.png")).unwrap().modified().unwrap();
    p.write("outside.png", &bytes[1]);
    File::options().write(true).open(p.path("outside.png")).unwrap().set_modified(before).unwrap();
    assert_eq!(p.build(), (1, 0));
}

/// Builds while another thread rewrites a source. The output always corresponds to one of its versions, and the first
/// build after the last write to the last version.
#[test]
fn source_modified_during_read_is_never_torn() {
    let p = Project::new();
    let versions: Vec<Vec<u8>> = (0..6).map(|seed| flat(seed, 40 + 20 * (seed as u32 % 2))).collect();
    let results: Vec<Vec<u8>> = versions
        .iter()
        .map(|bytes| {
            p.write("assets/a.png", bytes).run(&["-q", "-o", "whole"]).expect(0);
            p.read("whole/a.ktx2")
        })
        .collect();
    let stop = AtomicBool::new(false);
    let (mut good, mut reported) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(7);
            while !stop.load(Ordering::Relaxed) {
                let bytes = random.pick(&versions);
                if random.one_in(3) {
                    // An atomic replacement.
                    p.write("new.png", bytes);
                    fs::rename(p.path("new.png"), p.path("assets/a.png")).unwrap();
                } else {
                    use std::io::Write;
                    let mut file = File::options()
                        .write(true)
                        .truncate(random.one_in(2))
                        .open(p.path("assets/a.png"))
                        .unwrap();
                    let (first, rest) = bytes.split_at(random.below(bytes.len()));
                    file.write_all(first).unwrap();
                    std::thread::sleep(Duration::from_micros(random.below(400) as u64));
                    file.write_all(rest).unwrap();
                    file.set_len(bytes.len() as u64).unwrap();
                }
                std::thread::sleep(Duration::from_micros(random.below(3000) as u64));
            }
        });
        for _ in 0..60 {
            let ran = p.run(&["-q"]);
            match ran.code {
                0 => good += 1,
                1 => {
                    assert!(ran.stderr.contains("a.png"), "{}", ran.stderr);
                    reported += 1;
                }
                _ => drop(ran.expect(0)),
            }
            if let Ok(bytes) = fs::read(p.path("runtime/a.ktx2")) {
                assert!(results.contains(&bytes), "a mixture of versions");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(good > 0 && good + reported == 60);
    p.run(&["-q"]).expect(0);
    let last = versions.iter().position(|bytes| *bytes == p.read("assets/a.png"));
    assert!(p.read("runtime/a.ktx2") == results[last.expect("a complete version after the last write")]);
}

/// File systems that ignore case or Unicode normalization cannot hold both outputs.
#[cfg(target_os = "linux")]
#[test]
fn rejects_outputs_equal_after_case_folding_or_normalization() {
    let p = Project::new();
    let pairs = [
        ("\u{e9}", "e\u{301}"),
        ("stra\u{df}e", "STRASSE"),
        ("\u{fb01}re", "FIRE"),
        ("\u{3bf}\u{3b4}\u{3cc}\u{3c2}", "\u{39f}\u{394}\u{38c}\u{3a3}"),
        ("co\u{ad}op", "coop"),
    ];
    for name in pairs.iter().flat_map(|(a, b)| [a, b]).chain([&"\u{131}", &"i"]) {
        p.write(&format!("assets/{name}.png"), crate::project::test_image(4, 4, 1));
    }
    let ran = p.run(&[]).expect(1);
    assert_eq!(ran.stderr.matches("error[output-conflict]").count(), 2 * pairs.len(), "{}", ran.stderr);
    for (a, b) in pairs {
        for text in [format!("{a}.png and {b}.png write "), format!("{b}.png and {a}.png write ")] {
            assert!(ran.stderr.contains(&text), "{text}\n{}", ran.stderr);
        }
    }
    assert!(ran.stderr.contains("\\u{e9}.ktx2 and e\\u{301}.ktx2, which are one file"), "{}", ran.stderr);
    let built: Vec<String> = p.tree("runtime").into_keys().collect();
    assert_eq!(built, ["assets.hman", "i.ktx2", "\u{131}.ktx2"]);
    pairs.iter().for_each(|(_, b)| _ = p.remove(&format!("assets/{b}.png")));
    p.run(&[]).expect(0);
}
