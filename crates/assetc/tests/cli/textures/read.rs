//! A texture read by independent implementations, with the invariants of every texture checked.

use crate::project::Project;
use basisu::{DecodeFlags, TargetFormat, Transcoder};
use ktx2::{ColorModel, ColorPrimaries, SupercompressionScheme, TransferFunction};

pub(super) const SRGB: Option<TransferFunction> = Some(TransferFunction::SRGB);
pub(super) const LINEAR: Option<TransferFunction> = Some(TransferFunction::Linear);

/// A texture as independent implementations read it.
pub(super) struct Texture {
    pub(super) bytes: Vec<u8>,
    pub(super) header: ktx2::Header,
    /// The decompressed mip levels, largest first.
    pub(super) levels: Vec<Vec<u8>>,
    pub(super) transfer: Option<TransferFunction>,
    /// The channel type of the only sample of UASTC.
    pub(super) channel: u8,
}

impl Texture {
    /// Reads a texture of a project and checks the invariants of all textures.
    pub(super) fn open(p: &Project, path: &str) -> Texture {
        let texture = Texture::new(p.read(path));
        p.run(&["check"]).expect(0);
        texture
    }

    pub(super) fn new(bytes: Vec<u8>) -> Texture {
        let reader = ktx2::Reader::new(&bytes).unwrap();
        let header = reader.header();
        let dfd = reader.basic_dfd().expect("a basic descriptor").clone();
        let (model, transfer) = (dfd.color_model, dfd.transfer_function);
        let format = header.format.map_or(0, |format| format.value());
        let expected = match format {
            0 => ColorModel::UASTC,
            133 | 134 => ColorModel::BC1A,
            137 | 138 => ColorModel::BC3,
            139 => ColorModel::BC4,
            141 => ColorModel::BC5,
            145 | 146 => ColorModel::BC7,
            147..=156 => ColorModel::ETC2,
            157 | 158 => ColorModel::ASTC,
            _ => ColorModel::RGBSDA,
        };
        assert_eq!(model, Some(expected));
        let is_blocks = expected != ColorModel::RGBSDA;
        assert_eq!(dfd.color_primaries, (transfer == SRGB).then_some(ColorPrimaries::BT709));
        assert_eq!(reader.is_alpha_premultiplied(), Some(false));
        if is_blocks {
            assert_eq!(dfd.texel_block_dimensions.map(|side| side.get()), [4, 4, 1, 1]);
            assert!(matches!((dfd.bytes_planes[0], dfd.sample_information.len()), (8, 1) | (16, 1 | 2)));
        }

        let pairs: Vec<_> = reader.key_value_data().collect();
        let plain = header.face_count == 1 && header.pixel_depth == 0;
        let orientation = plain.then_some(("KTXorientation", &b"rd\0"[..]));
        let writer = ("KTXwriter", &b"Kiln assetc\0"[..]);
        assert_eq!(pairs, orientation.into_iter().chain([writer]).collect::<Vec<_>>());

        let index = |level: u32| -> [u64; 3] {
            let at = 80 + 24 * level as usize;
            [0, 8, 16].map(|field| u64::from_le_bytes(bytes[at + field..][..8].try_into().unwrap()))
        };
        let (count, zstd) = (header.level_count, header.supercompression_scheme.is_some());
        assert_eq!(header.index.dfd_byte_offset, 80 + 24 * count);
        assert_eq!(header.index.kvd_byte_offset, header.index.dfd_byte_offset + header.index.dfd_byte_length);
        assert_eq!((header.index.sgd_byte_offset, header.index.sgd_byte_length), (0, 0));
        // From the end of the metadata to the end of the file: smallest level first, nothing else.
        let mut end = u64::from(header.index.kvd_byte_offset + header.index.kvd_byte_length);
        let block = u64::from(dfd.bytes_planes[0]);
        for level in (0..count).rev() {
            let [offset, length, inflated] = index(level);
            let start = if zstd { end } else { end.next_multiple_of(block.max(4)) };
            assert_eq!(offset, start, "level {level} of {count}");
            assert!(bytes[end as usize..offset as usize].iter().all(|byte| *byte == 0));
            let side = |size: u32| u64::from((size >> level).max(1));
            let (w, h) = (side(header.pixel_width), side(header.pixel_height));
            let (w, h) = if is_blocks { (w.div_ceil(4), h.div_ceil(4)) } else { (w, h) };
            let images =
                u64::from(header.layer_count.max(1) * header.face_count) * side(header.pixel_depth.max(1));
            assert_eq!(inflated, w * h * images * block, "level {level}");
            end = offset + length;
        }
        assert_eq!(end, bytes.len() as u64);

        let inflate = |level: ktx2::Level<'_>| match zstd {
            true => zstd::bulk::decompress(level.data, level.uncompressed_byte_length as usize).unwrap(),
            false => level.data.to_vec(),
        };
        let levels: Vec<Vec<u8>> = reader.levels().map(inflate).collect();
        let channel = dfd.sample_information[0].channel_type;
        Texture { header, levels, transfer, channel, bytes }
    }

    /// An image of a block-compressed texture, decoded.
    pub(super) fn decode(&self, level: u32, layer: u32, face: u32) -> Vec<u8> {
        let texture = Transcoder::new(&self.bytes).expect("a Basis Universal texture");
        assert_eq!(texture.level_count(), self.header.level_count);
        texture.transcode_image(level, layer, face, TargetFormat::Rgba32, DecodeFlags::NONE).unwrap()
    }

    /// An image of a level of BC7, decoded.
    pub(super) fn decode_bc7(&self, level: usize, image: usize) -> Vec<u8> {
        let side = |size: u32| (size >> level).max(1) as usize;
        let (width, height) = (side(self.header.pixel_width), side(self.header.pixel_height));
        let wide = width.div_ceil(4);
        let len = wide * height.div_ceil(4) * 16;
        let mut out = vec![0; width * height * 4];
        for (i, block) in self.levels[level][image * len..][..len].chunks_exact(16).enumerate() {
            let mut texels = [0; 64];
            bcdec_rs::bc7(block, &mut texels, 16);
            for (t, texel) in texels.chunks_exact(4).enumerate() {
                let (x, y) = (i % wide * 4 + t % 4, i / wide * 4 + t / 4);
                if x < width && y < height {
                    out[(y * width + x) * 4..][..4].copy_from_slice(texel);
                }
            }
        }
        out
    }

    pub(super) fn vk_format(&self) -> u32 {
        self.header.format.map_or(0, |format| format.value())
    }

    pub(super) fn zstd(&self) -> bool {
        match self.header.supercompression_scheme {
            None => false,
            Some(scheme) => {
                assert_eq!(scheme, SupercompressionScheme::Zstandard);
                true
            }
        }
    }

    /// Width, height and number of levels.
    pub(super) fn size(&self) -> (u32, u32, u32) {
        (self.header.pixel_width, self.header.pixel_height, self.header.level_count)
    }
}

/// Decibels over these channels of RGBA texels.
pub(super) fn psnr(a: &[u8], b: &[u8], channels: &[usize]) -> f64 {
    assert_eq!(a.len(), b.len());
    let (mut error, mut count) = (0.0, 0.0);
    for (a, b) in a.chunks_exact(4).zip(b.chunks_exact(4)) {
        for &c in channels {
            error += f64::from(a[c].abs_diff(b[c])).powi(2);
            count += 1.0;
        }
    }
    10.0 * (255.0 * 255.0 * count / f64::max(error, 1e-9)).log10()
}
