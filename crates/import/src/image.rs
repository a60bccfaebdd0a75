//! PNG, JPEG, TGA, BMP, WebP, QOI, GIF, TIFF and PSD into [`Image`]; KTX 2.0 with Basis Universal, which glTF files may
//! contain; and the base level of DDS textures.
//!
//! The content decides the format, not the file's name; only TGA, which has no magic bytes, needs the name. Greyscale
//! becomes R = G = B, palettes and colour keys become colour and alpha, 16 bits per channel are kept. ICC profiles and
//! gamma are ignored: samples are used as they are stored.
//!
//! An image with an EXIF orientation is rotated upright, as every viewer shows it, with a warning, because not every
//! modelling tool does. Of an animation the first frame is used, with a warning.
//!
//! Rejects images beyond the [`Limits`], and dimensions that the file is far too short for, before texels are
//! allocated; and truncated and damaged files, where the format allows to detect them. There is one copy of the texels:
//! every decoder writes into the buffer of the image.

mod bmp;
mod gif;
mod jpeg;
mod ktx2;
mod orientation;
mod png;
mod psd;
mod qoi;
mod tga;
mod tiff;
mod webp;

use kiln_diagnostics::{Code, Diag, Limits};
use kiln_ir::{Image, Texels};

use crate::Imported;
use crate::dds::Dds;

pub use png::OpaqueRows;

/// The file extensions of image formats, in lower case and without the dot.
pub const IMAGE_EXTENSIONS: &[&str] =
    &["png", "jpg", "jpeg", "tga", "bmp", "webp", "qoi", "gif", "tif", "tiff", "psd", "psb"];

/// The extensions among [`IMAGE_EXTENSIONS`] of formats in which images are edited or archived, rather than exported. An
/// image in one of them often lies beside its export of the same name.
pub const AUTHORING_EXTENSIONS: &[&str] = &["psd", "psb", "tif", "tiff", "gif", "qoi"];

/// Checks the limits and returns the size in bytes of `width` x `height` RGBA texels with `channel_bytes` per channel.
pub(crate) fn admit(limits: &Limits, width: u32, height: u32, channel_bytes: u32) -> Result<usize, Diag> {
    if width == 0 || height == 0 {
        return Err(corrupt(format!("the image has {width}x{height} pixels")));
    }
    let bytes = limits.check_pixels(width, height)?.saturating_mul(4 * u64::from(channel_bytes));
    let what = format!("the decoded texels of {width}x{height} pixels");
    limits.check_memory(bytes, &what)?;
    usize::try_from(bytes).map_err(|_| {
        Limits { max_memory: usize::MAX as u64, ..*limits }.check_memory(bytes, what).expect_err("too many")
    })
}

/// The supported formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Png,
    Jpeg,
    Tga,
    Bmp,
    WebP,
    Qoi,
    Gif,
    Tiff,
    Psd,
    Dds,
    Ktx2,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Png => "PNG",
            Kind::Jpeg => "JPEG",
            Kind::Tga => "TGA",
            Kind::Bmp => "BMP",
            Kind::WebP => "WebP",
            Kind::Qoi => "QOI",
            Kind::Gif => "GIF",
            Kind::Tiff => "TIFF",
            Kind::Psd => "PSD",
            Kind::Dds => "DDS",
            Kind::Ktx2 => "KTX",
        }
    }

    /// Returns the format that a file extension stands for.
    fn of_extension(extension: &str) -> Option<Kind> {
        let is = |known: &str| extension.trim_start_matches('.').eq_ignore_ascii_case(known);
        match IMAGE_EXTENSIONS.iter().copied().find(|known| is(known))? {
            "png" => Some(Kind::Png),
            "jpg" | "jpeg" => Some(Kind::Jpeg),
            "tga" => Some(Kind::Tga),
            "bmp" => Some(Kind::Bmp),
            "webp" => Some(Kind::WebP),
            "qoi" => Some(Kind::Qoi),
            "gif" => Some(Kind::Gif),
            "tif" | "tiff" => Some(Kind::Tiff),
            "psd" | "psb" => Some(Kind::Psd),
            _ => None,
        }
    }

    /// Detects the format by magic bytes. None can be mistaken for a TGA header, whose second byte is 0 or 1.
    fn of_content(bytes: &[u8], named: Option<Kind>) -> Option<Kind> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Kind::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(Kind::Jpeg),
            [b'B', b'M', ..] => Some(Kind::Bmp),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Kind::WebP),
            [0xAB, b'K', b'T', b'X', b' ', b'2', b'0', ..] => Some(Kind::Ktx2),
            [b'q', b'o', b'i', b'f', ..] => Some(Kind::Qoi),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Kind::Gif),
            [b'I', b'I', b'*', 0, ..] | [b'M', b'M', 0, b'*', ..] => Some(Kind::Tiff),
            [b'8', b'B', b'P', b'S', 0, 1 | 2, ..] => Some(Kind::Psd),
            [b'D', b'D', b'S', b' ', ..] => Some(Kind::Dds),
            _ if named == Some(Kind::Tga) && tga::plausible(bytes) => Some(Kind::Tga),
            _ => None,
        }
    }
}

/// Decodes an image. `extension` is that of the file name: in any case, with or without the dot, or empty.
///
/// # Errors
/// `image-unknown` for an unknown format, `image-unsupported` or `image-kind` for an unsupported variant,
/// `image-corrupt` or `image-truncated` for a damaged file, `image-too-large` or `memory-limit` beyond the limits,
/// `file-empty` or `lfs-pointer` for a file without content.
///
/// ```
/// use kiln_import::{Limits, image};
///
/// // A BMP of one red pixel: file header, info header, BGR and padding.
/// let mut bmp = b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0".to_vec();
/// bmp.extend([0; 24]);
/// bmp.extend([0, 0, 255, 0]);
/// let image = image::import(&bmp, "bmp", &Limits::default())?.value;
/// assert_eq!(image.into_rgba8(), [255, 0, 0, 255]);
/// # Ok::<(), kiln_import::Diag>(())
/// ```
pub fn import(bytes: &[u8], extension: &str, limits: &Limits) -> Result<Imported<Image>, Diag> {
    if let Some(diag) = crate::absent_content(bytes) {
        return Err(diag);
    }
    let named = Kind::of_extension(extension);
    let kind = Kind::of_content(bytes, named).ok_or_else(|| unknown(bytes))?;
    let mut warnings = Vec::new();
    if let Some(named) = named
        && named != kind
    {
        let (content, stated) = (kind.name(), named.name());
        let message =
            format!("the content is {content}, and the file extension is for {stated}; decoded as {content}");
        warnings.push(Diag::new(Code::ImageExtension, message).hint("rename the file or save it again"));
    }
    let value = match kind {
        Kind::Png => png::import(bytes, limits, &mut warnings),
        Kind::Jpeg => jpeg::import(bytes, limits, &mut warnings),
        Kind::Tga => tga::import(bytes, limits),
        Kind::Bmp => bmp::import(bytes, limits),
        Kind::WebP => webp::import(bytes, limits, &mut warnings),
        Kind::Qoi => qoi::import(bytes, limits),
        Kind::Gif => gif::import(bytes, limits, &mut warnings),
        Kind::Tiff => tiff::import(bytes, limits, &mut warnings),
        Kind::Psd => psd::import(bytes, limits),
        Kind::Dds => Dds::read(bytes, limits)?.decode(limits),
        Kind::Ktx2 => ktx2::import(bytes, limits),
    }?;
    Ok(Imported { value, warnings })
}

/// The samples of an opaque image as its file has them, with 8 bits per channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpaqueSamples {
    /// The number of texels in a row.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
    /// The number of samples per texel: 1 for greyscale, 3 for RGB.
    pub channels: usize,
    /// The requested headroom as zeros, then the samples: rows from the top without padding.
    pub bytes: Vec<u8>,
}

/// Decodes an image that stores no alpha and 8 bits per channel without expanding it to RGBA, behind `headroom` zeros,
/// where a caller can write a header. Returns `None` if the image is another one, or [`import`] would rotate it or warn
/// about it; [`import`] reads it then. The values are those of [`import`].
///
/// # Errors
/// As for [`import`].
pub fn import_opaque(
    bytes: &[u8],
    extension: &str,
    headroom: usize,
    limits: &Limits,
) -> Result<Option<OpaqueSamples>, Diag> {
    let named = Kind::of_extension(extension);
    match Kind::of_content(bytes, named) {
        Some(Kind::Png) if named == Some(Kind::Png) => png::import_opaque(bytes, headroom, limits),
        _ => Ok(None),
    }
}

/// Starts to decode an image that stores no alpha and 8 bits per channel, row by row. Returns `None` if the image is
/// another one, its rows are not stored from the top, or [`import`] would rotate it or warn about it; [`import`] reads it
/// then. The texels are those of [`import`].
///
/// # Errors
/// As for [`import`], of the part of the file before the texels.
pub fn opaque_rows<'a>(
    bytes: &'a [u8],
    extension: &str,
    limits: &Limits,
) -> Result<Option<OpaqueRows<'a>>, Diag> {
    let named = Kind::of_extension(extension);
    match Kind::of_content(bytes, named) {
        Some(Kind::Png) if named == Some(Kind::Png) => OpaqueRows::open(bytes, limits),
        _ => Ok(None),
    }
}

/// Returns `true` if the file stores one channel, without alpha: its texels have R = G = B. Palettes and formats that
/// always store colour are not greyscale, whatever their texels are.
pub fn is_greyscale(bytes: &[u8], extension: &str, limits: &Limits) -> bool {
    match Kind::of_content(bytes, Kind::of_extension(extension)) {
        Some(Kind::Png) => png::is_greyscale(bytes),
        Some(Kind::Jpeg) => jpeg::is_greyscale(bytes),
        Some(Kind::Tga) => tga::is_greyscale(bytes),
        Some(Kind::Tiff) => tiff::is_greyscale(bytes),
        Some(Kind::Psd) => psd::is_greyscale(bytes),
        Some(Kind::Dds) => Dds::read(bytes, limits).is_ok_and(|dds| dds.is_greyscale()),
        Some(Kind::Bmp | Kind::WebP | Kind::Qoi | Kind::Gif | Kind::Ktx2) | None => false,
    }
}

/// The dimensions and channel depth that the header of an image states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The number of texels in a row.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
    /// The number of bytes per channel of the decoded image: 1 or 2.
    pub channel_bytes: u32,
}

/// Reads the dimensions from the first bytes of a file (64 KiB suffice); returns `None` if there is no known header.
/// The result is an estimate of the memory to come, which the decoder does not rely on.
pub fn probe(prefix: &[u8], extension: &str) -> Option<Header> {
    let kind = Kind::of_content(prefix, Kind::of_extension(extension))?;
    let (width, height) = match kind {
        Kind::Png => png::probe(prefix),
        Kind::Jpeg => jpeg::probe(prefix),
        Kind::Tga => tga::probe(prefix),
        Kind::Bmp => bmp::probe(prefix),
        Kind::WebP => webp::probe(prefix),
        Kind::Qoi => qoi::probe(prefix),
        Kind::Gif => gif::probe(prefix),
        Kind::Tiff => tiff::probe(prefix).map(|(width, height, _)| (width, height)),
        Kind::Psd => psd::probe(prefix).map(|(width, height, _)| (width, height)),
        Kind::Dds => le32(prefix, 16).zip(le32(prefix, 12)),
        Kind::Ktx2 => ktx2::probe(prefix),
    }?;
    let bits = match kind {
        Kind::Png if png::is_16_bit(prefix) => 16,
        Kind::Tiff => tiff::probe(prefix)?.2,
        Kind::Psd => psd::probe(prefix)?.2,
        // The decoded samples of a DDS texture may have 16 bits.
        Kind::Dds => 16,
        _ => 8,
    };
    let channel_bytes = if bits > 8 { 2 } else { 1 };
    Some(Header { width, height, channel_bytes })
}

/// Creates the error of an unsupported format, which names well-known formats.
fn unknown(bytes: &[u8]) -> Diag {
    const OTHERS: [(&[u8], &str); 6] = [
        (b"II+\0", "a BigTIFF"),
        (b"MM\0+", "a BigTIFF"),
        (b"8BPS", "an unknown version of a Photoshop document"),
        (b"\xABKTX ", "a KTX texture"),
        (b"v/1\x01", "an OpenEXR image"),
        (b"#?R", "a Radiance HDR image"),
    ];
    let head = &bytes[..bytes.len().min(32)];
    let text = match std::str::from_utf8(head) {
        Ok(text) => Some(text),
        // Text may be cut within a character at the end of the excerpt.
        Err(e) if e.error_len().is_none() => std::str::from_utf8(&head[..e.valid_up_to()]).ok(),
        Err(_) => None,
    };
    let found = if let Some((_, other)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        other.to_string()
    } else if head.get(4..8) == Some(b"ftyp") {
        "an AVIF, HEIF or other ISO media file".to_string()
    } else if let Some(text) = text {
        format!("text that starts with {text:?}")
    } else {
        let hex: Vec<String> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("unknown content that starts with {}", hex.join(" "))
    };
    Diag::new(Code::ImageUnknown, format!("the file is not a supported image, but {found}"))
        .hint("save the image as PNG, JPEG, BMP, WebP, TGA, QOI, TIFF or PSD")
}

pub(crate) fn corrupt(what: impl std::fmt::Display) -> Diag {
    Diag::new(Code::ImageCorrupt, format!("the file is damaged: {what}")).hint("export or download it again")
}

pub(crate) fn truncated(what: impl std::fmt::Display) -> Diag {
    Diag::new(Code::ImageTruncated, format!("unexpected end of file: {what}"))
        .hint("export or download it again")
}

pub(crate) fn unsupported(what: impl std::fmt::Display, hint: &str) -> Diag {
    Diag::new(Code::ImageUnsupported, format!("unsupported image variant: {what}")).hint(hint)
}

/// Converts the message of a decoder library to a clause: without its prefix, the debug output of PNG chunk types, and
/// the final period.
pub(crate) fn decoder_message(error: impl std::fmt::Display) -> String {
    const CHUNK: &str = "ChunkType { type: ";
    let mut message = error.to_string().replace('\n', " ");
    while let Some(start) = message.find(CHUNK) {
        let end = message[start..].find('}').map_or(message.len(), |end| start + end + 1);
        let inside = message[start + CHUNK.len()..end].trim_end_matches('}');
        let name = inside.split(',').next().unwrap_or_default().trim().to_owned();
        message.replace_range(start..end, &name);
    }
    let message = message.trim_start_matches("Format error decoding Png: ");
    let message =
        if message.starts_with("Corrupt deflate stream") { "corrupt deflate stream" } else { message };
    message.trim_end_matches(['.', ' ']).to_owned()
}

fn animated(what: impl std::fmt::Display) -> Diag {
    Diag::new(Code::ImageAnimated, format!("{what}; only the first frame is used"))
        .hint("save the wanted frame as a still image")
}

/// The width, the height and the texels of a decoded image.
type Decoded = (u32, u32, Texels);

/// Expands grey, grey with alpha, RGB or RGBA samples at the start of the buffer to RGBA in place.
fn expand_to_rgba(texels: &mut [u8], channels: usize) {
    match channels {
        1 => expand::<1>(texels),
        2 => expand::<2>(texels),
        3 => expand::<3>(texels),
        _ => {}
    }
}

/// Expands texels of `N` samples in blocks from the last to the first, so that no sample is overwritten before it is
/// read; through a buffer, so that the compiler sees that samples and texels do not overlap.
fn expand<const N: usize>(texels: &mut [u8]) {
    const BLOCK: usize = 1024;
    let mut samples = [[0; N]; BLOCK];
    let count = texels.len() / 4;
    for start in (0..count).step_by(BLOCK).rev() {
        let end = count.min(start + BLOCK);
        let samples = &mut samples[..end - start];
        samples.as_flattened_mut().copy_from_slice(&texels[start * N..end * N]);
        let out = texels[start * 4..].as_chunks_mut::<4>().0;
        out.iter_mut().zip(&*samples).for_each(|(out, sample)| *out = rgba(sample, u8::MAX));
    }
}

/// Returns one RGBA texel of one to four samples.
fn rgba<T: Copy>(samples: &[T], opaque: T) -> [T; 4] {
    match *samples {
        [l] => [l, l, l, opaque],
        [l, a] => [l, l, l, a],
        [r, g, b] => [r, g, b, opaque],
        [r, g, b, a, ..] => [r, g, b, a],
        [] => [opaque; 4],
    }
}

/// Creates the image of decoded texels, rotated upright by its EXIF block (a TIFF structure).
fn upright(decoded: Decoded, exif: Option<&[u8]>, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
    let Some(tag) = exif.and_then(orientation::stated) else { return checked_image(decoded) };
    let message = format!(
        "the image was rotated upright by its EXIF orientation {tag}; other tools may ignore the tag"
    );
    warnings
        .push(Diag::new(Code::ImageOrientation, message).hint("save the image upright and without the tag"));
    checked_image(orientation::apply(decoded, tag))
}

/// Creates the image of decoded texels; fails if the decoder returned another number than it stated.
pub(crate) fn checked_image((width, height, texels): Decoded) -> Result<Image, Diag> {
    Image::new(width, height, texels).ok_or_else(incomplete_texels)
}

fn incomplete_texels() -> Diag {
    corrupt("the number of texels does not match the dimensions")
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

pub(crate) fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
