//! The rate-distortion curve of a texture: its size and its error at each step, measured by compiling it.

use super::SizeStep;
use super::allocation::Point;
use crate::config::{Depth, Mips, Settings};
use crate::plan::PlannedAsset;
use crate::stats::squared_error;
use kiln_engine::fs::{Fill, Staged};
use kiln_engine::record::Output;
use kiln_engine::remote::Blob;
use kiln_engine::sink::Candidate;
use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{
    Action, ActionContext, Artifact, Code, Diag, DirectorySink, Fs, Metadata, RebuildReason, Records,
    RelPath, Sink, SourceTree, Stamp, Tree,
};
use std::io;

/// The version of the measurement; raised when the same texture has another curve.
const VERSION: u32 = 1;

/// RDO lambdas of the steps. The largest comes first: an encoder that ignores it ignores all.
const LAMBDAS: [f32; 4] = [16.0, 4.0, 1.0, 0.25];

/// The points of a curve, in the order of measurement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve(pub(super) Vec<Point>);

impl Metadata for Curve {
    fn write(&self, to: &mut Writer) {
        to.count(self.0.len());
        for Point { step, bytes, error } in &self.0 {
            to.u64(step.lambda.to_bits().into());
            to.u64(step.halvings.into());
            to.u64(*bytes);
            to.u64(error.to_bits());
        }
    }

    fn read(from: &mut Reader<'_>) -> Option<Curve> {
        let count = from.count()?;
        let point = |_| {
            let lambda = f32::from_bits(u32::try_from(from.u64()?).ok()?);
            let halvings = u32::try_from(from.u64()?).ok().filter(|halvings| *halvings < u32::BITS)?;
            let (bytes, error) = (from.u64()?, f64::from_bits(from.u64()?));
            // A forged cache entry must not make the allocation meaningless.
            let is_valid = lambda.is_finite() && lambda >= 0.0 && error.is_finite() && error >= 0.0;
            is_valid.then_some(Point { step: SizeStep { lambda, halvings }, bytes, error })
        };
        (0..count).map(point).collect::<Option<Vec<_>>>().map(Curve)
    }
}

/// The measurement of one texture.
pub(super) struct CurveAction<'a, 't> {
    asset: &'a PlannedAsset<'t>,
    fingerprint: String,
}

impl<'a, 't> CurveAction<'a, 't> {
    pub(super) fn new(asset: &'a PlannedAsset<'t>) -> CurveAction<'a, 't> {
        CurveAction { asset, fingerprint: format!("size curve {VERSION}\n{}", asset.fingerprint()) }
    }

    /// Compiles the texture; returns its files.
    fn files(&self, cx: &mut ActionContext<'_>, settings: &Settings) -> Result<Vec<Vec<u8>>, Diag> {
        let artifacts = self.asset.recipe.run(cx, settings, self.asset.tools())?;
        let bytes = |artifact: Artifact<_>| artifact.into_staged().into_inner::<Vec<u8>>();
        Ok(artifacts.into_iter().filter_map(bytes).collect())
    }

    fn measure(&self, cx: &mut ActionContext<'_>, reference: &[u8], step: SizeStep) -> Result<Point, Diag> {
        cx.inputs.check_deadline()?;
        let mut settings = Settings::clone(&self.asset.resolved.settings);
        settings.size_step = Some(step);
        let files = self.files(cx, &settings)?;
        let bytes = files.iter().map(|file| file.len() as u64).sum();
        let limits = *cx.inputs.limits();
        let error = files.first().and_then(|file| squared_error(reference, file, &limits)).unwrap_or(0.0);
        Ok(Point { step, bytes, error })
    }
}

impl Action for CurveAction<'_, '_> {
    type Metadata = Curve;

    fn source(&self) -> &RelPath {
        &self.asset.source
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn weight(&self, sources: SourceTree<'_>) -> u64 {
        // The reference and a decoded texture are beside the one that is encoded.
        self.asset.weight(sources).saturating_mul(3)
    }

    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<Curve>>, Diag> {
        let mut settings = Settings::clone(&self.asset.resolved.settings);
        settings.texture.compress = false;
        settings.texture.depth = Depth::Sixteen;
        settings.texture.mips = Mips::None;
        let reference = self.files(cx, &settings)?.into_iter().next().unwrap_or_default();
        let mut points: Vec<Point> = Vec::new();
        for halvings in 0..=self.asset.resolved.settings.texture.min_scale.halvings() {
            let plain = self.measure(cx, &reference, SizeStep { lambda: 0.0, halvings })?;
            points.push(plain);
            for lambda in LAMBDAS {
                let point = self.measure(cx, &reference, SizeStep { lambda, halvings })?;
                if (point.bytes, point.error) == (plain.bytes, plain.error) {
                    break;
                }
                points.push(point);
            }
        }
        let name = RelPath::new(format!("{}.curve", self.asset.source))
            .map_err(|bad| Diag::new(Code::Texture, bad.to_string()))?;
        Ok(vec![cx.artifact(&name, Curve(points), &[])?])
    }
}

/// A directory whose staged artifacts are in memory, where they are measured; only curves are published.
pub(super) struct CurveSink<'a>(DirectorySink<'a>);

impl<'a> CurveSink<'a> {
    pub(super) fn new(out: &'a dyn Fs, tree: &'a Tree) -> CurveSink<'a> {
        CurveSink(DirectorySink::new(out, tree))
    }

    fn place(&self, staged: Staged, name: RelPath) -> io::Result<Stamp> {
        let bytes: Vec<u8> = staged.into_inner().unwrap_or_default();
        let staged = self.0.stage(Blob::of(&bytes), &mut |file| file.write_all(&bytes))?;
        let published = self.0.publish(vec![(staged, name)]).into_iter().next();
        published.unwrap_or_else(|| Err(io::ErrorKind::Other.into()))
    }
}

impl Sink for CurveSink<'_> {
    fn stage(&self, _: Blob, fill: Fill<'_>) -> io::Result<Staged> {
        let mut bytes = Vec::new();
        fill(&mut bytes)?;
        Ok(Staged::new(bytes))
    }

    fn slot(&self, name: &RelPath) -> Option<String> {
        self.0.slot(name)
    }

    fn admit(&self, candidate: Candidate<'_>, records: &Records) -> Result<Option<Stamp>, Diag> {
        self.0.admit(candidate, records)
    }

    fn publish(&self, batch: Vec<(Staged, RelPath)>) -> Vec<io::Result<Stamp>> {
        batch.into_iter().map(|(staged, name)| self.place(staged, name)).collect()
    }

    fn find(&self, recorded: &Output<'_>, verify: bool, hint: &mut usize) -> Result<Stamp, RebuildReason> {
        self.0.find(recorded, verify, hint)
    }

    fn read(&self, name: &RelPath) -> Option<Vec<u8>> {
        self.0.read(name)
    }

    fn remove(&self, recorded: &Output<'_>) -> Result<(), Diag> {
        self.0.remove(recorded)
    }
}
