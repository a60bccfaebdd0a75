//! The metadata of a runtime file, from which the link step makes its manifest entry.

use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{Artifact, Metadata, RelPath};
use kiln_format::hman::{Colorspace, ManifestKind};

/// A runtime file that a recipe returns.
pub(crate) type FileArtifact = Artifact<FileMetadata>;

/// The metadata of a runtime file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMetadata {
    /// The kind in the manifest.
    pub kind: ManifestKind,
    /// The colour space of the texels; linear for files without texels.
    pub colorspace: Colorspace,
    /// True if a manifest of textures lists the file, too, and not only a manifest of all files.
    pub is_listed: bool,
    /// The textures of other sources that the file refers to, which the manifest lists with it.
    pub references: Vec<TextureReference>,
}

/// A texture that another source is compiled to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextureReference {
    /// The path of the runtime file.
    pub path: RelPath,
    /// The colour space of its texels.
    pub colorspace: Colorspace,
}

impl FileMetadata {
    /// Returns the metadata of a file whose kind follows from its name.
    pub fn of(name: &RelPath) -> FileMetadata {
        FileMetadata::texture(name, Colorspace::Linear)
    }

    /// Returns the metadata of a texture or, by its name, a lookup table with this colour space.
    pub fn texture(name: &RelPath, colorspace: Colorspace) -> FileMetadata {
        let kind = ManifestKind::from_path(name.as_str());
        FileMetadata { kind, colorspace, is_listed: false, references: vec![] }
    }

    /// Marks the file as a texture that every manifest lists.
    pub fn listed(self) -> FileMetadata {
        FileMetadata { kind: ManifestKind::Texture, is_listed: true, ..self }
    }
}

impl Metadata for FileMetadata {
    fn write(&self, to: &mut Writer) {
        to.u8(self.kind as u8);
        to.u8(self.colorspace as u8);
        to.u8(self.is_listed.into());
        to.count(self.references.len());
        for TextureReference { path, colorspace } in &self.references {
            to.text(path.as_str());
            to.u8(*colorspace as u8);
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<FileMetadata> {
        fn pick<T: Copy>(all: &[T], index: u8) -> Option<T> {
            all.get(usize::from(index)).copied()
        }
        let (kind, colorspace) = (pick(&ManifestKind::ALL, from.u8()?)?, pick(&Colorspace::ALL, from.u8()?)?);
        let is_listed = pick(&[false, true], from.u8()?)?;
        let count = from.count()?;
        let reference = |_| {
            let path = RelPath::new(from.text()?).ok()?;
            Some(TextureReference { path, colorspace: pick(&Colorspace::ALL, from.u8()?)? })
        };
        let references = (0..count).map(reference).collect::<Option<Vec<_>>>()?;
        Some(FileMetadata { kind, colorspace, is_listed, references })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_rejects_every_prefix() {
        let path = |path: &str| RelPath::new(path).unwrap();
        let reference = TextureReference { path: path("wall.ktx2"), colorspace: Colorspace::Srgb };
        let metadata = FileMetadata { references: vec![reference], ..FileMetadata::of(&path("brick.hmat")) };
        for metadata in [metadata, FileMetadata::texture(&path("a.lut.ktx2"), Colorspace::Srgb).listed()] {
            let bytes = metadata.encode();
            assert_eq!(FileMetadata::decode(&bytes), Some(metadata));
            (0..bytes.len()).for_each(|end| assert_eq!(FileMetadata::decode(&bytes[..end]), None));
        }
    }
}
