//! Measures `unity-assetdb` side by side with version 0.2.0 of its original and with the floor, and judges it on real
//! projects.
//!
//! ```text
//! bench-unity gen <dir> <assets>          a synthetic project, the same each time
//! bench-unity speed <project> <runs> <name of the table>
//!                                         cold, warm, lookup: CPU, wall and peak memory of whole processes, run in turn
//! bench-unity queries <unity-assetdb> <project> <runs>
//!                                         queries of the executable, with and without a refresh, and in one large scene
//! bench-unity quality <project>...        types and sprites against a naive second reading; references that can be named
//! bench-unity interop <project>...        0.2.0 loads our database and finds the same
//! ```

mod floor;
mod gen_project;
mod measure;
#[path = "../../process.rs"]
mod process;
mod quality;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match &*words {
        ["gen", dir, count] => gen_project::generate(Path::new(dir), count.parse().expect("a number")),
        ["speed", project, runs, name] => {
            measure::speed(Path::new(project), runs.parse().expect("a number"), name)
        }
        ["queries", executable, project, runs] => {
            measure::queries(Path::new(executable), Path::new(project), runs.parse().expect("a number"))
        }
        ["child", what, project, out] => measure::child(what, Path::new(project), Path::new(out)),
        ["quality", projects @ ..] => {
            let fine = quality::judge(&projects.iter().map(Path::new).collect::<Vec<_>>());
            return if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        ["interop", projects @ ..] => {
            projects.iter().for_each(|project| quality::interop(Path::new(project)))
        }
        _ => {
            eprintln!("see the head of bench/unity/src/main.rs");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Bakes with ours.
fn bake_ours(project: &Path, out: &Path, jobs: Option<usize>) -> unity_assetdb::bake::Report {
    use unity_assetdb::bake::{BakeOptions, Extra, bake_with};
    let options = BakeOptions {
        project_root: project.to_owned(),
        out_dir: out.to_owned(),
        name_sanitizer: None,
        on_warn: None,
        on_progress: None,
        verbose_timing: false,
        verbose_collisions: false,
    };
    bake_with(&options, &Extra::default().jobs(jobs)).expect("a bake")
}

/// Bakes with 0.2.0.
fn bake_theirs(project: &Path, out: &Path) -> Result<(), String> {
    use theirs::bake::{BakeOptions, bake};
    let options = BakeOptions {
        project_root: project.to_owned(),
        out_dir: out.to_owned(),
        name_sanitizer: None,
        on_warn: None,
        on_progress: None,
        verbose_timing: false,
        verbose_collisions: false,
    };
    bake(&options).map(drop).map_err(|error| error.to_string())
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().expect("a project")
}
