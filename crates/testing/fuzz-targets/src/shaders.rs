//! Targets for shader compilers behind the worker protocol, and for the client of that protocol with arbitrary responses.
//!
//! The worker loop runs on a thread of this process, so that the fuzzer sees its coverage. In the product it is a process,
//! which also contains stack overflows, exhausted memory and crashes in glslang. In both, a panic of a compiler has to
//! come back as an error of its source.

use std::hint::black_box;
use std::io::{self, PipeReader, PipeWriter};
use std::panic;
use std::sync::{Mutex, OnceLock};
use std::thread;

use kiln_engine::Diag;
use kiln_format::spv::Reflection;
use kiln_shader::{
    Channel, Compiled, Include, Included, Includes, Language, Options, Source, Stage, Target, WorkerError,
    compile_in_worker, read_frame, serve, wgsl_stages_in_worker, write_frame,
};

/// The longest source in bytes: the recursion depth of the compilers grows with the source, and AddressSanitizer enlarges
/// stack frames.
const MAX_SOURCE: usize = 16 << 10;

/// The path of every source.
const PATH: &str = "a.shader/source";

/// A worker on a thread of this process.
struct InProcess {
    requests: PipeWriter,
    responses: PipeReader,
}

impl InProcess {
    fn start() -> InProcess {
        // libFuzzer aborts in the hook of a panic, before the worker can catch it.
        let hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().name() != Some("kiln-shader") {
                hook(info);
            }
        }));
        let (input, requests) = io::pipe().expect("a pipe");
        let (responses, output) = io::pipe().expect("a pipe");
        thread::spawn(move || serve(input, output).expect("every request is valid"));
        InProcess { requests, responses }
    }
}

impl Channel for InProcess {
    fn send(&mut self, frame: &[u8]) {
        write_frame(&mut self.requests, frame).expect("the worker reads");
    }

    fn receive(&mut self) -> Result<Vec<u8>, WorkerError> {
        Ok(read_frame(&mut self.responses).expect("the worker responds"))
    }
}

/// Resolves every `#include` to one text.
struct OneFile<'a>(Option<&'a str>);

impl Includes for OneFile<'_> {
    fn include(&mut self, include: Include<'_>) -> Option<Included> {
        self.0.map(|text| Included { path: include.name.to_owned(), text: text.to_owned() })
    }
}

/// Passes the worker to `run`, one source at a time.
fn with_worker(run: impl FnOnce(&mut InProcess)) {
    static WORKER: OnceLock<Mutex<InProcess>> = OnceLock::new();
    let worker = WORKER.get_or_init(|| Mutex::new(InProcess::start()));
    run(&mut worker.lock().unwrap_or_else(|broken| broken.into_inner()));
}

/// Lists the entry points of a WGSL source and compiles each of their stages.
pub(crate) fn wgsl(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if text.len() > MAX_SOURCE {
        return;
    }
    let defines = [("quality".to_owned(), "2".to_owned())];
    with_worker(|worker| match wgsl_stages_in_worker(PATH, text, worker) {
        Ok(stages) => {
            let options = options(text, &defines);
            for (stage, _) in stages {
                let source = Source { path: PATH, text, language: Language::Wgsl, stage, entry: "main" };
                check(stage, compile_in_worker(&source, &options, &mut OneFile(None), worker));
            }
        }
        Err(error) => check_error(&error),
    });
}

/// Compiles a GLSL or HLSL source for the stage that the first byte chooses, from `a`. Every `#include` resolves to the
/// file after a line of `%%`.
#[cfg(feature = "glsl")]
pub(crate) fn glslang(bytes: &[u8], language: Language) {
    let Some((&stage, bytes)) = bytes.split_first() else { return };
    let (text, included) = crate::split_input(bytes);
    let (Ok(text), Ok(included)) = (std::str::from_utf8(text), included.map(std::str::from_utf8).transpose())
    else {
        return;
    };
    if bytes.len() > MAX_SOURCE {
        return;
    }
    let number = usize::from(stage.wrapping_sub(b'a')) % Stage::all().count();
    let stage = Stage::all().nth(number).expect("there are more");
    let defines = [("QUALITY".to_owned(), "2".to_owned())];
    let source = Source { path: PATH, text, language, stage, entry: "main" };
    let options = options(text, &defines);
    with_worker(|worker| {
        check(stage, compile_in_worker(&source, &options, &mut OneFile(included), worker));
    });
}

/// Derives options from the length of a source.
fn options<'a>(text: &str, defines: &'a [(String, String)]) -> Options<'a> {
    let target = Target::ALL[text.len() % Target::ALL.len()];
    Options { target, debug: text.len() % 8 < 4, defines: &defines[..text.len() / 8 % 2] }
}

/// Asserts that a compiled module can be read, or that the failure is an error of the source.
fn check(stage: Stage, compiled: Result<Compiled, Diag>) {
    match compiled {
        Ok(compiled) => {
            let bytes = compiled.bytes();
            let module = Reflection::read(&bytes).expect("a module that can be read");
            assert!(
                module.entry_points.iter().any(|entry| entry.stage == stage),
                "a module without {stage:?}"
            );
        }
        Err(error) => check_error(&error),
    }
}

fn check_error(error: &Diag) {
    assert!(error.code.as_str().starts_with("shader-"), "{error}");
    assert!(error.path.is_some() && !error.message.is_empty(), "{error}");
}

/// A worker whose pipe contains arbitrary bytes.
struct AnyResponses<'a>(&'a [u8]);

impl Channel for AnyResponses<'_> {
    fn send(&mut self, frame: &[u8]) {
        black_box(frame);
    }

    fn receive(&mut self) -> Result<Vec<u8>, WorkerError> {
        read_frame(&mut self.0).map_err(|error| WorkerError::Crashed(error.to_string()))
    }
}

/// Makes requests to a worker with arbitrary responses: each returns a result or an error.
pub(crate) fn responses(bytes: &[u8]) {
    let source =
        Source { path: PATH, text: "", language: Language::Wgsl, stage: Stage::Vertex, entry: "main" };
    let options = options("", &[]);
    let _ = black_box(compile_in_worker(&source, &options, &mut OneFile(Some("")), &mut AnyResponses(bytes)));
    let _ = black_box(wgsl_stages_in_worker(PATH, "", &mut AnyResponses(bytes)));
}
