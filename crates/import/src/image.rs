//! Pictures into [`Image`]: PNG, JPEG, TGA, BMP and WebP; and KTX 2.0 with Basis Universal, which models may hold.
//!
//! The content decides the format, not the file's name; TGA, which has no signature, is the one that needs the
//! name. Grey becomes R = G = B, palettes and colour keys become colours and alpha, sixteen bits stay sixteen.
//! Colour profiles and gamma are ignored: texels are taken as the numbers they are.
//!
//! A picture with an EXIF orientation is turned upright, because that is how every viewer shows it, with a
//! warning, because not every modelling tool does. Of an animation the first picture is taken, with a warning.
//!
//! Refused, before texels are allocated: images beyond the [`Limits`], and dimensions that the file is far
//! too short for. There is one copy of the texels: every decoder writes into what becomes the image. Refused too: truncated and damaged files, where the format can tell.

mod bmp;
mod jpeg;
mod ktx2;
mod orientation;
mod png;
mod tga;
mod webp;

use kiln_engine::{Code, Diag, Limits};
use kiln_ir::{Image, Texels};

use crate::Imported;

/// The extensions of pictures, in lower case and without the dot.
pub const IMAGE_EXTENSIONS: &[&str] = &["png", "jpg", "jpeg", "tga", "bmp", "webp"];

/// The number of bytes of `width` x `height` RGBA texels with `channel_bytes` a channel, if they may be decoded.
pub(crate) fn admit(limits: &Limits, width: u32, height: u32, channel_bytes: u32) -> Result<usize, Diag> {
    if width == 0 || height == 0 {
        return Err(corrupt(format!("{width}x{height} pixels")));
    }
    let bytes = limits.check_pixels(width, height)?.saturating_mul(4 * u64::from(channel_bytes));
    let what = format!("the decoded texels of {width}x{height} pixels");
    limits.check_memory(bytes, &what)?;
    usize::try_from(bytes).map_err(|_| {
        Limits { max_memory: usize::MAX as u64, ..*limits }.check_memory(bytes, what).expect_err("too many")
    })
}

/// The formats that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Png,
    Jpeg,
    Tga,
    Bmp,
    WebP,
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
            Kind::Ktx2 => "KTX",
        }
    }

    /// What a file with this extension ought to be.
    fn of_extension(extension: &str) -> Option<Kind> {
        let is = |known: &str| extension.trim_start_matches('.').eq_ignore_ascii_case(known);
        match IMAGE_EXTENSIONS.iter().copied().find(|known| is(known))? {
            "png" => Some(Kind::Png),
            "jpg" | "jpeg" => Some(Kind::Jpeg),
            "tga" => Some(Kind::Tga),
            "bmp" => Some(Kind::Bmp),
            "webp" => Some(Kind::WebP),
            _ => None,
        }
    }

    /// What the first bytes say. No signature can be mistaken for a TGA header, whose second byte is 0 or 1.
    fn of_content(bytes: &[u8], named: Option<Kind>) -> Option<Kind> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Kind::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(Kind::Jpeg),
            [b'B', b'M', ..] => Some(Kind::Bmp),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Kind::WebP),
            [0xAB, b'K', b'T', b'X', b' ', b'2', b'0', ..] => Some(Kind::Ktx2),
            _ if named == Some(Kind::Tga) && tga::plausible(bytes) => Some(Kind::Tga),
            _ => None,
        }
    }
}

/// Decodes a picture. `extension` is that of the file's name (any case, with or without the dot, or empty).
pub fn import(bytes: &[u8], extension: &str, limits: &Limits) -> Result<Imported<Image>, Diag> {
    if let Some(diag) = crate::absent(bytes) {
        return Err(diag);
    }
    let named = Kind::of_extension(extension);
    let kind = Kind::of_content(bytes, named).ok_or_else(|| unknown(bytes))?;
    let mut warnings = Vec::new();
    if let Some(named) = named
        && named != kind
    {
        let (is, said) = (kind.name(), named.name());
        let message = format!("this is a {is} file, though its extension says {said}; decoded as {is}");
        warnings.push(Diag::new(Code::ImageExtension, message).hint("rename it or save it again"));
    }
    let value = match kind {
        Kind::Png => png::import(bytes, limits, &mut warnings),
        Kind::Jpeg => jpeg::import(bytes, limits, &mut warnings),
        Kind::Tga => tga::import(bytes, limits),
        Kind::Bmp => bmp::import(bytes, limits),
        Kind::WebP => webp::import(bytes, limits, &mut warnings),
        Kind::Ktx2 => ktx2::import(bytes, limits),
    }?;
    Ok(Imported { value, warnings })
}

/// The dimensions of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Texels in a row.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Bytes of a channel when decoded.
    pub channel_bytes: u32,
}

/// The dimensions as the header states them, from the first bytes of a file (64 KiB are plenty): an estimate
/// of the work to come, which the decoder does not rely on.
pub fn probe(prefix: &[u8], extension: &str) -> Option<Header> {
    let kind = Kind::of_content(prefix, Kind::of_extension(extension))?;
    let (width, height) = match kind {
        Kind::Png => png::probe(prefix),
        Kind::Jpeg => jpeg::probe(prefix),
        Kind::Tga => tga::probe(prefix),
        Kind::Bmp => bmp::probe(prefix),
        Kind::WebP => webp::probe(prefix),
        Kind::Ktx2 => ktx2::probe(prefix),
    }?;
    let channel_bytes = if kind == Kind::Png && png::is_deep(prefix) { 2 } else { 1 };
    Some(Header { width, height, channel_bytes })
}

/// What content that cannot be read looks like.
fn unknown(bytes: &[u8]) -> Diag {
    const OTHERS: [(&[u8], &str); 9] = [
        (b"GIF8", "a GIF"),
        (b"II*\0", "a TIFF"),
        (b"MM\0*", "a TIFF"),
        (b"8BPS", "a Photoshop document"),
        (b"DDS ", "a DDS texture"),
        (b"\xABKTX ", "a KTX texture"),
        (b"v/1\x01", "an OpenEXR picture"),
        (b"#?R", "a Radiance HDR picture"),
        (b"qoif", "a QOI picture"),
    ];
    let head = &bytes[..bytes.len().min(32)];
    let text = match std::str::from_utf8(head) {
        Ok(text) => Some(text),
        // A character that the end of the excerpt cuts is still text.
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
    Diag::new(Code::ImageUnknown, format!("not a picture that can be read: {found}"))
        .hint("supported are PNG, JPEG, BMP and WebP by content, and TGA by extension and content")
}

pub(crate) fn corrupt(what: impl std::fmt::Display) -> Diag {
    Diag::new(Code::ImageCorrupt, format!("the file is damaged: {what}")).hint("export or download it again")
}

pub(crate) fn truncated(what: impl std::fmt::Display) -> Diag {
    Diag::new(Code::ImageTruncated, format!("the file ends too early: {what}"))
        .hint("export or download it again")
}

pub(crate) fn unsupported(what: impl std::fmt::Display, hint: &str) -> Diag {
    Diag::new(Code::ImageUnsupported, format!("this kind of picture is not supported: {what}")).hint(hint)
}

fn animated(what: impl std::fmt::Display) -> Diag {
    Diag::new(Code::ImageAnimated, format!("{what}; only the first picture is used"))
        .hint("save the picture you want as a still image")
}

/// Width, height and texels.
type Decoded = (u32, u32, Texels);

/// Makes RGBA of grey, grey with alpha, RGB or RGBA samples at the start of the texels, in place: from the last texel
/// to the first, so that no sample is overwritten before it is read.
fn widen(texels: &mut [u8], channels: usize) {
    if channels < 4 {
        for index in (0..texels.len() / 4).rev() {
            let texel = rgba(&texels[index * channels..][..channels], u8::MAX);
            texels[index * 4..][..4].copy_from_slice(&texel);
        }
    }
}

/// One texel of one to four samples.
fn rgba<T: Copy>(samples: &[T], opaque: T) -> [T; 4] {
    match *samples {
        [l] => [l, l, l, opaque],
        [l, a] => [l, l, l, a],
        [r, g, b] => [r, g, b, opaque],
        [r, g, b, a, ..] => [r, g, b, a],
        [] => [opaque; 4],
    }
}

/// Returns the image of what a decoder gave, upright as its EXIF block (a TIFF header and what follows) says.
fn upright(decoded: Decoded, exif: Option<&[u8]>, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
    let Some(tag) = exif.and_then(orientation::stated) else { return whole(decoded) };
    let message = format!("turned upright as its EXIF orientation {tag} says; other tools may not do so");
    warnings.push(Diag::new(Code::ImageOrientation, message).hint("save it upright and without the tag"));
    whole(orientation::apply(decoded, tag))
}

/// The image of what a decoder gave; it gave as much as it said, or it lied.
fn whole((width, height, texels): Decoded) -> Result<Image, Diag> {
    Image::new(width, height, texels).ok_or_else(unfilled)
}

fn unfilled() -> Diag {
    corrupt("the texels do not fill the picture")
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
