//! Image readers beside independent ones: every file that both read has to give the same texels.
//!
//! ```text
//! cargo run --release --manifest-path bench/images/Cargo.toml -- [folder of images]...
//! cargo run --release --manifest-path bench/images/Cargo.toml -- write <folder>
//! ```
//!
//! Files are generated in every variant, then damaged byte by byte and at random; folders add real files. `write` makes
//! the ETC1S files of the tests of `kiln-import`, and beside each what the independent reader makes of it.

mod bitmaps;
mod etc1s;
mod hdr;
mod noise;

use image::{DynamicImage, ImageDecoder};
use kiln_engine::Limits;
use kiln_ir::Image;
use noise::Noise;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Small enough that a damaged header cannot make the comparison slow.
const LIMITS: Limits = Limits { max_pixels: 1 << 24, max_memory: 1 << 28, max_time: None };
/// Width, height and RGBA texels.
type Texels = (u32, u32, Vec<u8>);

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if let [command, folder] = &arguments[..]
        && command.as_os_str() == "write"
    {
        etc1s::write(folder);
        return ExitCode::SUCCESS;
    }
    let mut tally = Tally::default();
    let mut noise = Noise(1);
    for (name, file) in bitmaps::all(&mut noise).into_iter().chain(etc1s::all(&mut noise)) {
        tally.compare(&name, &file, true);
        tally.damage(&name, &file, &mut noise);
    }
    hdr::compare(&mut noise, &mut tally);
    arguments.iter().for_each(|folder| tally.folder(folder));
    println!(
        "{} files compared: {} equal, {} refused by both, {} read by us alone, {} refused by a rule of ours, {} differ",
        tally.files, tally.same, tally.refused, tally.ours, tally.stricter, tally.differ
    );
    if tally.differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The outcomes of comparisons.
#[derive(Default)]
pub struct Tally {
    files: u64,
    same: u64,
    refused: u64,
    ours: u64,
    stricter: u64,
    differ: u64,
}

/// The codes of rules that the other readers do not have: limits, TGA headers that make sense.
const RULES: [&str; 3] = ["image-too-large", "memory-limit", "image-unknown"];

impl Tally {
    /// Compares what two readers made of a file.
    pub fn count<T: PartialEq>(
        &mut self,
        name: &str,
        ours: Result<T, String>,
        theirs: Option<T>,
        sound: bool,
    ) {
        self.files += 1;
        match (ours, theirs) {
            (Ok(a), Some(b)) if a == b => self.same += 1,
            (Ok(_), Some(_)) => {
                self.differ += 1;
                println!("{name}: the texels differ");
            }
            (Ok(_), None) => self.ours += 1,
            // The other reader of ETC1S takes what is cut off for zeros.
            (Err(why), Some(_))
                if !sound && (name.ends_with("ktx2") || RULES.iter().any(|rule| why.contains(rule))) =>
            {
                self.stricter += 1;
            }
            (Err(why), Some(_)) => {
                self.differ += 1;
                println!("{name}: refused: {why}");
            }
            (Err(why), None) if sound => {
                self.differ += 1;
                println!("{name}: refused by both: {why}");
            }
            (Err(_), None) => self.refused += 1,
        }
    }

    fn compare(&mut self, name: &str, file: &[u8], sound: bool) {
        let extension = name.rsplit('.').next().unwrap_or_default();
        let ours = kiln_import::image::import(file, extension, &LIMITS);
        let ours = ours.map(|found| texels(found.value)).map_err(|diag| diag.to_string());
        self.count(name, ours, theirs(file, extension), sound);
    }

    /// Compares damaged copies of a file: every byte of its start changed, and random bytes anywhere.
    fn damage(&mut self, name: &str, good: &[u8], noise: &mut Noise) {
        let mut bytes = good.to_vec();
        // Another size in a KTX header costs the other reader a minute.
        let sides = if name.ends_with("ktx2") { 20..28 } else { 0..0 };
        for at in (0..good.len().min(160)).filter(|at| !sides.contains(at)) {
            for value in [0, 0xFF, good[at] ^ 1, good[at].wrapping_add(3)] {
                bytes[at] = value;
                self.compare(name, &bytes, false);
            }
            bytes[at] = good[at];
        }
        for _ in 0..100 {
            let mut bytes = good.to_vec();
            for _ in 0..=noise.below(3) {
                let at = noise.below(bytes.len());
                if !sides.contains(&at) {
                    bytes[at] = noise.below(256) as u8;
                }
            }
            bytes.truncate(bytes.len() - if noise.below(4) == 0 { noise.below(bytes.len()) } else { 0 });
            self.compare(name, &bytes, false);
        }
    }

    fn folder(&mut self, folder: &Path) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let name = path.display().to_string();
            match path.extension().and_then(|e| e.to_str()) {
                _ if path.is_dir() => self.folder(&path),
                Some("bmp" | "tga" | "webp" | "ktx2") => {
                    self.compare(&name, &std::fs::read(&path).expect("a readable file"), false);
                }
                Some("hdr") => {
                    hdr::compare_file(&name, &std::fs::read(&path).expect("a readable file"), self)
                }
                _ => {}
            }
        }
    }
}

fn texels(image: Image) -> Texels {
    (image.width(), image.height(), image.into_rgba8())
}

/// The texels that the independent reader of the format gives.
fn theirs(file: &[u8], extension: &str) -> Option<Texels> {
    let format = match extension {
        "ktx2" => return std::panic::catch_unwind(|| etc1s::theirs(file)).ok().flatten(),
        _ if file.starts_with(b"BM") => image::ImageFormat::Bmp,
        "tga" => image::ImageFormat::Tga,
        "webp" => image::ImageFormat::WebP,
        _ => return None,
    };
    let mut reader = image::ImageReader::with_format(std::io::Cursor::new(file), format);
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(LIMITS.max_memory);
    reader.limits(limits);
    let mut decoder =
        reader.into_decoder().ok().filter(|decoder| decoder.total_bytes() <= LIMITS.max_memory)?;
    let orientation = decoder.orientation().ok()?;
    let mut image = DynamicImage::from_decoder(decoder).ok()?;
    image.apply_orientation(orientation);
    let (width, height) = (image.width(), image.height());
    (u64::from(width) * u64::from(height) <= LIMITS.max_pixels)
        .then(|| (width, height, image.into_rgba8().into_raw()))
}
