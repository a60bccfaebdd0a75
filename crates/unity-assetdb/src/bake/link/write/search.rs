//! Writes the sections that searches of the whole project use: names in lower case, assets by type, and the assets that refer
//! to each asset.

use super::Linked;
use crate::bake::folder::{Asset, FolderView, Type};
use crate::class_id::ClassId;
use crate::file_name::stem;
use crate::query::roots::{kind_of_folder, may_be_root_file};
use crate::state::write::Writer;
use crate::state::{
    IncomingRec, MAY_BE_ROOT, NAME_END, NAMES_PER_BLOCK, NONE, NameBlockRec, ReferredFolderRec, SUB, Section,
    SourceRec, TypeItemRec, TypeRec,
};
use std::collections::BTreeMap;
use std::io;

impl Linked<'_> {
    /// Writes all names in lower case, and the offset of each block of them.
    pub(super) fn put_lower_names(&self, out: &mut Writer) -> io::Result<()> {
        let mut blocks = Vec::with_capacity((self.places.len() / NAMES_PER_BLOCK) * 2);
        let (mut at, mut count) = (0u32, 0usize);
        let mut put = |out: &mut Writer, name: &str| {
            if count.is_multiple_of(NAMES_PER_BLOCK) {
                blocks.push(at);
            }
            count += 1;
            let len = out.append(|buffer| {
                if name.is_ascii() {
                    let start = buffer.len();
                    buffer.extend_from_slice(name.as_bytes());
                    buffer[start..].make_ascii_lowercase();
                } else {
                    buffer.extend(name.to_lowercase().bytes());
                }
                buffer.push(NAME_END);
            })?;
            at += len as u32;
            io::Result::Ok(())
        };
        out.section(Section::LowerNames);
        let mut renamed = self.renamed.iter().filter(|each| each.sub == 0).peekable();
        for (entry, (folder, asset)) in self.assets().enumerate() {
            let file_name = folder.name(asset.child as usize);
            let own = match asset.flags & (Asset::FOLDER | Asset::SETTINGS) {
                0 => stem(file_name),
                Asset::FOLDER => file_name,
                _ => "",
            };
            let new = renamed.next_if(|each| each.entry as usize == entry);
            put(out, new.map_or(own, |each| &each.name))?;
        }
        let mut renamed = self.renamed.iter().filter(|each| each.sub > 0).peekable();
        let mut entry = 0;
        for folder in &self.folders {
            for asset in 0..folder.assets.len() {
                for (sub, each) in folder.subs_of(asset).iter().enumerate() {
                    let new = renamed.next_if(|new| (new.entry, new.sub as usize) == (entry, sub + 1));
                    put(out, new.map_or(folder.get(each.name), |new| &new.name))?;
                }
                entry += 1;
            }
        }
        out.section(Section::LowerNameBlocks);
        blocks.iter().try_for_each(|at| out.put(&NameBlockRec { at: *at }))
    }

    /// Writes the listed assets and their sub-assets by type: classes, ascending, and then scripts.
    pub(super) fn put_types(&self, out: &mut Writer) -> io::Result<()> {
        // Few classes have most assets; a project may have as many scripts as assets, and their indices are dense.
        let mut classes: BTreeMap<u32, u32> = BTreeMap::new();
        let mut scripts = vec![0u32; self.scripts.len()];
        // Neighbours mostly have the same class: the map is read and written where it changes.
        let (mut last, mut count) = (0, 0);
        self.for_each_object(|class, script, _| match script {
            NONE => {
                if class != last {
                    if count > 0 {
                        *classes.entry(last).or_default() += count;
                    }
                    (last, count) = (class, 0);
                }
                count += 1;
            }
            script => scripts[script as usize] += 1,
        });
        if count > 0 {
            *classes.entry(last).or_default() += count;
        }
        let mut next = 0;
        let mut place = |count: &mut u32| {
            let first = next;
            next += *count;
            *count = first;
        };
        classes.values_mut().for_each(&mut place);
        scripts.iter_mut().for_each(&mut place);
        out.section(Section::Types);
        for (class, first_item) in &classes {
            out.put(&TypeRec { kind: *class, is_script: 0, first_item: *first_item })?;
        }
        for (script, first_item) in scripts.iter().enumerate() {
            out.put(&TypeRec { kind: script as u32, is_script: 1, first_item: *first_item })?;
        }
        let mut items = vec![0u32; next as usize];
        let (mut last, mut next) = (None, 0);
        self.for_each_object(|class, script, item| {
            let at = match script {
                NONE => {
                    if last != Some(class) {
                        last.and_then(|last| classes.insert(last, next));
                        (last, next) = (Some(class), classes.get(&class).copied().unwrap_or(0));
                    }
                    &mut next
                }
                script => &mut scripts[script as usize],
            };
            items[*at as usize] = item;
            *at += 1;
        });
        out.section(Section::TypeItems);
        items.iter().try_for_each(|item| out.put(&TypeItemRec { item: *item }))
    }

    /// Calls `each` for each listed asset, and then for each of their sub-assets: class, index of the script, item.
    fn for_each_object(&self, mut each: impl FnMut(u32, u32, u32)) {
        for (entry, (_, asset)) in self.assets().enumerate() {
            if self.listed[entry] {
                match asset.kind {
                    Type::Native(class) => each(class, NONE, entry as u32),
                    Type::Script(_) => {
                        each(ClassId::MonoBehaviour as u32, self.script_of[entry], entry as u32);
                    }
                }
            }
        }
        let (mut entry, mut sub) = (0, 0);
        for folder in &self.folders {
            for asset in 0..folder.assets.len() {
                for object in folder.subs_of(asset) {
                    if self.listed[entry] {
                        each(object.class_id, NONE, SUB | sub);
                    }
                    sub += 1;
                }
                entry += 1;
            }
        }
    }

    /// Writes, for each asset, the assets that refer to it; and the folders that something refers to.
    pub(super) fn put_incoming(&self, out: &mut Writer) -> io::Result<()> {
        let targets = &self.targets;
        let folders = self.folders.iter();
        let counts = folders.flat_map(|folder| (0..folder.assets.len()).map(|at| folder.refs_of(at).len()));
        let mut sources =
            targets.order((0..).zip(counts).flat_map(|(source, count)| std::iter::repeat_n(source, count)));
        // In place: of the sources of each target, each is kept once.
        // The range of each entry in them: assets that share a GUID share its references.
        let mut lists = vec![(0u32, 0u32); self.places.len()];
        let mut entries = self.by_guid.iter().peekable();
        let mut kept = 0;
        for (target, first) in targets.first_use.iter().enumerate() {
            let end = targets.first_use.get(target + 1).map_or(sources.len(), |next| *next as usize);
            let start = kept;
            for at in *first as usize..end {
                let source = sources[at];
                if kept == start || sources[kept - 1] != source {
                    sources[kept] = source;
                    kept += 1;
                }
            }
            let guid = targets.guids[target];
            while entries.next_if(|each| each.guid() < guid).is_some() {}
            while let Some(each) = entries.next_if(|each| each.guid() == guid) {
                lists[each.entry as usize] = (start as u32, kept as u32);
            }
        }
        let list = |(start, end): (u32, u32)| &sources[start as usize..end as usize];
        out.section(Section::Incoming);
        let (mut first, mut entry) = (0, 0);
        for folder in &self.folders {
            let all = kind_of_folder(folder.path).is_some();
            for asset in folder.assets {
                let may_be_root = all
                    || asset.flags & Asset::SETTINGS != 0
                    || may_be_root_file(folder.name(asset.child as usize));
                out.put(&IncomingRec { first: first | if may_be_root { MAY_BE_ROOT } else { 0 } })?;
                let (start, end) = lists[entry];
                first += end - start;
                entry += 1;
            }
        }
        out.section(Section::Sources);
        for range in &lists {
            list(*range).iter().try_for_each(|source| out.put(&SourceRec { entry: *source }))?;
        }
        out.section(Section::ReferredFolders);
        for (entry, (folder, asset)) in self.assets().enumerate() {
            if asset.flags & Asset::FOLDER == 0 || list(lists[entry]).is_empty() {
                continue;
            }
            let path = folder.hint(asset.child as usize);
            let position = |path: &str| self.folders.partition_point(|each| each.path < path) as u32;
            let own = position(&path);
            let exists = self.folders.get(own as usize).is_some_and(|each| each.path == path);
            out.put(&ReferredFolderRec {
                entry: entry as u32,
                folder: if exists { own } else { NONE },
                first_below: position(&format!("{path}/")),
                // The character after the slash.
                end_below: position(&format!("{path}0")),
            })?;
        }
        Ok(())
    }

    /// Iterates over all assets, each with its folder.
    fn assets(&self) -> impl Iterator<Item = (&FolderView<'_>, &Asset)> {
        self.folders.iter().flat_map(|folder| folder.assets.iter().map(move |asset| (folder, asset)))
    }
}
