//! Readers of what Kiln itself writes: runtime files, paks, databases, the journal.

use std::hint::black_box;

use crate::cooking::{JOURNAL, build_twice};
use crate::seal;
use kiln_engine::mem::Mem;
use kiln_engine::{Journal, Records, RelPath};
use kiln_format::pak::animation::AnimationView;
use kiln_format::pak::bitmap::BitmapView;
use kiln_format::pak::mesh::MeshView;
use kiln_format::pak::scene::SceneView;
use kiln_format::pak::{HEADER_LEN, Header, Index, Kind, font};
use kiln_format::{FORMATS, Lookup};

/// A tree without files.
struct Nothing;

impl Lookup for Nothing {
    fn size(&self, _: &str) -> Option<u64> {
        None
    }

    fn bytes(&self, _: &str) -> Option<std::borrow::Cow<'_, [u8]>> {
        None
    }
}

/// A runtime file: whatever a format says of it, it can say all of it once it was verified.
pub(crate) fn format(name: &str, bytes: &[u8]) {
    let Some(format) = FORMATS.iter().find(|format| format.name() == name) else { return };
    let verified = format.verify(bytes).is_ok();
    let mut text = String::new();
    let told = [
        format.describe(bytes, &mut text),
        format.dump(bytes, &mut text),
        format.facts(bytes, &mut |_, fact| {
            black_box(fact);
        }),
        format.cross("a", bytes, &Nothing, &mut |problem| drop(black_box(problem))),
    ];
    assert!(!verified || told.iter().all(Result::is_ok), "verified, but not readable");
}

/// The header and index of a pak, as if its checksums were right.
pub(crate) fn pak(bytes: &[u8]) {
    let _ = pak::PakBuf::from_bytes(bytes).map(|pak| black_box(pak.keys().count()));
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
        let Some((key, kind, id)) = view.key(number) else { panic!("key {number} is not there") };
        assert_eq!(view.find(key), Some((kind, id)), "{key}");
    }
}

/// What a pak holds, after it was unpacked.
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

/// The database of a Unity project.
pub(crate) fn asset_db(bytes: &[u8]) {
    if let Ok(db) = unity_assetdb::store::decode(bytes) {
        // What was read can be written, and is read again as the same.
        let again = unity_assetdb::store::decode(&unity_assetdb::store::encode(&db));
        assert_eq!(again.map(|db| db.entries.len()).ok(), Some(db.entries.len()));
    }
}

/// The journal of a build: everything up to the first damage, and what is written after it is found again. Once more as
/// if its checksums were right.
pub(crate) fn journal(bytes: &[u8]) {
    for bytes in [bytes, &seal::journal(bytes)] {
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
