//! Textures compared with an independent KTX2 implementation, and rejection of damaged files.

use kiln_format::ktx2::{Channels, Desc, Ktx2, Ktx2View, Payload, Shape, Supercompression, Transfer, write};
use kiln_format::{Error, Fact, Format};

const UASTC: Payload = Payload::Uastc { channels: Channels::Rgba };

fn desc(shape: Shape, payload: Payload) -> Desc<'static> {
    Desc {
        shape,
        payload,
        transfer: Transfer::Linear,
        supercompression: Supercompression::None,
        writer: "test 1",
        oriented: true,
    }
}

/// Returns mip levels of the right length with distinct contents.
fn levels(desc: &Desc<'_>, count: u32) -> Vec<Vec<u8>> {
    (0..count)
        .map(|level| {
            let len = desc.payload.level_len(&desc.shape, level).unwrap() as usize;
            let raw: Vec<u8> = (0..len).map(|i| (i as u8 / 3) ^ (level as u8 + 1)).collect();
            match desc.supercompression {
                Supercompression::None => raw,
                Supercompression::Zstd => zstd::bulk::compress(&raw, 3).unwrap(),
            }
        })
        .collect()
}

fn texture(desc: &Desc<'_>, count: u32) -> Vec<u8> {
    let levels = levels(desc, count);
    write(desc, &levels.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
}

fn everything() -> Vec<(Desc<'static>, u32)> {
    let mut all = vec![];
    for supercompression in [Supercompression::None, Supercompression::Zstd] {
        for transfer in [Transfer::Linear, Transfer::Srgb] {
            let uastc = Channels::ALL.map(|channels| Payload::Uastc { channels });
            for payload in uastc.into_iter().chain(Payload::NUMBERED) {
                for (shape, count) in [
                    (Shape::flat(1, 1), 1),
                    (Shape::flat(13, 70), 7),
                    (Shape::flat(64, 64), 3),
                    (Shape::array(9, 5, 3), 4),
                    (Shape::array(8, 8, 1), 4),
                    (Shape::cube(20), 5),
                    (Shape { layer_count: 2, ..Shape::cube(8) }, 4),
                    (Shape::volume(5, 6, 7), 1),
                ] {
                    let volume_of_blocks = shape.depth > 0 && payload.block_side() > 1;
                    let coded_floats = payload.is_linear_only() && transfer == Transfer::Srgb;
                    if !volume_of_blocks && !coded_floats {
                        let oriented = shape.depth == 0;
                        all.push((
                            Desc { transfer, supercompression, oriented, ..desc(shape, payload) },
                            count,
                        ));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn ktx2_crate_parses_same_values() {
    for (desc, count) in everything() {
        let bytes = texture(&desc, count);
        let theirs = ktx2::Reader::new(&bytes).unwrap_or_else(|e| panic!("{desc:?}: {e}"));
        let header = theirs.header();
        let shape = desc.shape;
        assert_eq!(header.format.map_or(0, |f| f.value()), desc.payload.vk_format(desc.transfer));
        assert_eq!(
            [
                header.pixel_width,
                header.pixel_height,
                header.pixel_depth,
                header.layer_count,
                header.face_count
            ],
            [shape.width, shape.height, shape.depth, shape.layer_count, shape.face_count]
        );
        assert_eq!(header.level_count, count);
        let zstd = desc.supercompression == Supercompression::Zstd;
        assert_eq!(header.supercompression_scheme, zstd.then_some(ktx2::SupercompressionScheme::Zstandard));
        assert_eq!(theirs.writer(), Some("test 1\0"));
        let orientation = theirs.key_value_data().find(|(key, _)| *key == "KTXorientation");
        assert_eq!(orientation.map(|(_, value)| value), desc.oriented.then_some(&b"rd\0"[..]));

        let raw = levels(&Desc { supercompression: Supercompression::None, ..desc }, count);
        let ours = Ktx2View::read(&bytes).unwrap();
        assert_eq!(theirs.levels().len(), raw.len());
        for ((level, raw), ours) in theirs.levels().zip(&raw).zip(ours.levels()) {
            assert_eq!(level.data, ours.bytes);
            assert_eq!(level.uncompressed_byte_length, raw.len() as u64);
            if zstd {
                assert_eq!(zstd::bulk::decompress(level.data, raw.len()).unwrap(), *raw);
            } else {
                assert_eq!(level.data, *raw);
                assert_eq!(ours.offset % desc.payload.block_len(), 0);
            }
        }
    }
}

#[test]
fn dfd_matches_independent_generator() {
    for (desc, count) in everything() {
        let bytes = texture(&desc, count);
        let theirs = ktx2::Reader::new(&bytes).unwrap();
        let found = theirs.basic_dfd().unwrap();
        let primaries = (desc.transfer == Transfer::Srgb).then_some(ktx2::ColorPrimaries::BT709);
        assert_eq!(found.color_primaries, primaries);
        match desc.payload {
            Payload::Uastc { channels } => {
                assert_eq!(found.color_model, Some(ktx2::ColorModel::UASTC));
                assert_eq!(found.transfer_function.unwrap().value(), desc.transfer.khr_df());
                assert_eq!(found.texel_block_dimensions.map(|d| d.get()), [4, 4, 1, 1]);
                assert_eq!(found.bytes_planes, [16, 0, 0, 0, 0, 0, 0, 0]);
                let [sample] = &found.sample_information[..] else { panic!("one sample") };
                assert_eq!((sample.bit_offset, sample.bit_length.get()), (0, 128));
                assert_eq!((sample.lower, sample.upper), (0, u32::MAX));
                assert_eq!(sample.channel_type, channels as u8);
            }
            _ => {
                let format = theirs.header().format.unwrap();
                let (mut generated, type_size) = ktx2::dfd::Basic::from_format(format).unwrap();
                generated.color_primaries = primaries;
                assert_eq!(*found, generated);
                assert_eq!(theirs.header().type_size, type_size);
            }
        }
    }
}

#[test]
fn texture_round_trips() {
    for (desc, count) in everything() {
        let bytes = texture(&desc, count);
        let view = Ktx2View::read(&bytes).unwrap();
        assert_eq!(view.shape(), desc.shape);
        assert_eq!(view.payload(), desc.payload);
        assert_eq!(view.transfer(), desc.transfer);
        assert_eq!(view.supercompression(), desc.supercompression);
        assert_eq!(view.level_count(), count);
        assert!(!view.premultiplied());
        assert_eq!(view.value("KTXwriter"), Some(&b"test 1\0"[..]));
        assert_eq!(view.level(count), None);
        let offsets: Vec<u64> = view.levels().map(|level| level.offset).collect();
        assert!(offsets.is_sorted_by(|a, b| a > b), "smallest first in the file");
        let last = view.level(count - 1).unwrap();
        assert_eq!(last.dims, desc.shape.level_dims(count - 1));
    }
}

#[test]
fn encodes_small_texture_byte_for_byte() {
    let desc = Desc {
        transfer: Transfer::Srgb,
        writer: "k",
        oriented: false,
        ..desc(Shape::flat(2, 1), Payload::Rgba8)
    };
    let bytes = write(&desc, &[&[1, 2, 3, 4, 5, 6, 7, 8], &[9, 10, 11, 12]]).unwrap();
    let words: &[u32] = &[
        43,
        1,
        2,
        1,
        0,
        0,
        1,
        2,
        0, // format, type size, size, layers, faces, levels, scheme
        128,
        92,
        220,
        16,
        0,
        0,
        0,
        0, // descriptor, metadata, no global data
        240,
        0,
        8,
        0,
        8,
        0, // level 0
        236,
        0,
        4,
        0,
        4,
        0, // level 1
        92,
        0,
        88 << 16 | 2,
        2 << 16 | 1 << 8 | 1,
        0,
        4,
        0, // descriptor
        7 << 16,
        0,
        0,
        255, // red
        1 << 24 | 7 << 16 | 8,
        0,
        0,
        255, // green
        2 << 24 | 7 << 16 | 16,
        0,
        0,
        255, // blue
        0x1f << 24 | 7 << 16 | 24,
        0,
        0,
        255, // alpha
        12,  // length of "KTXwriter", its zero and "k" with its zero
    ];
    let mut expected = b"\xabKTX 20\xbb\r\n\x1a\n".to_vec();
    expected.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    expected.extend(b"KTXwriter\0k\0\x09\x0a\x0b\x0c\x01\x02\x03\x04\x05\x06\x07\x08");
    assert_eq!(bytes, expected);
}

#[test]
fn writer_rejects_invalid_input() {
    let flat = desc(Shape::flat(4, 4), UASTC);
    assert!(matches!(write(&flat, &[]), Err(Error::Value { field: "level_count", .. })));
    assert!(matches!(
        write(&flat, &[&[0; 16][..]; 4]),
        Err(Error::TooLarge { field: "level_count", found: 4, max: 3 })
    ));
    assert!(matches!(
        write(&flat, &[&[0; 15]]),
        Err(Error::Mismatch { field: "byte_length", found: 15, .. })
    ));
    assert!(matches!(
        write(&flat, &[&[0; 17]]),
        Err(Error::Mismatch { field: "byte_length", found: 17, .. })
    ));
    let zstd = Desc { supercompression: Supercompression::Zstd, ..flat };
    assert!(matches!(write(&zstd, &[&[0; 16]]), Err(Error::Value { field: "frame magic", .. })));
    let short = zstd::bulk::compress(&[0; 15], 1).unwrap();
    assert!(matches!(write(&zstd, &[&short]), Err(Error::Mismatch { field: "content size", .. })));
    let rejected_field = |shape, payload, transfer| {
        let desc = Desc { transfer, ..desc(shape, payload) };
        let len = payload.level_len(&shape, 0).unwrap_or(0).min(1 << 20) as usize;
        match write(&desc, &[&vec![0; len]]) {
            Err(Error::Value { field, .. } | Error::TooLarge { field, .. }) => field,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(rejected_field(Shape::volume(4, 4, 4), UASTC, Transfer::Linear), "pixel_depth");
    assert_eq!(rejected_field(Shape::volume(4, 4, 4), Payload::Bc7, Transfer::Linear), "pixel_depth");
    assert_eq!(rejected_field(Shape::flat(4, 4), Payload::Rgba16F, Transfer::Srgb), "transfer");
    assert_eq!(rejected_field(Shape::flat(0, 4), UASTC, Transfer::Linear), "pixel_width");
    assert_eq!(rejected_field(Shape::flat(4, 0), UASTC, Transfer::Linear), "pixel_height");
    assert_eq!(
        rejected_field(Shape { height: 3, ..Shape::cube(4) }, UASTC, Transfer::Linear),
        "pixel_height"
    );
    assert_eq!(
        rejected_field(Shape { depth: 1, ..Shape::cube(4) }, Payload::Rgba8, Transfer::Linear),
        "pixel_depth"
    );
    assert_eq!(
        rejected_field(Shape { layer_count: 1, ..Shape::volume(2, 2, 2) }, Payload::Rgba8, Transfer::Linear),
        "layer_count"
    );
    assert_eq!(
        rejected_field(Shape { face_count: 5, ..Shape::flat(2, 2) }, Payload::Rgba8, Transfer::Linear),
        "face_count"
    );
    let huge = Shape { layer_count: u32::MAX, ..Shape::flat(u32::MAX, u32::MAX) };
    assert!(write(&desc(huge, UASTC), &[&[0; 16]]).is_err());
}

/// Returns the error of a valid file with one little-endian word replaced.
fn broken(good: &[u8], at: usize, word: u32) -> Error {
    let mut bytes = good.to_vec();
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    Ktx2.verify(&bytes).unwrap_err()
}

#[test]
fn errors_report_byte_offset_of_damage() {
    let good = texture(&desc(Shape::flat(13, 70), UASTC), 7);
    Ktx2.verify(&good).unwrap();
    let dfd = 80 + 7 * 24;
    let kvd = dfd + 44;
    for (at, word, expected_field) in [
        (4, 0x3131_2058, "identifier"),
        (12, 37, "model"),
        (12, 131, "vk_format"),
        (16, 2, "type_size"),
        (20, 0, "pixel_width"),
        (20, 17, "byte_length"),
        (24, 0, "pixel_height"),
        (28, 1, "pixel_depth"),
        (32, 2, "byte_length"),
        (36, 0, "face_count"),
        (36, 6, "pixel_height"),
        (40, 0, "level_count"),
        (40, 6, "dfd_byte_offset"),
        (40, 8, "level_count"),
        (44, 1, "supercompression_scheme"),
        (44, 2, "byte_offset"),
        (48, 0, "dfd_byte_offset"),
        (52, 48, "dfd_byte_length"),
        (56, 0, "kvd_byte_offset"),
        (60, 0, "kvd_byte_offset"),
        (64, 1, "sgd_byte_offset"),
        (72, 1, "sgd_byte_length"),
        (80, 0, "byte_offset"),
        (88, 0, "byte_length"),
        (96, 0, "uncompressed_byte_length"),
        (dfd, 60, "total_size"),
        (dfd + 4, 1, "vendor_and_type"),
        (dfd + 8, 40 << 16 | 1, "version"),
        (dfd + 8, 24 << 16 | 2, "block_size"),
        (dfd + 12, 1 << 16 | 163, "model"),
        (dfd + 12, 1 << 16 | 2 << 8 | 166, "primaries"),
        (dfd + 12, 3 << 16 | 166, "transfer"),
        (dfd + 12, 2 << 24 | 1 << 16 | 166, "flags"),
        (dfd + 16, 0, "block_dimensions"),
        (dfd + 20, 0, "bytes_planes"),
        (dfd + 28, 7 << 24 | 127 << 16, "channel"),
        (dfd + 28, 3 << 24 | 126 << 16, "bit_length"),
        (dfd + 40, 255, "upper"),
        (kvd, 1, "key_and_value_length"),
    ] {
        let error = broken(&good, at, word);
        let (Error::Value { field, .. } | Error::Mismatch { field, .. }) = error else {
            panic!("{at} {word}: {error}");
        };
        assert_eq!(field, expected_field, "{at} {word}: {error}");
    }
    // With Zstd supercompression a short file may declare any size; beyond 64 bits no length is valid.
    let zstd =
        Desc { supercompression: Supercompression::Zstd, ..desc(Shape::array(4, 4, 1), Payload::Rgba8) };
    let mut huge = texture(&zstd, 1);
    huge[20..28].fill(0xff);
    huge[32..36].fill(0xff);
    huge[96..104].fill(0xff);
    let error = Ktx2View::read(&huge).unwrap_err();
    assert!(matches!(error, Error::Value { field: "uncompressed_byte_length", .. }), "{error}");

    assert!(matches!(broken(&good, 0, 0), Error::Magic { format: "ktx2", .. }));
    assert!(matches!(broken(&good, kvd, u32::MAX), Error::Truncated { .. }));
    assert!(matches!(broken(&good, kvd + 4, 0x7a7a_7a7a), Error::Order { field: "key", .. }));

    let mut longer = good.clone();
    longer.push(0);
    assert_eq!(Ktx2.verify(&longer), Err(Error::Trailing { at: good.len() as u64, extra: 1 }));
    let cut = Ktx2.verify(&good[..good.len() - 1]).unwrap_err();
    assert!(matches!(cut, Error::Range { field: "level", .. }), "{cut}");
}

#[test]
fn rejects_nonzero_padding() {
    // 16-byte blocks after metadata with a length that is not a multiple of 16.
    let good = texture(&desc(Shape::flat(4, 4), UASTC), 1);
    let start = Ktx2View::read(&good).unwrap().level(0).unwrap().offset as usize;
    let mut bytes = good.clone();
    bytes[start - 1] = 1;
    let expected = Error::Value { at: start as u64 - 1, field: "padding", found: 1, expected: "0" };
    assert_eq!(Ktx2.verify(&bytes), Err(expected));
}

#[test]
fn accepts_variants_of_other_writers() {
    // Linear data with BT.709 primaries; `bytesPlane0` of zero with supercompression; premultiplied alpha.
    let zstd = Desc { supercompression: Supercompression::Zstd, ..desc(Shape::flat(8, 8), UASTC) };
    let mut bytes = texture(&zstd, 4);
    let dfd = 80 + 4 * 24;
    bytes[dfd + 13] = 1;
    bytes[dfd + 15] = 1;
    bytes[dfd + 20] = 0;
    Ktx2.verify(&bytes).unwrap();
    assert!(Ktx2View::read(&bytes).unwrap().premultiplied());
}

#[test]
fn describe_facts_and_dump_match_document() {
    let text = |desc: Desc<'_>, count| {
        let mut text = String::new();
        Ktx2.describe(&texture(&desc, count), &mut text).unwrap();
        text
    };
    assert_eq!(
        text(desc(Shape::flat(1024, 1024), UASTC), 11),
        "1024x1024 | 2D | UASTC LDR 4x4 linear | 11 mip levels | 1 face, 1 layer | supercompression: none"
    );
    let zstd = Supercompression::Zstd;
    assert_eq!(
        text(Desc { supercompression: zstd, ..desc(Shape::volume(5, 5, 5), Payload::Rgba16F) }, 1),
        "5x5x5 | 3D | R16G16B16A16_SFLOAT | 1 mip level | 1 face, 1 layer | supercompression: zstd"
    );
    assert_eq!(
        text(Desc { transfer: Transfer::Srgb, ..desc(Shape::cube(4), Payload::Rgba8) }, 3),
        "4x4 | Cube | R8G8B8A8_SRGB | 3 mip levels | 6 faces, 1 layer | supercompression: none"
    );
}

#[test]
fn counts_texels_of_all_levels_faces_and_layers() {
    for (shape, levels, expected) in [
        (Shape::flat(4, 2), 3, 8 + 2 + 1),
        (Shape::cube(2), 2, 6 * (4 + 1)),
        (Shape::array(3, 3, 5), 1, 45),
        (Shape::volume(2, 2, 2), 2, 8 + 1),
    ] {
        let mut totals = vec![];
        let bytes = texture(&desc(shape, Payload::Rgba8), levels);
        Ktx2.facts(&bytes, &mut |name, fact| {
            if let Fact::Total(n) = fact {
                totals.push((name, n));
            }
        })
        .unwrap();
        assert_eq!(totals, [("texels", expected), ("gpu_bytes", 4 * expected)]);
    }
}
