//! Ours beside the reference by class of texture: differences in PSNR after direct decode and after transcoding, and the
//! ratio of processor time.
//!
//! ```text
//! cargo run --profile lto --bin classes -- --data DIR                    the table, everything encoded and timed
//! cargo run --profile lto --bin classes -- --data DIR --cache DIR        the reference's results are kept in a folder
//! ```
//! `--class NAME` takes one class, `--half tuning` takes the other half of the files, `--half both` all; `--each` prints every image, `--files` the
//! files of each half, `--modes` the squared errors by the mode that the reference chose, `--quick` one image of each class and the fastest level; `--rounds N` is how often ours is timed,
//! `--quality fast,default,high` selects. `--write DIR` stores the images as PNG.
//!
//! Ours and the reference take turns on every image, and both are timed by the processor time of the thread.

#[path = "../encoders.rs"]
#[allow(dead_code, reason = "the table uses more of it")]
mod encoders;
#[path = "../images.rs"]
#[allow(dead_code, reason = "the table uses more of it")]
mod images;
#[path = "../measure.rs"]
#[allow(dead_code, reason = "the table uses more of it")]
mod measure;
#[allow(dead_code, reason = "nothing is measured by the process here")]
#[path = "../../../process.rs"]
mod process;
#[path = "../reference_cache.rs"]
mod reference_cache;

use encoders::Encoder;
use images::{Class, Half, Image};
use kiln_uastc::Quality;
use measure::{Figures, figures};
use reference_cache::ReferenceCache;
use std::path::{Path, PathBuf};

/// Each of ours, the level that its quality is held to, and the level that its time is held to.
const PAIRS: [(Quality, u32, u32); 3] =
    [(Quality::Fast, 0, 2), (Quality::Default, 2, 2), (Quality::High, 3, 3)];

#[derive(Default)]
struct Arguments {
    data: PathBuf,
    cache: Option<PathBuf>,
    write: Option<PathBuf>,
    half: String,
    class: String,
    qualities: String,
    rounds: usize,
    each: bool,
    files: bool,
    modes: bool,
    quick: bool,
}

fn main() {
    let arguments = arguments();
    let mut images = images::load(&arguments.data);
    images.retain(|image| arguments.half == "both" || image.half.name() == arguments.half);
    images.retain(|image| image.class.name().contains(&arguments.class));
    if arguments.quick {
        for class in Class::ALL {
            let first = images.iter().position(|image| image.class == class);
            let mut at = 0;
            images.retain(|image| {
                at += 1;
                image.class != class || Some(at - 1) == first
            });
        }
    }
    if let Some(folder) = &arguments.write {
        images.iter().for_each(|image| write(folder, image));
        return;
    }
    let cache = ReferenceCache::new(arguments.cache.as_deref());
    for (quality, level, timed) in PAIRS {
        if !arguments.qualities.contains(&format!("{quality:?}").to_lowercase())
            || arguments.quick && level > 0
        {
            continue;
        }
        let timed = if arguments.quick { level } else { timed };
        println!(
            "## classes-{}\n\n{quality:?} beside reference level {level}, time beside level {timed}: {} images of the {} half. Differences in dB: mean, median, worst image.\n",
            format!("{quality:?}").to_lowercase(),
            images.len(),
            arguments.half
        );
        println!("| class | images | CPU, times | RGB | as BC7 | as ASTC | as ETC2 | alpha |");
        println!("|---|---|---|---|---|---|---|---|");
        for class in Class::ALL {
            let of_class: Vec<&Image> = images.iter().filter(|image| image.class == class).collect();
            let pairs: Vec<Pair> = of_class
                .iter()
                .map(|image| Pair::of(image, &cache, (quality, level, timed), arguments.rounds))
                .collect();
            row(class, &pairs);
            if arguments.modes {
                modes(&of_class, &cache, quality, level);
            }
            if arguments.each {
                pairs.iter().zip(&of_class).for_each(|(pair, image)| pair.print(image));
            }
        }
    }
    if arguments.files {
        files(&images::load(&arguments.data));
    }
}

fn arguments() -> Arguments {
    let mut out = Arguments {
        half: "reported".to_owned(),
        qualities: "fast,default,high".to_owned(),
        rounds: 5,
        ..Arguments::default()
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("{word} needs a value"));
        match word.as_str() {
            "--data" => out.data = value().into(),
            "--cache" => out.cache = Some(value().into()),
            "--write" => out.write = Some(value().into()),
            "--class" => out.class = value(),
            "--half" => out.half = value(),
            "--quality" => out.qualities = value(),
            "--rounds" => out.rounds = value().parse().expect("--rounds needs a number"),
            "--each" => out.each = true,
            "--files" => out.files = true,
            "--modes" => out.modes = true,
            "--quick" => out.quick = true,
            _ => panic!("unknown argument {word}"),
        }
    }
    assert!(!out.data.as_os_str().is_empty(), "--data DIR: a folder with images/, textures/ and gltf/");
    out
}

/// One image: our figures and theirs.
struct Pair {
    ours: Figures,
    theirs: Figures,
    /// The reference's seconds of processor time by ours.
    ratio: f64,
}

impl Pair {
    fn of(
        image: &Image,
        cache: &ReferenceCache,
        (quality, level, timed): (Quality, u32, u32),
        rounds: usize,
    ) -> Self {
        let ours = Encoder::Ours { quality, rdo: None };
        let (blocks, _) = ours.encode(image);
        let mut seconds = Vec::new();
        let mut time = |count: usize| seconds.extend((0..count).map(|_| ours.encode(image).1));
        time(rounds / 2);
        let (reference, mut reference_seconds) =
            cache.encode(&Encoder::Reference { level, rdo: None }, image);
        if timed != level {
            reference_seconds = cache.encode(&Encoder::Reference { level: timed, rdo: None }, image).1;
        }
        time(rounds - rounds / 2);
        let ratio = reference_seconds / process::median(&seconds);
        Self { ours: figures(image, &blocks), theirs: figures(image, &reference), ratio }
    }

    fn gain(&self, get: impl Fn(&Figures) -> f64) -> f64 {
        get(&self.ours) - get(&self.theirs)
    }

    fn print(&self, image: &Image) {
        println!(
            "    {:48} {:6.1}x  {:6.2} {:+.2}  BC7 {:6.2} {:+.2}  ETC {:+.2}",
            image.name,
            self.ratio,
            self.ours.rgb,
            self.gain(|f| f.rgb),
            self.ours.bc7,
            self.gain(|f| f.bc7),
            self.gain(|f| f.etc1),
        );
    }
}

/// One class: mean, median and worst difference of each decode.
fn row(class: Class, pairs: &[Pair]) {
    if pairs.is_empty() {
        return;
    }
    let gains = |get: fn(&Figures) -> f64| pairs.iter().map(|pair| pair.gain(get)).collect::<Vec<f64>>();
    let cell = |gains: &[f64]| {
        let mean = gains.iter().sum::<f64>() / gains.len() as f64;
        let worst = gains.iter().copied().fold(f64::MAX, f64::min);
        format!("{mean:+.2}, {:+.2}, {worst:+.2}", process::median(gains))
    };
    let alpha: Vec<f64> = pairs.iter().filter_map(|p| Some(p.ours.alpha? - p.theirs.alpha?)).collect();
    println!(
        "| {} | {} | {:.0} | {} | {} | {} | {} | {} |",
        class.name(),
        pairs.len(),
        process::median(&pairs.iter().map(|pair| pair.ratio).collect::<Vec<_>>()),
        cell(&gains(|f| f.rgb)),
        cell(&gains(|f| f.bc7)),
        cell(&gains(|f| f.astc)),
        cell(&gains(|f| f.etc1)),
        if alpha.is_empty() { "–".to_owned() } else { cell(&alpha) },
    );
}

/// Prints where the error is: for each mode of the reference, the blocks, their squared error by the reference and by
/// ours, and the modes that ours chose for them.
fn modes(images: &[&Image], cache: &ReferenceCache, quality: Quality, level: u32) {
    let mode =
        |block: &[u8; 16]| usize::from(basisu::uastc::huff_modes::HUFF_MODES[usize::from(block[0] & 127)]);
    let mut table = [([0u64; 3], [0u32; 19]); 19];
    for image in images {
        let theirs = cache.encode(&Encoder::Reference { level, rdo: None }, image).0;
        let ours = Encoder::Ours { quality, rdo: None }.encode(image).0;
        for ((texels, theirs), ours) in image.blocks().iter().zip(&theirs).zip(&ours) {
            let (sums, chosen) = &mut table[mode(theirs)];
            sums[0] += 1;
            sums[1] += measure::squared_error(texels, theirs);
            sums[2] += measure::squared_error(texels, ours);
            chosen[mode(ours)] += 1;
        }
    }
    for (mode, ([blocks, theirs, ours], chosen)) in table.iter().enumerate().filter(|(_, row)| row.0[0] > 0) {
        let mut most: Vec<(u32, usize)> = chosen.iter().copied().zip(0..).filter(|(n, _)| *n > 0).collect();
        most.sort_unstable_by(|a, b| b.cmp(a));
        let most: Vec<String> = most.iter().take(6).map(|(n, mode)| format!("{mode}: {n}")).collect();
        println!(
            "    mode {mode:2} {blocks:7} blocks  theirs {theirs:9}  ours {ours:9}  {}",
            most.join(", ")
        );
    }
}

/// The files of each half, by class.
fn files(images: &[Image]) {
    println!("\n## classes-files\n\n| class | tuning | reported |\n|---|---|---|");
    for class in Class::ALL {
        let of_half = |half: Half| {
            let mut names: Vec<&str> = images
                .iter()
                .filter(|image| image.class == class && image.half == half)
                .map(|image| image.file.as_str())
                .collect();
            names.dedup();
            names.sort_unstable();
            names.dedup();
            names.join(", ")
        };
        println!("| {} | {} | {} |", class.name(), of_half(Half::Tuning), of_half(Half::Reported));
    }
}

fn write(folder: &Path, image: &Image) {
    std::fs::create_dir_all(folder).expect("a folder");
    let name = format!("{} {}.png", image.class.name(), image.name.replace('/', " "));
    let file = std::fs::File::create(folder.join(name)).expect("a file");
    let mut encoder = png::Encoder::new(file, image.width as u32, image.height as u32);
    encoder.set_color(png::ColorType::Rgba);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&image.rgba).expect("texels");
}
