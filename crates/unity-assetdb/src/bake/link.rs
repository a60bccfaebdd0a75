//! Links the folders of a project: finds duplicate GUIDs, interns scripts, makes names unique, sorts references.

mod targets;
mod write;

use super::folder::{Asset, Child, FolderView, Type};
use super::name::{Ambiguous, NameResolver, Place, Renamed};
use crate::file_name::stem;
use crate::state::{NONE, SUB, name_hash};
use kiln_engine::{Code, Diag};
use std::collections::{BTreeMap, HashSet};
use targets::Targets;

/// A whole project, ready to be written.
pub(crate) struct Linked<'a> {
    /// All folders by path.
    folders: Vec<FolderView<'a>>,
    /// All assets by path, so that neighbours in the project are neighbours in memory.
    places: Vec<Place>,
    /// GUIDs of assets with their indices in `places`, ascending. Settings have none.
    by_guid: Vec<GuidOf>,
    /// The GUIDs of all scripts of assets, ascending.
    scripts: Vec<u128>,
    /// The index of the script of each asset, or [`NONE`].
    script_of: Vec<u32>,
    /// True for each asset that is in the database: all files, and folders that are referred to.
    listed: Vec<bool>,
    /// The assets whose GUID belongs to an earlier asset: they count as assets without a GUID.
    shadowed: HashSet<u32>,
    renamed: Vec<Renamed>,
    targets: Targets,
    /// One warning for all files with CR LF line endings.
    crlf: Option<Diag>,
    /// A digest of the names that the sanitizer changed.
    pub(crate) sanitized: u64,
    /// True if several assets share a GUID, or an asset has an object twice, which only a link for queries tolerates.
    pub(crate) has_duplicates: bool,
}

/// A GUID with an index: of the asset in [`Linked::places`], as a rule. With the alignment of a `u128` it would take a third
/// more.
#[derive(Clone, Copy)]
struct GuidOf {
    high: u64,
    low: u64,
    entry: u32,
}

impl GuidOf {
    fn new(guid: u128, entry: u32) -> GuidOf {
        GuidOf { high: (guid >> 64) as u64, low: guid as u64, entry }
    }

    fn guid(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }
}

/// The reason why a project cannot be linked.
pub(crate) enum LinkError {
    /// GUIDs that several assets share, with the paths of the assets.
    Duplicates(Vec<(u128, Vec<String>)>),
    /// Names that cannot be made unique.
    Ambiguous(Vec<Ambiguous>),
    /// The project exceeds the limits of the state layout.
    TooLarge,
}

/// Rewrites a name; `None` keeps it.
pub(crate) type Sanitize<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The rule by which assets are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// Names are unique, and so are GUIDs. With `strict`, extensions do not distinguish names.
    Unique { strict: bool },
    /// Each asset is named after its file. Of assets with the same GUID the first by path counts.
    FileNames,
}

/// Links folders. `renames` is called for each name that the sanitizer changed: path, whether it is a sub-asset, old and
/// new name. With `allow_duplicates`, the first asset by folder and name has a GUID that several share.
pub(crate) fn link<'a>(
    mut folders: Vec<FolderView<'a>>,
    naming: Naming,
    allow_duplicates: bool,
    sanitize: Option<Sanitize<'_>>,
    renames: &mut dyn FnMut(&str, bool, &str, &str),
) -> Result<Linked<'a>, LinkError> {
    folders.sort_unstable_by(|a, b| a.path.cmp(b.path));
    let total: usize = folders.iter().map(|folder| folder.assets.len()).sum();
    let strings: usize = folders.iter().map(|folder| folder.strings.len() + folder.path.len()).sum();
    let refs: usize = folders.iter().map(|folder| folder.refs.len()).sum();
    let subs: usize = folders.iter().map(|folder| folder.subs.len()).sum();
    if total.max(refs).max(subs) >= SUB as usize || strings >= (u32::MAX / 2) as usize {
        return Err(LinkError::TooLarge);
    }
    let mut places = Vec::with_capacity(total);
    for (n, folder) in folders.iter().enumerate() {
        places.extend((0..folder.assets.len() as u32).map(|asset| Place { folder: n as u32, asset }));
    }
    let guids = folders.iter().flat_map(|folder| folder.assets).map(|asset| asset.guid);
    let mut by_guid: Vec<GuidOf> = Vec::with_capacity(total);
    by_guid
        .extend(guids.zip(0..).filter(|(guid, _)| *guid != 0).map(|(guid, entry)| GuidOf::new(guid, entry)));
    by_guid.sort_unstable_by_key(|each| (each.guid(), each.entry));
    let mut has_duplicates = false;
    let mut shadowed = HashSet::new();
    match naming {
        Naming::Unique { .. } => {
            let duplicates = duplicates(&folders, &places, &by_guid);
            has_duplicates = !duplicates.is_empty();
            if has_duplicates && !allow_duplicates {
                return Err(LinkError::Duplicates(duplicates));
            }
        }
        Naming::FileNames => by_guid.dedup_by(|next, first| {
            let same = next.guid() == first.guid();
            if same {
                shadowed.insert(next.entry);
            }
            same
        }),
    }
    let (scripts, script_of) = scripts(&folders, places.len());
    let mut changed = BTreeMap::new();
    let mut sanitized = 0;
    if let Some(sanitize) = sanitize {
        sanitized = sanitize_all(&folders, &places, sanitize, &mut changed, renames);
    }
    let name = || match naming {
        Naming::Unique { strict } => NameResolver {
            folders: &folders,
            places: &places,
            script_of: &script_of,
            sanitized: &changed,
            strict,
        }
        .resolve(),
        Naming::FileNames => Ok(Vec::new()),
    };
    // One after the other: at the same time, both would need their memory where a bake needs most.
    let renamed = name().map_err(LinkError::Ambiguous)?;
    let targets = Targets::new(&folders, &by_guid, refs);
    let listed = listed(&folders, places.len(), &shadowed, &targets);
    let crlf = crlf(&folders);
    let mut diags = folders.iter().flat_map(|folder| folder.diags);
    has_duplicates |=
        diags.any(|diag| diag.code == Code::UnityDuplicateObject) && naming != Naming::FileNames;
    Ok(Linked {
        folders,
        places,
        by_guid,
        scripts,
        script_of,
        listed,
        shadowed,
        renamed,
        targets,
        crlf,
        sanitized,
        has_duplicates,
    })
}

/// Returns the GUIDs that several assets share, with the paths of the assets.
fn duplicates(folders: &[FolderView<'_>], places: &[Place], by_guid: &[GuidOf]) -> Vec<(u128, Vec<String>)> {
    let same = by_guid.chunk_by(|a, b| a.guid() == b.guid()).filter(|same| same.len() > 1);
    let paths = |same: &[GuidOf]| {
        let path = |each: &GuidOf| {
            let place = &places[each.entry as usize];
            let folder = &folders[place.folder as usize];
            folder.hint(folder.assets[place.asset as usize].child as usize)
        };
        let mut paths: Vec<String> = same.iter().map(path).collect();
        paths.sort();
        (same[0].guid(), paths)
    };
    same.map(paths).collect()
}

/// Returns the GUIDs of all scripts, ascending, and the index of the script of each asset, or [`NONE`].
fn scripts(folders: &[FolderView<'_>], count: usize) -> (Vec<u128>, Vec<u32>) {
    let assets = folders.iter().flat_map(|folder| folder.assets);
    let of_asset = assets.zip(0u32..).filter_map(|(asset, entry)| match asset.kind {
        Type::Script(guid) => Some((guid.get(), entry)),
        Type::Native(_) => None,
    });
    let mut of_asset: Vec<(u128, u32)> = of_asset.collect();
    of_asset.sort_unstable();
    let (mut scripts, mut script_of) = (Vec::new(), vec![NONE; count]);
    for (script, entry) in of_asset {
        if scripts.last() != Some(&script) {
            scripts.push(script);
        }
        script_of[entry as usize] = scripts.len() as u32 - 1;
    }
    (scripts, script_of)
}

/// Returns one warning for all files with CR LF line endings: in a project that was checked out so, every file has them.
fn crlf(folders: &[FolderView<'_>]) -> Option<Diag> {
    let files = || {
        folders.iter().flat_map(|folder| {
            let children = folder.children.iter().enumerate();
            children.flat_map(move |(at, child)| {
                let (asset, meta) = (child.has(Child::CRLF), child.has(Child::META_CRLF));
                [asset.then_some((folder, at, "")), meta.then_some((folder, at, ".meta"))]
                    .into_iter()
                    .flatten()
            })
        })
    };
    let (folder, child, suffix) = files().next()?;
    let message = match files().count() {
        1 => "the lines of this file end in CR LF".to_owned(),
        count => format!("the lines of {count} files end in CR LF; this is the first"),
    };
    let diag = Diag::new(Code::UnityCrlf, message).path(format!("{}{suffix}", folder.hint(child))).at(1);
    Some(diag.hint("Unity writes LF; add `*.meta text eol=lf` and similar rules to .gitattributes"))
}

/// Returns which assets are in the database: all files, and folders that are referred to.
fn listed(folders: &[FolderView<'_>], count: usize, shadowed: &HashSet<u32>, targets: &Targets) -> Vec<bool> {
    let mut listed = vec![false; count];
    targets.entries.iter().filter(|entry| **entry != NONE).for_each(|entry| listed[*entry as usize] = true);
    let assets = folders.iter().flat_map(|folder| folder.assets);
    for (asset, is_listed) in assets.zip(&mut listed) {
        let used = *is_listed;
        *is_listed = asset.guid != 0
            && asset.flags & Asset::SETTINGS == 0
            && (asset.flags & Asset::FOLDER == 0 || used);
    }
    shadowed.iter().for_each(|entry| listed[*entry as usize] = false);
    listed
}

/// Calls the sanitizer for every name, in the order of the entries. Returns a digest of its results.
fn sanitize_all(
    folders: &[FolderView<'_>],
    places: &[Place],
    sanitize: Sanitize<'_>,
    changed: &mut BTreeMap<(u32, u32), String>,
    renames: &mut dyn FnMut(&str, bool, &str, &str),
) -> u64 {
    let mut sum = NameDigest::default();
    for (entry, place) in places.iter().enumerate() {
        let folder = &folders[place.folder as usize];
        let asset = &folder.assets[place.asset as usize];
        if asset.flags & (Asset::FOLDER | Asset::SETTINGS) != 0 {
            continue;
        }
        let name = stem(folder.name(asset.child as usize));
        let subs = folder.subs_of(place.asset as usize).iter().map(|sub| folder.get(sub.name));
        for (sub, name) in [name].into_iter().chain(subs).enumerate() {
            if let Some(new) = sanitize(name).filter(|new| new != name) {
                renames(&folder.hint(asset.child as usize), sub > 0, name, &new);
                sum.add(entry as u32, sub as u32, &new);
                changed.insert((entry as u32, sub as u32), new);
            }
        }
    }
    sum.done()
}

/// A digest of the names that a sanitizer changed.
#[derive(Default)]
pub(crate) struct NameDigest(u64);

impl NameDigest {
    pub(crate) fn add(&mut self, entry: u32, sub: u32, name: &str) {
        let place = u64::from(entry) << 32 | u64::from(sub);
        self.0 = (self.0 ^ place).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31) ^ name_hash(name);
    }

    pub(crate) fn done(&self) -> u64 {
        self.0 | 1
    }
}

impl Linked<'_> {
    /// Returns the number of assets in the database.
    pub(crate) fn listed(&self) -> usize {
        self.listed.iter().filter(|listed| **listed).count()
    }

    /// Calls `each` for each name that differs from that of the file: GUID, whether it is a sub-asset, old and new name.
    pub(crate) fn renames(&self, mut each: impl FnMut(u128, bool, &str, &str)) {
        for renamed in &self.renamed {
            let place = self.places[renamed.entry as usize];
            let folder = &self.folders[place.folder as usize];
            let asset = &folder.assets[place.asset as usize];
            let before = match renamed.sub {
                0 => stem(folder.name(asset.child as usize)),
                sub => folder.get(folder.subs_of(place.asset as usize)[sub as usize - 1].name),
            };
            each(asset.guid, renamed.sub > 0, before, &renamed.name);
        }
    }

    /// Iterates over all diagnostics by path, project-wide ones last.
    pub(crate) fn diags(&self) -> impl Iterator<Item = &Diag> {
        self.folders.iter().flat_map(|folder| folder.diags).chain(&self.crlf)
    }
}
