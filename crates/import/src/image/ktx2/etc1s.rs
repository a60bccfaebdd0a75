//! ETC1S, the low-bitrate mode of Basis Universal: two codebooks for the whole file, and slices of indices into them.
//!
//! Implements the bitstream that KTX 2.0 calls BasisLZ (section 4.1 and appendix A of its specification). A block is an
//! endpoint (a colour of 5 bits per channel and one of eight intensity tables of ETC1) and a selector (2 bits per texel).

use std::ops::Range;

use kiln_uastc::ETC1_MODIFIERS;

use super::super::{le16, le32};
use super::huffman::{Bits, Code};
use super::{Grid, Texel};

/// The length of the global data header, and of an image descriptor.
const HEADER: usize = 20;
/// The flag of an image that is the difference to the image before it.
const P_FRAME: u32 = 2;
/// The predictor symbol that repeats the previous one, and the shortest such run.
const REPEAT: u32 = 256;
const MIN_REPEATS: u32 = 3;
/// The run length symbol that is followed by an explicit length, and the shortest run.
const LONG_RUN: u32 = 63;
const MIN_RUN: u32 = 3;

#[derive(Clone, Copy)]
struct Endpoint {
    colour: [u8; 3],
    intensity: u8,
}

impl Endpoint {
    /// Returns the colour of each selector.
    fn palette(self) -> [[u8; 3]; 4] {
        let wide = self.colour.map(|c| i32::from(c << 3 | c >> 2));
        ETC1_MODIFIERS[usize::from(self.intensity)]
            .map(|offset| wide.map(|channel| (channel + offset).clamp(0, 255) as u8))
    }
}

/// The offsets of the slices of the first image in its level.
pub(super) struct Slices {
    pub(super) colour: Range<u64>,
    pub(super) alpha: Range<u64>,
}

/// The codebooks that all slices share.
pub(super) struct Codebooks {
    endpoints: Vec<Endpoint>,
    /// Two bits per texel, from the first.
    selectors: Vec<u32>,
    predictors: Code,
    endpoint_deltas: Code,
    selector_symbols: Code,
    run_lengths: Code,
    history: usize,
}

impl Codebooks {
    /// Reads the global data of a file with this many images; returns the codebooks and the slices of the first.
    pub(super) fn read(global: &[u8], images: usize) -> Option<(Codebooks, Slices)> {
        let word = |at: usize| le32(global, at);
        let (endpoint_count, selector_count) = (le16(global, 0)? as usize, le16(global, 2)? as usize);
        let image = |index: usize| word(HEADER + 4 * index);
        if endpoint_count == 0 || selector_count == 0 || image(0)? & P_FRAME != 0 {
            return None;
        }
        let slice = |at: usize| Some(image(at)?.into()..u64::from(image(at)?) + u64::from(image(at + 1)?));
        let slices = Slices { colour: slice(1)?, alpha: slice(3)? };

        let mut rest = global.get(images.checked_add(1)?.checked_mul(HEADER)?..)?;
        let mut section = |at: usize| {
            let (section, after) = rest.split_at_checked(usize::try_from(word(at)?).ok()?)?;
            rest = after;
            Some(section)
        };
        let (endpoints, selectors, tables) = (section(4)?, section(8)?, section(12)?);
        let mut tables = Bits::new(tables);
        let books = Codebooks {
            endpoints: read_endpoints(&mut Bits::new(endpoints), endpoint_count)?,
            selectors: read_selectors(&mut Bits::new(selectors), selector_count)?,
            predictors: Code::read(&mut tables)?,
            endpoint_deltas: Code::read(&mut tables)?,
            selector_symbols: Code::read(&mut tables)?,
            run_lengths: Code::read(&mut tables)?,
            history: tables.take(13)? as usize,
        };
        (books.history > 0).then_some((books, slices))
    }

    /// Decodes a slice, and calls `set` with the colour of each texel.
    pub(super) fn decode(
        &self,
        slice: &[u8],
        grid: &mut Grid,
        set: impl Fn(&mut Texel, [u8; 3]),
    ) -> Option<()> {
        let mut bits = Bits::new(slice);
        let mut endpoints = EndpointReader::new(grid.blocks_wide());
        let mut selectors = SelectorReader { history: History::new(self.history), run: 0 };
        for (x, y) in grid.blocks() {
            let endpoint = endpoints.next(self, &mut bits, x, y)?;
            let selector = selectors.next(self, &mut bits)?;
            let palette = self.endpoints.get(endpoint)?.palette();
            let selector = *self.selectors.get(selector)?;
            grid.put(x, y, |index, texel| set(texel, palette[(selector >> (2 * index) & 3) as usize]));
        }
        Some(())
    }
}

fn read_endpoints(bits: &mut Bits<'_>, count: usize) -> Option<Vec<Endpoint>> {
    // The Huffman code of a delta depends on the previous value: up to 9, up to 21, above.
    let deltas = [Code::read(bits)?, Code::read(bits)?, Code::read(bits)?];
    let intensities = Code::read(bits)?;
    let channels = if bits.take(1)? == 1 { 1 } else { 3 };
    let mut last = Endpoint { colour: [16; 3], intensity: 0 };
    let mut endpoints = Vec::with_capacity(count);
    for _ in 0..count {
        last.intensity = (u32::from(last.intensity) + intensities.take(bits)?) as u8 & 7;
        for value in &mut last.colour[..channels] {
            let code = &deltas[usize::from(*value > 9) + usize::from(*value > 21)];
            *value = (u32::from(*value) + code.take(bits)?) as u8 & 31;
        }
        if channels == 1 {
            last.colour = [last.colour[0]; 3];
        }
        endpoints.push(last);
    }
    Some(endpoints)
}

fn read_selectors(bits: &mut Bits<'_>, count: usize) -> Option<Vec<u32>> {
    // Global and hybrid codebooks are not part of KTX.
    if bits.take(2)? != 0 {
        return None;
    }
    let plain = bits.take(1)? == 1;
    let deltas = if plain { None } else { Code::read_any(bits)? };
    let mut last = [0u8; 4];
    let mut selectors = Vec::with_capacity(count);
    for index in 0..count {
        for row in &mut last {
            *row = match &deltas {
                Some(deltas) if index > 0 => *row ^ deltas.take(bits)? as u8,
                None if index > 0 && !plain => return None,
                _ => bits.take(8)? as u8,
            };
        }
        selectors.push(u32::from_le_bytes(last));
    }
    Some(selectors)
}

/// Decodes the endpoints of blocks in raster order: predicted from neighbours, or coded as deltas.
struct EndpointReader {
    /// The endpoints of the previous row, overwritten by those of this row from the left.
    row: Vec<usize>,
    upper_left: usize,
    last: usize,
    /// The predictors of the two blocks of the next row.
    below: Vec<u32>,
    /// The predictors of this block and, in an even column, of the next one.
    predictors: u32,
    /// The predictors of the last group of 2x2 blocks, and their remaining repeats.
    group: u32,
    repeats: u32,
}

impl EndpointReader {
    fn new(wide: usize) -> Self {
        let (row, below) = (vec![0; wide], vec![0; wide.div_ceil(2)]);
        EndpointReader { row, upper_left: 0, last: 0, below, predictors: 0, group: 0, repeats: 0 }
    }

    fn next(&mut self, books: &Codebooks, bits: &mut Bits<'_>, x: usize, y: usize) -> Option<usize> {
        if x.is_multiple_of(2) {
            self.predictors = match y.is_multiple_of(2) {
                true => self.next_group(books, bits, x / 2)?,
                false => self.below[x / 2],
            };
        }
        let above = self.row[x];
        let endpoint = match self.predictors & 3 {
            0 if x > 0 => self.last,
            1 if y > 0 => above,
            2 if x > 0 && y > 0 => self.upper_left,
            3 => {
                let sum = self.last + books.endpoint_deltas.take(bits)? as usize;
                if sum < books.endpoints.len() { sum } else { sum - books.endpoints.len() }
            }
            _ => return None,
        };
        self.predictors >>= 2;
        (self.upper_left, self.row[x], self.last) = (above, endpoint, endpoint);
        Some(endpoint)
    }

    fn next_group(&mut self, books: &Codebooks, bits: &mut Bits<'_>, column: usize) -> Option<u32> {
        match self.repeats.checked_sub(1) {
            Some(fewer) => self.repeats = fewer,
            None => match books.predictors.take(bits)? {
                REPEAT => self.repeats = bits.take_groups(4)?.saturating_add(MIN_REPEATS - 1),
                symbol => self.group = symbol,
            },
        }
        self.below[column] = self.group >> 4;
        Some(self.group & 15)
    }
}

/// Decodes the selectors of blocks: indices, or positions in the history buffer.
struct SelectorReader {
    history: History,
    /// The remaining repeats of the first entry of the history.
    run: u32,
}

impl SelectorReader {
    fn next(&mut self, books: &Codebooks, bits: &mut Bits<'_>) -> Option<usize> {
        if let Some(fewer) = self.run.checked_sub(1) {
            self.run = fewer;
            return self.history.take(0);
        }
        let symbol = books.selector_symbols.take(bits)? as usize;
        match symbol.checked_sub(books.selectors.len()) {
            None => {
                self.history.add(symbol);
                Some(symbol)
            }
            Some(place) if place == books.history => {
                let run = match books.run_lengths.take(bits)? {
                    LONG_RUN => bits.take_groups(7)?,
                    length => length,
                };
                self.run = run.saturating_add(MIN_RUN - 1);
                self.history.take(0)
            }
            Some(place) => self.history.take(place),
        }
    }
}

/// A history buffer of selectors with approximate move-to-front.
struct History {
    selectors: Vec<usize>,
    /// The position of the next new selector, in the second half.
    next: usize,
}

impl History {
    fn new(len: usize) -> Self {
        History { selectors: vec![0; len], next: len / 2 }
    }

    fn add(&mut self, selector: usize) {
        self.selectors[self.next] = selector;
        self.next += 1;
        if self.next == self.selectors.len() {
            self.next = self.selectors.len() / 2;
        }
    }

    /// Moves a selector halfway to the front.
    fn take(&mut self, place: usize) -> Option<usize> {
        let selector = *self.selectors.get(place)?;
        self.selectors.swap(place, place / 2);
        Some(selector)
    }
}
