//! `*.fbx` where FBX is not built in: a warning that says so. Nothing fails, for such a file may well lie beside what was
//! exported from it. It is a kind of its own, so that the model is built as soon as FBX is there.

use crate::config::Settings;
use crate::link::Row;
use crate::recipe::{Recipe, Suffix};
use crate::recipes::mesh::Mesh;
use crate::tools::Tools;
use kiln_kit::{Cook, Diag, RelPath, World};

/// A model that is not read.
pub(crate) struct Unread;

impl Recipe for Unread {
    fn name(&self) -> &'static str {
        "fbx"
    }

    fn sections(&self) -> &'static [&'static str] {
        &[]
    }

    fn version(&self) -> u32 {
        1
    }

    fn claims(&self, is_file: bool, suffix: &Suffix<'_>) -> bool {
        is_file && suffix.is(&["fbx"])
    }

    fn output(&self, source: &RelPath) -> Option<RelPath> {
        Mesh.output(source)
    }

    fn weight(&self, _: &RelPath, _: &Settings, _: World<'_>) -> u64 {
        0
    }

    fn cook(&self, cx: &mut Cook<'_>, _: &Settings, _: &Tools) -> Result<Vec<Row>, Diag> {
        cx.warn(
            Diag::warning("fbx-feature", "this assetc was built without FBX, so nothing is written for it")
                .hint("build assetc with `--features fbx`, or export the model as glTF"),
        );
        Ok(vec![])
    }
}
