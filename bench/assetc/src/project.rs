//! A generated project of many small pictures, the same every time.

use std::fs;
use std::path::Path;

/// Writes `count` pictures in folders of a hundred; returns their size together.
pub fn generate(dir: &Path, count: usize) -> u64 {
    let mut total = 0;
    for index in 0..count {
        let folder = dir.join(format!("set_{:03}", index / 100));
        fs::create_dir_all(&folder).expect("folders can be made");
        let bytes = picture(index as u32);
        total += bytes.len() as u64;
        fs::write(folder.join(format!("texture_{index:05}.png")), bytes).expect("pictures can be written");
    }
    total
}

fn picture(seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    let samples: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    })
    .take(8 * 8 * 3)
    .collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 8, 8);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&samples).expect("texels");
    writer.finish().expect("an end");
    bytes
}
