//! Generators of the bombs, one file for each kind of input. Each bomb is small, and generated when its case runs.

mod descriptions;
mod images;
mod models;
mod outputs;
mod paks;
mod unity;

use crate::faults::files::Files;
use std::io::Write;

pub(super) use images::{png, zlib_of};

type Make = Box<dyn Fn() -> Files + Send + Sync>;

/// A file that requires excessive resources.
pub(super) struct Bomb {
    pub(super) name: String,
    pub(super) tool: &'static str,
    pub(super) runs: Vec<Vec<&'static str>>,
    pub(super) files: Make,
    /// True if the tool has to reject the file; some are harmless to a careful reader.
    pub(super) rejected: bool,
}

fn one(path: &str, bytes: impl Into<Vec<u8>>) -> Files {
    Files::from([(path.to_owned(), bytes.into())])
}

/// Returns all bombs.
pub(super) fn all() -> Vec<Bomb> {
    let mut all = Vec::new();
    images::add(&mut all);
    models::add(&mut all);
    descriptions::add(&mut all);
    paks::add(&mut all);
    outputs::add(&mut all);
    unity::add(&mut all);
    all
}

fn build(name: &str, path: &'static str, make: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Bomb {
    let files = Box::new(move || one(&format!("assets/{path}"), make()));
    Bomb { name: name.to_owned(), tool: "assetc", runs: vec![vec!["-q"]], files, rejected: true }
}

fn bake(name: &str, files: impl Fn() -> Files + Send + Sync + 'static) -> Bomb {
    let runs = vec![vec!["bake", "pak.toml", "out/a.pak"]];
    Bomb { name: name.to_owned(), tool: "pak", runs, files: Box::new(files), rejected: true }
}

fn content(pattern: &str) -> Files {
    one("pak.toml", format!("[content]\n[[content.group]]\nassets = ['{pattern}']\n"))
}

/// Returns YAML whose aliases expand to 9^30 values.
fn aliases() -> String {
    let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..30 {
        let before = vec![format!("*a{}", n - 1); 9].join(",");
        text += &format!("a{n}: &a{n} [{before}]\n");
    }
    text
}

/// Returns a Zstandard frame of zeros.
fn zstd_zeros(len: u64) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..len >> 20).for_each(|_| encoder.write_all(&zeros).unwrap());
    encoder.finish().unwrap()
}
