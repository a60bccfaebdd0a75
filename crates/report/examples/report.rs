//! Writes a report on the files of a directory to standard output:
//! `cargo run -p kiln-report --example report -- DIRECTORY > report.html`.

#![allow(clippy::print_stdout, reason = "the page is the output of the example")]

use kiln_report::{Files, Options, report};
use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let usage = || io::Error::other("usage: report DIRECTORY");
    let root = std::env::args().nth(1).ok_or_else(usage)?;
    let root = Path::new(&root);
    let mut list = Vec::new();
    collect(root, "", &mut list)?;
    list.sort();
    let read = |path: &str| fs::read(root.join(path));
    let title = root.display().to_string();
    let made = report(&Files { title: &title, list: &list, read: &read, problems: &[] }, &Options::default());
    println!("{}", made.html);
    Ok(())
}

/// Collects the files below `root` with their sizes, as paths relative to it.
fn collect(root: &Path, folder: &str, list: &mut Vec<(String, u64)>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = format!("{folder}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(root, &format!("{path}/"), list)?;
        } else {
            list.push((path, entry.metadata()?.len()));
        }
    }
    Ok(())
}
