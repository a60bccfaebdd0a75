//! Source and output trees on a real disk with things in them that are no ordinary files, and things that happen to files
//! behind our back.
#![cfg(unix)]

use crate::project::{Project, Ran, picture};
use kiln_engine::{Fs, Journal, Real, RelPath};
use kiln_fault_injection::contents;
use kiln_fault_injection::random::Random;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A picture whose size in bytes follows from its sides.
fn flat(seed: u64, side: u32) -> Vec<u8> {
    contents::picture(&mut Random::new(seed), side, side)
}

fn outputs(project: &Project) -> Vec<String> {
    project.tree("runtime").into_keys().filter(|path| path != "assets.hman").collect()
}

/// The warnings and errors about a path.
fn about<'a>(ran: &'a Ran, path: &str) -> Vec<&'a str> {
    ran.stderr.lines().filter(|line| line.contains(path)).collect()
}

#[track_caller]
fn warned(ran: &Ran, code: &str, path: &str) {
    let said = about(ran, path);
    assert!(
        said.len() == 1 && said[0].starts_with(&format!("warning[{code}]")),
        "{path}: {said:?}\n{}",
        ran.stderr
    );
}

#[test]
fn links_are_followed_to_files_inside_and_nowhere_else() {
    let p = Project::new();
    p.write("assets/real/a.png", picture(4, 4, 1));
    p.write("outside/secret.png", picture(4, 4, 2));
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

    let ran = p.run(&[]).expect(0);
    for ignored in
        ["out.png", "absolute.png", "folder: ", "folder.array", "dangling.png", "loop.png", "endless.png"]
    {
        warned(&ran, "link-ignored", ignored);
    }
    assert_eq!(outputs(&p), ["around.ktx2", "inside.ktx2", "real/a.ktx2", "twice.ktx2"]);
    let same = p.read("runtime/real/a.ktx2");
    assert!(["around", "inside", "twice"].iter().all(|n| p.read(&format!("runtime/{n}.ktx2")) == same));

    // What a link leads to is what counts.
    p.write("assets/real/a.png", picture(4, 4, 3));
    assert_eq!(p.build(), (4, 0));
    assert!(
        p.read("runtime/twice.ktx2") == p.read("runtime/real/a.ktx2") && p.read("runtime/twice.ktx2") != same
    );
    p.remove("assets/real/a.png");
    assert_eq!(p.build(), (0, 0));
    assert_eq!(outputs(&p), [""; 0]);
}

/// A picture outside the tree does not become a face because a link in the folder names it.
#[test]
fn a_folder_cannot_reach_out_through_links() {
    let p = Project::new();
    p.write("outside.png", picture(4, 4, 1));
    for face in ["px", "nx", "py", "ny", "pz"] {
        p.write(&format!("assets/sky.env/{face}.png"), picture(4, 4, 2));
    }
    symlink("../../outside.png", p.path("assets/sky.env/nz.png")).unwrap();
    let ran = p.run(&[]).expect(1);
    warned(&ran, "link-ignored", "sky.env/nz.png");
    assert!(ran.stderr.contains("lacks nz"), "{}", ran.stderr);
}

/// Two files of one size that were written within one tick of the clock cannot be told apart by their stamps; a link
/// that is turned from one to the other has still changed.
#[test]
fn a_link_that_is_turned_to_another_file_is_noticed() {
    let p = Project::new();
    let bytes = [1, 2].map(|seed| flat(seed, 8));
    let stamp = |path: &str| {
        let meta = fs::metadata(p.path(path)).unwrap();
        (meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec(), meta.len())
    };
    for _ in 0..200 {
        // Made anew: a file whose stamp was asked for gets a finer one the next time.
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
fn pipes_sockets_and_devices_are_passed_over() {
    let p = Project::new();
    p.write("assets/a.png", picture(4, 4, 1));
    p.write("assets/sky.env/px.png", picture(4, 4, 1));
    let make = |program: &str, args: &[&str], path: &str| {
        Command::new(program).arg(p.path(path)).args(args).status().is_ok_and(|status| status.success())
    };
    assert!(make("mkfifo", &[], "assets/pipe.png"));
    assert!(make("mkfifo", &[], "assets/sky.env/nx.png"));
    let _socket = std::os::unix::net::UnixListener::bind(p.path("assets/socket.png")).unwrap();
    // Not everyone may make a device; it would be passed over like the others.
    make("mknod", &["c", "1", "5"], "assets/zeros.png");
    fs::create_dir(p.path("runtime")).unwrap();
    assert!(make("mkfifo", &[], "runtime/a.ktx2"));
    assert!(make("mkfifo", &[], "runtime/theirs"));

    let start = Instant::now();
    let ran = p.run(&["--pack"]).expect(1);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(ran.stderr.contains("lacks nx, py"), "{}", ran.stderr);
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
fn names_that_other_platforms_cannot_have_are_told_and_left_out() {
    let p = Project::new();
    p.write("assets/fine.png", picture(4, 4, 1));
    let odd = |name: &[u8]| {
        let path = p.path("assets").join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, picture(4, 4, 2)).unwrap();
    };
    odd(b"latin-\xe9.png");
    odd(b"back\\slash.png");
    odd(b"co:lon.png");
    odd(b"new\nline.png");
    odd("\u{fc}mlaut \u{1f3a8} spaces.png".as_bytes());
    let ran = p.run(&[]).expect(0);
    warned(&ran, "path-not-utf8", "latin-");
    warned(&ran, "path-not-portable", "slash");
    warned(&ran, "path-not-portable", "lon.png");
    assert_eq!(outputs(&p), ["fine.ktx2", "\u{fc}mlaut \u{1f3a8} spaces.ktx2"]);
    assert_eq!(p.build(), (0, 2));
}

/// More than can be read into memory is refused before it is.
#[test]
fn an_enormous_source_fails_alone() {
    let p = Project::new();
    p.write("assets/a.png", picture(4, 4, 1)).write("assets/huge.png", "");
    File::options().write(true).open(p.path("assets/huge.png")).unwrap().set_len(5 << 30).unwrap();
    let ran = p.run(&[]).expect(1);
    assert!(ran.stderr.contains("error[memory-limit]: huge.png"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--max-memory"), "{}", ran.stderr);
    assert_eq!(p.tree("runtime").into_keys().collect::<Vec<_>>(), ["a.ktx2"]);
    // Whole files are held in memory, so there is an end whatever the user admits.
    let ran = p.run(&["--max-memory", "8G"]).expect(1);
    assert!(ran.stderr.contains("error[unreadable]: huge.png"), "{}", ran.stderr);
}

/// Disks rot without telling anyone: other bytes under a stamp that did not change.
#[test]
fn rot_is_found_by_verify_and_mended() {
    let p = Project::new();
    p.write("assets/a.png", picture(4, 4, 1)).write("assets/b.png", picture(4, 4, 2)).run(&[]).expect(0);
    let sound = p.tree("runtime");
    let real = Real::open(&p.path("runtime")).unwrap();
    let journal = RelPath::new(".assetc-cache").unwrap();
    for (name, output) in [("a.png", "a.ktx2"), ("//manifest", "assets.hman")] {
        let mut bytes = sound[output].clone();
        *bytes.last_mut().unwrap() ^= 1;
        p.write(&format!("runtime/{output}"), bytes);
        // The journal is made to believe that this is what was written.
        let mut cache = Journal::open(&real, &journal, &|| ()).unwrap();
        let mut record = cache.records().get(name).unwrap().into_owned();
        record.outputs[0].stamp = real.stamp(&RelPath::new(output).unwrap()).unwrap().unwrap();
        cache.append(&[(name, Some(&record))]).unwrap();
        drop(cache);
        p.run(&[]).expect(0);
        assert!(p.tree("runtime") != sound, "{output}: stamps are believed");
        p.run(&["check"]).expect(1);
        p.run(&["--verify"]).expect(0);
        assert!(p.tree("runtime") == sound, "{output}");
    }
}

/// What a failed source has lost is its own trouble, and no defect of anything that was verified.
#[test]
fn verify_does_not_blame_what_failed() {
    let p = Project::new();
    p.write("assets/a.png", picture(4, 4, 1)).write("assets/b.png", picture(4, 4, 2)).run(&[]).expect(0);
    p.write("assets/a.png", "no picture").remove("runtime/a.ktx2");
    let ran = p.run(&["--verify"]).expect(1);
    assert_eq!(about(&ran, "error").len(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("error[image-unknown]: a.png"), "{}", ran.stderr);
}

/// Another name for the same file, outside the tree, is another way to change it.
#[test]
fn an_edit_through_a_hard_link_is_noticed() {
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

/// Builds while a source is written, over and over, without regard for readers. What comes out is one of its
/// versions, and the first build after the last write has the last one.
#[test]
fn a_source_that_changes_while_it_is_read_is_never_mixed() {
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
    let (mut good, mut told) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(7);
            while !stop.load(Ordering::Relaxed) {
                let bytes = random.pick(&versions);
                if random.one_in(3) {
                    // As careful programs do.
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
                    told += 1;
                }
                _ => drop(ran.expect(0)),
            }
            if let Ok(bytes) = fs::read(p.path("runtime/a.ktx2")) {
                assert!(results.contains(&bytes), "a mixture of versions");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(good > 0 && good + told == 60);
    p.run(&["-q"]).expect(0);
    let last = versions.iter().position(|bytes| *bytes == p.read("assets/a.png"));
    assert!(p.read("runtime/a.ktx2") == results[last.expect("whole, now that nobody writes")]);
}

/// File systems that ignore case or Unicode normalization cannot hold both outputs.
#[cfg(target_os = "linux")]
#[test]
fn sources_whose_outputs_are_one_file_on_some_systems_are_refused() {
    let p = Project::new();
    let pairs = [
        ("\u{e9}", "e\u{301}"),
        ("stra\u{df}e", "STRASSE"),
        ("\u{fb01}re", "FIRE"),
        ("\u{3bf}\u{3b4}\u{3cc}\u{3c2}", "\u{39f}\u{394}\u{38c}\u{3a3}"),
        ("co\u{ad}op", "coop"),
    ];
    for name in pairs.iter().flat_map(|(a, b)| [a, b]).chain([&"\u{131}", &"i"]) {
        p.write(&format!("assets/{name}.png"), crate::project::picture(4, 4, 1));
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
    assert_eq!(built, ["i.ktx2", "\u{131}.ktx2"]);
    pairs.iter().for_each(|(_, b)| _ = p.remove(&format!("assets/{b}.png")));
    p.run(&[]).expect(0);
}
