//! Parsing of the `[animation]` table.

use super::super::compression::Compression;
use super::super::toml_document::Fields;
use super::{NodeId, Planner, Recipe};
use kiln_engine::{Diag, RelPath};
use kiln_format::pak::Kind;

/// The settings of an animation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnimationSpec {
    pub(crate) src: RelPath,
    /// The name of the animation; `None` for the first one.
    pub(crate) name: Option<String>,
    /// The targets whose channels are excluded.
    pub(crate) exclude: Vec<String>,
}

impl Planner<'_, '_> {
    pub(super) fn animation(
        &mut self,
        path: &RelPath,
        fields: Fields<'_>,
        compression: Compression,
    ) -> Result<NodeId, Diag> {
        let src = self.src(path, &fields, &["glb", "gltf"])?;
        let name = fields.read("name", |value| value.non_empty_string())?;
        let exclude = fields.read("exclude", |value| value.strings())?.unwrap_or_default();
        fields.finish();
        let spec = AnimationSpec { src, name, exclude };
        let lines = format!("src={}\nname={:?}\nexclude={:?}\n", spec.src, spec.name, spec.exclude);
        Ok(self.node(path, Kind::Animation, Recipe::Animation(spec), compression, &lines))
    }
}
