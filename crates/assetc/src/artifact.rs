//! The metadata of a runtime file: what the manifest says of it, known to the recipe that makes the file.

use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{Artifact, Metadata, RelPath};
use kiln_format::hman::{Colorspace, Kind};

/// A runtime file that a recipe returns.
pub type FileArtifact = Artifact<FileMetadata>;

/// What is known of a runtime file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMetadata {
    /// What it is.
    pub kind: Kind,
    /// How its texels are to be read.
    pub colorspace: Colorspace,
    /// Whether the manifest lists it also if that lists textures only.
    pub is_listed: bool,
    /// Textures of other sources that it refers to, which the manifest lists with it.
    pub references: Vec<TextureReference>,
}

/// A texture that another source makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextureReference {
    /// The path of the runtime file.
    pub path: RelPath,
    /// How its texels are to be read.
    pub colorspace: Colorspace,
}

impl FileMetadata {
    /// A file that is what its name says.
    pub fn of(name: &RelPath) -> FileMetadata {
        FileMetadata::texture(name, Colorspace::Linear)
    }

    /// A texture with this colour space, by its own name a texture or a lookup table.
    pub fn texture(name: &RelPath, colorspace: Colorspace) -> FileMetadata {
        let kind = Kind::from_path(name.as_str());
        FileMetadata { kind, colorspace, is_listed: false, references: vec![] }
    }

    /// The same, as a texture that the manifest always lists.
    pub fn listed(self) -> FileMetadata {
        FileMetadata { kind: Kind::Texture, is_listed: true, ..self }
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
        let (kind, colorspace) = (pick(&Kind::ALL, from.u8()?)?, pick(&Colorspace::ALL, from.u8()?)?);
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
    fn survives_a_round_trip_and_no_prefix_passes_for_whole() {
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
