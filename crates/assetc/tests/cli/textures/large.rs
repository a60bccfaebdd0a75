//! Large opaque images, which are encoded while their rows are decoded.

use crate::project::{Project, png};

/// The same texels with alpha 255 take another way: the whole image is decoded before it is encoded.
#[test]
fn rows_give_the_bytes_of_the_whole_image() {
    let (width, height) = (3001, 2811);
    let value = |i: u32, c: u32| ((i % width) / 11 * (c + 1) + i / width / 7 + (i >> 9) % 5) as u8;
    let texels = |channels: &'static [u32]| -> Vec<u8> {
        let texel = |i| channels.iter().map(move |&c| if c < 3 { value(i, c) } else { 255 });
        (0..width * height).flat_map(texel).collect()
    };
    let p = Project::new();
    let rgb = png(width, height, png::ColorType::Rgb, &texels(&[0, 1, 2]));
    let truncated = &rgb[..rgb.len() / 2];
    p.write("assets/rows.png", &rgb).write("assets/truncated.png", truncated);
    p.write("assets/whole.png", png(width, height, png::ColorType::Rgba, &texels(&[0, 1, 2, 3])));
    p.write("assetc.yml", "default:\n  texture:\n    target: desktop\n    format: bc1\n");
    let run = p.run(&["-q", "-j1"]).expect(1);
    assert!(run.stderr.contains("image-truncated") && run.stderr.contains("truncated.png"), "{}", run.stderr);
    let one = p.read("runtime/rows.ktx2");
    assert!(one == p.read("runtime/whole.ktx2"), "rows and the whole image differ");
    p.run(&["-q", "-j2", "--no-cache"]).expect(1);
    assert!(one == p.read("runtime/rows.ktx2"), "one and two threads differ");
}
