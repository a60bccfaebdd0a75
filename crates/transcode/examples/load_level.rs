//! Loads the mip levels of a texture while its file arrives, and prints them.
//!
//! ```sh
//! cargo run -p kiln-transcode --example load_level -- texture.ktx2
//! ```

#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use kiln_transcode::Target;
use kiln_transcode::ktx2::{LoadError, Texture, load_level};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: load_level <texture.ktx2>")?;
    let file = std::fs::read(path)?;

    // A streamer asks for as many bytes as the next mip level needs; here all of them are in memory.
    let mut received = 0;
    let levels = loop {
        match Texture::read(&file[..received]) {
            Ok(texture) => break texture.view().level_count(),
            Err(LoadError::NeedMoreBytes { total }) if total <= file.len() as u64 => {
                received = total as usize
            }
            Err(error) => return Err(error.into()),
        }
    };
    for level in (0..levels).rev() {
        let loaded = loop {
            match load_level(&file[..received], level, Target::Bc7) {
                Err(LoadError::NeedMoreBytes { total }) if total <= file.len() as u64 => {
                    received = total as usize
                }
                other => break other?,
            }
        };
        println!(
            "mip level {level}: {}x{}, {} bytes of BC7 from the first {received} bytes of the file",
            loaded.layout.width,
            loaded.layout.height,
            loaded.bytes.len(),
        );
    }
    Ok(())
}
