//! Every BC7 encoder on the same images in one run.
//!
//! ```text
//! cargo run --profile lto -- --data DIR slow       the whole table
//! cargo run --profile lto -- --data DIR ours       ours alone
//! ```
//! Other words: `slow` adds the rival's slowest profile, `tuning` takes the other half of the files, `quick` takes two images and its fastest, `each` prints every
//! image, `modes` counts the modes of the blocks, a number is how often everything is repeated.
//!
//! One thread. Every image goes through every encoder, round after round, so that a disturbance meets all of
//! them; speeds are medians of the rounds. Everything is decoded by an independent decoder.

mod clock;
mod encoders;
#[allow(dead_code, reason = "the bench of UASTC uses more of it")]
#[path = "../../uastc/src/images.rs"]
mod images;
#[allow(dead_code, reason = "nothing is measured by the process here")]
#[path = "../../process.rs"]
mod process;
mod table;

use clock::Clock;
use encoders::{Encoder, Preset, Profile};
use images::Half;
use kiln_uastc::Quality;
use table::{Figures, Results};

// The ISPC libraries have C++ objects, and name no library for them.
#[link(name = "stdc++")]
unsafe extern "C" {}

fn main() {
    let (root, words) = images::arguments();
    let said = |word: &str| words.iter().any(|w| w == word);
    let rounds = words.iter().find_map(|w| w.parse().ok()).unwrap_or(5);
    let mut images = images::load(&root);
    let half = if said("tuning") { Half::Tuning } else { Half::Reported };
    images.retain(|image| image.half == half);
    let mut encoders = Vec::new();
    if said("quick") {
        images.truncate(2);
        encoders.push(Encoder::Intel(Profile::UltraFast));
    } else if !said("ours") {
        encoders.extend(
            [Profile::UltraFast, Profile::VeryFast, Profile::Fast, Profile::Basic].map(Encoder::Intel),
        );
        encoders
            .extend([Preset::UltraFast, Preset::VeryFast, Preset::Fast, Preset::Basic].map(Encoder::Bc7e));
        encoders.push(Encoder::Transcoded(Quality::Default));
    }
    if said("slow") {
        encoders.push(Encoder::Intel(Profile::Slow));
        encoders.push(Encoder::Bc7e(Preset::Slow));
    }
    if !said("theirs") {
        for kept in [false, true] {
            let qualities = [Quality::Fast, Quality::Default, Quality::High];
            encoders.extend(qualities.map(|quality| Encoder::Ours(quality, kept)));
        }
    }

    let mut figures = vec![Vec::new(); encoders.len()];
    for image in &images {
        let mut times = vec![Vec::new(); encoders.len()];
        let mut out = vec![vec![0u8; image.width * image.height]; encoders.len()];
        for _ in 0..rounds {
            for ((encoder, times), out) in encoders.iter().zip(&mut times).zip(&mut out) {
                times.push(Clock::time(|| encoder.encode(image, out)));
            }
        }
        for (i, (encoder, times)) in encoders.iter().zip(times).enumerate() {
            encoder.finish(&mut out[i]);
            figures[i].push(Figures::of(image, &out[i], times));
        }
    }
    let results = Results { images: &images, encoders: &encoders, figures: &figures };
    results.table();
    results.compare();
    if said("modes") {
        results.modes();
    }
    if said("each") {
        results.each();
    }
}
