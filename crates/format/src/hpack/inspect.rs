//! The [`Format`] implementation of packs: `info`, `check` and dumps.

use super::{MAGIC, PackKind, Toc};
use crate::bytes::{slice, zeroed};
use crate::table::{FormatId, format_entry};
use crate::{Error, Format, zstd_frame};

#[cfg(feature = "tools")]
use super::{COMPRESSED_VERSION, CompressedRecord, Header, PackEntry, Record};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, ZstdFrame, error::Count, refs};

// Packs are not nested, so their own kind is `Other`.
format_entry!(
    HPack,
    FormatId { name: "hpack", magic: &MAGIC, title: "packs", noun: "pack", kind: PackKind::Other }
);

impl Format for HPack {
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        let toc = Toc::read(bytes, bytes.len() as u64)?;
        #[cfg(feature = "tools")]
        toc.check_shared()?;
        let mut end = toc.head_len();
        for entry in toc.payloads() {
            zeroed(bytes, end, entry.offset)?;
            end = entry.offset + entry.size;
            if entry.is_compressed() {
                let frame = slice(bytes, entry.offset, entry.size).unwrap_or_default();
                zstd_frame::check(frame, entry.offset, entry.content_size)?;
            }
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn zstd_frames(&self, bytes: &[u8], each: &mut dyn FnMut(ZstdFrame<'_>)) -> Result<(), Error> {
        for PackEntry { offset, size, content_size, .. } in
            Toc::read(bytes, bytes.len() as u64)?.payloads().filter(PackEntry::is_compressed)
        {
            let bytes = slice(bytes, offset, size).unwrap_or_default();
            each(ZstdFrame { offset, bytes, content_len: content_size });
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let toc = Toc::read(bytes, bytes.len() as u64)?;
        let (payload, padding) = sums(&toc);
        let len = Count(toc.len() as u64, "entry", "entries");
        write!(
            out,
            "v{} | {len} | {} B header and table of contents | {payload} B payload | {padding} B padding",
            toc.version(),
            toc.head_len(),
        )?;
        if toc.version() == COMPRESSED_VERSION {
            let compressed = Count(compressed_count(&toc), "compressed file", "compressed files");
            write!(out, " | {compressed} | {} B content", content(&toc))?;
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let toc = Toc::read(bytes, bytes.len() as u64)?;
        let (payload, padding) = sums(&toc);
        each("version", Fact::Number(toc.version().into()));
        each("entries", Fact::Total(toc.len() as u64));
        each("header_bytes", Fact::Number(Header::SIZE as u64));
        each("toc_bytes", Fact::Number(toc.head_len() - Header::SIZE as u64));
        each("payload_bytes", Fact::Number(payload));
        each("padding_bytes", Fact::Number(padding));
        if toc.version() == COMPRESSED_VERSION {
            each("compressed", Fact::Total(compressed_count(&toc)));
            each("content_bytes", Fact::Number(content(&toc)));
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let toc = Toc::read(bytes, bytes.len() as u64)?;
        writeln!(out, "hpack v{}, {}", toc.version(), Count(toc.len() as u64, "entry", "entries"))?;
        for entry in toc.entries() {
            let PackEntry { offset, size, content_size, kind, path } = entry;
            let data = slice(bytes, offset, size).unwrap_or_default();
            let (kind, hash) = (kind.name(), refs::fnv1a_64(data));
            write!(out, "{kind} {path:?} {size} B @{offset} fnv {hash:016x}")?;
            if entry.is_compressed() {
                write!(out, " zstd {content_size} B")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        &[Header::LAYOUT, Record::LAYOUT, CompressedRecord::LAYOUT]
    }
}

/// Returns the total number of payload bytes, shared ones once, and of padding bytes.
#[cfg(feature = "tools")]
fn sums(toc: &Toc<'_>) -> (u64, u64) {
    let payload: u64 = toc.payloads().map(|e| e.size).sum();
    let end = toc.payloads().last().map_or(toc.head_len(), |e| e.offset + e.size);
    (payload, end - toc.head_len() - payload)
}

/// Returns the number of compressed payloads, shared ones once.
#[cfg(feature = "tools")]
fn compressed_count(toc: &Toc<'_>) -> u64 {
    toc.payloads().filter(PackEntry::is_compressed).count() as u64
}

/// Returns the total length of the contents in bytes, shared ones once.
#[cfg(feature = "tools")]
fn content(toc: &Toc<'_>) -> u64 {
    toc.payloads().fold(0, |sum, entry| sum.saturating_add(entry.content_size))
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use alloc::{string::String, vec};

    #[test]
    fn facts_sum_to_the_size_of_the_file() {
        let files: [(&str, &[u8]); 4] =
            [("b/t.ktx2", b"texture"), ("a.txt", b""), ("assets.hman", &[7; 16]), ("z", b"!")];
        let bytes = super::super::write(&files).unwrap();
        let mut facts = vec![];
        HPack.facts(&bytes, &mut |name, fact| facts.push((name, std::format!("{fact:?}")))).unwrap();
        let number = |name| {
            let (_, text) = facts.iter().find(|(n, _)| *n == name).unwrap();
            text.trim_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().unwrap()
        };
        assert_eq!(number("entries"), 4);
        assert_eq!(
            number("header_bytes") + number("toc_bytes") + number("payload_bytes") + number("padding_bytes"),
            bytes.len()
        );
        let mut dump = String::new();
        HPack.dump(&bytes, &mut dump).unwrap();
        assert!(dump.contains("other \"a.txt\" 0 B @"), "{dump}");
    }
}
