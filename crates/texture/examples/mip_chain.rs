//! Encodes a generated image as UASTC and as BC7 and prints the size of every mip level.
//!
//! ```text
//! cargo run -p kiln-texture --example mip_chain
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use kiln_ir::{Image, Texels};
use kiln_texture::{BlockFormat, Mode, Settings, encode_2d};

fn main() -> Result<(), kiln_texture::Error> {
    let (width, height) = (256u32, 128u32);
    let texel = |i: u32| [(i % width) as u8, (i / width) as u8, (i % 61) as u8, u8::MAX];
    let texels = (0..width * height).flat_map(texel).collect();
    let image = Image::new(width, height, Texels::Rgba8(texels)).expect("four bytes for each texel");

    for format in [BlockFormat::Uastc, BlockFormat::Bc7] {
        let settings = Settings { format, ..Settings::default() };
        let texture = encode_2d(image.clone(), Mode::Color, &settings)?;
        println!("{format:?}, {}x{}:", texture.width, texture.height);
        for (i, level) in texture.levels.iter().enumerate() {
            println!("  level {i}: {} bytes, {} with Zstandard", level.uncompressed_len, level.bytes.len());
        }
    }
    Ok(())
}
