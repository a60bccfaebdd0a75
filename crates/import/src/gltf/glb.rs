//! The binary container (glTF 2.0, chapter 4): a header, the JSON, and perhaps the bytes of the first buffer.
//!
//! Refused are other versions, and chunks that do not fit into the file.

use kiln_engine::{Code, Diag};

/// What a container holds.
pub(super) struct Container<'a> {
    pub(super) json: &'a [u8],
    pub(super) binary: Option<&'a [u8]>,
}

/// Takes a file apart. One without the signature is JSON as a whole.
pub(super) fn open(bytes: &[u8]) -> Result<Container<'_>, Diag> {
    if !bytes.starts_with(b"glTF") {
        return Ok(Container { json: bytes, binary: None });
    }
    let version = word(bytes, 4).ok_or_else(|| broken("the file ends within its header"))?;
    if version != 2 {
        return Err(Diag::new(
            Code::GltfVersion,
            format!("this is version {version} of the container, not 2"),
        )
        .hint("export it as glTF 2.0"));
    }
    let stated = word(bytes, 8).ok_or_else(|| broken("the file ends within its header"))? as usize;
    let bytes = bytes
        .get(..stated)
        .ok_or_else(|| broken(format!("the header says {stated} bytes, and the file has {}", bytes.len())))?;
    let (kind, json, mut rest) = chunk(bytes.get(12..).unwrap_or_default())?;
    if kind != u32::from_le_bytes(*b"JSON") {
        return Err(broken("the first chunk is not JSON"));
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

/// The kind and the data of the first chunk, and what follows it.
fn chunk(bytes: &[u8]) -> Result<(u32, &[u8], &[u8]), Diag> {
    let (Some(length), Some(kind)) = (word(bytes, 0), word(bytes, 4)) else {
        return Err(broken("the file ends within the header of a chunk"));
    };
    match bytes[8..].split_at_checked(length as usize) {
        Some((data, rest)) => Ok((kind, data, rest)),
        None => Err(broken(format!("a chunk says {length} bytes, and {} follow", bytes.len() - 8))),
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn broken(message: impl Into<String>) -> Diag {
    Diag::new(Code::GltfContainer, message)
        .hint("the file is cut off or damaged: export or download it again")
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
    fn chunks_are_found() {
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
    fn what_does_not_fit_is_refused() {
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
