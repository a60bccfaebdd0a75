//! Validates a cache entry before it replaces a build of its source.
//!
//! Anyone who can write to a shared cache can store anything under the key of a source. An entry is used only if the
//! source could have this result: outputs that its recipe writes, files that their own reader accepts, and manifest rows
//! that follow from both. Texels, vertices and instructions cannot be validated without building; signatures protect
//! those.

use crate::artifact::{FileMetadata, TextureReference};
use crate::config::Settings;
use crate::recipe::Recipe;
use kiln_engine::{CacheEntry, PlacedArtifact, Rejected, RelPath};
use kiln_format::hman::{Colorspace, ManifestKind};
use kiln_format::hmat::HmatView;
use kiln_format::hmatx::HmatxView;
use kiln_format::ktx2;
use kiln_format::{by_path, refs};
use std::collections::HashSet;

/// Checks that a recipe can have produced a cache entry from a source.
///
/// # Errors
///
/// No build of this source can have stored the entry.
pub(crate) fn check(
    recipe: &dyn Recipe,
    source: &RelPath,
    settings: &Settings,
    entry: &mut CacheEntry<'_, FileMetadata>,
) -> Result<(), Rejected> {
    let reject = |why: String| Err(Rejected(why));
    let main = recipe.output(source);
    let is_main = |path: &RelPath| {
        main.as_ref().is_some_and(|main| {
            let rest = path.as_str().strip_prefix(main.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let artifacts = entry.artifacts().to_vec();
    if !artifacts.iter().any(|artifact| is_main(&artifact.name)) {
        return reject(format!("the main output of {source} is missing"));
    }
    let mut listed: HashSet<u64> = HashSet::new();
    let mut used: Option<HashSet<u64>> = None;
    for (at, PlacedArtifact { name, hash, metadata }) in artifacts.iter().enumerate() {
        if !recipe.writes(source, name) {
            return reject(format!("{name} is not an output of {source}"));
        }
        let mut expected = FileMetadata::of(name);
        // A copy that is not a texture is validated by its hash alone.
        if recipe.info().copies {
            if entry.inputs().find(|(input, _)| *input == source).map(|(_, hash)| hash) != Some(*hash) {
                return reject(format!("{name} is not a copy of {source}"));
            }
            if is_texture_name(name) {
                expected.colorspace = colorspace(name, &entry.read(at)?).unwrap_or(Colorspace::Linear);
            }
        } else {
            let Some(format) = by_path(name.as_str()) else {
                return reject(format!("{name} has no known format"));
            };
            let bytes = entry.read(at)?;
            if let Err(error) = format.verify(&bytes) {
                return reject(format!("{name} is damaged: {error}"));
            }
            if let Ok(table) = HmatView::read(&bytes) {
                let refs = table.materials().iter().flat_map(|material| material.textures());
                used.get_or_insert_default().extend(refs.filter(|texture| *texture != refs::NO_REF));
            }
            if let Ok(table) = HmatxView::read(&bytes) {
                used.get_or_insert_default()
                    .extend(table.all_textures().iter().map(|texture| texture.texture));
            }
            if let Some(space) = colorspace(name, &bytes) {
                if recipe.info().colorspace.is_some_and(|expected| expected != space) {
                    return reject(format!(
                        "{name} has a transfer function that textures of {source} do not have"
                    ));
                }
                expected.colorspace = space;
                if recipe.info().lists_textures {
                    expected = expected.listed();
                }
            }
        }
        let follows = |texture: &TextureReference| {
            entry.inputs().any(|(input, _)| recipe.refers_to(input, texture, settings))
        };
        expected.references =
            metadata.references.iter().filter(|texture| follows(texture)).cloned().collect();
        if expected != *metadata {
            return reject(format!("the manifest entry of {name} does not follow from {source}"));
        }
        let refs = expected.references.iter().map(|texture| &texture.path);
        listed.extend(
            refs.chain(expected.is_listed.then_some(name)).map(|p| refs::hash_runtime_path(p.as_str())),
        );
    }
    if used.is_some_and(|used| used != listed) {
        return reject(format!("the materials of {source} and the manifest name different textures"));
    }
    Ok(())
}

fn is_texture_name(path: &RelPath) -> bool {
    matches!(ManifestKind::from_path(path.as_str()), ManifestKind::Texture | ManifestKind::Lut)
}

/// Returns the colour space of a texture; `None` if the file is not a texture.
pub(crate) fn colorspace(path: &RelPath, bytes: &[u8]) -> Option<Colorspace> {
    if !is_texture_name(path) {
        return None;
    }
    Some(ktx2::transfer(bytes).unwrap_or(Colorspace::Linear))
}

/// Returns whether cached bytes are a valid texture of this colour space.
pub(crate) fn is_texture(bytes: &[u8], expected: Colorspace) -> bool {
    kiln_format::Format::verify(&ktx2::Ktx2, bytes).is_ok() && ktx2::transfer(bytes) == Ok(expected)
}

#[cfg(test)]
mod tests {
    use crate::recipes::recipe_for;
    use kiln_engine::{Entry, RelPath, Stamp};

    /// Returns whether the recipe of a source writes an output. A source name with a trailing slash is a directory.
    fn writes(source: &str, output: &str) -> bool {
        let file = (!source.ends_with('/')).then_some(Stamp { mtime_ns: 0, changed_ns: 0, len: 0 });
        let entry = Entry { path: RelPath::new(source.trim_end_matches('/')).unwrap(), file };
        let embed = source.ends_with(".txt");
        recipe_for(&entry, embed).unwrap().writes(&entry.path, &RelPath::new(output).unwrap())
    }

    #[test]
    fn accepts_documented_outputs_only() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("a/b.png", &["a/b.ktx2"], &["a/c.ktx2", "b.ktx2", "a/b.png", "a/b.ktx2/c", "assets.hman"]),
            ("b.lut.cube", &["b.lut.ktx2"], &["b.ktx2"]),
            ("b.hdr", &["b.ktx2"], &["b.irr.ktx2"]),
            ("b.env.hdr", &["b.env.ktx2", "b.irr.ktx2"], &["b.ktx2", "c.irr.ktx2"]),
            ("b.ttf", &["b.hfont", "b.ktx2"], &["b.hmat", "c.ktx2"]),
            ("sky.env/", &["sky.env.ktx2"], &["sky.env/px.ktx2"]),
            (
                "s.shader/",
                &["s.shader/vertex.spv", "s.shader/fragment.spv"],
                &["s.shader/x.spv", "s.shader/a/vertex.spv", "vertex.spv"],
            ),
            ("n.txt", &["n.txt"], &["m.txt"]),
            (
                "m/c.glb",
                &["m/c.hmesh", "m/c.hmat", "m/c.hanim", "m/c/tex_0.ktx2", "m/c/tex_12_normal.ktx2"],
                &[
                    "m/d.hmesh",
                    "m/c.ktx2",
                    "m/c/tex_.ktx2",
                    "m/c/tex_0.png",
                    "m/c/wall.ktx2",
                    "m/c/tex_0/a.ktx2",
                    "m/c/tex_0_odd.ktx2",
                    "c/tex_0.ktx2",
                    "m/c/tex_01.ktx2",
                ],
            ),
            (
                "brick.mat",
                &["brick.hmat", "brick/orm_linear.ktx2", "brick/x_color.ktx2"],
                &["brick/orm.ktx2", "brick/a/orm_linear.ktx2", "stone.hmat", "brick/_linear.ktx2"],
            ),
        ];
        for (source, ours, others) in cases {
            ours.iter().for_each(|output| assert!(writes(source, output), "{source} {output}"));
            others.iter().for_each(|output| assert!(!writes(source, output), "{source} {output}"));
        }
    }
}
