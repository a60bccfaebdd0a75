//! The binary container GLB (glTF 2.0, chapter 4): a header, the JSON chunk, and optionally the BIN chunk of the first
//! buffer.
//!
//! Rejects other versions, and chunks that do not fit into the file.

use kiln_diagnostics::{Code, Diag};

/// The chunks of a container.
pub(super) struct Container<'a> {
    pub(super) json: &'a [u8],
    pub(super) binary: Option<&'a [u8]>,
}

/// Splits a file into its chunks. A file without the GLB magic is JSON as a whole.
pub(super) fn open(bytes: &[u8]) -> Result<Container<'_>, Diag> {
    if !bytes.starts_with(b"glTF") {
        return Ok(Container { json: bytes, binary: None });
    }
    let version = word(bytes, 4).ok_or_else(|| invalid("unexpected end of file in the GLB header"))?;
    if version != 2 {
        return Err(Diag::new(
            Code::GltfVersion,
            format!("the GLB container has version {version}, and only version 2 is supported"),
        )
        .hint("export the model as glTF 2.0"));
    }
    let stated = word(bytes, 8).ok_or_else(|| invalid("unexpected end of file in the GLB header"))? as usize;
    let bytes = bytes.get(..stated).ok_or_else(|| {
        invalid(format!("the GLB header states {stated} bytes, and the file has {}", bytes.len()))
    })?;
    let (kind, json, mut rest) = chunk(bytes.get(12..).unwrap_or_default())?;
    if kind != u32::from_le_bytes(*b"JSON") {
        return Err(invalid("the first GLB chunk is not JSON"));
    }
    while !rest.is_empty() {
        let (kind, data, after) = chunk(rest)?;
        if kind == u32::from_le_bytes(*b"BIN\0") {
            return Ok(Container { json, binary: Some(data) });
        }
        rest = after;
    }
    Ok(Container { json, binary: None })
}

/// Returns the type and the data of the first chunk, and the bytes after it.
fn chunk(bytes: &[u8]) -> Result<(u32, &[u8], &[u8]), Diag> {
    let (Some(length), Some(kind)) = (word(bytes, 0), word(bytes, 4)) else {
        return Err(invalid("unexpected end of file in the header of a GLB chunk"));
    };
    match bytes[8..].split_at_checked(length as usize) {
        Some((data, rest)) => Ok((kind, data, rest)),
        None => Err(invalid(format!("a GLB chunk states {length} bytes, and {} follow", bytes.len() - 8))),
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn invalid(message: impl Into<String>) -> Diag {
    Diag::new(Code::GltfContainer, message)
        .hint("the file is truncated or damaged: export or download it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glb(version: u32, chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let mut bytes = b"glTF".to_vec();
        let length: usize = 12 + chunks.iter().map(|(_, data)| 8 + data.len()).sum::<usize>();
        bytes.extend(version.to_le_bytes());
        bytes.extend((length as u32).to_le_bytes());
        for (kind, data) in chunks {
            bytes.extend((data.len() as u32).to_le_bytes());
            bytes.extend(*kind);
            bytes.extend(*data);
        }
        bytes
    }

    #[test]
    fn reads_json_and_bin_chunks() {
        let bytes = glb(2, &[(b"JSON", b"{}  "), (b"XXXX", b"1234"), (b"BIN\0", b"abcd")]);
        let found = open(&bytes).unwrap();
        assert_eq!((found.json, found.binary), (&b"{}  "[..], Some(&b"abcd"[..])));
        let mut longer = bytes.clone();
        longer.extend(b"more");
        assert_eq!(open(&longer).unwrap().binary, Some(&b"abcd"[..]));
        let found = open(b"{\"asset\": 1}").unwrap();
        assert_eq!((found.json, found.binary), (&b"{\"asset\": 1}"[..], None));
        assert_eq!(open(&glb(2, &[(b"JSON", b"{}")])).unwrap().binary, None);
    }

    #[test]
    fn rejects_truncated_and_damaged_containers() {
        let good = glb(2, &[(b"JSON", b"{}  "), (b"BIN\0", b"abcd")]);
        for end in 4..good.len() {
            assert_eq!(open(&good[..end]).err().unwrap().code, Code::GltfContainer, "{end}");
        }
        assert_eq!(open(&glb(1, &[(b"JSON", b"{}")])).err().unwrap().code, Code::GltfVersion);
        assert_eq!(open(&glb(2, &[(b"BIN\0", b"{}")])).err().unwrap().code, Code::GltfContainer);
        let mut bad = good.clone();
        bad[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(open(&bad).err().unwrap().code, Code::GltfContainer);
        bad = good;
        bad[8..12].copy_from_slice(&4u32.to_le_bytes());
        assert_eq!(open(&bad).err().unwrap().code, Code::GltfContainer);
    }
}
