//! Mip levels of KTX2 files: from every prefix of a file, and compared with the independent transcoder.

use kiln_format::ktx2::{Channels, Desc, Ktx2View, Payload, Shape, Supercompression, Transfer, write};
use kiln_transcode::ktx2::{LoadError, Texture, load_level, load_stored_level};
use kiln_transcode::{Channel, Error, Target, transcode};

/// Blocks of all modes, every one of them valid.
fn blocks(count: usize, seed: u128) -> Vec<u8> {
    let mut state = seed | 1;
    let random = std::iter::repeat_with(move || {
        state = state.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645).wrapping_add(1);
        (state ^ state >> 64).to_le_bytes()
    });
    let valid = random.filter(|block| kiln_transcode::uastc::decode_block(block).is_some());
    valid.take(count).flatten().collect()
}

/// A texture with all its mip levels, and the blocks of each.
fn texture(shape: Shape, supercompression: Supercompression) -> (Vec<u8>, Vec<Vec<u8>>) {
    let payload = Payload::Uastc { channels: Channels::Rgba };
    let desc =
        Desc { shape, payload, transfer: Transfer::Srgb, supercompression, writer: "test 1", oriented: true };
    let levels: Vec<_> = (0..shape.max_levels())
        .map(|level| blocks(payload.level_len(&shape, level).unwrap() as usize / 16, level.into()))
        .collect();
    let stored: Vec<_> = levels
        .iter()
        .map(|raw| match supercompression {
            Supercompression::None => raw.clone(),
            Supercompression::Zstd => zstd::bulk::compress(raw, 3).unwrap(),
        })
        .collect();
    (write(&desc, &stored.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap(), levels)
}

#[test]
fn every_prefix_yields_the_mip_levels_it_holds() {
    for supercompression in [Supercompression::None, Supercompression::Zstd] {
        let (file, levels) = texture(Shape::flat(21, 13), supercompression);
        let whole = Ktx2View::read(&file).unwrap();
        for len in 0..=file.len() {
            let prefix = &file[..len];
            let held =
                (0..whole.level_count()).filter(|&level| whole.level_end(level).unwrap() <= len as u64);
            let held: Vec<_> = held.collect();
            match Texture::read(prefix) {
                Ok(texture) => assert!(texture.available_levels().eq(held.iter().copied()), "{len} bytes"),
                Err(LoadError::NeedMoreBytes { total }) => assert!(total > len as u64 && held.is_empty()),
                Err(other) => panic!("{len} bytes: {other}"),
            }
            for level in 0..whole.level_count() {
                match load_level(prefix, level, Target::Bc7) {
                    Ok(loaded) => {
                        assert!(held.contains(&level));
                        let [width, height, _] = whole.shape().level_dims(level);
                        let mut expected = vec![0; loaded.bytes.len()];
                        let blocks = &levels[level as usize];
                        transcode(blocks, width, height, Target::Bc7, &mut expected).unwrap();
                        assert_eq!(loaded.bytes, expected);
                        assert_eq!((loaded.layout.width, loaded.layout.height), (width, height));
                        assert_eq!(loaded.layout.vk_format, 146);
                    }
                    Err(LoadError::NeedMoreBytes { total }) => {
                        assert!(!held.contains(&level) && total > len as u64);
                        // With the bytes that it asked for, the next step succeeds or asks for more.
                        let next = load_level(&file[..total as usize], level, Target::Bc7);
                        assert!(len < 80 || next.is_ok() || total < whole.level_end(level).unwrap());
                    }
                    Err(other) => panic!("mip level {level} of {len} bytes: {other}"),
                }
            }
        }
    }
}

#[test]
fn loads_layers_and_faces_in_order() {
    for shape in [Shape::array(9, 6, 3), Shape::cube(8)] {
        let (file, levels) = texture(shape, Supercompression::Zstd);
        for (level, blocks) in levels.iter().enumerate() {
            let loaded = load_level(&file, level as u32, Target::Rgba8).unwrap();
            let [width, height, _] = shape.level_dims(level as u32);
            let images = (shape.layer_count.max(1) * shape.face_count) as usize;
            assert_eq!(loaded.layout.images, images);
            let mut expected = vec![];
            for image in blocks.chunks(blocks.len() / images) {
                let mut texels = vec![0; (width * height * 4) as usize];
                transcode(image, width, height, Target::Rgba8, &mut texels).unwrap();
                expected.extend(texels);
            }
            assert_eq!(loaded.bytes, expected);
        }
    }
}

#[test]
fn loads_into_buffers_of_the_caller() {
    let (file, _) = texture(Shape::flat(16, 16), Supercompression::Zstd);
    let expected = load_level(&file, 1, Target::Etc2Rgba).unwrap();
    let texture = Texture::read(&file).unwrap();
    let layout = texture.layout(1, Target::Etc2Rgba).unwrap();
    assert_eq!((layout.output_len, layout.stored_len), (4 * 16, 4 * 16));
    let (mut scratch, mut out) = (vec![0; layout.stored_len], vec![0; layout.output_len]);
    let decompress = |frame: &[u8], out: &mut [u8]| {
        zstd::bulk::decompress_to_buffer(frame, out).is_ok_and(|length| length == out.len())
    };
    texture.load_into(1, Target::Etc2Rgba, decompress, &mut scratch, &mut out).unwrap();
    assert_eq!(out, expected.bytes);

    let failed = texture.load_into(1, Target::Etc2Rgba, |_, _| false, &mut scratch, &mut out);
    assert_eq!(failed, Err(LoadError::Zstd));
    let short = texture.load_into(1, Target::Etc2Rgba, decompress, &mut scratch[1..], &mut out);
    assert_eq!(short, Err(LoadError::BufferLength { buffer: "scratch", expected: 64, found: 63 }));
    let short = texture.load_into(1, Target::Etc2Rgba, decompress, &mut scratch, &mut out[1..]);
    assert_eq!(short, Err(LoadError::BufferLength { buffer: "output", expected: 64, found: 63 }));
}

#[test]
fn copies_textures_in_the_format_of_the_target() {
    let desc = Desc {
        shape: Shape::flat(8, 4),
        payload: Payload::Bc7,
        transfer: Transfer::Srgb,
        supercompression: Supercompression::None,
        writer: "test 1",
        oriented: true,
    };
    let blocks: Vec<u8> = (0..32).collect();
    let file = write(&desc, &[&blocks]).unwrap();
    assert_eq!(load_level(&file, 0, Target::Bc7).unwrap().bytes, blocks);
    assert_eq!(load_level(&file, 0, Target::Astc4x4), Err(LoadError::Format { found: "BC7_SRGB_BLOCK" }));
    assert_eq!(load_stored_level(&file, 0), Ok(blocks));
    assert_eq!(load_stored_level(&file, 1), Err(LoadError::Level { level: 1, count: 1 }));
}

#[test]
fn rejects_missing_mip_levels_and_damaged_blocks() {
    let (mut file, _) = texture(Shape::flat(8, 8), Supercompression::None);
    assert_eq!(load_level(&file, 4, Target::Bc7), Err(LoadError::Level { level: 4, count: 4 }));
    let end = file.len();
    // The first byte of the second block from the end: the reserved prefix code.
    file[end - 32] = 69;
    let damaged = LoadError::Transcode(Error::Block { index: 2 });
    assert_eq!(load_level(&file, 0, Target::Bc7), Err(damaged));
    assert!(load_level(&file, 1, Target::Bc7).is_ok());
    assert_eq!(load_level(b"not a texture", 0, Target::Bc7), Err(LoadError::NeedMoreBytes { total: 80 }));
    assert!(matches!(load_level(&[0; 100], 0, Target::Bc7), Err(LoadError::File(_))));
}

#[test]
fn damaged_frames_are_errors() {
    let (file, _) = texture(Shape::flat(64, 64), Supercompression::Zstd);
    let start = Ktx2View::read(&file).unwrap().level(0).unwrap().offset as usize;
    for at in start..file.len() {
        let mut damaged = file.clone();
        damaged[at] ^= 0x55;
        // A frame without a checksum may decompress to other bytes; the result is a mip level or an error.
        let _ = load_level(&damaged, 0, Target::Bc7);
    }
    let mut damaged = file;
    damaged[start] ^= 1;
    assert_eq!(load_level(&damaged, 0, Target::Bc7), Err(LoadError::Zstd));
}

#[test]
fn chooses_targets_by_channels() {
    let target = |channels, desktop| {
        let desc = Desc {
            shape: Shape::flat(4, 4),
            payload: Payload::Uastc { channels },
            transfer: Transfer::Linear,
            supercompression: Supercompression::None,
            writer: "test 1",
            oriented: true,
        };
        let file = write(&desc, &[&blocks(1, 7)]).unwrap();
        Texture::read(&file).unwrap().usual_target(desktop)
    };
    assert_eq!(target(Channels::Rg, true), Target::Bc5([Channel::Red, Channel::Green]));
    assert_eq!(target(Channels::Rrrg, false), Target::EacRg11([Channel::Red, Channel::Alpha]));
    assert_eq!(target(Channels::Rrr, true), Target::Bc4(Channel::Red));
    assert_eq!(target(Channels::Rgba, true), Target::Bc7);
    assert_eq!(target(Channels::Rgb, false), Target::Etc1);
}
