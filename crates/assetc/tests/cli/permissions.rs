//! Missing permissions: errors name the file or directory, and no outputs are lost.
#![cfg(unix)]

use crate::project::{ASSETC, Project, Ran, test_image};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A user who owns nothing, to whom permissions apply.
const NOBODY: u32 = 65534;

fn outputs(project: &Project) -> Vec<String> {
    project.tree("runtime").into_keys().filter(|path| path != "assets.hman").collect()
}

/// A project of a user to whom permissions apply: the current user, or `nobody` if the tests run as root.
struct Bound {
    project: Project,
    is_root: bool,
}

impl Bound {
    fn new() -> Bound {
        let p = Project::new();
        p.write("assets/a.png", test_image(4, 4, 1));
        p.write("assets/secret/b.png", test_image(4, 4, 2));
        fs::set_permissions(p.root(), Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(p.path("runtime")).unwrap();
        let is_root = fs::metadata(p.path("runtime")).unwrap().uid() == 0;
        if is_root {
            // The directory of the executable may not be readable by every user.
            fs::copy(ASSETC, p.path("assetc")).unwrap();
            give_away(p.root());
        }
        Bound { project: p, is_root }
    }

    fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.project.path(path), Permissions::from_mode(mode)).unwrap();
    }

    fn run(&self, args: &[&str]) -> Ran {
        let mut command = self.project.command(args);
        if self.is_root {
            command = Command::new(self.project.path("assetc"));
            command
                .args(args)
                .current_dir(self.project.root())
                .uid(NOBODY)
                .gid(NOBODY)
                .env("KILN_CACHE", "off");
        }
        // A process that another test forked while the copy was open for writing may still hold it open.
        let busy = |e: &std::io::Error| e.kind() == std::io::ErrorKind::ExecutableFileBusy;
        loop {
            match command.output() {
                Err(e) if busy(&e) => std::thread::sleep(Duration::from_millis(10)),
                output => break output.unwrap().into(),
            }
        }
    }
}

fn give_away(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give_away(&entry.unwrap().path()));
    }
}

/// A source that cannot be read is not deleted: its outputs stay, and the build reports an error.
#[test]
fn unreadable_directory_keeps_its_outputs() {
    let b = Bound::new();
    b.run(&[]).expect(0);
    b.mode("assets/secret", 0o000);
    let ran = b.run(&[]);
    let after = outputs(&b.project);
    b.mode("assets/secret", 0o755);
    let ran = ran.expect(1);
    assert!(ran.stderr.contains("error[unreadable]: secret"), "{}", ran.stderr);
    assert_eq!(after, ["a.ktx2", "secret/b.ktx2"]);
    let ran = b.run(&[]).expect(0);
    assert!(ran.stdout.contains("0 built, 2 cached"), "{}", ran.stdout);
}

#[test]
fn unreadable_source_fails_alone() {
    let b = Bound::new();
    b.mode("assets/a.png", 0o000);
    let ran = b.run(&[]).expect(1);
    assert!(ran.stderr.contains("error[unreadable]: a.png"), "{}", ran.stderr);
    assert_eq!(outputs(&b.project), ["secret/b.ktx2"]);
    b.mode("assets/a.png", 0o644);
    let ran = b.run(&[]).expect(0);
    assert!(ran.stdout.contains("1 built, 1 cached"), "{}", ran.stdout);
}

#[test]
fn reports_unwritable_outputs() {
    let b = Bound::new();
    b.mode("runtime", 0o555);
    let ran = b.run(&[]).expect(2);
    assert!(ran.stderr.contains("error[unwritable]") && ran.stderr.contains("runtime"), "{}", ran.stderr);
    b.mode("runtime", 0o755);
    b.run(&[]).expect(0);

    // A directory below it concerns one source.
    b.mode("runtime/secret", 0o555);
    for path in ["assets/a.png", "assets/secret/b.png"] {
        fs::write(b.project.path(path), test_image(4, 4, 7)).unwrap();
    }
    let ran = b.run(&[]);
    b.mode("runtime/secret", 0o755);
    let ran = ran.expect(1);
    assert!(ran.stdout.contains("1 built, 0 cached, 1 failed"), "{}", ran.stdout);
    assert!(ran.stderr.contains("error[unwritable]: secret/b.ktx2"), "{}", ran.stderr);
    assert!(b.run(&[]).expect(0).stdout.contains("1 built, 1 cached"));

    for output in ["/proc/kiln", "assets/a.png/below"] {
        let ran = b.run(&["-o", output]).expect(2);
        assert!(ran.stderr.starts_with("error["), "{}", ran.stderr);
    }
}
