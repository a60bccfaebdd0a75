//! Block formats by name, the images that each of them holds, and the choice of one by the target.

use crate::Mode;
use kiln_ir::{Image, Texels};

/// A block-compressed texture format with 4×4 texels in 8 or 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockFormat {
    /// UASTC LDR 4×4, which transcodes to the block formats of any GPU.
    #[default]
    Uastc,
    /// ASTC 4×4, which mobile GPUs support: UASTC, transcoded without loss.
    Astc4x4,
    /// BC1: colour and one bit of alpha in 8 bytes.
    Bc1,
    /// BC3: colour and alpha.
    Bc3,
    /// BC4: the red channel in 8 bytes.
    Bc4,
    /// BC5: the red and the green channel.
    Bc5,
    /// BC6H: HDR images only, see [`encode_hdr`](crate::encode_hdr).
    Bc6h,
    /// BC7, which desktop GPUs support.
    Bc7,
    /// ETC2 for colour, in 8 bytes if it is opaque, otherwise with EAC alpha; EAC RG11 for normal maps and R11 for
    /// greyscale.
    Etc2,
}

impl BlockFormat {
    /// All formats, in the order of the documentation.
    pub const ALL: [BlockFormat; 9] = [
        BlockFormat::Uastc,
        BlockFormat::Astc4x4,
        BlockFormat::Bc1,
        BlockFormat::Bc3,
        BlockFormat::Bc4,
        BlockFormat::Bc5,
        BlockFormat::Bc6h,
        BlockFormat::Bc7,
        BlockFormat::Etc2,
    ];

    /// Returns the name in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            BlockFormat::Uastc => "uastc",
            BlockFormat::Astc4x4 => "astc-4x4",
            BlockFormat::Bc1 => "bc1",
            BlockFormat::Bc3 => "bc3",
            BlockFormat::Bc4 => "bc4",
            BlockFormat::Bc5 => "bc5",
            BlockFormat::Bc6h => "bc6h",
            BlockFormat::Bc7 => "bc7",
            BlockFormat::Etc2 => "etc2",
        }
    }

    /// Returns true if the format holds an image of this mode without loss of channels.
    pub const fn holds(self, mode: Mode) -> bool {
        match self {
            BlockFormat::Uastc | BlockFormat::Astc4x4 | BlockFormat::Bc7 | BlockFormat::Etc2 => true,
            BlockFormat::Bc1 | BlockFormat::Bc3 => matches!(mode, Mode::Color | Mode::LinearColor),
            BlockFormat::Bc4 => matches!(mode, Mode::Grayscale),
            BlockFormat::Bc5 => matches!(mode, Mode::Normal),
            BlockFormat::Bc6h => false,
        }
    }

    /// Returns the images that the format holds, for diagnostics: "one channel".
    pub const fn content(self) -> &'static str {
        match self {
            BlockFormat::Uastc | BlockFormat::Astc4x4 | BlockFormat::Bc7 | BlockFormat::Etc2 => "all images",
            BlockFormat::Bc1 | BlockFormat::Bc3 => "colours with 5 and 6 bits",
            BlockFormat::Bc4 => "one channel",
            BlockFormat::Bc5 => "two channels",
            BlockFormat::Bc6h => "HDR images (.hdr, .exr)",
        }
    }

    /// Returns true if the format rounds the alpha of the image to one bit: partial alpha in BC1.
    pub fn rounds_alpha(self, image: &Image) -> bool {
        self == BlockFormat::Bc1
            && match image.texels() {
                Texels::Rgba8(v) => v.as_chunks::<4>().0.iter().any(|texel| !matches!(texel[3], 0 | u8::MAX)),
                Texels::Rgba16(v) => {
                    v.as_chunks::<4>().0.iter().any(|texel| !matches!(texel[3], 0 | u16::MAX))
                }
            }
    }
}

/// The GPUs that textures are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuTarget {
    /// All GPUs: textures are transcoded at load time.
    Universal,
    /// Desktop GPUs and consoles.
    Desktop,
    /// Mobile GPUs.
    Mobile,
}

impl GpuTarget {
    /// All targets, in the order of the documentation.
    pub const ALL: [GpuTarget; 3] = [GpuTarget::Universal, GpuTarget::Desktop, GpuTarget::Mobile];

    /// Returns the name in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            GpuTarget::Universal => "universal",
            GpuTarget::Desktop => "desktop",
            GpuTarget::Mobile => "mobile",
        }
    }
}

/// A block format, or GPUs whose format depends on the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockChoice {
    /// This format for every image.
    Format(BlockFormat),
    /// The usual format of these GPUs for the mode of an image.
    Target(GpuTarget),
}

impl BlockChoice {
    /// Returns the name in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            BlockChoice::Format(format) => format.name(),
            BlockChoice::Target(target) => target.name(),
        }
    }

    /// Returns the choice with this name.
    pub fn from_name(name: &str) -> Option<BlockChoice> {
        BlockChoice::all().find(|choice| choice.name() == name)
    }

    /// Returns all formats, then all targets.
    pub fn all() -> impl Iterator<Item = BlockChoice> {
        let formats = BlockFormat::ALL.into_iter().map(BlockChoice::Format);
        formats.chain(GpuTarget::ALL.into_iter().map(BlockChoice::Target))
    }

    /// Returns the format of images with 8 bits per channel in a mode. A chosen format need not [hold](BlockFormat::holds)
    /// them.
    pub const fn block_format(self, mode: Mode) -> BlockFormat {
        match (self, mode) {
            (BlockChoice::Format(format), _) => format,
            (BlockChoice::Target(GpuTarget::Universal), _) => BlockFormat::Uastc,
            (BlockChoice::Target(GpuTarget::Mobile), _) => BlockFormat::Astc4x4,
            (BlockChoice::Target(GpuTarget::Desktop), Mode::Normal) => BlockFormat::Bc5,
            (BlockChoice::Target(GpuTarget::Desktop), Mode::Grayscale) => BlockFormat::Bc4,
            (BlockChoice::Target(GpuTarget::Desktop), Mode::Color | Mode::LinearColor) => BlockFormat::Bc7,
        }
    }

    /// Returns true if HDR images become BC6H blocks; the other choices leave them RGBA16F.
    pub const fn is_bc6h(self) -> bool {
        matches!(self, BlockChoice::Format(BlockFormat::Bc6h) | BlockChoice::Target(GpuTarget::Desktop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [Mode; 4] = [Mode::Color, Mode::LinearColor, Mode::Normal, Mode::Grayscale];

    #[test]
    fn names_are_unique() {
        for choice in BlockChoice::all() {
            assert_eq!(BlockChoice::from_name(choice.name()), Some(choice));
        }
        assert_eq!((BlockChoice::all().count(), BlockChoice::from_name("bc2")), (12, None));
    }

    #[test]
    fn targets_choose_formats_that_hold_the_image() {
        for target in GpuTarget::ALL.map(BlockChoice::Target) {
            assert!(MODES.iter().all(|mode| target.block_format(*mode).holds(*mode)), "{target:?}");
        }
        let desktop = BlockChoice::Target(GpuTarget::Desktop);
        assert_eq!(
            MODES.map(|mode| desktop.block_format(mode).name()),
            ["bc7", "bc7", "bc5", "bc4"],
            "as documented"
        );
        let bc6h: Vec<_> =
            BlockChoice::all().filter(|choice| choice.is_bc6h()).map(BlockChoice::name).collect();
        assert_eq!(bc6h, ["bc6h", "desktop"]);
    }
}
