//! Encode errors: PSNR, or angles for normal maps, between the base level of a texture and the texels that were encoded.
//!
//! The reference is the source compiled once more in memory, by the same recipe and settings but without block compression
//! and with 16 bits per channel. So it has the same swizzle, channel packing, flipped green channel and size, and it
//! exists for the textures of models and materials, too. Its format tells the mode: R16 for greyscale, RG16 for normal
//! maps, RGBA16 for linear data, RGBA8 for colour and RGBA16F for HDR images, whose errors are relative.

use super::{EncodeError, TextureStats};
use crate::build::AssetReport;
use crate::config::{Depth, LodCount, Mips, Resolver, Settings};
use crate::output::{at_root, journal_path};
use crate::plan::{PlannedAsset, Versions, plan};
use crate::tools::Tools;
use kiln_engine::mem::Mem;
use kiln_engine::{
    Code, Diag, DirectorySink, Fs, Journal, Limits, Plan, RelPath, SourceTree, State, Tree, run,
};
use kiln_format::ktx2::{Ktx2View, Payload};
use kiln_texture::{DecodedImage, DecodedTexels, decode_level};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// The number of sources whose references are in memory at the same time.
const BATCH: usize = 16;

/// Measures the textures of all sources, by source.
///
/// # Errors
///
/// I/O errors of the input directory. A source that cannot be compiled, or an output that cannot be read, has no error.
pub(super) fn errors(
    (resolver, tools): (&Resolver, &Tools),
    (src, out): (&dyn Fs, &dyn Fs),
    reported: &[AssetReport],
    limits: &Limits,
) -> Result<HashMap<String, Vec<TextureStats>>, Diag> {
    let fault = |e| at_root(Code::Unreadable, Path::new("."), &e);
    let tree = src.walk(None).map_err(fault)?;
    let mut assets = plan(&tree, resolver, tools, Versions::Unasked).assets;
    let reported: HashSet<&RelPath> = reported.iter().map(|asset| &asset.source).collect();
    assets.retain(|asset| reported.contains(&asset.source));
    assets.retain(|asset| asset.recipe.info().sections.contains(&"texture") && !asset.recipe.info().copies);
    for asset in &mut assets {
        without_compression(Arc::make_mut(&mut asset.resolved.settings));
    }
    let sources = SourceTree { fs: src, tree: &tree };
    let mut found = HashMap::new();
    for batch in assets.chunks(BATCH) {
        found.extend(measure_batch(batch, sources, out, limits)?);
    }
    Ok(found)
}

/// Changes the settings so that texels are stored as they are before block compression, and meshes cost little.
fn without_compression(settings: &mut Settings) {
    settings.texture.compress = false;
    settings.texture.depth = Depth::Sixteen;
    settings.texture.mips = Mips::None;
    settings.mesh.lods = LodCount::NONE;
    settings.mesh.optimize = false;
}

fn measure_batch(
    batch: &[PlannedAsset<'_>],
    sources: SourceTree<'_>,
    out: &dyn Fs,
    limits: &Limits,
) -> Result<Vec<(String, Vec<TextureStats>)>, Diag> {
    let references = Mem::new();
    let in_memory = |e| at_root(Code::Unwritable, Path::new("."), &e);
    let mut journal = Journal::open(&references, &journal_path(), &|| ()).map_err(in_memory)?;
    let empty = Tree::default();
    let sink = DirectorySink::new(&references, &empty);
    let jobs = crate::builder::available_cores();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(jobs)
        .build()
        .map_err(|e| Diag::new(Code::Threads, format!("cannot start {jobs} threads: {e}")))?;
    let run_plan = Plan { limits: *limits, ..Plan::new(&pool) };
    let outcomes = run(sources, &sink, &mut journal, batch, &[], run_plan)?;
    let measure = |(asset, outcome): (&PlannedAsset<'_>, _)| {
        let outcome: kiln_engine::Outcome<_> = outcome;
        if matches!(outcome.state, State::Failed(_)) {
            return None;
        }
        let texture = |path: &RelPath| {
            let reference = references.get(path.as_str())?;
            let error = encode_error(&reference, &out.read(path).ok()?, limits)?;
            Some(TextureStats { path: path.to_string(), error })
        };
        let mut textures: Vec<TextureStats> =
            outcome.artifacts.iter().filter_map(|artifact| texture(&artifact.name)).collect();
        textures.sort_by(|a, b| a.path.cmp(&b.path));
        Some((asset.source.to_string(), textures))
    };
    Ok(batch.par_iter().zip(outcomes).filter_map(measure).collect())
}

/// Compares the base level of a texture with its reference, all layers and faces together.
fn encode_error(reference: &[u8], texture: &[u8], limits: &Limits) -> Option<EncodeError> {
    let (reference, texture) = (Ktx2View::read(reference).ok()?, Ktx2View::read(texture).ok()?);
    if reference.payload() == Payload::Rgba16F {
        return relative(&reference, &texture, limits);
    }
    let channels = match reference.payload() {
        Payload::Rgba8 | Payload::Rgba16 => 4,
        Payload::Rg16 => 2,
        Payload::R16 => 1,
        _ => return None,
    };
    let pairs = pairs(&reference, &texture, limits)?;
    Some(match channels {
        2 => angular(pairs.iter().map(|(a, b)| kiln_texture::angle(a, b))),
        channels => psnr(pairs.iter().map(|(a, b)| (&a[..channels], &b[..channels]))),
    })
}

/// Compares HDR textures: the root mean square of the errors of the channels of each texel, relative to its brightest
/// channel. `None` if the texture is neither compressed nor reduced.
fn relative(reference: &Ktx2View<'_>, texture: &Ktx2View<'_>, limits: &Limits) -> Option<EncodeError> {
    let is_compressed = matches!(texture.payload(), Payload::Bc6h | Payload::Bc6hSigned);
    if !is_compressed && reference.shape() == texture.shape() {
        return None;
    }
    let pairs = pairs(reference, texture, limits)?;
    let error = |(a, b): &Pair| {
        let brightest = kiln_texture::brightest(a);
        let channel = |c: usize| ((f64::from(a[c]) - f64::from(b[c])) / brightest).powi(2);
        channel(0) + channel(1) + channel(2)
    };
    let squares: f64 = pairs.iter().map(error).sum();
    Some(EncodeError::Relative((squares / (3 * pairs.len().max(1)) as f64).sqrt()))
}

/// Returns the sum over all texels of the mean squared error of the channels in use; errors of HDR texels are relative to the
/// brightest channel of the texel. Uses no functions of the platform's math library, so that the sum is equal everywhere.
pub(crate) fn squared_error(reference: &[u8], texture: &[u8], limits: &Limits) -> Option<f64> {
    let (reference, texture) = (Ktx2View::read(reference).ok()?, Ktx2View::read(texture).ok()?);
    let (channels, is_hdr) = match reference.payload() {
        Payload::Rgba16F => (3, true),
        Payload::Rgba8 | Payload::Rgba16 => (4, false),
        Payload::Rg16 => (2, false),
        Payload::R16 => (1, false),
        _ => return None,
    };
    let error = |(a, b): &Pair| {
        let peak = if is_hdr { kiln_texture::brightest(a) } else { 1.0 };
        let square = |c: usize| ((f64::from(a[c]) - f64::from(b[c])) / peak).powi(2);
        (0..channels).map(square).sum::<f64>() / f64::from(channels as u32)
    };
    Some(pairs(&reference, &texture, limits)?.iter().map(error).sum())
}

/// A texel of a reference, and that of the texture at the same place.
type Pair = ([f32; 4], [f32; 4]);

/// Returns the texels of the base level of a reference, each with that of a texture: interpolated, if the resolution of the
/// texture was reduced for a quality target. Channels that are not floats are from 0 to 1.
fn pairs(reference: &Ktx2View<'_>, texture: &Ktx2View<'_>, limits: &Limits) -> Option<Vec<Pair>> {
    let [expected, found] = [reference, texture].map(|view| decode_level(view, 0, limits.max_memory).ok());
    let (expected, found) = (expected?, found?);
    if expected.len() != found.len() {
        return None;
    }
    let mut all = Vec::new();
    for (expected, found) in expected.iter().zip(&found) {
        let (width, height) = (expected.width, expected.height);
        let is_float = |image: &DecodedImage| matches!(image.texels, DecodedTexels::Rgba16F(_));
        if found.width > width || found.height > height || is_float(expected) != is_float(found) {
            return None;
        }
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let texel = |image: &DecodedImage| image.enlarged_texel(x, y, (width, height));
            all.push((texel(expected), texel(found)));
        }
    }
    Some(all)
}

fn psnr<'a>(pairs: impl Iterator<Item = (&'a [f32], &'a [f32])>) -> EncodeError {
    let (mut squares, mut count) = (0.0f64, 0u64);
    for (a, b) in pairs {
        squares += a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>();
        count += a.len() as u64;
    }
    let mean = squares / count.max(1) as f64;
    EncodeError::Psnr(if squares == 0.0 { f64::INFINITY } else { -10.0 * mean.log10() })
}

fn angular(angles: impl Iterator<Item = f64>) -> EncodeError {
    let (mut sum, mut max, mut count) = (0.0, 0.0f64, 0u64);
    for angle in angles {
        sum += angle;
        max = max.max(angle);
        count += 1;
    }
    EncodeError::Angular { mean: sum / count.max(1) as f64, max }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psnr_matches_its_definition() {
        let same = [0.25f32, 0.5, 1.0];
        assert_eq!(psnr([(&same[..], &same[..])].into_iter()), EncodeError::Psnr(f64::INFINITY));
        // An error of 1 in 255 in every channel is 48.13 dB.
        let [a, b] = [[10.0f32, 20.0], [11.0, 19.0]].map(|t| t.map(|value| value / 255.0));
        let EncodeError::Psnr(db) = psnr([(&a[..], &b[..])].into_iter()) else { panic!() };
        assert!((db - 48.1308).abs() < 1e-3, "{db}");
    }

    #[test]
    fn angular_error_is_in_degrees() {
        // Red and green of 0.5 are a normal along Z, those of 1 and 0.5 one along X.
        let (up, right) = ([0.5, 0.5, 0.0, 1.0], [1.0, 0.5, 0.0, 1.0]);
        let angles = [kiln_texture::angle(&up, &up), kiln_texture::angle(&up, &right)];
        let EncodeError::Angular { mean, max } = angular(angles.into_iter()) else { panic!() };
        assert!((mean - 45.0).abs() < 1e-9 && (max - 90.0).abs() < 1e-9);
    }
}
