//! The portable block encoders beside others on the same images.
//!
//! ```text
//! cargo run --release -p blocks-bench -- --data DIR [rounds] [bc6h]
//! ```
//! One thread, CPU time; every encoder on every image in turn, speeds are medians of the rounds. Everything is decoded
//! by an independent decoder. The HDR images are the photographs in linear light with an exposure that varies over the
//! image by ten stops: the error is that of the bits of half floats, in decibels of their range.

#[allow(dead_code, reason = "the bench of BC7 uses more of it")]
#[path = "../../bc7/src/clock.rs"]
mod clock;
mod encoders;
#[allow(dead_code, reason = "the bench of UASTC uses more of it")]
#[path = "../../uastc/src/images.rs"]
mod images;

use clock::Clock;
use encoders::{ENCODERS, Format};

// The ISPC library has C++ objects, and names no library for them.
#[link(name = "stdc++")]
unsafe extern "C" {}

/// The inputs of one image.
pub struct Input {
    pub width: usize,
    pub height: usize,
    pub rgba: Vec<u8>,
    /// RGBA16F.
    pub halves: Vec<u16>,
}

fn main() {
    let (root, words) = images::arguments();
    let rounds: usize = words.iter().find_map(|word| word.parse().ok()).unwrap_or(3);
    let only = words.iter().find(|word| word.parse::<usize>().is_err());
    let inputs: Vec<Input> = images::load(&root).into_iter().map(input).collect();
    println!("{} images; one thread, CPU time", inputs.len());
    println!("| format | encoder | MP/s CPU | dB | bits per texel |");
    println!("|---|---|---|---|---|");
    for format in Format::ALL {
        if only.is_some_and(|only| *only != format.name().to_lowercase()) {
            continue;
        }
        for (name, encode) in ENCODERS.iter().filter(|(of, ..)| *of == format).map(|(_, name, e)| (name, e)) {
            let mut speeds = Vec::new();
            let mut decibels = 0.0;
            for round in 0..rounds {
                let (mut seconds, mut texels) = (0.0, 0.0);
                for input in &inputs {
                    let mut out = vec![0; input.width * input.height / 16 * format.block_bytes()];
                    seconds += Clock::time(|| encode(input, &mut out)).cpu;
                    texels += (input.width * input.height) as f64;
                    if round == 0 {
                        decibels += format.psnr(input, &out) / inputs.len() as f64;
                    }
                }
                speeds.push(texels / 1e6 / seconds);
            }
            speeds.sort_by(f64::total_cmp);
            println!(
                "| {} | {name} | {:.2} | {decibels:.3} | {} |",
                format.name(),
                speeds[rounds / 2],
                format.block_bytes() / 2
            );
        }
    }
}

fn input(image: images::Image) -> Input {
    let linear = |value: u8| {
        let v = f64::from(value) / 255.0;
        if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
    };
    let mut halves = Vec::with_capacity(image.rgba.len());
    for (i, texel) in image.rgba.chunks_exact(4).enumerate() {
        let (x, y) =
            ((i % image.width) as f64 / image.width as f64, (i / image.width) as f64 / image.height as f64);
        let stops = 5.0 * (6.0 * x).sin() + 5.0 * (4.0 * y).cos() * (3.0 * x).cos();
        let exposure = stops.clamp(-5.0, 5.0).exp2();
        halves.extend(texel[..3].iter().map(|v| half::f16::from_f64(linear(*v) * exposure).to_bits()));
        halves.push(0x3C00);
    }
    Input { width: image.width, height: image.height, rgba: image.rgba, halves }
}
