//! `*.mat`: material descriptions in YAML to a `.hmat`.
//!
//! An image that is compiled as a source in the mode that its slot needs is referenced at its own path. Any other image,
//! such as a packed occlusion-roughness-metallic map, which as a source would be compiled as colour, becomes a texture
//! beside the table; so does a texture description in place of a path, whose channels come from several images. Either way
//! the manifest lists the texture.

mod json_schema;
mod schema;

use super::ktx::{self, EncodedImage, colorspace, is_mode_name, mode_name};
use super::mesh::materials::{mode_of, row, with_ending};
use super::packed_texture::PackedTexture;
use super::packing::description::{self, Description};
use super::packing::{self, Packing, resolve};
use super::texture::Texture;
use crate::artifact::{FileArtifact, FileMetadata, TextureReference};
use crate::config::ChannelMap;
use crate::config::Settings;
use crate::recipe::{Compiled, Recipe, RecipeInfo, suffix};
use crate::texture_role::mode_of as mode_of_source;
use crate::tools::Tools;
pub(crate) use json_schema::json_schema;
use kiln_engine::{ActionContext, Code, Diag, RelPath, SourceFiles, SourceTree};
use kiln_format::{hmat, refs};
use kiln_import::image::{AUTHORING_EXTENSIONS, IMAGE_EXTENSIONS};
use kiln_ir::Slot;
use kiln_texture::Mode;
use schema::Reference;

/// The recipe for a file of materials.
pub(crate) struct Material;

impl Recipe for Material {
    fn info(&self) -> RecipeInfo {
        RecipeInfo {
            name: "material",
            sections: &["texture"],
            version: ktx::VERSION,
            files: &["mat"],
            output: "hmat",
            lists_textures: true,
            depends_on_roles: true,
            reads_other_files: true,
            contains_images: true,
            ..RecipeInfo::DEFAULT
        }
    }

    fn writes(&self, source: &RelPath, output: &RelPath) -> bool {
        let Some(rest) = suffix(source).and_then(|s| output.as_str().strip_prefix(s.stem)) else {
            return false;
        };
        rest == ".hmat" || rest.strip_prefix('/').is_some_and(is_texture_name)
    }

    fn refers_to(&self, input: &RelPath, texture: &TextureReference, settings: &Settings) -> bool {
        if is_description(input) {
            // Its content decides the colour space, which the cache entry does not have.
            let is_source = settings.roles.settings(input.as_str()).is_some();
            return is_source && PackedTexture.output(input).as_ref() == Some(&texture.path);
        }
        compiled_as_source(input, settings)
            .is_some_and(|(mode, path)| path == texture.path && colorspace(mode) == texture.colorspace)
    }

    fn find_images(
        &self,
        source: &RelPath,
        settings: &Settings,
        files: &mut dyn SourceFiles,
    ) -> Result<Vec<RelPath>, Diag> {
        let mut references = Vec::new();
        for one in &schema::parse(&files.read(source)?)? {
            for slot in Slot::ALL {
                match &one.textures[slot as usize] {
                    None => {}
                    Some(Reference::Packed { description, .. }) => {
                        packing::read_images(source, description, files)?
                    }
                    Some(Reference::File { text, .. }) => {
                        let path = resolve(source, text, Code::MatTexture)?;
                        let bytes = files.read(&path)?;
                        if is_description(&path) {
                            packing::read_images(&path, &description::parse(&bytes)?, files)?;
                        }
                        let compiled = compiled_as_source(&path, settings);
                        let compiled = compiled.filter(|(mode, _)| *mode == mode_of(slot));
                        references.extend(compiled.map(|(_, output)| output));
                    }
                }
            }
        }
        Ok(references)
    }

    fn weight(&self, _: &RelPath, _: &Settings, _: SourceTree<'_>) -> u64 {
        // One image at a time, of typical size.
        64 << 20
    }

    fn run(&self, cx: &mut ActionContext<'_>, settings: &Settings, _: &Tools) -> Compiled {
        let source = cx.source();
        let output = self.output(source).ok_or_else(ktx::nameless)?;
        let described = schema::parse(&cx.inputs.read(source)?)?;
        let mut textures = Textures::default();
        let mut table = Vec::with_capacity(described.len());
        for one in &described {
            let mut used = [refs::NO_REF; 5];
            for slot in Slot::ALL {
                let Some(reference) = &one.textures[slot as usize] else { continue };
                let path = textures.add(cx, &output, mode_of(slot), reference, settings)?;
                used[slot as usize] = refs::hash_runtime_path(path.as_str());
            }
            table.push(row(&one.material, used));
        }
        let bytes = hmat::write(&table).map_err(|error| Diag::new(Code::Material, error.to_string()))?;
        let Textures { references, mut artifacts, .. } = textures;
        let metadata = FileMetadata { references, ..FileMetadata::of(&output) };
        artifacts.push(cx.artifact(&output, metadata, &bytes)?);
        Ok(artifacts)
    }
}

/// The textures of a material table.
#[derive(Default)]
struct Textures {
    /// Textures that other sources are compiled to.
    references: Vec<TextureReference>,
    /// Textures that are compiled for this table.
    artifacts: Vec<FileArtifact>,
    /// The origin of each of the artifacts.
    contents: Vec<Content>,
}

impl Textures {
    /// Returns the path of the texture of a slot in a mode; encodes the texture unless it was added before or another
    /// source is compiled to it.
    fn add(
        &mut self,
        cx: &mut ActionContext<'_>,
        output: &RelPath,
        mode: Mode,
        reference: &Reference,
        settings: &Settings,
    ) -> Result<RelPath, Diag> {
        let source = cx.source();
        let (text, at) = match reference {
            Reference::File { text, at } => (text, at),
            Reference::Packed { key, description } => {
                return self.pack(cx, output, mode, key, (source, description), settings);
            }
        };
        let path = resolve(source, text, Code::MatTexture).map_err(|diag| diag.at(at))?;
        let bytes = cx.inputs.read(&path).map_err(|diag| {
            let message = format!("cannot read the image {path}: {}", diag.message);
            Diag::new(Code::MatTexture, message)
                .path(source)
                .at(at)
                .hint("give the path of an image in the source tree")
        })?;
        let stem = suffix(&path).map_or(path.file_name(), |s| s.stem.rsplit('/').next().unwrap_or_default());
        if is_description(&path) {
            let description = description::parse(&bytes).map_err(|diag| diag.path(&path))?;
            let compiled = settings.roles.settings(path.as_str()).zip(PackedTexture.output(&path));
            let compiled = compiled.filter(|(settings, _)| packing::mode_of(&description, settings) == mode);
            return match compiled {
                Some((_, made)) => Ok(self.refer(made, mode)),
                None => self.pack(cx, output, mode, stem, (&path, &description), settings),
            };
        }
        if let Some((_, made)) = compiled_as_source(&path, settings).filter(|(compiled, _)| *compiled == mode)
        {
            return Ok(self.refer(made, mode));
        }
        let content = Content::Image(path.clone(), mode);
        if let Some(made) = self.made(&content) {
            return Ok(made);
        }
        let made = self.unused_name(output, stem, mode)?;
        let image = EncodedImage::file(cx, &path, bytes);
        let (texture, warnings) =
            ktx::image_artifact(cx, &made, image, mode, settings).map_err(|d| d.path(&path))?;
        warnings.into_iter().for_each(|warning| cx.warn(warning.path(&path)));
        Ok(self.push(content, texture))
    }

    /// Returns the path of a texture that is packed from the channels of a description in `file`.
    fn pack(
        &mut self,
        cx: &mut ActionContext<'_>,
        output: &RelPath,
        mode: Mode,
        stem: &str,
        (file, description): (&RelPath, &Description),
        settings: &Settings,
    ) -> Result<RelPath, Diag> {
        let (packing, images) = Packing::read(cx, file, description)?;
        let content = Content::Packed(packing.clone(), mode);
        if let Some(made) = self.made(&content) {
            return Ok(made);
        }
        let made = self.unused_name(output, stem, mode)?;
        let texture = packing.artifact(cx, &images, &made, mode, settings)?;
        Ok(self.push(content, texture))
    }

    /// Refers to the texture of another source.
    fn refer(&mut self, made: RelPath, mode: Mode) -> RelPath {
        let reference = TextureReference { path: made.clone(), colorspace: colorspace(mode) };
        if !self.references.contains(&reference) {
            self.references.push(reference);
        }
        made
    }

    /// Returns the path of a texture of this table with the same content.
    fn made(&self, content: &Content) -> Option<RelPath> {
        let same = self.contents.iter().position(|known| known == content)?;
        Some(self.artifacts[same].name.clone())
    }

    /// Returns a path in the folder of the table that no other texture has: `brick/orm_linear.ktx2`, and
    /// `brick/orm_2_linear.ktx2` for another image with the same name.
    fn unused_name(&self, output: &RelPath, stem: &str, mode: Mode) -> Result<RelPath, Diag> {
        let folder = output.as_str().strip_suffix(".hmat").unwrap_or(output.as_str());
        let name = |number: usize| {
            let number = if number == 1 { String::new() } else { format!("_{number}") };
            with_ending(folder, &format!("/{stem}{number}_{}.ktx2", mode_name(mode)))
        };
        let is_used = |path: &RelPath| {
            let folded = kiln_engine::folded(path);
            self.artifacts.iter().any(|artifact| kiln_engine::folded(&artifact.name) == folded)
        };
        let mut number = 1;
        loop {
            match name(number)? {
                used if is_used(&used) => number += 1,
                unused => return Ok(unused),
            }
        }
    }

    fn push(&mut self, content: Content, mut texture: FileArtifact) -> RelPath {
        texture.metadata = texture.metadata.listed();
        let made = texture.name.clone();
        self.contents.push(content);
        self.artifacts.push(texture);
        made
    }
}

/// The origin of a texture that is compiled for a table.
#[derive(PartialEq)]
enum Content {
    /// A whole image.
    Image(RelPath, Mode),
    /// Channels of several images.
    Packed(Packing, Mode),
}

/// Returns whether a file is a texture description.
fn is_description(path: &RelPath) -> bool {
    suffix(path).is_some_and(|suffix| PackedTexture.claims(true, &suffix))
}

/// Returns the mode in which an image is compiled as a source of its own, and its output. An image in an authoring format
/// may yield to another source, so it does not count.
fn compiled_as_source(image: &RelPath, settings: &Settings) -> Option<(Mode, RelPath)> {
    let suffix = suffix(image).filter(|s| s.is(IMAGE_EXTENSIONS) && !s.is(AUTHORING_EXTENSIONS))?;
    let settings = settings.roles.settings(image.as_str())?;
    // A texture with other channels than the file is not the one that the slot names.
    let is_plain = settings.texture.swizzle == ChannelMap::default();
    let mode = mode_of_source(&suffix, &settings);
    Some((mode, Texture(mode).output(image).filter(|_| is_plain)?))
}

/// Returns whether a file below the folder of a table has the name of a texture of it: `orm_linear.ktx2`.
fn is_texture_name(name: &str) -> bool {
    let parts = name.strip_suffix(".ktx2").and_then(|name| name.rsplit_once('_'));
    parts.is_some_and(|(stem, mode)| !stem.is_empty() && !stem.contains('/') && is_mode_name(mode))
}
