//! HDR images into [`HdrImage`]: Radiance HDR and OpenEXR.
//!
//! The content decides the format, not the file's name. NaN becomes zero, and values beyond the range of half floats are
//! clamped, with a warning. Rejects images beyond the [`Limits`], before texels are allocated; truncated and damaged
//! files; and rare variants.

mod exr;
mod radiance;

use kiln_diagnostics::{Code, Diag, Limits};
use kiln_ir::HdrImage;

use crate::Imported;
use crate::image::corrupt;

/// The file extensions of HDR images, in lower case and without the dot.
pub const HDR_EXTENSIONS: &[&str] = &["hdr", "exr"];

/// The largest finite half float.
const MAX_HALF: f32 = 65504.0;

/// The number of bytes per decoded channel.
const CHANNEL_BYTES: u32 = 4;

/// The width, the height and the texels of a decoded image.
type Decoded = (u32, u32, Vec<[f32; 4]>);

#[derive(Clone, Copy)]
enum Kind {
    Radiance,
    OpenExr,
}

impl Kind {
    fn of_content(bytes: &[u8]) -> Option<Kind> {
        match bytes {
            [b'#', b'?', ..] => Some(Kind::Radiance),
            [0x76, 0x2f, 0x31, 0x01, ..] => Some(Kind::OpenExr),
            _ => None,
        }
    }
}

/// Decodes an HDR image.
///
/// # Errors
/// `image-unknown` for an unknown format, `image-unsupported` for an unsupported variant, `image-corrupt` or
/// `image-truncated` for a damaged file, `image-too-large` or `memory-limit` beyond the limits, `file-empty` or
/// `lfs-pointer` for a file without content.
pub fn import(bytes: &[u8], limits: &Limits) -> Result<Imported<HdrImage>, Diag> {
    if let Some(diag) = crate::absent_content(bytes) {
        return Err(diag);
    }
    let decoded = match Kind::of_content(bytes) {
        Some(Kind::Radiance) => radiance::import(bytes, limits),
        Some(Kind::OpenExr) => exr::import(bytes, limits),
        None => Err(Diag::new(Code::ImageUnknown, "the file is neither a Radiance HDR nor an OpenEXR image")
            .hint("export the image as .hdr or .exr; save images without HDR values as PNG or JPEG")),
    };
    let (width, height, mut texels) = decoded?;
    let warnings = clamp_to_half(&mut texels).into_iter().collect();
    let value = HdrImage::new(width, height, texels)
        .ok_or_else(|| corrupt("the number of texels does not match the dimensions"))?;
    Ok(Imported { value, warnings })
}

/// Reads the width and the height from the first bytes of a file; returns `None` if there is no known header.
pub fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    match Kind::of_content(prefix)? {
        Kind::Radiance => radiance::probe(prefix),
        Kind::OpenExr => exr::probe(prefix),
    }
}

/// Clamps all values to the range of half floats; returns a warning with the number of changed values.
fn clamp_to_half(texels: &mut [[f32; 4]]) -> Option<Diag> {
    let mut changed = 0;
    for value in texels.as_flattened_mut() {
        let clamped = if value.is_nan() { 0.0 } else { value.clamp(-MAX_HALF, MAX_HALF) };
        changed += usize::from(clamped != *value);
        *value = clamped;
    }
    (changed > 0).then(|| {
        let message = format!(
            "{} NaN or beyond ±{MAX_HALF}, the range of half floats, and clamped",
            crate::counted(changed, "value is", "values are")
        );
        Diag::new(Code::HdrClamped, message).hint("lower the exposure of the image in the source")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clamps_and_counts_values_out_of_range() {
        let mut texels = [[f32::NAN, f32::INFINITY, -1e9, 1.0], [MAX_HALF, -MAX_HALF, 0.0, 1.0]];
        let diag = clamp_to_half(&mut texels).unwrap();
        assert!(diag.message.starts_with("3 values"), "{diag}");
        assert_eq!(texels, [[0.0, MAX_HALF, -MAX_HALF, 1.0], [MAX_HALF, -MAX_HALF, 0.0, 1.0]]);
        assert!(clamp_to_half(&mut texels).is_none());
    }

    #[test]
    fn rejects_other_formats() {
        for bytes in [&b"\x89PNG\r\n\x1a\n"[..], b"#", b"text", b"\x76\x2f\x31"] {
            assert_eq!(import(bytes, &Limits::default()).unwrap_err().code, Code::ImageUnknown);
        }
        assert_eq!(import(b"", &Limits::default()).unwrap_err().code, Code::FileEmpty);
        assert_eq!(probe(b"text"), None);
    }
}
