//! Bakes the art before the game is compiled.

use pak::PakBuf;
use std::path::Path;

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo says where to");
    let pak = Path::new(&out).join("game_art.pak");
    if let Err(error) = PakBuf::bake("art/game_art.toml", &pak) {
        eprintln!("{error}");
        std::process::exit(1);
    }
    for file in PakBuf::source_files("art/game_art.toml").expect("it was just baked") {
        println!("cargo:rerun-if-changed={}", file.display());
    }
}
