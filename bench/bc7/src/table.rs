//! Figures of every image and encoder, and the tables made of them. Ratios are in decibels, and means over the
//! images; speeds are all texels by all seconds, round by round.

use crate::clock::Clock;
use crate::encoders::Encoder;
use crate::images::{Class, Image};
use crate::process::{median, spread};

#[derive(Clone, Debug)]
pub struct Figures {
    /// Of each round.
    pub times: Vec<Clock>,
    pub rgb: f64,
    pub rgba: f64,
    /// Opaque texels that came out with another alpha, of all texels.
    pub not_opaque: f64,
    pub modes: [u32; 8],
}

impl Figures {
    pub fn of(image: &Image, blocks: &[u8], times: Vec<Clock>) -> Self {
        let (mut rgb, mut alpha, mut not_opaque, mut modes) = (0u64, 0u64, 0u64, [0; 8]);
        for (texels, block) in image.blocks().iter().zip(blocks.as_chunks::<16>().0) {
            let mut decoded = [0; 64];
            bcdec_rs::bc7(block, &mut decoded, 16);
            modes[(block[0].trailing_zeros() as usize).min(7)] += 1;
            for (a, b) in texels.as_chunks::<4>().0.iter().zip(decoded.as_chunks::<4>().0) {
                for c in 0..3 {
                    rgb += u64::from(a[c].abs_diff(b[c])).pow(2);
                }
                alpha += u64::from(a[3].abs_diff(b[3])).pow(2);
                not_opaque += u64::from(a[3] == 255 && b[3] != 255);
            }
        }
        let count = (image.width * image.height) as f64;
        Self {
            times,
            rgb: psnr(rgb, count * 3.0),
            rgba: psnr(rgb + alpha, count * 4.0),
            not_opaque: not_opaque as f64 / count,
            modes,
        }
    }
}

fn psnr(error: u64, count: f64) -> f64 {
    (10.0 * (255.0 * 255.0 * count / (error as f64).max(0.01)).log10()).min(80.0)
}

pub struct Results<'a> {
    pub images: &'a [Image],
    pub encoders: &'a [Encoder],
    pub figures: &'a [Vec<Figures>],
}

/// One encoder over all images.
struct Row {
    name: String,
    /// Megapixels by second of processor time, of each round.
    cpu: Vec<f64>,
    /// The means of RGB and RGBA by class.
    classes: Vec<[f64; 2]>,
    not_opaque: f64,
}

impl Results<'_> {
    /// The mean RGB and RGBA of an encoder over the images of a class.
    fn means(&self, encoder: usize, class: Class) -> [f64; 2] {
        let all = || self.figures[encoder].iter().zip(self.images).filter(|(_, image)| image.class == class);
        [mean(all().map(|(f, _)| f.rgb)), mean(all().map(|(f, _)| f.rgba))]
    }

    fn row(&self, encoder: usize) -> Row {
        let all = &self.figures[encoder];
        let megapixels: f64 = self.images.iter().map(Image::megapixels).sum();
        let rounds = all.first().map_or(0, |f| f.times.len());
        let speeds = |seconds: fn(&Clock) -> f64| {
            let round = |n: usize| megapixels / all.iter().map(|f| seconds(&f.times[n])).sum::<f64>();
            (0..rounds).map(round).collect::<Vec<f64>>()
        };
        Row {
            name: self.encoders[encoder].name(),
            cpu: speeds(|t| t.cpu),
            classes: Class::ALL.map(|class| self.means(encoder, class)).to_vec(),
            not_opaque: mean(all.iter().map(|f| f.not_opaque)) * 100.0,
        }
    }

    pub fn table(&self) {
        let megapixels: f64 = self.images.iter().map(Image::megapixels).sum();
        let names = Class::ALL.map(Class::name).join(" | ");
        let rule = "---|".repeat(Class::ALL.len());
        println!(
            "{} images of one half of the corpus, {megapixels:.2} megapixels; one thread. RGBA dB, mean of each class.\n",
            self.images.len()
        );
        println!("| encoder | MP/s CPU | opaque texels below 255 | {names} |\n|---|---|---|{rule}");
        for i in 0..self.encoders.len() {
            let Row { name, cpu, classes, not_opaque } = self.row(i);
            let cells: Vec<String> = classes.iter().map(|[_, rgba]| format!("{rgba:.2}")).collect();
            println!("| {name} | {} | {not_opaque:.1} % | {} |", spread(&cpu), cells.join(" | "));
        }
        println!("\n## bc7-rgb\n\nRGB dB, mean of each class.\n\n| encoder | {names} |\n|---|{rule}");
        for i in 0..self.encoders.len() {
            let Row { name, classes, .. } = self.row(i);
            let cells: Vec<String> = classes.iter().map(|[rgb, _]| format!("{rgb:.2}")).collect();
            println!("| {name} | {} |", cells.join(" | "));
        }
    }

    /// Each of ours that keeps opaque blocks beside every rival: speed, and differences of RGBA by class.
    pub fn compare(&self) {
        let names = Class::ALL.map(Class::name).join(" | ");
        println!("\n## bc7-against\n\n| ours | against | times as fast | {names} | worst image |");
        println!("|---|---|---|---|{}", "---|".repeat(Class::ALL.len()));
        for (i, ours) in self.encoders.iter().enumerate() {
            for (k, theirs) in self.encoders.iter().enumerate() {
                if !matches!((ours, theirs), (Encoder::Ours(_, true), Encoder::Intel(_) | Encoder::Bc7e(_))) {
                    continue;
                }
                let (a, b) = (self.row(i), self.row(k));
                let worst = (self.figures[i].iter().zip(&self.figures[k]).zip(self.images))
                    .map(|((a, b), image)| (a.rgba - b.rgba, image.name.as_str()))
                    .min_by(|a, b| a.0.total_cmp(&b.0))
                    .unwrap_or_default();
                let gains: Vec<String> =
                    a.classes.iter().zip(&b.classes).map(|(a, b)| format!("{:+.2}", a[1] - b[1])).collect();
                println!(
                    "| {} | {} | {:.2} | {} | {:+.2} ({}) |",
                    a.name,
                    b.name,
                    median(&a.cpu) / median(&b.cpu),
                    gains.join(" | "),
                    worst.0,
                    worst.1,
                );
            }
        }
    }

    pub fn modes(&self) {
        println!("\n## bc7-modes\n\n| blocks of mode, % | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 |");
        println!("|---|---|---|---|---|---|---|---|---|");
        for (encoder, all) in self.encoders.iter().zip(self.figures) {
            let mut sums = [0u32; 8];
            for f in all {
                sums.iter_mut().zip(f.modes).for_each(|(sum, n)| *sum += n);
            }
            let total = f64::from(sums.iter().sum::<u32>());
            let cells: Vec<_> =
                sums.iter().map(|&n| format!("{:.1}", f64::from(n) / total * 100.0)).collect();
            println!("| {} | {} |", encoder.name(), cells.join(" | "));
        }
    }

    pub fn each(&self) {
        println!();
        for (i, image) in self.images.iter().enumerate() {
            print!("{:44} {:4}x{:<4}", image.name, image.width, image.height);
            for all in self.figures {
                print!(
                    "  {:6.2}/{:6.2}/{:6.1}",
                    all[i].rgb,
                    all[i].rgba,
                    image.megapixels() / median(&all[i].times.iter().map(|t| t.cpu).collect::<Vec<_>>())
                );
            }
            println!();
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0f64);
    for value in values {
        sum += value;
        count += 1.0;
    }
    sum / count.max(1.0)
}
