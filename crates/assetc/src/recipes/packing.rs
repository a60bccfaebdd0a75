//! Channel packing: compiles a texture from channels of several images and from constants, without intermediate files.

pub(crate) mod description;
mod json_schema;

use super::ktx::{self, colorspace, mode_name, texture_settings};
use crate::artifact::{FileArtifact, FileMetadata};
use crate::cache_check::is_texture;
use crate::config::{Settings, TextureKind};
use crate::recipe::suffix;
use description::{Channel, Description, ImageChannel};
pub(crate) use json_schema::{channels as channels_schema, json_schema};
use kiln_engine::{ActionContext, Code, Diag, Hash, Limits, RelPath, SharedResult, SourceFiles, WorkKey};
use kiln_import::image::{self, Header};
use kiln_ir::{Image, Texels};
use kiln_texture::{ChannelPlane, Mode, PackedChannel, pack_channels};
use std::collections::BTreeMap;

/// The version of channel packing within a version of the texture pipeline.
const VERSION: u32 = 1;

/// Returns the mode of a described texture: its own kind, or `texture.kind`, or linear.
pub(crate) fn mode_of(description: &Description, settings: &Settings) -> Mode {
    description.kind.unwrap_or(match settings.texture.kind {
        TextureKind::Color => Mode::Color,
        TextureKind::Normal => Mode::Normal,
        TextureKind::Grayscale => Mode::Grayscale,
        TextureKind::Linear | TextureKind::Auto => Mode::LinearColor,
    })
}

/// Resolves the path of an image: relative to the file that names it, or to the source tree if it starts with a slash.
pub(crate) fn resolve(file: &RelPath, text: &str, code: Code) -> Result<RelPath, Diag> {
    let found = match text.strip_prefix('/') {
        Some(rooted) => RelPath::resolve(None, rooted),
        None => RelPath::resolve(file.parent().as_ref(), text),
    };
    found.map_err(|error| {
        Diag::new(code, format!("'{text}' is not a path inside the source tree: {error}")).hint(
            "give the path of an image relative to this file, or relative to the source tree with a leading /",
        )
    })
}

/// Returns the resolved path of each channel of a description in `file` that comes from an image.
pub(crate) fn image_paths(
    file: &RelPath,
    description: &Description,
) -> impl Iterator<Item = Result<RelPath, Diag>> {
    description.channels.iter().filter_map(move |channel| match channel {
        Channel::Image(image) => Some(resolve(file, &image.path, Code::ChannelImage)),
        Channel::Constant(_) => None,
    })
}

/// Reads the images of a description in `file`.
///
/// # Errors
///
/// `channel-image` if a path is outside the source tree, and the errors of reading.
pub(crate) fn read_images(
    file: &RelPath,
    description: &Description,
    files: &mut dyn SourceFiles,
) -> Result<(), Diag> {
    image_paths(file, description).try_for_each(|path| files.read(&path?).map(drop))
}

/// A description whose paths are resolved. Equal ones give the same texture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Packing {
    channels: [ResolvedChannel; 4],
}

#[derive(Clone, Debug, PartialEq)]
enum ResolvedChannel {
    Constant(f32),
    Image { path: RelPath, channel: Option<usize>, invert: bool },
}

impl Packing {
    /// Resolves the paths of a description in `file` and reads the images, so that they are inputs of the action.
    ///
    /// # Errors
    ///
    /// `channel-image` if a path is outside the source tree or names no readable file.
    pub(crate) fn read(
        cx: &mut ActionContext<'_>,
        file: &RelPath,
        description: &Description,
    ) -> Result<(Packing, PackedImages), Diag> {
        let mut images = BTreeMap::new();
        let mut resolved = |channel: &Channel| {
            let ImageChannel { path, at, channel, invert } = match channel {
                Channel::Constant(value) => return Ok(ResolvedChannel::Constant(*value)),
                Channel::Image(image) => image,
            };
            let path = resolve(file, path, Code::ChannelImage).map_err(|diag| diag.path(file).at(at))?;
            if !images.contains_key(&path) {
                let bytes = cx.inputs.read(&path).map_err(|diag| {
                    let message = format!("cannot read the image {path}: {}", diag.message);
                    Diag::new(Code::ChannelImage, message)
                        .path(file)
                        .at(at)
                        .hint("give the path of an image in the source tree")
                })?;
                let hash = cx.inputs.hash(&path).unwrap_or_else(|| Hash::of(&bytes));
                images.insert(path.clone(), (bytes, hash));
            }
            Ok(ResolvedChannel::Image { path, channel: *channel, invert: *invert })
        };
        let [r, g, b, a] = &description.channels;
        let channels = [resolved(r)?, resolved(g)?, resolved(b)?, resolved(a)?];
        Ok((Packing { channels }, PackedImages(images)))
    }

    /// Compiles the texture. Warnings about images are added to the action. Equal packings with the same settings are
    /// encoded once (single-flight).
    ///
    /// # Errors
    ///
    /// The errors of the image importer and of the texture encoder, and `channel-size` for images with different aspect
    /// ratios.
    pub(crate) fn artifact(
        &self,
        cx: &mut ActionContext<'_>,
        images: &PackedImages,
        output: &RelPath,
        mode: Mode,
        settings: &Settings,
    ) -> Result<FileArtifact, Diag> {
        let (versions, wanted) =
            ([VERSION, ktx::VERSION].map(u32::to_le_bytes), settings.canonical_texture());
        let described = format!("{:?}", self.channels);
        let mut fields: Vec<&[u8]> = vec![
            b"channel packing",
            versions.as_flattened(),
            mode_name(mode).as_bytes(),
            wanted.as_bytes(),
            described.as_bytes(),
        ];
        fields.extend(images.0.values().map(|(_, hash)| &hash.0[..]));
        let key = WorkKey::of(fields);
        let (limits, admission) = (*cx.inputs.limits(), cx.inputs.admission());
        let wanted =
            kiln_texture::Settings { deadline: cx.inputs.deadline(), ..texture_settings(settings, mode)? };
        let metadata = FileMetadata::texture(output, colorspace(mode));
        let accept = |bytes: &[u8]| is_texture(bytes, colorspace(mode));
        let (artifact, warnings) = cx.shared_artifact(output, metadata, key, accept, || {
            let _reserved = admission.reserve(images.memory(&limits, &wanted)?);
            let mut warnings = Vec::new();
            let packed = self.pack(images, &limits, &mut warnings)?;
            let bytes = ktx::encode_image(packed, mode, settings, wanted, &limits, &mut warnings)?;
            Ok(SharedResult::new(bytes, warnings))
        })?;
        warnings.into_iter().for_each(|warning| cx.warn(warning));
        Ok(artifact)
    }

    /// Decodes the images one after the other, keeps the channels that are used, and packs them.
    fn pack(&self, images: &PackedImages, limits: &Limits, warnings: &mut Vec<Diag>) -> Result<Image, Diag> {
        let mut channels = [0.0; 4].map(PackedChannel::Constant);
        let mut sizes: Vec<(&RelPath, (u32, u32))> = Vec::new();
        for (path, (bytes, _)) in &images.0 {
            let extension = suffix(path).map_or("", |s| s.ext);
            let imported = image::import(bytes, extension, limits).map_err(|diag| diag.path(path))?;
            warnings.extend(imported.warnings.into_iter().map(|warning| warning.path(path)));
            let image = imported.value;
            sizes.push((path, (image.width(), image.height())));
            let mut is_ambiguous = false;
            for (index, (target, origin)) in channels.iter_mut().zip(&self.channels).enumerate() {
                let ResolvedChannel::Image { path: used, channel, invert } = origin else { continue };
                if used == path {
                    *target = PackedChannel::Plane(ChannelPlane::of(&image, channel.unwrap_or(0), *invert));
                    is_ambiguous |=
                        channel.is_none() && (has_colour(&image) || index == 3 && image.has_alpha());
                }
            }
            if is_ambiguous {
                let message = "the image has several channels, none is named, and red is used";
                let hint = "name the channel: { image: FILE, channel: r }";
                warnings.push(Diag::new(Code::ChannelAmbiguous, message).path(path).hint(hint));
            }
        }
        for (target, origin) in channels.iter_mut().zip(&self.channels) {
            if let ResolvedChannel::Constant(value) = origin {
                *target = PackedChannel::Constant(*value);
            }
        }
        warnings.extend(check_sizes(&sizes)?);
        pack_channels(&channels).ok_or_else(|| Diag::new(Code::ChannelValue, "the texture has no size"))
    }
}

/// The image files of a packed texture, with their hashes.
pub(crate) struct PackedImages(BTreeMap<RelPath, (Vec<u8>, Hash)>);

impl PackedImages {
    /// Estimates the peak memory of packing and encoding in bytes, from the headers of the images.
    fn memory(&self, limits: &Limits, wanted: &kiln_texture::Settings) -> Result<u64, Diag> {
        let header = |(path, (bytes, _)): (&RelPath, &(Vec<u8>, Hash))| {
            image::probe(bytes, suffix(path).map_or("", |s| s.ext))
        };
        let headers = self.0.iter().filter_map(header);
        let largest =
            headers.filter(|h| limits.check_pixels(h.width, h.height).is_ok()).reduce(|a, b| Header {
                width: a.width.max(b.width),
                height: a.height.max(b.height),
                channel_bytes: a.channel_bytes.max(b.channel_bytes),
            });
        let Some(largest) = largest else { return Ok(0) };
        let texels = u64::from(largest.width).saturating_mul(largest.height.into());
        // One decoded image and the channels that were kept before, beside the packed image.
        let decoded = texels.saturating_mul(8 * u64::from(largest.channel_bytes));
        let needed = ktx::memory_of(largest, 1, false, wanted).saturating_add(decoded);
        let what = format!("the channels of {}x{} pixels and their mip chain", largest.width, largest.height);
        limits.check_memory(needed, what).map(|()| needed)
    }
}

/// Returns whether red, green and blue of a texel differ by more than the noise of image compression.
fn has_colour(image: &Image) -> bool {
    let differs = |[r, g, b]: [u8; 3]| r.abs_diff(g).max(r.abs_diff(b)) > 16;
    match image.texels() {
        Texels::Rgba8(v) => v.as_chunks::<4>().0.iter().any(|t| differs([t[0], t[1], t[2]])),
        Texels::Rgba16(v) => {
            v.as_chunks::<4>().0.iter().any(|t| differs([t[0], t[1], t[2]].map(kiln_ir::image::narrow)))
        }
    }
}

/// Compares the sizes of the images with the largest; returns a warning for each that is smaller.
///
/// # Errors
///
/// `channel-size` if an image has another aspect ratio than the largest.
fn check_sizes(sizes: &[(&RelPath, (u32, u32))]) -> Result<Vec<Diag>, Diag> {
    let area = |(_, (width, height)): &&(&RelPath, (u32, u32))| u64::from(*width) * u64::from(*height);
    // Of several largest ones, the first by path.
    let Some((largest, (width, height))) = sizes.iter().rev().max_by_key(area) else { return Ok(vec![]) };
    let mut warnings = Vec::new();
    for (path, (w, h)) in sizes {
        if u64::from(*w) * u64::from(*height) != u64::from(*h) * u64::from(*width) {
            let message = format!(
                "the images have different aspect ratios: {path} is {w}x{h}, and {largest} is {width}x{height}"
            );
            let hint = "export the images in one size";
            return Err(Diag::new(Code::ChannelSize, message).hint(hint));
        }
        if (w, h) != (width, height) {
            let message =
                format!("the image is {w}x{h} and is resized to {width}x{height}, the size of {largest}");
            let hint = "export the images in one size";
            warnings.push(Diag::new(Code::ChannelResized, message).path(path).hint(hint));
        }
    }
    Ok(warnings)
}
