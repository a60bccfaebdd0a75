//! The table over a data directory: baking and reading, CPU time first, because that is what the ratios are of.

use crate::data_corpus;
use crate::figures::{Figures, output, pair, process, run};
use crate::mark;
use std::path::Path;

/// A codec, the ratio of CPU time that a bake is to reach, that of reading everything, and the fraction of the runs.
const CODECS: [(&str, f64, f64, usize); 3] =
    [("none", 3.0, 3.0, 1), ("snap", 3.0, 3.0, 1), ("brotli", 2.0, 2.0, 2)];

/// Prints the table.
pub fn table(data: &Path, dir: &Path, runs: usize) {
    let _ = std::fs::remove_dir_all(dir);
    let root = dir.join("real");
    let corpus = data_corpus::collect(data, &root, &same_triangles);
    println!(
        "{:.1} MB of sources: {} images, {} models ({} left out), {} materials, {} blobs. CPU, with the least and the \
         most, and wall in brackets; the ratio is of CPU.\n",
        corpus.bytes as f64 / 1e6,
        corpus.images,
        corpus.models,
        corpus.left_out.len(),
        corpus.materials,
        corpus.blobs
    );
    println!("| | pak 0.7.6 | Kiln | ratio | wanted |\n|---|---|---|---|---|");
    for (codec, faster, _, part) in CODECS {
        let [theirs, ours] = pair("bake", &root, codec, runs.div_ceil(part));
        race(&format!("bake, {codec}"), &theirs, &ours, faster);
        let size = |tool| std::fs::metadata(output(&root, tool, codec)).map_or(0.0, |m| m.len() as f64 / 1e6);
        let [theirs, ours] = [size("theirs"), size("ours")];
        println!("| size, {codec} | {theirs:.1} MB | {ours:.1} MB | {:.3} of it | |", ours / theirs);
    }
    let bake = run("ours", "bake", &root, "zstd", runs);
    println!("| bake, zstd | — | {} | | |", took(&bake));
    let size = std::fs::metadata(output(&root, "ours", "zstd")).map_or(0, |m| m.len());
    println!("| size, zstd | — | {:.1} MB | | |", size as f64 / 1e6);
    for (codec, _, faster, part) in CODECS {
        let [theirs, ours] = pair("scan", &root, codec, runs.div_ceil(part));
        race(&format!("read everything, {codec}"), &theirs, &ours, faster);
    }
    println!("| read everything, zstd | — | {} | | |", took(&run("ours", "scan", &root, "zstd", runs)));

    println!("\n## zstd-decoders\n");
    let figures = run("ours", "decoders", &root, "none", runs);
    println!("| decoder | CPU | speed of C |\n|---|---|---|");
    for (name, key) in
        [("zstd 1.5.7, C", "c"), ("structured-zstd 0.2.6", "structured"), ("ruzstd 0.9.1", "ruzstd")]
    {
        println!("| {name} | {} | {:.2} |", figures.spread(key), figures.middle("c") / figures.middle(key));
    }
}

/// Returns whether both tools bake a mesh to the same number of triangles.
fn same_triangles(root: &Path, mesh: &str) -> bool {
    let text = format!("[content]\n[[content.group]]\nassets = ['{mesh}']\n");
    std::fs::write(root.join("probe.toml"), text).expect("a file");
    let counts = ["theirs", "ours"].map(|tool| {
        let done = process(tool, "triangles", root, "probe");
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        text.lines().last().filter(|_| done.status.success()).map(str::to_owned)
    });
    counts[0].is_some() && counts[0] == counts[1]
}

fn race(name: &str, theirs: &Figures, ours: &Figures, wanted: f64) {
    let ratio = theirs.middle("cpu") / ours.middle("cpu");
    let ok = mark(ratio >= wanted);
    println!("| {name} | {} | {} | {ratio:.1}× | {wanted}×{ok} |", took(theirs), took(ours));
}

fn took(figures: &Figures) -> String {
    figures.of_two("cpu", "wall")
}
