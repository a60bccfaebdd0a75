//! Random edits of a project: what people, editors, version control and bad luck do to sources, settings, outputs
//! and the journal.

use super::project::Project;
use crate::contents;
use crate::random::Random;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What an edit was, and what it means for the model.
pub struct Edit {
    /// For the story told on failure.
    pub story: String,
    /// Whether the next build has nothing to cook, as far as this edit is concerned.
    pub idle: bool,
    /// Whether the journal may have lost records.
    pub ledger_lost: bool,
}

impl Edit {
    fn of(story: impl Into<String>) -> Edit {
        Edit { story: story.into(), idle: false, ledger_lost: false }
    }

    fn idle(story: impl Into<String>) -> Edit {
        Edit { idle: true, ..Edit::of(story) }
    }
}

/// Where pictures and tables come and go. Few names, so that they meet: two with one output, names that differ in
/// case, files where directories were.
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
/// Files of someone else in the output. The build never writes these names.
const FOREIGN: [&str; 4] = ["notes.txt", "sub/readme.md", "extra.ktx2", "x.env.ktx2.bak"];

/// A project that is edited at random.
pub struct Editor<'a> {
    /// What is edited.
    pub project: &'a Project,
    /// What decides.
    pub random: Random,
    /// Files in the output that no build wrote.
    pub foreign: BTreeMap<String, Vec<u8>>,
    /// Files in the output that a build wrote, but of which the journal may know no more.
    pub forgotten: BTreeMap<String, Vec<u8>>,
}

impl Editor<'_> {
    /// Does one thing.
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
            25..=27 => self.hurt_output(),
            28..=29 => self.hurt_journal(),
            _ => self.foreign(),
        }
    }

    fn put(&mut self) -> Edit {
        let path = *self.random.pick(&FILES);
        let bytes = contents::for_name(&mut self.random, path);
        self.write(path, &bytes);
        Edit::of(format!("put {path}, {} bytes", bytes.len()))
    }

    fn put_folder(&mut self) -> Edit {
        let dir = *self.random.pick(&FOLDERS);
        let side = *self.random.pick(&[1, 4]);
        let names: &[&str] = if dir.ends_with(".env") { &FACES } else { &["0", "1", "2"] };
        let count = if self.random.one_in(8) { names.len() - 1 } else { names.len() };
        for name in &names[..count] {
            let bytes = contents::picture(&mut self.random, side, side);
            self.write(&format!("{dir}/{name}.png"), &bytes);
        }
        Edit::of(format!("put {dir}/ with {count} pictures of {side}x{side}"))
    }

    /// Other content, of the same size half of the time, at once or after the clock has ticked.
    fn modify(&mut self) -> Edit {
        let Some(path) = self.some_source() else { return self.put() };
        let old = self.read(&path);
        let bytes = if self.random.one_in(2) {
            contents::same_size(&mut self.random, &old)
        } else {
            contents::for_name(&mut self.random, &path)
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
        self.clear_way(to);
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

    /// Another time for a source or an output: of late, or from a clock that jumped.
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

    /// An edit that leaves size and modification time as they were.
    fn set_back(&mut self) -> Edit {
        let Some(path) = self.some_source() else { return self.put() };
        let before = fs::metadata(self.source(&path)).unwrap().modified().unwrap();
        let old = self.read(&path);
        let bytes = contents::same_size(&mut self.random, &old);
        self.write(&path, &bytes);
        set_modified(&self.source(&path), before);
        Edit::of(format!("modify {path} and set its time back"))
    }

    fn break_one(&mut self) -> Edit {
        let Some(path) = self.some_source() else { return self.put() };
        let mut bytes = self.read(&path);
        match self.random.below(4) {
            0 => bytes.clear(),
            1 => bytes.truncate(bytes.len() / 2),
            2 => bytes = b"neither a picture nor a table".to_vec(),
            _ => bytes.iter_mut().for_each(|b| *b = b.wrapping_add(101)),
        }
        self.write(&path, &bytes);
        Edit::of(format!("break {path}"))
    }

    /// A second name for a picture, through a link; the picture may go later.
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

    /// Settings: project-wide, by rule and by preset. All choices build into the same output.
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

    fn hurt_output(&mut self) -> Edit {
        let outputs = self.outputs();
        if outputs.is_empty() {
            return self.put();
        }
        let path = self.random.pick(&outputs).clone();
        let full = self.project.path(&format!("runtime/{path}"));
        let mut bytes = fs::read(&full).unwrap();
        // A file that has lost its magic is not replaced once the journal is gone, too: the suite `damage` has these.
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
                // Someone's directory stands where an output was: that source fails until it is gone.
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
                // Within one tick of the file system's clock this could not be told from what was written.
                std::thread::sleep(Duration::from_millis(15));
                "flip a bit of"
            }
        };
        fs::write(&full, bytes).unwrap();
        Edit::of(format!("{how} output {path}"))
    }

    fn hurt_journal(&mut self) -> Edit {
        let path = self.project.path("runtime/.assetc-cache");
        let Ok(mut bytes) = fs::read(&path) else { return self.put() };
        let at = self.random.below(bytes.len());
        let how = match self.random.below(6) {
            0 => {
                remove(&path);
                return Edit { ledger_lost: true, ..Edit::of("delete the journal") };
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
        Edit { ledger_lost: true, ..Edit::of(how) }
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
            self.clear_way(path);
        }
        fs::write(full, bytes).unwrap();
    }

    /// Makes room for a file: what stands in its place or in that of its directories goes.
    fn clear_way(&self, path: &str) {
        for (at, _) in path.match_indices('/') {
            let dir = self.source(&path[..at]);
            if !dir.is_dir() {
                remove(&dir);
                fs::create_dir(dir).unwrap();
            }
        }
        remove(&self.source(path));
    }

    /// Some file of the source tree that is not a link.
    fn some_source(&mut self) -> Option<String> {
        let mut all = Vec::new();
        list(&self.project.path("assets"), "", &mut all);
        (!all.is_empty()).then(|| self.random.pick(&all).clone())
    }

    /// Every file of the output that is not foreign.
    fn outputs(&self) -> Vec<String> {
        let all = self.project.tree("runtime").into_keys();
        all.filter(|path| !self.foreign.contains_key(path) && !self.forgotten.contains_key(path)).collect()
    }
}

/// All regular files below a directory, by path.
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

/// Removes whatever is there, if anything is.
fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}
