//! A game that reads a pak: opens it, walks a scene, uploads meshes to the GPU, samples an animation.
//!
//! ```text
//! cargo run --manifest-path examples/game/Cargo.toml
//! ```

mod level;

use pak::PakBuf;

fn main() -> Result<(), pak::Error> {
    level::load(&PakBuf::open(concat!(env!("OUT_DIR"), "/game_art.pak"))?)
}
