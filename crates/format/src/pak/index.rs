//! The index of a pak: checked once as a whole, then searched in place.

use core::ops::Range;

use super::{
    ALIGNMENT, AssetRecord, BLOCK_LOG2, BlockRecord, Codec, HEADER_LEN, Half, Header, IndexRecord, KeyRecord,
    Kind, Material, MaterialRecord, NONE, PARAM_HEIGHT, PARAM_OCCLUSION, RefRecord,
};
use crate::Error;
use crate::bytes::{Le, Reader, align, ascends, slice};

/// One asset of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// The byte offset of the payload in the file.
    pub offset: u64,
    /// The decompressed length in bytes.
    pub len: u64,
    /// The compression codec of the blocks.
    pub codec: Codec,
    /// The decompressed length of every block except the last, in bytes.
    pub block_len: u64,
    /// The indices of the blocks.
    pub blocks: Range<usize>,
    /// First index and count of the referenced assets.
    refs: (u32, u32),
}

/// One block of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The XXH3 checksum of the stored bytes.
    pub checksum: u64,
    /// The stored length in bytes. A block of its decompressed length is stored uncompressed.
    pub stored_len: u32,
}

/// A checked index: the offsets of its sections. [`Index::view`] reads the same bytes again.
#[derive(Clone, Debug)]
pub struct Index {
    counts: [u32; 7],
    /// Index of the first asset of each kind; materials have no entry.
    firsts: [u32; 7],
    len: usize,
    assets: Range<usize>,
    blocks: Range<usize>,
    refs: Range<usize>,
    materials: Range<usize>,
    keys: Range<usize>,
    text: Range<usize>,
}

impl Index {
    /// Checks the bytes of an index.
    ///
    /// # Errors
    ///
    /// [`Error`] if the index is truncated, has trailing bytes or holds an invalid value.
    pub fn read(bytes: &[u8], header: &Header) -> Result<Index, Error> {
        let at = |offset: usize| header.index_offset + offset as u64;
        let head = IndexRecord::read(&mut Reader::new(bytes))?;
        let counts = [
            head.animations,
            head.bitmaps,
            head.bitmap_fonts,
            head.blobs,
            head.materials,
            head.meshes,
            head.scenes,
        ];
        if head.reserved != 0 {
            let found = head.reserved.into();
            return Err(Error::Value { at: at(44), field: "reserved", found, expected: "0" });
        }
        let mut firsts = [0u32; 7];
        let mut assets = 0u32;
        for kind in Kind::ALL {
            firsts[kind as usize] = assets;
            if kind != Kind::Material {
                let more = assets.checked_add(counts[kind as usize]);
                assets =
                    more.ok_or(Error::TooLarge { field: "counts", found: u64::MAX, max: NONE.into() })?;
            }
        }
        let mut end = IndexRecord::SIZE;
        let mut section = |count: u32, size: usize| {
            let start = end;
            end = usize::try_from(count)
                .ok()
                .and_then(|n| n.checked_mul(size))
                .and_then(|n| n.checked_add(start))?;
            Some(start..end)
        };
        let materials = counts[Kind::Material as usize];
        let sections = [
            section(assets, AssetRecord::SIZE),
            section(head.blocks, BlockRecord::SIZE),
            section(head.refs, RefRecord::SIZE),
            section(materials, MaterialRecord::SIZE),
            section(head.keys, KeyRecord::SIZE),
            section(head.text_len, 1),
        ];
        let [Some(assets), Some(blocks), Some(refs), Some(materials), Some(keys), Some(text)] = sections
        else {
            return Err(Error::TooLarge { field: "counts", found: u64::MAX, max: bytes.len() as u64 });
        };
        if end != bytes.len() {
            let (found, expected) = (bytes.len() as u64, end as u64);
            return Err(Error::Mismatch { at: 32, field: "index_len", found, expected });
        }
        let len = bytes.len();
        let index = Index { counts, firsts, len, assets, blocks, refs, materials, keys, text };
        index.check(&index.view(bytes), header)?;
        Ok(index)
    }

    /// Returns a view of the bytes that were checked. With other bytes of the same length, accessors may read
    /// invalid numbers and return `None`.
    pub fn view<'a>(&'a self, bytes: &'a [u8]) -> IndexView<'a> {
        let part = |range: &Range<usize>| bytes.get(range.clone()).unwrap_or_default();
        IndexView {
            index: self,
            assets: part(&self.assets),
            blocks: part(&self.blocks),
            refs: part(&self.refs),
            materials: part(&self.materials),
            keys: part(&self.keys),
            text: part(&self.text),
        }
    }

    /// Returns the number of assets of a kind.
    pub fn count(&self, kind: Kind) -> u32 {
        self.counts[kind as usize]
    }

    /// Returns the length of the index in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn check(&self, view: &IndexView<'_>, header: &Header) -> Result<(), Error> {
        let at = |range: &Range<usize>, index: usize, size: usize| {
            header.index_offset + (range.start + index * size) as u64
        };
        let blocks = rows::<{ BlockRecord::SIZE }>(view.blocks);
        let refs = view.refs.len() / RefRecord::SIZE;
        let (mut end, mut first_block, mut first_ref) = (HEADER_LEN as u64, 0usize, 0usize);
        for (number, row) in rows::<{ AssetRecord::SIZE }>(view.assets).iter().enumerate() {
            let at = at(&self.assets, number, AssetRecord::SIZE);
            let offset = field::<u64>(row, 0);
            let place = align(end, ALIGNMENT).unwrap_or(u64::MAX);
            let own = AssetRow { place, first_block, first_ref, refs };
            if let Some((stored, uses)) = own.of_one_block(row, blocks)
                && offset + stored <= header.index_offset
            {
                (end, first_block, first_ref) = (offset + stored, first_block + 1, first_ref + uses);
                continue;
            }
            if offset != place {
                return Err(Error::Mismatch { at, field: "offset", found: offset, expected: place });
            }
            let (codec, block_log2) = (row[28], row[29]);
            if Codec::from_number(codec).is_none() {
                return Err(Error::Value {
                    at: at + 28,
                    field: "codec",
                    found: codec.into(),
                    expected: "0 to 4",
                });
            }
            if !BLOCK_LOG2.contains(&block_log2) || row[30..32] != [0; 2] {
                let found = block_log2.into();
                return Err(Error::Value { at: at + 29, field: "block_log2", found, expected: "12 to 22" });
            }
            let len = field::<u64>(row, 8);
            // There are many rows: a shift is much faster than a division.
            let count = (len >> block_log2) + u64::from(len & ((1 << block_log2) - 1) != 0);
            let own = usize::try_from(count).ok().and_then(|n| first_block.checked_add(n));
            let (Some(last), true) = (own, field::<u32>(row, 16) as usize == first_block) else {
                return Err(Error::Fault {
                    at: at + 16,
                    field: "first_block",
                    why: "is not contiguous with the preceding asset",
                });
            };
            let Some(own) = blocks.get(first_block..last) else {
                return Err(Error::Index {
                    at: at + 8,
                    field: "len",
                    found: count,
                    count: blocks.len() as u64,
                });
            };
            let mut stored = 0u64;
            let mut left = len;
            for (index, block) in own.iter().enumerate() {
                let whole = left.min(1 << block_log2);
                let stored_len = u64::from(field::<u32>(block, 8));
                let fits =
                    if codec == 0 { stored_len == whole } else { stored_len <= whole && stored_len > 0 };
                if !fits {
                    return Err(Error::Mismatch {
                        at: header.index_offset
                            + (self.blocks.start + (first_block + index) * BlockRecord::SIZE + 8) as u64,
                        field: "stored_len",
                        found: stored_len,
                        expected: whole,
                    });
                }
                stored += stored_len;
                left -= whole;
            }
            first_block = last;
            let (start, uses) = (field::<u32>(row, 20) as usize, field::<u32>(row, 24) as usize);
            if start != first_ref || uses > refs - first_ref {
                return Err(Error::Fault {
                    at: at + 20,
                    field: "first_ref",
                    why: "is not contiguous with the preceding one",
                });
            }
            first_ref += uses;
            let own_end = offset.checked_add(stored).filter(|&end| end <= header.index_offset);
            let Some(own_end) = own_end else {
                let len = header.index_offset;
                return Err(Error::Range { at, field: "payload", start: offset, size: stored, len });
            };
            end = own_end;
        }
        let place = align(end, ALIGNMENT).unwrap_or(u64::MAX);
        if header.index_offset != place {
            let found = header.index_offset;
            return Err(Error::Mismatch { at: 24, field: "index_offset", found, expected: place });
        }
        if first_block != blocks.len() || first_ref != refs {
            let found = (blocks.len() + refs) as u64;
            let expected = (first_block + first_ref) as u64;
            return Err(Error::Mismatch { at: header.index_offset + 32, field: "blocks", found, expected });
        }
        for (number, row) in rows::<{ RefRecord::SIZE }>(view.refs).iter().enumerate() {
            self.check_id(field(row, 0), field(row, 4), at(&self.refs, number, RefRecord::SIZE))?;
        }
        for number in 0..self.count(Kind::Material) {
            let at = at(&self.materials, number as usize, MaterialRecord::SIZE);
            let Some(material) = view.material(number) else {
                return Err(Error::Fault { at, field: "material", why: "has an invalid field" });
            };
            let others = [material.normal, material.emissive, material.params];
            for id in others.into_iter().flatten().chain([material.color]) {
                self.check_id(Kind::Bitmap as u32, id, at)?;
            }
        }
        self.check_keys(view, header)
    }

    fn check_id(&self, kind: u32, id: u32, at: u64) -> Result<(), Error> {
        let kind = u8::try_from(kind).ok().and_then(Kind::from_number);
        let kind = kind.ok_or(Error::Value { at, field: "kind", found: u64::MAX, expected: "0 to 6" })?;
        let count = self.count(kind);
        if id >= count {
            return Err(Error::Index { at, field: "id", found: id.into(), count: count.into() });
        }
        Ok(())
    }

    fn check_keys(&self, view: &IndexView<'_>, header: &Header) -> Result<(), Error> {
        let text_at = header.index_offset + self.text.start as u64;
        // Nearly all keys are ASCII, which is several times faster to tell than UTF-8.
        let other_text = match view.text.is_ascii() {
            true => None,
            false => Some(
                core::str::from_utf8(view.text).map_err(|_| Error::Text { at: text_at, field: "keys" })?,
            ),
        };
        let mut end = 0usize;
        let mut last: &[u8] = &[];
        for (number, row) in rows::<{ KeyRecord::SIZE }>(view.keys).iter().enumerate() {
            let at = || header.index_offset + (self.keys.start + number * KeyRecord::SIZE) as u64;
            let (start, len) = (field::<u32>(row, 0) as usize, usize::from(field::<u16>(row, 4)));
            let key = view.text.get(end..end + len);
            let (Some(key), true) = (key, start == end && row[7] == 0 && len > 0) else {
                return Err(Error::Fault {
                    at: at(),
                    field: "text_offset",
                    why: "is not the end of the preceding key, or the key is empty",
                });
            };
            if other_text.is_some_and(|text| !text.is_char_boundary(end)) {
                return Err(Error::Text { at: text_at + end as u64, field: "key" });
            }
            if !ascends(last, key) {
                return Err(Error::Order { at: at(), field: "key" });
            }
            let count = self.counts.get(usize::from(row[6])).copied().unwrap_or(0);
            if field::<u32>(row, 8) >= count {
                self.check_id(row[6].into(), field(row, 8), at())?;
            }
            last = key;
            end += len;
        }
        if end != view.text.len() {
            return Err(Error::Trailing { at: text_at + end as u64, extra: (view.text.len() - end) as u64 });
        }
        Ok(())
    }
}

/// The values that the row of an asset must have.
struct AssetRow {
    place: u64,
    first_block: usize,
    first_ref: usize,
    refs: usize,
}

impl AssetRow {
    /// Returns the stored length and the number of references of a valid asset of one block. Most assets are such, and
    /// there may be many: one test for all fields is faster than one after the other, which name what is wrong.
    fn of_one_block(
        &self,
        row: &[u8; AssetRecord::SIZE],
        blocks: &[[u8; BlockRecord::SIZE]],
    ) -> Option<(u64, usize)> {
        let (len, codec, block_log2) = (field::<u64>(row, 8), row[28], row[29]);
        let stored = u64::from(field::<u32>(blocks.get(self.first_block)?, 8));
        let uses = field::<u32>(row, 24) as usize;
        // Without branches: all of it is true of nearly every row.
        let is_valid = (field::<u64>(row, 0) == self.place)
            & (self.place < 1 << 63)
            & (field::<u32>(row, 16) as usize == self.first_block)
            & (field::<u32>(row, 20) as usize == self.first_ref)
            & (uses <= self.refs - self.first_ref)
            & (codec < 5)
            & BLOCK_LOG2.contains(&block_log2)
            & (field::<u16>(row, 30) == 0)
            & (len <= 1u64.checked_shl(block_log2.into()).unwrap_or(0))
            & (stored <= len)
            & (stored > 0)
            & ((codec != 0) | (stored == len));
        is_valid.then_some((stored, uses))
    }
}

/// Splits a section into rows; an incomplete row at the end is ignored.
fn rows<const N: usize>(bytes: &[u8]) -> &[[u8; N]] {
    bytes.as_chunks::<N>().0
}

/// Reads a field of a row; `at` must be in bounds.
fn field<T: Le + Default>(row: &[u8], at: usize) -> T {
    row.get(at..).and_then(T::get).unwrap_or_default()
}

/// Accessors of a checked index.
#[derive(Clone, Copy, Debug)]
pub struct IndexView<'a> {
    index: &'a Index,
    assets: &'a [u8],
    blocks: &'a [u8],
    refs: &'a [u8],
    materials: &'a [u8],
    keys: &'a [u8],
    text: &'a [u8],
}

impl<'a> IndexView<'a> {
    /// Returns the asset of a kind by ID; materials are not assets.
    pub fn asset(&self, kind: Kind, id: u32) -> Option<Asset> {
        if kind == Kind::Material || id >= self.index.count(kind) {
            return None;
        }
        let number = self.index.firsts[kind as usize] as usize + id as usize;
        let row = rows::<{ AssetRecord::SIZE }>(self.assets).get(number)?;
        let len = field::<u64>(row, 8);
        let block_len = 1u64.checked_shl(row[29].into())?;
        let first = field::<u32>(row, 16) as usize;
        let count = usize::try_from(len.div_ceil(block_len.max(1))).ok()?;
        Some(Asset {
            offset: field(row, 0),
            len,
            codec: Codec::from_number(row[28])?,
            block_len,
            blocks: first..first.checked_add(count)?,
            refs: (field(row, 20), field(row, 24)),
        })
    }

    /// Returns a block by its index.
    pub fn block(&self, number: usize) -> Option<Block> {
        let row = rows::<{ BlockRecord::SIZE }>(self.blocks).get(number)?;
        Some(Block { checksum: field(row, 0), stored_len: field(row, 8) })
    }

    /// Returns the stored length of an asset's payload in bytes.
    pub fn stored_len(&self, asset: &Asset) -> u64 {
        let len = |number| self.block(number).map_or(0, |block| u64::from(block.stored_len));
        asset.blocks.clone().map(len).sum()
    }

    /// Returns the assets that an asset references, in its own order.
    pub fn refs(&self, asset: &Asset) -> impl ExactSizeIterator<Item = (Kind, u32)> + use<'a> {
        let (first, count) = (asset.refs.0 as usize, asset.refs.1 as usize);
        let all = rows::<{ RefRecord::SIZE }>(self.refs);
        let own = first.checked_add(count).and_then(|end| all.get(first..end)).unwrap_or_default();
        own.iter().map(|row| (Kind::from_number(row[0]).unwrap_or(Kind::Blob), field(row, 4)))
    }

    /// Returns the material with this ID.
    pub fn material(&self, id: u32) -> Option<Material> {
        let row = rows::<{ MaterialRecord::SIZE }>(self.materials).get(id as usize)?;
        let material = MaterialRecord::read(&mut Reader::new(row)).ok()?;
        let some = |id: u32| (id != NONE).then_some(id);
        let blue = PARAM_HEIGHT | PARAM_OCCLUSION;
        let known = material.params_used < 32 && material.params_used & blue != blue && material.flags < 8;
        let emissive_strength = Half::from_stored(material.emissive_strength)?;
        (known && material.alpha_cutoff.is_finite()).then_some(Material {
            color: material.color,
            normal: some(material.normal),
            emissive: some(material.emissive),
            params: some(material.params),
            params_used: material.params_used,
            flags: material.flags,
            emissive_strength,
            alpha_cutoff: material.alpha_cutoff,
        })
    }

    /// Returns the number of keys.
    pub fn key_count(&self) -> usize {
        self.keys.len() / KeyRecord::SIZE
    }

    /// Returns key `number` in sort order, with the kind and ID of its asset.
    pub fn key(&self, number: usize) -> Option<(&'a str, Kind, u32)> {
        let row = rows::<{ KeyRecord::SIZE }>(self.keys).get(number)?;
        let key = slice(self.text, field::<u32>(row, 0).into(), field::<u16>(row, 4).into())?;
        Some((core::str::from_utf8(key).ok()?, Kind::from_number(row[6])?, field(row, 8)))
    }

    /// Looks up a key; returns the kind and ID of its asset.
    pub fn find(&self, key: &str) -> Option<(Kind, u32)> {
        let rows = rows::<{ KeyRecord::SIZE }>(self.keys);
        let text = |row: &[u8; KeyRecord::SIZE]| {
            slice(self.text, field::<u32>(row, 0).into(), field::<u16>(row, 4).into()).unwrap_or_default()
        };
        let row = &rows[rows.binary_search_by(|row| text(row).cmp(key.as_bytes())).ok()?];
        Some((Kind::from_number(row[6])?, field(row, 8)))
    }
}
