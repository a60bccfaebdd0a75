//! Every UASTC encoder on the same images in one run.
//!
//! ```text
//! cargo run --profile lto -- --data DIR rdo cpp       the whole table
//! cargo run --profile lto -- --data DIR ours          ours alone, quickly
//! ```
//! Other words: `each` prints every image, `rdo` adds the RDO settings, `cpp` the reference in C++, `quick` takes two
//! images and ours with the fastest reference.
//!
//! Round by round every encoder takes all images, so that a disturbance meets all of them; encoders that take minutes sit
//! out some rounds. Speeds are medians of the rounds, with the least and the most behind them.

mod encoders;
mod growth;
mod images;
mod measure;
#[allow(dead_code, reason = "nothing is measured by the process here")]
#[path = "../../process.rs"]
mod process;

use encoders::Encoder;
use images::Image;
use kiln_uastc::Quality;
use measure::{Figures, figures};

fn main() {
    let (root, words) = images::arguments();
    let said = |word: &str| words.iter().any(|w| w == word);
    let mut images = images::load(&root);
    images.retain(|image| image.half == images::Half::Reported);
    if said("quick") {
        images.truncate(2);
    }
    let megapixels: f64 = images.iter().map(Image::megapixels).sum();
    println!("{} images, {megapixels:.2} megapixels; processor time of one thread.\n", images.len());

    let mut encoders = Vec::new();
    if !said("ours") {
        let levels: &[u32] = if said("quick") { &[0] } else { &[0, 2, 3] };
        encoders.extend(levels.iter().map(|&level| Encoder::Reference { level, rdo: None }));
    }
    if said("cpp") {
        encoders.push(Encoder::Cpp { level: 2 });
    }
    if said("rdo") && !said("ours") {
        encoders.push(Encoder::Reference { level: 2, rdo: Some(1.0) });
    }
    if !said("only-rdo") {
        encoders.extend(
            [Quality::Fast, Quality::Default, Quality::High]
                .map(|quality| Encoder::Ours { quality, rdo: None }),
        );
    }
    if said("rdo") {
        encoders
            .extend([0.1, 0.25, 0.5, 1.0].map(|l| Encoder::Ours { quality: Quality::Default, rdo: Some(l) }));
    }

    let results = measured(&encoders, &images, if said("quick") { 1 } else { usize::MAX });
    println!(
        "| encoder | MP/s | RGB dB | as BC7 | as ETC1 | as BC1 | alpha dB | EAC dB | normals deg | Zstd 18 KB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    results.iter().for_each(|(encoder, all)| row(encoder, all, megapixels));
    compare(&images, &results, megapixels);
    compare_rdo(&results, megapixels);
    if said("each") {
        each(&images, &results);
    }
    growth::print(&images, said("quick"));
}

/// Round by round, every encoder in turn.
fn measured(encoders: &[Encoder], images: &[Image], most: usize) -> Vec<(Encoder, Vec<Figures>)> {
    let mut results: Vec<(Encoder, Vec<Figures>)> = encoders.iter().map(|e| (*e, Vec::new())).collect();
    let rounds = encoders.iter().map(Encoder::rounds).max().unwrap_or(0).min(most);
    for round in 0..rounds {
        for (encoder, all) in results.iter_mut().filter(|(encoder, _)| round < encoder.rounds()) {
            for (at, image) in images.iter().enumerate() {
                let (blocks, seconds) = encoder.encode(image);
                if round == 0 {
                    all.push(figures(image, &blocks));
                }
                all[at].seconds.push(seconds);
            }
        }
    }
    results
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0f64);
    for value in values {
        sum += value;
        count += 1.0;
    }
    sum / count.max(1.0)
}

/// Megapixels by second, of each round.
fn speeds(all: &[Figures], megapixels: f64) -> Vec<f64> {
    let rounds = all.first().map_or(0, |f| f.seconds.len());
    (0..rounds).map(|round| megapixels / all.iter().map(|f| f.seconds[round]).sum::<f64>()).collect()
}

fn speed(all: &[Figures], megapixels: f64) -> f64 {
    process::median(&speeds(all, megapixels))
}

fn row(encoder: &Encoder, all: &[Figures], megapixels: f64) {
    println!(
        "| {} | {} | {:.3} | {:.3} | {:.2} | {:.2} | {:.2} | {:.2} | {:.3} | {:.1} |",
        encoder.name(),
        process::spread(&speeds(all, megapixels)),
        mean(all.iter().map(|f| f.rgb)),
        mean(all.iter().map(|f| f.bc7)),
        mean(all.iter().map(|f| f.etc1)),
        mean(all.iter().map(|f| f.bc1)),
        mean(all.iter().filter_map(|f| f.alpha)),
        mean(all.iter().filter_map(|f| f.eac)),
        mean(all.iter().filter_map(|f| f.angle)),
        mean(all.iter().map(|f| f.zstd as f64 / 1e3)),
    );
}

/// Ours beside the reference level that each is held to.
fn compare(images: &[Image], results: &[(Encoder, Vec<Figures>)], megapixels: f64) {
    let find = |wanted: Encoder| results.iter().find(|(e, _)| *e == wanted).map(|(_, all)| all);
    println!(
        "\n## uastc-against\n\n| ours | against | times as fast | RGB dB | worst image | as BC7 | as ETC1 |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (quality, level) in [(Quality::Fast, 0), (Quality::Default, 2), (Quality::High, 3)] {
        let (Some(ours), Some(theirs)) =
            (find(Encoder::Ours { quality, rdo: None }), find(Encoder::Reference { level, rdo: None }))
        else {
            continue;
        };
        // The faster of the two builds of the reference counts; Fast is timed against level 2.
        let timed = if level == 0 { 2 } else { level };
        let mut reference = f64::MIN;
        for encoder in [Encoder::Reference { level: timed, rdo: None }, Encoder::Cpp { level: timed }] {
            reference = find(encoder).map_or(reference, |all| speed(all, megapixels).max(reference));
        }
        let gain = |get: fn(&Figures) -> f64| mean(ours.iter().zip(theirs).map(|(a, b)| get(a) - get(b)));
        let worst = images
            .iter()
            .zip(ours.iter().zip(theirs))
            .map(|(image, (a, b))| (a.rgb - b.rgb, &image.name))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let (worst, name) = worst.map_or((0.0, ""), |(gain, name)| (gain, name.as_str()));
        println!(
            "| {quality:?} | level {level}, speed of level {timed} | {:.1} | {:+.3} | {worst:+.2} ({name}) | {:+.3} | {:+.2} |",
            speed(ours, megapixels) / reference,
            gain(|f| f.rgb),
            gain(|f| f.bc7),
            gain(|f| f.etc1),
        );
    }
}

/// With RDO: ours at the size that the reference reaches, on the line between the two nearest settings.
fn compare_rdo(results: &[(Encoder, Vec<Figures>)], megapixels: f64) {
    let size = |all: &[Figures]| mean(all.iter().map(|f| f.zstd as f64 / 1e3));
    let ratio = |all: &[Figures]| mean(all.iter().map(|f| f.rgb));
    let mut ours: Vec<(f64, f64, f64)> = results
        .iter()
        .filter(|(e, _)| matches!(e, Encoder::Ours { quality: Quality::Default, .. }))
        .map(|(_, all)| (size(all), ratio(all), speed(all, megapixels)))
        .collect();
    ours.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (encoder, all) in results {
        if !matches!(encoder, Encoder::Reference { rdo: Some(_), .. }) {
            continue;
        }
        let (wanted, theirs) = (size(all), ratio(all));
        let Some(pair) = ours.windows(2).find(|p| p[0].0 <= wanted && wanted <= p[1].0) else { continue };
        let at = (wanted - pair[0].0) / (pair[1].0 - pair[0].0);
        println!(
            "\nAt the {wanted:.1} KB of {}: ours {:.2} dB, theirs {theirs:.2} dB, {:.1} times as fast.",
            encoder.name(),
            pair[0].1 + (pair[1].1 - pair[0].1) * at,
            pair[0].2.min(pair[1].2) / speed(all, megapixels),
        );
    }
}

fn each(images: &[Image], results: &[(Encoder, Vec<Figures>)]) {
    println!();
    for (i, image) in images.iter().enumerate() {
        print!("{:44} {:4}x{:<4}", image.name, image.width, image.height);
        for (_, all) in results {
            print!(
                "  {:6.2}/{:5.2}/{:5.2}/{:6.2}",
                all[i].rgb,
                all[i].bc7,
                all[i].etc1,
                image.megapixels() / process::median(&all[i].seconds)
            );
        }
        println!();
    }
}
