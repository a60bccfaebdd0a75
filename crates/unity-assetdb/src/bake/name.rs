//! Makes names unique: the stem of each asset, among assets of its type, and no claimant of a name keeps it.
//!
//! Where several assets claim one name, each adds the shortest suffix of its directory path that no other claimant's
//! directory has. That depends on the claimants alone, so that an unrelated asset never changes a name, and the order in
//! which assets are found does not matter. Claimants in one directory, which no parent distinguishes, also add their extension
//! (`main.png^LeakyPen`) or, for sub-assets, the file (`Bloom@LowQuality.asset^Profiles`). An uncontested name is never given
//! to another asset. Names that are ambiguous after that are an error, which lists all of them.

use super::folder::{Asset, BoxedFolder, Folder, Type, stem};
use rayon::slice::ParallelSliceMut;
use std::collections::{BTreeMap, HashMap};
use xxhash_rust::xxh64::xxh64;

/// The location of an asset: its folder, and its index in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) folder: u32,
    pub(crate) asset: u32,
}

/// A name that differs from that in the file: of an asset (`sub` is 0), or of its sub-asset `sub - 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Renamed {
    pub(crate) entry: u32,
    pub(crate) sub: u32,
    pub(crate) name: String,
}

/// Claimants of a name that cannot be distinguished.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ambiguous {
    /// The name that all of them claim.
    pub(crate) name: String,
    /// The GUID and the path of each claimant.
    pub(crate) claimants: Vec<(u128, String)>,
}

#[derive(Clone, Copy)]
struct Claim {
    hash: u64,
    entry: u32,
    sub: u32,
}

/// The input of name resolution.
pub(crate) struct NameResolver<'a> {
    pub(crate) folders: &'a [BoxedFolder],
    /// All assets, by path.
    pub(crate) places: &'a [Place],
    /// The GUIDs of the scripts, ascending.
    pub(crate) scripts: &'a [u128],
    /// The names that a sanitizer changed, by entry and sub-asset.
    pub(crate) sanitized: &'a BTreeMap<(u32, u32), String>,
    /// True if extensions are not used to distinguish names.
    pub(crate) strict: bool,
}

impl<'a> NameResolver<'a> {
    fn asset(&self, entry: u32) -> (&'a Folder, &'a Asset) {
        let place = self.places[entry as usize];
        let folder = &self.folders[place.folder as usize];
        (folder, &folder.assets[place.asset as usize])
    }

    /// Returns the name that a claim starts with.
    fn name(&self, entry: u32, sub: u32) -> &'a str {
        if !self.sanitized.is_empty()
            && let Some(name) = self.sanitized.get(&(entry, sub))
        {
            return name;
        }
        let place = self.places[entry as usize];
        let (folder, asset) = self.asset(entry);
        match sub {
            0 => match asset.flags & Asset::FOLDER {
                0 => stem(folder.name(asset.child as usize)),
                _ => folder.name(asset.child as usize),
            },
            sub => folder.get(folder.subs_of(place.asset as usize)[sub as usize - 1].name),
        }
    }

    /// Returns the type of a claim: names of different types do not conflict.
    fn kind(&self, entry: u32, sub: u32) -> u64 {
        let place = self.places[entry as usize];
        let (folder, asset) = self.asset(entry);
        match (sub, asset.kind) {
            (0, Type::Native(class)) => class.into(),
            (0, Type::Script(guid)) => 1 << 32 | self.scripts.binary_search(&guid.get()).unwrap_or(0) as u64,
            (sub, _) => folder.subs_of(place.asset as usize)[sub as usize - 1].class_id.into(),
        }
    }

    fn hash(name: &str, kind: u64) -> u64 {
        xxh64(name.as_bytes(), 0) ^ kind.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    /// Returns all names that differ from those in the files, by entry and sub-asset.
    ///
    /// # Errors
    /// All names that are ambiguous.
    pub(crate) fn resolve(&self) -> Result<Vec<Renamed>, Vec<Ambiguous>> {
        let claims = self.claims();
        let mut renamed: Vec<Renamed> = Vec::new();
        for (&(entry, sub), name) in self.sanitized {
            renamed.push(Renamed { entry, sub, name: name.clone() });
        }
        let mut ambiguous = Vec::new();
        let mut start = 0;
        while start < claims.len() {
            let count = claims[start..].iter().take_while(|claim| claim.hash == claims[start].hash).count();
            let group = &claims[start..start + count];
            start += count;
            if count > 1 {
                self.group(group, &claims, &mut renamed, &mut ambiguous);
            }
        }
        // A contested name replaces a sanitized one.
        renamed.reverse();
        renamed.sort_by_key(|each| (each.entry, each.sub));
        renamed.dedup_by_key(|each| (each.entry, each.sub));
        self.check_renamed(&renamed, &mut ambiguous);
        ambiguous.sort();
        if ambiguous.is_empty() { Ok(renamed) } else { Err(ambiguous) }
    }

    /// Returns all claims, sorted by hash.
    fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::with_capacity(self.places.len());
        for entry in 0..self.places.len() as u32 {
            let (folder, asset) = self.asset(entry);
            if asset.flags & (Asset::FOLDER | Asset::SETTINGS) != 0 {
                continue;
            }
            let subs = match asset.flags & Asset::SCOPED {
                0 => folder.subs_of(self.places[entry as usize].asset as usize).len() as u32,
                _ => 0,
            };
            for sub in 0..=subs {
                let hash = NameResolver::hash(self.name(entry, sub), self.kind(entry, sub));
                claims.push(Claim { hash, entry, sub });
            }
        }
        claims.par_sort_unstable_by_key(|claim| (claim.hash, claim.entry, claim.sub));
        claims
    }

    /// Resolves claims of one hash, which are nearly always of one name and type.
    fn group(
        &self,
        group: &[Claim],
        all: &[Claim],
        renamed: &mut Vec<Renamed>,
        ambiguous: &mut Vec<Ambiguous>,
    ) {
        let mut buckets: HashMap<(u64, &str), Vec<Claim>> = HashMap::new();
        let key = |claim: &Claim| (self.kind(claim.entry, claim.sub), self.name(claim.entry, claim.sub));
        for claim in group {
            buckets.entry(key(claim)).or_default().push(*claim);
        }
        let mut buckets: Vec<_> = buckets.into_iter().collect();
        buckets.sort_unstable_by_key(|(key, _)| *key);
        for ((kind, name), claims) in buckets {
            if claims.iter().any(|claim| claim.entry != claims[0].entry) {
                self.disambiguate(kind, name, &claims, all, renamed, ambiguous);
            }
        }
    }

    fn disambiguate(
        &self,
        kind: u64,
        name: &str,
        claims: &[Claim],
        all: &[Claim],
        renamed: &mut Vec<Renamed>,
        ambiguous: &mut Vec<Ambiguous>,
    ) {
        let directory = |claim: &Claim| &*self.asset(claim.entry).0.path;
        let mut directories: Vec<&str> = claims.iter().map(directory).collect();
        directories.sort_unstable();
        directories.dedup();
        let mut owners: HashMap<&str, u32> = HashMap::new();
        for directory in &directories {
            for end in suffixes(directory) {
                *owners.entry(end).or_default() += 1;
            }
        }
        let mut entries: HashMap<&str, Vec<u32>> = HashMap::new();
        for claim in claims {
            let list = entries.entry(directory(claim)).or_default();
            if list.last() != Some(&claim.entry) && !list.contains(&claim.entry) {
                list.push(claim.entry);
            }
        }
        let mut unresolved = Vec::new();
        for claim in claims {
            let directory = directory(claim);
            let shares_directory = entries.get(directory).is_some_and(|list| list.len() > 1);
            if shares_directory && self.strict {
                unresolved.push((self.asset(claim.entry).1.guid, self.hint(claim.entry)));
                continue;
            }
            let (folder, asset) = self.asset(claim.entry);
            let file = folder.name(asset.child as usize);
            let base = match (shares_directory, claim.sub) {
                (false, _) => name.to_owned(),
                (true, 0) => match file.rsplit_once('.') {
                    Some((stem, ext)) if !stem.is_empty() => format!("{name}.{ext}"),
                    _ => name.to_owned(),
                },
                (true, _) => format!("{name}@{file}"),
            };
            let free = |end: &&str| !self.reserved(&format!("{base}^{end}"), kind, all);
            let unique = suffixes(directory).filter(|end| owners.get(end) == Some(&1)).find(free);
            let end = unique.or_else(|| Some(directory).filter(free));
            match end {
                Some(end) => renamed.push(Renamed {
                    entry: claim.entry,
                    sub: claim.sub,
                    name: format!("{base}^{end}"),
                }),
                None => unresolved.push((self.asset(claim.entry).1.guid, self.hint(claim.entry))),
            }
        }
        if !unresolved.is_empty() {
            unresolved.sort();
            unresolved.dedup();
            ambiguous.push(Ambiguous { name: name.to_owned(), claimants: unresolved });
        }
    }

    /// Returns whether an asset has this name uncontested.
    fn reserved(&self, name: &str, kind: u64, all: &[Claim]) -> bool {
        let hash = NameResolver::hash(name, kind);
        let start = first_with(all, hash);
        let same = all[start..].iter().take_while(|claim| claim.hash == hash);
        let mut owners = same.filter(|claim| {
            self.kind(claim.entry, claim.sub) == kind && self.name(claim.entry, claim.sub) == name
        });
        let Some(first) = owners.next() else { return false };
        owners.all(|claim| claim.entry == first.entry)
    }

    /// Finds renamed claims that have equal names.
    fn check_renamed(&self, renamed: &[Renamed], ambiguous: &mut Vec<Ambiguous>) {
        let mut finals: Vec<(u64, &str, u32)> = renamed
            .iter()
            .filter(|each| each.sub == 0 || self.asset(each.entry).1.flags & Asset::SCOPED == 0)
            .filter(|each| self.asset(each.entry).1.flags & Asset::FOLDER == 0)
            .map(|each| (self.kind(each.entry, each.sub), &*each.name, each.entry))
            .collect();
        finals.sort_unstable();
        for same in finals.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            if same.iter().any(|each| each.2 != same[0].2) {
                let mut claimants: Vec<_> =
                    same.iter().map(|each| (self.asset(each.2).1.guid, self.hint(each.2))).collect();
                claimants.dedup();
                ambiguous.push(Ambiguous { name: same[0].1.to_owned(), claimants });
            }
        }
    }

    fn hint(&self, entry: u32) -> String {
        let (folder, asset) = self.asset(entry);
        folder.hint(asset.child as usize)
    }
}

/// Returns the position of the first claim with this hash or a higher one. Hashes are uniform: interpolation finds the
/// neighbourhood, where a binary search of all claims would miss the CPU cache a dozen times.
fn first_with(claims: &[Claim], hash: u64) -> usize {
    let guess = ((u128::from(hash) * claims.len() as u128) >> 64) as usize;
    let reach = 2 * claims.len().isqrt() + 1;
    let (low, high) = (guess.saturating_sub(reach), (guess + reach).min(claims.len()));
    let is_before = |claim: &Claim| claim.hash < hash;
    let is_near =
        (low == 0 || is_before(&claims[low - 1])) && (high == claims.len() || !is_before(&claims[high]));
    let (low, high) = if is_near { (low, high) } else { (0, claims.len()) };
    low + claims[low..high].partition_point(is_before)
}

/// Iterates over the suffixes of a path, from its last component to the whole path.
fn suffixes(path: &str) -> impl Iterator<Item = &str> {
    let slashes = path.rmatch_indices('/').map(|(at, _)| &path[at + 1..]);
    slashes.chain([path])
}
