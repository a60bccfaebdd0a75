//! The settings that layers and rules can set, as one table: a row is a setting.
//!
//! From the table come the typed [`Settings`] that recipes read, the parser's keys and their spelling hints, the
//! defaults, the text in cache keys, `assetc explain`, and the test that `docs/config/assetc-yml.md` lists the
//! same. To add a knob, add a row.

use super::values::{
    BlockFormat, Bounded, Characters, Conflict, Cubic, CutOff, Defines, Field, Index, Lambda, Lods, LutDepth,
    Mips, Optimize, Pixels, Quality, Share, Supercompress, Tangents, Target, Value,
};
use kiln_config::yaml::Scalar;

/// One setting, as data.
#[derive(Debug)]
pub struct Key {
    /// The section it stands in: `texture`.
    pub section: &'static str,
    /// Its name in that section: `compress`.
    pub name: &'static str,
    doc: &'static str,
    accepts: fn() -> String,
    show: fn(&Settings) -> String,
    pub(super) read: fn(&mut Settings, &Scalar) -> bool,
    copy: fn(&Settings, &mut Settings),
}

impl Key {
    /// What it does, in one line.
    pub fn doc(&self) -> &'static str {
        self.doc.trim()
    }

    /// What it accepts, each literal in backticks.
    pub fn accepts(&self) -> String {
        (self.accepts)()
    }

    /// Its value in these settings, as `assetc.yml` would write it.
    pub fn show(&self, settings: &Settings) -> String {
        (self.show)(settings)
    }
}

macro_rules! settings {
    ($( #[doc = $section_doc:literal] $section:ident: $Section:ident {
        $( #[doc = $doc:literal] $key:ident: $Type:ty = $default:expr, )+
    } )+) => {
        $(
            #[doc = $section_doc]
            #[derive(Clone, Debug, PartialEq)]
            pub struct $Section { $( #[doc = $doc] pub $key: $Type, )+ }

            impl Default for $Section {
                fn default() -> $Section {
                    $Section { $( $key: $default, )+ }
                }
            }
        )+

        /// What holds for one asset, all layers applied.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Settings { $( #[doc = $section_doc] pub $section: $Section, )+ }

        /// The names of the sections.
        pub const SECTIONS: &[&str] = &[$( stringify!($section), )+];

        /// Every setting, in the order of the documentation.
        pub static KEYS: &[Key] = &[$( $( Key {
            section: stringify!($section),
            name: stringify!($key),
            doc: $doc,
            accepts: <$Type as Value>::accepts,
            show: |settings| settings.$section.$key.show(),
            read: |settings, scalar| match Value::read(scalar) {
                Some(value) => {
                    settings.$section.$key = value;
                    true
                }
                None => false,
            },
            copy: |from, to| to.$section.$key = from.$section.$key.clone(),
        }, )+ )+];
    };
}

settings! {
    /// Settings of meshes.
    mesh: MeshSettings {
        /// Bake the node transforms of a glTF into one mesh in world space; `false` keeps geometry source-local.
        merge: bool = true,
        /// Compile this scene of a glTF; `false` takes its default one.
        scene: Option<Index> = None,
        /// Where tangents come from; `auto` makes them anew where the source's keep vertices apart.
        tangents: Tangents = Tangents::Auto,
        /// Reduced levels of detail, each with half the triangles of the one before.
        lods: Lods = Lods::default(),
        /// How far a level may be from the surface, as part of the mesh's size.
        lod_error: Share = Share::default(),
        /// Order triangles and vertices for the GPU's caches; `false` keeps the order of the source.
        optimize: bool = true,
    }
    /// Settings of textures, wherever their pixels come from.
    texture: TextureSettings {
        /// Encode to blocks; `false` writes raw `R8G8B8A8` with lossless Zstd, pixel-exact.
        compress: bool = true,
        /// Which blocks: `uastc` for every GPU, transcoded when loaded; `bc7` for desktops alone, as it is.
        format: BlockFormat = BlockFormat::Uastc,
        /// The mip chain: all of it, the first level alone, or this many levels.
        mips: Mips = Mips::Full,
        /// Shrink the image, in proportion, until neither side is longer than this; `false` keeps every size.
        max_size: Option<Pixels> = None,
        /// How long the encoder searches for a better block.
        quality: Quality = Quality::Default,
        /// What packs the levels; `none` leaves them as the GPU reads them.
        supercompress: Supercompress = Supercompress::Zstd,
        /// Give up exactness for smaller files: the weight of size against error; `0` gives up nothing.
        rdo: Lambda = Lambda::OFF,
        /// Keep the covered area of a cut-out through the mips, at this alpha cut-off.
        alpha_coverage: Option<CutOff> = None,
        /// A picture that a model uses as colour and as data: one texture for the first use, or one for each.
        conflict: Conflict = Conflict::First,
    }
    /// Settings of animations.
    animation: AnimationSettings {
        /// Cubic splines become straight lines between their keys, or between as many keys as it takes.
        cubic: Cubic = Cubic::Degrade,
    }
    /// Settings of lookup tables.
    lut: LutSettings {
        /// The texel of the 3D texture; half floats do not band.
        depth: LutDepth = LutDepth::Unorm8,
    }
    /// Settings of pictures of all directions.
    environment: EnvironmentSettings {
        /// Texels of a face's side; `false` takes a quarter of the picture's width.
        size: Option<Pixels> = None,
        /// Make levels that rough surfaces reflect (GGX), rougher from level to level, instead of plain means.
        specular: bool = false,
        /// Also write `.irr.ktx2`, the light that falls on matt surfaces, by their normal.
        irradiance: bool = false,
    }
    /// Settings of fonts.
    font: FontSettings {
        /// Texels of one em in the atlas: larger keeps finer detail.
        size: Bounded<8, 256> = Bounded::new(48),
        /// How far from the outline distances reach, in texels: as far as outlines, glows and shadows can go.
        spread: Bounded<1, 32> = Bounded::new(6),
        /// One distance a texel, or three whose median keeps corners sharp.
        field: Field = Field::Sdf,
        /// The characters that are compiled.
        charset: Characters = Characters::default(),
    }
    /// Settings of shaders.
    shader: ShaderSettings {
        /// What modules have to run on: SPIR-V 1.0, 1.3, 1.5 or 1.6.
        target: Target = Target::Vulkan1_2,
        /// What `spirv-opt` makes of the modules, if it is wanted.
        optimize: Optimize = Optimize::None,
        /// Put the source text into the modules, and its lines where the compiler tells them.
        debug: bool = false,
        /// Macros for the sources, or values for the `override` constants of WGSL.
        defines: Option<Defines> = None,
    }
}

impl Settings {
    /// The values of these sections as text for a cache key: one `section.key=value` a line, sorted by name, so
    /// that it depends on what holds and never on which layer, preset or rule said so.
    pub fn canonical(&self, sections: &[&str]) -> String {
        debug_assert!(sections.iter().all(|s| SECTIONS.contains(s)), "no such section: {sections:?}");
        let mut lines: Vec<String> = KEYS
            .iter()
            .filter(|key| sections.contains(&key.section))
            .map(|key| format!("{}.{}={}\n", key.section, key.name, key.show(self)))
            .collect();
        lines.sort();
        lines.concat()
    }
}

/// What one layer sets: some keys, each with its value.
#[derive(Clone, Debug, Default)]
pub(super) struct Overlay {
    /// Indices into [`KEYS`], in file order.
    set: Vec<usize>,
    /// Where the values of those keys are.
    values: Settings,
}

impl Overlay {
    /// Sets a key from its text; `false` if the key does not accept it.
    pub(super) fn set(&mut self, key: usize, scalar: &Scalar) -> bool {
        let accepted = (KEYS[key].read)(&mut self.values, scalar);
        if accepted {
            self.set.push(key);
        }
        accepted
    }

    /// Lays it over `settings` and tells which keys it set.
    pub(super) fn apply(&self, settings: &mut Settings, mut on_set: impl FnMut(usize)) {
        for &key in &self.set {
            (KEYS[key].copy)(&self.values, settings);
            on_set(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_defaults_are_the_documented_ones() {
        assert_eq!(
            Settings::default().canonical(&[
                "animation",
                "environment",
                "font",
                "lut",
                "mesh",
                "shader",
                "texture"
            ]),
            "animation.cubic=degrade\n\
             environment.irradiance=false\n\
             environment.size=false\n\
             environment.specular=false\n\
             font.charset=ascii, latin1\n\
             font.field=sdf\n\
             font.size=48\n\
             font.spread=6\n\
             lut.depth=unorm8\n\
             mesh.lod_error=0.05\n\
             mesh.lods=2\n\
             mesh.merge=true\n\
             mesh.optimize=true\n\
             mesh.scene=false\n\
             mesh.tangents=auto\n\
             shader.debug=false\n\
             shader.defines=false\n\
             shader.optimize=none\n\
             shader.target=vulkan1.2\n\
             texture.alpha_coverage=false\n\
             texture.compress=true\n\
             texture.conflict=first\n\
             texture.format=uastc\n\
             texture.max_size=false\n\
             texture.mips=true\n\
             texture.quality=default\n\
             texture.rdo=0\n\
             texture.supercompress=zstd\n"
        );
    }

    #[test]
    fn canonical_text_has_the_asked_sections_only() {
        let mut settings = Settings::default();
        settings.texture.compress = false;
        assert_eq!(settings.canonical(&["lut"]), "lut.depth=unorm8\n");
        assert_eq!(settings.canonical(&[]), "");
        assert_ne!(settings.canonical(&["texture"]), Settings::default().canonical(&["texture"]));
    }

    #[test]
    fn every_default_reads_back_and_no_key_is_there_twice() {
        for (i, key) in KEYS.iter().enumerate() {
            let text = key.show(&Settings::default());
            assert!(Overlay::default().set(i, &Scalar { text, plain: true }), "{key:?}");
            assert!(!key.doc().is_empty() && !key.doc().contains('\n') && !key.accepts().is_empty());
            assert!(SECTIONS.contains(&key.section));
            assert_eq!(KEYS.iter().filter(|k| (k.section, k.name) == (key.section, key.name)).count(), 1);
        }
    }

    #[test]
    fn an_overlay_touches_what_it_sets() {
        let mips = KEYS.iter().position(|k| k.name == "mips").unwrap();
        let mut overlay = Overlay::default();
        assert!(overlay.set(mips, &Scalar { text: "3".into(), plain: true }));
        assert!(!overlay.set(mips, &Scalar { text: "many".into(), plain: true }));
        let mut settings = Settings::default();
        settings.texture.compress = false;
        let mut seen = Vec::new();
        overlay.apply(&mut settings, |key| seen.push(key));
        assert_eq!(seen, [mips]);
        assert_eq!(settings.texture.mips, Mips::Count(3));
        assert!(!settings.texture.compress);
    }
}
