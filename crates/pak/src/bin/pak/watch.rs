//! The `pak watch` command: bakes when sources change, and prints the keys that differ.

use ::pak::bake::{BakeError, DevPak, WatchEvent};
use kiln_cli::progress::Verbosity;
use kiln_cli::reporter::{FAILED, OK, Reporter};
use kiln_engine::{Diag, Json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) fn watch(
    reporter: &Reporter,
    toml: &Path,
    pak: &Path,
    dir: Option<PathBuf>,
    poll: Duration,
) -> Result<u8, Diag> {
    let opened = match dir {
        Some(dir) => DevPak::open_with_dir(toml, pak, dir),
        None => DevPak::open(toml, pak),
    };
    let mut watched = match opened {
        Ok(watched) => watched,
        Err(error) => {
            report(reporter, &error);
            return Ok(FAILED);
        }
    };
    if reporter.verbosity > Verbosity::Quiet {
        reporter.summary().line(&format!("watching the sources of {}; Ctrl-C stops", pak.display()));
    }
    watched.watch(poll, |_, event| {
        match event {
            WatchEvent::Changed { keys, baked } => {
                reporter.say_grouped(&baked.warnings);
                if reporter.json {
                    let change = |(key, change): &(String, ::pak::Change)| {
                        Json::object([("key", key.as_str().into()), ("change", change.name().into())])
                    };
                    let list = Json::list(keys.iter().map(change));
                    reporter.print_json(Json::object([("changes", list)]));
                } else {
                    let mut out = reporter.out();
                    for (key, change) in &keys {
                        out.line(&format!("{:<8} {}", change.name(), kiln_cli::render::printable(key)));
                    }
                }
            }
            WatchEvent::Failed(error) => report(reporter, &error),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    Ok(OK)
}

fn report(reporter: &Reporter, error: &BakeError) {
    reporter.say_grouped(&error.problems);
}
