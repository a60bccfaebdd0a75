//! The [`Format`] implementation of manifests: `info`, `check` and dumps.

use super::{HmanView, MAGIC};
use crate::hpack::PackKind;
use crate::table::{FormatId, format_entry};
use crate::{Error, Format};

#[cfg(feature = "tools")]
use super::{Colorspace, Header, ManifestEntry, ManifestKind, Record, VERSION};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, Lookup, Problem, error::Count, refs};

format_entry!(
    HMan,
    FormatId { name: "hman", magic: &MAGIC, title: "manifests", noun: "manifest", kind: PackKind::Manifest }
);

impl Format for HMan {
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        HmanView::read(bytes).map(drop)
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HmanView::read(bytes)?;
        let srgb = srgb(&view);
        write!(out, "v{VERSION} | {} | kinds:", Count(view.len() as u64, "entry", "entries"))?;
        // The first four kinds are always listed, the others only if they occur.
        let shown = kinds(&view).into_iter().filter(|(kind, n)| (*kind as u8) < 4 || *n > 0);
        for (n, (kind, count)) in shown.enumerate() {
            write!(out, "{}{count} {}", if n == 0 { ' ' } else { '/' }, kind.name())?;
        }
        write!(out, " | colour space: {srgb} sRGB/{} linear", view.len() as u64 - srgb)?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let view = HmanView::read(bytes)?;
        let srgb = srgb(&view);
        each("version", Fact::Number(VERSION.into()));
        each("entries", Fact::Total(view.len() as u64));
        const NAMES: [&str; ManifestKind::ALL.len()] = [
            "texture_entries",
            "mesh_entries",
            "material_entries",
            "lut_entries",
            "shader_entries",
            "embed_entries",
            "animation_entries",
            "font_entries",
        ];
        for (name, (_, count)) in NAMES.into_iter().zip(kinds(&view)) {
            each(name, Fact::Number(count));
        }
        each("srgb_entries", Fact::Number(srgb));
        each("linear_entries", Fact::Number(view.len() as u64 - srgb));
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HmanView::read(bytes)?;
        writeln!(out, "hman v{VERSION}, {}", Count(view.len() as u64, "entry", "entries"))?;
        for e in view.entries() {
            writeln!(out, "{:#018x} {} {} {:?}", e.hash, e.kind.name(), e.colorspace.name(), e.path)?;
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        &[Header::LAYOUT, Record::LAYOUT]
    }

    #[cfg(feature = "tools")]
    fn check_references(
        &self,
        _path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let mut last: Option<ManifestEntry<'_>> = None;
        for entry in HmanView::read(bytes)?.entries() {
            let ManifestEntry { hash, path, .. } = entry;
            if at.size(path).is_none() {
                bad(Problem {
                    code: kiln_diagnostics::Code::ManifestMissingFile,
                    message: alloc::format!(
                        "the entry {hash:#018x} refers to {path:?}, which does not exist"
                    ),
                    hint: "run the build again: the file was deleted, or the manifest is from another build",
                });
            }
            let expected = refs::hash_runtime_path(path);
            if hash != expected {
                bad(Problem {
                    code: kiln_diagnostics::Code::ManifestWrongHash,
                    message: alloc::format!(
                        "the entry {hash:#018x} refers to {path:?}, but the hash of that path is {expected:#018x}"
                    ),
                    hint: "run the build again: the manifest is damaged or was written by another program",
                });
            }
            if let Some(last) = last.filter(|last| last.hash == hash) {
                bad(Problem {
                    code: kiln_diagnostics::Code::ManifestAmbiguousHash,
                    message: alloc::format!(
                        "the hash {hash:#018x} is listed for both {:?} and {path:?}",
                        last.path
                    ),
                    hint: "rename one of the two source files",
                });
            }
            last = Some(entry);
        }
        Ok(())
    }
}

#[cfg(feature = "tools")]
fn kinds(view: &HmanView<'_>) -> [(ManifestKind, u64); ManifestKind::ALL.len()] {
    ManifestKind::ALL.map(|kind| (kind, view.entries().filter(|e| e.kind == kind).count() as u64))
}

#[cfg(feature = "tools")]
fn srgb(view: &HmanView<'_>) -> u64 {
    view.entries().filter(|e| e.colorspace == Colorspace::Srgb).count() as u64
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use crate::hman::tests::texture;
    use crate::hman::write;
    use alloc::{borrow::Cow, string::String, vec, vec::Vec};

    struct Files(&'static [&'static str]);

    impl Lookup for Files {
        fn size(&self, path: &str) -> Option<u64> {
            self.0.contains(&path).then_some(0)
        }

        fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
            self.0.contains(&path).then_some(Cow::Borrowed(&[]))
        }
    }

    fn codes(manifest: &[u8], files: &'static [&'static str]) -> Vec<&'static str> {
        let mut codes = vec![];
        HMan.check_references("assets.hman", manifest, &Files(files), &mut |p| codes.push(p.code.as_str()))
            .unwrap();
        codes
    }

    #[test]
    fn check_references_finds_wrong_entries() {
        let good = write(&[texture("A/x.ktx2"), texture("b.ktx2")]).unwrap();
        assert!(codes(&good, &["A/x.ktx2", "b.ktx2"]).is_empty());
        assert_eq!(codes(&good, &["A/x.ktx2"]), ["manifest-missing-file"]);
        let wrong = write(&[ManifestEntry { hash: 5, ..texture("b.ktx2") }]).unwrap();
        assert_eq!(codes(&wrong, &["b.ktx2"]), ["manifest-wrong-hash"]);

        // Two paths that differ only in case have the same hash. The writer rejects them, but a file from
        // another program may contain them.
        let mut twice = write(&[texture("A.ktx2")]).unwrap();
        let second: Vec<u8> = twice[16..].iter().map(u8::to_ascii_lowercase).collect();
        twice.extend(second);
        twice[8] = 2;
        twice[16 + 18..][..8].copy_from_slice(&refs::hash_asset_ref("a").to_le_bytes());
        assert_eq!(codes(&twice, &["A.ktx2", "a.ktx2"]), ["manifest-ambiguous-hash"]);
    }

    #[test]
    fn describe_facts_and_dump_match_document() {
        let bytes = write(&[
            texture("a.ktx2"),
            ManifestEntry { colorspace: Colorspace::Linear, ..texture("b.ktx2") },
            ManifestEntry {
                colorspace: Colorspace::Linear,
                kind: ManifestKind::Lut,
                ..texture("c.lut.ktx2")
            },
        ])
        .unwrap();
        let mut text = String::new();
        HMan.describe(&bytes, &mut text).unwrap();
        assert_eq!(
            text,
            "v1 | 3 entries | kinds: 2 texture/0 mesh/0 material/1 lut | colour space: 1 sRGB/2 linear"
        );
        let mut facts = vec![];
        HMan.facts(&bytes, &mut |name, fact| {
            if let Fact::Total(n) = fact {
                facts.push((name, n));
            }
        })
        .unwrap();
        assert_eq!(facts, [("entries", 3)]);
        let mut dump = String::new();
        HMan.dump(&bytes, &mut dump).unwrap();
        assert_eq!(dump.lines().count(), 4);
        assert!(dump.contains("lut linear \"c.lut.ktx2\""), "{dump}");
    }
}
