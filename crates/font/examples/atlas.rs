//! Compiles the font given on the command line and prints its metrics and the size of its MSDF atlas.
//!
//! ```text
//! cargo run -p kiln-font --example atlas -- crates/font/tests/fonts/dejavu-sans.ttf
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows its result")]

use kiln_font::{Charset, Settings, compile};

fn main() {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: atlas FONT");
        std::process::exit(2);
    };
    let bytes = std::fs::read(&path).expect("the font is readable");
    let charset = Charset::parse("ascii").expect("a named set");
    let settings = Settings { multi_channel: true, charset, ..Settings::default() };
    match compile(&bytes, &settings) {
        Ok(font) => {
            println!(
                "atlas of {}x{} texels, {} glyphs",
                font.atlas.width,
                font.atlas.height,
                font.glyphs.len()
            );
            println!("ascent {:.3} em, descent {:.3} em", font.ascent, font.descent);
            println!("{} kerning pairs, distance range {} texels", font.kerning.len(), font.distance_range);
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
