//! Damaged files: a model or an error, never a panic, within bounded memory.

use crate::text::{Text, array};
use crate::{import, import_with};
use kiln_import::{Code, Limits, MemoryFiles, RelPath, fbx};
use std::time::Duration;

/// A deterministic pseudo-random number generator.
struct Noise(u64);

impl Noise {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % bound.max(1) as u64) as usize
    }
}

fn files() -> [Vec<u8>; 3] {
    [
        include_bytes!("../data/fbx/shapes.fbx").to_vec(),
        include_bytes!("../data/fbx/rig.fbx").to_vec(),
        crate::text::square("", &[("Lcl Translation", [1.0, 2.0, 3.0])]).bytes(),
    ]
}

/// Imports a model and checks the result.
#[track_caller]
fn holds(bytes: &[u8]) {
    let (found, reads) = import_with(bytes, &[]);
    assert!(reads.iter().all(|path| path == "models/m.fbx"), "{reads:?}");
    match found {
        // A valid scene can be traversed and measured.
        Ok(found) => assert!(found.value.draws().filter(|draw| draw.world.is_finite()).count() < 1000),
        Err(error) => assert!(!error.message.is_empty() && error.path.as_deref() == Some("models/m.fbx")),
    }
}

#[test]
fn limits_apply_to_the_library_and_to_the_scene() {
    let bytes = include_bytes!("../data/fbx/shapes.fbx");
    let with = |max_memory, max_time| {
        let mut files = MemoryFiles::new();
        files.insert("m.fbx", bytes).unwrap();
        let limits = Limits { max_memory, max_time, ..Limits::default() };
        fbx::import(&mut files.with_limits(limits), &RelPath::new("m.fbx").unwrap())
    };
    // Least what it takes: more is enough, and every lower limit is named.
    let enough = (10..30).find(|bits| with(1 << bits, None).is_ok()).expect("a gigabyte is enough");
    assert!(enough > 10, "{enough}");
    for bits in 0..enough {
        for limit in [1 << bits, 3 << bits >> 1] {
            if let Err(error) = with(limit, None) {
                assert_eq!(error.code, Code::MemoryLimit, "{limit}: {error}");
                assert!(error.message.contains(&limit.to_string()), "{limit}: {error}");
            }
        }
    }
    let error = with(1 << 30, Some(Duration::from_nanos(1))).unwrap_err();
    assert_eq!(error.code, Code::TimeLimit, "{error}");
}

#[test]
fn every_truncation_is_handled() {
    for bytes in files() {
        for end in (0..bytes.len()).step_by(bytes.len() / 150 + 1) {
            holds(&bytes[..end]);
        }
    }
}

#[test]
fn flipped_bytes_are_handled() {
    let mut noise = Noise(11);
    for good in files() {
        for _ in 0..300 {
            let mut bytes = good.clone();
            for _ in 0..1 + noise.below(8) {
                let at = noise.below(bytes.len());
                bytes[at] =
                    [0, 0xFF, bytes[at] ^ 1, bytes[at] ^ 0x80, noise.below(256) as u8][noise.below(5)];
            }
            holds(&bytes);
        }
    }
}

#[test]
fn removed_and_duplicated_ranges_are_handled() {
    let mut noise = Noise(5);
    for good in files() {
        for _ in 0..100 {
            let mut bytes = good.clone();
            let from = noise.below(bytes.len());
            let to = from + noise.below((bytes.len() - from).min(400));
            let piece: Vec<u8> = bytes[from..to].to_vec();
            match noise.below(2) {
                0 => drop(bytes.drain(from..to)),
                _ => drop(bytes.splice(from..from, piece)),
            }
            holds(&bytes);
        }
    }
}

/// Numbers in a text file that are out of any bounds.
#[test]
fn out_of_range_numbers_are_handled() {
    let text = crate::text::square("", &[("Lcl Translation", [1.0, 2.0, 3.0])]).text();
    let odd = ["-1", "4294967296", "1e999", "-1e999", "nan", "99999999999999999999", "1e-999", "0"];
    for (at, _) in text.match_indices(|c: char| c.is_ascii_digit()).step_by(3) {
        for value in odd {
            let end = text[at..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |n| at + n);
            holds(format!("{}{value}{}", &text[..at], &text[end..]).as_bytes());
        }
    }
}

#[test]
fn memory_is_bounded_by_the_file() {
    // A count that the array does not have.
    let vertices = array("Vertices", &[0.0; 9]).replace("*9", "*2000000000");
    let body = format!("{vertices}\n{}\nGeometryVersion: 124", array("PolygonVertexIndex", &[0, 1, -3]));
    let text =
        Text::new().object("Geometry", 1, "g", "Mesh", &body).node(2, "n", "Mesh", &[]).link(1, 2).link(2, 0);
    holds(&text.bytes());
    // One mesh, drawn with ever other materials: each is another mesh.
    let corners: Vec<[f64; 3]> = (0..30_000).map(|i| [f64::from(i % 100), f64::from(i / 100), 0.0]).collect();
    let faces: Vec<[i32; 3]> = (0..29_998).map(|i| [i, i + 1, i + 2]).collect();
    let faces: Vec<&[i32]> = faces.iter().map(|face| face.as_slice()).collect();
    let mut text = Text::new().mesh(1, &corners, &faces, "");
    for n in 0..200 {
        text = text.object("Material", 1000 + n, "m", "", "Version: 102");
        text = text.node(10 + n, "n", "Mesh", &[]).link(1, 10 + n).link(10 + n, 0).link(1000 + n, 10 + n);
    }
    let error = import(&text.bytes()).err().unwrap();
    assert_eq!(error.code, Code::FbxTooLarge, "{error}");
    // A clip of more layers than anyone has.
    let mut text = crate::text::square("", &[]).object("AnimationStack", 20, "s", "", "");
    for n in 0..100 {
        text = text.object("AnimationLayer", 100 + n, "l", "", "").link(100 + n, 20);
    }
    assert_eq!(import(&text.bytes()).err().unwrap().code, Code::FbxTooLarge);
}

/// Parents in a ring, and objects that belong to themselves.
#[test]
fn cycles_terminate() {
    let text = Text::new()
        .node(1, "a", "Null", &[])
        .node(2, "b", "Null", &[])
        .link(1, 2)
        .link(2, 1)
        .node(3, "c", "Null", &[])
        .link(3, 3);
    holds(&text.bytes());
}
