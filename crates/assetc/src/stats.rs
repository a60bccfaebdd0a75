//! `--stats`: source size, disk size, GPU memory and encode error of every asset, and in total.
//!
//! Sizes come from the journal and the outputs. The encode error compares the base level of every texture with the texels
//! that were encoded (`encode_error.rs`).

mod encode_error;

pub(crate) use encode_error::squared_error;

use crate::build::AssetReport;
use crate::config::{Resolver, Roots};
use crate::output::at_root;
use crate::runtime::read_records;
use crate::tools::Tools;
use kiln_engine::record::Seen;
use kiln_engine::{Code, Diag, Fs, Limits, Real, RelPath};
use kiln_format::{Fact, GPU_BYTES, by_path};
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
    /// The error of block compression, if it can be measured; the largest one of an asset with several textures.
    pub error: Option<EncodeError>,
    /// The error of each texture, sorted by path.
    pub textures: Vec<TextureStats>,
}

/// The encode error of one texture.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TextureStats {
    /// The texture, relative to the output.
    pub path: String,
    /// The error of block compression.
    pub error: EncodeError,
}

/// The difference between a texture and the texels that were encoded.
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
    /// The root mean square of the errors of an HDR texture, each relative to the brightest channel of its texel.
    Relative(f64),
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

/// Measures the assets of a build with this configuration and preset; calls `waiting` when another build holds the lock of
/// the output. The encode errors need a second compilation of the sources, without block compression, in memory.
///
/// # Errors
///
/// I/O errors of the input and output directories. An output that cannot be read has no metrics.
pub fn stats(
    build: (&Resolver, &Tools),
    roots: &Roots,
    assets: &[AssetReport],
    limits: &Limits,
    waiting: &dyn Fn(),
) -> Result<Stats, Diag> {
    let records = read_records(&roots.output, waiting)?;
    let src = Real::open(&roots.input).map_err(|e| roots.input_fault(&e))?;
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
        }
        Some(stats)
    };
    let mut measured: Vec<AssetStats> = assets.par_iter().filter_map(measure).collect();
    let mut errors = encode_error::errors(build, (&src, &out), assets, limits)?;
    for stats in &mut measured {
        stats.textures = errors.remove(&stats.source).unwrap_or_default();
        stats.error = stats.textures.iter().map(|texture| texture.error).reduce(EncodeError::worse);
    }
    Ok(Stats { assets: measured })
}

impl EncodeError {
    /// Returns the larger error. Angles and signal-to-noise ratios cannot be compared; the ratio is returned.
    fn worse(self, other: EncodeError) -> EncodeError {
        match (self, other) {
            (EncodeError::Psnr(a), EncodeError::Psnr(b)) => EncodeError::Psnr(a.min(b)),
            (EncodeError::Angular { max: a, .. }, EncodeError::Angular { max: b, .. }) => {
                if a >= b {
                    self
                } else {
                    other
                }
            }
            (EncodeError::Relative(a), EncodeError::Relative(b)) => EncodeError::Relative(a.max(b)),
            (EncodeError::Psnr(_), _) => self,
            _ => other,
        }
    }
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
