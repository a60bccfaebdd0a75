//! The source image of a bitmap: its own file or an image of a glTF file, decoded within the limits.

use super::super::plan::bitmap::BitmapSpec;
use super::super::plan::extension;
use super::memory;
use kiln_engine::{ActionContext, Code, Diag};
use kiln_import::gltf::{self, ImageSelection, Options};
use kiln_import::image::{self, OpaqueSamples};
use kiln_ir::Image;

/// A decoded source image, and whether its file is grayscale.
pub(crate) struct SourceImage {
    pub(crate) image: Image,
    pub(crate) is_gray: bool,
}

/// The encoded source image of a bitmap, whose result the limits admit.
pub(crate) struct EncodedImage {
    bytes: Vec<u8>,
    extension: String,
}

/// Reads the image of a bitmap from its own file or from a glTF file, if the limits admit what becomes of it.
pub(crate) fn read(cx: &mut ActionContext<'_>, spec: &BitmapSpec) -> Result<SourceImage, Diag> {
    load(cx, spec)?.decode(cx, spec)
}

/// Reads the encoded image of a bitmap.
pub(crate) fn load(cx: &mut ActionContext<'_>, spec: &BitmapSpec) -> Result<EncodedImage, Diag> {
    let src = &spec.src;
    let (bytes, extension) = match &src.part {
        None => (cx.inputs.read(&src.path)?, extension(&src.path)),
        Some(part) => {
            let options = Options::new().geometry(false).images(ImageSelection::All);
            let scene = gltf::import_with(&mut cx.inputs, &src.path, &options)?.value;
            let by_name = scene.images.iter().position(|image| image.name == *part);
            let number = by_name.or_else(|| part.parse().ok());
            let Some(image) = number.and_then(|n| scene.images.get(n)) else {
                let name = |(number, image): (usize, &kiln_ir::ImageSource)| match image.name.as_str() {
                    "" => number.to_string(),
                    name => format!("{name:?}"),
                };
                let names: Vec<String> = scene.images.iter().enumerate().map(name).collect();
                return Err(Diag::new(Code::PakMissing, format!("the file has no image {part:?}"))
                    .path(&src.path)
                    .hint(format!("the images of the file are {}", names.join(", "))));
            };
            if image.bytes.is_empty() {
                let message = format!("the image {part:?} is not used by any material");
                return Err(Diag::new(Code::PakMissing, message).path(&src.path));
            }
            (image.bytes.clone(), image.extension.clone())
        }
    };
    cx.inputs.check_deadline()?;
    memory::check(&bytes, &extension, spec, cx.inputs.limits()).map_err(|diag| diag.path(src))?;
    Ok(EncodedImage { bytes, extension })
}

impl EncodedImage {
    /// Decodes the image to RGBA.
    pub(crate) fn decode(&self, cx: &mut ActionContext<'_>, spec: &BitmapSpec) -> Result<SourceImage, Diag> {
        let named = |diag: Diag| diag.path(&spec.src);
        let imported = image::import(&self.bytes, &self.extension, cx.inputs.limits()).map_err(named)?;
        for warning in imported.warnings {
            cx.warn(named(warning));
        }
        let is_gray = image::is_greyscale(&self.bytes, &self.extension, cx.inputs.limits());
        Ok(SourceImage { image: imported.value, is_gray })
    }

    /// Decodes an image without alpha in the channels that it has; `None` if it is another one.
    pub(crate) fn decode_opaque(
        &self,
        cx: &ActionContext<'_>,
        spec: &BitmapSpec,
        headroom: usize,
    ) -> Result<Option<OpaqueSamples>, Diag> {
        image::import_opaque(&self.bytes, &self.extension, headroom, cx.inputs.limits())
            .map_err(|diag| diag.path(&spec.src))
    }
}
