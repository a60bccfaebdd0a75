//! Bakes of generated projects, compared with an independent evaluation of their sources.

mod bitmaps;
mod block_formats;
mod build_script;
mod damage;
mod documented;
mod engine;
mod export;
mod gltf_evaluation;
mod gltf_materials;
#[path = "../../examples/http_range.rs"]
mod http_range;
mod keys;
#[allow(clippy::print_stdout, reason = "the game of the examples prints what it reads")]
#[path = "../../../../examples/game/src/level.rs"]
mod level;
mod materials;
mod meshes;
mod mistakes;
mod project;
mod rebake;
mod scenes;
mod schema;
mod streams;

#[test]
fn example_reads_ranges_over_http() {
    http_range::main().unwrap();
}

/// The level of `examples/game`, whose workspace is of its own, with the art that its build script bakes.
#[test]
fn example_game_loads_its_level() {
    let out = tempfile::tempdir().unwrap();
    let art = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/game/art/game_art.toml");
    let file = out.path().join("game_art.pak");
    pak::bake::Bake::new(art, &file).run().unwrap();
    level::load(&pak::PakBuf::open(file).unwrap()).unwrap();
}
