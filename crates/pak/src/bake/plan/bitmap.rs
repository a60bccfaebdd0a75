//! The `[bitmap]` table, and pictures wherever one can stand.

use super::super::document::{Fields, Value};
use super::{Planner, Reference, siblings};
use kiln_engine::{Code, Diag, RelPath};
use kiln_format::pak::{Color, Sample};
use kiln_import::image::IMAGE_EXTENSIONS;
use kiln_import::light::LIGHT_EXTENSIONS;

/// What a picture is used for, which decides what is not said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Colour, perhaps with opacity.
    Color,
    /// Colour without opacity.
    Emissive,
    /// Normals in tangent space.
    Normal,
    /// One number a texel.
    Value,
}

/// How many levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Levels {
    /// All, down to one texel.
    Full,
    /// At most this many.
    Count(u32),
}

/// How a picture is baked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BitmapSpec {
    pub(crate) src: Reference,
    pub(crate) used_as: Use,
    pub(crate) color: Color,
    pub(crate) levels: Levels,
    pub(crate) resize: Option<u32>,
    /// Channels by number, red to alpha; as the source has them when it is empty.
    pub(crate) swizzle: Vec<usize>,
    /// As the source has them when it is `None`.
    pub(crate) sample: Option<Sample>,
    /// Blocks for the GPU in a KTX2 file, in place of texels.
    pub(crate) uastc: bool,
}

impl BitmapSpec {
    /// A picture of which nothing is said but its use.
    pub(crate) fn plain(src: Reference, used_as: Use) -> BitmapSpec {
        // Floats are light as it is.
        let colored = matches!(used_as, Use::Color | Use::Emissive) && !is_float(&src);
        let color = if colored { Color::Srgb } else { Color::Linear };
        BitmapSpec {
            src,
            used_as,
            color,
            levels: Levels::Count(1),
            resize: None,
            swizzle: Vec::new(),
            sample: None,
            uastc: false,
        }
    }

    pub(crate) fn lines(&self) -> String {
        format!(
            "src={}\nuse={:?}\ncolor={}\nmip-levels={:?}\nresize={:?}\nswizzle={:?}\ndepth={:?}\nuastc={}\n",
            self.src,
            self.used_as,
            self.color.name(),
            self.levels,
            self.resize,
            self.swizzle,
            self.sample,
            self.uastc
        )
    }
}

/// Whether a picture has floats.
pub(crate) fn is_float(src: &Reference) -> bool {
    src.part.is_none() && LIGHT_EXTENSIONS.contains(&super::extension(&src.path).as_str())
}

/// The largest side that a picture can have.
const MAX_SIDE: u32 = 16384;

impl Planner<'_, '_> {
    /// The fields of a `[bitmap]` table, or of an inline one.
    pub(super) fn bitmap(
        &mut self,
        path: &RelPath,
        fields: Fields<'_>,
        used_as: Use,
    ) -> Result<BitmapSpec, Diag> {
        let src = match fields.get("src") {
            Some(value) => self.reference(&value)?,
            None => Reference {
                path: self.beside(&fields, siblings(path, &[IMAGE_EXTENSIONS, LIGHT_EXTENSIONS].concat()))?,
                part: None,
            },
        };
        let plain = BitmapSpec::plain(src, used_as);
        let colors = Color::ALL.map(|color| (color.name(), color));
        let color = fields.read("color", |value| value.word(&colors))?;
        let levels = fields.read("mip-levels", |value| match value.bool() {
            Ok(true) => Ok(Levels::Full),
            Ok(false) => Ok(Levels::Count(1)),
            Err(_) if value.integer().is_some() => Ok(Levels::Count(value.number(1..=u32::MAX)?)),
            Err(_) => Err(value.wanted("true, false or a whole number from 1")),
        })?;
        let resize = fields.read("resize", |value| value.number(1..=MAX_SIDE))?;
        let swizzle = fields.read("swizzle", |value| {
            let text = value.text()?;
            let channels: Option<Vec<usize>> = text.chars().map(|c| "rgba".find(c)).collect();
            let channels = channels.filter(|channels| (1..=4).contains(&channels.len()));
            channels.ok_or_else(|| value.wanted("one to four of the letters r, g, b and a"))
        })?;
        let depths = [("u8", Sample::U8), ("u16", Sample::U16), ("f32", Sample::F32)];
        let sample = fields.read("depth", |value| match value.integer() {
            Some(8) => Ok(Sample::U8),
            Some(16) => Ok(Sample::U16),
            Some(32) => Ok(Sample::F32),
            _ => value.word(&depths),
        })?;
        let compression = fields.get("compression");
        let uastc =
            compression.as_ref().map(|value| value.word(&[("uastc", true), ("none", false)])).transpose()?;
        let uastc = uastc.unwrap_or(false);
        let deep = sample.is_some_and(|sample| sample != Sample::U8) || is_float(&plain.src);
        if let (true, Some(value), true) = (uastc, &compression, deep) {
            return Err(value
                .fault(Code::PakValue, "UASTC has eight bits a channel")
                .hint("leave out depth"));
        }
        fields.finish()?;
        Ok(BitmapSpec {
            color: color.unwrap_or(plain.color),
            levels: levels.unwrap_or(plain.levels),
            resize,
            swizzle: swizzle.unwrap_or_default(),
            sample,
            uastc,
            ..plain
        })
    }

    /// A picture given as a path or an inline table. A path may lead to a description, whose colour space stands
    /// unless it says nothing of it.
    pub(super) fn picture(
        &mut self,
        path: &RelPath,
        value: &Value<'_>,
        used_as: Use,
    ) -> Result<BitmapSpec, Diag> {
        if value.is_table() {
            return self.bitmap(path, value.fields()?, used_as);
        }
        let reference = self.reference(value)?;
        if super::extension(&reference.path) != "toml" {
            return Ok(BitmapSpec::plain(reference, used_as));
        }
        self.described_bitmap(value, &reference.path, used_as)
    }

    /// The bitmap that a file describes, for a use of its own.
    fn described_bitmap(
        &mut self,
        value: &Value<'_>,
        path: &RelPath,
        used_as: Use,
    ) -> Result<BitmapSpec, Diag> {
        let text = self.text(path)?;
        let document = super::Document::parse(path.to_string(), path.parent(), &text)?;
        let file = document.fields();
        let table = file.get("bitmap").ok_or_else(|| {
            value.fault(Code::PakKind, format_args!("{path} is no [bitmap], which is wanted here"))
        })?;
        let spec = self.bitmap(path, table.fields()?, used_as)?;
        file.finish()?;
        Ok(spec)
    }
}
