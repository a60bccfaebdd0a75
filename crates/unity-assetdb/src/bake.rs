//! Bakes the index of a project: creates it, or updates it incrementally.
//!
//! A bake compares the files of the project with the state of the last bake and reads only those that changed. If none did,
//! nothing is written. Both files are published atomically under a lock, and the state records which database it belongs to.

mod dir;
mod fbx;
mod folder;
mod folder_batch;
mod gltf;
mod import_plan;
mod input_actions;
mod link;
pub(crate) mod model;
mod name;
mod obj;
mod options;
mod output;
mod previous;
mod read;
mod scan;
mod scripted_importers;
mod serialized_file;
mod url_references;

pub use options::{BakeError, BakeOptions, Extra, NameSanitizer, ProgressSink, Report, WalkSink, WarnSink};

use crate::file_name::stem;
use crate::guid::Guid;
use crate::index::Index;
use crate::state::pages::Damage;
use crate::state::{DUPLICATES, EntryRec, STRICT_NAMES, Section, State, StateError, SubRec, crc_of};
use crate::store::{LOCK, cache_path, db_path};
use folder::{Asset, Folder, FolderView};
use folder_batch::FolderBatch;
use kiln_engine::lock::{LockMode, open_locked};
use kiln_engine::publish::Durability;
use kiln_engine::{Code, Diag, Real, Severity};
use link::{LinkError, Linked, NameDigest, Naming};
use previous::Previous;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Bakes the index of a project, with the options of the specification.
///
/// # Errors
/// [`BakeError`] if the project or the output directory cannot be used, GUIDs are duplicated or names are ambiguous. The
/// files of the last bake are then unchanged.
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

/// Bakes the index of a project, with the additional options of [`Extra`].
///
/// # Errors
/// As [`bake`].
pub fn bake_with(options: &BakeOptions, extra: &Extra) -> Result<Report, BakeError> {
    thread_pool(extra)?.install(|| {
        let started = Instant::now();
        let bake = Bake::new(options, extra);
        let (out, _lock) = bake.prepare()?;
        let state = if extra.no_cache { None } else { bake.open() };
        bake.run(&out, state, started).map(|(report, _)| report)
    })
}

/// Brings the index of a project up to date for a query, and opens it.
///
/// The options of the last bake apply: its strict names, and its [note](Extra::note), from which `sanitizer` makes the name
/// sanitizer again. Where no file changed, the state is mapped once, and only the pages that the walk reads are verified;
/// the index verifies others when it reads them. A lookup that fails with [`IndexError::Unusable`] has found damage: refresh
/// again with [`Extra::no_cache`].
///
/// A project in which several assets share a GUID has an index for queries, in which the first of them, by folder and name, has the
/// GUID
/// ([`crate::query::duplicates`]). The database is then left as it was, because [`bake`] fails for such a project.
///
/// [`IndexError::Unusable`]: crate::index::IndexError::Unusable
///
/// # Errors
/// As [`bake_with`].
pub fn refresh(
    project_root: &Path,
    out_dir: &Path,
    extra: Extra,
    sanitizer: &(dyn Fn(&str) -> Option<NameSanitizer> + Sync),
) -> Result<Index, BakeError> {
    thread_pool(&extra)?.install(|| {
        let started = Instant::now();
        let options = BakeOptions {
            project_root: project_root.to_owned(),
            out_dir: out_dir.to_owned(),
            name_sanitizer: None,
            on_warn: None,
            on_progress: None,
            verbose_timing: false,
            verbose_collisions: false,
        };
        let (out, _lock) = Bake::new(&options, &extra).prepare()?;
        let state = State::open(out_dir).ok();
        let note = |state: &State| state.string(state.header.note.0, state.header.note.1).map(str::to_owned);
        let note = state.as_ref().and_then(|state| note(state).ok()).unwrap_or_default();
        let strict_names = state.as_ref().is_some_and(|state| state.header.options & STRICT_NAMES != 0);
        let options = BakeOptions { name_sanitizer: sanitizer(&note), ..options };
        let extra = Extra { note, strict_names, ..extra };
        let bake = Bake { refresh: true, ..Bake::new(&options, &extra) };
        let (_, state) = bake.run(&out, state.filter(|_| !extra.no_cache), started)?;
        bake.reopen(state)
    })
}

/// Brings the side index of packages up to date and opens it. `roots` are the folders of the packages, relative to the
/// project; `out_dir` belongs to the side index alone. Names are those of the files, and nothing is reported.
///
/// # Errors
/// As [`bake_with`], except for duplicate GUIDs and names.
pub(crate) fn refresh_packages(
    project_root: &Path,
    out_dir: &Path,
    roots: Vec<String>,
) -> Result<Index, BakeError> {
    let options = BakeOptions {
        project_root: project_root.to_owned(),
        out_dir: out_dir.to_owned(),
        name_sanitizer: None,
        on_warn: None,
        on_progress: None,
        verbose_timing: false,
        verbose_collisions: false,
    };
    let extra = Extra::default().inside_project(out_dir.starts_with(project_root));
    thread_pool(&extra)?.install(|| {
        let bake = Bake { refresh: true, naming: Naming::FileNames, roots, ..Bake::new(&options, &extra) };
        let (out, _lock) = bake.prepare()?;
        let (_, state) = bake.run(&out, State::open(out_dir).ok(), Instant::now())?;
        bake.reopen(state)
    })
}

fn thread_pool(extra: &Extra) -> Result<rayon::ThreadPool, BakeError> {
    let threads = extra.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.clamp(1, 1024))
        .thread_name(|n| format!("kiln-{n}"))
        .build()
        .map_err(|error| BakeError::Other(format!("cannot start {threads} threads: {error}")))
}

struct Bake<'a> {
    options: &'a BakeOptions,
    extra: &'a Extra,
    /// True for a refresh: the options are those of the last bake, and the report is not used.
    refresh: bool,
    /// The folders that are walked, relative to the project.
    roots: Vec<String>,
    naming: Naming,
}

impl<'a> Bake<'a> {
    /// Creates a bake of the project's own folders.
    fn new(options: &'a BakeOptions, extra: &'a Extra) -> Bake<'a> {
        let roots = crate::walk::ROOTS.into_iter().chain([scan::SETTINGS]).map(str::to_owned).collect();
        let naming = Naming::Unique { strict: extra.strict_names };
        Bake { options, extra, refresh: false, roots, naming }
    }

    /// Opens the index that this bake wrote, or found up to date.
    fn reopen(&self, state: Option<State>) -> Result<Index, BakeError> {
        let out_dir = &self.options.out_dir;
        let state = match state {
            Some(state) => state,
            None => State::open(out_dir).map_err(|error| match error {
                StateError::Io(error) => at(&cache_path(out_dir), error),
                _ => BakeError::Other("the index was modified while it was being written".to_owned()),
            })?,
        };
        Ok(Index { state, out_dir: out_dir.clone(), is_fresh: true })
    }

    /// Opens and locks the output directory.
    fn prepare(&self) -> Result<(Real, File), BakeError> {
        let project = &self.options.project_root;
        if !project.join("Assets").is_dir() {
            return Err(BakeError::Other(format!("Assets/ not found at {}", project.display())));
        }
        let out_dir = &self.options.out_dir;
        if self.extra.inside_project {
            output::check_inside(project, out_dir)?;
        }
        fs::create_dir_all(out_dir).map_err(|error| {
            let message = format!("cannot create the directory {}: {error}", out_dir.display());
            io::Error::new(error.kind(), message)
        })?;
        output::check_files(out_dir)?;
        let lock = self.lock()?;
        let out = crate::store::output(out_dir).map_err(|e| at(out_dir, e))?;
        // Temporary files of a bake that was killed. One that cannot be removed takes space and nothing else.
        let _: io::Result<()> = out.sweep();
        Ok((out, lock))
    }

    /// Bakes from the state of the last bake. Returns that state, too, if it is still up to date.
    fn run(
        &self,
        out: &Real,
        state: Option<State>,
        started: Instant,
    ) -> Result<(Report, Option<State>), BakeError> {
        let (project, out_dir) = (&self.options.project_root, &self.options.out_dir);
        let old = state.as_ref().map(Previous::new);
        let mut report = Report { cache: started.elapsed(), ..Report::default() };

        let walking = Instant::now();
        let root = dir::Root::open(project).map_err(|e| at(project, e))?;
        let progress = |walked: usize| {
            if let Some(on_walk) = &self.extra.on_walk {
                on_walk(walked);
            }
        };
        let scan = scan::scan(&root, &self.roots, old.as_ref(), now_ns(), &progress);
        report.walk = walking.elapsed();
        (report.walked, report.parsed) = (scan.walked, scan.parsed);
        report.hit = scan.walked.saturating_sub(scan.parsed);

        let building = Instant::now();
        let unchanged = match &state {
            Some(state) if !scan.changed && !scan.restamped => {
                let has_duplicates = state.header.options & DUPLICATES != 0;
                self.refresh || !has_duplicates && self.replay_warnings(state, &mut report)
            }
            _ => false,
        };
        if unchanged {
            report.build = building.elapsed();
        } else {
            let mut batches = scan.fresh;
            match load(&scan.same, old.as_ref()) {
                Ok(unchanged) => batches.push(unchanged),
                Err(Damage(why)) => {
                    self.unusable(why);
                    drop(batches);
                    return self.run(out, None, started);
                }
            }
            let folders = batches.iter().flat_map(FolderBatch::views).collect();
            let linked = self.link(folders, &mut report)?;
            report.build = building.elapsed();
            let writing = Instant::now();
            self.write(&linked, out, state.as_ref())?;
            report.wrote = true;
            report.write = writing.elapsed();
        }
        if self.options.verbose_timing {
            self.report_progress(&timing(&report, started.elapsed()));
        }
        self.report_progress(&format!("baked {} entries → {}", report.entries, db_path(out_dir).display()));
        Ok((report, state.filter(|_| unchanged)))
    }

    fn report_progress(&self, line: &str) {
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

    fn notice(&self, line: &str) {
        if let Some(note) = self.extra.on_note.as_ref().or(self.options.on_warn.as_ref()) {
            note(line);
        }
    }

    /// Locks the output directory against other bakes until the lock is dropped.
    fn lock(&self) -> Result<File, BakeError> {
        let path = self.options.out_dir.join(LOCK);
        let waiting = || {
            if let Some(wait) = &self.extra.on_wait {
                wait();
            }
        };
        open_locked(&path, LockMode::Exclusive, &waiting).map_err(|e| at(&path, e))
    }

    /// Opens and verifies the state of the last bake. A state that cannot be used is reported and ignored.
    fn open(&self) -> Option<State> {
        let why = match State::open(&self.options.out_dir) {
            Ok(state) => match state.verify(&self.options.out_dir) {
                Ok(()) if state.header.options & !DUPLICATES == self.option_bits() => return Some(state),
                Ok(()) => return None,
                Err(Damage(why)) => why.to_owned(),
            },
            Err(StateError::Missing) => return None,
            Err(StateError::Unusable(why)) => why.to_owned(),
            Err(StateError::OtherDatabase) => "it does not belong to this asset-db.bin".to_owned(),
            Err(StateError::Io(error)) => error.to_string(),
        };
        self.unusable(&why);
        None
    }

    fn unusable(&self, why: &str) {
        self.notice(&format!("warning: asset-db.cache.bin cannot be used: {why}; everything is read again"));
    }

    fn option_bits(&self) -> u32 {
        if self.extra.strict_names { STRICT_NAMES } else { 0 }
    }

    /// Repeats the warnings of the last bake, unless the sanitizer gives other results. Returns whether the state is up to
    /// date.
    fn replay_warnings(&self, state: &State, report: &mut Report) -> bool {
        let same = || -> Result<(bool, usize, Vec<Diag>, Vec<String>), Damage> {
            let mut lines = Vec::new();
            let sum = self.sanitized(state, &mut lines)?;
            let same = sum == state.header.sanitized
                && state.string(state.header.note.0, state.header.note.1)? == self.extra.note;
            Ok((same, state.header.listed as usize, previous::diags(state)?, lines))
        };
        let Ok((true, entries, diags, lines)) = same() else { return false };
        if diags.iter().any(|diag| diag.severity() == Severity::Error) {
            return false;
        }
        report.entries = entries;
        for diag in diags {
            self.warn(report, diag);
        }
        for line in lines {
            self.notice(&line);
        }
        true
    }

    /// Returns a digest of the names that the sanitizer changes, and adds the messages about them to `lines`.
    fn sanitized(&self, state: &State, lines: &mut Vec<String>) -> Result<u64, Damage> {
        let sanitize = self.options.name_sanitizer.as_ref();
        if sanitize.is_none() && !self.options.verbose_collisions {
            return Ok(0);
        }
        let mut sum = NameDigest::default();
        let mut collisions = Vec::new();
        for entry in 0..state.count::<EntryRec>(Section::Entries) as u32 {
            let rec: EntryRec = state.record(Section::Entries, entry)?;
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
            each(0, stem(file), state.string(rec.name_at, rec.name_len)?);
            for at in state.subs(entry, &rec)? {
                let sub: SubRec = state.record(Section::Subs, at)?;
                let name = state.string(sub.name_at, sub.name_len)?;
                each(at - rec.first_sub + 1, state.string(sub.raw_at, sub.raw_len)?, name);
            }
        }
        lines.append(&mut collisions);
        Ok(if sanitize.is_some() { sum.done() } else { 0 })
    }

    fn link<'f>(&self, folders: Vec<FolderView<'f>>, report: &mut Report) -> Result<Linked<'f>, BakeError> {
        let sanitize = self.options.name_sanitizer.as_ref();
        let sanitize = sanitize.map(|sanitize| move |name: &str| sanitize(name));
        let mut lines = Vec::new();
        let linked = link::link(
            folders,
            self.naming,
            self.refresh,
            sanitize.as_ref().map(|sanitize| sanitize as &dyn Fn(&str) -> Option<String>),
            &mut |hint, sub, before, after| lines.push(sanitized_line(hint, sub, before, after)),
        )
        .map_err(|refused| match refused {
            LinkError::Duplicates(found) => BakeError::Duplicates(found),
            LinkError::Ambiguous(found) => found.into(),
            LinkError::TooLarge => {
                BakeError::Other("the project exceeds the limits of the index: 2^31 assets, sub-assets or references, or 2 GB of names".to_owned())
            }
        })?;
        let is_duplicate = |diag: &&Diag| diag.code == Code::UnityDuplicateObject;
        let is_error = |diag: &&Diag| diag.severity() == Severity::Error && !is_duplicate(diag);
        if let Some(trouble) = linked.diags().find(is_error) {
            return Err(BakeError::Other(trouble.to_string()));
        }
        let duplicates: Vec<Diag> = linked.diags().filter(is_duplicate).cloned().collect();
        // A query goes on with the first of the objects; a bake fails until the file is repaired.
        if !duplicates.is_empty() && !self.refresh {
            return Err(BakeError::Objects(duplicates));
        }
        for diag in linked.diags() {
            self.warn(report, diag.clone());
        }
        for line in lines {
            self.notice(&line);
        }
        if self.options.verbose_collisions {
            linked.renames(|guid, sub, before, after| self.notice(&collision_line(guid, sub, before, after)));
        }
        report.entries = linked.listed();
        Ok(linked)
    }

    fn write(&self, linked: &Linked<'_>, out: &Real, old: Option<&State>) -> Result<(), BakeError> {
        let (db, state) = (db_path(&self.options.out_dir), cache_path(&self.options.out_dir));
        let (written, unfinished) =
            rayon::join(|| linked.write_db(out), || linked.write_state(out, &self.extra.note));
        let written = written.map_err(|e| at(&db, e))?;
        let unfinished = unfinished.map_err(|e| at(&state, e))?;
        let mut header = written.header;
        header.options = self.option_bits();
        // A database that would not change keeps its file and its modification time.
        let same = old
            .filter(|old| (old.header.db_len, old.header.db_crc) == (header.db_len, header.db_crc))
            .filter(|_| crc_of(&db).is_ok_and(|crc| crc == header.db_crc));
        if let Some(old) = same {
            header.db_mtime_ns = old.header.db_mtime_ns;
        }
        if linked.has_duplicates {
            // Other tools rely on unique GUIDs in the database: the last good one stays.
            header.options |= DUPLICATES;
            (header.db_len, header.db_crc, header.db_mtime_ns) = (0, 0, 0);
            let new_state = unfinished.finish(header).map_err(|e| at(&state, e))?;
            return new_state.publish(&state, Durability::Verified).map_err(|e| at(&state, e));
        }
        let new_state = unfinished.finish(header).map_err(|e| at(&state, e))?;
        if same.is_none() {
            written.db.publish(&db, Durability::Durable).map_err(|e| at(&db, e))?;
        }
        // Not flushed: readers verify its pages, so that a torn state is rebuilt.
        new_state.publish(&state, Durability::Verified).map_err(|e| at(&state, e))
    }
}

/// Loads unchanged folders from the state.
///
/// # Errors
/// If the state is damaged.
fn load(unchanged: &[u32], old: Option<&Previous<'_>>) -> Result<FolderBatch, Damage> {
    let (mut batch, mut folder) = (FolderBatch::default(), Folder::default());
    for at in unchanged {
        old.ok_or(Damage("it is gone"))?.load_into(*at, &mut folder)?;
        batch.push(&mut folder);
    }
    Ok(batch)
}

/// Adds the path to an I/O error.
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

/// Returns the warnings of the bake that wrote this state.
pub(crate) fn warnings(state: &State) -> Result<Vec<Diag>, Damage> {
    previous::diags(state)
}

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64)
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
        // Unity keeps the rows of an old sheet and creates the sprite nevertheless, as references show.
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
