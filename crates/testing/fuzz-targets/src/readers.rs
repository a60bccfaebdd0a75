//! Targets for readers of files that Kiln writes: runtime formats, paks, databases, the journal.

use std::hint::black_box;

use crate::checksums;
use crate::in_memory_build::{JOURNAL, build_twice};
use kiln_engine::mem::Mem;
use kiln_engine::{Journal, Records, RelPath};
use kiln_format::hpack::{CompressedHpackView, is_accepted_size};
use kiln_format::pak::animation::AnimationView;
use kiln_format::pak::bitmap::BitmapView;
use kiln_format::pak::mesh::MeshView;
use kiln_format::pak::patch::PatchView;
use kiln_format::pak::scene::SceneView;
use kiln_format::pak::signature::SignatureView;
use kiln_format::pak::{HEADER_LEN, Header, Index, Kind, font};
use kiln_format::{FORMATS, Lookup};

/// A lookup that finds no files.
struct Nothing;

impl Lookup for Nothing {
    fn size(&self, _: &str) -> Option<u64> {
        None
    }

    fn bytes(&self, _: &str) -> Option<std::borrow::Cow<'_, [u8]>> {
        None
    }
}

/// Reads a runtime file. Every operation has to succeed on a file that verified.
pub(crate) fn format(name: &str, bytes: &[u8]) {
    let Some(format) = FORMATS.iter().find(|format| format.name() == name) else { return };
    let verified = format.verify(bytes).is_ok();
    let mut text = String::new();
    let results = [
        format.describe(bytes, &mut text),
        format.dump(bytes, &mut text),
        format.facts(bytes, &mut |_, fact| {
            black_box(fact);
        }),
        format.check_references("a", bytes, &Nothing, &mut |problem| drop(black_box(problem))),
    ];
    assert!(!verified || results.iter().all(Result::is_ok), "the file verifies, but is not readable");
}

/// Reads a pack, and decompresses its files. No table of contents makes a file larger than the format allows.
pub(crate) fn hpack(bytes: &[u8]) {
    format("hpack", bytes);
    let Ok(pack) = CompressedHpackView::read(bytes) else { return };
    for (entry, payload) in pack.files() {
        assert!(is_accepted_size(entry.size, entry.content_size));
        let content = payload.content();
        if let Ok(content) = &content {
            assert_eq!(content.len() as u64, payload.content_size());
        }
        assert!(payload.stored().is_none() || content.is_ok(), "a stored file is readable");
        black_box(content.is_ok());
    }
}

/// Reads a pak, and its header and index as if the checksums matched. Exports all assets without their checksums.
pub(crate) fn pak(bytes: &[u8]) {
    let options = pak::Options::default().checksums(false).max_decoded(1 << 20);
    if let Ok(pak) = pak::PakBuf::from_bytes_with(bytes, options) {
        let exporter = pak::export::Exporter::new(&pak);
        for asset in pak.assets() {
            drop(black_box(exporter.export(asset.kind, asset.id)));
        }
    }
    let Some(first) = bytes.get(..HEADER_LEN) else { return };
    let Ok(header) = Header::read(first, bytes.len() as u64) else { return };
    let start = usize::try_from(header.index_offset).unwrap_or(usize::MAX);
    let Some(index_bytes) = bytes.get(start..).and_then(|rest| rest.get(..header.index_len as usize)) else {
        return;
    };
    let Ok(index) = Index::read(index_bytes, &header) else { return };
    let view = index.view(index_bytes);
    for kind in Kind::ALL {
        for id in 0..index.count(kind) {
            let asset = view.asset(kind, id);
            if let Some(asset) = asset {
                black_box(view.refs(&asset).count());
                black_box(view.stored_len(&asset));
            }
            black_box(view.material(id));
        }
    }
    for number in 0..view.key_count() {
        let Some((key, kind, id)) = view.key(number) else { panic!("key {number} is missing") };
        assert_eq!(view.find(key), Some((kind, id)), "{key}");
    }
}

/// Reads a decompressed payload of a pak; the first byte chooses its kind.
pub(crate) fn pak_assets(bytes: &[u8]) {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    match kind % 5 {
        0 => drop(black_box(MeshView::read(bytes))),
        1 => drop(black_box(AnimationView::read(bytes))),
        2 => drop(black_box(BitmapView::read(bytes))),
        3 => drop(black_box(SceneView::read(bytes, 7))),
        _ => drop(black_box(font::read(bytes))),
    }
}

/// Reads the operations of a delta patch, and the layout of a signature file.
pub(crate) fn pak_shipping(bytes: &[u8]) {
    if let Ok(view) = PatchView::read(bytes) {
        let total = view.operations.iter().map(|operation| u128::from(operation.len)).sum::<u128>();
        assert_eq!(total, view.head.new_len.into());
    }
    if let Ok(view) = SignatureView::read(bytes) {
        assert_eq!(view.signed.len() + view.signature.len(), bytes.len());
        black_box(view.blocks.iter().count());
    }
}

/// Reads the headers of a sound.
pub(crate) fn pak_sound(bytes: &[u8]) {
    if let Ok(info) = pak::sound::SoundInfo::parse(bytes) {
        assert!(info.channels > 0 && info.sample_rate > 0);
        black_box(info.duration());
    }
}

/// Reads the database of a Unity project.
pub(crate) fn asset_db(bytes: &[u8]) {
    if let Ok(db) = unity_assetdb::store::decode(bytes) {
        // A database that was read round-trips.
        let again = unity_assetdb::store::encode(&db).and_then(|bytes| unity_assetdb::store::decode(&bytes));
        assert_eq!(again.map(|db| db.entries.len()).ok(), Some(db.entries.len()));
    }
}

/// Reads a build journal up to the first damaged record, appends to it, compacts it and builds on top of it; once more
/// with recomputed checksums.
pub(crate) fn journal(bytes: &[u8]) {
    for bytes in [bytes, &checksums::journal(bytes)] {
        let (out, name) = (Mem::new(), RelPath::new(JOURNAL).expect("a plain name"));
        out.put(JOURNAL, bytes);
        out.put("a.out", b"text");
        let count = {
            let Ok(records) = Records::read(&out, &name, &|| ()) else { return };
            for name in records.names() {
                black_box(records.get(name));
            }
            records.len()
        };
        {
            let Ok(mut cache) = Journal::open(&out, &name, &|| ()) else { return };
            assert_eq!(cache.records().len(), count);
            cache.append(&[("no such asset", None)]).expect("memory takes it");
            cache.compact().expect("memory takes it");
        }
        build_twice(&out, None);
    }
}
