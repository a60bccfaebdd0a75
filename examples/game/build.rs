//! Bakes the art before the game is compiled.

fn main() {
    if let Err(error) = pak::bake::build_script("art/game_art.toml") {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
