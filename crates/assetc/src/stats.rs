//! `--stats`: source size, disk size, GPU memory and encode error of every asset, and in total.
//!
//! Sizes come from the journal and the outputs. The encode error compares the base level of a texture with its source
//! image. There is none for images inside models, for HDR images, or where `texture.max_size` changed the size.

use crate::build::AssetReport;
use crate::config::Roots;
use crate::output::at_root;
use crate::recipe::suffix;
use crate::runtime::read_records;
use kiln_engine::record::Seen;
use kiln_engine::{Code, Diag, Fs, Limits, Real, RelPath};
use kiln_format::ktx2::Ktx2View;
use kiln_format::{Fact, GPU_BYTES, by_path};
use kiln_import::image;
use kiln_texture::{DecodedTexels, decode_level};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The metrics of one asset.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AssetStats {
    /// The source, relative to the input.
    pub source: String,
    /// The size of the files that it read, in bytes.
    pub source_bytes: u64,
    /// The size of its outputs in bytes.
    pub disk_bytes: u64,
    /// The GPU memory of its outputs in bytes, by format: that of a texture, or `buffers` for meshes.
    pub gpu_bytes: BTreeMap<String, u64>,
    /// The error of block compression, if it can be measured.
    pub error: Option<EncodeError>,
}

/// The difference between a texture and its source image.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The peak signal-to-noise ratio of the channels in use, in decibels; infinite for equal texels.
    Psnr(f64),
    /// The angles between normals, in degrees.
    Angular {
        /// The mean angle.
        mean: f64,
        /// The largest angle.
        max: f64,
    },
}

/// The metrics of all assets.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Stats {
    /// One entry per asset that has outputs, sorted by source.
    pub assets: Vec<AssetStats>,
}

impl Stats {
    /// Sums up all assets. A file that several sources read counts for each of them.
    pub fn total(&self) -> AssetStats {
        let mut total = AssetStats { source: "total".to_owned(), ..AssetStats::default() };
        for asset in &self.assets {
            total.source_bytes += asset.source_bytes;
            total.disk_bytes += asset.disk_bytes;
            for (format, bytes) in &asset.gpu_bytes {
                *total.gpu_bytes.entry(format.clone()).or_default() += bytes;
            }
        }
        total
    }
}

/// Measures the assets of a build; calls `waiting` when another build holds the lock of the output.
///
/// # Errors
///
/// I/O errors of the input and output directories. An output that cannot be read has no metrics.
pub fn stats(
    roots: &Roots,
    assets: &[AssetReport],
    limits: &Limits,
    waiting: &dyn Fn(),
) -> Result<Stats, Diag> {
    let records = read_records(&roots.output, waiting)?;
    let src = Real::open(&roots.input).map_err(|e| at_root(Code::Unreadable, &roots.input, &e))?;
    let out = Real::open(&roots.output).map_err(|e| at_root(Code::Unreadable, &roots.output, &e))?;
    let measure = |asset: &AssetReport| {
        let record = records.get(asset.source.as_str())?;
        let mut stats = AssetStats { source: asset.source.to_string(), ..AssetStats::default() };
        let lens = record.inputs.iter().filter_map(|input| match input.seen {
            Seen::File { stamp, .. } => Some(stamp.len),
            _ => None,
        });
        stats.source_bytes = lens.sum();
        for output in &record.outputs {
            stats.disk_bytes += output.stamp.len;
            let bytes = RelPath::new(&*output.path).ok().and_then(|path| out.read(&path).ok());
            let Some(bytes) = bytes else { continue };
            if let Some((format, gpu)) = gpu_memory(&output.path, &bytes) {
                *stats.gpu_bytes.entry(format).or_default() += gpu;
            }
            if record.outputs.len() == 1 {
                stats.error = encode_error(&src, asset, &bytes, limits);
            }
        }
        Some(stats)
    };
    Ok(Stats { assets: assets.par_iter().filter_map(measure).collect() })
}

/// Returns the format and the GPU memory of a runtime file, if an engine uploads it.
fn gpu_memory(path: &str, bytes: &[u8]) -> Option<(String, u64)> {
    let (mut name, mut gpu) = ("buffers".to_owned(), None);
    let each = &mut |fact: &'static str, value: Fact<'_>| match value {
        Fact::Text(text) if fact == "format" => text.clone_into(&mut name),
        Fact::Total(bytes) if fact == GPU_BYTES => gpu = Some(bytes),
        _ => {}
    };
    by_path(path)?.facts(bytes, each).ok()?;
    gpu.map(|gpu| (name, gpu))
}

/// Compares a texture with its source image.
fn encode_error(src: &dyn Fs, asset: &AssetReport, texture: &[u8], limits: &Limits) -> Option<EncodeError> {
    let channels = match asset.kind {
        "color" => 4,
        "normal" => 2,
        "grayscale" => 1,
        _ => return None,
    };
    let view = Ktx2View::read(texture).ok()?;
    let decoded = decode_level(&view, 0, limits.max_memory).ok()?.into_iter().next()?;
    let DecodedTexels::Rgba8(decoded_texels) = decoded.texels else { return None };
    let extension = suffix(&asset.source).map_or("", |suffix| suffix.ext).to_ascii_lowercase();
    let source = image::import(&src.read(&asset.source).ok()?, &extension, limits).ok()?.value;
    if (source.width(), source.height()) != (decoded.width, decoded.height) {
        return None;
    }
    let source = source.into_rgba8();
    let pairs = source.as_chunks::<4>().0.iter().zip(&decoded_texels);
    Some(match channels {
        2 => angular(pairs.map(|(a, b)| (normal(*a), normal(*b)))),
        channels => psnr(pairs.map(|(a, b)| (&a[..channels], &b[..channels]))),
    })
}

fn psnr<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> EncodeError {
    let (mut squares, mut count) = (0u64, 0u64);
    for (a, b) in pairs {
        squares += a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum::<u64>();
        count += a.len() as u64;
    }
    let mean = squares as f64 / count.max(1) as f64;
    EncodeError::Psnr(if squares == 0 { f64::INFINITY } else { 10.0 * (255.0 * 255.0 / mean).log10() })
}

fn angular(pairs: impl Iterator<Item = ([f64; 3], [f64; 3])>) -> EncodeError {
    let (mut sum, mut max, mut count) = (0.0, 0.0f64, 0u64);
    for (a, b) in pairs {
        let dot: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        let angle = dot.clamp(-1.0, 1.0).acos().to_degrees();
        sum += angle;
        max = max.max(angle);
        count += 1;
    }
    EncodeError::Angular { mean: sum / count.max(1) as f64, max }
}

/// Reconstructs the unit normal from red and green.
fn normal(texel: [u8; 4]) -> [f64; 3] {
    let [x, y] = [texel[0], texel[1]].map(|value| f64::from(value) / 127.5 - 1.0);
    let z = (1.0 - x * x - y * y).max(0.0).sqrt();
    let length = (x * x + y * y + z * z).sqrt();
    [x, y, z].map(|c| c / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psnr_matches_its_definition() {
        let same = [1u8, 2, 3];
        assert_eq!(psnr([(&same[..], &same[..])].into_iter()), EncodeError::Psnr(f64::INFINITY));
        // An error of 1 in every channel is 48.13 dB.
        let EncodeError::Psnr(db) = psnr([(&[10u8, 20][..], &[11u8, 19][..])].into_iter()) else { panic!() };
        assert!((db - 48.1308).abs() < 1e-3, "{db}");
    }

    #[test]
    fn angular_error_is_in_degrees() {
        let pairs = [([0.0, 0.0, 1.0], [0.0, 0.0, 1.0]), ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0])];
        let EncodeError::Angular { mean, max } = angular(pairs.into_iter()) else { panic!() };
        assert!((mean - 45.0).abs() < 1e-9 && (max - 90.0).abs() < 1e-9);
    }
}
