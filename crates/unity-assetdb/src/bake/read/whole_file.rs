//! The parts of a read that need a file of a certain kind as a whole: actions of `.inputactions`, the JSON of glTF files, paths
//! in style sheets, the class of a binary asset, and the lines of a duplicate object.

use super::diagnostics::{pointer, unreadable};
use super::{CHUNK, Found, MAX_META_SIZE, Reader, fill};
use crate::bake::dir::{Dir, Root};
use crate::bake::folder::{Asset, Folder, Sub};
use crate::bake::{gltf, input_actions, model, serialized_file, url_references};
use crate::class_id::ClassId;
use crate::documents::Ref;
use crate::meta::LFS;
use std::fs::File;
use std::io;

impl Reader {
    /// Adds the references by path of a style sheet or UI document. Such a file has no stamp: every bake reads it.
    pub(super) fn urls(
        &mut self,
        root: &Root,
        dir: &Dir,
        folder: &mut Folder,
        child: usize,
        name: &str,
        first_ref: usize,
    ) {
        let mut bytes = std::mem::take(&mut self.bytes);
        let read = dir.open(name).and_then(|(mut file, file_stat)| {
            bytes.clear();
            bytes.resize(file_stat.len.min(url_references::MAX_SIZE) as usize, 0);
            fill(&mut file, &mut bytes)
        });
        if let Ok(read) = read {
            for (path, line) in url_references::paths(&bytes[..read], &folder.path) {
                folder.children[child].asset_stamp = 0;
                let Some(guid) = url_references::guid_of(root, &path) else { continue };
                let same = |known: &&mut Ref| (known.guid, known.file_id) == (guid, 0);
                match folder.refs[first_ref..].iter_mut().find(same) {
                    Some(known) => known.count += 1,
                    None => folder.refs.push(Ref { guid, file_id: 0, line, count: 1 }),
                }
            }
        }
        self.bytes = bytes;
    }

    /// Returns the class of an asset in Unity's binary format.
    pub(super) fn binary_class(&mut self, dir: &Dir, name: &str, main: Option<i64>) -> Option<u32> {
        let (mut file, file_stat) = dir.open(name).ok()?;
        self.bytes.clear();
        self.bytes.resize(file_stat.len.min(serialized_file::MAX_SIZE) as usize, 0);
        let read = fill(&mut file, &mut self.bytes).ok()?;
        serialized_file::main_class(&self.bytes[..read], main)
    }

    /// Reads the actions of an `.inputactions` file.
    pub(super) fn input_actions(
        &mut self,
        mut file: File,
        len: u64,
        folder: &mut Folder,
        child: usize,
        found: &mut Found,
    ) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.resize(len.min(MAX_META_SIZE) as usize, 0);
        match fill(&mut file, &mut bytes) {
            Ok(read) if bytes[..read].starts_with(LFS) => {
                found.flags |= Asset::LFS_POINTER;
                folder.diags.push(pointer(&folder.hint(child)));
            }
            Ok(read) => {
                for action in input_actions::read(&String::from_utf8_lossy(&bytes[..read])) {
                    let file_id = model::file_id(ClassId::MonoBehaviour.name(), &action.id, 0);
                    let name = folder.intern(&action.name);
                    folder.subs.push(Sub { file_id, class_id: ClassId::MonoBehaviour as u32, name });
                }
            }
            Err(error) => folder.diags.push(unreadable(&folder.hint(child), &error)),
        }
        self.bytes = bytes;
    }

    /// Reads the meshes and clips of a glTF file: of a `.glb` the JSON only, and not its buffers.
    pub(super) fn gltf(
        &mut self,
        mut file: File,
        len: u64,
        folder: &mut Folder,
        child: usize,
        found: &mut Found,
    ) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        bytes.resize(len.min(LFS.len() as u64) as usize, 0);
        let json = fill(&mut file, &mut bytes).and_then(|head| {
            let end = gltf::json_end(&bytes[..head], len) as usize;
            bytes.resize(end.max(head), 0);
            Ok(head + fill(&mut file, &mut bytes[head..])?)
        });
        match json {
            Ok(read) if bytes[..read].starts_with(LFS) => {
                found.flags |= Asset::LFS_POINTER;
                folder.diags.push(pointer(&folder.hint(child)));
            }
            Ok(read) => gltf::for_each_object(&bytes[..read], |file_id, class, name| {
                let name = folder.intern(name);
                folder.subs.push(Sub { file_id, class_id: class as u32, name });
            }),
            Err(error) => folder.diags.push(unreadable(&folder.hint(child), &error)),
        }
        self.bytes = bytes;
    }
}

/// Returns the lines at two offsets of a file, ascending. Only called for a file with an error: it is read again.
pub(super) fn lines_of(dir: &Dir, name: &str, offsets: [u64; 2]) -> [u32; 2] {
    let lines = || -> io::Result<[u32; 2]> {
        let (mut file, _) = dir.open(name)?;
        let (mut lines, mut at) = ([1, 1], 0);
        let mut buffer = vec![0; CHUNK];
        loop {
            let read = fill(&mut file, &mut buffer)?;
            for (line, offset) in lines.iter_mut().zip(offsets) {
                let until = offset.saturating_sub(at).min(read as u64) as usize;
                *line += memchr::memchr_iter(b'\n', &buffer[..until]).count() as u32;
            }
            at += read as u64;
            if read < buffer.len() {
                return Ok(lines);
            }
        }
    };
    lines().unwrap_or([1, 1])
}
