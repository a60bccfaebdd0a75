//! Ours and the rivals, behind one door.

use crate::images::Image;
use intel_tex_2::{RgbaSurface, bc7};
use kiln_uastc::{Options, Quality, View, blocks_high};

/// A profile of Intel's encoder. It has two sets of them: for opaque images, where alpha counts nothing,
/// and for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    UltraFast,
    VeryFast,
    Fast,
    Basic,
    Slow,
}

/// A preset of bc7e.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    UltraFast,
    VeryFast,
    Fast,
    Basic,
    Slow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoder {
    Intel(Profile),
    Bc7e(Preset),
    /// A cross-platform build on a desktop: our UASTC, transcoded.
    Transcoded(Quality),
    /// Ours; with `true` opaque blocks of opaque images stay opaque, which rivals do not promise.
    Ours(Quality, bool),
}

impl Encoder {
    pub fn name(&self) -> String {
        match self {
            Self::Intel(profile) => format!("intel {profile:?}"),
            Self::Bc7e(preset) => format!("bc7e {preset:?}"),
            Self::Transcoded(quality) => format!("UASTC {quality:?}, transcoded"),
            Self::Ours(quality, false) => format!("ours {quality:?}"),
            Self::Ours(quality, true) => format!("ours {quality:?}, opaque kept"),
        }
    }

    /// Encodes; `out` has room for all blocks. Transcoding is not part of what is timed: a game does it.
    pub fn encode(&self, image: &Image, out: &mut [u8]) {
        let (width, height) = (image.width as u32, image.height as u32);
        match *self {
            Self::Intel(profile) => {
                let stride = width * 4;
                let surface = RgbaSurface { data: &image.rgba, width, height, stride };
                bc7::compress_blocks_into(&settings(profile, image.has_alpha), &surface, out);
            }
            Self::Bc7e(preset) => {
                let pixels: Vec<u32> = (image.blocks().as_flattened().as_chunks().0.iter())
                    .map(|texel| u32::from_le_bytes(*texel))
                    .collect();
                let mut blocks = vec![0u64; out.len() / 8];
                ctt_bc7enc_rdo::compress_blocks(&mut blocks, &pixels, &parameters(preset));
                for (out, block) in out.as_chunks_mut().0.iter_mut().zip(blocks) {
                    *out = block.to_le_bytes();
                }
            }
            Self::Transcoded(quality) => {
                let view = View::tight(&image.rgba, width, height).expect("a whole image");
                let options = Options { quality, rdo: None };
                kiln_uastc::encode_rows(&view, 0..blocks_high(height), &options, out);
            }
            Self::Ours(quality, kept) => {
                let view = View::tight(&image.rgba, width, height).expect("a whole image");
                let options =
                    kiln_uastc::bc7::Bc7Options { quality, opaque: !image.has_alpha && !kept, rdo: None };
                kiln_uastc::bc7::encode_rows(&view, 0..blocks_high(height), options, out);
            }
        }
    }

    /// The BC7 blocks of what was encoded.
    pub fn finish(&self, out: &mut [u8]) {
        if matches!(self, Self::Transcoded(_)) {
            for block in out.as_chunks_mut::<16>().0 {
                *block = basisu::uastc::bc7::transcode_uastc_to_bc7(block).expect("a legal block");
            }
        }
    }
}

/// Without perceptual weights: every channel counts the same.
fn parameters(preset: Preset) -> ctt_bc7enc_rdo::bindings::bc7e_compress_block_params {
    match preset {
        Preset::UltraFast => ctt_bc7enc_rdo::params_init_ultrafast(false),
        Preset::VeryFast => ctt_bc7enc_rdo::params_init_veryfast(false),
        Preset::Fast => ctt_bc7enc_rdo::params_init_fast(false),
        Preset::Basic => ctt_bc7enc_rdo::params_init_basic(false),
        Preset::Slow => ctt_bc7enc_rdo::params_init_slow(false),
    }
}

fn settings(profile: Profile, alpha: bool) -> bc7::EncodeSettings {
    match (profile, alpha) {
        (Profile::UltraFast, false) => bc7::opaque_ultra_fast_settings(),
        (Profile::VeryFast, false) => bc7::opaque_very_fast_settings(),
        (Profile::Fast, false) => bc7::opaque_fast_settings(),
        (Profile::Basic, false) => bc7::opaque_basic_settings(),
        (Profile::Slow, false) => bc7::opaque_slow_settings(),
        (Profile::UltraFast, true) => bc7::alpha_ultra_fast_settings(),
        (Profile::VeryFast, true) => bc7::alpha_very_fast_settings(),
        (Profile::Fast, true) => bc7::alpha_fast_settings(),
        (Profile::Basic, true) => bc7::alpha_basic_settings(),
        (Profile::Slow, true) => bc7::alpha_slow_settings(),
    }
}
