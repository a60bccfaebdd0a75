//! Damaged files: a model or an error, never a panic, within bounded memory.

use crate::compression::{draco_grid, meshopt_grid};
use crate::imported::import;
use crate::malformed::everything;
use crate::model::{Model, U16};
use serde_json::{Value, json};

/// A deterministic pseudo-random number generator.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Imports a model and checks the result.
fn holds(bytes: Vec<u8>) -> bool {
    match import("m.glb", &[("m.glb", bytes)]) {
        Ok(found) => {
            // A valid scene can be traversed and measured.
            let draws = found.value.draws().take(10_000).filter(|draw| draw.world.is_finite()).count();
            draws <= 10_000
        }
        Err(error) => !error.message.is_empty() && error.path.as_deref() == Some("m.glb"),
    }
}

fn models() -> Vec<Model> {
    let mut packed = everything();
    packed.json["nodes"][1]["extensions"] =
        json!({"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": 0, "SCALE": 0}}});
    let mut bare = Model::triangle();
    bare.json["meshes"][0]["primitives"][0]["mode"] = json!(5);
    vec![everything(), packed, bare]
}

#[test]
fn every_truncation_is_handled() {
    for model in models() {
        let good = model.glb();
        for end in 0..good.len() {
            assert!(import("m.glb", &[("m.glb", good[..end].to_vec())]).is_err(), "{end} of {}", good.len());
        }
    }
}

#[test]
fn flipped_bytes_are_handled() {
    let mut noise = Noise(1);
    for model in models() {
        let good = model.glb();
        for _ in 0..4000 {
            let mut bytes = good.clone();
            for _ in 0..1 + noise.below(4) {
                let at = noise.below(bytes.len());
                bytes[at] = match noise.below(3) {
                    0 => noise.next() as u8,
                    1 => bytes[at] ^ (1 << noise.below(8)),
                    _ => b"0123456789{}[]\",:-e."[noise.below(20)],
                };
            }
            assert!(holds(bytes));
        }
    }
}

/// All values of a document, as pointers.
fn pointers(value: &Value, here: String, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| pointers(item, format!("{here}/{i}"), found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, item)| pointers(item, format!("{here}/{name}"), found));
        }
        _ => {}
    }
    found.push(here);
}

#[test]
fn replaced_json_values_are_handled() {
    let others = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(2),
        json!(3),
        json!(-1),
        json!(0.5),
        json!(255),
        json!(65536),
        json!(4294967295u32),
        json!(1u64 << 40),
        json!((1u64 << 53) - 1),
        json!(1e308),
        json!(""),
        json!("VEC4"),
        json!("MAT4"),
        json!([]),
        json!([0, 1, 2]),
        json!({}),
        json!({"bufferView": 0, "count": 1}),
    ];
    for model in models() {
        let mut places = Vec::new();
        pointers(&model.json, String::new(), &mut places);
        for place in places.iter().filter(|place| !place.is_empty()) {
            for other in &others {
                let mut changed = model.clone();
                *changed.json.pointer_mut(place).unwrap() = other.clone();
                assert!(holds(changed.glb()), "{place} = {other}");
            }
        }
    }
}

#[test]
fn swapped_json_values_are_handled() {
    let mut noise = Noise(2);
    for model in models() {
        let mut places = Vec::new();
        pointers(&model.json, String::new(), &mut places);
        for _ in 0..3000 {
            let mut changed = model.clone();
            for _ in 0..1 + noise.below(3) {
                let from = &places[noise.below(places.len())];
                let to = &places[noise.below(places.len())];
                let value = changed.json.pointer(from).cloned().unwrap_or_default();
                if let Some(place) = changed.json.pointer_mut(to).filter(|_| !to.is_empty()) {
                    *place = value;
                }
            }
            assert!(holds(changed.glb()));
        }
    }
}

#[test]
fn flipped_compressed_bytes_are_handled() {
    let mut noise = Noise(3);
    let meshopt = |mode| meshopt_grid("KHR_meshopt_compression", mode, U16);
    for model in [meshopt("TRIANGLES"), meshopt("INDICES"), draco_grid(true), draco_grid(false)] {
        for _ in 0..2000 {
            let mut changed = model.clone();
            for _ in 0..1 + noise.below(4) {
                let near_start = noise.below(2) == 0;
                let at = noise.below(if near_start { 64 } else { changed.data.len() });
                changed.data[at] = noise.next() as u8;
            }
            assert!(holds(changed.glb()));
        }
    }
}
