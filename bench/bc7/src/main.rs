//! Every BC7 encoder on the same images in one run.
//!
//! ```text
//! cargo run --release -- ../../../shared/data            the table
//! cargo run --release -- ../../../shared/data ours       ours alone
//! ```
//! Other words: `slow` adds the rival's slowest profile, `each` prints every image, `modes` counts the modes of
//! the blocks, `json` prints the figures as JSON, a number is how often everything is repeated.
//!
//! One thread. Every image goes through every encoder, round after round, so that a disturbance meets all of
//! them; the least time of the rounds counts. Everything is decoded by an independent decoder.

mod clock;
mod encoders;
#[path = "../../uastc/src/images.rs"]
mod images;
mod table;

use clock::Clock;
use encoders::{Encoder, Profile};
use kiln_uastc::Quality;
use std::path::PathBuf;
use table::{Figures, Results};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let root = PathBuf::from(arguments.next().unwrap_or_else(|| "../../../shared/data".into()));
    let words: Vec<String> = arguments.collect();
    let said = |word: &str| words.iter().any(|w| w == word);
    let rounds = words.iter().find_map(|w| w.parse().ok()).unwrap_or(5);
    let images = images::load(&root);

    let mut encoders = Vec::new();
    if !said("ours") {
        encoders.extend(
            [Profile::UltraFast, Profile::VeryFast, Profile::Fast, Profile::Basic].map(Encoder::Intel),
        );
        encoders.push(Encoder::Transcoded(Quality::Default));
    }
    if said("slow") {
        encoders.push(Encoder::Intel(Profile::Slow));
    }
    if !said("theirs") {
        for kept in [false, true] {
            let qualities = [Quality::Fast, Quality::Default, Quality::High];
            encoders.extend(qualities.map(|quality| Encoder::Ours(quality, kept)));
        }
    }

    let mut figures = vec![Vec::new(); encoders.len()];
    for image in &images {
        let mut best = vec![Clock::MAX; encoders.len()];
        let mut out = vec![vec![0u8; image.width * image.height]; encoders.len()];
        for _ in 0..rounds {
            for ((encoder, best), out) in encoders.iter().zip(&mut best).zip(&mut out) {
                *best = best.least(Clock::time(|| encoder.encode(image, out)));
            }
        }
        for (i, encoder) in encoders.iter().enumerate() {
            encoder.finish(&mut out[i]);
            figures[i].push(Figures::of(image, &out[i], best[i]));
        }
    }
    let results = Results { images: &images, encoders: &encoders, figures: &figures };
    if said("json") {
        results.json();
        return;
    }
    results.table();
    results.compare();
    if said("modes") {
        results.modes();
    }
    if said("each") {
        results.each();
    }
}
