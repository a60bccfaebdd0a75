//! From encoded levels to a `.ktx2` in the output.

use kiln_format::ktx2::{self, Channels, Desc, Shape, Supercompression, Transfer};
use kiln_kit::{Cook, Diag, RelPath};
use kiln_texture::{Encoded, Payload};

/// The version of everything between pixels and bytes: raised when a texture comes out differently.
pub(crate) const VERSION: u32 = 1;

/// What `KTXwriter` says. Without a version of the program: that alone must not change the bytes.
const WRITER: &str = "Kiln assetc";

/// Lays a texture out and emits it.
pub(crate) fn emit(
    cx: &mut Cook<'_>,
    output: Option<RelPath>,
    encoded: Result<Encoded, kiln_texture::Error>,
) -> Result<(), Diag> {
    let encoded = encoded.map_err(|error| Diag::error("texture", error.to_string()))?;
    let output = output.ok_or_else(|| Diag::error("texture", "its name leaves no name for the output"))?;
    let levels: Vec<&[u8]> = encoded.levels.iter().map(|level| level.bytes.as_slice()).collect();
    let bytes =
        ktx2::write(&desc(&encoded), &levels).map_err(|error| Diag::error("texture", error.to_string()))?;
    cx.emit(&output, &bytes)
}

fn desc(encoded: &Encoded) -> Desc<'static> {
    Desc {
        shape: Shape {
            width: encoded.width,
            height: encoded.height,
            depth: encoded.depth,
            layer_count: encoded.layers,
            face_count: encoded.faces,
        },
        payload: match encoded.texels {
            Payload::Uastc { alpha: true } => ktx2::Payload::Uastc { channels: Channels::Rgba },
            Payload::Uastc { alpha: false } => ktx2::Payload::Uastc { channels: Channels::Rgb },
            Payload::Rgba8 => ktx2::Payload::Rgba8,
            Payload::Rgba16F => ktx2::Payload::Rgba16F,
        },
        transfer: if encoded.srgb { Transfer::Srgb } else { Transfer::Linear },
        supercompression: if encoded.zstd { Supercompression::Zstd } else { Supercompression::None },
        writer: WRITER,
        // Faces of a cubemap have their own convention, and a lookup table has no up.
        oriented: encoded.depth == 0 && encoded.faces == 1,
    }
}
