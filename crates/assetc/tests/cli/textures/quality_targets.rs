//! `texture.quality` as a target, with the executable: what `--stats` measures, for all kinds of textures, and resolutions
//! that a target reduces.

use super::layers::FACES;
use super::read::{Texture, psnr};
use super::{bumpy, painted, rgba};
use crate::hdr::radiance;
use crate::project::Project;
use serde_json::Value;

/// Builds with these texture settings; returns the figures of a source, and the messages.
fn build(p: &Project, texture: &str) -> (impl Fn(&str) -> Value + use<>, String) {
    p.write("assetc.yml", format!("default: {{texture: {{{texture}}}}}\n"));
    let ran = p.run(&["--stats", "--json"]).expect(0);
    let json = ran.json();
    let asset = move |source: &str| {
        let assets = json["stats"]["assets"].as_array().unwrap();
        assets.iter().find(|asset| asset["source"] == source).unwrap().clone()
    };
    (asset, ran.stderr)
}

fn psnr_of(asset: &Value) -> f64 {
    asset["error"]["psnr_db"].as_f64().unwrap()
}

fn bytes_of(asset: &Value) -> u64 {
    asset["disk_bytes"].as_u64().unwrap()
}

#[test]
fn quality_targets_are_reached_or_reported() {
    let p = Project::new();
    p.write("assets/a.png", rgba(90, 62, &painted(90, 62, false)));
    p.write("assets/wall.n.png", rgba(90, 62, &bumpy(90, 62)));
    let coarse = build(&p, "quality: {psnr: 38}").0("a.png");
    let fine = build(&p, "quality: {psnr: 44}").0("a.png");
    assert!(psnr_of(&coarse) >= 38.0 && psnr_of(&fine) >= 44.0, "{coarse} {fine}");
    assert!(bytes_of(&coarse) < bytes_of(&fine), "{coarse} {fine}");
    let normal = build(&p, "quality: {angle: 1.5}").0("wall.n.png");
    assert!(normal["error"]["mean_degrees"].as_f64().unwrap() <= 1.5, "{normal}");
    let (_, reported) = build(&p, "quality: psnr=90");
    assert!(reported.contains("warning[texture-quality]: a.png: the texture reaches "), "{reported}");
    p.write("assetc.yml", "default: {texture: {quality: {psnr: 0}}}\n");
    p.run(&["-q"]).expect(2);
}

#[test]
fn quality_targets_hold_for_arrays_and_cubemaps() {
    let p = Project::new();
    let layer = |n: usize| painted(64, 48 + 16 * n as u32, false)[16 * n * 64 * 4..].to_vec();
    for n in 0..3 {
        p.write(&format!("assets/tiles.array/{n}.png"), rgba(64, 48, &layer(n)));
    }
    for (n, face) in FACES.iter().enumerate() {
        let texels = painted(32, 32 + n as u32, false)[n * 32 * 4..].to_vec();
        p.write(&format!("assets/sky.env/{face}.png"), rgba(32, 32, &texels));
    }
    let (coarse, _) = build(&p, "quality: {psnr: 37}");
    // Measured by an independent decoder over all layers together.
    let texture = Texture::open(&p, "runtime/tiles.arr.ktx2");
    let all = |each: &dyn Fn(usize) -> Vec<u8>| (0..3).flat_map(each).collect::<Vec<u8>>();
    let reached = psnr(&all(&|n| texture.decode(0, n as u32, 0)), &all(&|n| layer(n)), &[0, 1, 2, 3]);
    assert!(reached >= 37.0 && (reached - psnr_of(&coarse("tiles.array"))).abs() < 0.01, "{reached}");
    let (fine, _) = build(&p, "quality: {psnr: 43}");
    for source in ["tiles.array", "sky.env"] {
        let (coarse, fine) = (coarse(source), fine(source));
        assert!(psnr_of(&coarse) >= 37.0 && psnr_of(&fine) >= 43.0, "{coarse} {fine}");
        assert!(bytes_of(&coarse) < bytes_of(&fine), "{coarse} {fine}");
    }
    let (_, reported) = build(&p, "quality: {psnr: 95}");
    for source in ["tiles.array", "sky.env"] {
        assert!(reported.contains(&format!("warning[texture-quality]: {source}: ")), "{reported}");
    }
}

#[test]
fn quality_targets_of_hdr_images_are_relative_to_the_texel() {
    let p = Project::new();
    // Twelve stops of exposure from left to right.
    let texel =
        |x: u32, y: u32| [(100 + x % 7 * 9) as u8, 190, (60 + (x * y) % 90) as u8, (122 + x / 4) as u8];
    p.write("assets/lamp.hdr", radiance(48, 32, texel));
    p.write("assets/sky.env.hdr", radiance(64, 32, texel));
    let relative = |asset: &Value| asset["error"]["relative_rms"].as_f64().unwrap();
    let (easy, reported) = build(&p, "target: desktop, quality: {psnr: 20}");
    assert!(!reported.contains("texture-quality"), "{reported}");
    let (hard, reported) = build(&p, "target: desktop, quality: {psnr: 80}");
    for source in ["lamp.hdr", "sky.env.hdr"] {
        let (easy, hard) = (relative(&easy(source)), relative(&hard(source)));
        assert!(easy <= 0.1 && hard <= easy, "{source}: {easy} {hard}");
        assert!(reported.contains(&format!("warning[texture-quality]: {source}: ")), "{reported}");
    }
    // RGBA16F has no error, and its resolution may be reduced.
    let (full, reported) = build(&p, "quality: {psnr: 80}");
    assert!(full("lamp.hdr")["error"].is_null() && !reported.contains("texture-quality"), "{reported}");
    let (reduced, _) = build(&p, "quality: {psnr: 8}, min_scale: 0.5");
    let reduced = reduced("lamp.hdr");
    assert!(bytes_of(&reduced) < bytes_of(&full("lamp.hdr")), "{reduced}");
    assert!(relative(&reduced) <= 0.4, "{reduced}");
    let printed = p.run(&["--stats"]).expect(0).stdout;
    assert!(printed.contains(" dB, ") && printed.contains(" % rms"), "{printed}");
}

#[test]
fn min_scale_reduces_the_resolution_while_the_target_holds() {
    let p = Project::new();
    p.write("assets/a.png", rgba(96, 64, &painted(96, 64, false)));
    p.write("assets/wall.n.png", rgba(96, 64, &bumpy(96, 64)));
    let size = |name: &str| {
        let (width, height, _) = Texture::open(&p, &format!("runtime/{name}.ktx2")).size();
        (width, height)
    };
    let (full, _) = build(&p, "quality: {psnr: 30}");
    assert_eq!(size("a"), (96, 64));
    let (reduced, reported) = build(&p, "quality: {psnr: 30}, min_scale: 0.25");
    assert_eq!(size("a"), (24, 16), "{reported}");
    let (full, reduced) = (full("a.png"), reduced("a.png"));
    assert!(psnr_of(&reduced) >= 30.0 && bytes_of(&reduced) < bytes_of(&full), "{full} {reduced}");
    // The grain of the image does not survive any other resolution.
    let (fine, _) = build(&p, "quality: {psnr: 44}, min_scale: 0.0625");
    assert!(size("a") == (96, 64) && psnr_of(&fine("a.png")) >= 44.0);
    let (normal, _) = build(&p, "quality: {angle: 3}, min_scale: 0.5");
    let normal = normal("wall.n.png");
    assert_eq!(size("wall.n"), (48, 32), "{normal}");
    assert!(normal["error"]["mean_degrees"].as_f64().unwrap() <= 3.0, "{normal}");
    p.write("assetc.yml", "default: {texture: {min_scale: 0.3}}\n");
    assert!(p.run(&["-q"]).expect(2).stderr.contains("`0.5`"));
}
