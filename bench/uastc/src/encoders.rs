//! Ours and the reference, behind one door, with the processor time that each took.

use crate::images::Image;
use kiln_uastc::{Options, Quality, View, blocks_high, encode_rows};
use ktx::basisu::uastc_enc::{UastcRdoParams, encode_uastc, uastc_rdo};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoder {
    /// The reference at a level, block by block, with or without its RDO post-pass.
    Reference {
        level: u32,
        rdo: Option<f32>,
    },
    /// The same in C++, by the image, in one thread.
    Cpp {
        level: u32,
    },
    Ours {
        quality: Quality,
        rdo: Option<f32>,
    },
}

impl Encoder {
    pub fn name(&self) -> String {
        match self {
            Self::Reference { level, rdo: None } => format!("reference level {level}"),
            Self::Reference { level, rdo: Some(l) } => format!("reference level {level}, RDO {l}"),
            Self::Cpp { level } => format!("reference level {level} in C++"),
            Self::Ours { quality, rdo: None } => format!("ours {quality:?}"),
            Self::Ours { quality, rdo: Some(l) } => format!("ours {quality:?}, RDO {l}"),
        }
    }

    /// The number of rounds; encoders that take minutes run less often.
    pub fn rounds(&self) -> usize {
        match self {
            Self::Ours { rdo: None, .. } | Self::Reference { level: 0, rdo: None } => 5,
            Self::Ours { .. } => 3,
            Self::Reference { rdo: None, .. } | Self::Cpp { .. } => 2,
            Self::Reference { .. } => 1,
        }
    }

    /// The blocks and the seconds of processor time.
    pub fn encode(&self, image: &Image) -> (Vec<[u8; 16]>, f64) {
        match *self {
            Self::Reference { level, rdo } => reference(image, level, rdo),
            Self::Cpp { level } => cpp(image, level),
            Self::Ours { quality, rdo } => ours(image, &Options { quality, rdo }),
        }
    }
}

fn ours(image: &Image, options: &Options) -> (Vec<[u8; 16]>, f64) {
    let mut out = vec![0u8; image.width * image.height];
    let start = thread_seconds();
    let (width, height) = (image.width as u32, image.height as u32);
    let view = View::tight(&image.rgba, width, height).expect("a whole image");
    encode_rows(&view, 0..blocks_high(height), options, &mut out);
    let seconds = thread_seconds() - start;
    (out.chunks_exact(16).map(|b| b.try_into().expect("sixteen")).collect(), seconds)
}

fn reference(image: &Image, level: u32, rdo: Option<f32>) -> (Vec<[u8; 16]>, f64) {
    let texels = image.blocks();
    let start = thread_seconds();
    let mut blocks = vec![[0; 16]; texels.len()];
    for (block, texels) in blocks.iter_mut().zip(&texels) {
        encode_uastc(texels, block, level);
    }
    if let Some(lambda) = rdo {
        let pixels: Vec<_> =
            texels.iter().flat_map(|b| b.chunks_exact(4).map(|t| [t[0], t[1], t[2], t[3]])).collect();
        let params = UastcRdoParams { lambda, ..UastcRdoParams::default() };
        uastc_rdo(blocks.len() as u32, &mut blocks, &pixels, &params, level, 1);
    }
    (blocks, thread_seconds() - start)
}

#[cfg(not(feature = "cpp"))]
fn cpp(_: &Image, _: u32) -> (Vec<[u8; 16]>, f64) {
    panic!("built without the feature cpp")
}

#[cfg(feature = "cpp")]
fn cpp(image: &Image, level: u32) -> (Vec<[u8; 16]>, f64) {
    use basis_universal::encoding::{Compressor, CompressorParams};
    basis_universal::encoding::encoder_init();
    let mut params = CompressorParams::new();
    params.set_basis_format(basis_universal::BasisTextureFormat::UASTC4x4);
    params.set_uastc_quality_level(level);
    params.set_generate_mipmaps(false);
    params.source_image_mut(0).init(&image.rgba, image.width as u32, image.height as u32, 4);
    let mut compressor = Compressor::new(1);
    let start = process_seconds();
    // SAFETY: the parameters are complete and the image outlives the call.
    unsafe {
        compressor.init(&params);
        compressor.process().expect("an image it can encode");
    }
    let seconds = process_seconds() - start;
    // The blocks are the only slice of the file: they end it.
    let file = compressor.basis_file();
    let blocks = &file[file.len() - image.width * image.height..];
    (blocks.chunks_exact(16).map(|b| b.try_into().expect("sixteen")).collect(), seconds)
}

/// Processor time of this thread.
pub fn thread_seconds() -> f64 {
    seconds(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[cfg(feature = "cpp")]
fn process_seconds() -> f64 {
    seconds(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn seconds(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live structure of the right type.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
