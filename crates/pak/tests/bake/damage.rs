//! Corrupt and forged paks: reading gives an error or the original content, and never panics.

use crate::project::{Model, Project};
use pak::{Kind, Options, Pak, PakBuf};
use serde_json::json;

/// Bakes a small pak with assets of every kind.
fn small(compression: &str) -> Vec<u8> {
    let project = Project::new();
    let mut model = Model::new();
    let mesh = model.triangle("A");
    model.node(json!({"mesh": mesh, "name": "one"}), None);
    let times = model.floats("SCALAR", &[0.0, 1.0]);
    let places = model.floats("VEC3", &[0.0; 6]);
    model.json["animations"] = json!([{"channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}],
        "samplers": [{"input": times, "output": places}]}]);
    model.write(&project, "art/m.gltf");
    project.put("art/m.toml", "[mesh]\nshadow = true\n");
    project.put("art/w.toml", "[animation]\nsrc = 'm.gltf'\n");
    project.png("art/p.png", 4, 3, &[9; 48]);
    project.put("art/f.fnt", "page id=0 file=\"p.png\"\n");
    project.put("art/f.toml", "[bitmap-font]\n");
    project.put("art/s.toml", "[scene]\n[[scene.ref]]\nid='x'\nmesh = 'm.toml'\nmaterials = ['#1.toml']\ntags=['a']\ndata.a = [1, 'b']\n");
    project.put("art/#1.toml", "[material]\ncolor = 'p.png'\nrough = 1\n");
    project.put("art/b.bin", vec![3; 300]);
    project.content(compression, "['art/*.toml', 'art/b.bin']");
    project.open();
    project.bytes()
}

/// Dumps the whole content of a pak as text; `None` if any part is rejected.
fn dump(bytes: &[u8]) -> Option<String> {
    let pak = PakBuf::from_bytes(bytes).ok()?;
    let mut text = String::new();
    for entry in pak.entries() {
        text.push_str(&format!("{entry:?}\n"));
        let id = entry.id;
        text.push_str(&match entry.kind {
            Kind::Animation => format!("{:?}", pak.read_animation_id(id).ok()?.sample(0.5)),
            Kind::Bitmap => format!("{:?}", pak.read_bitmap_id(id).ok()?.pixels()),
            Kind::BitmapFont => format!("{:?}", pak.read_bitmap_font_id(id).ok()?.def()),
            Kind::Blob => format!("{:?}", &*pak.read_blob_id(id).ok()?),
            Kind::Material => format!("{:?}", pak.read_material_id(id)?),
            Kind::Mesh => {
                let mesh = pak.read_mesh_id(id).ok()?;
                let parts =
                    mesh.primitives().iter().map(|p| (p.vertex_data().to_vec(), p.lods()[0].as_u32()));
                format!("{:?} {:?}", mesh.bounds(), parts.collect::<Vec<_>>())
            }
            Kind::Scene => {
                let scene = pak.read_scene_id(id).ok()?;
                let refs =
                    scene.refs().map(|r| (r.id(), r.mesh(), r.materials(), r.tags().collect::<Vec<_>>()));
                format!("{:?}", refs.collect::<Vec<_>>())
            }
        });
    }
    Some(text)
}

#[test]
fn detects_every_bit_flip_and_truncation() {
    for compression in ["none", "snap", "brotli", "zstd", "lz4"] {
        let good = small(compression);
        let truth = dump(&good).unwrap();
        assert!(truth.len() > 1000);
        for len in (0..good.len()).step_by(if compression == "none" { 1 } else { 7 }) {
            assert!(
                PakBuf::from_bytes(&good[..len]).is_err(),
                "{compression}: {len} of {} bytes",
                good.len()
            );
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(dump(&bad).is_none_or(|said| said == truth), "{compression}: byte {at}");
            let whole = PakBuf::from_bytes(&bad).is_ok_and(|pak| pak.validate_hash().unwrap());
            assert!(!whole, "{compression}: the flip of byte {at} is not detected");
        }
    }
}

/// A pseudo-random number generator with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % most.max(1)
    }
}

fn mutate(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.below(256) as u8,
            2 => bytes[at..].iter_mut().take(8).for_each(|b| *b = 0xff),
            _ => {
                let from = random.below(bytes.len());
                let len = random.below(32).min(bytes.len() - at.max(from));
                bytes.copy_within(from..from + len, at);
            }
        }
    }
}

#[test]
fn detects_a_hundred_thousand_mutations() {
    let mut random = Random(1);
    for compression in ["none", "snap", "brotli", "zstd", "lz4"] {
        let good = small(compression);
        let truth = dump(&good).unwrap();
        for round in 0..20_000 {
            let mut bad = good.clone();
            mutate(&mut bad, &mut random);
            assert!(dump(&bad).is_none_or(|said| said == truth), "{compression} {round}");
        }
    }
}

/// Recomputes the checksums, as an attacker would.
fn recompute_checksums(bytes: &mut [u8]) {
    let hash = xxhash_rust::xxh3::xxh3_64;
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let start = (number(bytes, 24) as usize).min(bytes.len());
    let index = hash(&bytes[start..]);
    bytes[40..48].copy_from_slice(&index.to_le_bytes());
    let header = hash(&bytes[..48]);
    bytes[48..56].copy_from_slice(&header.to_le_bytes());
}

#[test]
fn mutations_with_valid_checksums_do_not_panic() {
    let mut random = Random(2);
    for compression in ["none", "snap", "brotli", "zstd", "lz4"] {
        let good = small(compression);
        let path = tempfile::NamedTempFile::new().unwrap();
        for round in 0..3000 {
            let mut bad = good.clone();
            mutate(&mut bad, &mut random);
            recompute_checksums(&mut bad);
            let _ = dump(&bad);
            // Without checksums, so that the payloads themselves are validated.
            if round % 3 == 0 {
                std::fs::write(path.path(), &bad).unwrap();
                let options = Options::default().checksums(false).max_decoded(1 << 26);
                if let Ok(pak) = PakBuf::open_with(path.path(), options) {
                    for entry in pak.entries() {
                        let id = entry.id;
                        let _ =
                            (pak.read_animation_id(id), pak.read_bitmap_id(id), pak.read_bitmap_font_id(id));
                        let _ = (pak.read_blob_id(id), pak.read_mesh_id(id), pak.read_material_id(id));
                        if let Ok(scene) = pak.read_scene_id(id) {
                            scene.refs().for_each(|r| drop((r.materials().to_vec(), r.all_data().count())));
                            scene.geometries().for_each(|g| drop((g.index_buf(), g.vertices())));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn rejects_assets_above_max_decoded() {
    let project = Project::new();
    project.put("art/a.bin", vec![0; 3 << 20]);
    project.content("zstd", "['art/*']");
    project.open();
    let options = Options::default().max_decoded(1 << 20);
    let pak = PakBuf::open_with(project.path("out/a.pak"), options).unwrap();
    let error = pak.read_blob("art/a.bin").unwrap_err().to_string();
    assert!(error.contains("art/a.bin") && error.contains("more than the limit"), "{error}");
}

#[test]
fn checksums_can_be_disabled() {
    let project = Project::new();
    project.put("art/a.bin", vec![5; 100]);
    project.open();
    let mut bytes = project.bytes();
    bytes[70] ^= 1;
    std::fs::write(project.path("bad.pak"), &bytes).unwrap();
    let strict = PakBuf::open(project.path("bad.pak")).unwrap();
    let error = strict.read_blob("art/a.bin").unwrap_err().to_string();
    assert_eq!(error, "blob \"art/a.bin\": block 0 is damaged: checksum mismatch");
    let options = Options::default().checksums(false);
    let lax = PakBuf::open_with(project.path("bad.pak"), options).unwrap();
    assert_eq!(lax.read_blob("art/a.bin").unwrap()[6], 4);
}

#[cfg(target_os = "linux")]
#[test]
fn reads_paks_larger_than_4_gib() {
    use std::io::{Read, Seek, SeekFrom};
    let project = Project::new();
    // Sparse files: neither the source nor the pak takes disk space.
    let len = (4 << 30) + (3 << 20);
    let blocks: Vec<kiln_format::pak::Block> = {
        let zeros = vec![0; 1 << 20];
        let checksum = xxhash_rust::xxh3::xxh3_64(&zeros);
        vec![kiln_format::pak::Block { checksum, stored_len: 1 << 20 }; (len >> 20) as usize]
    };
    let small = b"the end";
    let checksum = xxhash_rust::xxh3::xxh3_64(small);
    let asset = |len: u64, blocks| kiln_format::pak::write::AssetBlocks {
        kind: Kind::Blob,
        len,
        codec: pak::Codec::None,
        block_log2: 20,
        blocks,
        refs: vec![],
    };
    let last = vec![kiln_format::pak::Block { checksum, stored_len: small.len() as u32 }];
    let assets = [asset(len, blocks), asset(small.len() as u64, last)];
    let mut keys = vec![("big".into(), Kind::Blob, 0), ("small".into(), Kind::Blob, 1)];
    let index = kiln_format::pak::write::index(&assets, &[], &mut keys).unwrap();
    let at = kiln_format::pak::write::next_payload(64 + len + small.len() as u64);
    let hash = xxhash_rust::xxh3::xxh3_64;
    let header = kiln_format::pak::write::header(at, index.len() as u64, hash(&index), hash);
    {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::create(project.path("big.pak")).unwrap();
        file.write_all_at(&header, 0).unwrap();
        file.write_all_at(small, 64 + len).unwrap();
        file.write_all_at(&index, at).unwrap();
    }
    let pak = PakBuf::open(project.path("big.pak")).unwrap();
    assert_eq!(*pak.read_blob("small").unwrap(), *small);
    let mut stream = pak.stream_blob("big").unwrap();
    assert_eq!(stream.seek(SeekFrom::End(-1)).unwrap(), len - 1);
    assert_eq!(stream.read(&mut [9; 4]).unwrap(), 1);
}
