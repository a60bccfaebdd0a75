//! The types of settings, with their syntax in `assetc.yml` and their accepted values.
//!
//! A [`Value`] is parsed from one scalar and formatted as canonical text that parses to the same value. That text is part
//! of cache keys, so two spellings of one value (`mips: false`, `mips: 1`) have the same text.

mod numbers;
mod quality;
mod shader_matrix;

pub use self::numbers::{AlphaCutoff, Bounded, ByteSize, Index, Lambda, LodCount, Pixels, RelativeError};
pub use self::quality::{MinScale, QualitySetting};
pub(crate) use self::shader_matrix::is_variant_name;
pub use self::shader_matrix::{IncludeDirs, Variant, Variants};
pub use kiln_shader::Target;
pub use kiln_texture::{ChannelMap, GpuTarget, LutDepth, Mips, Quality, Wrap};

use std::collections::BTreeMap;

use kiln_config::yaml::Scalar;
use kiln_engine::Json;
use kiln_texture::BlockFormat;

/// The type of a setting.
pub(super) trait Value: Clone {
    /// Parses a scalar; `None` if the type does not accept it.
    fn read(scalar: &Scalar) -> Option<Self>;
    /// Formats the value as canonical text.
    fn show(&self) -> String;
    /// True if a YAML list or map is accepted as well; it is converted to the syntax of the scalar.
    const TAKES_LISTS: bool = false;
    /// Describes the accepted values for diagnostics and documentation: ``` `true`, `false` ```.
    fn accepts() -> String;
    /// Returns the JSON Schema of the accepted values; any value unless the type narrows it.
    fn schema() -> Json {
        Json::object([])
    }
}

impl Value for bool {
    fn read(scalar: &Scalar) -> Option<bool> {
        match plain(scalar)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }

    fn accepts() -> String {
        "`true`, `false`".into()
    }

    fn schema() -> Json {
        Json::object([("type", "boolean".into())])
    }
}

/// An optional value, which is `false` when it is not set.
impl<T: Value> Value for Option<T> {
    const TAKES_LISTS: bool = T::TAKES_LISTS;

    fn read(scalar: &Scalar) -> Option<Option<T>> {
        match bool::read(scalar) {
            Some(false) => Some(None),
            _ => T::read(scalar).map(Some),
        }
    }

    fn show(&self) -> String {
        self.as_ref().map_or_else(|| false.show(), T::show)
    }

    fn accepts() -> String {
        format!("`false`, {}", T::accepts())
    }

    fn schema() -> Json {
        any_of([constant(false), T::schema()])
    }
}

/// The characters of a font that the atlas includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Characters(pub kiln_font::Charset);

impl Value for Characters {
    fn read(scalar: &Scalar) -> Option<Characters> {
        kiln_font::Charset::parse(&scalar.text).map(Characters)
    }

    fn show(&self) -> String {
        self.0.show()
    }

    fn accepts() -> String {
        kiln_font::Charset::accepts()
    }

    fn schema() -> Json {
        Json::object([("type", "string".into())])
    }
}

/// Preprocessor macros: names, each with a value that may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defines(BTreeMap<String, String>);

impl Defines {
    /// Parses `NAME` and `NAME=VALUE`, separated by commas or spaces. Duplicate names are rejected.
    pub fn new(text: &str) -> Option<Defines> {
        let mut defines = BTreeMap::new();
        for part in text.split(|c: char| c == ',' || c.is_ascii_whitespace()).filter(|part| !part.is_empty())
        {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
            let named = name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit());
            let plain = value.chars().all(|c| c.is_ascii_graphic());
            if !named || !plain || defines.insert(name.to_owned(), value.to_owned()).is_some() {
                return None;
            }
        }
        (!defines.is_empty()).then_some(Defines(defines))
    }

    /// Returns names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl Value for Defines {
    fn read(scalar: &Scalar) -> Option<Defines> {
        // A YAML boolean or null is not meant as a macro name.
        if scalar.plain && matches!(scalar.text.as_str(), "true" | "false" | "null") {
            return None;
        }
        Defines::new(&scalar.text)
    }

    fn show(&self) -> String {
        let one = |(name, value): (&str, &str)| match value {
            "" => name.to_owned(),
            value => format!("{name}={value}"),
        };
        self.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    fn accepts() -> String {
        "`NAME` or `NAME=VALUE`, separated by commas".into()
    }

    fn schema() -> Json {
        Json::object([("type", "string".into())])
    }
}

impl Value for ChannelMap {
    fn read(scalar: &Scalar) -> Option<ChannelMap> {
        ChannelMap::parse(&scalar.text)
    }

    fn show(&self) -> String {
        ChannelMap::show(self)
    }

    fn accepts() -> String {
        "four characters of `r`, `g`, `b`, `a`, `0` and `1`, such as `bgra`".into()
    }
}

/// The texel format of a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TexelFormat {
    /// The format of the target.
    Auto,
    /// A block format.
    Blocks(BlockFormat),
    /// Uncompressed texels.
    Raw,
}

impl TexelFormat {
    fn all() -> impl Iterator<Item = TexelFormat> {
        let blocks = BlockFormat::ALL.into_iter().map(TexelFormat::Blocks);
        [TexelFormat::Auto].into_iter().chain(blocks).chain([TexelFormat::Raw])
    }

    const fn name(self) -> &'static str {
        match self {
            TexelFormat::Auto => "auto",
            TexelFormat::Blocks(format) => format.name(),
            TexelFormat::Raw => "raw",
        }
    }
}

impl Value for TexelFormat {
    fn read(scalar: &Scalar) -> Option<TexelFormat> {
        TexelFormat::all().find(|format| format.name() == scalar.text)
    }

    fn show(&self) -> String {
        self.name().into()
    }

    fn accepts() -> String {
        TexelFormat::all().map(|format| format!("`{}`", format.name())).collect::<Vec<_>>().join(", ")
    }

    fn schema() -> Json {
        keywords(&TexelFormat::all().map(TexelFormat::name).collect::<Vec<_>>())
    }
}

/// Implements [`Value`] for enumerations, by the keyword of each variant.
macro_rules! words {
    ($( $Name:ident { $( $Word:ident = $text:literal, )+ } )+) => { $(
        impl Value for $Name {
            fn read(scalar: &Scalar) -> Option<$Name> {
                match scalar.text.as_str() {
                    $( $text => Some($Name::$Word), )+
                    _ => None,
                }
            }

            fn show(&self) -> String {
                match self { $( $Name::$Word => $text.into(), )+ }
            }

            fn accepts() -> String {
                [$( concat!("`", $text, "`") ),+].join(", ")
            }

            fn schema() -> Json {
                keywords(&[$( $text ),+])
            }
        }
    )+ };
}

// Enumerations of other crates.
words! {
    Quality { Fast = "fast", Default = "default", High = "high", }
    Wrap { Clamp = "clamp", Repeat = "repeat", Mirror = "mirror", }
    LutDepth { Unorm8 = "unorm8", Float16 = "float16", }
    GpuTarget { Universal = "universal", Desktop = "desktop", Mobile = "mobile", }
    Target {
        Vulkan1_0 = "vulkan1.0",
        Vulkan1_1 = "vulkan1.1",
        Vulkan1_2 = "vulkan1.2",
        Vulkan1_3 = "vulkan1.3",
    }
}

/// Defines enumerations of this crate, and implements [`Value`] for them.
macro_rules! own_words {
    ($( #[doc = $doc:literal] $Name:ident { $( #[doc = $word_doc:literal] $Word:ident = $text:literal, )+ } )+) => {
        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $Name { $( #[doc = $word_doc] $Word, )+ }
        )+
        words! { $( $Name { $( $Word = $text, )+ } )+ }
    };
}

own_words! {
    /// The supercompression of the mip levels of a texture.
    Supercompress {
        /// Zstandard, as KTX2 defines it.
        Zstd = "zstd",
        /// No supercompression: levels are stored as the GPU reads them.
        None = "none",
    }
    /// The content of an image, which selects its texture mode.
    TextureKind {
        /// By the end of the file name.
        Auto = "auto",
        /// sRGB colour with straight alpha.
        Color = "color",
        /// Four independent linear channels.
        Linear = "linear",
        /// A tangent-space normal map.
        Normal = "normal",
        /// One linear channel.
        Grayscale = "grayscale",
    }
    /// The names that select a texture mode.
    Suffixes {
        /// The markers before the extension: `.n`, `.ao`, `.h`, `.r`.
        Standard = "standard",
        /// Also the names that art tools write: `_n`, `_normal`, `_orm`, `_ao`, `_rough`.
        Extended = "extended",
    }
    /// The bits per channel of uncompressed textures.
    Depth {
        /// Eight bits.
        Eight = "8",
        /// Sixteen bits.
        Sixteen = "16",
        /// Sixteen bits for sources that have them, eight bits for all others.
        Auto = "auto",
    }
    /// The handling of a source that is a texture in the format of the GPU.
    Precompressed {
        /// The texels are validated and passed through.
        Keep = "keep",
        /// The base level is decoded, and encoded with the settings of textures.
        Reencode = "reencode",
    }
    /// The images that are compiled as sources of their own.
    Standalone {
        /// All images.
        All = "all",
        /// Images that no model, material or texture description contains.
        Unreferenced = "unreferenced",
    }
    /// The format of compiled models.
    MeshFormat {
        /// `.hmesh`, with `.hmat`, textures and `.hanim` beside it.
        Hmesh = "hmesh",
        /// Binary glTF 2.0.
        Gltf = "gltf",
    }
    /// The skins of a model that are written.
    Skins {
        /// The first skin; meshes of others stay in their bind pose.
        First = "first",
        /// All skins, as one skeleton.
        All = "all",
    }
    /// The images of a glTF output.
    GltfTextures {
        /// KTX2 with UASTC texels.
        Ktx2 = "ktx2",
        /// The images of the source.
        Keep = "keep",
    }
    /// The compression of a glTF output.
    GltfCompress {
        /// `EXT_meshopt_compression`.
        Meshopt = "meshopt",
        /// No compression.
        None = "none",
    }
    /// The compression of the chunks of a `.hmesh`.
    MeshCompress {
        /// Chunks are stored as the GPU reads them.
        None = "none",
        /// Vertices and indices are streams of meshoptimizer's codecs.
        Meshopt = "meshopt",
    }
    /// The source of the tangents of a mesh.
    Tangents {
        /// Tangents of the source; missing ones are generated.
        Keep = "keep",
        /// Tangents generated from the UVs.
        Generate = "generate",
        /// Tangents of the source, unless they are unusable or prevent too many vertices from being welded.
        Auto = "auto",
    }
    /// The handling of an image that is used as colour and as data.
    Conflict {
        /// One texture in the mode of the first use, with a warning.
        First = "first",
        /// One texture per mode.
        Split = "split",
    }
    /// The conversion of cubic splines in animations.
    Cubic {
        /// Linear interpolation between the keys of the spline, with a warning.
        Degrade = "degrade",
        /// Additional keys, so that linear interpolation is within a tolerance.
        Resample = "resample",
    }
    /// The optimisation of shader modules.
    Optimize {
        /// No optimisation: the module as the compiler wrote it.
        None = "none",
        /// Optimisation for size (`spirv-opt -Os`).
        Size = "size",
        /// Optimisation for speed (`spirv-opt -O`).
        Speed = "speed",
    }
    /// The type of the distance field of a font atlas.
    DistanceField {
        /// A signed distance field with one channel.
        Sdf = "sdf",
        /// A multi-channel signed distance field, which keeps corners sharp.
        Msdf = "msdf",
    }
}

/// Returns the schema of values that one of several schemas accepts.
fn any_of<const N: usize>(schemas: [Json; N]) -> Json {
    Json::object([("anyOf", Json::List(schemas.to_vec()))])
}

/// Returns the schema of keywords. A keyword such as `8` is a number in YAML, unless it is quoted.
fn keywords(words: &[&str]) -> Json {
    let values = words.iter().flat_map(|word| {
        let number = word.parse().ok().map(Json::Number);
        number.into_iter().chain([Json::from(*word)])
    });
    Json::object([("enum", Json::List(values.collect()))])
}

/// Returns the schema of one value.
fn constant(value: bool) -> Json {
    Json::object([("const", value.into())])
}

/// Returns the schema of integers in a range.
fn integers(low: u32, high: u32) -> Json {
    Json::object([("type", "integer".into()), ("minimum", low.into()), ("maximum", high.into())])
}

fn plain(scalar: &Scalar) -> Option<&str> {
    scalar.plain.then_some(scalar.text.as_str())
}

fn whole(scalar: &Scalar) -> Option<u32> {
    plain(scalar).filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
}

fn number(scalar: &Scalar) -> Option<f32> {
    plain(scalar)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(text: &str) -> Scalar {
        Scalar { text: text.into(), plain: true }
    }

    /// Asserts that each text parses, is formatted as the second, and that this parses to the same value.
    fn check<T: Value>(pairs: &[(&str, &str)], refused: &[&str]) {
        for (text, shown) in pairs {
            let value = T::read(&scalar(text)).unwrap_or_else(|| panic!("{text:?} is refused"));
            assert_eq!(value.show(), *shown);
            assert_eq!(T::read(&scalar(shown)).unwrap().show(), *shown);
        }
        for text in refused {
            assert!(T::read(&scalar(text)).is_none(), "{text:?} is accepted");
        }
    }

    #[test]
    fn parses_and_formats_every_type() {
        check::<bool>(&[("true", "true"), ("false", "false")], &["yes", "True", "1", ""]);
        check::<Mips>(
            &[("true", "true"), ("false", "false"), ("1", "false"), ("12", "12"), ("032", "32")],
            &["0", "33", "-1", "+3", "1.5", "full", "99999999999999999999"],
        );
        check::<Option<Pixels>>(
            &[("false", "false"), ("1", "1"), ("65536", "65536")],
            &["true", "0", "65537", "1k", "1_024", ""],
        );
        check::<Lambda>(
            &[("0", "0"), ("-0", "0"), ("0.5", "0.5"), ("1e-1", "0.1"), ("2", "2")],
            &["-0.1", "nan", "inf", ".inf", "1e99", "false", ""],
        );
        check::<Option<AlphaCutoff>>(
            &[("false", "false"), ("0", "0"), ("0.5", "0.5"), ("1", "1")],
            &["true", "1.01", "-0.5", "NaN"],
        );
        check::<LodCount>(&[("false", "0"), ("0", "0"), ("2", "2"), ("8", "8")], &["true", "9", "-1", "1.5"]);
        check::<Option<Index>>(
            &[("false", "false"), ("0", "0"), ("12", "12")],
            &["true", "-1", "1.5", "first"],
        );
        check::<RelativeError>(&[("0.05", "0.05"), ("1", "1")], &["0", "-1", "1.5", "nan", "false"]);
        check::<Tangents>(&[("keep", "keep"), ("generate", "generate"), ("auto", "auto")], &["true"]);
        check::<Conflict>(&[("first", "first"), ("split", "split")], &["false"]);
        check::<Cubic>(&[("degrade", "degrade"), ("resample", "resample")], &["linear"]);
        check::<QualitySetting>(
            &[
                ("fast", "fast"),
                ("default", "default"),
                ("high", "high"),
                ("psnr=42", "psnr=42"),
                ("psnr=42.50", "psnr=42.5"),
                ("angle=1.5", "angle=1.5"),
            ],
            &[
                "Fast", "", "psnr", "psnr=", "psnr=0", "psnr=nan", "psnr=999", "angle=-1", "angle=91",
                "size=3",
            ],
        );
        check::<TexelFormat>(&[("auto", "auto"), ("astc-4x4", "astc-4x4"), ("raw", "raw")], &["bc2", "BC7"]);
        check::<GpuTarget>(&[("universal", "universal"), ("desktop", "desktop")], &["pc", "false"]);
        check::<ChannelMap>(
            &[("rgba", "rgba"), ("rrr1", "rrr1"), ("0011", "0011")],
            &["rgb", "RGBA", "true", ""],
        );
        check::<Depth>(&[("8", "8"), ("16", "16"), ("auto", "auto")], &["32", "true"]);
        check::<Supercompress>(&[("zstd", "zstd"), ("none", "none")], &["lz4", "false"]);
        check::<Target>(&[("vulkan1.2", "vulkan1.2")], &["1.2", "vulkan", "Vulkan1.2"]);
        check::<Optimize>(&[("none", "none"), ("size", "size"), ("speed", "speed")], &["true", "O3"]);
        check::<Option<Defines>>(
            &[
                ("false", "false"),
                ("FOG", "FOG"),
                ("FOG=", "FOG"),
                ("b=2, A", "A, b=2"),
                ("X=a==b Y=(1+2)", "X=a==b, Y=(1+2)"),
            ],
            &["true", "", " , ", "2X", "a-b", "=1", "A, A=2", "X=ü"],
        );
        check::<Bounded<8, 256>>(&[("8", "8"), ("256", "256")], &["7", "257", "-8", "9.5", "false"]);
        check::<DistanceField>(&[("sdf", "sdf"), ("msdf", "msdf")], &["MSDF", "true"]);
        check::<Characters>(
            &[("ascii", "ascii"), ("U+41,latin1", "U+0041, latin1")],
            &["true", "", "ASCII", "U+110000", "U+0042-0041"],
        );
        check::<LutDepth>(&[("unorm8", "unorm8"), ("float16", "float16")], &["16"]);
    }

    #[test]
    fn quoted_scalar_is_a_string_and_not_a_number() {
        let quoted = |text: &str| Scalar { text: text.into(), plain: false };
        assert_eq!(Quality::read(&quoted("high")), Some(Quality::High));
        assert_eq!(bool::read(&quoted("true")), None);
        assert_eq!(Pixels::read(&quoted("64")), None);
        assert_eq!(Lambda::read(&quoted("1")), None);
    }
}
