//! Benchmarks of `assetc`. `warm`: when there is nothing to do, beside the least that any tool could do, a bare parallel
//! walk that stats every file of the source and the output tree. `cold`: when there is everything to do, beside copying
//! the tree, decoding its images, and basisu. `store`: when it was done before, in another checkout or on another
//! machine. `tiny`: when there is everything to do for many tiny files, beside writing files of the same sizes and one
//! flush. `shapes`: on meshes of high valence beside a grid, with `pak` too.
//!
//! ```text
//! cargo build --release -p assetc
//! cargo run --release --manifest-path bench/assetc/Cargo.toml -- warm <runs> <assets>...
//! cargo run --release --manifest-path bench/assetc/Cargo.toml -- cold <runs> <name>=<source tree>...
//! cargo run --release --manifest-path bench/assetc/Cargo.toml -- store <runs> <name>=<source tree>...
//! cargo run --release --manifest-path bench/assetc/Cargo.toml -- tiny <runs> <assets>...
//! cargo run --release --manifest-path bench/assetc/Cargo.toml -- shapes <runs> <triangles>...
//! ```
//!
//! A tree named `name*1,2,4` holds images alone; it is built once, twice and four times as large. All sides are whole
//! processes, run in turn on the same trees. `KILN_ASSETC` and `KILN_PAK` name the executables if they are not in the target
//! directory of the repository, `KILN_BASISU` the one that lets basisu at a tree (`bench/uastc`).

mod cold;
mod flush;
#[path = "../../process.rs"]
mod process;
mod project;
#[path = "../../../crates/remote-cache/tests/store/server.rs"]
#[allow(dead_code, reason = "the server is shared with the tests of the store")]
mod server;
mod shapes;
mod stages;
mod store;
mod tiny;
mod walk;
mod warm;

use std::path::{Path, PathBuf};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<usize>().unwrap_or_else(|_| panic!("{text} is no number"));
    match &*words {
        ["walk", roots @ ..] => {
            println!("{}", roots.iter().map(|root| walk::walk(Path::new(root))).sum::<u64>())
        }
        ["copy", from, to] => walk::copy(Path::new(from), Path::new(to)),
        ["flush", like, to] => flush::write(Path::new(like), Path::new(to)),
        ["serve"] => store::serve(),
        ["decode", tree] => println!("{}", stages::decode(Path::new(tree))),
        ["warm", runs, counts @ ..] => {
            warm::warm(number(runs), &counts.iter().map(|count| number(count)).collect::<Vec<_>>())
        }
        ["cold", runs, trees @ ..] => cold::cold(number(runs), &project::trees(trees)),
        ["store", runs, trees @ ..] => store::store(number(runs), &project::trees(trees)),
        ["tiny", runs, counts @ ..] => {
            tiny::tiny(number(runs), &counts.iter().map(|count| number(count)).collect::<Vec<_>>())
        }
        ["shapes", runs, counts @ ..] => {
            shapes::shapes(number(runs), &counts.iter().map(|count| number(count)).collect::<Vec<_>>())
        }
        _ => eprintln!(
            "usage: bench-assetc warm|tiny <runs> <assets>... | cold|store <runs> <name>=<source tree>... | shapes <runs> <triangles>..."
        ),
    }
}

/// The executable that is measured.
fn assetc() -> PathBuf {
    executable("KILN_ASSETC", "assetc")
}

/// The baker of paks.
fn pak() -> PathBuf {
    executable("KILN_PAK", "pak")
}

fn executable(variable: &str, name: &str) -> PathBuf {
    let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release").join(name);
    std::env::var_os(variable).map_or_else(built, PathBuf::from)
}
