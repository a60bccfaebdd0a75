//! Draws the baked scene and writes the frame as a PPM image.

use pak::PakBuf;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let [pak, image] = args.as_slice() else {
        eprintln!("usage: frame <frame.pak> <image.ppm>");
        std::process::exit(2);
    };
    let frame = frame::draw(&PakBuf::open(pak)?, "scene", 256)?;
    let mut ppm = format!("P6 {0} {0} 255\n", frame.side).into_bytes();
    ppm.extend(frame.texels.as_chunks::<4>().0.iter().flat_map(|[r, g, b, _]| [*r, *g, *b]));
    std::fs::write(image, ppm)?;
    println!("{0}x{0} texels, drawn by {1}", frame.side, frame.adapter);
    Ok(())
}
