//! KTX 2.0 files with ETC1S, written by a port of the reference tools.

use crate::Texels;
use crate::noise::Noise;
use basisu::{DecodeFlags, TargetFormat, Transcoder};
use ktx::texture::{TextureCreateInfo, TextureCreateStorage};
use ktx::{Texture2, VkFormat};
use std::path::Path;

/// The texels of the first level.
pub fn theirs(file: &[u8]) -> Option<Texels> {
    let transcoder = Transcoder::new(file).ok()?;
    let texels = transcoder.transcode(0, TargetFormat::Rgba32, DecodeFlags::NONE).ok()?;
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    Some((word(20), word(24), texels))
}

/// Files by name.
pub fn all(noise: &mut Noise) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for (width, height) in [(1, 1), (4, 4), (7, 5), (64, 64), (129, 33), (256, 200)] {
        for alpha in [false, true] {
            for grey in [false, true] {
                for quality in [1, 128, 255] {
                    let texels = image(width, height, alpha, grey, noise);
                    let name = format!("{width}x{height}-{alpha}-{grey}-{quality}.ktx2");
                    files.push((name, encoded(width, height, alpha, &texels, quality)));
                }
            }
        }
    }
    files
}

/// Writes small files and their texels.
pub fn write(folder: &Path) {
    let mut noise = Noise(7);
    for (name, alpha) in [("etc1s", false), ("etc1s-alpha", true)] {
        let file = encoded(37, 22, alpha, &image(37, 22, alpha, false, &mut noise), 128);
        let (.., texels) = theirs(&file).expect("a sound file");
        std::fs::write(folder.join(format!("{name}.ktx2")), file).expect("a folder that can be written");
        std::fs::write(folder.join(format!("{name}.rgba")), texels).expect("a folder that can be written");
    }
}

/// Smooth and flat parts, edges and noise.
fn image(width: usize, height: usize, alpha: bool, grey: bool, noise: &mut Noise) -> Vec<u8> {
    let mut out = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let flat = (x / 16 + y / 16) % 3 == 0;
            let noisy = (x / 16 + y / 16) % 3 == 1;
            let mut texel = match (flat, noisy) {
                (true, _) => [200, 40, 90],
                (_, true) => [noise.below(256) as u8, noise.below(64) as u8, x as u8],
                _ => [(x * 5) as u8, (y * 7) as u8, (x + y) as u8],
            };
            if grey {
                texel = [texel[0]; 3];
            }
            out.extend(texel);
            if alpha {
                out.push(if x > width / 2 { 255 } else { (y * 11) as u8 });
            }
        }
    }
    out
}

fn encoded(width: usize, height: usize, alpha: bool, texels: &[u8], quality: u32) -> Vec<u8> {
    let info = TextureCreateInfo {
        vk_format: if alpha { VkFormat::R8G8B8A8_SRGB } else { VkFormat::R8G8B8_SRGB },
        base_width: width as u32,
        base_height: height as u32,
        base_depth: 1,
        num_dimensions: 2,
        num_levels: 1,
        num_layers: 1,
        num_faces: 1,
        ..TextureCreateInfo::default()
    };
    let mut texture = Texture2::create(&info, TextureCreateStorage::AllocStorage).expect("a texture");
    texture.set_image_from_memory(0, 0, 0, texels).expect("texels that fit");
    texture.compress_basis(quality).expect("a texture that can be encoded");
    texture.write_to_memory().expect("a file")
}
