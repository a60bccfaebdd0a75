//! Scaling of the encoder's time with the image size.

use crate::images::Image;
use crate::process::{median, spread};
use kiln_uastc::{Options, Quality, View, blocks_high, encode_rows};

/// Encodes squares of growing side, made of the first image repeated, with Default; one thread.
pub fn print(images: &[Image], quick: bool) {
    let Some(image) = images.first() else { return };
    println!("\n## uastc-growth\n\n| side | megapixels | CPU, ms | ms a megapixel |\n|---|---|---|---|");
    let sides = if quick { [32u32, 64, 96, 128] } else { [256, 512, 1024, 2048] };
    let images = sides.map(|side| tiled(image, side as usize));
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..5 {
        for ((side, rgba), times) in sides.iter().zip(&images).zip(&mut times) {
            let mut out = vec![0; (side * side) as usize];
            let view = View::tight(rgba, *side, *side).expect("a square");
            let start = crate::encoders::thread_seconds();
            encode_rows(
                &view,
                0..blocks_high(*side),
                &Options { quality: Quality::Default, rdo: None },
                &mut out,
            );
            times.push((crate::encoders::thread_seconds() - start) * 1e3);
        }
    }
    for (side, times) in sides.iter().zip(&times) {
        let megapixels = f64::from(side * side) / 1e6;
        println!("| {side} | {megapixels:.2} | {} | {:.1} |", spread(times), median(times) / megapixels);
    }
}

fn tiled(image: &Image, side: usize) -> Vec<u8> {
    let texel =
        |x: usize, y: usize| &image.rgba[(y % image.height * image.width + x % image.width) * 4..][..4];
    (0..side * side).flat_map(|i| texel(i % side, i / side)).copied().collect()
}
