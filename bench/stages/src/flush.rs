//! Flushing of small files to disk.

use crate::process;
use std::fs::{self, File};
use std::io::Write;
use std::time::Instant;

/// The number of files.
const FILES: usize = 512;

pub fn print(runs: usize) {
    println!("\n## stages-flush\n");
    println!(
        "{FILES} files of 4 KiB, written and flushed, wall time, medians of {runs} runs in turn (least–most).\n"
    );
    println!("| flush | wall, ms |\n|---|---|");
    let ways: [(&str, fn(&[File])); 4] = [
        ("none", |_| ()),
        ("`fdatasync` of each, one thread", |files| {
            files.iter().for_each(|file| file.sync_data().expect("a disk"))
        }),
        ("`fdatasync` of each, 32 threads", |files| {
            std::thread::scope(|scope| {
                for part in files.chunks(FILES / 32) {
                    scope.spawn(|| part.iter().for_each(|file| file.sync_data().expect("a disk")));
                }
            });
        }),
        ("one `syncfs`, as builds do", |files| rustix::fs::syncfs(&files[0]).expect("Linux")),
    ];
    let mut took = vec![Vec::new(); ways.len()];
    for _ in 0..runs {
        for ((_, flush), took) in ways.iter().zip(&mut took) {
            let dir = tempfile::tempdir().expect("a temporary directory");
            rustix::fs::syncfs(File::open(dir.path()).expect("a directory")).expect("Linux");
            let start = Instant::now();
            let files: Vec<File> = (0..FILES)
                .map(|i| {
                    let mut file = fs::File::create(dir.path().join(i.to_string())).expect("room for a file");
                    file.write_all(&[i as u8; 4096]).expect("room for a file");
                    file
                })
                .collect();
            flush(&files);
            took.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    for ((name, _), took) in ways.iter().zip(&took) {
        println!("| {name} | {} |", process::spread(took));
    }
}
