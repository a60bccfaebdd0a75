//! Mip levels of KTX2 files, from a whole file or from its first bytes.
//!
//! A KTX2 file stores the smallest mip level first. So a streamer can show a texture before it has arrived: any prefix
//! of the file yields the mip levels that it has whole, and [`LoadError::NeedMoreBytes`] says how many bytes the next
//! one takes.
//!
//! ```
//! # #[cfg(feature = "zstd")]
//! # {
//! use kiln_transcode::Target;
//! use kiln_transcode::ktx2::{LoadError, Texture, load_level};
//!
//! /// Loads the largest mip level that has arrived.
//! fn sharpest(received: &[u8]) -> Result<Vec<u8>, LoadError> {
//!     let texture = Texture::read(received)?;
//!     let level = texture.available_levels().start;
//!     Ok(load_level(received, level, Target::Bc7)?.bytes)
//! }
//! assert_eq!(sharpest(&[]), Err(LoadError::NeedMoreBytes { total: 80 }));
//! # }
//! ```

use core::fmt;
use core::ops::Range;

use kiln_format::ktx2::{Channels, Ktx2View, Payload, Supercompression, Transfer, head_len};

use crate::{Channel, Error, Target, transcode};

/// The length of the header of a KTX2 file in bytes.
const HEADER_LEN: u64 = 80;

/// An error of loading a mip level.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The prefix of the file is too short. If the file is shorter as well, it is truncated.
    NeedMoreBytes {
        /// The length of a prefix that is long enough, or is known to be needed at least.
        total: u64,
    },
    /// The file is not a KTX2 file that Kiln could have written.
    File(kiln_format::Error),
    /// The texture has no such mip level.
    Level {
        /// The requested mip level.
        level: u32,
        /// The number of mip levels.
        count: u32,
    },
    /// The texture is neither UASTC nor in the format of the target.
    Format {
        /// The name of the texture's format.
        found: &'static str,
    },
    /// The Zstandard frame of the mip level is invalid, or has not the right length.
    Zstd,
    /// A buffer of the caller has the wrong length.
    BufferLength {
        /// The name of the buffer.
        buffer: &'static str,
        /// The length that it must have, in bytes.
        expected: usize,
        /// The length that it has, in bytes.
        found: usize,
    },
    /// The mip level does not fit in the memory.
    OutOfMemory,
    /// The blocks of the mip level cannot be transcoded.
    Transcode(Error),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeedMoreBytes { total } => write!(f, "the first {total} bytes of the file are needed"),
            Self::File(error) => error.fmt(f),
            Self::Level { level, count } => {
                write!(f, "mip level {level} does not exist: the texture has {count}")
            }
            Self::Format { found } => {
                write!(f, "{found} cannot be transcoded: only UASTC can, or nothing is to be done")
            }
            Self::Zstd => f.write_str("the Zstandard frame of the mip level is invalid"),
            Self::BufferLength { buffer, expected, found } => {
                write!(f, "the {buffer} buffer must have {expected} bytes, got {found}")
            }
            Self::OutOfMemory => f.write_str("the mip level does not fit in the memory"),
            Self::Transcode(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for LoadError {}

impl From<Error> for LoadError {
    fn from(error: Error) -> Self {
        Self::Transcode(error)
    }
}

/// A texture of which a prefix has been read: header, level index, descriptor and metadata are checked.
#[derive(Clone, Copy, Debug)]
pub struct Texture<'a> {
    view: Ktx2View<'a>,
    len: u64,
}

/// The sizes of one mip level in one format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelLayout {
    /// The width in texels.
    pub width: u32,
    /// The height in texels.
    pub height: u32,
    /// The images: layers times faces, each with all its blocks or rows, in that order.
    pub images: usize,
    /// The bytes of all images in the format of the target.
    pub output_len: usize,
    /// The bytes of all images before transcoding; the scratch buffer of a supercompressed mip level.
    pub stored_len: usize,
    /// The length of a prefix of the file that has this mip level.
    pub prefix_len: u64,
    /// The `VkFormat` of the output.
    pub vk_format: u32,
}

impl<'a> Texture<'a> {
    /// Reads the first bytes of a file.
    ///
    /// # Errors
    ///
    /// - [`LoadError::NeedMoreBytes`] if they end before the mip levels start,
    /// - [`LoadError::File`] if they are not the start of a KTX2 file that Kiln could have written.
    pub fn read(prefix: &'a [u8]) -> Result<Self, LoadError> {
        let len = prefix.len() as u64;
        if len < HEADER_LEN {
            return Err(LoadError::NeedMoreBytes { total: HEADER_LEN });
        }
        let total = head_len(prefix).map_err(LoadError::File)?;
        if len < total {
            return Err(LoadError::NeedMoreBytes { total });
        }
        Ok(Self { view: Ktx2View::read_prefix(prefix).map_err(LoadError::File)?, len })
    }

    /// Returns the header, the descriptor and the metadata.
    #[must_use]
    pub fn view(&self) -> &Ktx2View<'a> {
        &self.view
    }

    /// Returns the mip levels that the prefix has whole, from the largest of them to the smallest.
    #[must_use]
    pub fn available_levels(&self) -> Range<u32> {
        let count = self.view.level_count();
        let missing = (0..count).take_while(|&level| self.view.level_end(level) > Some(self.len));
        missing.count() as u32..count
    }

    /// Returns the usual target for a desktop GPU (`true`) or a mobile one without ASTC: one or two channels for
    /// grayscale and normal maps, else colours with alpha.
    #[must_use]
    pub fn usual_target(&self, desktop: bool) -> Target {
        let two = |second| {
            let channels = [Channel::Red, second];
            if desktop { Target::Bc5(channels) } else { Target::EacRg11(channels) }
        };
        match self.view.payload().channels() {
            Channels::Rrr if desktop => Target::Bc4(Channel::Red),
            Channels::Rrr => Target::EacR11(Channel::Red),
            Channels::Rrrg => two(Channel::Alpha),
            Channels::Rg => two(Channel::Green),
            Channels::Rgb if !desktop => Target::Etc1,
            _ if desktop => Target::Bc7,
            _ => Target::Etc2Rgba,
        }
    }

    /// Returns the sizes of a mip level, whether the prefix has it or not: memory is the caller's decision.
    ///
    /// # Errors
    ///
    /// - [`LoadError::Level`] if there is no such mip level,
    /// - [`LoadError::Format`] if the texture cannot be transcoded to the target,
    /// - [`LoadError::OutOfMemory`] if a size exceeds the address space.
    pub fn layout(&self, level: u32, target: Target) -> Result<LevelLayout, LoadError> {
        let count = self.view.level_count();
        let prefix_len = self.view.level_end(level).ok_or(LoadError::Level { level, count })?;
        let (payload, shape, transfer) = (self.view.payload(), self.view.shape(), self.view.transfer());
        let mut vk_format = target.vk_format(transfer == Transfer::Srgb);
        let is_uastc = matches!(payload, Payload::Uastc { .. });
        if !is_uastc {
            // A stored BC1 texture may have transparent texels, a transcoded one has none: two formats for Vulkan.
            let same = payload.vk_format(transfer) == vk_format;
            if !same && (payload, target) != (Payload::Bc1, Target::Bc1) {
                return Err(LoadError::Format { found: payload.name(transfer) });
            }
            vk_format = payload.vk_format(transfer);
        }
        let [width, height, depth] = shape.level_dims(level);
        let images = || {
            let layers = usize::try_from(shape.layer_count.max(1)).ok()?;
            let images = layers.checked_mul(usize::try_from(shape.face_count).ok()?)?;
            images.checked_mul(usize::try_from(depth).ok()?)
        };
        let lengths = || {
            let stored_len = usize::try_from(payload.level_len(&shape, level)?).ok()?;
            let images = images()?;
            Some((images, target.image_len(width, height)?.checked_mul(images)?, stored_len))
        };
        let (images, output_len, stored_len) = lengths().ok_or(LoadError::OutOfMemory)?;
        Ok(LevelLayout { width, height, images, output_len, stored_len, prefix_len, vk_format })
    }

    /// Loads a mip level into buffers of the caller: allocates nothing.
    ///
    /// `decompress` decompresses one Zstandard frame into a buffer of exactly its length and returns false if it
    /// cannot. It is called for supercompressed textures only, which need a `scratch` buffer of
    /// [`LevelLayout::stored_len`] bytes; for others it may be empty. `out` has [`LevelLayout::output_len`] bytes.
    ///
    /// # Errors
    ///
    /// - [`LoadError::NeedMoreBytes`] if the prefix does not have the mip level,
    /// - [`LoadError::Zstd`] if `decompress` failed,
    /// - [`LoadError::BufferLength`] if a buffer has the wrong length,
    /// - [`LoadError::Transcode`] if a block is not a UASTC block,
    /// - the errors of [`layout`](Self::layout).
    pub fn load_into(
        &self,
        level: u32,
        target: Target,
        decompress: impl FnOnce(&[u8], &mut [u8]) -> bool,
        scratch: &mut [u8],
        out: &mut [u8],
    ) -> Result<(), LoadError> {
        let layout = self.layout(level, target)?;
        let stored = self.view.level(level).ok_or(LoadError::NeedMoreBytes { total: layout.prefix_len })?;
        let length = |buffer, expected, found| match found == expected {
            true => Ok(()),
            false => Err(LoadError::BufferLength { buffer, expected, found }),
        };
        length("output", layout.output_len, out.len())?;
        let blocks = match self.view.supercompression() {
            Supercompression::None => stored.bytes,
            Supercompression::Zstd => {
                length("scratch", layout.stored_len, scratch.len())?;
                if !decompress(stored.bytes, scratch) {
                    return Err(LoadError::Zstd);
                }
                scratch
            }
        };
        self.convert(&layout, blocks, target, out)
    }

    fn convert(
        &self,
        layout: &LevelLayout,
        blocks: &[u8],
        target: Target,
        out: &mut [u8],
    ) -> Result<(), LoadError> {
        if !matches!(self.view.payload(), Payload::Uastc { .. }) {
            // `layout` has compared the formats.
            let (expected, found) = (out.len(), blocks.len());
            if expected != found {
                return Err(LoadError::BufferLength { buffer: "output", expected, found });
            }
            out.copy_from_slice(blocks);
            return Ok(());
        }
        let (stored, written) = (layout.stored_len / layout.images, layout.output_len / layout.images);
        let images = blocks.chunks_exact(stored.max(1)).zip(out.chunks_exact_mut(written.max(1)));
        for (image, (blocks, out)) in images.enumerate() {
            transcode(blocks, layout.width, layout.height, target, out).map_err(|error| match error {
                Error::Block { index } => Error::Block { index: index + image * (stored / 16) },
                other => other,
            })?;
        }
        Ok(())
    }
}

/// A mip level in the format of the target.
#[cfg(feature = "zstd")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Level {
    /// The sizes and the `VkFormat`.
    pub layout: LevelLayout,
    /// The images one after the other: layers, then faces.
    pub bytes: alloc::vec::Vec<u8>,
}

/// Loads a mip level of a file, or of a prefix of it; 0 is the largest. Textures that are in the format of the target
/// already are copied.
///
/// # Errors
///
/// - [`LoadError::NeedMoreBytes`] if the prefix does not have the mip level,
/// - [`LoadError::File`] if it is not the start of a KTX2 file that Kiln could have written,
/// - [`LoadError::Zstd`] if the Zstandard frame is invalid,
/// - [`LoadError::OutOfMemory`] if the mip level does not fit in the memory,
/// - [`LoadError::Transcode`] if a block is not a UASTC block,
/// - the errors of [`Texture::layout`].
#[cfg(feature = "zstd")]
pub fn load_level(prefix: &[u8], level: u32, target: Target) -> Result<Level, LoadError> {
    let texture = Texture::read(prefix)?;
    let layout = texture.layout(level, target)?;
    let blocks = texture.decompressed(level)?;
    // Only now: a header alone cannot make the loader allocate.
    let mut bytes = crate::zstd::zeroed(layout.output_len)?;
    texture.convert(&layout, &blocks, target, &mut bytes)?;
    Ok(Level { layout, bytes })
}

/// Loads a mip level in the format in which it is stored, decompressed: for formats that need no transcoding, such as
/// those of HDR textures.
///
/// # Errors
///
/// - [`LoadError::NeedMoreBytes`] if the prefix does not have the mip level,
/// - [`LoadError::File`] if it is not the start of a KTX2 file that Kiln could have written,
/// - [`LoadError::Level`] if there is no such mip level,
/// - [`LoadError::Zstd`] if the Zstandard frame is invalid,
/// - [`LoadError::OutOfMemory`] if the mip level does not fit in the memory.
#[cfg(feature = "zstd")]
pub fn load_stored_level(prefix: &[u8], level: u32) -> Result<alloc::vec::Vec<u8>, LoadError> {
    Ok(Texture::read(prefix)?.decompressed(level)?.into_owned())
}

/// Decompresses one Zstandard frame of exactly `len` bytes of content, such as a file of a compressed pack.
///
/// # Errors
///
/// - [`LoadError::Zstd`] if the frame is invalid or its content has another length,
/// - [`LoadError::OutOfMemory`] if the content does not fit in the memory.
#[cfg(feature = "zstd")]
pub fn decompress(frame: &[u8], len: usize) -> Result<alloc::vec::Vec<u8>, LoadError> {
    crate::zstd::decompress(frame, len)
}

#[cfg(feature = "zstd")]
impl<'a> Texture<'a> {
    /// Returns the bytes of a mip level without supercompression.
    fn decompressed(&self, level: u32) -> Result<alloc::borrow::Cow<'a, [u8]>, LoadError> {
        let count = self.view.level_count();
        let total = self.view.level_end(level).ok_or(LoadError::Level { level, count })?;
        let stored = self.view.level(level).ok_or(LoadError::NeedMoreBytes { total })?;
        Ok(match self.view.supercompression() {
            Supercompression::None => stored.bytes.into(),
            Supercompression::Zstd => {
                let len = usize::try_from(stored.uncompressed_len).map_err(|_| LoadError::OutOfMemory)?;
                crate::zstd::decompress(stored.bytes, len)?.into()
            }
        })
    }
}
