//! A build in memory, for targets that need the engine.

use std::hint::black_box;
use std::sync::OnceLock;

use kiln_engine::mem::Mem;
use kiln_engine::{
    Action, ActionContext, Artifact, Code, Diag, DirectorySink, Fs, Journal, Plan, RelPath, SourceTree,
    State, Store, run,
};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The name of the journal in the output tree.
pub(crate) const JOURNAL: &str = ".journal";

/// An action that copies a file.
struct Copy(RelPath);

impl Action for Copy {
    type Metadata = ();

    fn source(&self) -> &RelPath {
        &self.0
    }

    fn fingerprint(&self) -> &str {
        "copy 1"
    }

    fn weight(&self, _: SourceTree<'_>) -> u64 {
        1
    }

    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<()>>, Diag> {
        let bytes = cx.inputs.read(&self.0)?;
        Ok(vec![cx.artifact(&plain("a.out"), (), &bytes)?])
    }
}

/// Builds `a.txt` into an output tree with arbitrary content, twice: the second build has to find the journal of the
/// first.
pub(crate) fn build_twice(out: &Mem, store: Option<&Store>) {
    let (count, _) = build(out, store);
    assert_eq!(build(out, store), (count, false), "the second build reads a different journal");
}

/// Builds once; returns the number of sources in the journal, and whether it was truncated.
fn build(out: &Mem, store: Option<&Store>) -> (usize, bool) {
    let src = Mem::new();
    src.put("a.txt", b"text");
    let journal = run_in_memory(&src, out, &[Copy(plain("a.txt"))], store);
    (journal.records().len(), journal.records().is_truncated())
}

/// Runs actions from one tree into another. Fails if an action panicked, which the engine only reports.
pub(crate) fn run_in_memory<A: Action>(
    src: &Mem,
    out: &Mem,
    actions: &[A],
    store: Option<&Store>,
) -> Journal {
    static POOL: OnceLock<ThreadPool> = OnceLock::new();
    let pool = POOL.get_or_init(|| ThreadPoolBuilder::new().num_threads(1).build().expect("a thread"));
    let mut journal = Journal::open(out, &plain(JOURNAL), &|| ()).expect("memory gives it");
    let (src_tree, out_tree) = (src.walk(None).expect("a tree"), out.walk(None).expect("a tree"));
    let (sources, sink) = (SourceTree { fs: src, tree: &src_tree }, DirectorySink::new(out, &out_tree));
    let outcomes = run(sources, &sink, &mut journal, actions, &[], Plan { store, ..Plan::new(pool) });
    for outcome in black_box(outcomes).into_iter().flatten() {
        if let State::Failed(diag) = outcome.state {
            assert_ne!(diag.code, Code::ActionPanicked, "{diag}");
        }
    }
    journal
}

fn plain(name: &str) -> RelPath {
    RelPath::new(name).expect("a plain name")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed in an old layout would exercise the version check only.
    #[test]
    fn seed_is_in_the_current_layout() {
        let out = Mem::new();
        out.put(JOURNAL, include_bytes!("../corpus/journal/a-build"));
        let journal = Journal::open(&out, &plain(JOURNAL), &|| ()).unwrap();
        assert!(journal.records().get("a.txt").is_some() && !journal.records().is_truncated());
    }
}
