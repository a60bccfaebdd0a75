//! Pictures of light into [`LightMap`]: Radiance HDR and OpenEXR.
//!
//! The content decides the format, not the file's name. Numbers that are none become zero and those beyond the range of
//! half floats its ends, with a warning. Refused, before texels are allocated: images beyond the [`Limits`];
//! refused too: truncated and damaged files, and rare variants.

mod exr;
mod radiance;

use kiln_engine::{Code, Diag, Limits};
use kiln_ir::LightMap;

use crate::Imported;
use crate::image::corrupt;

/// The extensions of pictures of light, in lower case and without the dot.
pub const LIGHT_EXTENSIONS: &[&str] = &["hdr", "exr"];

/// The largest number that a half float holds.
const LARGEST: f32 = 65504.0;

/// Bytes of a channel.
const CHANNEL_BYTES: u32 = 4;

/// Width, height and texels.
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

/// Decodes a picture.
pub fn import(bytes: &[u8], limits: &Limits) -> Result<Imported<LightMap>, Diag> {
    if let Some(diag) = crate::absent(bytes) {
        return Err(diag);
    }
    let decoded = match Kind::of_content(bytes) {
        Some(Kind::Radiance) => radiance::import(bytes, limits),
        Some(Kind::OpenExr) => exr::import(bytes, limits),
        None => Err(Diag::new(Code::ImageUnknown, "neither a Radiance HDR nor an OpenEXR picture")
            .hint("export it as one of them; pictures without light beyond white are PNG or JPEG")),
    };
    let (width, height, mut texels) = decoded?;
    let warnings = tame(&mut texels).into_iter().collect();
    let value =
        LightMap::new(width, height, texels).ok_or_else(|| corrupt("the texels do not fill the picture"))?;
    Ok(Imported { value, warnings })
}

/// Width and height as the header states them, from the first bytes of a file.
pub fn probe(prefix: &[u8]) -> Option<(u32, u32)> {
    match Kind::of_content(prefix)? {
        Kind::Radiance => radiance::probe(prefix),
        Kind::OpenExr => exr::probe(prefix),
    }
}

/// Brings all numbers into the range of half floats, and says how many were outside.
fn tame(texels: &mut [[f32; 4]]) -> Option<Diag> {
    let mut changed = 0u64;
    for value in texels.as_flattened_mut() {
        let tamed = if value.is_nan() { 0.0 } else { value.clamp(-LARGEST, LARGEST) };
        changed += u64::from(tamed != *value);
        *value = tamed;
    }
    (changed > 0).then(|| {
        let message = format!("{changed} values are not numbers, or beyond {LARGEST}, and were clamped");
        Diag::new(Code::LightClamped, message).hint("scale the picture down in brightness where it is made")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_tamed_and_counted() {
        let mut texels = [[f32::NAN, f32::INFINITY, -1e9, 1.0], [LARGEST, -LARGEST, 0.0, 1.0]];
        let diag = tame(&mut texels).unwrap();
        assert!(diag.message.starts_with("3 values"), "{diag}");
        assert_eq!(texels, [[0.0, LARGEST, -LARGEST, 1.0], [LARGEST, -LARGEST, 0.0, 1.0]]);
        assert!(tame(&mut texels).is_none());
    }

    #[test]
    fn other_content_is_refused() {
        for bytes in [&b"\x89PNG\r\n\x1a\n"[..], b"#", b"text", b"\x76\x2f\x31"] {
            assert_eq!(import(bytes, &Limits::default()).unwrap_err().code, Code::ImageUnknown);
        }
        assert_eq!(import(b"", &Limits::default()).unwrap_err().code, Code::FileEmpty);
        assert_eq!(probe(b"text"), None);
    }
}
