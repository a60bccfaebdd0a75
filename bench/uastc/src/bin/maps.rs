//! The images of `docs/internals/uastc.md`: error maps and the modes of the blocks.
//!
//! ```text
//! cargo run --profile lto --bin maps -- ../../../shared/data/images/kodim23.png ../../docs/internals
//! ```

use kiln_uastc::{Options, Quality, View, blocks_high, decode_block, encode_rows};
use std::fs::File;
use std::path::Path;

const SIDE: usize = 160;
/// The origin of the crop in the photograph.
const AT: (usize, usize) = (170, 170);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, folder] = arguments.as_slice() else { panic!("say the photograph and the folder") };
    let texels = cut(Path::new(source));
    let mut panels = vec![texels.iter().map(|t| [t[0], t[1], t[2]]).collect::<Vec<_>>()];
    let mut modes = panels.clone();
    for quality in [Quality::Fast, Quality::Default, Quality::High] {
        let rgba: Vec<u8> = texels.iter().flatten().copied().collect();
        let view = View::tight(&rgba, SIDE as u32, SIDE as u32).expect("a square");
        let mut blocks = vec![0; SIDE * SIDE];
        encode_rows(&view, 0..blocks_high(SIDE as u32), &Options { quality, rdo: None }, &mut blocks);
        let mut errors = vec![[0; 3]; SIDE * SIDE];
        let mut colours = errors.clone();
        for (k, block) in blocks.chunks_exact(16).enumerate() {
            let block: &[u8; 16] = block.try_into().expect("sixteen");
            let decoded = decode_block(block).expect("a legal block");
            let mode = basisu::uastc::huff_modes::HUFF_MODES[usize::from(block[0] & 127)];
            for (i, value) in decoded.iter().enumerate() {
                let at = (k / (SIDE / 4) * 4 + i / 4) * SIDE + k % (SIDE / 4) * 4 + i % 4;
                let worst = (0..3).map(|c| texels[at][c].abs_diff(value[c])).max().unwrap_or(0);
                errors[at] = [worst.saturating_mul(16); 3];
                colours[at] = family(mode);
            }
        }
        panels.push(errors);
        modes.push(colours);
    }
    write(&Path::new(folder).join("uastc-error.png"), &panels);
    write(&Path::new(folder).join("uastc-modes.png"), &modes);
}

/// One line: blue to cyan; two planes: green; subsets: yellow to red.
fn family(mode: u8) -> [u8; 3] {
    match mode {
        0 => [30, 60, 160],
        1 | 5 => [60, 130, 220],
        18 => [110, 210, 240],
        6 => [70, 170, 80],
        4 => [250, 220, 80],
        2 => [240, 160, 50],
        7 => [220, 100, 50],
        3 => [190, 40, 50],
        _ => [128, 128, 128],
    }
}

fn cut(path: &Path) -> Vec<[u8; 4]> {
    let file = std::io::BufReader::new(File::open(path).expect("the photograph"));
    let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    let step = info.color_type.samples();
    let at = |x: usize, y: usize| &pixels[(y * info.width as usize + x) * step..][..3];
    let mut out = Vec::new();
    for y in 0..SIDE {
        for x in 0..SIDE {
            let t = at(AT.0 + x, AT.1 + y);
            out.push([t[0], t[1], t[2], 255]);
        }
    }
    out
}

/// Panels side by side with a gap.
fn write(path: &Path, panels: &[Vec<[u8; 3]>]) {
    let gap = 4;
    let width = panels.len() * (SIDE + gap) - gap;
    let mut rgb = vec![255; width * SIDE * 3];
    for (p, panel) in panels.iter().enumerate() {
        for (i, texel) in panel.iter().enumerate() {
            let at = (i / SIDE * width + p * (SIDE + gap) + i % SIDE) * 3;
            rgb[at..at + 3].copy_from_slice(texel);
        }
    }
    let mut encoder =
        png::Encoder::new(File::create(path).expect("the folder exists"), width as u32, SIDE as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    encoder.write_header().and_then(|mut w| w.write_image_data(&rgb)).expect("the disk has room");
}
