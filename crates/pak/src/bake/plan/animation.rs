//! The `[animation]` table.

use super::super::compress::Packing;
use super::super::document::Fields;
use super::{NodeId, Planner, Recipe};
use kiln_engine::{Diag, RelPath};
use kiln_format::pak::Kind;

/// Which animation of which file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnimationSpec {
    pub(crate) src: RelPath,
    /// The first one, when none is named.
    pub(crate) name: Option<String>,
    /// Targets whose channels are left out.
    pub(crate) exclude: Vec<String>,
}

impl Planner<'_, '_> {
    pub(super) fn animation(
        &mut self,
        path: &RelPath,
        fields: Fields<'_>,
        packing: Packing,
    ) -> Result<NodeId, Diag> {
        let src = self.src(path, &fields, &["glb", "gltf"])?;
        let name = fields.read("name", |value| value.name_text())?;
        let exclude = fields.read("exclude", |value| value.texts())?.unwrap_or_default();
        fields.finish()?;
        let spec = AnimationSpec { src, name, exclude };
        let lines = format!("src={}\nname={:?}\nexclude={:?}\n", spec.src, spec.name, spec.exclude);
        Ok(self.node(path, Kind::Animation, Recipe::Animation(spec), packing, &lines))
    }
}
