//! Models to one optimised binary glTF, with `mesh.format: gltf`, for engines that load the standard.
//!
//! A glTF source is rewritten as a document, so that nodes, names, `extras` and extensions are kept; other models are
//! imported first.

use crate::artifact::FileMetadata;
use crate::config::{GltfCompress, GltfTextures, Index, Settings};
use crate::recipe::{Compiled, Recipe, RecipeInfo, suffix};
use crate::recipes::{ktx, mesh};
use crate::tools::Tools;
use kiln_engine::inputs::MemoryAdmission;
use kiln_engine::{ActionContext, Code, Diag, Limits, RelPath, SourceTree};
use kiln_gltf_export::{Exported, Options, TextureRole};
use kiln_import::{Imported, image, obj};
use kiln_ir::{ImageSource, Scene, Valid};
use kiln_texture::{BlockFormat, Mips, Mode};
use std::time::Instant;

/// The version of the glTF export without textures.
const VERSION: u32 = 1;

/// The recipe for a model that is exported as glTF.
pub(crate) struct GltfModel;

impl Recipe for GltfModel {
    /// The recipe claims no name: `mesh.format` selects it.
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            name: "gltf",
            sections: &["mesh", "texture"],
            version: VERSION * 100 + ktx::VERSION,
            output: "glb",
            reads_other_files: true,
            contains_images: true,
            ..RecipeInfo::DEFAULT
        }
    }

    fn weight(&self, source: &RelPath, _: &Settings, sources: SourceTree<'_>) -> u64 {
        mesh::weigh(source, sources)
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let source = cx.source().clone();
        let output = self
            .output(&source)
            .ok_or_else(|| Diag::new(Code::Mesh, "the file name has no stem, so the output has no name"))?;
        let (limits, deadline) = (*cx.inputs.limits(), cx.inputs.deadline());
        let mut options = Options::default();
        options.quantize = settings.mesh.gltf_quantize;
        options.compress = settings.mesh.gltf_compress == GltfCompress::Meshopt;
        options.optimize = settings.mesh.optimize;
        options.lods = if settings.mesh.gltf_lods { settings.mesh.lods.get() as usize } else { 0 };
        options.lod_error = settings.mesh.lod_error.get();
        options.scene = settings.mesh.scene.map(Index::get);
        let mut textures =
            Textures { settings, limits, deadline, admission: cx.inputs.admission(), warnings: vec![] };
        let with_textures = settings.mesh.gltf_textures == GltfTextures::Ktx2;
        let mut encode = |image: &ImageSource, role| textures.encode(image, role);
        let encoder: Option<&mut kiln_gltf_export::TextureEncoder<'_>> =
            if with_textures { Some(&mut encode) } else { None };
        let is = |extension| suffix(&source).is_some_and(|s| s.is(&[extension]));
        let scene = |imported: Imported<Valid<Scene>>, encoder| {
            let mut exported =
                kiln_gltf_export::export_scene(&imported.value, &options, encoder, limits, deadline)?;
            exported.warnings.splice(0..0, imported.warnings);
            Ok::<_, Diag>(exported)
        };
        let Exported { glb, warnings, .. } = match () {
            () if is("obj") => scene(obj::import(&mut cx.inputs, &source)?, encoder)?,
            #[cfg(feature = "fbx")]
            () if is("fbx") => scene(kiln_import::fbx::import(&mut cx.inputs, &source)?, encoder)?,
            () => kiln_gltf_export::export(&mut cx.inputs, &source, &options, encoder)?,
        };
        for warning in warnings.into_iter().chain(textures.warnings) {
            cx.warn(warning);
        }
        Ok(vec![cx.artifact(&output, FileMetadata::of(&output), &glb)?])
    }
}

/// The encoder of a model's images.
struct Textures<'a> {
    settings: &'a Settings,
    limits: Limits,
    deadline: Option<Instant>,
    admission: MemoryAdmission<'a>,
    warnings: Vec<Diag>,
}

impl Textures<'_> {
    /// Encodes an image as UASTC, unless `KHR_texture_basisu` does not permit its size.
    fn encode(&mut self, image: &ImageSource, role: TextureRole) -> Result<Option<Vec<u8>>, Diag> {
        let locate = |diag: Diag| match image.path.as_str() {
            "" => diag.at(format!("image {:?}", image.name)),
            path => diag.path(path),
        };
        let Some(header) = image::probe(&image.bytes, &image.extension) else {
            let message = "an image of an unsupported format is not converted to KTX2 and stays as it is";
            self.warnings.push(locate(Diag::new(Code::GltfTextureKept, message)));
            return Ok(None);
        };
        let limit = self.settings.texture.max_size.map_or(u32::MAX, |size| size.get());
        let is_whole = |width: u32, height: u32| width.is_multiple_of(4) && height.is_multiple_of(4);
        let kept = |width: u32, height: u32| {
            let message = format!(
                "an image of {width}x{height} pixels is not converted to KTX2, whose sides have to be multiples of 4 in a \
                 glTF, and stays as it is"
            );
            locate(Diag::new(Code::GltfTextureKept, message).hint("resize the image"))
        };
        if header.width.max(header.height) <= limit && !is_whole(header.width, header.height) {
            self.warnings.push(kept(header.width, header.height));
            return Ok(None);
        }
        let mode = match role {
            TextureRole::Color => Mode::Color,
            TextureRole::Linear => Mode::LinearColor,
            TextureRole::Normal => Mode::Normal,
        };
        let wanted = kiln_texture::Settings {
            compress: true,
            format: BlockFormat::Uastc,
            // Part of a mip chain is not permitted.
            mips: match self.settings.texture.mips {
                Mips::None | Mips::Count(1) => Mips::None,
                _ => Mips::Full,
            },
            sixteen_bit: false,
            normal_z: true,
            zstd: self.settings.texture.supercompress == crate::config::Supercompress::Zstd,
            deadline: self.deadline,
            ..ktx::memory_settings(self.settings)
        };
        let memory = |header| ktx::memory_of(header, 1, false, &wanted);
        let needed = ktx::needed(&image.bytes, &image.extension, &self.limits, memory).map_err(locate)?;
        let _reserved = self.admission.reserve(needed);
        let imported = image::import(&image.bytes, &image.extension, &self.limits).map_err(locate)?;
        self.warnings.extend(imported.warnings.into_iter().map(locate));
        let texels = ktx::rearranged(imported.value, mode, self.settings, false);
        let encoded = kiln_texture::encode_2d(texels, mode, &wanted);
        let encoded = encoded.map_err(|error| locate(ktx::failed(error, &self.limits)))?;
        if !is_whole(encoded.width, encoded.height) {
            self.warnings.push(kept(encoded.width, encoded.height));
            return Ok(None);
        }
        ktx::lay_out(&encoded).map(Some)
    }
}
