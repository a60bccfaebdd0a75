//! Random edits of an `assetc` project: changes of sources, settings, outputs and the journal that people, editors,
//! version control and disk errors make.

use super::project::Project;
use crate::file_contents;
use crate::random::Random;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// An edit, and its effect on the model.
pub struct Edit {
    /// The description for the log of a failure.
    pub log: String,
    /// True if the edit requires no rebuild.
    pub idle: bool,
    /// True if the journal may have lost records.
    pub journal_lost: bool,
}

impl Edit {
    fn of(log: impl Into<String>) -> Edit {
        Edit { log: log.into(), idle: false, journal_lost: false }
    }

    fn idle(log: impl Into<String>) -> Edit {
        Edit { idle: true, ..Edit::of(log) }
    }
}

/// The paths of images and color LUTs that are added and removed. There are few, so that they collide: two sources with
/// one output, names that differ in case, files in place of directories.
const FILES: [&str; 21] = [
    "a.png",
    "A.png",
    "a.bmp",
    "b.n.png",
    "c.r.png",
    "a",
    "a/h.png",
    "a.png/f.png",
    "a.ktx2/g.png",
    "sub",
    "sub/a.png",
    "sub/d.png",
    "sub/deep/e.ao.png",
    "x.env",
    "x.env/extra.png",
    "x.env/px.bmp",
    "g.array",
    "g.array/3.png",
    "sub/g.n.array/more.png",
    "warm.lut.cube",
    "sub/cold.lut.cube",
];
const FOLDERS: [&str; 4] = ["x.env", "sub/y.env", "g.array", "sub/g.n.array"];
const FACES: [&str; 6] = ["px", "nx", "py", "ny", "pz", "nz"];
/// Foreign files in the output directory. The build never writes these names.
const FOREIGN: [&str; 4] = ["notes.txt", "sub/readme.md", "extra.bin", "x.env.ktx2.bak"];

/// Makes random edits of a project.
pub struct Editor<'a> {
    /// The project to edit.
    pub project: &'a Project,
    /// The random number generator.
    pub random: Random,
    /// The files in the output directory that no build wrote.
    pub foreign: BTreeMap<String, Vec<u8>>,
    /// The files in the output directory that a build wrote, but that the journal may have lost.
    pub unowned: BTreeMap<String, Vec<u8>>,
}

impl Editor<'_> {
    /// Makes one random edit.
    pub fn edit(&mut self) -> Edit {
        match self.random.below(32) {
            0..=5 => self.put(),
            6..=7 => self.put_folder(),
            8..=11 => self.modify(),
            12..=14 => self.delete(),
            15..=16 => self.rename(),
            17 => self.change_case(),
            18 => self.touch(),
            19 => self.set_back(),
            20..=21 => self.break_one(),
            22 => self.link(),
            23..=24 => self.configure(),
            25..=27 => self.corrupt_output(),
            28..=29 => self.corrupt_journal(),
            _ => self.foreign(),
        }
    }

    fn put(&mut self) -> Edit {
        let path = *self.random.pick(&FILES);
        let bytes = file_contents::for_name(&mut self.random, path);
        self.write(path, &bytes);
        Edit::of(format!("put {path}, {} bytes", bytes.len()))
    }

    fn put_folder(&mut self) -> Edit {
        let dir = *self.random.pick(&FOLDERS);
        let side = *self.random.pick(&[1, 4]);
        let names: &[&str] = if dir.ends_with(".env") { &FACES } else { &["0", "1", "2"] };
        let count = if self.random.one_in(8) { names.len() - 1 } else { names.len() };
        for name in &names[..count] {
            let bytes = file_contents::random_image(&mut self.random, side, side);
            self.write(&format!("{dir}/{name}.png"), &bytes);
        }
        Edit::of(format!("put {dir}/ with {count} images of {side}x{side}"))
    }

    /// Writes different content, half of the time of the same size, immediately or after the file system clock has advanced.
    fn modify(&mut self) -> Edit {
        let Some(path) = self.some_source() else { return self.put() };
        let old = self.read(&path);
        let bytes = if self.random.one_in(2) {
            file_contents::same_size(&mut self.random, &old)
        } else {
            file_contents::for_name(&mut self.random, &path)
        };
        if self.random.one_in(4) {
            std::thread::sleep(Duration::from_millis(25));
        }
        self.write(&path, &bytes);
        Edit::of(format!("modify {path}: {} -> {} bytes", old.len(), bytes.len()))
    }

    fn delete(&mut self) -> Edit {
        let Some(mut path) = self.some_source() else { return self.put() };
        if self.random.one_in(3)
            && let Some((dir, _)) = path.rsplit_once('/')
        {
            path = dir.to_owned();
        }
        remove(&self.source(&path));
        Edit::of(format!("delete {path}"))
    }

    fn rename(&mut self) -> Edit {
        let Some(from) = self.some_source() else { return self.put() };
        let to = *self.random.pick(&FILES);
        let spare = self.project.path("spare");
        fs::rename(self.source(&from), &spare).unwrap();
        self.remove_conflicts(to);
        fs::rename(&spare, self.source(to)).unwrap();
        Edit::of(format!("rename {from} to {to}"))
    }

    fn change_case(&mut self) -> Edit {
        let Some(from) = self.some_source() else { return self.put() };
        let (dir, name) = from.rsplit_once('/').map_or(("", from.as_str()), |(d, n)| (d, n));
        let first = name.chars().next().unwrap();
        let flipped =
            if first.is_lowercase() { first.to_ascii_uppercase() } else { first.to_ascii_lowercase() };
        let to = format!("{dir}{}{flipped}{}", if dir.is_empty() { "" } else { "/" }, &name[1..]);
        if to != from {
            remove(&self.source(&to));
            fs::rename(self.source(&from), self.source(&to)).unwrap();
        }
        Edit::of(format!("rename {from} to {to}"))
    }

    /// Changes the mtime of a source or an output, to a recent time or one from a clock that jumped.
    fn touch(&mut self) -> Edit {
        let outputs = self.outputs();
        let path = match self.random.one_in(4) && !outputs.is_empty() {
            true => format!("runtime/{}", self.random.pick(&outputs)),
            false => match self.some_source() {
                Some(path) => format!("assets/{path}"),
                None => return self.put(),
            },
        };
        let back = Duration::from_secs(self.random.below(1000) as u64);
        let years = |n: u64| Duration::from_secs(n * 365 * 86400);
        let time = match self.random.below(6) {
            0 => SystemTime::UNIX_EPOCH,
            1 => SystemTime::UNIX_EPOCH - years(10),
            2 => SystemTime::now() + years(100),
            3 => SystemTime::now() + back,
            _ => SystemTime::now() - back,
        };
        set_modified(&self.project.path(&path), time);
        Edit::idle(format!("touch {path}"))
    }

    /// Changes the content but neither size nor mtime.
    fn set_back(&mut self) -> Edit {
        let Some(path) = self.some_source() else { return self.put() };
        let before = fs::metadata(self.source(&path)).unwrap().modified().unwrap();
        let old = self.read(&path);
        let bytes = file_contents::same_size(&mut self.random, &old);
        self.write(&path, &bytes);
        set_modified(&self.source(&path), before);
        Edit::of(format!("modify {path} and restore its mtime"))
    }

    fn break_one(&mut self) -> Edit {
        let Some(path) = self.some_source() else { return self.put() };
        let mut bytes = self.read(&path);
        match self.random.below(4) {
            0 => bytes.clear(),
            1 => bytes.truncate(bytes.len() / 2),
            2 => bytes = b"neither an image nor a color LUT".to_vec(),
            _ => bytes.iter_mut().for_each(|b| *b = b.wrapping_add(101)),
        }
        self.write(&path, &bytes);
        Edit::of(format!("break {path}"))
    }

    /// Adds a symbolic link to an image, which may be removed later.
    fn link(&mut self) -> Edit {
        let Some(target) = self.some_source() else { return self.put() };
        let link = self.source("link.png");
        remove(&link);
        #[cfg(unix)]
        std::os::unix::fs::symlink(&target, &link).unwrap();
        #[cfg(not(unix))]
        fs::copy(self.source(&target), &link).unwrap();
        Edit::of(format!("link link.png to {target}"))
    }

    /// Writes random settings: project-wide, by rule and by preset. All choices have the same output directory.
    pub fn configure(&mut self) -> Edit {
        let r = &mut self.random;
        let flag = |r: &mut Random| *r.pick(&["true", "false"]);
        let mut text = format!(
            "default:\n  texture: {{compress: {}, mips: {}, max_size: {}, supercompress: {}}}\n",
            flag(r),
            r.pick(&["true", "false", "2"]),
            r.pick(&["false", "4", "2"]),
            r.pick(&["zstd", "none"]),
        );
        text += &format!("  lut: {{depth: {}}}\n", r.pick(&["unorm8", "float16"]));
        text += &format!("  rules:\n    - match: {:?}\n", r.pick(&["sub/*", "*.n.png", "x*", "none"]));
        text += &format!("      texture: {{compress: {}}}\n", flag(r));
        text += &format!("presets:\n  small:\n    texture: {{max_size: {}}}\n", r.pick(&["1", "4"]));
        if r.one_in(3) {
            text += "preset: small\n";
        }
        self.project.write("assetc.yml", &text);
        Edit::of(format!("configure {text:?}"))
    }

    fn corrupt_output(&mut self) -> Edit {
        let outputs = self.outputs();
        if outputs.is_empty() {
            return self.put();
        }
        let path = self.random.pick(&outputs).clone();
        let full = self.project.path(&format!("runtime/{path}"));
        let mut bytes = fs::read(&full).unwrap();
        // A file without its magic is not replaced once the journal is lost, too: the suite `corruption` covers this.
        let magic = bytes.len().min(16);
        let how = match self.random.below(7) {
            0 => {
                remove(&full);
                return Edit::of(format!("delete output {path}"));
            }
            1 => {
                let other = self.random.pick(&outputs).clone();
                fs::rename(self.project.path(&format!("runtime/{other}")), &full).unwrap();
                return Edit::of(format!("move output {other} over {path}"));
            }
            2 => {
                remove(&full);
                fs::create_dir(&full).unwrap();
                return Edit::of(format!("empty directory for output {path}"));
            }
            3 if path != "assets.hman" => {
                // A foreign directory in place of an output: the source fails until it is removed.
                remove(&full);
                let inside = format!("{path}/theirs.txt");
                self.project.write(&format!("runtime/{inside}"), "theirs");
                self.foreign.insert(inside, b"theirs".to_vec());
                return Edit::of(format!("foreign directory for output {path}"));
            }
            4 => {
                bytes.truncate(magic + self.random.below(bytes.len() - magic));
                "truncate"
            }
            5 => {
                bytes.push(0);
                "append to"
            }
            _ => {
                let at = magic + self.random.below(bytes.len() - magic);
                let Some(_) = bytes.get(at) else { return self.put() };
                bytes[at] ^= 1 << self.random.below(8);
                // Within the timestamp granularity of the file system the change could not be detected.
                std::thread::sleep(Duration::from_millis(15));
                "flip a bit of"
            }
        };
        fs::write(&full, bytes).unwrap();
        Edit::of(format!("{how} output {path}"))
    }

    fn corrupt_journal(&mut self) -> Edit {
        let path = self.project.path("runtime/.assetc-cache");
        let Ok(mut bytes) = fs::read(&path) else { return self.put() };
        let at = self.random.below(bytes.len());
        let how = match self.random.below(6) {
            0 => {
                remove(&path);
                return Edit { journal_lost: true, ..Edit::of("delete the journal") };
            }
            1 | 2 => {
                bytes.truncate(at);
                format!("cut the journal to {at} bytes")
            }
            3 | 4 if !bytes.is_empty() => {
                bytes[at] ^= 1 << self.random.below(8);
                format!("flip a bit of byte {at} of the journal")
            }
            _ => {
                bytes.extend_from_slice(b"not a record of anything");
                "append to the journal".into()
            }
        };
        fs::write(&path, bytes).unwrap();
        Edit { journal_lost: true, ..Edit::of(how) }
    }

    fn foreign(&mut self) -> Edit {
        let there: Vec<String> = self.foreign.keys().cloned().collect();
        if !there.is_empty() && self.random.one_in(3) {
            let path = self.random.pick(&there).clone();
            self.foreign.remove(&path);
            let full = self.project.path(&format!("runtime/{path}"));
            remove(&full);
            if self.random.one_in(2) {
                let _ = fs::remove_dir(full.parent().unwrap());
            }
            return Edit::of(format!("delete foreign {path}"));
        }
        let path = *self.random.pick(&FOREIGN);
        let bytes = self.random.next().to_le_bytes().to_vec();
        self.project.write(&format!("runtime/{path}"), &bytes);
        self.foreign.insert(path.to_owned(), bytes);
        Edit::idle(format!("write foreign {path}"))
    }

    fn source(&self, path: &str) -> std::path::PathBuf {
        self.project.path(&format!("assets/{path}"))
    }

    fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.source(path)).unwrap()
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let full = self.source(path);
        if full.is_dir() {
            remove(&full);
        }
        if !full.exists() {
            self.remove_conflicts(path);
        }
        fs::write(full, bytes).unwrap();
    }

    /// Removes whatever conflicts with a file or its parent directories.
    fn remove_conflicts(&self, path: &str) {
        for (at, _) in path.match_indices('/') {
            let dir = self.source(&path[..at]);
            if !dir.is_dir() {
                remove(&dir);
                fs::create_dir(dir).unwrap();
            }
        }
        remove(&self.source(path));
    }

    /// Returns a random source file that is not a symbolic link.
    fn some_source(&mut self) -> Option<String> {
        let mut all = Vec::new();
        list(&self.project.path("assets"), "", &mut all);
        (!all.is_empty()).then(|| self.random.pick(&all).clone())
    }

    /// Returns every file of the output directory that is not foreign.
    fn outputs(&self) -> Vec<String> {
        let all = self.project.tree("runtime").into_keys();
        all.filter(|path| !self.foreign.contains_key(path) && !self.unowned.contains_key(path)).collect()
    }
}

/// Lists all regular files below a directory.
fn list(dir: &Path, prefix: &str, files: &mut Vec<String>) {
    let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let path = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            list(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file() {
            files.push(path);
        }
    }
}

fn set_modified(path: &Path, time: SystemTime) {
    File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Removes a file or directory, if it exists.
fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}
