//! Any bytes as a `.glb` or `.gltf`, alone in its folder: an error or a scene.
#![no_main]

use kiln_import::gltf;
use kiln_kit::mem::Mem;
use kiln_kit::{Cook, Fs, RelPath};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let name = if bytes.starts_with(b"glTF") { "a.glb" } else { "a.gltf" };
    let path = RelPath::new(name).expect("a plain name");
    let files = Mem::new();
    files.put(name, bytes);
    let tree = files.walk(None).expect("a tree");
    let out = Mem::new();
    let mut cook = Cook::new(&path, &files, &tree, &out);
    let _ = gltf::import(&mut cook, &path);
});
