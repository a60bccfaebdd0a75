//! A build in memory, around what is attacked.

use std::hint::black_box;
use std::sync::OnceLock;

use kiln_kit::mem::Mem;
use kiln_kit::{Cache, Cook, Diag, Fs, Plan, RelPath, Store, Task, World, run};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The journal of the output.
pub(crate) const JOURNAL: &str = ".journal";

/// Copies a file.
struct Copy(RelPath);

impl Task for Copy {
    fn source(&self) -> &RelPath {
        &self.0
    }

    fn fingerprint(&self) -> &str {
        "copy 1"
    }

    fn weight(&self, _: World<'_>) -> u64 {
        1
    }

    fn cook(&self, cx: &mut Cook<'_>) -> Result<Vec<u8>, Diag> {
        let bytes = cx.read(&self.0)?;
        cx.emit(&RelPath::new("a.out").expect("a plain name"), &bytes)?;
        Ok(bytes)
    }
}

/// Builds `a.txt` into an output, whatever is there; the next build finds the journal that this one wrote.
pub(crate) fn build_twice(out: &Mem, store: Option<&Store>) {
    let (count, _) = build(out, store);
    assert_eq!(build(out, store), (count, false), "the journal is not what was written");
}

/// Builds; returns how many sources the journal knows then, and whether it was cut.
fn build(out: &Mem, store: Option<&Store>) -> (usize, bool) {
    static POOL: OnceLock<ThreadPool> = OnceLock::new();
    let pool = POOL.get_or_init(|| ThreadPoolBuilder::new().num_threads(1).build().expect("a thread"));
    let (src, plain) = (Mem::new(), |name| RelPath::new(name).expect("a plain name"));
    src.put("a.txt", b"text");
    let mut cache = Cache::open(out, &plain(JOURNAL), &|| ()).expect("memory gives it");
    let (src_tree, out_tree) = (src.walk(None).expect("a tree"), out.walk(None).expect("a tree"));
    let world = World { src: &src, src_tree: &src_tree, out, out_tree: &out_tree };
    let tasks = [Copy(plain("a.txt"))];
    let plan = Plan {
        pool,
        force: false,
        verify: false,
        prune: true,
        overwrite: false,
        store,
        limits: kiln_kit::Limits::default(),
        events: &(),
    };
    drop(black_box(run(world, &mut cache, &tasks, &[], plan)));
    (cache.records().len(), cache.records().is_cut())
}
