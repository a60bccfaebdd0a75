//! Reads one asset: its `.meta`, and its content as far as its import plan asks for it.

mod diagnostics;
mod meta_cache;
mod whole_file;

use super::dir::{self, Dir, Root};
use super::folder::{Asset, Child, Folder, Sub, Type};
use super::folder_batch::FolderBatch;
use super::import_plan::{self, ContentScan, ImportPlan, ModelFormat};
use super::{model, scripted_importers, url_references};
use crate::class_id::{ClassId, canonical_fid};
use crate::documents::{Depth, Document, Ref, Scanner, in_hierarchy, split_point};
use crate::meta::{self, LFS, Meta};
use crate::state::IN_META;
use crate::{file_name, guid, refs};
pub(crate) use diagnostics::unreadable;
use diagnostics::{bom, duplicate_object, fault_diag, not_utf8, pointer};
use kiln_engine::{Code, Diag};
use meta_cache::MetaCache;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Seek as _};
use whole_file::lines_of;

/// The size of a chunk in bytes: small enough to stay in the CPU cache through every pass.
const CHUNK: usize = 64 << 10;
/// The maximum length of a line that is scanned in one chunk.
const MAX_LINE: usize = 16 << 20;
/// The maximum size of a `.meta`. Real ones stay below 1 MB, even for sheets of thousands of sprites.
const MAX_META_SIZE: u64 = 64 << 20;

/// The buffers that a thread reuses from one asset to the next.
#[derive(Default)]
pub(crate) struct Reader {
    name: String,
    ext: String,
    meta: Vec<u8>,
    meta_cache: MetaCache,
    bytes: Vec<u8>,
    scanner: Scanner,
    meta_refs: Scanner,
    /// The folder that is being read; empty in between.
    pub(crate) folder: Folder,
    /// The folders that were read.
    pub(crate) batch: FolderBatch,
    /// The start time of the bake, by which racy timestamps are detected.
    pub(crate) now_ns: i64,
    /// The number of `.meta` files that were parsed.
    pub(crate) parsed: usize,
}

impl Reader {
    /// Reads the asset of a child and adds it to the folder. Sets the stamps of the child.
    pub(crate) fn asset(&mut self, root: &Root, dir: &Dir, folder: &mut Folder, child: usize) {
        self.parsed += 1;
        let mut name = std::mem::take(&mut self.name);
        name.clear();
        name.push_str(folder.name(child));
        name.push_str(".meta");
        let mut bytes = std::mem::take(&mut self.meta);
        let read = dir.open(&name).and_then(|(mut file, file_stat)| {
            if file_stat.len > MAX_META_SIZE {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("{} bytes", file_stat.len)));
            }
            let len = file_stat.len as usize;
            if bytes.len() < len {
                bytes.resize(len, 0);
            }
            let read = fill(&mut file, &mut bytes[..len])?;
            Ok((file_stat.stamp(self.now_ns), read))
        });
        name.truncate(name.len() - ".meta".len());
        match read {
            Ok((stamp, len)) => {
                folder.children[child].meta_stamp = stamp;
                self.parse_meta((root, dir), folder, child, &name, &bytes[..len]);
            }
            Err(error) => {
                folder.children[child].meta_stamp = 0;
                folder.diags.push(unreadable(&format!("{}.meta", folder.hint(child)), &error));
            }
        }
        (self.meta, self.name) = (bytes, name);
    }

    /// Parses a `.meta`, or finds the content of an equal one, and reads the asset.
    fn parse_meta(
        &mut self,
        dirs: (&Root, &Dir),
        folder: &mut Folder,
        child: usize,
        name: &str,
        bytes: &[u8],
    ) {
        self.meta_refs.clear();
        let mut cache = std::mem::take(&mut self.meta_cache);
        if let Some(meta) = cache.get(bytes) {
            self.parsed(dirs, folder, child, name, meta);
        } else {
            let meta = meta::parse(bytes);
            if let Some(guid) = meta.guid {
                self.meta_refs.feed_meta(bytes, guid);
                cache.put(bytes, &meta);
            }
            self.parsed(dirs, folder, child, name, &meta);
        }
        self.meta_cache = cache;
    }

    fn parsed(
        &mut self,
        (root, dir): (&Root, &Dir),
        folder: &mut Folder,
        child: usize,
        name: &str,
        meta: &Meta<'_>,
    ) {
        for fault in &meta.faults {
            match fault_diag(fault) {
                Some(diag) => {
                    let path = format!("{}.meta", folder.hint(child));
                    folder.diags.push(diag.path(path).at(fault.line));
                }
                None => folder.children[child].flags |= Child::META_CRLF,
            }
        }
        let Some(guid) = meta.guid else { return };
        let first_ref = folder.refs.len();
        let entry = &mut folder.children[child];
        if entry.has(Child::FOLDER) {
            entry.asset = folder.assets.len() as u32;
            let kind = Type::Native(ClassId::DefaultAsset as u32);
            let main = canonical_fid(ClassId::DefaultAsset as u32);
            self.push(folder, guid, kind, main, child, Asset::FOLDER, first_ref);
            return;
        }
        let plan = import_plan::plan(import_plan::extension(name, &mut self.ext), meta);
        let mut found = Found {
            class: plan.class as u32,
            script: None,
            main: plan.main,
            flags: 0,
            duplicates: Vec::new(),
            is_binary: false,
        };
        if plan.scoped {
            found.flags |= Asset::SCOPED;
        }
        if plan.read != ContentScan::Nothing && needs_bytes(&plan, meta) {
            folder.children[child].flags |= Child::STAMPED;
            match dir.open(name) {
                Ok((file, file_stat)) => {
                    folder.children[child].asset_stamp = file_stat.stamp(self.now_ns);
                    self.bytes((file, file_stat.len), folder, child, &plan, meta, &mut found);
                    if found.is_binary {
                        let class = self.binary_class(dir, name, meta.main_file_id);
                        found.class = class.unwrap_or(found.class);
                    }
                    if url_references::has_urls(name) && file_stat.len <= url_references::MAX_SIZE {
                        self.urls(root, dir, folder, child, name, first_ref);
                    }
                    for (first, other) in std::mem::take(&mut found.duplicates) {
                        let lines = lines_of(dir, name, [first.offset, other.offset]);
                        folder.diags.push(duplicate_object(&folder.hint(child), &first, lines));
                    }
                }
                Err(error) => {
                    folder.children[child].asset_stamp = 0;
                    folder.diags.push(unreadable(&folder.hint(child), &error));
                }
            }
        } else if folder.children[child].has(Child::LINK) {
            folder.children[child].flags |= Child::STAMPED;
            folder.children[child].asset_stamp =
                dir.stat(name).map_or(0, |file_stat| file_stat.stamp(self.now_ns));
        }
        folder.children[child].asset = folder.assets.len() as u32;
        let stem = file_name::stem(name);
        let start = folder.assets.last().map_or(0, |asset| asset.subs_end) as usize;
        meta_subs(folder, start, meta, stem, &plan);
        let kind = match found.script {
            Some(script) => Type::Script(script.into()),
            None => Type::Native(found.class),
        };
        self.push(folder, guid, kind, found.main, child, found.flags, first_ref);
    }

    #[allow(clippy::too_many_arguments)]
    fn push(
        &mut self,
        folder: &mut Folder,
        guid: u128,
        kind: Type,
        main: i64,
        child: usize,
        flags: u32,
        first_ref: usize,
    ) {
        let of_meta = self.meta_refs.refs.list.iter().map(|r| Ref { line: r.line | IN_META, ..*r });
        folder.refs.extend(of_meta);
        // References to the asset itself and to built-in resources of Unity are dropped.
        let mut kept = first_ref;
        for at in first_ref..folder.refs.len() {
            let target = folder.refs[at].guid;
            if target != guid && !guid::is_builtin(target) {
                folder.refs.swap(kept, at);
                kept += 1;
            }
        }
        folder.refs.truncate(kept);
        let (subs_end, refs_end) = (folder.subs.len() as u32, folder.refs.len() as u32);
        folder.assets.push(Asset { guid, kind, main, child: child as u32, subs_end, refs_end, flags });
    }

    /// Reads a file of the project's settings, of which only the references are used.
    pub(crate) fn settings(&mut self, dir: &Dir, folder: &mut Folder, child: usize) {
        let name = folder.name(child).to_owned();
        folder.children[child].flags |= Child::STAMPED;
        let (file, file_stat) = match dir.open(&name) {
            Ok(opened) => opened,
            Err(error) => {
                let hint = folder.hint(child);
                return folder.diags.push(unreadable(&hint, &error));
            }
        };
        folder.children[child].asset_stamp = file_stat.stamp(self.now_ns);
        let first_ref = folder.refs.len();
        self.meta_refs.clear();
        self.scanner.clear();
        self.scanner.plain_keys = false;
        let start = self.scan_file(file, file_stat.len, Depth::References);
        if start.is_ok() {
            folder.refs.extend_from_slice(&self.scanner.refs.list);
        }
        folder.children[child].asset = folder.assets.len() as u32;
        let class = ClassId::DefaultAsset as u32;
        self.push(folder, 0, Type::Native(class), 0, child, Asset::SETTINGS, first_ref);
    }

    /// Reads the content of an asset.
    fn bytes(
        &mut self,
        (file, len): (File, u64),
        folder: &mut Folder,
        child: usize,
        plan: &ImportPlan,
        meta: &Meta<'_>,
        found: &mut Found,
    ) {
        if let ContentScan::Model(format) = plan.read {
            match model::read(&file, len, format) {
                Ok(model) => {
                    let stem = file_name::stem(folder.name(child)).to_owned();
                    model.subs(meta, &stem, folder);
                }
                Err(model::ModelError::LfsPointer) => {
                    found.flags |= Asset::LFS_POINTER;
                    folder.diags.push(pointer(&folder.hint(child)));
                }
                Err(model::ModelError::Empty) => {}
                Err(model::ModelError::Damaged(why)) => {
                    let message = format!("cannot read the object names of the model: {why}");
                    folder.diags.push(
                        Diag::new(Code::UnityModelUnreadable, message)
                            .path(folder.hint(child))
                            .hint("export the model again; until then its objects have no names"),
                    );
                }
            }
            return;
        }
        if plan.read == ContentScan::InputActions {
            return self.input_actions(file, len, folder, child, found);
        }
        if plan.read == ContentScan::Gltf {
            return self.gltf(file, len, folder, child, found);
        }
        let depth = match plan.read {
            ContentScan::Yaml(depth) => depth,
            _ => Depth::References,
        };
        self.scanner.clear();
        self.scanner.plain_keys = plan.plain_keys;
        let start = match self.scan_file(file, len, depth) {
            Ok(start) => start,
            Err(error) => return folder.diags.push(unreadable(&folder.hint(child), &error)),
        };
        if start == Start::LfsPointer {
            found.flags |= Asset::LFS_POINTER;
            folder.diags.push(pointer(&folder.hint(child)));
        }
        if self.scanner.crlf {
            folder.children[child].flags |= Child::CRLF;
        }
        if self.scanner.bom && start == Start::Yaml {
            folder.diags.push(bom().path(folder.hint(child)).at(1));
        }
        if let Some(line) = self.scanner.not_utf8 {
            folder.diags.push(not_utf8().path(folder.hint(child)).at(line));
        }
        if let Some(line) = self.scanner.conflict {
            folder.diags.push(
                Diag::new(Code::UnityMergeConflict, "the file contains merge conflict markers")
                    .path(folder.hint(child))
                    .at(line)
                    .hint("resolve the conflict"),
            );
        }
        folder.refs.extend_from_slice(&self.scanner.refs.list);
        if start != Start::Yaml {
            // A binary or empty asset: its `.meta` may still state the main object.
            found.is_binary = start == Start::Binary && plan.from_yaml;
            if plan.from_yaml
                && let Some(class) = meta.main_file_id.and_then(class_of_main)
            {
                found.class = class;
            }
            return;
        }
        let documents = &self.scanner.documents;
        let pairs = self.scanner.duplicates().into_iter();
        found.duplicates = pairs.map(|(a, b)| (documents[a].clone(), documents[b].clone())).collect();
        let main = if plan.from_yaml { self.scanner.main_object(meta.main_file_id) } else { None };
        if let Some(at) = main {
            let doc = &self.scanner.documents[at];
            (found.class, found.main) = (doc.class_id, doc.file_id);
            found.script = doc.script.filter(|_| doc.class_id == ClassId::MonoBehaviour as u32);
        } else if depth == Depth::All
            && !plan.has_own_main
            && let Some(at) = self.scanner.main_object(meta.main_file_id)
        {
            found.main = self.scanner.documents[at].file_id;
        }
        let main = self.scanner.main_object(meta.main_file_id).filter(|_| depth == Depth::All);
        for (at, doc) in self.scanner.documents.iter().enumerate() {
            let Some(name) = doc.name.as_deref().filter(|name| !name.is_empty()) else { continue };
            if Some(at) == main || in_hierarchy(doc.class_id) || doc.stripped {
                continue;
            }
            let name = folder.intern(name);
            folder.subs.push(Sub { file_id: doc.file_id, class_id: doc.class_id, name });
        }
    }

    /// Scans a file. Returns its format.
    fn scan_file(&mut self, mut file: File, len: u64, depth: Depth) -> io::Result<Start> {
        let mut buffer = std::mem::take(&mut self.bytes);
        let done = self.feed(&mut file, len, &mut buffer, depth);
        self.bytes = buffer;
        self.scanner.finish(depth);
        done
    }

    fn feed(&mut self, file: &mut File, len: u64, buffer: &mut Vec<u8>, depth: Depth) -> io::Result<Start> {
        let mut size = CHUNK;
        let (mut filled, mut context) = (0, 0);
        // Bytes beyond the length at the start are left to the next bake: the file was modified.
        let mut left = len;
        let mut start = None;
        loop {
            if buffer.len() < size {
                buffer.resize(size, 0);
            }
            let wanted = (size - filled).min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = fill(file, &mut buffer[filled..filled + wanted])?;
            filled += read;
            left -= read as u64;
            let ended = left == 0 || read < wanted;
            let how = *start.get_or_insert_with(|| Start::of(&buffer[..filled]));
            if how == Start::Binary || how == Start::LfsPointer {
                return Ok(how);
            }
            let text = &buffer[context..filled];
            let taken = if ended { text.len() } else { split_point(text) };
            if !ended && taken == text.len() && size < MAX_LINE {
                // One line fills the buffer.
                size *= 2;
                continue;
            }
            let end = context + taken;
            self.scanner.feed(
                &buffer[..end],
                context,
                if how == Start::Yaml { depth } else { Depth::References },
            );
            if ended {
                return Ok(how);
            }
            let keep = end.saturating_sub(refs::LOOKBEHIND);
            context = end - keep;
            buffer.copy_within(keep..filled, 0);
            filled -= keep;
            size = CHUNK.max(filled + CHUNK / 2);
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match dir::read(file, &mut buffer[filled..]) {
            // A short read before the end is an I/O error, not a shorter file.
            Ok(0) if file.stream_position()? < file.metadata()?.len() => {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "unexpected end of file"));
            }
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The result of reading the content of an asset.
struct Found {
    class: u32,
    script: Option<u128>,
    main: i64,
    flags: u32,
    /// Documents with the same fileID, class and name.
    duplicates: Vec<(Document, Document)>,
    /// True if the asset is in Unity's binary format, or in no known one.
    is_binary: bool,
}

/// The format of a file, by its first bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Yaml,
    Text,
    Binary,
    LfsPointer,
}

impl Start {
    fn of(bytes: &[u8]) -> Start {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match bytes {
            _ if bytes.starts_with(LFS) => Start::LfsPointer,
            _ if bytes.starts_with(b"%YAML") || bytes.starts_with(b"--- ") => Start::Yaml,
            _ if memchr::memchr(0, &bytes[..bytes.len().min(1024)]).is_some() => Start::Binary,
            _ => Start::Text,
        }
    }
}

/// Returns whether the content is needed: not for models whose `.meta` lists all their objects.
fn needs_bytes(plan: &ImportPlan, meta: &Meta<'_>) -> bool {
    !matches!(plan.read, ContentScan::Model(ModelFormat::Fbx | ModelFormat::Obj)) || meta.recycled.is_empty()
}

/// Returns the class whose canonical fileID this is.
fn class_of_main(file_id: i64) -> Option<u32> {
    let class = u32::try_from(file_id / 100_000).ok()?;
    (file_id % 100_000 == 0 && ClassId::from_raw(class).is_some()).then_some(class)
}

/// Adds the sub-assets that the `.meta` names, each fileID once. The first one wins: lists over tables, new tables over old.
fn meta_subs(folder: &mut Folder, start: usize, meta: &Meta<'_>, stem: &str, plan: &ImportPlan) {
    let is_model = plan.class == ClassId::GameObject;
    let mut put = |file_id: i64, class_id: u32, name: &str| {
        let name = if is_model && name == model::ROOT { stem } else { name };
        if file_id != 0 && !name.is_empty() {
            let name = folder.intern(name);
            folder.subs.push(Sub { file_id, class_id, name });
        }
    };
    const SPRITE: u32 = ClassId::Sprite as u32;
    const CLIP: u32 = ClassId::AnimationClip as u32;
    if let Some((file_id, class_id)) = implicit_sprite(meta) {
        put(file_id, class_id, stem);
    }
    if meta.importer == "TrueTypeFontImporter" {
        put(canonical_fid(ClassId::Material as u32), ClassId::Material as u32, "Font Material");
        put(canonical_fid(ClassId::Texture2D as u32), ClassId::Texture2D as u32, "Font Texture");
    }
    scripted_importers::for_each_object(meta, stem, |file_id, class, name| put(file_id, class as u32, name));
    if is_model && let Some((file_id, name)) = model::avatar(meta, stem) {
        put(file_id, ClassId::Avatar as u32, &name);
    }
    let old = meta.sprites.iter().chain(&meta.clips).any(|(_, id)| *id == 0);
    let tables = if old { names_of_tables(meta) } else { HashMap::new() };
    for (name, id) in &meta.sprites {
        let known = || tables.get(&(SPRITE, &**name)).copied().unwrap_or(0);
        put(if *id == 0 { known() } else { *id }, SPRITE, name);
    }
    for (name, id) in &meta.clips {
        let known = || {
            tables.get(&(CLIP, &**name)).copied().unwrap_or_else(|| model::file_id("AnimationClip", name, 0))
        };
        put(if *id == 0 { known() } else { *id }, CLIP, name);
    }
    for (name, id) in &meta.name_table {
        put(*id, SPRITE, name);
    }
    for (class, id, name) in &meta.id_table {
        put(*id, *class, name);
    }
    for (id, name) in &meta.recycled {
        put(
            *id,
            u32::try_from(id / 100_000).ok().filter(|class| *class > 0).unwrap_or(plan.class as u32),
            name,
        );
    }
    folder.subs[start..].sort_by_key(|sub| sub.file_id);
    let mut kept = start;
    for at in start..folder.subs.len() {
        if kept == start || folder.subs[kept - 1].file_id != folder.subs[at].file_id {
            folder.subs[kept] = folder.subs[at];
            kept += 1;
        }
    }
    folder.subs.truncate(kept);
}

/// Returns the fileIDs of the name tables, by class and name.
fn names_of_tables<'m>(meta: &'m Meta<'_>) -> HashMap<(u32, &'m str), i64> {
    let recycled = meta.recycled.iter();
    let recycled = recycled.map(|(id, name)| ((u32::try_from(id / 100_000).unwrap_or(0), &**name), *id));
    let by_id = meta.id_table.iter().map(|(class, id, name)| ((*class, &**name), *id));
    let by_name = meta.name_table.iter().map(|(name, id)| ((ClassId::Sprite as u32, &**name), *id));
    recycled.chain(by_id).chain(by_name).collect()
}

/// Returns the sprite that Unity creates for a texture in Single mode, which the `.meta` does not list; an old sprite sheet in
/// the `.meta` does not matter.
pub(crate) fn implicit_sprite(meta: &Meta<'_>) -> Option<(i64, u32)> {
    let single = meta.texture_type == Some(8) && meta.sprite_mode == Some(1);
    single.then(|| (ClassId::Sprite.canonical_subobject_fid(), ClassId::Sprite as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derives_class_from_main_file_id() {
        assert_eq!(class_of_main(15_600_000), Some(156));
        assert_eq!(class_of_main(15_600_001), None);
        assert_eq!(class_of_main(-5), None);
        assert_eq!(class_of_main(i64::MAX), None);
    }
}
