//! The least that any tool could do: walk with `openat` and `getdents64`, and read or stat the same files.

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use std::mem::MaybeUninit;
use std::path::Path;

/// Extensions of assets whose bytes matter.
const READ: [&str; 24] = [
    "asset",
    "prefab",
    "unity",
    "mat",
    "anim",
    "controller",
    "overrideController",
    "mask",
    "spriteatlas",
    "spriteatlasv2",
    "mixer",
    "playable",
    "physicMaterial",
    "physicsMaterial2D",
    "preset",
    "lighting",
    "terrainlayer",
    "renderTexture",
    "asmdef",
    "asmref",
    "shadergraph",
    "uxml",
    "fbx",
    "obj",
];

/// The operation on each file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Read `.meta` files and assets whose bytes matter.
    Read,
    /// Stat them.
    Stat,
}

/// Walks the folders of a project; returns how many files and bytes there were.
pub fn walk(project: &Path, what: What) -> (u64, u64) {
    let root =
        rustix::fs::open(project, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("a project");
    let total = std::sync::Mutex::new((0, 0));
    rayon::scope(|scope| {
        for name in ["Assets", "Packages"] {
            let (root, total) = (&root, &total);
            scope.spawn(move |scope| visit(scope, root, name.to_owned(), what, total));
        }
    });
    total.into_inner().expect("totals")
}

fn visit<'s>(
    scope: &rayon::Scope<'s>,
    root: &'s rustix::fd::OwnedFd,
    path: String,
    what: What,
    total: &'s std::sync::Mutex<(u64, u64)>,
) {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(dir) = rustix::fs::openat(root, &*path, flags | OFlags::DIRECTORY, Mode::empty()) else { return };
    let mut names = [MaybeUninit::uninit(); 32 << 10];
    let mut entries = RawDir::new(&dir, &mut names);
    let mut buffer = vec![0u8; 256 << 10];
    let (mut files, mut bytes) = (0, 0);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        if name.starts_with(b".") || name.ends_with(b"~") {
            continue;
        }
        let text = String::from_utf8_lossy(name);
        if entry.file_type() == FileType::Directory {
            let path = format!("{path}/{text}");
            scope.spawn(move |scope| visit(scope, root, path, what, total));
            continue;
        }
        let ext = text.rsplit('.').next().unwrap_or_default();
        if ext != "meta" && !READ.iter().any(|each| each.eq_ignore_ascii_case(ext)) {
            continue;
        }
        files += 1;
        match what {
            What::Stat => {
                bytes +=
                    rustix::fs::statat(&dir, &*text, AtFlags::empty()).map_or(0, |stat| stat.st_size as u64);
            }
            What::Read => {
                let Ok(file) = rustix::fs::openat(&dir, &*text, flags, Mode::empty()) else { continue };
                while let Ok(read @ 1..) = rustix::io::read(&file, &mut buffer) {
                    bytes += read as u64;
                }
            }
        }
    }
    let mut sum = total.lock().expect("totals");
    sum.0 += files;
    sum.1 += bytes;
}
