//! Lists the references to an asset of a Unity project:
//!
//! ```text
//! cargo run -p kiln-unity-assetdb --example references -- path/to/project Assets/Flag.png
//! ```

// An example prints its results.
#![allow(clippy::print_stdout)]

use std::path::Path;
use unity_assetdb::bake::{Extra, refresh};
use unity_assetdb::walk::resolve_project_root;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(project), Some(path)) = (args.next(), args.next()) else {
        return Err("usage: references PROJECT ASSET".into());
    };
    let root = resolve_project_root(Some(Path::new(&project)))?;
    // Reads only the files that changed since the last run.
    let index = refresh(&root, &root.join("Library/references-example"), Extra::default(), &|_| None)?;
    let Some(asset) = index.find_by_hint(&path)? else {
        return Err(format!("no asset at {path}").into());
    };
    println!("{} ({})", asset.name()?, asset.type_name()?);
    for (source, reference) in index.uses(asset.guid())? {
        println!("  {}:{} fileID {}", source.hint()?, reference.line, reference.file_id);
    }
    Ok(())
}
