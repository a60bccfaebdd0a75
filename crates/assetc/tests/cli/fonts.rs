//! Fonts with the executable: outputs, `info` and `check`, settings and errors.

use crate::packs;
use crate::project::Project;

const INTER: &[u8] = include_bytes!("../../../font/tests/fonts/inter.otf");
const DEJAVU: &[u8] = include_bytes!("../../../font/tests/fonts/dejavu-sans.ttf");

fn project() -> Project {
    let p = Project::new();
    p.write("assets/ui/Inter.otf", INTER).write("assets/dejavu.ttf", DEJAVU);
    p
}

#[test]
fn font_compiles_to_metrics_and_atlas() {
    let p = project();
    let ran = p.run(&["--verify", "--pack"]).expect(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    let outputs: Vec<String> = p.tree("runtime").into_keys().collect();
    assert_eq!(outputs, ["assets.hman", "dejavu.hfont", "dejavu.ktx2", "ui/Inter.hfont", "ui/Inter.ktx2"]);
    p.run(&["check"]).expect(0);
    p.run(&["check", "runtime.hpack"]).expect(0);
    let packed = packs::unpack(&p.read("runtime.hpack")).unwrap();
    assert_eq!(packed.iter().filter(|file| file.kind == 7).count(), 2);

    // The header, field by field, at the documented offsets.
    let font = p.read("runtime/ui/Inter.hfont");
    let u32_at = |at: usize| u32::from_le_bytes(font[at..at + 4].try_into().unwrap());
    let f32_at = |at: usize| f32::from_bits(u32_at(at));
    assert_eq!((&font[..4], u32_at(4)), (&b"HFNT"[..], 1));
    assert_eq!(font.len() as u32, 52 + u32_at(8) * 40 + u32_at(12) * 12);
    assert_eq!(u32_at(8), 1 + 95 + 96, ".notdef, ASCII, Latin-1");
    assert_eq!((f32_at(36), f32_at(40), u32_at(48)), (12.0, 0.5, 0));
    // FNV-1a of the reference in lower case, without extension.
    let hash = b"ui/inter"
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
    assert_eq!(font[16..24], hash.to_le_bytes());
    let manifest = p.read("runtime/assets.hman");
    assert!(manifest.windows(8).any(|bytes| bytes == hash.to_le_bytes()));
    let atlas = p.read("runtime/ui/Inter.ktx2");
    let side = |at: usize| u32::from_le_bytes(atlas[at..at + 4].try_into().unwrap());
    assert_eq!((side(20), side(24), side(40)), (u32_at(44) & 0xffff, u32_at(44) >> 16, 1));
    assert_eq!(side(12), 37, "VK_FORMAT_R8G8B8A8_UNORM");
    assert_eq!(p.build(), (0, 2));
}

#[test]
fn info_and_check_support_fonts() {
    let p = project();
    p.build();
    let shown = p.run(&["info"]).expect(0).stdout;
    assert!(shown.contains("== fonts (.hfont) (2)") && shown.contains("v1 | 192 glyphs | "), "{shown}");
    let json = p.run(&["info", "--json"]).expect(0).json();
    let files = json["files"].as_array().unwrap();
    let inter = &files.iter().find(|f| f["path"] == "ui/Inter.hfont").unwrap()["facts"];
    assert_eq!(inter["glyphs"], 192);
    assert_eq!(inter["field"], "SDF");
    assert!(inter["kerning_pairs"].as_u64().unwrap() > 1000);

    p.remove("runtime/dejavu.ktx2");
    let ran = p.run(&["check"]).expect(1);
    let output = format!("{}{}", ran.stdout, ran.stderr);
    assert!(output.contains("font-missing-atlas"), "{output}");
}

#[test]
fn settings_select_size_range_field_and_charset() {
    let p = project();
    p.build();
    let plain = p.read("runtime/ui/Inter.ktx2");
    p.write(
        "assetc.yml",
        "default:\n  rules:\n    - match: \"ui/*\"\n      font:\n        size: 24\n        spread: 3\n        field: msdf\n        \
         charset: ascii, U+20AC\n",
    );
    assert_eq!(p.build(), (1, 1));
    let font = p.read("runtime/ui/Inter.hfont");
    assert_eq!((font[8], font[48]), (1 + 95 + 1, 1));
    assert_eq!(font[36..40], 6f32.to_le_bytes());
    assert!(p.read("runtime/ui/Inter.ktx2").len() < plain.len());
    // Texture settings do not affect an atlas.
    p.write("assetc.yml", "default:\n  texture:\n    compress: false\n    mips: false\n").build();
    assert_eq!(p.read("runtime/ui/Inter.ktx2"), plain);
    assert_eq!(p.build(), (0, 2));

    p.write("assetc.yml", "default:\n  font:\n    charset: ascii, U+0416\n");
    let ran = p.run(&[]).expect(0);
    assert!(ran.stderr.contains("warning[font-missing-characters]: dejavu.ttf"), "{}", ran.stderr);
    p.write("assetc.yml", "default:\n  font:\n    size: 1000\n");
    let ran = p.run(&[]).expect(2);
    assert!(ran.stderr.contains("config-bad-value"), "{}", ran.stderr);
}

#[test]
fn broken_font_fails_alone() {
    let p = project();
    p.write("assets/cut.ttf", &DEJAVU[..DEJAVU.len() / 3]).write("assets/web.otf", b"wOF2 and so on");
    let ran = p.run(&["--verify"]).expect(1);
    for name in ["cut.ttf", "web.otf"] {
        let reported = ran.stderr.lines().any(|line| line.starts_with("error[font-") && line.contains(name));
        assert!(reported, "{name}: {}", ran.stderr);
    }
    assert!(p.exists("runtime/ui/Inter.hfont") && !p.exists("runtime/cut.hfont"));
}
