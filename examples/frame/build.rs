//! Bakes the art before the example is compiled.

fn main() {
    if let Err(error) = pak::bake::build_script("art/frame.toml") {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
