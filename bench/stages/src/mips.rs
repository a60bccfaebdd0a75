//! Mip filtering of whole chains, beside `fast_image_resize`.

use crate::{File, import, race};
use fast_image_resize::images::Image as Resized;
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use kiln_texture::{Mode, Settings};
use std::hint::black_box;

pub fn print(textures: &[File], runs: usize) {
    let file = textures.iter().find(|file| file.name.contains("baseColor")).expect("a base colour texture");
    let image = import(file);
    let (width, height) = (image.width(), image.height());
    let megapixels = f64::from(width) * f64::from(height) / 1e6;
    let texels = image.clone().into_rgba8();
    println!("\n## stages-mips\n");
    println!(
        "All mip levels of one base colour texture of {width}×{height}, RGBA8 to RGBA8, CPU time of one thread, medians \
         of {runs} runs in turn (least–most).\n"
    );
    println!("| filter | colours are averaged in | CPU, ms | ms per megapixel |\n|---|---|---|---|");
    let settings = Settings { compress: false, zstd: false, ..Settings::default() };
    let ours = || drop(black_box(kiln_texture::encode_2d(image.clone(), Mode::Color, &settings)));
    let copy = || drop(black_box(image.clone()));
    let stored = || resize_bytes(&texels, width, height);
    let linear = || resize_linear(&texels, width, height);
    let rows = race(
        runs,
        vec![
            ("Kiln", Box::new(ours)),
            ("copying the base level, a part of the row above", Box::new(copy)),
            ("`fast_image_resize`, Lanczos3, U8x4", Box::new(stored)),
            ("`fast_image_resize`, Lanczos3, F32x4", Box::new(linear)),
        ],
    );
    for ((name, seconds, spread), space) in
        rows.into_iter().zip(["linear light", "", "sRGB values, so that mip levels darken", "linear light"])
    {
        println!("| {name} | {space} | {spread} | {:.2} |", seconds * 1e3 / megapixels);
    }
}

fn options() -> ResizeOptions {
    ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3)).use_alpha(false)
}

/// Halves the size until it is one texel.
fn sizes(width: u32, height: u32) -> impl Iterator<Item = (u32, u32)> {
    let next = |&(w, h): &(u32, u32)| (w.max(h) > 1).then(|| ((w / 2).max(1), (h / 2).max(1)));
    std::iter::successors(Some((width, height)), next).skip(1)
}

fn resize_bytes(texels: &[u8], width: u32, height: u32) {
    let mut resizer = Resizer::new();
    let mut from = Resized::from_vec_u8(width, height, texels.to_vec(), PixelType::U8x4).expect("an image");
    for (w, h) in sizes(width, height) {
        let mut to = Resized::new(w, h, PixelType::U8x4);
        resizer.resize(&from, &mut to, &options()).expect("a supported format");
        from = to;
    }
    black_box(from.buffer());
}

/// Decodes sRGB to linear floats, filters, and encodes each level to sRGB bytes by a table.
fn resize_linear(texels: &[u8], width: u32, height: u32) {
    let to_linear: Vec<f32> = (0..256)
        .map(|v| f64::from(v) / 255.0)
        .map(|v| if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) } as f32)
        .collect();
    let to_srgb: Vec<u8> = (0..=4095)
        .map(|v| f64::from(v) / 4095.0)
        .map(|v| if v <= 0.003_130_8 { v * 12.92 } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 })
        .map(|v| (v * 255.0).round() as u8)
        .collect();
    let floats = texels.as_chunks::<4>().0.iter().flat_map(|&[r, g, b, a]| {
        let linear = |v: u8| to_linear[usize::from(v)];
        [linear(r), linear(g), linear(b), f32::from(a) / 255.0]
    });
    let bytes: Vec<u8> = floats.flat_map(f32::to_ne_bytes).collect();
    let mut resizer = Resizer::new();
    let mut from = Resized::from_vec_u8(width, height, bytes, PixelType::F32x4).expect("an image");
    for (w, h) in sizes(width, height) {
        let mut to = Resized::new(w, h, PixelType::F32x4);
        resizer.resize(&from, &mut to, &options()).expect("a supported format");
        from = to;
        let value = |bytes: &[u8; 4]| (f32::from_ne_bytes(*bytes).clamp(0.0, 1.0) * 4095.0 + 0.5) as usize;
        let values: Vec<u8> = from.buffer().as_chunks::<4>().0.iter().map(|v| to_srgb[value(v)]).collect();
        black_box(values);
    }
}
