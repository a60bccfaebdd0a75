//! `budget:` of `assetc.yml`: limits on the size of the output, by kind of file, in total and in GPU memory.

use kiln_engine::{Code, Diag, Fs, Records, RelPath};
use kiln_format::{FORMATS, Fact, GPU_BYTES, by_path};

/// The limit on one kind of file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// The plural noun of a format (`textures`), [`TOTAL`] or [`GPU`].
    pub kind: String,
    /// The limit in bytes.
    pub max_bytes: u64,
}

/// The key for all outputs together.
pub const TOTAL: &str = "total";
/// The key for the GPU memory of all outputs together.
pub const GPU: &str = "gpu";

/// Returns the keys of `budget:`.
pub(crate) fn kinds() -> impl Iterator<Item = &'static str> + Clone {
    FORMATS.iter().map(|format| format.title()).filter(|title| *title != "packs").chain([TOTAL, GPU])
}

/// Compares the outputs of the journal with the budgets; returns one error for each that is exceeded.
pub(crate) fn exceeded(budgets: &[Budget], records: &Records, out: &dyn Fs) -> Vec<Diag> {
    if budgets.is_empty() {
        return vec![];
    }
    let outputs = records.names().into_iter().filter_map(|name| records.get(name)).flat_map(|r| r.outputs);
    let outputs: Vec<(String, u64)> = outputs.map(|o| (o.path.into_owned(), o.stamp.len)).collect();
    let exceeded = budgets.iter().filter_map(|Budget { kind, max_bytes }| {
        let of_kind =
            |path: &str| kind == TOTAL || by_path(path).is_some_and(|format| format.title() == kind);
        let size: u64 = match kind.as_str() {
            GPU => outputs.iter().map(|(path, _)| gpu_bytes(path, out)).sum(),
            _ => outputs.iter().filter(|(path, _)| of_kind(path)).map(|(_, len)| len).sum(),
        };
        (size > *max_bytes).then(|| {
            let what = match kind.as_str() {
                TOTAL => "the output has".to_owned(),
                GPU => "the output takes".to_owned(),
                kind => format!("the {kind} have"),
            };
            let memory = if kind == GPU { " of GPU memory" } else { "" };
            let message = format!(
                "{what} {size} bytes{memory}, {} more than the budget of {max_bytes}",
                size - max_bytes
            );
            let hint = format!("run `assetc --stats` to find the largest assets, or raise budget.{kind}");
            Diag::new(Code::BudgetExceeded, message).hint(hint)
        })
    });
    exceeded.collect()
}

fn gpu_bytes(path: &str, out: &dyn Fs) -> u64 {
    let read = || {
        let bytes = out.read(&RelPath::new(path).ok()?).ok()?;
        let mut gpu = None;
        let each = &mut |name: &'static str, fact: Fact<'_>| match fact {
            Fact::Total(bytes) if name == GPU_BYTES => gpu = Some(bytes),
            _ => {}
        };
        by_path(path)?.facts(&bytes, each).ok()?;
        gpu
    };
    read().unwrap_or_default()
}
