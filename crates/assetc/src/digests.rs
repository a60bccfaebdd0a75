//! `assets.sha256`: the SHA-256 digest of every packed file, so that a shipped pack can be verified alone.
//!
//! The file is in the output directory and therefore in the pack, like every other output. `sha256sum -c assets.sha256`
//! verifies a directory. It has one line for each file, sorted by path: 64 hexadecimal digits, two spaces, the path. A line
//! `# embedded` before a file says that it was copied unchanged, whatever its format. A build that packs writes the file; one
//! that does not removes it once it is out of date.

use crate::output::{DIGESTS, at_root};
use crate::pack::Listing;
use kiln_engine::inputs::racy_until;
use kiln_engine::ownership::{Replace, admit};
use kiln_engine::record::{Input, Output, Record, Seen};
use kiln_engine::{Code, Diag, Fs, Hash, Journal, Records, RelPath, Stamp};
use std::collections::BTreeMap;
use std::path::Path;

/// The file name of the digests in the output directory.
pub const DIGEST_FILE: &str = "assets.sha256";

/// The marker of a file that was copied unchanged.
const EMBEDDED: &str = "# embedded";

/// The digest of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) hash: Hash,
    /// True if the file is a copy of its source, so that it need not be valid by the format of its extension.
    pub(crate) is_embedded: bool,
}

/// Digests by path.
pub(crate) type Digests = BTreeMap<String, Digest>;

/// Returns the digests of all outputs that a journal records as published.
pub(crate) fn recorded(records: &Records) -> Digests {
    let mut digests = Digests::new();
    for record in records.names().into_iter().filter_map(|name| records.get(name)) {
        let is_embedded = record.fingerprint.starts_with("embed ");
        let outputs = record.outputs.into_iter().map(|o| (o.path.into_owned(), o.hash));
        digests.extend(outputs.map(|(path, hash)| (path, Digest { hash, is_embedded })));
    }
    digests
}

/// Serialises digests.
fn write(digests: &Digests) -> String {
    let line = |(path, digest): (&String, &Digest)| {
        let marker = if digest.is_embedded { format!("{EMBEDDED}\n") } else { String::new() };
        format!("{marker}{}  {path}\n", digest.hash)
    };
    digests.iter().map(line).collect()
}

/// Parses the file.
///
/// # Errors
///
/// The number of the first invalid line.
pub(crate) fn parse(bytes: &[u8]) -> Result<Digests, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the file is not valid UTF-8".to_owned())?;
    let (mut digests, mut is_embedded) = (Digests::new(), false);
    for (number, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            is_embedded = line == EMBEDDED;
            continue;
        }
        let parsed = line.split_once("  ").and_then(|(hash, path)| {
            RelPath::check(path).ok()?;
            Some((path.to_owned(), Hash::parse(hash)?))
        });
        let (path, hash) = parsed.ok_or_else(|| format!("line {} is not a digest and a path", number + 1))?;
        if digests.insert(path, Digest { hash, is_embedded }).is_some() {
            return Err(format!("line {} repeats the path of an earlier line", number + 1));
        }
        is_embedded = false;
    }
    Ok(digests)
}

/// Writes the digests of the files of a listing, unless they are up to date; returns them. Files that no build wrote are
/// hashed, unless their stamps are recorded with a hash.
///
/// # Errors
///
/// A file cannot be read, or the digests or the journal cannot be written.
pub(crate) fn update(
    out: &dyn Fs,
    output: &Path,
    listing: &Listing,
    journal: &mut Journal,
    overwrite: bool,
) -> Result<Digests, Diag> {
    let known = recorded(journal.records());
    let record = journal.records().get(DIGESTS).map(Record::into_owned).unwrap_or_default();
    let hashed = record.inputs.iter().filter_map(|input| match input.seen {
        Seen::File { stamp, racy: false, hash } => Some((&*input.path, (stamp, hash))),
        _ => None,
    });
    let hashed: BTreeMap<&str, (Stamp, Hash)> = hashed.collect();
    let remembered = |path: &RelPath, stamp: Stamp| {
        hashed.get(path.as_str()).filter(|(old, _)| *old == stamp).map(|(_, hash)| *hash)
    };
    let (mut digests, mut inputs) = (Digests::new(), Vec::new());
    for (path, stamp) in listing.files.iter().filter(|(path, _)| path.as_str() != DIGEST_FILE) {
        let digest = match known.get(path.as_str()) {
            Some(digest) => *digest,
            None => {
                let read = || out.read(path).map(|bytes| Hash::of(&bytes));
                let hash = remembered(path, *stamp).map_or_else(read, Ok);
                let hash = hash.map_err(|e| at_root(Code::Unreadable, &path.below(output), &e))?;
                let racy = racy_until(*stamp) > out.now_ns();
                let seen = Seen::File { stamp: *stamp, racy, hash };
                inputs.push(Input { path: path.to_string().into(), seen });
                Digest { hash, is_embedded: false }
            }
        };
        digests.insert(path.to_string(), digest);
    }
    let text = write(&digests);
    let hash = Hash::of(text.as_bytes());
    let path = RelPath::new(DIGEST_FILE).expect("a plain name");
    let at_path = |e| at_root(Code::Unwritable, &output.join(DIGEST_FILE), &e);
    let stamp = out.stamp(&path).map_err(at_path)?;
    let is_current = record.outputs.first().is_some_and(|o| Some(o.stamp) == stamp && o.hash == hash);
    if is_current && record.inputs == inputs {
        return Ok(digests);
    }
    let stamp = match (is_current, stamp) {
        (true, Some(stamp)) => stamp,
        _ => {
            // Recorded first, so that a killed build leaves no file without an owner.
            let is_digests = || out.read(&path).is_ok_and(|bytes| parse(&bytes).is_ok());
            let owned = || !record.outputs.is_empty() || is_digests();
            let replace = Replace { overwrite, magic: None, owned: &owned };
            admit(out, &path, None, replace)?;
            let staged = out.stage(&mut |file| file.write_all(text.as_bytes())).map_err(at_path)?;
            append(journal, inputs.clone(), Stamp::NONE, hash).map_err(at_path)?;
            let placed = out.publish(vec![(staged, path)]).pop();
            placed.unwrap_or_else(|| Err(std::io::ErrorKind::Other.into())).map_err(at_path)?
        }
    };
    append(journal, inputs, stamp, hash).map_err(at_path)?;
    Ok(digests)
}

fn append(
    journal: &mut Journal,
    inputs: Vec<Input<'static>>,
    stamp: Stamp,
    hash: Hash,
) -> std::io::Result<()> {
    let (path, metadata) = (DIGEST_FILE.into(), Default::default());
    let outputs = vec![Output { path, stamp, hash, work: None, metadata }];
    journal.append(&[(DIGESTS, Some(&Record { inputs, outputs, ..Record::default() }))])
}

/// Removes the digests of an earlier build if they no longer describe the output. A build that changes nothing keeps them, so
/// that the pack stays up to date.
///
/// # Errors
///
/// If the file cannot be removed or the journal cannot be written.
pub(crate) fn remove_outdated(out: &dyn Fs, journal: &mut Journal) -> std::io::Result<()> {
    let Some(record) = journal.records().get(DIGESTS) else { return Ok(()) };
    let mut digests = recorded(journal.records());
    digests.remove(DIGEST_FILE);
    digests.extend(record.inputs.iter().filter_map(|input| match input.seen {
        Seen::File { hash, .. } => Some((input.path.to_string(), Digest { hash, is_embedded: false })),
        _ => None,
    }));
    let text = write(&digests);
    let path = RelPath::new(DIGEST_FILE).expect("a plain name");
    if out.read(&path).is_ok_and(|bytes| bytes == text.as_bytes()) {
        return Ok(());
    }
    out.remove(&path)?;
    journal.append(&[(DIGESTS, None)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_in_the_format_of_sha256sum() {
        let digest = |text: &str, is_embedded| Digest { hash: Hash::of(text.as_bytes()), is_embedded };
        let digests = Digests::from([
            ("a b.ktx2".to_owned(), digest("", true)),
            ("models/é.hmesh".to_owned(), digest("x", false)),
        ]);
        let text = write(&digests);
        assert_eq!(
            text.lines().next_back(),
            Some("2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  models/é.hmesh")
        );
        assert_eq!(parse(text.as_bytes()), Ok(digests));
        for bad in ["x", "00  a", &text.replace("models/", "../"), &text.replace("2d71", "2D71")] {
            assert!(parse(bad.as_bytes()).unwrap_err().contains("is not a digest"), "{bad}");
        }
        assert!(parse(text.repeat(2).as_bytes()).unwrap_err().contains("repeats the path"));
    }
}
