//! Sources that are packed: meshopt views by the reference decoder, Draco by another form of the same model.

use std::path::{Path, PathBuf};

use meshopt::ffi;
use serde_json::Value;

/// The same model in another folder, such as `Box/glTF-Binary/Box.glb` for `Box/glTF-Draco/Box.gltf`.
pub fn uncompressed_variant(path: &Path) -> Option<PathBuf> {
    let (folder, stem) = (path.parent()?, path.file_stem()?);
    let mut forms: Vec<PathBuf> = std::fs::read_dir(folder.parent()?)
        .ok()?
        .flatten()
        .map(|e| e.path())
        .filter(|p| p != folder)
        .collect();
    forms.sort();
    let files = forms.iter().flat_map(|form| ["glb", "gltf"].map(|e| form.join(stem).with_extension(e)));
    files.into_iter().find(|file| file.is_file())
}

/// Unpacks every packed view into the buffer that it stands for.
pub fn unpack(json: &Value, buffers: &mut [Vec<u8>]) -> Result<(), String> {
    let number = |value: &Value, name: &str| value[name].as_u64().map(|n| n as usize);
    for view in json["bufferViews"].as_array().into_iter().flatten() {
        let extensions = &view["extensions"];
        let packed = ["EXT_meshopt_compression", "KHR_meshopt_compression"].map(|name| &extensions[name]);
        let Some(packed) = packed.into_iter().find(|packed| packed.is_object()) else { continue };
        let from = number(packed, "buffer").ok_or("no buffer")?;
        let offset = number(packed, "byteOffset").unwrap_or(0);
        let length = number(packed, "byteLength").ok_or("no length")?;
        let (stride, count) =
            (number(packed, "byteStride").ok_or("no stride")?, number(packed, "count").ok_or("no count")?);
        let data =
            buffers[from].get(offset..offset + length).ok_or("a packed view out of its buffer")?.to_vec();
        let mut unpacked = vec![0u8; stride * count];
        let target = unpacked.as_mut_ptr().cast();
        // SAFETY: the target has room for `count` elements of `stride` bytes, and the source is `data.len()` long,
        // which is what the decoders are given. Filters work in place on the same elements.
        let code = unsafe {
            match packed["mode"].as_str() {
                Some("ATTRIBUTES") => {
                    ffi::meshopt_decodeVertexBuffer(target, count, stride, data.as_ptr(), data.len())
                }
                Some("TRIANGLES") => {
                    ffi::meshopt_decodeIndexBuffer(target, count, stride, data.as_ptr(), data.len())
                }
                Some("INDICES") => {
                    ffi::meshopt_decodeIndexSequence(target, count, stride, data.as_ptr(), data.len())
                }
                other => return Err(format!("mode {other:?}")),
            }
        };
        if code != 0 {
            return Err(format!("a packed view is damaged: {code}"));
        }
        // SAFETY: as above.
        unsafe {
            match packed["filter"].as_str() {
                None | Some("NONE") => {}
                Some("OCTAHEDRAL") => ffi::meshopt_decodeFilterOct(target, count, stride),
                Some("QUATERNION") => ffi::meshopt_decodeFilterQuat(target, count, stride),
                Some("EXPONENTIAL") => ffi::meshopt_decodeFilterExp(target, count, stride),
                Some("COLOR") => ffi::meshopt_decodeFilterColor(target, count, stride),
                Some(other) => return Err(format!("filter {other}")),
            }
        }
        let to = number(view, "buffer").ok_or("no buffer")?;
        let offset = number(view, "byteOffset").unwrap_or(0);
        let room =
            buffers[to].get_mut(offset..offset + unpacked.len()).ok_or("no room for an unpacked view")?;
        room.copy_from_slice(&unpacked);
    }
    Ok(())
}
