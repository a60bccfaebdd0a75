//! Speed-up of two threads over one: wall time of all images together, strips dealt out as they come.
//!
//! ```text
//! cargo run --profile lto --bin threads -- --data DIR
//! ```

#[allow(dead_code, reason = "nothing is measured by the process here")]
#[path = "../../../process.rs"]
mod process;

#[allow(dead_code, reason = "the table uses more of it")]
#[path = "../images.rs"]
mod images;

use kiln_uastc::{Options, Quality, View, blocks_high, blocks_wide, encode_rows};
use std::sync::Mutex;
use std::time::Instant;

fn main() {
    let images = images::load(&images::arguments().0);
    println!("## uastc-threads\n\n| quality | one thread, s | two threads, s | ratio |\n|---|---|---|---|");
    for quality in [Quality::Fast, Quality::Default, Quality::High] {
        let options = Options { quality, rdo: None };
        // In turn, so that a disturbance affects both.
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..7 {
            for (threads, times) in [1, 2].into_iter().zip(&mut times) {
                times.push(seconds(&images, &options, threads));
            }
        }
        let [one, two] = &times;
        let ratio = process::median(one) / process::median(two);
        println!("| {quality:?} | {} | {} | {ratio:.2} |", process::spread(one), process::spread(two));
    }
}

fn seconds(images: &[images::Image], options: &Options, threads: usize) -> f64 {
    const STRIP: u32 = 8;
    let mut outputs: Vec<Vec<u8>> = images.iter().map(|i| vec![0; i.width * i.height]).collect();
    let mut strips = Vec::new();
    for (image, out) in images.iter().zip(&mut outputs) {
        let (width, height) = (image.width as u32, image.height as u32);
        let row = blocks_wide(width) as usize * 16;
        for (index, chunk) in out.chunks_mut(row * STRIP as usize).enumerate() {
            let first = index as u32 * STRIP;
            strips.push((image, first..(first + STRIP).min(blocks_high(height)), chunk));
        }
    }
    let strips = Mutex::new(strips);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some((image, rows, out)) = strips.lock().expect("nobody panics").pop() else { break };
                    let view = View::tight(&image.rgba, image.width as u32, image.height as u32);
                    encode_rows(&view.expect("a whole image"), rows, options, out);
                }
            });
        }
    });
    start.elapsed().as_secs_f64()
}
