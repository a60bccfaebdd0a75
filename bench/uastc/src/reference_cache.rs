//! The reference's blocks and times, kept in a file for each image by a hash of its texels and the settings: the
//! reference is sixty times as slow as what is tuned against it.

use crate::encoders::Encoder;
use crate::images::{Image, fnv};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of cached results; without one, everything is encoded and timed afresh.
pub struct ReferenceCache {
    folder: Option<PathBuf>,
}

impl ReferenceCache {
    pub fn new(folder: Option<&Path>) -> Self {
        if let Some(folder) = folder {
            let _ = fs::create_dir_all(folder);
        }
        Self { folder: folder.map(Path::to_owned) }
    }

    /// Returns the blocks and the seconds of processor time, from the cache if they are there.
    pub fn encode(&self, encoder: &Encoder, image: &Image) -> (Vec<[u8; 16]>, f64) {
        let Some(folder) = &self.folder else { return encoder.encode(image) };
        let key = fnv(encoder.name().as_bytes()) ^ fnv(&image.rgba).rotate_left(17) ^ image.width as u64;
        let path = folder.join(format!("{key:016x}"));
        if let Ok(bytes) = fs::read(&path)
            && let Some((seconds, blocks)) = bytes.split_first_chunk::<8>()
            && blocks.len() == image.width * image.height
        {
            return (blocks.as_chunks().0.to_vec(), f64::from_le_bytes(*seconds));
        }
        let (blocks, seconds) = encoder.encode(image);
        let _ = fs::write(path, [&seconds.to_le_bytes()[..], blocks.as_flattened()].concat());
        (blocks, seconds)
    }
}
