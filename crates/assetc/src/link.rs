//! The serial end of a build: the manifest rows of all assets become one `assets.hman`.

use kiln_format::hman::{self, Colorspace, Kind};
use kiln_format::ktx2::{self, Transfer};
use kiln_format::refs;
use kiln_kit::wire::{Reader, Writer};
use kiln_kit::{Code, Diag, Fs, RelPath};
use std::collections::HashSet;

/// The name of the manifest in the output.
pub const MANIFEST: &str = "assets.hman";

/// One line of the manifest, as an asset contributes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The hash of the runtime ref.
    pub hash: u64,
    /// What it leads to.
    pub kind: Kind,
    /// How its texels are to be read.
    pub colorspace: Colorspace,
    /// Where it is in the output.
    pub path: RelPath,
}

/// Rows as the journal remembers them.
pub(crate) fn encode_rows(rows: &[Row]) -> Vec<u8> {
    if rows.is_empty() {
        return vec![];
    }
    let mut w = Writer::new();
    w.count(rows.len());
    for row in rows {
        w.u64(row.hash);
        w.u8(row.kind as u8);
        w.u8(row.colorspace as u8);
        w.text(row.path.as_str());
    }
    w.finish()
}

/// Rows as they were remembered; `None` when the bytes are none.
pub(crate) fn decode_rows(bytes: &[u8]) -> Option<Vec<Row>> {
    if bytes.is_empty() {
        return Some(vec![]);
    }
    let mut r = Reader::new(bytes);
    let rows = (0..r.count()?)
        .map(|_| {
            Some(Row {
                hash: r.u64()?,
                kind: pick(Kind::ALL, r.u8()?)?,
                colorspace: pick(Colorspace::ALL, r.u8()?)?,
                path: RelPath::new(r.text()?).ok()?,
            })
        })
        .collect::<Option<Vec<Row>>>()?;
    r.is_empty().then_some(rows)
}

fn pick<T: Copy, const N: usize>(all: [T; N], index: u8) -> Option<T> {
    all.get(usize::from(index)).copied()
}

/// Rows for these outputs as well, by what their names and files say; for a manifest of everything.
pub(crate) fn complete<'p>(
    rows: &mut Vec<Row>,
    out: &dyn Fs,
    outputs: impl Iterator<Item = &'p RelPath>,
) -> Result<(), Diag> {
    /// Header, index and descriptor of a texture are shorter.
    const HEAD: usize = 4096;
    let listed: HashSet<RelPath> = rows.iter().map(|row| row.path.clone()).collect();
    for path in outputs.filter(|path| !listed.contains(*path)) {
        let kind = Kind::from_path(path.as_str());
        let mut colorspace = Colorspace::Linear;
        if matches!(kind, Kind::Texture | Kind::Lut) {
            let head = out.peek(path, HEAD).map_err(|e| {
                Diag::new(Code::Unreadable, format!("cannot read it for the manifest: {e}")).path(path)
            })?;
            if ktx2::transfer(&head) == Ok(Transfer::Srgb) {
                colorspace = Colorspace::Srgb;
            }
        }
        rows.push(Row { hash: refs::hash_runtime_path(path.as_str()), kind, colorspace, path: path.clone() });
    }
    Ok(())
}

/// The bytes of the manifest; two paths with one hash are an error.
pub(crate) fn manifest(rows: &[Row]) -> Result<Vec<u8>, Diag> {
    let entries: Vec<_> = rows
        .iter()
        .map(|row| hman::Entry {
            hash: row.hash,
            kind: row.kind,
            colorspace: row.colorspace,
            path: row.path.as_str(),
        })
        .collect();
    hman::write(&entries).map_err(|error| {
        Diag::new(Code::Manifest, error.to_string()).path(MANIFEST).hint("rename one of the sources")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(hash: u64, path: &str) -> Row {
        Row { hash, kind: Kind::Texture, colorspace: Colorspace::Srgb, path: RelPath::new(path).unwrap() }
    }

    #[test]
    fn rows_are_remembered_as_they_were() {
        for rows in [vec![], vec![row(1, "a.ktx2"), row(u64::MAX, "b/c.ktx2")]] {
            assert_eq!(decode_rows(&encode_rows(&rows)), Some(rows));
        }
        let bytes = encode_rows(&[row(1, "a.ktx2")]);
        for end in 1..bytes.len() {
            assert_eq!(decode_rows(&bytes[..end]), None);
        }
    }

    #[test]
    fn a_collision_names_both_paths() {
        let error = manifest(&[row(7, "a.ktx2"), row(7, "b.ktx2")]).unwrap_err();
        assert!(error.message.contains("a.ktx2") && error.message.contains("b.ktx2"), "{error}");
        assert!(manifest(&[row(7, "a.ktx2"), row(7, "a.ktx2")]).is_ok());
    }
}
