//! QOI, GIF, TIFF, PSD and DDS: texels of files that Pillow wrote, and of generated Photoshop documents.

mod support;

use kiln_import::dds::{Dds, DdsFormat};
use kiln_import::{Code, Limits, image};
use kiln_ir::{Image, Texels};
use support::{AUTHORING, extension, psd, psd_files};

fn file(name: &str) -> &'static [u8] {
    AUTHORING.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name} is missing")).1
}

fn import(name: &str) -> Image {
    let found = image::import(file(name), extension(name), &Limits::default())
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(found.warnings, [], "{name}");
    found.value
}

/// The texel that `make.py` writes at a place.
fn texel(x: u32, y: u32, alpha: bool) -> [u8; 4] {
    [(x * 40) as u8, (y * 70) as u8, ((x + y) * 20) as u8, if alpha { 255 - 30 * x as u8 } else { 255 }]
}

fn expected(width: u32, height: u32, alpha: bool) -> Vec<u8> {
    (0..width * height).flat_map(|i| texel(i % width, i / width, alpha)).collect()
}

#[test]
fn qoi_and_tiff_texels_are_exact() {
    for name in ["rgba.qoi", "rgba_raw.tif", "rgba_lzw.tif", "rgba_deflate.tif", "rgba_packbits.tif"] {
        let header = image::probe(file(name), extension(name)).unwrap();
        assert_eq!((header.width, header.height, header.channel_bytes), (5, 3, 1), "{name}");
        assert_eq!(import(name).into_rgba8(), expected(5, 3, true), "{name}");
    }
    for name in ["rgb.qoi", "rgb.tif"] {
        assert_eq!(import(name).into_rgba8(), expected(5, 3, false), "{name}");
    }
    assert_eq!(image::probe(file("grey16.tif"), "tif").unwrap().channel_bytes, 2);
    let grey = import("grey16.tif");
    let Texels::Rgba16(values) = grey.texels() else { panic!("16 bits are kept") };
    let wanted: Vec<u16> = (0..15u16).map(|i| i % 5 * 10000 + i / 5 * 7).collect();
    assert_eq!(values.chunks(4).map(|t| t[0]).collect::<Vec<_>>(), wanted);
    assert!(values.chunks(4).all(|t| t[0] == t[2] && t[3] == 65535));
}

#[test]
fn palettes_are_expanded() {
    // Eight colours approximate fifteen.
    let texels = import("one.gif").into_rgba8();
    let errors = texels.iter().zip(expected(5, 3, false)).map(|(a, b)| u32::from(a.abs_diff(b)));
    let error = errors.max().unwrap();
    assert!(error <= 60, "{error}");
    let error = image::import(include_bytes!("data/palette.tif"), "tif", &Limits::default()).unwrap_err();
    assert_eq!(error.code, Code::ImageUnsupported, "{error}");
}

#[test]
fn first_frame_of_an_animation_is_used_with_a_warning() {
    let found = image::import(file("two.gif"), "gif", &Limits::default()).unwrap();
    assert_eq!(found.warnings.len(), 1);
    assert_eq!(found.warnings[0].code, Code::ImageAnimated);
    assert_eq!(found.value.into_rgba8(), expected(5, 3, false));
}

#[test]
fn psd_composites_are_exact() {
    let sample = |c: usize, i: usize| (c * 20 + i * 3) as u16;
    for (name, bytes) in psd_files() {
        let parts: Vec<&str> = name.split('-').collect();
        let (mode, channels): (u16, usize) = (parts[0].parse().unwrap(), parts[1].parse().unwrap());
        let image =
            image::import(&bytes, "psd", &Limits::default()).unwrap_or_else(|e| panic!("{name}: {e}")).value;
        let header = image::probe(&bytes, "psd").unwrap();
        assert_eq!((header.width, header.height), (5, 3));
        let opaque = if parts[2] == "16" { u16::MAX } else { 255 };
        let texel = |i: usize| match (mode, channels) {
            (2, _) => {
                [0, 60, 120].map(|c| c + sample(0, i)).into_iter().chain([opaque]).collect::<Vec<u16>>()
            }
            (1, 1) => vec![sample(0, i), sample(0, i), sample(0, i), opaque],
            (1, _) => vec![sample(0, i), sample(0, i), sample(0, i), sample(1, i)],
            (_, 3) => vec![sample(0, i), sample(1, i), sample(2, i), opaque],
            _ => (0..4).map(|c| sample(c, i)).collect(),
        };
        let wanted: Vec<u16> = (0..15).flat_map(texel).collect();
        let found: Vec<u16> = match image.texels() {
            Texels::Rgba8(v) => v.iter().map(|v| u16::from(*v)).collect(),
            Texels::Rgba16(v) => v.clone(),
        };
        assert_eq!(found, wanted, "{name}");
    }
}

#[test]
fn unsupported_variants_are_named() {
    let refused = |bytes: &[u8], extension: &str, words: &str| {
        let error = image::import(bytes, extension, &Limits::default()).unwrap_err();
        assert_eq!(error.code, Code::ImageUnsupported, "{error}");
        assert!(error.message.contains(words) && error.hint.is_some(), "{error}");
    };
    refused(&psd((2, 2), (4, 4, 8), false, &[], |_, _| 0), "psd", "CMYK");
    refused(&psd((2, 2), (3, 3, 32), false, &[], |_, _| 0), "psd", "32 bits");
    // The resource "version info" states that the composite is not valid.
    let resource = b"8BIM\x04\x21\0\0\0\0\0\x05\0\0\0\x01\0\0";
    refused(&psd((2, 2), (3, 3, 8), false, resource, |_, _| 0), "psd", "without a composite");
    refused(include_bytes!("data/float.tif"), "tif", "");
    let mut bc6h = file("bc5.dds").to_vec();
    bc6h[128] = 95;
    refused(&bc6h, "dds", "DXGI_FORMAT 95");
}

#[test]
fn limits_apply_to_every_decoder() {
    let limits = Limits { max_pixels: 14, ..Limits::default() };
    let files = AUTHORING.iter().map(|(name, bytes)| (name.to_string(), bytes.to_vec()));
    for (name, bytes) in files.chain(psd_files()) {
        // A side may always have 16384 pixels, so only the number of pixels is beyond the limit.
        let error = image::import(&bytes, extension(&name), &limits).unwrap_err();
        assert_eq!(error.code, Code::ImageTooLarge, "{name}: {error}");
        let limits = Limits { max_memory: 59, ..Limits::default() };
        let error = image::import(&bytes, extension(&name), &limits).unwrap_err();
        assert_eq!(error.code, Code::MemoryLimit, "{name}: {error}");
    }
}

#[test]
fn dds_textures_are_read_and_decoded() {
    let limits = Limits::default();
    let read = |name: &str| Dds::read(file(name), &limits).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(read("dxt1.dds").format, DdsFormat::Bc1);
    assert_eq!(read("dxt5.dds").format, DdsFormat::Bc3);
    let bc5 = read("bc5.dds");
    assert_eq!((bc5.format, bc5.srgb, bc5.levels, bc5.faces), (DdsFormat::Bc5, None, 1, 1));
    assert_eq!(bc5.level(0).concat(), file("bc5.dds")[148..]);
    for (name, alpha) in [("rgba.dds", true), ("rgb.dds", false)] {
        assert_eq!(read(name).decode(&limits).unwrap().into_rgba8(), expected(8, 8, alpha), "{name}");
    }
    // Texels as another decoder has them; both may round an interpolated value.
    let decoded: [(&str, &[u8]); 3] = [
        ("dxt1.dds", include_bytes!("data/dxt1.rgba")),
        ("dxt5.dds", include_bytes!("data/dxt5.rgba")),
        ("bc5.dds", include_bytes!("data/bc5.rgba")),
    ];
    for (name, expected) in decoded {
        let found = import(name).into_rgba8();
        assert_eq!(found.len(), expected.len(), "{name}");
        for (a, b) in found.chunks(4).zip(expected.chunks(4)) {
            let channels = if name == "bc5.dds" { 2 } else { 4 };
            assert!((0..channels).all(|c| a[c].abs_diff(b[c]) <= 1), "{name}: {a:?} {b:?}");
        }
    }
}

#[test]
fn dds_headers_are_checked() {
    let limits = Limits::default();
    let edited = |name: &str, at: usize, value: u32| {
        let mut bytes = file(name).to_vec();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        Dds::read(&bytes, &limits).map(|_| ()).unwrap_err().code
    };
    assert_eq!(edited("dxt1.dds", 4, 100), Code::ImageCorrupt);
    assert_eq!(edited("dxt1.dds", 28, 5), Code::ImageCorrupt, "more mip levels than the size allows");
    assert_eq!(edited("dxt1.dds", 28, 4), Code::ImageTruncated);
    assert_eq!(edited("dxt1.dds", 16, 0), Code::ImageCorrupt);
    assert_eq!(edited("dxt1.dds", 112, 0x200), Code::ImageUnsupported, "a cubemap without faces");
    assert_eq!(edited("bc5.dds", 140, u32::MAX), Code::ImageTruncated);
    assert_eq!(edited("rgb.dds", 88, 48), Code::ImageUnsupported);
}
