//! The texture mode of an image file: `texture.kind`, or else the end of its name.

use crate::config::{Settings, Suffixes, TextureKind};
use crate::recipe::{Suffix, suffix};
use kiln_engine::{Code, Diag, RelPath};
use kiln_ir::{Image, Texels};
use kiln_texture::Mode;

/// Names of normal maps at the end of a file name, as art tools write them.
const NORMAL: &[&str] =
    &["n", "nm", "nrm", "nor", "norm", "normal", "normals", "normalmap", "normalgl", "normaldx", "ddn"];
/// Names of maps with one channel.
const GRAYSCALE: &[&str] = &[
    "ao",
    "occlusion",
    "ambientocclusion",
    "rough",
    "roughness",
    "metal",
    "metallic",
    "metalness",
    "height",
    "heightmap",
    "disp",
    "displacement",
    "bump",
    "gloss",
    "glossiness",
    "smoothness",
    "cavity",
    "opacity",
];
/// Names of maps with several packed channels.
const PACKED: &[&str] = &[
    "orm",
    "arm",
    "rma",
    "mra",
    "rmo",
    "mro",
    "orma",
    "mrao",
    "ormh",
    "metallicroughness",
    "occlusionroughnessmetallic",
    "maskmap",
    "packed",
];

/// Returns the mode in which an image file, or a folder of images, is compiled with these settings.
pub(crate) fn mode_of(suffix: &Suffix<'_>, settings: &Settings) -> Mode {
    match settings.texture.kind {
        TextureKind::Color => Mode::Color,
        TextureKind::Linear => Mode::LinearColor,
        TextureKind::Normal => Mode::Normal,
        TextureKind::Grayscale => Mode::Grayscale,
        TextureKind::Auto => match settings.texture.suffixes {
            Suffixes::Standard => suffix.mode,
            Suffixes::Extended => extended_mode(suffix).unwrap_or(suffix.mode),
        },
    }
}

/// Returns the mode that the names of art tools stand for; `None` if the name has no such ending.
fn extended_mode(suffix: &Suffix<'_>) -> Option<Mode> {
    let name = suffix.stem.rsplit('/').next().unwrap_or_default();
    let (_, word) = name.rsplit_once(['_', '-', '.', ' '])?;
    let word = word.to_ascii_lowercase();
    let is = |words: &[&str]| words.contains(&word.as_str());
    match () {
        () if is(NORMAL) => Some(Mode::Normal),
        () if is(GRAYSCALE) => Some(Mode::Grayscale),
        () if is(PACKED) => Some(Mode::LinearColor),
        () => None,
    }
}

/// Returns the warning about a file that is compiled as sRGB colour because of its name, although the name is that of a
/// normal map or of another data map in art tools.
pub(crate) fn check_name(source: &RelPath, mode: Mode, settings: &Settings) -> Option<Diag> {
    if mode != Mode::Color || settings.texture.kind != TextureKind::Auto {
        return None;
    }
    let (what, kind) = match extended_mode(&suffix(source)?)? {
        Mode::Normal => ("a normal map", "normal"),
        Mode::LinearColor => ("a map of packed channels", "linear"),
        Mode::Grayscale => ("a map of one channel", "grayscale"),
        Mode::Color => return None,
    };
    Some(warning(format!("the name is that of {what}, and the image is compiled as sRGB colour"), kind))
}

/// Returns the warning about an image that is compiled as sRGB colour and whose texels are unit vectors around +Z.
pub(crate) fn check_texels(image: &Image) -> Option<Diag> {
    let mut check = TexelCheck::new(image.width() as usize * image.height() as usize);
    match image.texels() {
        Texels::Rgba8(texels) => check.add(texels, |value| f32::from(value) / 127.5 - 1.0),
        Texels::Rgba16(texels) => check.add(texels, |value| f32::from(value) / 32767.5 - 1.0),
    }
    check.finish()
}

/// The check of [`check_texels`] for an image whose rows arrive one after the other.
pub(crate) struct TexelCheck {
    /// The distance between two samples, in texels.
    step: usize,
    /// The number of texels before the next sample.
    skip: usize,
    samples: Vec<[f32; 4]>,
}

impl TexelCheck {
    /// The number of texels that are looked at.
    const SAMPLES: usize = 4096;

    /// Starts the check of an image with this number of texels.
    pub(crate) fn new(texels: usize) -> TexelCheck {
        TexelCheck { step: texels.div_ceil(TexelCheck::SAMPLES).max(1), skip: 0, samples: Vec::new() }
    }

    /// Adds the next texels, of four values each; `unit` maps the range of a value to that from -1 to 1.
    pub(crate) fn add<T: Copy>(&mut self, values: &[T], unit: impl Fn(T) -> f32) {
        let texels = values.as_chunks::<4>().0;
        let taken = self.samples.len();
        let samples = texels.get(self.skip..).unwrap_or_default().iter().step_by(self.step);
        self.samples.extend(samples.map(|texel| texel.map(&unit)));
        self.skip += (self.samples.len() - taken) * self.step;
        self.skip -= texels.len();
    }

    /// Returns the warning if the texels are those of a normal map.
    pub(crate) fn finish(self) -> Option<Diag> {
        let values = self.samples;
        let is_normal =
            |[x, y, z, _]: &[f32; 4]| *z > 0.0 && ((x * x + y * y + z * z).sqrt() - 1.0).abs() < 0.1;
        let normals = values.iter().filter(|texel| is_normal(texel)).count();
        // A constant image is a placeholder as likely as it is a flat normal map.
        let varies = values.iter().any(|texel| texel != &values[0]);
        // Normals point away from the surface in all directions; grey texels are unit vectors by chance.
        let mean = |c: usize| values.iter().map(|texel| texel[c]).sum::<f32>() / values.len() as f32;
        // The components of such a grey are 0.58.
        let is_centred = mean(0).abs() < 0.4 && mean(1).abs() < 0.4;
        let flagged = varies && is_centred && values.len() >= 16 && normals * 100 >= values.len() * 98;
        flagged.then(|| {
            let message = "the texels are those of a normal map, and the image is compiled as sRGB colour";
            warning(message.to_owned(), "normal")
        })
    }
}

fn warning(message: String, kind: &str) -> Diag {
    Diag::new(Code::TextureRole, message).hint(format!(
        "set texture.suffixes to extended or texture.kind to {kind} in a rule, or texture.kind to color if the image is one"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(name: &str, edit: impl Fn(&mut Settings)) -> Mode {
        let mut settings = Settings::default();
        edit(&mut settings);
        let path = RelPath::new(name).unwrap();
        mode_of(&suffix(&path).unwrap(), &settings)
    }

    #[test]
    fn kind_overrides_the_name() {
        for (kind, mode) in [
            (TextureKind::Color, Mode::Color),
            (TextureKind::Linear, Mode::LinearColor),
            (TextureKind::Normal, Mode::Normal),
            (TextureKind::Grayscale, Mode::Grayscale),
        ] {
            assert_eq!(modes("a.n.png", |s| s.texture.kind = kind), mode);
        }
        assert_eq!(modes("a.n.png", |_| {}), Mode::Normal);
    }

    #[test]
    fn extended_suffixes_are_those_of_art_tools() {
        for (name, standard, extended) in [
            ("wall_n.png", Mode::Color, Mode::Normal),
            ("wall-Normal.png", Mode::Color, Mode::Normal),
            ("a/wall_ORM.tif", Mode::Color, Mode::LinearColor),
            ("wall_ao.png", Mode::Color, Mode::Grayscale),
            ("wall_rough.png", Mode::Color, Mode::Grayscale),
            ("wall.n.png", Mode::Normal, Mode::Normal),
            ("wall.h.png", Mode::Grayscale, Mode::Grayscale),
            ("normal.png", Mode::Color, Mode::Color),
            ("walln.png", Mode::Color, Mode::Color),
            ("a_n/wall.png", Mode::Color, Mode::Color),
            ("wall_diffuse.png", Mode::Color, Mode::Color),
        ] {
            assert_eq!(modes(name, |_| {}), standard, "{name}");
            assert_eq!(modes(name, |s| s.texture.suffixes = Suffixes::Extended), extended, "{name}");
        }
    }

    #[test]
    fn normal_maps_are_recognised_by_their_texels() {
        let image = |texel: fn(usize) -> [u8; 4]| {
            Image::new(8, 8, Texels::Rgba8((0..64).flat_map(texel).collect())).unwrap()
        };
        assert!(
            check_texels(&image(|i| if i % 2 == 0 { [128, 128, 255, 255] } else { [180, 128, 244, 255] }))
                .is_some()
        );
        for (texels, batch) in [(1, 1), (10_000, 1), (10_000, 777), (100_000, 13), (100_000, 40_000)] {
            let values: Vec<u8> = (0..texels * 4).map(|i| (i / 4 % 251) as u8).collect();
            let samples = |batch: usize| {
                let mut check = TexelCheck::new(texels);
                values.chunks(batch * 4).for_each(|part| check.add(part, f32::from));
                check.samples
            };
            let step = texels.div_ceil(TexelCheck::SAMPLES);
            let expected: Vec<f32> = (0..texels).step_by(step).map(|i| (i % 251) as f32).collect();
            assert_eq!(samples(texels).iter().map(|texel| texel[0]).collect::<Vec<_>>(), expected);
            assert_eq!(samples(batch), samples(texels), "{texels} {batch}");
        }
        assert!(check_texels(&image(|_| [128, 128, 255, 255])).is_none(), "constant");
        assert!(check_texels(&image(|i| [i as u8 * 4, 90, 20, 255])).is_none());
        assert!(check_texels(&image(|i| [200, 200, 200 + (i % 3) as u8, 255])).is_none());
    }
}
