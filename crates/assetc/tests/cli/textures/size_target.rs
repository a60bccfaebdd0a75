//! `texture.size_target` with the executable: the sum of a group, its division by content, and independence of what was
//! built before.

use super::{painted, rgba};
use crate::project::Project;

/// Writes three images of one size: a flat one, a smooth one and noise.
fn project() -> Project {
    let p = Project::new();
    let noise = |i: u32| (i.wrapping_mul(0x9E37_79B1) ^ i.wrapping_mul(0x85EB_CA6B) >> 7) >> 23;
    let grain: Vec<u8> = (0..64 * 64).flat_map(|i| [noise(i) as u8, noise(i + 7) as u8, 90, 255]).collect();
    p.write("assets/ui/flat.png", rgba(64, 64, &[80, 90, 100, 255].repeat(64 * 64)));
    p.write("assets/ui/smooth.png", rgba(64, 64, &painted(64, 64, false)));
    p.write("assets/ui/noise.png", rgba(64, 64, &grain));
    p.write("assets/other.png", rgba(64, 64, &grain));
    p
}

fn set_target(p: &Project, texture: &str) {
    p.write("assetc.yml", format!("default: {{rules: [{{match: \"ui/**\", texture: {{{texture}}}}}]}}\n"));
}

const NAMES: [&str; 3] = ["flat", "smooth", "noise"];

fn outputs(p: &Project) -> [Vec<u8>; 3] {
    NAMES.map(|name| p.read(&format!("runtime/ui/{name}.ktx2")))
}

fn total(outputs: &[Vec<u8>; 3]) -> usize {
    outputs.iter().map(Vec::len).sum()
}

#[test]
fn textures_of_a_rule_share_their_target_by_content() {
    let p = project();
    p.run(&["-q"]).expect(0);
    let (full, other) = (outputs(&p), p.read("runtime/other.ktx2"));
    let target = total(&full) * 3 / 4;
    set_target(&p, &format!("size_target: {target}"));
    let ran = p.run(&["--stats", "--json"]).expect(0);
    let reduced = outputs(&p);
    assert!(total(&reduced) <= target, "{} of {target}", total(&reduced));
    assert!(!ran.stderr.contains("texture-size"), "{ran:?}");
    assert_eq!(reduced[0], full[0], "a flat texture has nothing to save");
    assert_eq!(p.read("runtime/other.ktx2"), other, "the rule does not match");
    p.run(&["check"]).expect(0);
    // The target of a layer counts all textures.
    let all = target + other.len();
    p.write("assetc.yml", format!("default: {{texture: {{size_target: {all} B}}}}\n"));
    p.run(&["-q"]).expect(0);
    assert!(total(&outputs(&p)) + p.read("runtime/other.ktx2").len() <= all);
}

#[test]
fn target_that_cannot_be_reached_is_reported_and_resolution_helps() {
    let p = project();
    set_target(&p, "size_target: 1500");
    let ran = p.run(&[]).expect(0);
    assert!(ran.stderr.contains("warning[texture-size]"), "{ran:?}");
    let sum = total(&outputs(&p));
    assert!(
        ran.stderr.contains(&format!("is 1500 bytes, and its 3 textures have at least {sum}")),
        "{ran:?}"
    );
    assert!(p.run(&[]).expect(0).stderr.contains("texture-size"), "the warning is repeated");
    set_target(&p, "size_target: 6 kB, min_scale: 0.125");
    let ran = p.run(&[]).expect(0);
    assert!(!ran.stderr.contains("texture-size") && total(&outputs(&p)) <= 6 << 10, "{ran:?}");
}

#[test]
fn result_depends_on_sources_and_not_on_earlier_builds() {
    let p = project();
    set_target(&p, "size_target: 9 kB");
    p.run(&["-q"]).expect(0);
    let first = outputs(&p);
    assert_eq!(p.build(), (0, 4), "nothing is built again");
    let dry = p.run(&["--dry-run", "--json"]).expect(0).json();
    assert_eq!(dry["build"], serde_json::json!([]), "{dry}");
    // Another image, another target and back again.
    let smooth = p.read("assets/ui/smooth.png");
    p.write("assets/ui/smooth.png", rgba(64, 64, &painted(64, 64, true)));
    p.run(&["-q"]).expect(0);
    let changed = outputs(&p);
    set_target(&p, "size_target: 5 kB");
    p.run(&["-q", "-j", "1"]).expect(0);
    set_target(&p, "size_target: 9 kB");
    p.write("assets/ui/smooth.png", smooth);
    p.run(&["-q"]).expect(0);
    assert_eq!(outputs(&p), first);
    // A clean build of the changed sources is what the incremental build was.
    p.write("assets/ui/smooth.png", rgba(64, 64, &painted(64, 64, true)));
    p.run(&["clean"]).expect(0);
    assert!(!p.exists("runtime"), "the curves are removed, too");
    p.run(&["-q", "-j", "1"]).expect(0);
    assert_eq!(outputs(&p), changed);
}
