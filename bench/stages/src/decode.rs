//! Decoding of PNG and JPEG files to RGBA8.

use crate::{File, import, race};
use kiln_import::{Limits, image};
use std::hint::black_box;
use std::io::Cursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;

/// The bytes of a rival, which have to be those of the importer.
fn check(name: &str, rgba: Vec<u8>, file: &File, expected: &[u8]) {
    assert!(rgba == expected, "{name} decodes {} to other texels", file.name);
}

pub fn png(groups: &[(&str, &[File])], runs: usize) {
    println!("## stages-png\n");
    println!("PNG files to RGBA8, CPU time of one thread, medians of {runs} runs in turn (least–most).\n");
    println!("| files | megapixels | decoder | CPU, ms | ms per megapixel |\n|---|---|---|---|---|");
    for (name, files) in groups {
        let images: Vec<_> = files.iter().map(import).collect();
        let megapixels =
            images.iter().map(|i| f64::from(i.width()) * f64::from(i.height()) / 1e6).sum::<f64>();
        for (file, image) in files.iter().zip(images) {
            let expected = image.into_rgba8();
            check("png", png_crate(&file.bytes), file, &expected);
            check("zune-png", zune(&file.bytes), file, &expected);
        }
        let all = |decode: fn(&[u8]) -> Vec<u8>| {
            Box::new(move || files.iter().for_each(|file| drop(black_box(decode(&file.bytes)))))
        };
        let ours = |bytes: &[u8]| {
            image::import(bytes, "png", &Limits::default()).expect("a valid file").value.into_rgba8()
        };
        let rows = race(
            runs,
            vec![
                ("Kiln (`png`, own expansion)", all(ours)),
                ("`png` alone", all(png_crate)),
                ("`zune-png`", all(zune)),
            ],
        );
        for (decoder, seconds, spread) in rows {
            println!(
                "| {name} | {megapixels:.2} | {decoder} | {spread} | {:.2} |",
                seconds * 1e3 / megapixels
            );
        }
    }
}

/// Decodes with the crate `png` and its own expansion to RGBA8.
fn png_crate(bytes: &[u8]) -> Vec<u8> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::ALPHA | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().expect("a valid file");
    let mut out = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut out).expect("a valid file");
    if info.color_type == png::ColorType::GrayscaleAlpha {
        return out.as_chunks::<2>().0.iter().flat_map(|&[l, a]| [l, l, l, a]).collect();
    }
    out
}

fn zune(bytes: &[u8]) -> Vec<u8> {
    let options = DecoderOptions::default().png_set_add_alpha_channel(true).png_set_strip_to_8bit(true);
    let mut decoder =
        zune_png::PngDecoder::new_with_options(zune_core::bytestream::ZCursor::new(bytes), options);
    let out = decoder.decode_raw().expect("a valid file");
    if decoder.colorspace() == Some(ColorSpace::LumaA) {
        return out.as_chunks::<2>().0.iter().flat_map(|&[l, a]| [l, l, l, a]).collect();
    }
    out
}

pub fn jpeg(photographs: &[File], runs: usize) {
    let files: Vec<Vec<u8>> = photographs.iter().map(encode).collect();
    let megapixels: f64 = photographs
        .iter()
        .map(import)
        .map(|image| f64::from(image.width()) * f64::from(image.height()) / 1e6)
        .sum();
    println!("\n## stages-jpeg\n");
    println!(
        "The photographs as JPEG of quality 90 with 4:2:0, {megapixels:.2} megapixels, to RGBA8, as above.\n"
    );
    println!("| decoder | CPU, ms | ms per megapixel |\n|---|---|---|");
    let all = |decode: fn(&[u8]) -> Vec<u8>| {
        let files = &files;
        Box::new(move || files.iter().for_each(|file| drop(black_box(decode(file)))))
    };
    let ours = |bytes: &[u8]| {
        image::import(bytes, "jpg", &Limits::default()).expect("a valid file").value.into_rgba8()
    };
    for (decoder, seconds, spread) in race(
        runs,
        vec![("Kiln (`zune-jpeg`)", all(ours)), ("`jpeg-decoder`, RGB expanded", all(jpeg_decoder))],
    ) {
        println!("| {decoder} | {spread} | {:.2} |", seconds * 1e3 / megapixels);
    }
}

fn encode(file: &File) -> Vec<u8> {
    let image = import(file);
    let (width, height) = (image.width() as u16, image.height() as u16);
    let mut out = Vec::new();
    let mut encoder = jpeg_encoder::Encoder::new(&mut out, 90);
    encoder.set_sampling_factor(jpeg_encoder::SamplingFactor::F_2_2);
    encoder.encode(&image.into_rgba8(), width, height, jpeg_encoder::ColorType::Rgba).expect("an image");
    out
}

fn jpeg_decoder(bytes: &[u8]) -> Vec<u8> {
    let rgb = jpeg_decoder::Decoder::new(bytes).decode().expect("a valid file");
    rgb.as_chunks::<3>().0.iter().flat_map(|&[r, g, b]| [r, g, b, 255]).collect()
}
