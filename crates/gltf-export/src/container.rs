//! The files of a document: one `.glb`, or a `.gltf` with its buffer beside it.

use kiln_diagnostics::{Code, Diag, RelPath};
use kiln_import::{MemoryFiles, gltf};

use crate::tree::{self, Json, string};

/// Writes a binary glTF of a JSON and a binary chunk.
///
/// # Errors
/// `gltf-too-large` if the file would exceed the 4 GiB of the format.
pub(crate) fn glb(json: &Json, buffer: &[u8]) -> Result<Vec<u8>, Diag> {
    kiln_format::glb::write(&tree::text(json), buffer)
        .map_err(|_| Diag::new(Code::GltfTooLarge, "the result exceeds the 4 GiB of a binary glTF"))
}

/// Splits a `.glb` into the bytes of a `.gltf` and of its buffer, which has this URI; without a binary chunk, the
/// buffer is `None`.
///
/// # Errors
/// The errors of [reading](gltf::with_document) the file.
pub fn split(glb: Vec<u8>, uri: &str) -> Result<(Vec<u8>, Option<Vec<u8>>), Diag> {
    let source = RelPath::new("model.glb").map_err(|error| Diag::new(Code::Internal, error.to_string()))?;
    let mut files = MemoryFiles::from_iter([(source.clone(), glb)]);
    gltf::with_document(&mut files, &source, |document| {
        let mut json = tree::owned(document.json());
        if let Some(buffer) =
            tree::items_mut(&mut json, "buffers").first_mut().filter(|_| document.binary().is_some())
        {
            tree::set(buffer, "uri", string(&percent_encoded(uri)));
        }
        let mut text = tree::text(&json).into_bytes();
        text.push(b'\n');
        Ok((text, document.binary().map(<[u8]>::to_vec)))
    })
}

/// Encodes the characters of a file name that a URI cannot have.
fn percent_encoded(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    name.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{number, object};

    #[test]
    fn splits_into_json_and_buffer() {
        let json = object([
            ("asset", object([("version", string("2.0"))])),
            ("buffers", Json::Array(vec![object([("byteLength", number(5))])])),
        ]);
        let file = glb(&json, b"abcde").unwrap();
        assert!(file.len().is_multiple_of(4) && file.len() == file[8] as usize);
        let (text, buffer) = split(file, "a b.bin").unwrap();
        let read: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(read["buffers"][0]["uri"], "a%20b.bin");
        assert_eq!(buffer.as_deref(), Some(&b"abcde\0\0\0"[..]));
        assert!(split(b"glTF".to_vec(), "x").is_err());
    }
}
