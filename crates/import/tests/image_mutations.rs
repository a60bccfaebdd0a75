//! Damaged images of every format: an image or an error, never a panic, within bounded memory.

mod support;

use kiln_import::Limits;
use kiln_import::{cube, image};
use proptest::prelude::*;
use support::{FILES, Noise, Png, extension, fix_checksums};

/// Small, so that a damaged header cannot make the tests slow.
const LIMITS: Limits = Limits { max_pixels: 512 * 512, max_memory: 1 << 20, max_time: None };

fn holds(bytes: &[u8], extension: &str) {
    image::probe(bytes, extension);
    match image::import(bytes, extension, &LIMITS) {
        Ok(found) => assert!(found.value.width() * found.value.height() <= 512 * 512),
        Err(diag) => assert!(!diag.message.is_empty()),
    }
}

/// The images in `data/`, and PNGs of every colour type.
fn all() -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = FILES.iter().map(|(name, bytes)| (name.to_string(), bytes.to_vec())).collect();
    files.push(("etc1s-alpha.ktx2".to_owned(), include_bytes!("data/etc1s-alpha.ktx2").to_vec()));
    files.push(("runs.bmp".to_owned(), coded_bitmap()));
    files.extend(support::AUTHORING.iter().map(|(name, bytes)| (name.to_string(), bytes.to_vec())));
    files.extend(support::psd_files());
    for (colour, depth) in [(0, 2), (0, 16), (2, 8), (3, 4), (4, 8), (6, 16)] {
        for interlaced in [false, true] {
            let mut noise = Noise(7);
            let mut png = Png {
                width: 9,
                height: 6,
                colour,
                depth,
                interlaced,
                palette: vec![[1, 2, 3]; 16],
                trns: (colour < 4).then(|| vec![1; [1, 0, 3, 1][usize::from(colour)]]),
                samples: Vec::new(),
            };
            png.samples = (0..54 * png.channels()).map(|_| noise.below(1 << depth) as u16).collect();
            files.push((format!("type-{colour}-{depth}-{interlaced}.png"), png.bytes()));
        }
    }
    files
}

/// A run-length encoded BMP with a palette of four colours: a run, a literal, a skip, both ends.
fn coded_bitmap() -> Vec<u8> {
    let mut file = b"BM".to_vec();
    file.extend([0, 0, 70u32, 40, 5, 3, 1 | 8 << 16, 1, 0, 0, 0, 4, 0].map(u32::to_le_bytes).concat());
    file.extend([[0, 0, 0, 0], [0, 0, 255, 0], [0, 255, 0, 0], [255, 0, 0, 0]].concat());
    file.extend([2, 1, 0, 3, 2, 3, 1, 0, 0, 0, 0, 2, 2, 0, 3, 2, 0, 0, 0, 1]);
    file
}

#[test]
fn every_truncation_is_handled() {
    for (name, bytes) in all() {
        assert!(image::import(&bytes, extension(&name), &LIMITS).is_ok(), "{name}");
        for end in 0..bytes.len() {
            let found = image::import(&bytes[..end], extension(&name), &LIMITS);
            // TGA files end with a footer that is not needed, and bitmaps with padding.
            if matches!(extension(&name), "png" | "jpg" | "webp" | "ktx2" | "qoi" | "psd") {
                let error = found.map(|_| ()).expect_err(&format!("{name} cut to {end} of {}", bytes.len()));
                let known = ["file-empty", "image-unknown", "image-truncated", "image-corrupt"];
                assert!(known.contains(&error.code.as_str()), "{name} cut to {end}: {error}");
            }
        }
    }
}

#[test]
fn flipped_bytes_are_handled() {
    for (name, good) in all() {
        let mut bytes = good.clone();
        for at in 0..good.len() {
            for value in [0, 0xFF, good[at] ^ 1, good[at] ^ 0x80, good[at].wrapping_add(3)] {
                bytes[at] = value;
                holds(&bytes, extension(&name));
                if extension(&name) == "png" {
                    let mut fixed = bytes.clone();
                    fix_checksums(&mut fixed);
                    holds(&fixed, "png");
                }
            }
            bytes[at] = good[at];
        }
    }
}

#[test]
fn removed_duplicated_and_scrambled_ranges_are_handled() {
    let mut noise = Noise(1);
    for (name, good) in all() {
        for _ in 0..400 {
            let mut bytes = good.clone();
            for _ in 0..1 + noise.below(4) {
                let from = noise.below(bytes.len());
                let to = (from + 1 + noise.below(24)).min(bytes.len());
                match noise.below(4) {
                    0 => drop(bytes.drain(from..to)),
                    1 => {
                        let piece = bytes[from..to].to_vec();
                        bytes.splice(from..from, piece);
                    }
                    2 => bytes[from..to].fill_with(|| noise.next() as u8),
                    _ => bytes[from] ^= 1 << noise.below(8),
                }
                if bytes.is_empty() {
                    break;
                }
            }
            fix_checksums(&mut bytes);
            holds(&bytes, extension(&name));
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        extension in prop::sample::select(vec!["png", "jpg", "tga", "bmp", "webp", ""]),
    ) {
        holds(&bytes, extension);
        let _ = cube::import(&bytes);
    }

    #[test]
    fn any_header_has_an_answer(
        kind in 0usize..4,
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let heads: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xd8\xff", b"BM", b"RIFF\xff\0\0\0WEBPVP8"];
        let mut bytes = [heads[kind], &rest].concat();
        fix_checksums(&mut bytes);
        holds(&bytes, "");
    }

    #[test]
    fn any_text_is_a_table_or_an_error_with_a_line(
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "LUT_3D_SIZE 2", "LUT_3D_SIZE 256", "0 0 0", "1 1 1", "0.5 1e-3 -2", "# x", "", "TITLE \"t\"",
                "DOMAIN_MIN 0 0 0", "DOMAIN_MAX 2 2 2", "LUT_3D_INPUT_RANGE 0 1", "FOO 1", "nan 0 0", "é",
            ]),
            1..40,
        ),
    ) {
        let text = lines.join("\n");
        match cube::import(text.as_bytes()) {
            Ok(found) => prop_assert_eq!(found.value.rgb().len(), 8),
            Err(error) => prop_assert!(error.at.as_deref().is_some_and(|at| at.starts_with("line ")) || text.is_empty(), "{}", error),
        }
    }
}
