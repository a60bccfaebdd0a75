//! Cubemaps through the public API. Unit tests of the filter check that they are seamless.

use kiln_ir::{Image, Texels};
use kiln_texture::{Error, Mode, Settings, encode_cube};

fn raw() -> Settings {
    Settings { compress: false, zstd: false, ..Settings::default() }
}

/// Returns a face of noise, different for each index.
fn face(face: u32, size: u32) -> Image {
    let noise = |i: u32| ((i + face * 7919).wrapping_mul(0x9E37_79B1) >> 13) as u8;
    Image::new(size, size, Texels::Rgba8((0..size * size * 4).map(noise).collect())).unwrap()
}

#[test]
fn base_level_is_unmodified_and_faces_keep_their_order() {
    let cube = encode_cube(std::array::from_fn(|f| face(f as u32, 8)), Mode::Color, &raw()).unwrap();
    let faces: Vec<u8> = (0..6).flat_map(|f| face(f, 8).into_rgba8()).collect();
    assert_eq!(cube.levels[0].bytes, faces);
    assert_eq!((cube.faces, cube.layers, cube.depth, cube.levels.len()), (6, 0, 0, 4));
    assert_eq!(cube.levels[3].bytes.len(), 6 * 4);
}

#[test]
fn constant_cubemap_stays_constant() {
    for size in [1, 2, 3, 5, 7, 12, 31] {
        for max_size in [None, Some(4)] {
            let face =
                || Image::new(size, size, Texels::Rgba8([90, 10, 200, 77].repeat((size * size) as usize)));
            let faces = std::array::from_fn(|_| face().unwrap());
            let cube = encode_cube(faces, Mode::Color, &Settings { max_size, ..raw() }).unwrap();
            for level in &cube.levels {
                assert!(level.bytes.chunks_exact(4).all(|t| t == [90, 10, 200, 77]), "{size}");
            }
        }
    }
}

#[test]
fn rejects_faces_that_are_not_equal_squares() {
    let image = |w, h| Image::new(w, h, Texels::Rgba8(vec![0; (w * h * 4) as usize])).unwrap();
    let mut faces: [Image; 6] = std::array::from_fn(|_| image(4, 4));
    faces[3] = image(4, 5);
    let expected = Error::SizeDiffers { index: 3, found: (4, 5), expected: (4, 4) };
    assert_eq!(encode_cube(faces, Mode::Color, &raw()), Err(expected));
    let oblong = std::array::from_fn(|_| image(4, 2));
    assert_eq!(encode_cube(oblong, Mode::Color, &raw()), Err(Error::NotSquare { found: (4, 2) }));
}
