//! Reads one asset: its `.meta`, and its bytes as far as they matter.

use super::dir::Dir;
use super::folder::{Asset, Child, Folder, Sub, Type};
use super::kinds::{self, ModelFormat, Plan, Read};
use super::model;
use crate::class_id::{ClassId, canonical_fid};
use crate::documents::{Depth, Ref, Scanner, cut, in_hierarchy};
use crate::meta::{self, Fault, FaultKind, LFS, Meta};
use crate::state::IN_META;
use crate::{guid, refs};
use kiln_engine::{Code, Diag};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};

/// How much of a file is looked at at once: little enough to stay near the processor through every pass.
const PIECE: usize = 64 << 10;
/// The longest line that is kept whole.
const LONGEST_LINE: usize = 16 << 20;
/// The largest `.meta`. Real ones stay below 1 MB, even for sheets of thousands of sprites.
const LARGEST_META: u64 = 64 << 20;

/// What a thread keeps from one asset to the next.
#[derive(Default)]
pub(crate) struct Reader {
    name: String,
    ext: String,
    meta: Vec<u8>,
    bytes: Vec<u8>,
    scanner: Scanner,
    meta_refs: Scanner,
    /// The folder that is being read; empty in between.
    pub(crate) folder: Folder,
    /// The time of the bake, against which fresh changes are judged.
    pub(crate) now_ns: i64,
}

impl Reader {
    /// Reads the asset of a child and puts it in the folder. The child gets its stamps.
    pub(crate) fn asset(&mut self, dir: &Dir, folder: &mut Folder, child: usize) {
        let mut name = std::mem::take(&mut self.name);
        name.clear();
        name.push_str(folder.name(child));
        name.push_str(".meta");
        let mut bytes = std::mem::take(&mut self.meta);
        let read = dir.open(&name).and_then(|(mut file, facts)| {
            if facts.len > LARGEST_META {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("{} bytes", facts.len)));
            }
            let len = facts.len as usize;
            if bytes.len() < len {
                bytes.resize(len, 0);
            }
            let read = fill(&mut file, &mut bytes[..len])?;
            Ok((facts.stamp(self.now_ns), read))
        });
        name.truncate(name.len() - ".meta".len());
        match read {
            Ok((stamp, len)) => {
                folder.children[child].meta_stamp = stamp;
                let meta = meta::parse(&bytes[..len]);
                self.parsed(dir, folder, child, &name, &bytes[..len], &meta);
            }
            Err(error) => {
                folder.children[child].meta_stamp = 0;
                folder.diags.push(unreadable(&format!("{}.meta", folder.hint(child)), &error));
            }
        }
        (self.meta, self.name) = (bytes, name);
    }

    fn parsed(
        &mut self,
        dir: &Dir,
        folder: &mut Folder,
        child: usize,
        name: &str,
        bytes: &[u8],
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
        self.meta_refs.clear();
        self.meta_refs.feed_meta(bytes, guid);
        let first_ref = folder.refs.len();
        let entry = &mut folder.children[child];
        if entry.has(Child::FOLDER) {
            entry.asset = folder.assets.len() as u32;
            let kind = Type::Native(ClassId::DefaultAsset as u32);
            let main = canonical_fid(ClassId::DefaultAsset as u32);
            self.push(folder, guid, kind, main, child, Asset::FOLDER, first_ref);
            return;
        }
        let plan = kinds::plan(kinds::extension(name, &mut self.ext), meta);
        let mut found = Found { class: plan.class as u32, script: None, main: plan.main, flags: 0 };
        if plan.scoped {
            found.flags |= Asset::SCOPED;
        }
        if plan.read != Read::Nothing && needs_bytes(&plan, meta) {
            folder.children[child].flags |= Child::STAMPED;
            match dir.open(name) {
                Ok((file, facts)) => {
                    folder.children[child].asset_stamp = facts.stamp(self.now_ns);
                    self.bytes((file, facts.len), folder, child, &plan, meta, &mut found);
                }
                Err(error) => {
                    folder.children[child].asset_stamp = 0;
                    folder.diags.push(unreadable(&folder.hint(child), &error));
                }
            }
        } else if folder.children[child].has(Child::LINK) {
            folder.children[child].flags |= Child::STAMPED;
            folder.children[child].asset_stamp = dir.stat(name).map_or(0, |facts| facts.stamp(self.now_ns));
        }
        folder.children[child].asset = folder.assets.len() as u32;
        let stem = super::folder::stem(name);
        let start = folder.assets.last().map_or(0, |asset| asset.subs_end) as usize;
        meta_subs(folder, start, meta, stem, &plan);
        let kind = match found.script {
            Some(script) => Type::Script(script),
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
        // What an asset says about itself, and what comes with Unity, leads to no other asset.
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

    /// A file of the project's settings: only what it refers to matters.
    pub(crate) fn settings(&mut self, dir: &Dir, folder: &mut Folder, child: usize) {
        let name = folder.name(child).to_owned();
        folder.children[child].flags |= Child::STAMPED;
        let (file, facts) = match dir.open(&name) {
            Ok(opened) => opened,
            Err(error) => {
                let hint = folder.hint(child);
                return folder.diags.push(unreadable(&hint, &error));
            }
        };
        folder.children[child].asset_stamp = facts.stamp(self.now_ns);
        let first_ref = folder.refs.len();
        self.meta_refs.clear();
        self.scanner.clear();
        let start = self.pieces(file, facts.len, Depth::References);
        if start.is_ok() {
            folder.refs.extend_from_slice(&self.scanner.refs.list);
        }
        folder.children[child].asset = folder.assets.len() as u32;
        let class = ClassId::DefaultAsset as u32;
        self.push(folder, 0, Type::Native(class), 0, child, Asset::SETTINGS, first_ref);
    }

    /// Looks through the bytes of an asset.
    fn bytes(
        &mut self,
        (file, len): (File, u64),
        folder: &mut Folder,
        child: usize,
        plan: &Plan,
        meta: &Meta<'_>,
        found: &mut Found,
    ) {
        if let Read::Model(format) = plan.read {
            match model::read(&file, format) {
                Ok(model) => model.subs(meta, folder),
                Err(model::Unread::Pointer) => {
                    found.flags |= Asset::POINTER;
                    folder.diags.push(pointer(&folder.hint(child)));
                }
                Err(model::Unread::Empty) => {}
                Err(model::Unread::Damaged(why)) => {
                    let message = format!("the names inside this model cannot be read: {why}");
                    folder.diags.push(
                        Diag::new(Code::UnityModelUnreadable, message)
                            .path(folder.hint(child))
                            .hint("export the model again; until then its parts have no names"),
                    );
                }
            }
            return;
        }
        let depth = match plan.read {
            Read::Yaml(depth) => depth,
            _ => Depth::References,
        };
        self.scanner.clear();
        let start = match self.pieces(file, len, depth) {
            Ok(start) => start,
            Err(error) => return folder.diags.push(unreadable(&folder.hint(child), &error)),
        };
        if start == Start::Pointer {
            found.flags |= Asset::POINTER;
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
                Diag::new(Code::UnityMergeConflict, "a merge was not finished in this file")
                    .path(folder.hint(child))
                    .at(line)
                    .hint("resolve the conflict"),
            );
        }
        folder.refs.extend_from_slice(&self.scanner.refs.list);
        if start != Start::Yaml {
            // A binary asset, or none at all: its `.meta` may still say what the main object is.
            if plan.from_yaml
                && let Some(class) = meta.main_file_id.and_then(class_of_main)
            {
                found.class = class;
            }
            return;
        }
        let main = if plan.from_yaml { self.scanner.main(meta.main_file_id) } else { None };
        if let Some(at) = main {
            let doc = &self.scanner.documents[at];
            (found.class, found.main) = (doc.class_id, doc.file_id);
            found.script = doc.script.filter(|_| doc.class_id == ClassId::MonoBehaviour as u32);
        } else if depth == Depth::All
            && let Some(at) = self.scanner.main(meta.main_file_id)
        {
            found.main = self.scanner.documents[at].file_id;
        }
        let main = self.scanner.main(meta.main_file_id).filter(|_| depth == Depth::All);
        for (at, doc) in self.scanner.documents.iter().enumerate() {
            let Some(name) = doc.name.as_deref().filter(|name| !name.is_empty()) else { continue };
            if Some(at) == main || in_hierarchy(doc.class_id) || doc.stripped {
                continue;
            }
            let name = folder.text(name);
            folder.subs.push(Sub { file_id: doc.file_id, class_id: doc.class_id, name });
        }
    }

    /// Feeds a file to the scanner, and says how it starts.
    fn pieces(&mut self, mut file: File, len: u64, depth: Depth) -> io::Result<Start> {
        let mut buffer = std::mem::take(&mut self.bytes);
        let done = self.feed(&mut file, len, &mut buffer, depth);
        self.bytes = buffer;
        self.scanner.finish(depth);
        done
    }

    fn feed(&mut self, file: &mut File, len: u64, buffer: &mut Vec<u8>, depth: Depth) -> io::Result<Start> {
        let mut size = PIECE;
        let (mut filled, mut context) = (0, 0);
        // What comes after the length that the file had is for the next bake: the file has changed.
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
            if how == Start::Binary || how == Start::Pointer {
                return Ok(how);
            }
            let text = &buffer[context..filled];
            let taken = if ended { text.len() } else { cut(text) };
            if !ended && taken == text.len() && size < LONGEST_LINE {
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
            let keep = end.saturating_sub(refs::BEFORE);
            context = end - keep;
            buffer.copy_within(keep..filled, 0);
            filled -= keep;
            size = PIECE.max(filled + PIECE / 2);
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            // Bytes that are there and do not come are no shorter file.
            Ok(0) if file.stream_position()? < file.metadata()?.len() => {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ends before its end"));
            }
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// What an asset turned out to be.
struct Found {
    class: u32,
    script: Option<u128>,
    main: i64,
    flags: u32,
}

/// How a file starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Yaml,
    Text,
    Binary,
    Pointer,
}

impl Start {
    fn of(bytes: &[u8]) -> Start {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match bytes {
            _ if bytes.starts_with(LFS) => Start::Pointer,
            _ if bytes.starts_with(b"%YAML") || bytes.starts_with(b"--- ") => Start::Yaml,
            _ if memchr::memchr(0, &bytes[..bytes.len().min(1024)]).is_some() => Start::Binary,
            _ => Start::Text,
        }
    }
}

/// Models with a whole table of their parts need not be opened.
fn needs_bytes(plan: &Plan, meta: &Meta<'_>) -> bool {
    !matches!(plan.read, Read::Model(ModelFormat::Fbx | ModelFormat::Obj)) || meta.recycled.is_empty()
}

/// The class whose usual fileID this is.
fn class_of_main(file_id: i64) -> Option<u32> {
    let class = u32::try_from(file_id / 100_000).ok()?;
    (file_id % 100_000 == 0 && ClassId::from_raw(class).is_some()).then_some(class)
}

/// The parts that the `.meta` names, each fileID once. What comes first wins: lists over tables, new tables over old.
fn meta_subs(folder: &mut Folder, start: usize, meta: &Meta<'_>, stem: &str, plan: &Plan) {
    let mut put = |file_id: i64, class_id: u32, name: &str| {
        if file_id != 0 && !name.is_empty() {
            let name = folder.text(name);
            folder.subs.push(Sub { file_id, class_id, name });
        }
    };
    const SPRITE: u32 = ClassId::Sprite as u32;
    const CLIP: u32 = ClassId::AnimationClip as u32;
    if let Some((file_id, class_id)) = implicit_sprite(meta) {
        put(file_id, class_id, stem);
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

/// The fileIDs that tables give to names, by class.
fn names_of_tables<'m>(meta: &'m Meta<'_>) -> HashMap<(u32, &'m str), i64> {
    let recycled = meta.recycled.iter();
    let recycled = recycled.map(|(id, name)| ((u32::try_from(id / 100_000).unwrap_or(0), &**name), *id));
    let by_id = meta.id_table.iter().map(|(class, id, name)| ((*class, &**name), *id));
    let by_name = meta.name_table.iter().map(|(name, id)| ((ClassId::Sprite as u32, &**name), *id));
    recycled.chain(by_id).chain(by_name).collect()
}

/// The sprite that Unity makes of a texture in Single mode, which its `.meta` does not list: it is there whatever an
/// old sheet in the `.meta` says.
pub(crate) fn implicit_sprite(meta: &Meta<'_>) -> Option<(i64, u32)> {
    let single = meta.texture_type == Some(8) && meta.sprite_mode == Some(1);
    single.then(|| (ClassId::Sprite.canonical_subobject_fid(), ClassId::Sprite as u32))
}

fn bom() -> Diag {
    Diag::new(Code::UnityBom, "the file starts with a byte order mark").hint("save it as UTF-8 without one")
}

fn not_utf8() -> Diag {
    Diag::new(Code::UnityNotUtf8, "the file has bytes that are not UTF-8")
        .hint("save it as UTF-8; names with such bytes are spelt with replacement characters")
}

fn pointer(hint: &str) -> Diag {
    Diag::new(Code::UnityLfsPointer, "this is a Git LFS pointer, not the content it stands for")
        .path(hint)
        .hint("fetch the content: git lfs pull")
}

/// What is said of a file or folder that cannot be read. It is an error where the system is in trouble and not the file:
/// an index without it would be that of another project, and the old one is better.
pub(crate) fn unreadable(hint: &str, error: &io::Error) -> Diag {
    let code = if is_trouble(error) { Code::UnityIo } else { Code::UnityUnreadable };
    Diag::new(code, format!("cannot be read: {error}")).path(hint)
}

/// Whether another try might well succeed: a disk or a server failed, or there is no memory or descriptor left.
fn is_trouble(error: &io::Error) -> bool {
    use io::ErrorKind::{OutOfMemory, StorageFull, UnexpectedEof};
    // EIO, ENFILE and EMFILE, which have no kind of their own.
    let code = cfg!(unix) && matches!(error.raw_os_error(), Some(5 | 23 | 24));
    code || matches!(error.kind(), OutOfMemory | StorageFull | UnexpectedEof)
}

/// What is said of a fault; nothing of line ends, of which the whole project's are told at once.
fn fault_diag(fault: &Fault) -> Option<Diag> {
    let regenerate = "restore the file from version control, or let Unity write it again";
    Some(match &fault.kind {
        FaultKind::Crlf => return None,
        FaultKind::Empty => Diag::new(Code::UnityMetaEmpty, "there is nothing in this file").hint(regenerate),
        FaultKind::NoGuid => {
            Diag::new(Code::UnityMetaGuid, "missing or malformed `guid:` in .meta").hint(regenerate)
        }
        FaultKind::BadGuid(found) => {
            let message =
                format!("missing or malformed `guid:` in .meta: {found:?} is not 32 hexadecimal digits");
            Diag::new(Code::UnityMetaGuid, message).hint(regenerate)
        }
        FaultKind::ZeroGuid => {
            Diag::new(Code::UnityMetaGuid, "a `guid:` of zeros stands for no asset").hint(regenerate)
        }
        FaultKind::SecondGuid(second) => {
            let message = format!("a second `guid:` says {}", guid::Guid(*second));
            Diag::new(Code::UnityMetaGuid, message).hint("keep the one that other files refer to")
        }
        FaultKind::Conflict => Diag::new(Code::UnityMergeConflict, "a merge was not finished in this file")
            .hint("resolve the conflict"),
        FaultKind::Bom => bom(),
        FaultKind::NotUtf8 => not_utf8(),
        FaultKind::LfsPointer => pointer(""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_main_objects() {
        assert_eq!(class_of_main(15_600_000), Some(156));
        assert_eq!(class_of_main(15_600_001), None);
        assert_eq!(class_of_main(-5), None);
        assert_eq!(class_of_main(i64::MAX), None);
    }
}
