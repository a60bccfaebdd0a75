//! Makes the index of a project, or brings it up to date.
//!
//! A bake compares what it finds with the state of the last one and reads only what changed. When nothing did, nothing is
//! written. Both files appear by rename, under a lock, and the state knows which database it belongs to.

mod dir;
mod fbx;
mod folder;
mod kinds;
mod link;
mod model;
mod name;
mod obj;
mod options;
mod output;
mod read;
mod scan;

pub use options::{BakeError, BakeOptions, Extra, NameSanitizer, ProgressSink, Report, WarnSink};

use crate::guid::Guid;
use crate::state::blocks::Damage;
use crate::state::{EntryRec, NoState, STRICT_NAMES, Section, State, SubRec};
use crate::store::{LOCK, TEMPORARY, cache_path, db_path};
use folder::{Asset, Folder, stem};
use kiln_engine::lock::{LockMode, open_locked};
use kiln_engine::{Diag, Severity};
use link::{Linked, Refused, Sum};
use scan::{Old, Scanned};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Bakes a project.
///
/// ```
/// use unity_assetdb::bake::{BakeOptions, bake};
/// use unity_assetdb::walk::resolve_project_root;
/// # let dir = tempfile::tempdir()?;
/// # std::fs::create_dir_all(dir.path().join("Assets"))?;
/// # std::fs::create_dir_all(dir.path().join("ProjectSettings"))?;
/// # std::env::set_current_dir(dir.path())?;
///
/// let project_root = resolve_project_root(None)?;
/// let opts = BakeOptions {
///     project_root: project_root.clone(),
///     out_dir: project_root.join("Library").join("my-tool"),
///     name_sanitizer: None, // Or Some(Box::new(|s| ...)) to scrub chars
///     on_warn: Some(Box::new(|m| eprintln!("{m}"))),
///     on_progress: Some(Box::new(|m| eprintln!("{m}"))),
///     verbose_timing: false,
///     verbose_collisions: false,
/// };
/// bake(&opts)?;
/// # assert!(opts.out_dir.join("asset-db.bin").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn bake(options: &BakeOptions) -> Result<Report, BakeError> {
    bake_with(options, &Extra::default())
}

/// [`bake`], with what its options do not cover.
pub fn bake_with(options: &BakeOptions, extra: &Extra) -> Result<Report, BakeError> {
    let threads = extra.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.clamp(1, 1024))
        .thread_name(|n| format!("kiln-{n}"))
        .build()
        .map_err(|error| BakeError::Other(format!("the system refuses {threads} threads: {error}")))?;
    pool.install(|| Bake { options, extra }.run())
}

struct Bake<'a> {
    options: &'a BakeOptions,
    extra: &'a Extra,
}

impl Bake<'_> {
    fn run(&self) -> Result<Report, BakeError> {
        let started = Instant::now();
        let project = &self.options.project_root;
        if !project.join("Assets").is_dir() {
            return Err(BakeError::Other(format!("Assets/ not found at {}", project.display())));
        }
        let out_dir = &self.options.out_dir;
        if self.extra.inside_project {
            output::check_inside(project, out_dir)?;
        }
        fs::create_dir_all(out_dir).map_err(|e| at(out_dir, e))?;
        output::check_files(out_dir)?;
        let _lock = self.lock()?;
        sweep(out_dir);
        let state = if self.extra.no_cache { None } else { self.open() };
        self.bake(state, started)
    }

    /// Bakes with what the last one left.
    fn bake(&self, state: Option<State>, started: Instant) -> Result<Report, BakeError> {
        let (project, out_dir) = (&self.options.project_root, &self.options.out_dir);
        let old = state.as_ref().map(Old::new);
        let mut report = Report { cache: started.elapsed(), ..Report::default() };

        let walking = Instant::now();
        let root = dir::Root::open(project).map_err(|e| at(project, e))?;
        let progress = |walked: usize| {
            if let Some(on_walk) = &self.extra.on_walk {
                on_walk(walked);
            }
        };
        let scan = scan::scan(&root, old.as_ref(), now_ns(), &progress);
        report.walk = walking.elapsed();
        (report.walked, report.parsed) = (scan.walked, scan.parsed);
        report.hit = scan.walked.saturating_sub(scan.parsed);

        let building = Instant::now();
        let quiet = match &state {
            Some(state) if !scan.changed && !scan.restamped => self.as_it_was(state, &mut report),
            _ => false,
        };
        if quiet {
            report.build = building.elapsed();
        } else {
            let folders = match in_memory(scan.folders, old.as_ref()) {
                Ok(folders) => folders,
                Err(Damage(why)) => {
                    self.unusable(why);
                    return self.bake(None, started);
                }
            };
            let linked = self.link(folders, &mut report)?;
            report.build = building.elapsed();
            let writing = Instant::now();
            self.write(&linked, state.as_ref())?;
            report.wrote = true;
            report.write = writing.elapsed();
        }
        if self.options.verbose_timing {
            self.say(&timing(&report, started.elapsed()));
        }
        self.say(&format!("baked {} entries → {}", report.entries, db_path(out_dir).display()));
        Ok(report)
    }

    fn say(&self, line: &str) {
        if let Some(say) = &self.options.on_progress {
            say(line);
        }
    }

    fn warn(&self, report: &mut Report, diag: Diag) {
        if let Some(warn) = &self.options.on_warn {
            warn(&diag.to_string());
        }
        report.warnings.push(diag);
    }

    fn note(&self, line: &str) {
        if let Some(note) = self.extra.on_note.as_ref().or(self.options.on_warn.as_ref()) {
            note(line);
        }
    }

    /// Keeps other bakes of this output out until it is dropped.
    fn lock(&self) -> Result<File, BakeError> {
        let path = self.options.out_dir.join(LOCK);
        let waiting = || {
            if let Some(wait) = &self.extra.on_wait {
                wait();
            }
        };
        open_locked(&path, LockMode::Exclusive, &waiting).map_err(|e| at(&path, e))
    }

    /// The state of the last bake, if there is one that can be used. One that cannot is said to be so, and made anew.
    fn open(&self) -> Option<State> {
        let why = match State::open(&self.options.out_dir) {
            Ok(state) => match state.verify(&self.options.out_dir) {
                Ok(()) if state.head.options == self.option_bits() => return Some(state),
                Ok(()) => return None,
                Err(Damage(why)) => why.to_owned(),
            },
            Err(NoState::Missing) => return None,
            Err(NoState::Unusable(why)) => why.to_owned(),
            Err(NoState::OtherDb) => "not of this asset-db.bin".to_owned(),
            Err(NoState::Io(error)) => error.to_string(),
        };
        self.unusable(&why);
        None
    }

    fn unusable(&self, why: &str) {
        self.note(&format!("warning: asset-db.cache.bin is {why}; everything is read again"));
    }

    fn option_bits(&self) -> u32 {
        if self.extra.strict_names { STRICT_NAMES } else { 0 }
    }

    /// Says what the last bake said, if the sanitizer has no other opinion since.
    fn as_it_was(&self, state: &State, report: &mut Report) -> bool {
        let same = || -> Result<(bool, usize, Vec<Diag>, Vec<String>), Damage> {
            let mut lines = Vec::new();
            let sum = self.sanitized(state, &mut lines)?;
            let same = sum == state.head.sanitized
                && state.text(state.head.note.0, state.head.note.1)? == self.extra.note;
            Ok((same, listed(state)?, scan::diags(state)?, lines))
        };
        let Ok((true, entries, diags, lines)) = same() else { return false };
        report.entries = entries;
        for diag in diags {
            self.warn(report, diag);
        }
        for line in lines {
            self.note(&line);
        }
        true
    }

    /// What the sanitizer makes of the names of the last bake, in one number; and what is to be said about them.
    fn sanitized(&self, state: &State, lines: &mut Vec<String>) -> Result<u64, Damage> {
        let sanitize = self.options.name_sanitizer.as_ref();
        if sanitize.is_none() && !self.options.verbose_collisions {
            return Ok(0);
        }
        let mut sum = Sum::default();
        let mut collisions = Vec::new();
        for entry in 0..state.count::<EntryRec>(Section::Entries) as u32 {
            let rec: EntryRec = state.must(Section::Entries, entry)?;
            if rec.flags & (Asset::FOLDER | Asset::SETTINGS) != 0 {
                continue;
            }
            let hint = crate::index::hint_of(state, &rec)?;
            let file = hint.rsplit('/').next().unwrap_or_default();
            let mut each = |sub: u32, raw: &str, name: &str| {
                if let Some(new) = sanitize.and_then(|sanitize| sanitize(raw)).filter(|new| new != raw) {
                    lines.push(sanitized_line(&hint, sub > 0, raw, &new));
                    sum.add(entry, sub, &new);
                }
                if name != raw && self.options.verbose_collisions {
                    collisions.push(collision_line(rec.guid, sub > 0, raw, name));
                }
            };
            each(0, stem(file), state.text(rec.name_at, rec.name_len)?);
            for at in state.subs(entry, &rec)? {
                let sub: SubRec = state.must(Section::Subs, at)?;
                let name = state.text(sub.name_at, sub.name_len)?;
                each(at - rec.first_sub + 1, state.text(sub.raw_at, sub.raw_len)?, name);
            }
        }
        lines.append(&mut collisions);
        Ok(if sanitize.is_some() { sum.done() } else { 0 })
    }

    fn link(&self, folders: Vec<Folder>, report: &mut Report) -> Result<Linked, BakeError> {
        let sanitize = self.options.name_sanitizer.as_ref();
        let sanitize = sanitize.map(|sanitize| move |name: &str| sanitize(name));
        let mut lines = Vec::new();
        let linked = link::link(
            folders,
            self.extra.strict_names,
            sanitize.as_ref().map(|sanitize| sanitize as &dyn Fn(&str) -> Option<String>),
            &mut |hint, sub, before, after| lines.push(sanitized_line(hint, sub, before, after)),
        )
        .map_err(|refused| match refused {
            Refused::Duplicates(found) => BakeError::Duplicates(found),
            Refused::Ambiguous(found) => found.into(),
            Refused::TooLarge => BakeError::Other("the project has more than an index can count".to_owned()),
        })?;
        if let Some(trouble) = linked.diags().find(|diag| diag.severity() == Severity::Error) {
            return Err(BakeError::Other(trouble.to_string()));
        }
        for diag in linked.diags() {
            self.warn(report, diag.clone());
        }
        for line in lines {
            self.note(&line);
        }
        if self.options.verbose_collisions {
            linked.renames(|guid, sub, before, after| self.note(&collision_line(guid, sub, before, after)));
        }
        report.entries = linked.listed();
        Ok(linked)
    }

    fn write(&self, linked: &Linked, old: Option<&State>) -> Result<(), BakeError> {
        let (db, state) = (db_path(&self.options.out_dir), cache_path(&self.options.out_dir));
        let (written, unfinished) =
            rayon::join(|| linked.write_db(&db), || linked.write_state(&state, &self.extra.note));
        let written = written.map_err(|e| at(&db, e))?;
        let unfinished = unfinished.map_err(|e| at(&state, e))?;
        let mut head = written.head;
        head.options = self.option_bits();
        // A database that would be the same stays, with its time.
        let same = old.filter(|old| (old.head.db_len, old.head.db_crc) == (head.db_len, head.db_crc));
        if let Some(old) = same {
            head.db_mtime_ns = old.head.db_mtime_ns;
        }
        let new_state = unfinished.finish(head).map_err(|e| at(&state, e))?;
        if same.is_none() {
            written.db.publish(&db).map_err(|e| at(&db, e))?;
        }
        new_state.publish(&state).map_err(|e| at(&state, e))
    }
}

/// What was read, and what is as it was from the state: it fails where that is not what a bake leaves.
fn in_memory(scanned: Vec<Scanned>, old: Option<&Old<'_>>) -> Result<Vec<Folder>, Damage> {
    let folder = |scanned| match scanned {
        Scanned::Fresh(folder) => Ok(*folder),
        Scanned::Same(at) => old.ok_or(Damage("gone"))?.load(at),
    };
    scanned.into_iter().map(folder).collect()
}

/// The system refused something that was to be done with a path.
fn at(path: &Path, error: io::Error) -> BakeError {
    io::Error::new(error.kind(), format!("{}: {error}", path.display())).into()
}

fn sanitized_line(hint: &str, sub: bool, before: &str, after: &str) -> String {
    let what = if sub { "sub-asset of" } else { "asset" };
    format!("warning: {what} {hint} name `{before}` contains ref-reserved char; renamed to `{after}`")
}

fn collision_line(guid: u128, sub: bool, before: &str, after: &str) -> String {
    match sub {
        false => format!("warning: name collision on `{before}` (guid {}); renamed to `{after}`", Guid(guid)),
        true => {
            format!(
                "warning: sub-asset name collision on `{before}` (parent guid {}); renamed to `{after}`",
                Guid(guid)
            )
        }
    }
}

fn timing(report: &Report, total: std::time::Duration) -> String {
    let Report { walked, hit, parsed, cache, walk, build, write, .. } = report;
    let wrote = if report.wrote { "(wrote)" } else { "(skipped)" };
    format!(
        "  walked={walked} hit={hit} parsed={parsed} | cache={cache:?} walk={walk:?} build={build:?} write={write:?} {wrote} total={total:?}"
    )
}

fn listed(state: &State) -> Result<usize, Damage> {
    let mut count = 0;
    for entry in 0..state.count::<EntryRec>(Section::Entries) as u32 {
        let rec: EntryRec = state.must(Section::Entries, entry)?;
        count += usize::from(rec.flags & Asset::LISTED != 0);
    }
    Ok(count)
}

/// The warnings of the bake that left this state.
pub(crate) fn warnings(state: &State) -> Result<Vec<Diag>, Damage> {
    scan::diags(state)
}

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
}

/// Removes what a killed bake left. Called under the lock.
fn sweep(out_dir: &Path) {
    let Ok(entries) = fs::read_dir(out_dir) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            let _: io::Result<()> = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read::implicit_sprite;
    use crate::meta::Meta;

    fn single(meta: Meta<'_>) -> bool {
        implicit_sprite(&meta) == Some((21_300_000, 213))
    }

    fn sprite<'a>() -> Meta<'a> {
        Meta { texture_type: Some(8), sprite_mode: Some(1), ..Meta::default() }
    }

    #[test]
    fn synthesize_implicit_sprite_for_single_mode() {
        assert!(single(sprite()));
    }

    #[test]
    fn synthesize_implicit_sprite_beside_a_stale_sheet() {
        // Unity keeps the rows of an old sheet, and makes the sprite all the same: references say so.
        assert!(single(Meta { sprites: vec![("old".into(), 5)], ..sprite() }));
    }

    #[test]
    fn synthesize_implicit_sprite_not_for_sheets() {
        assert!(!single(Meta { sprite_mode: Some(2), ..sprite() }));
    }

    #[test]
    fn synthesize_implicit_sprite_not_for_other_textures() {
        assert!(!single(Meta { texture_type: Some(0), ..sprite() }));
        assert!(!single(Meta::default()));
    }
}
