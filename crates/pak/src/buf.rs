//! A pak that is open: its index, checked once and searched where it lies, and the content of its assets.

use crate::Error;
use crate::aligned::Aligned;
use crate::bytes::{Bytes, Owner};
use crate::checksum::checksum;
use crate::codec::decode;
use crate::error::Fault;
use crate::source::{Source, Stream};
use kiln_format::pak::{Asset, Codec, HEADER_CHECKED, HEADER_LEN, Header, Index, IndexView, Kind};
use std::fmt;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

/// How a pak is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the checksums of an asset's blocks are compared when it is read. Those of the header and the index
    /// always are.
    pub checksums: bool,
    /// The most memory that one asset may be decoded into. Content that is used where it lies does not count.
    pub max_decoded: u64,
    /// On how many threads a large asset is decoded; `None` for as many as there are cores.
    pub threads: Option<NonZero<usize>>,
}

impl Default for Options {
    fn default() -> Options {
        Options { checksums: true, max_decoded: 4 << 30, threads: None }
    }
}

/// Below this many bytes another thread costs more than it saves.
const WORTH_A_THREAD: u64 = 1 << 20;

/// What a key names, and how it is stored: see [`PakBuf::entries`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The key.
    pub key: &'a str,
    /// What it names.
    pub kind: Kind,
    /// Its number among those of its kind.
    pub id: usize,
    /// The length of the content.
    pub len: u64,
    /// How many bytes of the file that is.
    pub stored_len: u64,
    /// How it is packed.
    pub codec: Codec,
    /// The checksums and lengths of its blocks: equal lists are equal content.
    pub blocks: Vec<(u64, u32)>,
}

/// An open pak. Reading takes `&self`, from any number of threads.
pub struct PakBuf {
    source: Source,
    header: Header,
    index: Index,
    index_bytes: Bytes,
    options: Options,
    /// Found out when it first matters: asking the system costs more than opening a small file.
    threads: OnceLock<usize>,
}

impl PakBuf {
    /// Opens a file by mapping it into memory.
    ///
    /// The file must not be changed while it is open. Baking replaces a file as a whole, which is fine: who has the
    /// old one open keeps it.
    pub fn open(path: impl AsRef<Path>) -> Result<PakBuf, Error> {
        PakBuf::open_with(path, Options::default())
    }

    /// Opens a file by mapping it into memory.
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<PakBuf, Error> {
        PakBuf::new(Source::map(path.as_ref())?, options)
    }

    /// Reads from a stream: the index now, assets when they are asked for.
    pub fn from_stream(stream: impl Stream + 'static) -> Result<PakBuf, Error> {
        PakBuf::new(Source::stream(Box::new(stream))?, Options::default())
    }

    /// Takes a pak that is in memory. It is copied once, so that assets are aligned.
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
        // The header says that the index is inside the file, so nothing larger than that is read.
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

    /// How many assets of a kind there are.
    pub fn count(&self, kind: Kind) -> usize {
        self.index.count(kind) as usize
    }

    /// All keys, sorted.
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

    /// All keys, sorted, with what they name and how that is stored. A material is part of the index and has no
    /// length.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        let view = self.view();
        (0..view.key_count()).map(move |number| {
            let (key, kind, id) = view.key(number).unwrap_or(("", Kind::Blob, 0));
            self.entry(key, kind, id)
        })
    }

    pub(crate) fn entry<'a>(&self, key: &'a str, kind: Kind, id: u32) -> Entry<'a> {
        let view = self.view();
        let asset = view.asset(kind, id);
        let block = |n| view.block(n).map(|block| (block.checksum, block.stored_len));
        let blocks =
            asset.as_ref().map_or_else(Vec::new, |asset| asset.blocks.clone().filter_map(block).collect());
        Entry {
            key,
            kind,
            id: id as usize,
            len: asset.as_ref().map_or(0, |asset| asset.len),
            stored_len: asset.as_ref().map_or(0, |asset| view.stored_len(asset)),
            codec: asset.map_or(Codec::None, |asset| asset.codec),
            blocks,
        }
    }

    /// The checksum and stored length of every block, in the order of the file.
    pub fn all_blocks(&self) -> impl Iterator<Item = (u64, u32)> {
        let view = self.view();
        (0..).map_while(move |number| view.block(number)).map(|block| (block.checksum, block.stored_len))
    }

    /// The content of an asset as the format has it: see `docs/formats/pak.md`. For tools.
    pub fn payload(&self, kind: Kind, id: usize) -> Result<Bytes, Error> {
        self.content(kind, id).map(|(bytes, _)| bytes)
    }

    /// What a key names.
    pub fn find(&self, key: &str) -> Option<(Kind, usize)> {
        self.view().find(key).map(|(kind, id)| (kind, id as usize))
    }

    /// The length of the file.
    pub fn file_len(&self) -> u64 {
        self.source.len()
    }

    /// Whether every byte of the file is what was written: header, index, all blocks, and zeros between them.
    /// An error means that the file could not be read.
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

    /// Whether a file with this header and index would be this one.
    #[cfg(feature = "bake")]
    pub(crate) fn is_the_file(&self, header: &[u8], index: &[u8]) -> bool {
        let mut own = [0; HEADER_LEN];
        self.source.read(0, &mut own).is_ok() && own == header && *self.index_bytes == *index
    }

    fn zeros(&self, start: u64, end: u64) -> Result<bool, Error> {
        let mut gap = [0; 16];
        let gap = &mut gap[..(end.saturating_sub(start) as usize).min(16)];
        self.source.read(start, gap)?;
        Ok(gap.iter().all(|&byte| byte == 0))
    }

    /// The bytes of an asset as they are in the file.
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

    /// Compares checksums where the bytes lie.
    fn check(&self, asset: &Asset, stored: &[u8], options: Options) -> Result<(), Fault> {
        if !options.checksums {
            return Ok(());
        }
        self.each_block(asset, stored, None)
    }

    /// The content of an asset: where it lies if it can be used there, else decoded.
    pub(crate) fn content(&self, kind: Kind, id: usize) -> Result<(Bytes, Asset), Error> {
        let asset = u32::try_from(id).ok().and_then(|id| self.view().asset(kind, id));
        let asset = asset.ok_or(Error::NoSuchId { kind, id })?;
        let content = self.decoded(&asset);
        match content {
            Ok(content) => Ok((content, asset)),
            Err(why) => Err(Error::Asset { kind, name: format!("number {id}"), why }),
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

    /// Checks the blocks of an asset, and decodes them if there is somewhere to decode them to.
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

    /// Decodes one block of an asset.
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
                /// How many there are.
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

    /// Reads where the bytes lie. They should start at an address that is a multiple of sixteen.
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
