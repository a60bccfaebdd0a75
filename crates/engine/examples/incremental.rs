//! An incremental build on an in-memory file system: prints why each source is built in three runs.
//! `cargo run -p kiln-engine --example incremental`

use kiln_engine::mem::Mem;
use kiln_engine::{
    Action, ActionContext, Artifact, Diag, DirectorySink, Fs, Journal, Plan, RelPath, SourceTree,
};
use kiln_engine::{State, run};

/// Writes the source in upper case.
struct UpperCase(RelPath);

impl Action for UpperCase {
    type Metadata = ();

    fn source(&self) -> &RelPath {
        &self.0
    }

    fn fingerprint(&self) -> &str {
        "upper-case 1"
    }

    fn weight(&self, sources: SourceTree<'_>) -> u64 {
        sources.len(&self.0)
    }

    fn run(&self, cx: &mut ActionContext<'_>) -> Result<Vec<Artifact<()>>, Diag> {
        let bytes = cx.inputs.read(&self.0)?.to_ascii_uppercase();
        Ok(vec![cx.artifact(&self.0, (), &bytes)?])
    }
}

#[expect(clippy::print_stdout, reason = "an example that prints its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (src, out) = (Mem::new(), Mem::new());
    src.put("a.txt", "first");
    src.put("b.txt", "second");
    src.tick(1_000_000_000);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
    for n in 1..=3 {
        if n == 3 {
            src.put("b.txt", "edited");
        }
        let (src_tree, out_tree) = (src.walk(None)?, out.walk(None)?);
        let mut journal = Journal::open(&out, &RelPath::new(".journal")?, &|| ())?;
        let sources = SourceTree { fs: &src, tree: &src_tree };
        let sink = DirectorySink::new(&out, &out_tree);
        let actions: Vec<_> = src_tree.files().map(|(path, _)| UpperCase(path.clone())).collect();
        let outcomes = run(sources, &sink, &mut journal, &actions, &[], Plan::new(&pool))?;
        for (action, outcome) in actions.iter().zip(outcomes) {
            match outcome.state {
                State::Built(reason) => println!("run {n}: {} built ({reason})", action.0),
                state => println!("run {n}: {} {state:?}", action.0),
            }
        }
    }
    Ok(())
}
