//! PNG against an independent writer and an independent reading of the standard.

mod support;

use kiln_import::Code;
use kiln_import::Limits;
use kiln_import::image;
use kiln_ir::Texels;
use support::{Noise, Png};

/// Every colour type with every depth it may have (PNG, table 11.1).
const TYPES: [(u8, &[u8]); 5] =
    [(0, &[1, 2, 4, 8, 16]), (2, &[8, 16]), (3, &[1, 2, 4, 8]), (4, &[8, 16]), (6, &[8, 16])];

fn png(colour: u8, depth: u8, (width, height): (usize, usize), interlaced: bool, keyed: bool) -> Png {
    let mut noise = Noise(u64::from(colour) << 8 | u64::from(depth));
    let mut png = Png {
        width,
        height,
        colour,
        depth,
        interlaced,
        palette: Vec::new(),
        trns: None,
        samples: Vec::new(),
    };
    let bound = if colour == 3 { (1usize << depth).min(200) } else { 1 << depth };
    png.samples = (0..width * height * png.channels()).map(|_| noise.below(bound) as u16).collect();
    if colour == 3 {
        png.palette = (0..bound).map(|_| std::array::from_fn(|_| noise.next() as u8)).collect();
    }
    if keyed {
        png.trns = Some(match colour {
            // Fewer alphas than colours: the rest is opaque.
            3 => (0..bound.div_ceil(2)).map(|_| noise.below(256) as u16).collect(),
            // The colour of a texel in the middle, so that something becomes transparent.
            _ => png.samples[width * height / 2 * png.channels()..][..png.channels()].to_vec(),
        });
    }
    png
}

fn check(png: &Png) {
    let found =
        image::import(&png.bytes(), "png", &Limits::default()).unwrap_or_else(|e| panic!("{e}: {png:?}"));
    assert_eq!(found.warnings, []);
    assert_eq!((found.value.width() as usize, found.value.height() as usize), (png.width, png.height));
    let texels: Vec<u16> = match found.value.texels() {
        Texels::Rgba8(v) => {
            assert_ne!(png.depth, 16, "sixteen bits stay sixteen");
            v.iter().map(|&v| v.into()).collect()
        }
        Texels::Rgba16(v) => {
            assert_eq!(png.depth, 16, "only sixteen bits are sixteen");
            v.clone()
        }
    };
    assert_eq!(texels, png.rgba(), "{png:?}");
    // Without the way through RGBA: the samples as they are, behind some room, of opaque images of 8 bits.
    let opaque = image::import_opaque(&png.bytes(), "png", 3, &Limits::default()).unwrap();
    let is_opaque = png.depth == 8 && matches!(png.colour, 0 | 2) && png.trns.is_none();
    assert_eq!(opaque.is_some(), is_opaque, "{png:?}");
    if let Some(opaque) = opaque {
        assert_eq!((opaque.width as usize, opaque.height as usize), (png.width, png.height));
        assert_eq!(opaque.channels, png.channels());
        assert_eq!(opaque.bytes[..3], [0; 3]);
        assert!(opaque.bytes[3..].iter().map(|&v| u16::from(v)).eq(png.samples.iter().copied()));
    }
    let bytes = png.bytes();
    let rows = image::opaque_rows(&bytes, "png", &Limits::default()).unwrap();
    assert_eq!(rows.is_some(), is_opaque && !png.interlaced, "{png:?}");
    if let Some(mut rows) = rows {
        assert_eq!(rows.size(), (png.width as u32, png.height as u32));
        let (mut read, mut left) = (Vec::new(), png.height);
        while left > 0 {
            let count = left.min(3);
            let mut texels = vec![0; count * png.width * 4];
            rows.read(&mut texels).unwrap();
            read.extend(texels.into_iter().map(u16::from));
            left -= count;
        }
        assert_eq!(read, png.rgba(), "{png:?}");
        assert_eq!(rows.read(&mut vec![0; png.width * 4]).unwrap_err().code, Code::ImageCorrupt);
    }
}

/// Decodes an image row by row, two rows at a time.
fn by_rows(file: &[u8], height: usize, row_len: usize) -> Option<Result<Vec<u8>, Code>> {
    let mut rows = match image::opaque_rows(file, "png", &Limits::default()) {
        Ok(rows) => rows?,
        Err(error) => return Some(Err(error.code)),
    };
    let mut texels = vec![0; height * row_len];
    let read = texels.chunks_mut(2 * row_len).try_for_each(|two| rows.read(two));
    Some(read.map(|()| texels).map_err(|error| error.code))
}

#[test]
fn rows_of_damaged_files_are_errors_as_those_of_whole_images() {
    let file = png(2, 8, (5, 7), false, false).bytes();
    let whole = |file: &[u8]| {
        let imported = image::import(file, "png", &Limits::default()).map_err(|error| error.code)?;
        Ok(imported.value.into_rgba8())
    };
    assert_eq!(by_rows(&file, 7, 20).unwrap(), whole(&file));
    let flips = (0..file.len()).map(|at| {
        let mut damaged = file.clone();
        damaged[at] ^= 1;
        damaged
    });
    let prefixes = (0..file.len()).map(|len| file[..len].to_vec());
    let (mut compared, mut errors) = (0, 0);
    for damaged in flips.chain(prefixes) {
        // A damaged header may state another size.
        let (found, expected) = (by_rows(&damaged, 7, 20), whole(&damaged));
        if let Some(found) = found {
            assert_eq!(found.is_ok(), expected.is_ok(), "{found:?} {expected:?}");
            compared += 1;
            errors += usize::from(found.is_err());
        }
    }
    assert!(compared > 200 && errors > 190, "{compared} {errors}");
}

#[test]
fn leaves_images_to_rotate_or_to_warn_about_to_the_other_path() {
    let file = png(2, 8, (3, 2), false, false).bytes();
    let opaque = |file: &[u8], name: &str| image::import_opaque(file, name, 0, &Limits::default()).unwrap();
    assert!(opaque(&file, "PNG").is_some());
    assert_eq!(opaque(&file, "jpg"), None, "the extension is for another format");
    assert_eq!(opaque(b"BM", "png"), None);
    let has_rows =
        |file: &[u8], name: &str| image::opaque_rows(file, name, &Limits::default()).unwrap().is_some();
    assert!(has_rows(&file, "PNG") && !has_rows(&file, "jpg") && !has_rows(b"BM", "png"));
    // An orientation may follow the texels: a TIFF structure with tag 274 = 6.
    let mut exif = Vec::new();
    let tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    support::chunk(&mut exif, b"eXIf", tiff);
    for at in [33, file.len() - 12] {
        let mut rotated = file.clone();
        rotated.splice(at..at, exif.iter().copied());
        assert_eq!(opaque(&rotated, "png"), None);
        assert!(!has_rows(&rotated, "png"));
        let imported = image::import(&rotated, "png", &Limits::default()).unwrap();
        assert_eq!((imported.value.width(), imported.warnings.len()), (2, 1));
    }
    let mut damaged = file.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let error = image::import_opaque(&damaged, "png", 0, &Limits::default()).unwrap_err();
    assert_eq!(error.code, Code::ImageCorrupt);
}

#[test]
fn decodes_every_colour_type_depth_interlacing_and_colour_key() {
    let sizes = [(1, 1), (2, 1), (1, 5), (3, 3), (7, 5), (8, 8), (9, 17), (33, 2), (41, 31)];
    for (colour, depths) in TYPES {
        for &depth in depths {
            for size in sizes {
                for interlaced in [false, true] {
                    check(&png(colour, depth, size, interlaced, false));
                    if matches!(colour, 0 | 2 | 3) {
                        check(&png(colour, depth, size, interlaced, true));
                    }
                }
            }
        }
    }
}

#[test]
fn colour_keys_become_transparent() {
    for (colour, depth) in [(0, 1), (0, 4), (0, 16), (2, 8), (2, 16)] {
        let png = png(colour, depth, (7, 5), false, true);
        assert!(image::import(&png.bytes(), "png", &Limits::default()).unwrap().value.has_alpha());
    }
}

/// The standard calls it an error; decoders take black, and so do images that are in use.
#[test]
fn palette_index_out_of_range_is_black() {
    let mut png = png(3, 8, (4, 4), false, false);
    png.samples[5] = 250;
    let found = image::import(&png.bytes(), "png", &Limits::default()).unwrap();
    assert_eq!(found.value.into_rgba8()[5 * 4..][..4], [0, 0, 0, 255]);
}

#[test]
fn rejects_palettes_of_incomplete_colours() {
    for length in [0, 1, 2, 4, 767, 769, 3 * 257] {
        let mut file = png(3, 8, (1, 1), false, false).bytes();
        let palette = 33..33 + 12 + 3 * 200;
        assert_eq!(&file[palette.start + 4..palette.start + 8], b"PLTE");
        let mut odd = Vec::new();
        support::chunk(&mut odd, b"PLTE", &vec![7; length]);
        file.splice(palette, odd);
        let error = image::import(&file, "png", &Limits::default()).unwrap_err();
        assert_eq!(error.code, Code::ImageCorrupt, "{length}: {error}");
    }
}

#[test]
fn rejects_wrong_checksums_in_any_chunk() {
    let mut file = png(0, 8, (3, 3), false, false).bytes();
    let end = file.len() - 12;
    // An ancillary chunk that nobody needs counts as well: the file was damaged.
    let mut spare = Vec::new();
    support::chunk(&mut spare, b"teSt", b"payload");
    file.splice(33..33, spare.iter().copied());
    assert!(image::import(&file, "png", &Limits::default()).is_ok());
    for place in [29, 33 + 8 + 7, end + spare.len() - 4, file.len() - 1] {
        let mut bad = file.clone();
        bad[place] ^= 1;
        let error = image::import(&bad, "png", &Limits::default()).unwrap_err();
        assert_eq!(error.code, Code::ImageCorrupt, "{place}: {error}");
        assert!(error.message.contains("CRC"), "{place}: {error}");
        assert!(!error.message.contains(['{', '}']), "debug output in {error}");
    }
}

#[test]
fn rejects_decompression_bombs_before_allocation() {
    let bomb = |width: u32, height: u32, depth: u8| {
        let mut file = png(6, 8, (1, 1), false, false).bytes();
        file[16..20].copy_from_slice(&width.to_be_bytes());
        file[20..24].copy_from_slice(&height.to_be_bytes());
        file[24] = depth;
        support::fix_checksums(&mut file);
        let limits = Limits { max_memory: 1 << 30, ..Limits::default() };
        image::import(&file, "png", &limits).unwrap_err()
    };
    let error = bomb(2_000_000_000, 7, 8);
    assert_eq!((error.code.as_str(), error.at.as_deref().unwrap_or_default()), ("image-too-large", "IHDR"));
    assert!(error.message.contains("2000000000x7") && error.message.contains("268435456"), "{error}");
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("--max-pixels 14000000000")), "{error}");
    // Sixteen bits take twice as much.
    let error = bomb(16384, 16384, 16);
    assert_eq!(error.code, Code::MemoryLimit);
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("--max-memory 2048M")), "{error}");
    assert!(error.message.contains("2147483648") && error.message.contains("1073741824"), "{error}");
    // Within the limits, but a hundred bytes cannot hold it.
    assert_eq!(bomb(16384, 16384, 8).code, Code::ImageTruncated);
    assert_eq!(bomb(0, 1, 8).code, Code::ImageCorrupt);

    let small = Limits { max_pixels: 100, ..Limits::default() };
    let fits = png(0, 8, (100, 1), false, false).bytes();
    assert!(image::import(&fits, "png", &small).is_ok());
    assert_eq!(
        image::import(&png(0, 8, (51, 2), false, false).bytes(), "png", &small).unwrap_err().code,
        Code::ImageTooLarge
    );
    assert_eq!(
        image::import(&png(0, 8, (101, 1), false, false).bytes(), "png", &small).unwrap_err().code,
        Code::ImageTooLarge
    );
}
