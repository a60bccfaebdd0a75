//! Every side-by-side table by one command: runs the benches in turn, keeps what they print in `bench/results.json`, and
//! puts it into the documentation.
//!
//! ```text
//! cargo run --release --manifest-path bench/all/Cargo.toml -- <data>     every table; <data> has images/, gltf/, unity/
//!     --only NAME    one table, merged into the results; may be given again
//!     --no-build     takes the executables as they are
//!     --quick        small sizes, to see that everything runs; results go to <target>/bench-quick.json
//!     --compare OLD  compares the new results with a file of older ones, and fails if something got slower beyond noise
//! cargo run --release --manifest-path bench/all/Cargo.toml -- compare OLD    compares the results that there are
//! cargo run --release --manifest-path bench/all/Cargo.toml -- docs       fills the documentation from the results
//!     --check        fails if that would change anything
//! cargo run --release --manifest-path bench/all/Cargo.toml -- list       the names of the tables
//! ```
//!
//! Without `<data>` only the tables over generated sources are run; the others are listed as missing. Nothing here
//! measures: that is what the programs in `bench/*` do, each in a process of its own. Linux only, as they are.

mod block;
mod compare;
mod docs;
mod headlines;
mod results;
mod rivals;
mod run;
mod tables;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    match start(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("bench-all: {text}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: Vec<String>) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().map_err(|e| format!("{}: {e}", root.display()))?;
    let (mut data, mut only, mut quick, mut build, mut check, mut words) =
        (None, Vec::new(), false, true, false, Vec::new());
    let mut old = None;
    let mut arguments = arguments.into_iter();
    while let Some(word) = arguments.next() {
        match word.as_str() {
            "--only" => only.push(arguments.next().ok_or("--only wants the name of a table")?),
            "--compare" => old = Some(arguments.next().ok_or("--compare wants a file of results")?),
            "--quick" => quick = true,
            "--no-build" => build = false,
            "--check" => check = true,
            "docs" | "list" => words.push(word),
            "compare" => {
                old = Some(arguments.next().ok_or("compare wants a file of results")?);
                words.push(word);
            }
            option if option.starts_with('-') => return Err(format!("{option} is not known here")),
            _ => data = Some(PathBuf::from(word)),
        }
    }
    // Read before the results may be replaced: it may be the same file.
    let read = |path: &Path| {
        path.is_file().then_some(()).ok_or_else(|| format!("{}: no such file", path.display()))?;
        results::Results::read(path)
    };
    let old = old.map(|path| read(Path::new(&path))).transpose()?;
    match words.first().map(String::as_str) {
        Some("compare") => {
            let new = read(&root.join("bench/results.json"))?;
            return old.map_or(Ok(()), |old| compare::print(&old, &new));
        }
        Some("list") => tables::NAMES.iter().for_each(|name| println!("{name}")),
        Some(_) => return docs::fill(&root, check),
        None => {
            if let Some(name) = only.iter().find(|name| !tables::NAMES.contains(&name.as_str())) {
                return Err(format!("no table is called {name}; there are {}", tables::NAMES.join(", ")));
            }
            let data =
                data.map(|d| d.canonicalize().map_err(|e| format!("{}: {e}", d.display()))).transpose()?;
            let results = run::all(&run::Plan { root, data, only, quick, build })?;
            return old.map_or(Ok(()), |old| compare::print(&old, &results));
        }
    }
    Ok(())
}
