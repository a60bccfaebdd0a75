//! Makes names unique: the stem of each asset, among assets of its type, and no claimant of a name keeps it.
//!
//! Where several assets claim one name, each adds the shortest suffix of its directory path that no other claimant's
//! directory has. That depends on the claimants alone, so that an unrelated asset never changes a name, and the order in
//! which assets are found does not matter. Claimants in one directory, which no parent distinguishes, also add their extension
//! (`main.png^LeakyPen`) or, for sub-assets, the file (`Bloom@LowQuality.asset^Profiles`). An uncontested name is never given
//! to another asset. Names that are ambiguous after that are an error, which lists all of them.

use super::folder::{Asset, FolderView, Type};
use crate::file_name::stem;
use std::borrow::Cow;
use std::collections::BTreeMap;
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

impl Claim {
    /// Returns the key to sort by: one number is compared faster than three.
    fn key(&self) -> u128 {
        u128::from(self.hash) << 64 | u128::from(self.entry) << 32 | u128::from(self.sub)
    }
}

/// All claims, sorted by hash.
struct Claims {
    list: Vec<Claim>,
    /// A bit for the high bits of each hash: most names that are looked up are claimed by nobody, and one bit shows that
    /// without a search of the list.
    filter: Vec<u64>,
}

impl Claims {
    /// The number of bits of the filter for each claim.
    const FILTER_BITS: usize = 16;

    fn new(mut list: Vec<Claim>) -> Claims {
        list.sort_unstable_by_key(|claim| claim.key());
        let words = (list.len() * Claims::FILTER_BITS / 64).next_power_of_two();
        let mut claims = Claims { list, filter: vec![0; words] };
        for at in 0..claims.list.len() {
            let (word, bit) = claims.filter_bit(claims.list[at].hash);
            claims.filter[word] |= bit;
        }
        claims
    }

    /// Returns the word of the filter for a hash, and the bit in it.
    fn filter_bit(&self, hash: u64) -> (usize, u64) {
        let at = (u128::from(hash) * (self.filter.len() as u128 * 64)) >> 64;
        (at as usize / 64, 1 << (at % 64))
    }

    /// Returns the claims with a hash.
    fn with_hash(&self, hash: u64) -> &[Claim] {
        let (word, bit) = self.filter_bit(hash);
        if self.filter[word] & bit == 0 {
            return &[];
        }
        let from = &self.list[first_with(&self.list, hash)..];
        &from[..from.iter().take_while(|claim| claim.hash == hash).count()]
    }
}

/// The input of name resolution.
pub(crate) struct NameResolver<'a> {
    pub(crate) folders: &'a [FolderView<'a>],
    /// All assets, by path.
    pub(crate) places: &'a [Place],
    /// The index of the script of each asset, or `NONE`.
    pub(crate) script_of: &'a [u32],
    /// The names that a sanitizer changed, by entry and sub-asset.
    pub(crate) sanitized: &'a BTreeMap<(u32, u32), String>,
    /// True if extensions are not used to distinguish names.
    pub(crate) strict: bool,
}

impl<'a> NameResolver<'a> {
    fn asset(&self, entry: u32) -> (&'a FolderView<'a>, &'a Asset) {
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
        match sub {
            0 => self.asset_kind(entry, asset),
            sub => folder.subs_of(place.asset as usize)[sub as usize - 1].class_id.into(),
        }
    }

    fn asset_kind(&self, entry: u32, asset: &Asset) -> u64 {
        match asset.kind {
            Type::Native(class) => class.into(),
            Type::Script(_) => 1 << 32 | u64::from(self.script_of[entry as usize]),
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
        for group in claims.list.chunk_by(|a, b| a.hash == b.hash).filter(|group| group.len() > 1) {
            self.group(group, &claims, &mut renamed, &mut ambiguous);
        }
        // A contested name replaces a sanitized one.
        renamed.reverse();
        renamed.sort_by_key(|each| (each.entry, each.sub));
        renamed.dedup_by_key(|each| (each.entry, each.sub));
        self.check_renamed(&renamed, &mut ambiguous);
        ambiguous.sort();
        if ambiguous.is_empty() { Ok(renamed) } else { Err(ambiguous) }
    }

    fn claims(&self) -> Claims {
        let mut claims = Vec::with_capacity(self.places.len());
        let mut entry = 0;
        for folder in self.folders {
            for (n, asset) in folder.assets.iter().enumerate() {
                self.claim(folder, asset, n, entry, &mut claims);
                entry += 1;
            }
        }
        Claims::new(claims)
    }

    /// Adds the claims of an asset and its sub-assets.
    fn claim(&self, folder: &FolderView<'_>, asset: &Asset, n: usize, entry: u32, claims: &mut Vec<Claim>) {
        if asset.flags & (Asset::FOLDER | Asset::SETTINGS) != 0 {
            return;
        }
        let mut put = |sub: u32, kind: u64, name: &str| {
            let sanitized = if self.sanitized.is_empty() { None } else { self.sanitized.get(&(entry, sub)) };
            let hash = NameResolver::hash(sanitized.map_or(name, |name| name), kind);
            claims.push(Claim { hash, entry, sub });
        };
        put(0, self.asset_kind(entry, asset), stem(folder.name(asset.child as usize)));
        if asset.flags & Asset::SCOPED == 0 {
            for (sub, object) in (1..).zip(folder.subs_of(n)) {
                put(sub, object.class_id.into(), folder.get(object.name));
            }
        }
    }

    /// Resolves claims of one hash, which are nearly always of one name and type.
    fn group(
        &self,
        group: &[Claim],
        all: &Claims,
        renamed: &mut Vec<Renamed>,
        ambiguous: &mut Vec<Ambiguous>,
    ) {
        let key = |claim: &Claim| (self.kind(claim.entry, claim.sub), self.name(claim.entry, claim.sub));
        let mut keyed: Vec<((u64, &str), Claim)> = group.iter().map(|claim| (key(claim), *claim)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        for same in keyed.chunk_by(|a, b| a.0 == b.0) {
            if same.iter().any(|(_, claim)| claim.entry != same[0].1.entry) {
                let ((kind, name), _) = same[0];
                let claims: Vec<Claim> = same.iter().map(|(_, claim)| *claim).collect();
                self.disambiguate(kind, name, &claims, all, renamed, ambiguous);
            }
        }
    }

    /// Gives each of the claims of one name and type a name of its own.
    fn disambiguate(
        &self,
        kind: u64,
        name: &str,
        claims: &[Claim],
        all: &Claims,
        renamed: &mut Vec<Renamed>,
        ambiguous: &mut Vec<Ambiguous>,
    ) {
        // Sorted by their components from the last one: the directory with most of them in common is a neighbour.
        let mut claims: Vec<(&str, Claim)> =
            claims.iter().map(|claim| (self.asset(claim.entry).0.path, *claim)).collect();
        claims.sort_by(|a, b| a.0.rsplit('/').cmp(b.0.rsplit('/')));
        let mut directories = claims.chunk_by(|a, b| a.0 == b.0).peekable();
        let mut unresolved = Vec::new();
        let mut common_before = 0;
        while let Some(claims) = directories.next() {
            let directory = claims[0].0;
            let common_after = directories.peek().map_or(0, |next| common_components(directory, next[0].0));
            let common = common_before.max(common_after);
            common_before = common_after;
            let shares_directory = claims.iter().any(|(_, claim)| claim.entry != claims[0].1.entry);
            for (_, claim) in claims {
                let new_name = || {
                    let base = self.base_name(claim, name, shares_directory);
                    // The suffixes that no other directory has, and at last the whole path.
                    let suffixes = suffixes(directory).skip(common).chain([directory]);
                    suffixes
                        .map(|end| [&base, "^", end].concat())
                        .find(|name| !self.reserved(name, kind, all))
                };
                let (entry, sub) = (claim.entry, claim.sub);
                match if shares_directory && self.strict { None } else { new_name() } {
                    Some(name) => renamed.push(Renamed { entry, sub, name }),
                    None => unresolved.push((self.asset(entry).1.guid, self.hint(entry))),
                }
            }
        }
        if !unresolved.is_empty() {
            unresolved.sort();
            unresolved.dedup();
            ambiguous.push(Ambiguous { name: name.to_owned(), claimants: unresolved });
        }
    }

    /// Returns the name that the suffix of a directory is added to: in a directory with several claimants, it has the
    /// extension or the file.
    fn base_name<'n>(&self, claim: &Claim, name: &'n str, shares_directory: bool) -> Cow<'n, str> {
        if !shares_directory {
            return name.into();
        }
        let (folder, asset) = self.asset(claim.entry);
        let file = folder.name(asset.child as usize);
        match (claim.sub, file.rsplit_once('.')) {
            (0, Some((stem, ext))) if !stem.is_empty() => format!("{name}.{ext}").into(),
            (0, _) => name.into(),
            _ => format!("{name}@{file}").into(),
        }
    }

    /// Returns whether an asset has this name uncontested.
    fn reserved(&self, name: &str, kind: u64, all: &Claims) -> bool {
        let hash = NameResolver::hash(name, kind);
        let mut owners = all.with_hash(hash).iter().filter(|claim| {
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

/// Returns how many components two paths have in common at their ends.
fn common_components(a: &str, b: &str) -> usize {
    a.rsplit('/').zip(b.rsplit('/')).take_while(|(a, b)| a == b).count()
}

/// Iterates over the suffixes of a path, from its last component to the whole path.
fn suffixes(path: &str) -> impl Iterator<Item = &str> {
    let slashes = path.rmatch_indices('/').map(|(at, _)| &path[at + 1..]);
    slashes.chain([path])
}
