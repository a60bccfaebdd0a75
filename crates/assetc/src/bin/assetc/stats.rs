//! The output of `--stats`: sizes, GPU memory, encode error and time of each asset, and in total.

use super::Session;
use ::assetc::stats::{AssetStats, EncodeError, Stats, TextureStats};
use kiln_cli::render;
use kiln_engine::Json;
use std::collections::BTreeMap;
use std::time::Duration;

/// Prints one line per asset, the total, and GPU memory by format.
pub(super) fn print(session: &Session, stats: &Stats, times: &BTreeMap<String, Duration>) {
    let mut out = session.reporter.summary();
    let total = stats.total();
    let width = stats.assets.iter().map(|asset| asset.source.chars().count()).max().unwrap_or(0).clamp(5, 60);
    let line = |asset: &AssetStats, time: Option<Duration>| {
        let gpu: u64 = asset.gpu_bytes.values().sum();
        let error = asset.error.map(error).unwrap_or_default();
        let time = time.map(render::time).unwrap_or_default();
        let (source, disk) = (render::size(asset.source_bytes), render::size(asset.disk_bytes));
        let name = render::printable(&asset.source);
        format!("{name:<width$} {source:>10} {disk:>10} {:>10} {error:>26} {time:>8}", render::size(gpu))
    };
    let heading = format!(
        "{:<width$} {:>10} {:>10} {:>10} {:>26} {:>8}",
        "asset", "source", "disk", "GPU memory", "encode error", "time"
    );
    out.line(&out.style.strong(&heading));
    for asset in &stats.assets {
        out.line(line(asset, times.get(&asset.source).copied()).trim_end());
        for texture in asset.textures.iter().filter(|_| asset.textures.len() > 1) {
            let name = format!("  {}", render::printable(&texture.path));
            out.line(&format!("{name:<width$} {:>59}", error(texture.error)));
        }
    }
    out.line(line(&total, (!times.is_empty()).then(|| times.values().sum())).trim_end());
    for (format, bytes) in &total.gpu_bytes {
        let target = if format.starts_with("UASTC") { ", transcoded to BC7 or ASTC 4x4" } else { "" };
        out.line(&format!("GPU memory: {} {format}{target}", render::size(*bytes)));
    }
}

fn error(error: EncodeError) -> String {
    match error {
        EncodeError::Psnr(db) if db.is_infinite() => "lossless".to_owned(),
        EncodeError::Psnr(db) => format!("{db:.2} dB"),
        EncodeError::Angular { mean, max } => format!("{mean:.2}° mean, {max:.2}° max"),
        EncodeError::Relative(rms) => format!("{:.2} dB, {:.2} % rms", -20.0 * rms.log10(), 100.0 * rms),
        _ => String::new(),
    }
}

/// Converts the metrics to JSON: `psnr_db` is null for equal texels.
pub(super) fn json(stats: &Stats, times: &BTreeMap<String, Duration>) -> Json {
    let texture = |texture: &TextureStats| {
        Json::object([("path", texture.path.as_str().into()), ("error", error_json(Some(texture.error)))])
    };
    let asset = |asset: &AssetStats| {
        let gpu = asset.gpu_bytes.iter().map(|(format, bytes)| (format.clone(), Json::from(*bytes)));
        Json::object([
            ("source", asset.source.as_str().into()),
            ("source_bytes", asset.source_bytes.into()),
            ("disk_bytes", asset.disk_bytes.into()),
            ("gpu_bytes", Json::Object(gpu.collect())),
            ("error", error_json(asset.error)),
            ("textures", Json::list(asset.textures.iter().map(texture))),
            ("time_ms", times.get(&asset.source).map(|time| time.as_millis() as u64).into()),
        ])
    };
    Json::object([("assets", Json::list(stats.assets.iter().map(asset))), ("total", asset(&stats.total()))])
}

fn error_json(error: Option<EncodeError>) -> Json {
    match error {
        Some(EncodeError::Psnr(db)) if db.is_infinite() => Json::object([("psnr_db", Json::Null)]),
        Some(EncodeError::Psnr(db)) => Json::object([("psnr_db", Json::Float(db))]),
        Some(EncodeError::Angular { mean, max }) => {
            Json::object([("mean_degrees", Json::Float(mean)), ("max_degrees", Json::Float(max))])
        }
        Some(EncodeError::Relative(rms)) => Json::object([("relative_rms", Json::Float(rms))]),
        _ => Json::Null,
    }
}
