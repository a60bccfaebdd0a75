//! The table of settings that layers and rules can set.
//!
//! The table generates the typed [`Settings`] of recipes, the keys of the parser and their spelling suggestions, the
//! defaults, the text in cache keys, the output of `assetc explain`, and the test that `docs/reference/config/assetc-yml.md` lists
//! the same settings. A new setting is a new row.

use super::source_roles::SourceRoles;
use super::values::{
    AlphaCutoff, Bounded, ByteSize, ChannelMap, Characters, Conflict, Cubic, Defines, Depth, DistanceField,
    GltfCompress, GltfTextures, GpuTarget, IncludeDirs, Index, Lambda, LodCount, LutDepth, MeshCompress,
    MeshFormat, MinScale, Mips, Optimize, Pixels, Precompressed, Quality, QualitySetting, RelativeError,
    Skins, Standalone, Suffixes, Supercompress, Tangents, Target, TexelFormat, TextureKind, Value, Variants,
    Wrap,
};
use crate::size_target::SizeStep;
use kiln_config::yaml::Scalar;
use kiln_engine::Json;

/// The description of one setting.
#[derive(Debug)]
pub struct Key {
    /// The section, such as `texture`.
    pub section: &'static str,
    /// The name in the section, such as `compress`.
    pub name: &'static str,
    doc: &'static str,
    accepts: fn() -> String,
    schema: fn() -> Json,
    show: fn(&Settings) -> String,
    pub(super) takes_lists: bool,
    pub(super) read: fn(&mut Settings, &Scalar) -> bool,
    copy: fn(&Settings, &mut Settings),
}

impl Key {
    /// Returns a one-line description.
    pub fn doc(&self) -> &'static str {
        self.doc.trim()
    }

    /// Returns whether the setting decides about several sources together, and never directly about the content of one: which
    /// are compiled on their own, or the [`SizeStep`] of each, which is part of the text itself.
    pub(super) fn selects_sources(&self) -> bool {
        self.section == "texture" && ["standalone", "size_target"].contains(&self.name)
    }

    /// Returns the accepted values, each literal in backticks.
    pub fn accepts(&self) -> String {
        (self.accepts)()
    }

    /// Returns the JSON Schema of the accepted values.
    pub fn schema(&self) -> Json {
        (self.schema)()
    }

    /// Returns the value in these settings, in the syntax of `assetc.yml`.
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
            #[non_exhaustive]
            pub struct $Section { $( #[doc = $doc] pub $key: $Type, )+ }

            impl Default for $Section {
                fn default() -> $Section {
                    $Section { $( $key: $default, )+ }
                }
            }
        )+

        /// The settings of one source, with all layers applied.
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub struct Settings {
            $( #[doc = $section_doc] pub $section: $Section, )+
            /// The settings of other sources; not a setting of the file.
            pub(crate) roles: SourceRoles,
            /// The step of a size target, which is distributed over several sources; not a setting of the file.
            pub(crate) size_step: Option<SizeStep>,
        }

        /// The names of the sections, in the order of the documentation.
        pub const SECTIONS: &[&str] = &[$( stringify!($section), )+];

        /// Every setting, in the order of the documentation.
        pub static KEYS: &[Key] = &[$( $( Key {
            section: stringify!($section),
            name: stringify!($key),
            doc: $doc,
            accepts: <$Type as Value>::accepts,
            takes_lists: <$Type as Value>::TAKES_LISTS,
            schema: <$Type as Value>::schema,
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
    /// Settings of meshes and their LODs.
    mesh: MeshSettings {
        /// Bake the node transforms of a glTF into one mesh in world space; `false` keeps each mesh in its local space.
        merge: bool = true,
        /// Compile this scene of a glTF; `false` selects its default scene.
        scene: Option<Index> = None,
        /// Source of tangents; `auto` generates them where those of the source prevent vertices from being welded.
        tangents: Tangents = Tangents::Auto,
        /// Number of LODs, each with half the triangles of the one before.
        lods: LodCount = LodCount::default(),
        /// Largest geometric error of an LOD, relative to the size of the mesh.
        lod_error: RelativeError = RelativeError::default(),
        /// Optimise for the post-transform vertex cache, overdraw and vertex fetch; `false` keeps the order of the source.
        optimize: bool = true,
        /// Add cluster LODs: a hierarchy of clusters for continuous level of detail, in pages for streaming.
        clusters: bool = false,
        /// Store vertices and indices of `.hmesh` as they are, or as lossless streams of meshoptimizer's codecs, which readers decode.
        compress: MeshCompress = MeshCompress::None,
        /// Skins of a model: the first one, or all of them as one skeleton.
        skins: Skins = Skins::First,
        /// Write the scene of a model (`.hscn`: nodes, cameras, lights, animations) and its material extensions (`.hmatx`).
        scene_data: bool = false,
        /// Format of models: `.hmesh` with its companions, or one optimised glTF 2.0 (`.glb`) for engines that load the standard.
        format: MeshFormat = MeshFormat::Hmesh,
        /// Images of a glTF output: UASTC textures (`KHR_texture_basisu`), or as they are in the source.
        gltf_textures: GltfTextures = GltfTextures::Ktx2,
        /// Compression of the buffer views of a glTF output (`EXT_meshopt_compression`).
        gltf_compress: GltfCompress = GltfCompress::Meshopt,
        /// Quantise vertices (`KHR_mesh_quantization`) and rotations of a glTF output.
        gltf_quantize: bool = true,
        /// Write the LODs of `lods` to a glTF output (`MSFT_lod`).
        gltf_lods: bool = false,
    }
    /// Settings of textures, including those of models and materials.
    texture: TextureSettings {
        /// Content of an image file: `auto` takes it from the file name, `linear` is four independent channels.
        kind: TextureKind = TextureKind::Auto,
        /// Names for `kind: auto`: the markers `.n`, `.ao`, `.h`, `.r`, or also those of art tools (`_n`, `_normal`, `_orm`, `_ao`, `_rough`).
        suffixes: Suffixes = Suffixes::Standard,
        /// Rearrange the channels of an image file, one character for each of red, green, blue and alpha.
        swizzle: ChannelMap = ChannelMap::default(),
        /// Invert the green channel of normal maps, between the OpenGL (+Y) and DirectX (-Y) conventions.
        flip_green: bool = false,
        /// Address mode of the sampler, for mip filtering across the edges: `repeat` for tiling textures.
        wrap: Wrap = Wrap::Clamp,
        /// Bits per channel with `compress: false`: `auto` keeps 16-bit sources as R16, RG16 or RGBA16; colour has always 8.
        depth: Depth = Depth::Eight,
        /// Block-compress textures; `false` writes uncompressed `R8G8B8A8` with lossless Zstd, pixel-exact.
        compress: bool = true,
        /// GPUs to build for: `universal` is UASTC, `desktop` BC7, BC5, BC4 and BC6H by the kind of the image, `mobile` ASTC 4x4.
        target: GpuTarget = GpuTarget::Universal,
        /// Texel format of all kinds of images, in place of that of `target`; `raw` is uncompressed.
        format: TexelFormat = TexelFormat::Auto,
        /// Mip chain: the full chain, the base level alone, or this many mip levels.
        mips: Mips = Mips::Full,
        /// Downscale images, with their aspect ratio, until neither side is longer than this; `false` keeps the size.
        max_size: Option<Pixels> = None,
        /// Search effort of the block encoder, or a target for each texture: a PSNR, or for normal maps a mean angle.
        quality: QualitySetting = QualitySetting::Effort(Quality::Default),
        /// Smallest scale, a power of two, to which a target of `quality` may reduce the resolution of a texture.
        min_scale: MinScale = MinScale::FULL,
        /// Bytes for all textures together for which the layer or rule applies, distributed by quality per byte; `false` is no limit.
        size_target: Option<ByteSize> = None,
        /// Supercompression of the mip levels; `none` stores them as the GPU reads them.
        supercompress: Supercompress = Supercompress::Zstd,
        /// RDO lambda of UASTC, ASTC and BC7: the weight of compressed size against error; `0` disables rate-distortion optimisation.
        rdo: Lambda = Lambda::OFF,
        /// Preserve the alpha coverage of cutout textures in the mip chain, at this alpha cutoff.
        alpha_coverage: Option<AlphaCutoff> = None,
        /// A `.ktx2` or `.dds` source: pass its texels through, or decode and encode them with these settings.
        precompressed: Precompressed = Precompressed::Keep,
        /// An image that a model uses as colour and as data: one texture in the mode of the first use, or one per mode.
        conflict: Conflict = Conflict::First,
        /// Images that models, materials and texture descriptions contain: compile all on their own, too, or leave those out.
        standalone: Standalone = Standalone::All,
    }
    /// Settings of animation clips.
    animation: AnimationSettings {
        /// Cubic splines are interpolated linearly between their keys, or resampled to keys within a tolerance.
        cubic: Cubic = Cubic::Degrade,
    }
    /// Settings of colour lookup tables.
    lut: LutSettings {
        /// Texel format of the 3D texture; `float16` avoids banding.
        depth: LutDepth = LutDepth::Unorm8,
    }
    /// Settings of environment maps.
    environment: EnvironmentSettings {
        /// Side of a cubemap face in texels; `false` takes a quarter of the width of the panorama.
        size: Option<Pixels> = None,
        /// Prefilter the mip chain for specular reflections (GGX) with increasing roughness, instead of box-filtered mips.
        specular: bool = false,
        /// Also write `.irr.ktx2`, a cubemap of diffuse irradiance.
        irradiance: bool = false,
    }
    /// Settings of font atlases.
    font: FontSettings {
        /// Texels per em in the atlas; a larger size keeps finer detail.
        size: Bounded<8, 256> = Bounded::new(48),
        /// Distance range on each side of the outline, in texels; outlines, glows and shadows cannot extend further.
        spread: Bounded<1, 32> = Bounded::new(6),
        /// SDF, or MSDF, whose median of three channels keeps corners sharp.
        field: DistanceField = DistanceField::Sdf,
        /// Characters that are included in the atlas.
        charset: Characters = Characters::default(),
    }
    /// Settings of shader modules.
    shader: ShaderSettings {
        /// Target environment, with SPIR-V 1.0, 1.3, 1.5 or 1.6.
        target: Target = Target::Vulkan1_2,
        /// Optimisation of the modules with `spirv-opt`.
        optimize: Optimize = Optimize::None,
        /// Embed the source text in the modules, and line numbers where the compiler supports them.
        debug: bool = false,
        /// Preprocessor macros, or values of the `override` constants of WGSL.
        defines: Option<Defines> = None,
        /// Directories in which `#include` and `import` look for files, relative to the input directory.
        include: Option<IncludeDirs> = None,
        /// Permutations: macros with their values; every combination is compiled to a folder of its own.
        variants: Option<Variants> = None,
    }
}

/// The keys that one layer sets, with their values.
#[derive(Clone, Debug, Default)]
pub(super) struct Overlay {
    /// Indices into [`KEYS`], in file order.
    set: Vec<usize>,
    /// The values of these keys; all others are defaults.
    values: Settings,
}

impl Overlay {
    /// Sets a key from a scalar; returns `false` if the key does not accept it.
    pub(super) fn set(&mut self, key: usize, scalar: &Scalar) -> bool {
        let accepted = (KEYS[key].read)(&mut self.values, scalar);
        if accepted {
            self.set.push(key);
        }
        accepted
    }

    /// Formats the keys of these names that the layer sets.
    pub(super) fn shown(&self, names: &[&str]) -> String {
        let keys = self.set.iter().map(|key| &KEYS[*key]).filter(|key| names.contains(&key.name));
        keys.map(|key| format!("{}={} ", key.name, key.show(&self.values))).collect()
    }

    /// Applies the layer to `settings`; calls `on_set` for each key.
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
    fn defaults_parse_and_keys_are_unique() {
        for (i, key) in KEYS.iter().enumerate() {
            let text = key.show(&Settings::default());
            assert!(Overlay::default().set(i, &Scalar { text, plain: true }), "{key:?}");
            assert!(!key.doc().is_empty() && !key.doc().contains('\n') && !key.accepts().is_empty());
            assert!(SECTIONS.contains(&key.section));
            assert_eq!(KEYS.iter().filter(|k| (k.section, k.name) == (key.section, key.name)).count(), 1);
        }
    }

    #[test]
    fn overlay_changes_only_its_keys() {
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
