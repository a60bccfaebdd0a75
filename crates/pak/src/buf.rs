//! An open pak: its index, validated once and searched in place, and the content of its assets.

use crate::Error;
use crate::aligned::Aligned;
use crate::bytes::Bytes;
use crate::checksum::checksum;
use crate::codec::decode;
use crate::error::Fault;
use crate::options::Options;
use crate::source::Source;
use kiln_format::pak::{Asset, Block, Codec, HEADER_CHECKED, HEADER_LEN, Header, Index, IndexView, Kind};
use std::fmt;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// The decoded bytes of all reads.
    loaded: AtomicU64,
    /// The digests of the blocks of a signed pak.
    #[cfg(feature = "signature")]
    digests: Option<crate::signature::BlockDigests>,
}

impl PakBuf {
    pub(crate) fn new(source: Source, options: Options) -> Result<PakBuf, Error> {
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
        Ok(PakBuf {
            source,
            header,
            index,
            index_bytes,
            options,
            threads: OnceLock::new(),
            loaded: AtomicU64::new(0),
            #[cfg(feature = "signature")]
            digests: None,
        })
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

    /// Returns the decoded bytes that all reads of this pak took so far, block by block: the progress of a loading screen.
    /// The sum of [`Entry::len`](crate::Entry) over the assets to load is the total. Damaged blocks count as well.
    ///
    /// ```no_run
    /// # use pak::{Pak, PakBuf};
    /// # let pak = PakBuf::open("game_art.pak")?;
    /// let (total, before) = (pak.assets().map(|asset| asset.len).sum::<u64>(), pak.loaded_len());
    /// std::thread::scope(|scope| {
    ///     let loading = scope.spawn(|| pak.read_mesh("mesh/castle"));
    ///     while !loading.is_finished() {
    ///         println!("{} of {total} bytes", pak.loaded_len() - before);
    ///         std::thread::sleep(std::time::Duration::from_millis(16));
    ///     }
    /// });
    /// # Ok::<(), pak::Error>(())
    /// ```
    pub fn loaded_len(&self) -> u64 {
        self.loaded.load(Ordering::Relaxed)
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
                match self.check_blocks(&asset) {
                    Ok(()) => {}
                    Err(Fault::Io(error)) => return Err(error.into()),
                    Err(_) => return Ok(false),
                }
            }
        }
        self.zeros(end, self.header.index_offset)
    }

    /// Returns the checksum in the header, which identifies the pak: it covers the index, and so every block.
    pub(crate) fn header_checksum(&self) -> u64 {
        self.header.checksum
    }

    /// Reads bytes of the file as they are stored.
    pub(crate) fn read_stored(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.source.read(offset, out)
    }

    /// Calls a function with the stored bytes of each block of an asset, after its checksum was verified.
    #[cfg(any(feature = "bake", feature = "signature"))]
    pub(crate) fn for_each_block_of(
        &self,
        asset: &Asset,
        each: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<(), Fault> {
        let view = self.view();
        let mut at = asset.offset;
        for (block, found) in asset.blocks.clone().filter_map(|number| view.block(number)).enumerate() {
            let bytes = self.stored_range(at, found.stored_len.into())?;
            if checksum(&bytes) != found.checksum {
                return Err(Fault::Checksum { block });
            }
            each(&bytes).map_err(Fault::Io)?;
            at += u64::from(found.stored_len);
        }
        Ok(())
    }

    /// Calls a function with the stored bytes of each block of the pak, in the order of the index.
    #[cfg(feature = "signature")]
    pub(crate) fn for_each_stored_block(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        for kind in Kind::ALL {
            for id in 0..self.index.count(kind) {
                let Some(asset) = self.view().asset(kind, id) else { continue };
                let each = &mut |bytes: &[u8]| {
                    each(bytes);
                    Ok(())
                };
                let named = |why| Error::Asset { kind, name: format!("id {id}"), why };
                self.for_each_block_of(&asset, each).map_err(named)?;
            }
        }
        Ok(())
    }

    #[cfg(feature = "signature")]
    pub(crate) fn header_bytes(&self) -> Result<[u8; HEADER_LEN], Error> {
        let mut bytes = [0; HEADER_LEN];
        self.source.read(0, &mut bytes)?;
        Ok(bytes)
    }

    #[cfg(feature = "signature")]
    pub(crate) fn index_bytes(&self) -> &[u8] {
        &self.index_bytes
    }

    #[cfg(feature = "signature")]
    pub(crate) fn set_digests(&mut self, digests: crate::signature::BlockDigests) {
        self.digests = Some(digests);
    }

    /// Returns whether the stored bytes of blocks are verified: by checksum, or by the digest of a signed pak.
    fn verifies_blocks(&self) -> bool {
        #[cfg(feature = "signature")]
        let is_signed = self.digests.is_some();
        #[cfg(not(feature = "signature"))]
        let is_signed = false;
        self.options.checksums || is_signed
    }

    /// Verifies the stored bytes of a block: by its digest if the pak is signed, otherwise by its checksum. `number` is its
    /// number in the index, `block` its number in the asset.
    fn verify_block(&self, number: usize, block: usize, found: &Block, bytes: &[u8]) -> Result<(), Fault> {
        #[cfg(feature = "signature")]
        if let Some(digests) = &self.digests {
            return digests.verify(number, block, bytes);
        }
        let _ = number;
        match bytes.len() == found.stored_len as usize && checksum(bytes) == found.checksum {
            true => Ok(()),
            false => Err(Fault::Checksum { block }),
        }
    }

    /// Verifies the block checksums of an asset, with one block in memory at a time where the source is not in memory.
    fn check_blocks(&self, asset: &Asset) -> Result<(), Fault> {
        let view = self.view();
        let mut at = asset.offset;
        for (block, number) in asset.blocks.clone().enumerate() {
            let Some(found) = view.block(number) else { continue };
            let bytes = self.stored_range(at, found.stored_len.into())?;
            self.verify_block(number, block, &found, &bytes)?;
            at += u64::from(found.stored_len);
        }
        Ok(())
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
        self.stored_range(asset.offset, self.view().stored_len(asset))
    }

    fn stored_range(&self, offset: u64, len: u64) -> Result<Bytes, Fault> {
        match self.source.in_place(offset, len) {
            Some(bytes) => Ok(bytes),
            None => {
                let mut memory = self.memory(len)?;
                self.source.read(offset, &mut memory).map_err(Fault::Io)?;
                Ok(Bytes::heap(memory))
            }
        }
    }

    fn memory(&self, len: u64) -> Result<Aligned, Fault> {
        let fits = usize::try_from(len).ok().filter(|_| len <= self.options.max_decoded);
        fits.and_then(Aligned::zeroed).ok_or(Fault::TooLarge { len })
    }

    fn count_loaded(&self, len: u64) {
        self.loaded.fetch_add(len, Ordering::Relaxed);
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
            match self.verifies_blocks() {
                true => self.each_block(asset, &stored, None)?,
                false => self.count_loaded(asset.len),
            }
            if self.source.is_aligned() {
                return Ok(stored);
            }
            let mut memory = self.memory(asset.len)?;
            memory.copy_from_slice(&stored);
            return Ok(Bytes::heap(memory));
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
            let found = view.block(number).unwrap_or(Block { checksum: 0, stored_len: 0 });
            let bytes = stored.get(at..at + found.stored_len as usize).unwrap_or_default();
            at += found.stored_len as usize;
            ((number, block, found), bytes, outs.next().unwrap_or_default())
        });
        let one = |((number, block, found), bytes, out): ((usize, usize, Block), &[u8], &mut [u8])| {
            let start = block as u64 * asset.block_len;
            self.count_loaded(asset.len.saturating_sub(start).min(asset.block_len));
            if self.verifies_blocks() || !decoding {
                self.verify_block(number, block, &found, bytes)?;
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
        let number = asset.blocks.clone().nth(block);
        let Some((number, found)) = number.and_then(|number| Some((number, view.block(number)?))) else {
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
        if self.verifies_blocks() {
            self.verify_block(number, block, &found, bytes)?;
        }
        self.count_loaded(whole as u64);
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

impl fmt::Debug for PakBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PakBuf")
            .field("len", &self.source.len())
            .field("keys", &self.view().key_count())
            .finish()
    }
}
