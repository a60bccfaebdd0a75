//! An open pak: its index, validated once and searched in place, and the content of its assets.

use crate::Error;
use crate::aligned::Aligned;
use crate::bytes::{Bytes, Owner};
use crate::checksum::checksum;
use crate::codec::decode;
use crate::error::Fault;
use crate::options::Options;
use crate::source::{Source, Stream};
use kiln_format::pak::{Asset, Codec, HEADER_CHECKED, HEADER_LEN, Header, Index, IndexView, Kind};
use std::fmt;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The number of bytes per decoding thread below which another thread costs more than it saves.
const WORTH_A_THREAD: u64 = 1 << 20;

/// An open pak. Reading takes `&self` and works from any number of threads.
pub struct PakBuf {
    source: Source,
    header: Header,
    index: Index,
    index_bytes: Bytes,
    options: Options,
    /// The number of decoding threads, determined lazily: the system call costs more than opening a small file.
    threads: OnceLock<usize>,
}

impl PakBuf {
    /// Opens a memory-mapped pak file with default options.
    ///
    /// The file must not be modified while it is open. Baking renames a new file into place, which is safe: a pak that
    /// is already open keeps the old file.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be opened or is not a regular file, [`Error::Format`] if it is not a pak of this
    /// version or its index is inconsistent, [`Error::Damaged`] if the checksum of header or index does not match.
    pub fn open(path: impl AsRef<Path>) -> Result<PakBuf, Error> {
        PakBuf::open_with(path, Options::default())
    }

    /// Opens a memory-mapped pak file.
    ///
    /// # Errors
    /// As for [`PakBuf::open`].
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<PakBuf, Error> {
        PakBuf::new(Source::map(path.as_ref())?, options)
    }

    /// Reads a pak from a seekable stream: the index now, assets on demand.
    ///
    /// # Errors
    /// As for [`PakBuf::open`].
    pub fn from_stream(stream: impl Stream + 'static) -> Result<PakBuf, Error> {
        PakBuf::new(Source::stream(Box::new(stream))?, Options::default())
    }

    /// Reads a pak from memory. The bytes are copied once, so that assets are aligned.
    ///
    /// # Errors
    /// As for [`PakBuf::open`], and [`Error::Io`] if there is not enough memory for the copy.
    pub fn from_bytes(bytes: &[u8]) -> Result<PakBuf, Error> {
        let memory = Aligned::zeroed(bytes.len()).ok_or(std::io::ErrorKind::OutOfMemory);
        let mut memory = memory.map_err(std::io::Error::from)?;
        memory.copy_from_slice(bytes);
        PakBuf::new(Source::memory(Owner::Heap(memory)), Options::default())
    }

    fn new(source: Source, options: Options) -> Result<PakBuf, Error> {
        let len = source.len();
        let mut first = [0; HEADER_LEN];
        let short = &mut first[..HEADER_LEN.min(usize::try_from(len).unwrap_or(HEADER_LEN))];
        source.read(0, short)?;
        let header = Header::read(short, len)?;
        if checksum(&short[..HEADER_CHECKED]) != header.checksum {
            return Err(Error::Damaged { part: "header" });
        }
        // The header was validated: the index lies inside the file, so no more than the file length is allocated.
        let index_bytes = match source.in_place(header.index_offset, header.index_len) {
            Some(bytes) => bytes,
            None => {
                let memory = usize::try_from(header.index_len).ok().and_then(Aligned::zeroed);
                let memory = memory.ok_or(std::io::ErrorKind::OutOfMemory);
                let mut memory = memory.map_err(std::io::Error::from)?;
                source.read(header.index_offset, &mut memory)?;
                Bytes::heap(memory)
            }
        };
        if checksum(&index_bytes) != header.index_checksum {
            return Err(Error::Damaged { part: "index" });
        }
        let index = Index::read(&index_bytes, &header)?;
        Ok(PakBuf { source, header, index, index_bytes, options, threads: OnceLock::new() })
    }

    pub(crate) fn view(&self) -> IndexView<'_> {
        self.index.view(&self.index_bytes)
    }

    /// Returns the number of assets of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.index.count(kind) as usize
    }

    /// Returns all keys, sorted.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        let view = self.view();
        (0..view.key_count()).map(move |number| view.key(number).map_or("", |key| key.0))
    }

    pub(crate) fn view_keys(&self) -> impl Iterator<Item = (&str, Kind, usize)> {
        let view = self.view();
        (0..view.key_count())
            .filter_map(move |number| view.key(number))
            .map(|(key, kind, id)| (key, kind, id as usize))
    }

    /// Returns the checksum and stored length of every block, in file order.
    pub fn all_blocks(&self) -> impl Iterator<Item = (u64, u32)> {
        let view = self.view();
        (0..).map_while(move |number| view.block(number)).map(|block| (block.checksum, block.stored_len))
    }

    /// Returns the decoded payload of an asset in the layout of `docs/reference/formats/pak.md`. For tools.
    ///
    /// # Errors
    /// [`Error::NoSuchId`] if there is no such asset, [`Error::Asset`] if it is damaged or larger than
    /// [`Options::max_decoded`].
    pub fn payload(&self, kind: Kind, id: usize) -> Result<Bytes, Error> {
        self.content(kind, id).map(|(bytes, _)| bytes)
    }

    /// Returns the kind and id of the asset that a key names.
    pub fn find(&self, key: &str) -> Option<(Kind, usize)> {
        self.view().find(key).map(|(kind, id)| (kind, id as usize))
    }

    /// Returns the length of the file in bytes.
    pub fn file_len(&self) -> u64 {
        self.source.len()
    }

    /// Verifies every byte of the file: the checksums of header, index and all blocks, and zero padding between payloads.
    /// Returns `false` if the file is damaged.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read.
    pub fn validate_hash(&self) -> Result<bool, Error> {
        let mut first = [0; HEADER_LEN];
        self.source.read(0, &mut first)?;
        let head = Header::read(&first, self.source.len());
        if checksum(&first[..HEADER_CHECKED]) != self.header.checksum
            || head != Ok(self.header)
            || checksum(&self.index_bytes) != self.header.index_checksum
        {
            return Ok(false);
        }
        let view = self.view();
        let mut end = HEADER_LEN as u64;
        for kind in Kind::ALL {
            for id in 0..self.index.count(kind) {
                let Some(asset) = view.asset(kind, id) else { continue };
                if !self.zeros(end, asset.offset)? {
                    return Ok(false);
                }
                end = asset.offset + view.stored_len(&asset);
                let checked = Options { checksums: true, ..self.options };
                match self.stored(&asset).and_then(|stored| self.check(&asset, &stored, checked)) {
                    Ok(()) => {}
                    Err(Fault::Io(error)) => return Err(error.into()),
                    Err(_) => return Ok(false),
                }
            }
        }
        self.zeros(end, self.header.index_offset)
    }

    /// Returns `true` if this file has exactly this header and index.
    #[cfg(feature = "bake")]
    pub(crate) fn matches_layout(&self, header: &[u8], index: &[u8]) -> bool {
        let mut own = [0; HEADER_LEN];
        self.source.read(0, &mut own).is_ok() && own == header && *self.index_bytes == *index
    }

    fn zeros(&self, start: u64, end: u64) -> Result<bool, Error> {
        let mut gap = [0; 16];
        let gap = &mut gap[..(end.saturating_sub(start) as usize).min(16)];
        self.source.read(start, gap)?;
        Ok(gap.iter().all(|&byte| byte == 0))
    }

    /// Returns the stored (compressed) bytes of an asset.
    pub(crate) fn stored(&self, asset: &Asset) -> Result<Bytes, Fault> {
        let len = self.view().stored_len(asset);
        match self.source.in_place(asset.offset, len) {
            Some(bytes) => Ok(bytes),
            None => {
                let mut memory = self.memory(len)?;
                self.source.read(asset.offset, &mut memory).map_err(Fault::Io)?;
                Ok(Bytes::heap(memory))
            }
        }
    }

    fn memory(&self, len: u64) -> Result<Aligned, Fault> {
        let fits = usize::try_from(len).ok().filter(|_| len <= self.options.max_decoded);
        fits.and_then(Aligned::zeroed).ok_or(Fault::TooLarge { len })
    }

    /// Verifies the block checksums of an asset.
    fn check(&self, asset: &Asset, stored: &[u8], options: Options) -> Result<(), Fault> {
        if !options.checksums {
            return Ok(());
        }
        self.each_block(asset, stored, None)
    }

    /// Returns the content of an asset: zero-copy if it is stored uncompressed, otherwise decoded.
    pub(crate) fn content(&self, kind: Kind, id: usize) -> Result<(Bytes, Asset), Error> {
        let asset = u32::try_from(id).ok().and_then(|id| self.view().asset(kind, id));
        let asset = asset.ok_or(Error::NoSuchId { kind, id })?;
        let content = self.decoded(&asset);
        match content {
            Ok(content) => Ok((content, asset)),
            Err(why) => Err(Error::Asset { kind, name: format!("id {id}"), why }),
        }
    }

    fn decoded(&self, asset: &Asset) -> Result<Bytes, Fault> {
        let stored = self.stored(asset)?;
        if asset.codec == Codec::None {
            self.check(asset, &stored, self.options)?;
            return Ok(stored);
        }
        let mut memory = self.memory(asset.len)?;
        self.each_block(asset, &stored, Some(&mut memory))?;
        Ok(Bytes::heap(memory))
    }

    /// Verifies the blocks of an asset, and decodes them into `out` if given.
    fn each_block(&self, asset: &Asset, stored: &[u8], out: Option<&mut [u8]>) -> Result<(), Fault> {
        let view = self.view();
        let whole = asset.block_len as usize;
        let decoding = out.is_some();
        let mut outs = out.unwrap_or_default().chunks_mut(whole);
        let mut at = 0usize;
        let mut blocks = asset.blocks.clone().enumerate().map(|(block, number)| {
            let found = view.block(number).unwrap_or(kiln_format::pak::Block { checksum: 0, stored_len: 0 });
            let bytes = stored.get(at..at + found.stored_len as usize).unwrap_or_default();
            at += found.stored_len as usize;
            (block, found, bytes, outs.next().unwrap_or_default())
        });
        let one = |(block, found, bytes, out): (usize, kiln_format::pak::Block, &[u8], &mut [u8])| {
            if bytes.len() != found.stored_len as usize
                || (self.options.checksums || !decoding) && checksum(bytes) != found.checksum
            {
                return Err(Fault::Checksum { block });
            }
            match decoding && !decode(asset.codec, bytes, out) {
                true => Err(Fault::Codec { codec: asset.codec, block }),
                false => Ok(()),
            }
        };
        let most = asset.blocks.len().min((asset.len / WORTH_A_THREAD) as usize);
        let threads = if most < 2 { 1 } else { most.min(self.threads()) };
        if threads < 2 {
            return blocks.try_for_each(one);
        }
        let queue = Mutex::new(blocks);
        let work = || {
            loop {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(block) = next else { return Ok(()) };
                one(block)?;
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let all = others.into_iter().map(|other| other.join().unwrap_or(Ok(())));
            all.fold(own, |result, other| result.and(other))
        })
    }

    fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        *self.threads.get_or_init(|| self.options.threads.map_or_else(cores, NonZero::get))
    }

    /// Decodes one block of an asset into `out`.
    pub(crate) fn block(&self, asset: &Asset, block: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
        let view = self.view();
        let before = asset.blocks.clone().take(block).filter_map(|n| view.block(n));
        let start = asset.offset + before.map(|b| u64::from(b.stored_len)).sum::<u64>();
        let Some(found) = asset.blocks.clone().nth(block).and_then(|number| view.block(number)) else {
            return Err(Fault::Codec { codec: asset.codec, block });
        };
        let whole = (asset.len - block as u64 * asset.block_len).min(asset.block_len) as usize;
        let mut copy = Vec::new();
        let in_place = self.source.in_place(start, found.stored_len.into());
        let bytes: &[u8] = match &in_place {
            Some(bytes) => bytes,
            None => {
                copy.resize(found.stored_len as usize, 0);
                self.source.read(start, &mut copy).map_err(Fault::Io)?;
                &copy
            }
        };
        if self.options.checksums && checksum(bytes) != found.checksum {
            return Err(Fault::Checksum { block });
        }
        out.clear();
        out.resize(whole, 0);
        match decode(asset.codec, bytes, out) {
            true => Ok(()),
            false => Err(Fault::Codec { codec: asset.codec, block }),
        }
    }
}

macro_rules! counts {
    ($($name:ident $kind:ident;)*) => {
        impl PakBuf {
            $(
                #[doc = concat!("Returns the number of assets of the kind `", stringify!($kind), "`.")]
                pub fn $name(&self) -> usize {
                    self.count(Kind::$kind)
                }
            )*
        }
    };
}

counts! {
    animation_count Animation;
    bitmap_count Bitmap;
    bitmap_font_count BitmapFont;
    blob_count Blob;
    material_count Material;
    mesh_count Mesh;
    scene_count Scene;
}

impl TryFrom<&'static [u8]> for PakBuf {
    type Error = Error;

    /// Reads a pak zero-copy from a `'static` slice, which should be aligned to 16 bytes.
    ///
    /// # Errors
    /// As for [`PakBuf::open`].
    fn try_from(bytes: &'static [u8]) -> Result<PakBuf, Error> {
        PakBuf::new(Source::memory(Owner::Static(bytes)), Options::default())
    }
}

impl fmt::Debug for PakBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PakBuf")
            .field("len", &self.source.len())
            .field("keys", &self.view().key_count())
            .finish()
    }
}
