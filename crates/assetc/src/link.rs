//! The link step at the serial end of a build: writes the manifest entries of all artifacts to `assets.hman`.

use crate::artifact::{FileMetadata, TextureReference};
use crate::config::Manifest;
use crate::output::LINK;
use kiln_engine::ownership::{Replace, admit};
use kiln_engine::record::{Output, Record};
use kiln_engine::{Code, Diag, Fs, Hash, Journal, PlacedArtifact, RelPath, Tree};
use kiln_format::hman::{self, Colorspace, ManifestKind};
use kiln_format::{Format, by_path, refs};
use std::collections::HashSet;
use std::io;

/// The file name of the manifest in the output directory.
pub const MANIFEST: &str = "assets.hman";

/// One entry of the manifest: path, kind and colour space of a runtime file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManifestRow {
    path: RelPath,
    kind: ManifestKind,
    colorspace: Colorspace,
}

/// Collects the manifest rows of all artifacts of a build. Duplicates are possible.
pub(crate) fn rows<'a>(
    artifacts: impl Iterator<Item = &'a PlacedArtifact<FileMetadata>> + Clone,
    manifest: Manifest,
) -> Vec<ManifestRow> {
    let row = |path: &RelPath, kind, colorspace| ManifestRow { path: path.clone(), kind, colorspace };
    let mut rows = Vec::new();
    for PlacedArtifact { name, metadata, .. } in artifacts.clone() {
        if metadata.is_listed {
            rows.push(row(name, metadata.kind, metadata.colorspace));
        }
        let references = metadata.references.iter();
        rows.extend(
            references
                .map(|TextureReference { path, colorspace }| row(path, ManifestKind::Texture, *colorspace)),
        );
    }
    if manifest == Manifest::All {
        let listed: HashSet<RelPath> = rows.iter().map(|row| row.path.clone()).collect();
        let others = artifacts.filter(|artifact| !listed.contains(&artifact.name));
        rows.extend(others.map(|a| row(&a.name, a.metadata.kind, a.metadata.colorspace)));
    }
    rows
}

/// Adds the rows of further artifacts whose paths have none yet: those of failed sources, whose files are still in the
/// output, but which the artifacts of this build take precedence over.
pub(crate) fn extend<'a>(
    rows: &mut Vec<ManifestRow>,
    artifacts: impl Iterator<Item = &'a PlacedArtifact<FileMetadata>> + Clone,
    manifest: Manifest,
) {
    let mut listed: HashSet<RelPath> = rows.iter().map(|row| row.path.clone()).collect();
    rows.extend(self::rows(artifacts, manifest).into_iter().filter(|row| listed.insert(row.path.clone())));
}

/// The sink of the manifest in an output directory.
pub(crate) struct ManifestSink<'a> {
    /// The output directory of the manifest.
    pub(crate) out: &'a dyn Fs,
    /// The files of the directory when the build began.
    pub(crate) tree: &'a Tree,
    /// Reads the manifest again and compares its bytes, even if its timestamps are unchanged.
    pub(crate) verify: bool,
    /// Replaces a regular file of that name that no build wrote.
    pub(crate) overwrite: bool,
}

impl ManifestSink<'_> {
    /// Writes the manifest of these rows unless it is up to date; returns the number of references in it.
    pub(crate) fn write(&self, rows: &[ManifestRow], journal: &mut Journal) -> Result<usize, Diag> {
        let path = RelPath::new(MANIFEST).expect("a plain name");
        let codes: Vec<[u8; 2]> = rows.iter().map(|row| [row.kind as u8, row.colorspace as u8]).collect();
        let fields = rows.iter().zip(&codes).flat_map(|(row, code)| [row.path.as_str().as_bytes(), code]);
        let key = Hash::of_fields(fields).to_string();
        let refs = rows.iter().map(|row| &row.path).collect::<HashSet<_>>().len();
        let is_current = |record: &Record<'_>| match record.outputs.as_slice() {
            [output] => record.fingerprint == key && self.tree.stamp(MANIFEST) == Some(output.stamp),
            _ => false,
        };
        let is_current = journal.records().get(LINK).as_ref().is_some_and(is_current);
        if is_current && !self.verify {
            return Ok(refs);
        }
        let owned =
            || journal.records().get(LINK).is_some_and(|r| r.outputs.iter().any(|o| o.path == MANIFEST));
        let magic = by_path(MANIFEST).map(Format::magic);
        admit(self.out, &path, None, Replace { overwrite: self.overwrite, magic, owned: &owned })?;
        let bytes = manifest(rows)?;
        if !is_current || self.out.read(&path).ok().as_ref() != Some(&bytes) {
            let unwritable = |e: io::Error| {
                Diag::new(Code::Unwritable, format!("cannot write the manifest: {e}")).path(MANIFEST)
            };
            let staged = self.out.stage(&mut |file| file.write_all(&bytes)).map_err(unwritable)?;
            let stamp = self.out.publish(vec![(staged, path)]).into_iter().next();
            let stamp = stamp.unwrap_or_else(|| Err(io::ErrorKind::Other.into())).map_err(unwritable)?;
            let (hash, metadata) = (Hash::of(&bytes), Default::default());
            let output = Output { path: MANIFEST.into(), stamp, hash, work: None, metadata };
            let record = Record { fingerprint: key.into(), outputs: vec![output], ..Record::default() };
            journal.append(&[(LINK, Some(&record))]).map_err(unwritable)?;
        }
        Ok(refs)
    }
}

/// Serialises the manifest. Two paths with the same hash are an error.
fn manifest(rows: &[ManifestRow]) -> Result<Vec<u8>, Diag> {
    let entries: Vec<_> = rows
        .iter()
        .map(|row| hman::ManifestEntry {
            hash: refs::hash_runtime_path(row.path.as_str()),
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

    #[test]
    fn manifest_of_all_files_lists_each_path_once() {
        let path = |path: &str| RelPath::new(path).unwrap();
        let placed =
            |name: &str, metadata| PlacedArtifact { name: path(name), hash: Hash::of(b""), metadata };
        let reference = TextureReference { path: path("wall.ktx2"), colorspace: Colorspace::Srgb };
        let table = FileMetadata { references: vec![reference], ..FileMetadata::of(&path("brick.hmat")) };
        let texture = |name: &str| FileMetadata::texture(&path(name), Colorspace::Srgb);
        let artifacts = [
            placed("brick.hmat", table),
            placed("wall.ktx2", texture("wall.ktx2")),
            placed("m/tex_0.ktx2", texture("m/tex_0.ktx2").listed()),
        ];
        let listed = |manifest| {
            let rows = rows(artifacts.iter(), manifest);
            self::manifest(&rows).unwrap();
            rows.into_iter().map(|row| format!("{} {:?}", row.path, row.kind)).collect::<Vec<_>>()
        };
        assert_eq!(listed(Manifest::Textures), ["wall.ktx2 Texture", "m/tex_0.ktx2 Texture"]);
        assert_eq!(
            listed(Manifest::All),
            ["wall.ktx2 Texture", "m/tex_0.ktx2 Texture", "brick.hmat Material"]
        );
    }

    #[test]
    fn rejects_path_with_two_colour_spaces() {
        let row = |colorspace| ManifestRow {
            path: RelPath::new("a.ktx2").unwrap(),
            kind: ManifestKind::Texture,
            colorspace,
        };
        let error = manifest(&[row(Colorspace::Srgb), row(Colorspace::Linear)]).unwrap_err();
        assert!(error.message.contains("a.ktx2"), "{error}");
        assert!(manifest(&[row(Colorspace::Srgb), row(Colorspace::Srgb)]).is_ok());
    }
}
