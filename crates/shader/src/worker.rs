//! Compilation in a worker process: a source that overflows the stack of its compiler, exhausts the memory or
//! never finishes fails alone, and the calling program continues.
//!
//! [`serve`] is the main loop of the worker. A client sends one request at a time through a [`Channel`],
//! answers the worker's include requests, and receives the result. Messages are frames of at most 256 MiB.

use crate::{Compiled, Include, Included, Includes, Language, Options, Source, Stage, Target};
use core::time::Duration;
use kiln_engine::wire::{Reader, Writer};
use kiln_engine::{Code, Diag};
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The maximum length of a frame in bytes.
const MAX_FRAME: u32 = 256 << 20;

/// The kinds of requests in the worker protocol.
const COMPILE: u8 = 0;
const STAGES: u8 = 1;

/// The kinds of responses in the worker protocol.
const INCLUDE: u8 = 0;
const COMPILED: u8 = 1;
const FOUND_STAGES: u8 = 2;
const FAILED: u8 = 3;

/// A connection to a process that runs [`serve`].
pub trait Channel {
    /// Sends a frame. A failure is reported by the next `receive`.
    fn send(&mut self, frame: &[u8]);

    /// Waits for the next frame.
    ///
    /// # Errors
    /// [`WorkerError`] if the worker exits or misses its deadline; the channel cannot be used afterwards.
    fn receive(&mut self) -> Result<Vec<u8>, WorkerError>;
}

/// The reason why a worker gave no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerError {
    /// The process ended, with this exit status: the compiler overflowed its stack, ran out of memory or has a defect.
    Crashed(String),
    /// The process did not respond within this time.
    TimedOut(Duration),
}

impl WorkerError {
    fn diag(self, language: Language, path: &str) -> Diag {
        let compiler = language.compiler();
        let message = match self {
            WorkerError::Crashed(status) => {
                format!("{compiler} crashed or ran out of memory while compiling this source ({status})")
            }
            WorkerError::TimedOut(limit) => {
                format!("{compiler} did not finish this source within {} seconds", limit.as_secs_f64())
            }
        };
        let hint = "simplify the source: look for very long or deeply nested expressions and statements, and for \
                    macros that expand into each other";
        Diag::new(Code::ShaderCompiler, message).path(path).hint(hint)
    }
}

/// Sends a small GLSL source with the version of `head` and this stage, so that the worker loads the built-in
/// symbols of glslang, which is most of the cost of a first source. The response is one frame, which has to
/// be received and dropped.
pub fn warm_up(head: &str, stage: Stage, target: Target, channel: &mut dyn Channel) {
    let version =
        head.lines().find(|line| line.trim_start().starts_with("#version")).unwrap_or("#version 450");
    let text = format!("{version}\nvoid main() {{}}\n");
    let source = Source { path: "", text: &text, language: Language::Glsl, stage, entry: "main" };
    channel.send(&write_compile(&source, &Options { target, debug: false, defines: &[] }));
}

/// Compiles one stage, as [`compile`](crate::compile) does, in the worker at the other end of a channel.
///
/// # Errors
/// The errors of [`compile`](crate::compile), and `shader-compiler` if the compiler crashes or misses its
/// deadline.
pub fn compile_in_worker(
    source: &Source<'_>,
    options: &Options<'_>,
    includes: &mut dyn Includes,
    channel: &mut dyn Channel,
) -> Result<Compiled, Diag> {
    crate::check(source.path, source.text)?;
    channel.send(&write_compile(source, options));
    match response(source.language, source.path, includes, channel)? {
        Response::Compiled(compiled) => Ok(compiled),
        _ => Err(unexpected(source.language, source.path)),
    }
}

/// Lists the entry points of a WGSL source, as [`wgsl_stages`](crate::wgsl_stages) does, in the worker at the other
/// end of a channel.
///
/// # Errors
/// The errors of [`wgsl_stages`](crate::wgsl_stages), and `shader-compiler` if naga crashes or misses its
/// deadline.
pub fn wgsl_stages_in_worker(
    path: &str,
    text: &str,
    channel: &mut dyn Channel,
) -> Result<Vec<(Stage, String)>, Diag> {
    crate::check(path, text)?;
    let mut frame = Writer::new();
    frame.u8(STAGES);
    frame.text(path);
    frame.text(text);
    channel.send(&frame.finish());
    match response(Language::Wgsl, path, &mut NoIncludes, channel)? {
        Response::Stages(stages) => Ok(stages),
        _ => Err(unexpected(Language::Wgsl, path)),
    }
}

/// Answers include requests until the result of a request arrives.
fn response(
    language: Language,
    path: &str,
    includes: &mut dyn Includes,
    channel: &mut dyn Channel,
) -> Result<Response, Diag> {
    loop {
        let frame = channel.receive().map_err(|error| error.diag(language, path))?;
        match Response::read(&mut Reader::new(&frame)).ok_or_else(|| unexpected(language, path))? {
            Response::Failed(diag) => return Err(diag),
            Response::Include { name, from, system } => {
                let found = includes.include(Include { name: &name, from: &from, system });
                let mut answer = Writer::new();
                answer.u8(found.is_some().into());
                if let Some(found) = found {
                    answer.text(&found.path);
                    answer.text(&found.text);
                }
                channel.send(&answer.finish());
            }
            result => return Ok(result),
        }
    }
}

fn unexpected(language: Language, path: &str) -> Diag {
    let message = format!("the worker process of {} sent an invalid response", language.compiler());
    Diag::new(Code::ShaderCompiler, message).path(path)
}

/// A message from the worker.
enum Response {
    Include { name: String, from: String, system: bool },
    Compiled(Compiled),
    Stages(Vec<(Stage, String)>),
    Failed(Diag),
}

impl Response {
    fn read(frame: &mut Reader<'_>) -> Option<Response> {
        Some(match frame.u8()? {
            INCLUDE => Response::Include {
                name: frame.text()?.to_owned(),
                from: frame.text()?.to_owned(),
                system: frame.u8()? != 0,
            },
            COMPILED => {
                let words = frame.bytes()?.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
                let words = words.collect();
                let count = frame.count()?;
                let warnings = (0..count).map(|_| frame.diag()).collect::<Option<_>>()?;
                Response::Compiled(Compiled { words, warnings })
            }
            FOUND_STAGES => {
                let count = frame.count()?;
                let stages = (0..count).map(|_| Some((stage_of(frame.text()?)?, frame.text()?.to_owned())));
                Response::Stages(stages.collect::<Option<_>>()?)
            }
            FAILED => Response::Failed(frame.diag()?),
            _ => return None,
        })
    }

    fn write(&self) -> Vec<u8> {
        let mut frame = Writer::new();
        match self {
            Response::Include { name, from, system } => {
                frame.u8(INCLUDE);
                frame.text(name);
                frame.text(from);
                frame.u8((*system).into());
            }
            Response::Compiled(compiled) => {
                frame.u8(COMPILED);
                frame.bytes(&compiled.bytes());
                frame.count(compiled.warnings.len());
                compiled.warnings.iter().for_each(|warning| frame.diag(warning));
            }
            Response::Stages(stages) => {
                frame.u8(FOUND_STAGES);
                frame.count(stages.len());
                for (stage, name) in stages {
                    frame.text(stage.name());
                    frame.text(name);
                }
            }
            Response::Failed(diag) => {
                frame.u8(FAILED);
                frame.diag(diag);
            }
        }
        frame.finish()
    }
}

fn stage_of(name: &str) -> Option<Stage> {
    Stage::all().find(|stage| stage.name() == name)
}

fn write_compile(source: &Source<'_>, options: &Options<'_>) -> Vec<u8> {
    let mut frame = Writer::new();
    frame.u8(COMPILE);
    frame.text(source.path);
    frame.text(source.text);
    frame.text(source.language.name());
    frame.text(source.stage.name());
    frame.text(source.entry);
    frame.text(options.target.name());
    frame.u8(options.debug.into());
    frame.count(options.defines.len());
    for (name, value) in options.defines {
        frame.text(name);
        frame.text(value);
    }
    frame.finish()
}

/// Handles requests until the input ends.
///
/// # Errors
/// An [`io::Error`] if a request cannot be read or a response cannot be written.
pub fn serve(mut input: impl Read + Send, mut output: impl Write + Send) -> io::Result<()> {
    loop {
        let frame = match read_frame(&mut input) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            frame => frame?,
        };
        let mut client = Client { input: &mut input, output: &mut output };
        let handled = catch_unwind(AssertUnwindSafe(|| handle(&mut Reader::new(&frame), &mut client)));
        let response = match handled {
            Ok(response) => response.ok_or(io::ErrorKind::InvalidData)?,
            Err(panic) => Response::Failed(panicked(&mut Reader::new(&frame), &*panic)),
        };
        write_frame(&mut output, &response.write())?;
    }
}

/// Parses and runs a request; returns `None` for an invalid one.
fn handle(frame: &mut Reader<'_>, includes: &mut dyn Includes) -> Option<Response> {
    let kind = frame.u8()?;
    let (path, text) = (frame.text()?, frame.text()?);
    let result = match kind {
        COMPILE => {
            let language = language(frame.text()?)?;
            let (stage, entry, target) = (stage_of(frame.text()?)?, frame.text()?, frame.text()?);
            let target = Target::ALL.into_iter().find(|it| it.name() == target)?;
            let debug = frame.u8()? != 0;
            let count = frame.count()?;
            let define = |_| Some((frame.text()?.to_owned(), frame.text()?.to_owned()));
            let defines = (0..count).map(define).collect::<Option<Vec<_>>>()?;
            let source = Source { path, text, language, stage, entry };
            let options = Options { target, debug, defines: &defines };
            crate::compile(&source, &options, includes).map(Response::Compiled)
        }
        STAGES => crate::wgsl_stages(path, text).map(Response::Stages),
        _ => return None,
    };
    Some(result.unwrap_or_else(Response::Failed))
}

fn language(name: &str) -> Option<Language> {
    [Language::Glsl, Language::Hlsl, Language::Wgsl].into_iter().find(|language| language.name() == name)
}

/// Reports a panic, which is a defect of the compiler, as an error of the source that caused it.
fn panicked(frame: &mut Reader<'_>, panic: &(dyn std::any::Any + Send)) -> Diag {
    let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    let kind = frame.u8();
    let (path, _) = (frame.text().unwrap_or_default(), frame.text());
    let language = match kind {
        Some(COMPILE) => frame.text().and_then(language).unwrap_or(Language::Glsl),
        _ => Language::Wgsl,
    };
    WorkerError::Crashed(message).diag(language, path)
}

/// An include resolver that asks the client.
struct Client<'a, I, O> {
    input: &'a mut I,
    output: &'a mut O,
}

impl<I: Read, O: Write> Client<'_, I, O> {
    fn ask(&mut self, include: Include<'_>) -> io::Result<Option<Included>> {
        let (name, from) = (include.name.to_owned(), include.from.to_owned());
        let question = Response::Include { name, from, system: include.system };
        write_frame(self.output, &question.write())?;
        let frame = read_frame(self.input)?;
        let mut frame = Reader::new(&frame);
        let found = frame.u8() == Some(1);
        let mut text = || frame.text().filter(|_| found).map(str::to_owned);
        Ok(text().zip(text()).map(|(path, text)| Included { path, text }))
    }
}

impl<I: Read + Send, O: Write + Send> Includes for Client<'_, I, O> {
    fn include(&mut self, include: Include<'_>) -> Option<Included> {
        // A disconnected client is detected when the response is written.
        self.ask(include).ok().flatten()
    }
}

struct NoIncludes;

impl Includes for NoIncludes {
    fn include(&mut self, _: Include<'_>) -> Option<Included> {
        None
    }
}

/// Writes a frame: its length and its bytes.
///
/// # Errors
/// An [`io::Error`] if the frame is too long or cannot be written.
pub fn write_frame(pipe: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    let len =
        u32::try_from(frame.len()).ok().filter(|len| *len <= MAX_FRAME).ok_or(io::ErrorKind::InvalidData)?;
    pipe.write_all(&len.to_le_bytes())?;
    pipe.write_all(frame)?;
    pipe.flush()
}

/// Reads a frame: its length and its bytes.
///
/// # Errors
/// An [`io::Error`] if the frame is too long or cannot be read; of the kind `UnexpectedEof` at the end of the
/// input.
pub fn read_frame(pipe: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut len = [0; 4];
    pipe.read_exact(&mut len)?;
    let len = u32::from_le_bytes(len);
    if len > MAX_FRAME {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut frame = Vec::new();
    pipe.take(len.into()).read_to_end(&mut frame)?;
    if frame.len() != len as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(frame)
}
