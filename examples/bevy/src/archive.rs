//! Archives as asset sources: the files of a `.hpack`, and the assets of a pak by key and kind.

use bevy_asset::io::{AssetReader, AssetReaderError, AssetSourceBuilder, PathStream, Reader, VecReader};
use kiln_format::hpack::HpackView;
use pak::{Kind, PakBuf};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An archive whose entries are read by path.
pub trait Archive: Send + Sync + 'static {
    /// Returns the bytes of an entry; `None` if there is no such entry.
    ///
    /// # Errors
    /// If the entry is damaged.
    fn entry(&self, path: &str) -> io::Result<Option<Vec<u8>>>;

    /// Returns the paths of all entries.
    fn paths(&self) -> Vec<String>;
}

/// A pack in memory, which was checked when it was opened.
pub struct Pack(Vec<u8>);

impl Pack {
    /// Reads and checks a `.hpack` file.
    ///
    /// # Errors
    /// If it cannot be read, or is damaged.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Pack> {
        let bytes = std::fs::read(path)?;
        HpackView::read(&bytes).map_err(io::Error::other)?;
        Ok(Pack(bytes))
    }
}

impl Archive for Pack {
    fn entry(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let view = HpackView::read(&self.0).map_err(io::Error::other)?;
        Ok(view.get(path).map(<[u8]>::to_vec))
    }

    fn paths(&self) -> Vec<String> {
        let view = HpackView::read(&self.0).ok();
        view.iter().flat_map(|view| view.files()).map(|(entry, _)| entry.path.to_owned()).collect()
    }
}

/// A blob has the path of its key; other assets have their kind as extension, by which Bevy finds the loader.
impl Archive for PakBuf {
    fn entry(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let is_blob = |(kind, _): &(Kind, usize)| *kind == Kind::Blob;
        let of_kind = || {
            let (key, extension) = path.rsplit_once('.')?;
            self.find(key).filter(|(kind, _)| kind.name() == extension)
        };
        let found = self.find(path).filter(is_blob).or_else(of_kind);
        let payload = found.map(|(kind, id)| self.payload(kind, id)).transpose()?;
        Ok(payload.map(|payload| payload.to_vec()))
    }

    fn paths(&self) -> Vec<String> {
        let path = |entry: pak::Entry<'_>| match entry.kind {
            Kind::Blob => entry.key.to_owned(),
            kind => format!("{}.{}", entry.key, kind.name()),
        };
        self.entries().map(path).collect()
    }
}

/// Returns an asset source that reads from an archive.
pub fn source(archive: Arc<impl Archive>) -> AssetSourceBuilder {
    AssetSourceBuilder::new(move || Box::new(ArchiveReader(archive.clone())))
}

struct ArchiveReader<A>(Arc<A>);

impl<A: Archive> ArchiveReader<A> {
    /// Returns a path as archives have it, with slashes.
    fn name(path: &Path) -> String {
        path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
    }

    /// Returns the entries and directories directly below a directory.
    fn children(&self, directory: &Path) -> Vec<PathBuf> {
        let below = |path: &String| {
            let mut rest = Path::new(path).strip_prefix(directory).ok()?.components();
            Some(directory.join(rest.next()?))
        };
        let mut children: Vec<PathBuf> = self.0.paths().iter().filter_map(below).collect();
        children.sort();
        children.dedup();
        children
    }
}

impl<A: Archive> AssetReader for ArchiveReader<A> {
    async fn read<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        let bytes = self.0.entry(&Self::name(path))?;
        bytes.map(VecReader::new).ok_or_else(|| AssetReaderError::NotFound(path.to_owned()))
    }

    /// Archives have no settings of loaders.
    async fn read_meta<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        Err::<VecReader, _>(AssetReaderError::NotFound(path.to_owned()))
    }

    async fn read_directory<'a>(&'a self, path: &'a Path) -> Result<Box<PathStream>, AssetReaderError> {
        Ok(Box::new(futures_lite::stream::iter(self.children(path))))
    }

    async fn is_directory<'a>(&'a self, path: &'a Path) -> Result<bool, AssetReaderError> {
        Ok(!self.children(path).is_empty())
    }
}
