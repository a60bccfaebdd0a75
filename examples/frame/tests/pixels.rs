//! The frame has the colours of the sources at the places of the scene. Needs a Vulkan driver, such as lavapipe, and the
//! baked art: `examples/frame/run` runs it.

use pak::PakBuf;

/// The colours of `art/tiles.png`, from the top left.
const TILES: [[u8; 4]; 4] = [[230, 30, 20, 255], [20, 200, 40, 255], [30, 60, 240, 255], [250, 220, 10, 255]];

#[test]
fn pixels_are_those_of_the_art() {
    let pak = std::env::var_os("FRAME_PAK").expect("FRAME_PAK is the baked art/frame.toml");
    let frame = frame::draw(&PakBuf::open(pak).unwrap(), "scene", 256).unwrap();
    // sRGB to linear and back rounds.
    let is = |place: (f32, f32), wanted: [u8; 4]| {
        let found = frame.at(place.0, place.1);
        let close = found.iter().zip(wanted).all(|(found, wanted)| found.abs_diff(wanted) <= 1);
        assert!(close, "{place:?}: {found:?}, not {wanted:?}, by {}", frame.adapter);
    };
    // The tiles reach from -0.5 to 0.5, upright: V is 0 at the top.
    for ((x, y), wanted) in [(-1.0, 1.0), (1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)].into_iter().zip(TILES) {
        for far in [0.02, 0.25, 0.48] {
            is((x * far, y * far), wanted);
        }
        // The wall is behind them and reaches to 0.75, although it is drawn later.
        is((x * 0.52, y * 0.52), [0x20, 0x40, 0x60, 255]);
        is((x * 0.73, y * 0.1), [0x20, 0x40, 0x60, 255]);
        is((x * 0.77, y * 0.77), [0, 0, 0, 255]);
    }
}
