//! Bakes a small pak in a temporary directory and reads it back: a blob, a material and a scene.
//!
//! ```text
//! cargo run -p kiln-pak --features bake --example bake_and_read
//! ```

use pak::bake::Bake;
use pak::{Pak, PakBuf};
use std::error::Error;
use std::io::Write;

const CONTENT: &str = "\
[content]
compression = 'zstd'

[[content.group]]
assets = ['art/*']
";

const MATERIAL: &str = "\
[material]
color = '#c04020'
rough = 0.8
";

const SCENE: &str = "\
[scene]

[[scene.ref]]
id = 'spawn'
translation = [0.0, 1.0, -6.0]
tags = ['player']
data.team = 'red'
";

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = |name: &str| dir.path().join(name);
    std::fs::create_dir(path("art"))?;
    std::fs::write(path("pak.toml"), CONTENT)?;
    std::fs::write(path("art/brick.toml"), MATERIAL)?;
    std::fs::write(path("art/level.toml"), SCENE)?;
    std::fs::write(path("art/readme.txt"), "read me ".repeat(100))?;

    let mut out = std::io::stdout().lock();
    let baked = Bake::new(path("pak.toml"), path("art.pak")).run()?;
    writeln!(out, "baked {} keys in {} bytes", baked.keys, baked.file_len)?;

    let pak = PakBuf::open(path("art.pak"))?;
    for entry in pak.entries() {
        writeln!(out, "{:<9} {} ({} bytes)", entry.kind.name(), entry.key, entry.len)?;
    }
    let material = pak.read_material("art/brick").ok_or("art/brick is not a material")?;
    writeln!(out, "color of art/brick: {:?}", pak.read_bitmap_id(material.color)?.pixel(0, 0))?;
    for place in pak.read_scene("art/level")?.refs() {
        let team = place.data("team").and_then(|value| value.as_str()).unwrap_or("none");
        writeln!(out, "{} at {:?}, team {team}", place.id().unwrap_or("unnamed"), place.translation())?;
    }
    Ok(())
}
