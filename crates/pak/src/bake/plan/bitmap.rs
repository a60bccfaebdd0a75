//! Parsing of the `[bitmap]` table, and of images given as a path or an inline table.

use super::super::payload::factor::Factor;
use super::super::toml_document::{Fields, Value};
use super::{Planner, Reference, siblings};
use kiln_engine::{Code, Diag, RelPath};
use kiln_format::pak::{Color, Sample};
use kiln_import::hdr::HDR_EXTENSIONS;
use kiln_import::image::IMAGE_EXTENSIONS;
use kiln_texture::{BlockChoice, BlockFormat, Mips, Mode};

/// The use of an image, which decides the defaults of its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageUse {
    /// Color with optional alpha.
    Color,
    /// Color without alpha.
    Emissive,
    /// A tangent-space normal map.
    Normal,
    /// A single-channel value.
    Value,
}

/// The number of mip levels to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MipLevels {
    /// The full mip chain, down to 1×1.
    Full,
    /// At most this many levels.
    Count(u32),
}

impl MipLevels {
    /// Returns the setting of the texture encoder.
    pub(crate) fn mips(self) -> Mips {
        match self {
            MipLevels::Full => Mips::Full,
            MipLevels::Count(count) => Mips::Count(count),
        }
    }
}

/// The settings of a bitmap.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BitmapSpec {
    pub(crate) src: Reference,
    pub(crate) used_as: ImageUse,
    pub(crate) color: Color,
    pub(crate) levels: MipLevels,
    pub(crate) resize: Option<u32>,
    /// Source channels by index, red to alpha; empty to keep those of the source.
    pub(crate) swizzle: Vec<usize>,
    /// The sample type; `None` to keep that of the source.
    pub(crate) sample: Option<Sample>,
    /// The block format of the KTX2 file that is stored instead of uncompressed texels.
    pub(crate) blocks: Option<BlockChoice>,
    /// The factor of a glTF material, multiplied into the texels.
    pub(crate) factor: Factor,
}

impl BitmapSpec {
    /// Returns the default settings for an image and its use.
    pub(crate) fn plain(src: Reference, used_as: ImageUse) -> BitmapSpec {
        // HDR images are linear.
        let colored = matches!(used_as, ImageUse::Color | ImageUse::Emissive) && !is_float(&src);
        let color = if colored { Color::Srgb } else { Color::Linear };
        BitmapSpec {
            src,
            used_as,
            color,
            levels: MipLevels::Count(1),
            resize: None,
            swizzle: Vec::new(),
            sample: None,
            blocks: None,
            factor: Factor::One,
        }
    }

    pub(crate) fn lines(&self) -> String {
        let mut lines = format!(
            "src={}\nuse={:?}\ncolor={}\nmip-levels={:?}\nresize={:?}\nswizzle={:?}\ndepth={:?}\nuastc={}\n",
            self.src,
            self.used_as,
            self.color.name(),
            self.levels,
            self.resize,
            self.swizzle,
            self.sample,
            self.blocks == Some(BlockChoice::Format(BlockFormat::Uastc))
        );
        // The first formats had lines of their own.
        match self.blocks {
            None | Some(BlockChoice::Format(BlockFormat::Uastc)) => {}
            Some(BlockChoice::Format(BlockFormat::Bc7)) => lines += "bc7\n",
            Some(choice) => lines += &format!("compression={}\n", choice.name()),
        }
        if self.factor != Factor::One {
            lines += &format!("factor={:?}\n", self.factor);
        }
        lines
    }

    /// Returns the content of the image, which selects the mip filter and the block format of a target.
    pub(crate) fn mode(&self) -> Mode {
        match (self.used_as, self.color) {
            (ImageUse::Normal, _) => Mode::Normal,
            (_, Color::Srgb) => Mode::Color,
            (_, Color::Linear) => Mode::LinearColor,
        }
    }

    /// Returns `true` if the payload is a KTX2 file with supercompression: UASTC has to be transcoded, so that a game uploads no
    /// block as it is stored.
    pub(crate) fn is_supercompressed(&self) -> bool {
        let is_uastc = |choice: BlockChoice| choice.block_format(self.mode()) == BlockFormat::Uastc;
        self.blocks.is_some_and(is_uastc) && !is_float(&self.src)
    }

    /// Returns the reason why the block format cannot hold the image, and a hint. The number of channels is known only
    /// when the image is decoded.
    fn unsuitable(&self) -> Option<(String, &'static str)> {
        let choice = self.blocks?;
        if is_float(&self.src) {
            return match (choice, self.sample) {
                (BlockChoice::Format(BlockFormat::Bc6h) | BlockChoice::Target(_), None) => None,
                (BlockChoice::Format(format), None) => Some((
                    format!("{} supports 8 bits per channel only", format.name().to_uppercase()),
                    "use bc6h or desktop for HDR images, or an 8-bit source",
                )),
                _ => Some(("an HDR image is compressed at its own depth".to_owned(), "remove depth")),
            };
        }
        if self.sample.is_some_and(|sample| sample != Sample::U8) {
            let name = match choice {
                BlockChoice::Format(format) => format.name().to_uppercase(),
                BlockChoice::Target(_) => "a block format".to_owned(),
            };
            return Some((
                format!("{name} supports 8 bits per channel only"),
                "remove depth, or use an 8-bit source",
            ));
        }
        let format = choice.block_format(self.mode());
        let (image, is_held, hint) = match (self.used_as, self.color) {
            (ImageUse::Normal, _) => ("a normal map", format.holds(Mode::Normal), "use bc5, bc7 or desktop"),
            (ImageUse::Value, _) => (
                "one channel of the parameters of a material, which are one bitmap",
                // The alpha of the parameters is transmission, and BC1 has no color where it is 0.
                format.holds(Mode::LinearColor) && format != BlockFormat::Bc1,
                "use bc7 or desktop",
            ),
            (_, Color::Srgb) => (
                "an sRGB color image",
                format.holds(Mode::Color),
                "use bc7 or desktop, or set color = 'linear' if the image is not a color",
            ),
            (_, Color::Linear) => ("not an HDR image", format != BlockFormat::Bc6h, "use bc7 or desktop"),
        };
        let (name, content) = (format.name().to_uppercase(), format.content());
        (!is_held).then(|| (format!("{name} holds {content}; this is {image}"), hint))
    }
}

/// The extensions of files that are bitmaps. Of a DDS texture the base level is read.
const EXTENSIONS: [&[&str]; 3] = [IMAGE_EXTENSIONS, HDR_EXTENSIONS, &["dds"]];

/// Returns `true` for the extension of a file that is a bitmap, in lower case.
pub(super) fn is_extension(extension: &str) -> bool {
    EXTENSIONS.iter().any(|known| known.contains(&extension))
}

/// Returns `true` if the source is an HDR image with float texels.
pub(crate) fn is_float(src: &Reference) -> bool {
    src.part.is_none() && HDR_EXTENSIONS.contains(&super::extension(&src.path).as_str())
}

/// The maximum width and height of an image, in texels.
const MAX_SIDE: u32 = 16384;

impl Planner<'_, '_> {
    /// Reads a `[bitmap]` table or an inline table.
    pub(super) fn bitmap(
        &mut self,
        path: &RelPath,
        fields: Fields<'_>,
        used_as: ImageUse,
    ) -> Result<BitmapSpec, Diag> {
        let src = match fields.get("src") {
            Some(value) => self.reference(&value)?,
            None => {
                Reference { path: self.beside(&fields, siblings(path, &EXTENSIONS.concat()))?, part: None }
            }
        };
        let plain = BitmapSpec::plain(src, used_as);
        let colors = Color::ALL.map(|color| (color.name(), color));
        let color = fields.read("color", |value| value.word(&colors))?;
        let levels = fields.read("mip-levels", |value| match value.bool() {
            Ok(true) => Ok(MipLevels::Full),
            Ok(false) => Ok(MipLevels::Count(1)),
            Err(_) if value.integer().is_some() => Ok(MipLevels::Count(value.number(1..=u32::MAX)?)),
            Err(_) => Err(value.expected("a boolean or an integer of at least 1")),
        })?;
        let resize = fields.read("resize", |value| value.number(1..=MAX_SIDE))?;
        let swizzle = fields.read("swizzle", |value| {
            let text = value.string()?;
            let channels: Option<Vec<usize>> = text.chars().map(|c| "rgba".find(c)).collect();
            let channels = channels.filter(|channels| (1..=4).contains(&channels.len()));
            channels.ok_or_else(|| value.expected("one to four of the letters r, g, b and a"))
        })?;
        let depths = [("u8", Sample::U8), ("u16", Sample::U16), ("f32", Sample::F32)];
        let sample = fields.read("depth", |value| match value.integer() {
            Some(8) => Ok(Sample::U8),
            Some(16) => Ok(Sample::U16),
            Some(32) => Ok(Sample::F32),
            _ => value.word(&depths),
        })?;
        let compression = fields.get("compression");
        let words: Vec<(&str, Option<BlockChoice>)> =
            BlockChoice::all().map(|choice| (choice.name(), Some(choice))).chain([("none", None)]).collect();
        let blocks = compression.as_ref().map(|value| value.word(&words)).transpose()?.flatten();
        fields.finish();
        let spec = BitmapSpec {
            color: color.unwrap_or(plain.color),
            levels: levels.unwrap_or(plain.levels),
            resize,
            swizzle: swizzle.unwrap_or_default(),
            sample,
            blocks,
            ..plain
        };
        match (compression, spec.unsuitable()) {
            (Some(value), Some((message, hint))) => Err(value.error(Code::PakValue, message).hint(hint)),
            _ => Ok(spec),
        }
    }

    /// Reads an image given as a path or an inline table. A path may be that of a `[bitmap]` description, whose settings
    /// take precedence over the defaults of the use.
    pub(super) fn image(
        &mut self,
        path: &RelPath,
        value: &Value<'_>,
        used_as: ImageUse,
    ) -> Result<BitmapSpec, Diag> {
        if value.is_table() {
            return self.bitmap(path, value.fields()?, used_as);
        }
        let reference = self.reference(value)?;
        if super::extension(&reference.path) != "toml" {
            return Ok(BitmapSpec::plain(reference, used_as));
        }
        self.bitmap_from_description(value, &reference.path, used_as)
    }

    /// Reads the bitmap that a file describes, with the defaults of this use.
    fn bitmap_from_description(
        &mut self,
        value: &Value<'_>,
        path: &RelPath,
        used_as: ImageUse,
    ) -> Result<BitmapSpec, Diag> {
        if self.is_accepted_missing(path) {
            return Ok(BitmapSpec::plain(Reference { path: path.clone(), part: None }, used_as));
        }
        let text = self.text(path)?;
        let document = super::Document::parse(path.to_string(), path.parent(), &text)?;
        let spec = self.bitmap_of_document(value, path, &document, used_as);
        self.report(document.take_warnings());
        spec
    }

    fn bitmap_of_document(
        &mut self,
        value: &Value<'_>,
        path: &RelPath,
        document: &super::Document<'_>,
        used_as: ImageUse,
    ) -> Result<BitmapSpec, Diag> {
        let file = document.fields();
        let table = file.get("bitmap").ok_or_else(|| {
            value.error(
                Code::PakKind,
                format_args!("expected a [bitmap] description, but {path} has no such table"),
            )
        })?;
        let spec = self.bitmap(path, table.fields()?, used_as)?;
        file.finish();
        Ok(spec)
    }
}
