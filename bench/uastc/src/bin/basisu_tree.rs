//! basisu, as a build would use it: every PNG of a folder to UASTC of level 2 with mips, and Zstd around that. The rival of
//! a cold build over images alone (`bench/assetc`). The crate sets a level by OR with its default, 2, so that no level
//! but 2 and 3 can be had from it.
//!
//! ```text
//! basisu_tree <folder> <threads> <output folder>
//! ```

use basis_universal::encoding::{ColorSpace, Compressor, CompressorParams, encoder_init};
use std::fs;
use std::path::Path;

/// The Zstd level of Kiln's own textures.
const ZSTD: i32 = 6;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, threads, out] = arguments.as_slice() else { panic!("see the head of this file") };
    let threads = threads.parse().expect("a number");
    encoder_init();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|e| e != "png") {
            continue;
        }
        let (width, height, channels, texels) = decode(&path);
        let mut params = CompressorParams::new();
        params.set_basis_format(basis_universal::BasisTextureFormat::UASTC4x4);
        params.set_color_space(ColorSpace::Srgb);
        params.set_mip_color_space(ColorSpace::Srgb);
        params.set_uastc_quality_level(basis_universal::UASTC_QUALITY_DEFAULT);
        params.set_generate_mipmaps(true);
        params.source_image_mut(0).init(&texels, width, height, channels);
        let mut compressor = Compressor::new(threads);
        // SAFETY: the parameters are complete and the image outlives the call.
        unsafe {
            compressor.init(&params);
            compressor.process().expect("an image it can encode");
        }
        let packed = zstd::bulk::compress(compressor.basis_file(), ZSTD).expect("memory suffices");
        let name = path.with_extension("basis.zst");
        fs::write(Path::new(out).join(name.file_name().expect("a name")), packed).expect("room for a file");
    }
}

fn decode(path: &Path) -> (u32, u32, u8, Vec<u8>) {
    let mut decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(path).expect("an image")));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().expect("a PNG");
    let mut texels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut texels).expect("texels");
    texels.truncate(info.buffer_size());
    (info.width, info.height, info.color_type.samples() as u8, texels)
}
