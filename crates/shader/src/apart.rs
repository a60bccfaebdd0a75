//! glslang in a process of its own: a source that makes it crash, hang or ask for all memory fails alone.
//!
//! [`serve`] is what that process runs. Who asks it brings a [`Channel`] to it. They talk in frames: a job goes in,
//! questions about includes come out and are answered, and the module or the log comes out at last.

use crate::glsl::{Ask, Job, Told, run};
use crate::stage::Language;
use crate::{Include, Stage, Target};
use kiln_kit::Diag;
use kiln_kit::wire::{Reader, Writer};
use std::io::{self, Read, Write};

/// What no frame exceeds.
const MAX_FRAME: u32 = 256 << 20;
/// The memory that a process may map, its stack included.
#[cfg(unix)]
const MEMORY: u64 = 2 << 30;

const QUESTION: u8 = 0;
const DONE: u8 = 1;
const FAILED: u8 = 2;

/// A way to a process that runs [`serve`].
pub trait Channel {
    /// Sends a frame. Whether it arrived shows when the answer is awaited.
    fn send(&mut self, frame: &[u8]);

    /// Waits for the next frame. An error says what became of the process.
    fn receive(&mut self) -> Result<Vec<u8>, Diag>;
}

/// Has the other end learn what a GLSL source like this one is going to need, which is most of what a first source
/// costs: the built-in names of its version and stage. One frame comes back, and says nothing.
pub fn learn(head: &str, stage: Stage, target: Target, channel: &mut dyn Channel) {
    let version =
        head.lines().find(|line| line.trim_start().starts_with("#version")).unwrap_or("#version 450");
    let text = format!("{version}\nvoid main() {{}}\n");
    channel.send(&Job { text, language: Language::Glsl, stage, target }.to_frame());
}

/// Has a job done at the other end.
pub(crate) fn run_apart(job: &Job, ask: Ask<'_>, channel: &mut dyn Channel) -> Result<Told, Diag> {
    channel.send(&job.to_frame());
    loop {
        let frame = channel.receive()?;
        let odd =
            || Diag::error("shader-compiler", "the compiler's process gave an answer that makes no sense");
        match Message::read(&mut Reader::new(&frame)).ok_or_else(odd)? {
            Message::Done(told) => return Ok(told),
            Message::Question { name, from, system, depth } => {
                let found = ask(Include { name, from, system }, depth);
                let mut answer = Writer::new();
                answer.u8(found.is_some().into());
                if let Some((path, text)) = found {
                    answer.text(&path);
                    answer.text(&text);
                }
                channel.send(&answer.finish());
            }
        }
    }
}

/// What a process says.
enum Message<'a> {
    Question { name: &'a str, from: &'a str, system: bool, depth: usize },
    Done(Told),
}

impl<'a> Message<'a> {
    fn read(frame: &mut Reader<'a>) -> Option<Message<'a>> {
        Some(match frame.u8()? {
            QUESTION => Message::Question {
                name: frame.text()?,
                from: frame.text()?,
                system: frame.u8()? != 0,
                depth: frame.u32()? as usize,
            },
            DONE => {
                let words =
                    frame.bytes()?.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
                Message::Done(Ok((words, frame.text()?.to_owned())))
            }
            FAILED => Message::Done(Err(frame.text()?.to_owned())),
            _ => return None,
        })
    }
}

impl Job {
    fn to_frame(&self) -> Vec<u8> {
        let mut frame = Writer::new();
        frame.text(self.stage.name());
        frame.text(self.target.name());
        frame.u8((self.language == Language::Hlsl).into());
        frame.text(&self.text);
        frame.finish()
    }

    fn from_frame(frame: &[u8]) -> Option<Job> {
        let mut frame = Reader::new(frame);
        let (stage, target) = (frame.text()?, frame.text()?);
        Some(Job {
            stage: Stage::all().find(|it| it.name() == stage)?,
            target: Target::ALL.into_iter().find(|it| it.name() == target)?,
            language: if frame.u8()? != 0 { Language::Hlsl } else { Language::Glsl },
            text: frame.text()?.to_owned(),
        })
    }
}

/// Does the jobs that come in until no more come. For a process of its own: it limits the memory of the process.
pub fn serve(mut input: impl Read + Send, mut output: impl Write + Send) -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let limit = |bytes| Rlimit { current: Some(bytes), maximum: Some(bytes) };
        // Without the limits the machine's own apply.
        let _ = setrlimit(Resource::As, limit(MEMORY));
        let _ = setrlimit(Resource::Core, limit(0));
    }
    loop {
        let frame = match read_frame(&mut input) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            frame => frame?,
        };
        let job = Job::from_frame(&frame).ok_or(io::ErrorKind::InvalidData)?;
        let told = run(&job, &mut |include: Include<'_>, depth| {
            question(&mut input, &mut output, include, depth).ok().flatten()
        });
        let mut frame = Writer::new();
        match told.map_err(|d| io::Error::other(d.message))? {
            Ok((words, log)) => {
                frame.u8(DONE);
                frame.bytes(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
                frame.text(&log);
            }
            Err(log) => {
                frame.u8(FAILED);
                frame.text(&log);
            }
        }
        write_frame(&mut output, &frame.finish())?;
    }
}

/// Asks for an include.
fn question(
    input: &mut impl Read,
    output: &mut impl Write,
    include: Include<'_>,
    depth: usize,
) -> io::Result<Option<(String, String)>> {
    let mut frame = Writer::new();
    frame.u8(QUESTION);
    frame.text(include.name);
    frame.text(include.from);
    frame.u8(include.system.into());
    frame.u32(u32::try_from(depth).unwrap_or(u32::MAX));
    write_frame(output, &frame.finish())?;
    let frame = read_frame(input)?;
    let mut frame = Reader::new(&frame);
    let mut found =
        || (frame.u8()? != 0).then(|| Some((frame.text()?.to_owned(), frame.text()?.to_owned()))).flatten();
    Ok(found())
}

/// Writes a frame with its length.
pub fn write_frame(pipe: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    let len =
        u32::try_from(frame.len()).ok().filter(|len| *len <= MAX_FRAME).ok_or(io::ErrorKind::InvalidData)?;
    pipe.write_all(&len.to_le_bytes())?;
    pipe.write_all(frame)?;
    pipe.flush()
}

/// Reads a frame; an end in front of it is an error of the kind `UnexpectedEof`.
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
