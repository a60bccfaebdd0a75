//! The [`Format`] implementation of material tables: `info`, `check` and dumps.

use super::{HmatView, MAGIC};
use crate::hpack::PackKind;
use crate::table::{FormatId, format_entry};
use crate::{Error, Format};

#[cfg(feature = "tools")]
use super::{AlphaMode, GpuMaterial, Header, SLOTS, VERSION};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, Lookup, Problem, error::Count, hman, refs};
#[cfg(feature = "tools")]
use alloc::{format, vec::Vec};

format_entry!(
    HMat,
    FormatId { name: "hmat", magic: &MAGIC, title: "materials", noun: "material", kind: PackKind::Material }
);

impl Format for HMat {
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        HmatView::read(bytes).map(drop)
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HmatView::read(bytes)?;
        write!(
            out,
            "v{VERSION} | {} | textures: ",
            Count(view.materials().len() as u64, "material", "materials")
        )?;
        for (i, (name, count)) in SLOTS.iter().zip(textured(&view)).enumerate() {
            write!(out, "{}{name} {count}", if i == 0 { "" } else { ", " })?;
        }
        let [opaque, mask, blend] = alpha_modes(&view);
        let double_sided = double_sided(&view);
        write!(out, " | alpha: {opaque} opaque/{mask} mask/{blend} blend | {double_sided} double-sided")?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let view = HmatView::read(bytes)?;
        each("version", Fact::Number(VERSION.into()));
        each("materials", Fact::Total(view.materials().len() as u64));
        let names = ["base_textures", "mr_textures", "normal_textures", "occ_textures", "emissive_textures"];
        for (name, count) in names.into_iter().zip(textured(&view)) {
            each(name, Fact::Number(count));
        }
        for (name, count) in ["opaque", "mask", "blend"].into_iter().zip(alpha_modes(&view)) {
            each(name, Fact::Number(count));
        }
        each("double_sided", Fact::Number(double_sided(&view)));
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HmatView::read(bytes)?;
        writeln!(out, "hmat v{VERSION}, {}", Count(view.materials().len() as u64, "material", "materials"))?;
        for (i, row) in view.materials().iter().enumerate() {
            let sides = if row.double_sided() { "double-sided" } else { "single-sided" };
            writeln!(out, "material {i} {} {sides}", row.alpha_mode().name())?;
            writeln!(out, "  base_color {:?}, emissive {:?}", row.base_color_factor, row.emissive_factor)?;
            writeln!(
                out,
                "  metallic {:?}, roughness {:?}, normal {:?}, occlusion {:?}, cutoff {:?}",
                row.metallic_factor,
                row.roughness_factor,
                row.normal_scale,
                row.occlusion_strength,
                row.alpha_cutoff
            )?;
            for (name, hash) in SLOTS.iter().zip(row.textures()).filter(|(_, hash)| *hash != refs::NO_REF) {
                writeln!(out, "  {name} {hash:#018x}")?;
            }
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        &[Header::LAYOUT, GpuMaterial::LAYOUT]
    }

    #[cfg(feature = "tools")]
    fn check_references(
        &self,
        _path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let rows = HmatView::read(bytes)?.materials();
        let rows =
            rows.iter().enumerate().flat_map(|(row, material)| material.textures().map(|hash| (row, hash)));
        check_textures(rows, at, bad);
        Ok(())
    }
}

/// Checks that the manifest lists the textures that rows of a table refer to, and that their files exist. Without a
/// manifest, the textures have to be among the files.
#[cfg(feature = "tools")]
pub(crate) fn check_textures(
    rows: impl Iterator<Item = (usize, u64)>,
    at: &dyn Lookup,
    bad: &mut dyn FnMut(Problem),
) {
    let mut rows = rows.filter(|(_, hash)| *hash != refs::NO_REF).peekable();
    if rows.peek().is_none() {
        return;
    }
    let Some(manifest) = at.bytes(hman::PATH) else {
        let unresolved = rows.find(|(_, hash)| !at.has_texture(*hash));
        if let Some((row, hash)) = unresolved {
            bad(Problem {
                code: kiln_diagnostics::Code::MaterialWithoutManifest,
                message: format!(
                    "row {row} references texture {hash:#018x}, which is not among the files, and there is no manifest \
                     {} that lists it",
                    hman::PATH
                ),
                hint: "if a build wrote the files, run it again; otherwise convert the texture, too",
            });
        }
        return;
    };
    // An unreadable manifest is reported for the manifest itself.
    let Ok(manifest) = hman::HmanView::read(&manifest) else { return };
    let entries: Vec<_> = manifest.entries().collect();
    for (row, hash) in rows {
        let found = entries.binary_search_by_key(&hash, |e| e.hash).ok().and_then(|i| entries.get(i));
        match found.map(|entry| entry.path) {
            None => bad(Problem {
                code: kiln_diagnostics::Code::MaterialUnknownTexture,
                message: format!(
                    "row {row} references texture {hash:#018x}, which the manifest does not list"
                ),
                hint: "run the build again: the material table and the manifest are from different builds",
            }),
            Some(path) if at.size(path).is_none() => bad(Problem {
                code: kiln_diagnostics::Code::MaterialMissingTexture,
                message: format!(
                    "row {row} references texture {hash:#018x}, but its file {path:?} does not exist"
                ),
                hint: "run the build again: the texture was deleted",
            }),
            Some(_) => {}
        }
    }
}

/// Returns the number of materials in a table.
#[cfg(feature = "tools")]
pub(crate) fn row_count(bytes: &[u8]) -> Result<usize, Error> {
    HmatView::read(bytes).map(|view| view.materials().len())
}

/// Counts the rows with a texture, per slot.
#[cfg(feature = "tools")]
fn textured(view: &HmatView<'_>) -> [u64; SLOTS.len()] {
    view.materials().iter().fold([0; SLOTS.len()], |counts, row| {
        let textures = row.textures();
        core::array::from_fn(|slot| counts[slot] + u64::from(textures[slot] != refs::NO_REF))
    })
}

#[cfg(feature = "tools")]
fn alpha_modes(view: &HmatView<'_>) -> [u64; 3] {
    AlphaMode::ALL.map(|mode| view.materials().iter().filter(|row| row.alpha_mode() == mode).count() as u64)
}

#[cfg(feature = "tools")]
fn double_sided(view: &HmatView<'_>) -> u64 {
    view.materials().iter().filter(GpuMaterial::double_sided).count() as u64
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use crate::hmat::tests::{TEXTURED, textured_row};
    use crate::hmat::write;
    use alloc::{borrow::Cow, collections::BTreeMap, string::String, vec};
    use hman::{Colorspace, ManifestEntry, ManifestKind};

    struct Files(BTreeMap<&'static str, Vec<u8>>);

    impl Lookup for Files {
        fn size(&self, path: &str) -> Option<u64> {
            self.0.get(path).map(|data| data.len() as u64)
        }

        fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
            self.0.get(path).map(|data| Cow::Borrowed(data.as_slice()))
        }
    }

    fn manifest(paths: &[&str]) -> Vec<u8> {
        let entry = |path| {
            let hash = refs::hash_runtime_path(path);
            ManifestEntry { hash, kind: ManifestKind::Texture, colorspace: Colorspace::Srgb, path }
        };
        hman::write(&paths.iter().copied().map(entry).collect::<Vec<_>>()).unwrap()
    }

    fn problems(rows: &[GpuMaterial], files: &[(&'static str, Vec<u8>)]) -> Vec<(&'static str, String)> {
        let (bytes, files) = (write(rows).unwrap(), Files(files.iter().cloned().collect()));
        let mut problems = vec![];
        HMat.check_references("court.hmat", &bytes, &files, &mut |p| {
            problems.push((p.code.as_str(), p.message))
        })
        .unwrap();
        problems
    }

    #[test]
    fn check_references_finds_missing_textures() {
        let rows = [GpuMaterial::default(), textured_row()];
        let files = TEXTURED.map(|path| (path, vec![]));
        let [first, second] = files.clone();
        let list = ("assets.hman", manifest(&TEXTURED));
        assert_eq!(problems(&rows, &[first.clone(), second, list.clone()]), []);
        assert_eq!(problems(&rows[..1], &[]), [], "a table without textures needs no manifest");
        assert_eq!(problems(&rows, &files).len(), 1, "no manifest: once, not for each texture");
        assert_eq!(problems(&rows, &files)[0].0, "material-without-manifest");
        let missing =
            "row 1 references texture 0xad44c3a297049406, but its file \"court/tex_1.ktx2\" does not exist";
        let missing = ("material-missing-texture", missing.into());
        assert_eq!(problems(&rows, &[first.clone(), list]), [missing.clone(), missing]);
        let unknown = "row 1 references texture 0xad44c4a2970495b9, which the manifest does not list";
        let other = ("assets.hman", manifest(&TEXTURED[1..]));
        let found = problems(&rows, &[files.to_vec(), vec![other]].concat());
        assert_eq!(found, [("material-unknown-texture", unknown.into())]);
        let broken = ("assets.hman", b"HMAN".to_vec());
        assert_eq!(
            problems(&rows, &[first, broken]),
            [],
            "an unreadable manifest is reported for the manifest itself"
        );
    }

    #[test]
    fn describe_facts_and_dump_match_document() {
        let bytes = write(&[GpuMaterial::default(), textured_row()]).unwrap();
        let mut text = String::new();
        HMat.describe(&bytes, &mut text).unwrap();
        assert_eq!(
            text,
            "v1 | 2 materials | textures: base 1, mr 1, normal 0, occ 1, emissive 0 \
             | alpha: 1 opaque/1 mask/0 blend | 1 double-sided"
        );
        let mut totals = vec![];
        HMat.facts(&bytes, &mut |name, fact| {
            if let Fact::Total(n) = fact {
                totals.push((name, n));
            }
        })
        .unwrap();
        assert_eq!(totals, [("materials", 2)]);
        let mut dump = String::new();
        HMat.dump(&bytes, &mut dump).unwrap();
        assert!(dump.contains("material 1 mask double-sided\n"), "{dump}");
        assert!(dump.contains("  occ 0xad44c3a297049406\n"), "{dump}");
    }
}
