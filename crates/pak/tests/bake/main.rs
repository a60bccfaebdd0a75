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
