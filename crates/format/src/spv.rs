//! `.spv`: a SPIR-V module for Vulkan.
//!
//! Implements `docs/reference/formats/spv.md`: the part of the Khronos specification that covers the interface of a
//! module. Rejects modules of the other byte order or of unknown versions, truncated instructions, functions
//! without an end, and modules without entry points. With `tools`, also IDs that are out of bounds, defined
//! twice or undefined, as far as entry points, types and calls are concerned. The bodies of functions are not
//! validated.

#[cfg(feature = "tools")]
mod module;
#[cfg(feature = "tools")]
mod reflect;
#[cfg(feature = "tools")]
mod types;

#[cfg(feature = "tools")]
pub use self::reflect::{Attribute, Binding, Count, EntryPoint, PushConstants, Reflection, SpecConstant};
#[cfg(feature = "tools")]
pub use self::types::Descriptor;

use core::mem::offset_of;

use crate::bytes::{Le, Reader, record};
use crate::hpack::PackKind;
use crate::table::{FormatId, format_entry};
use crate::{Error, Format};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, refs};

/// The magic number: the first word of a module.
pub const MAGIC: u32 = 0x0723_0203;

/// The largest ID bound that implementations have to support.
const MAX_BOUND: u32 = 0x3f_ffff;

record! {
    /// The file header; the instructions follow it.
    struct Header {
        magic: u32,
        version: u32,
        generator: u32,
        bound: u32,
        schema: u32,
    }
}

/// The opcodes that this reader uses.
#[cfg_attr(not(feature = "tools"), allow(dead_code, reason = "most of them are for reflection"))]
mod op {
    pub(super) const NAME: u16 = 5;
    pub(super) const ENTRY_POINT: u16 = 15;
    pub(super) const EXECUTION_MODE: u16 = 16;
    pub(super) const TYPE_VOID: u16 = 19;
    pub(super) const TYPE_BOOL: u16 = 20;
    pub(super) const TYPE_INT: u16 = 21;
    pub(super) const TYPE_FLOAT: u16 = 22;
    pub(super) const TYPE_VECTOR: u16 = 23;
    pub(super) const TYPE_MATRIX: u16 = 24;
    pub(super) const TYPE_IMAGE: u16 = 25;
    pub(super) const TYPE_SAMPLER: u16 = 26;
    pub(super) const TYPE_SAMPLED_IMAGE: u16 = 27;
    pub(super) const TYPE_ARRAY: u16 = 28;
    pub(super) const TYPE_RUNTIME_ARRAY: u16 = 29;
    pub(super) const TYPE_STRUCT: u16 = 30;
    pub(super) const TYPE_POINTER: u16 = 32;
    pub(super) const TYPE_FUNCTION: u16 = 33;
    pub(super) const CONSTANT: u16 = 43;
    pub(super) const SPEC_CONSTANT_TRUE: u16 = 48;
    pub(super) const SPEC_CONSTANT_FALSE: u16 = 49;
    pub(super) const SPEC_CONSTANT: u16 = 50;
    pub(super) const FUNCTION: u16 = 54;
    pub(super) const FUNCTION_END: u16 = 56;
    pub(super) const FUNCTION_CALL: u16 = 57;
    pub(super) const VARIABLE: u16 = 59;
    pub(super) const DECORATE: u16 = 71;
    pub(super) const MEMBER_DECORATE: u16 = 72;
    pub(super) const EXECUTION_MODE_ID: u16 = 331;
    pub(super) const TYPE_RAY_QUERY: u16 = 4472;
    pub(super) const TYPE_ACCELERATION_STRUCTURE: u16 = 5341;
}

/// A shader stage of Vulkan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The vertex shader.
    Vertex,
    /// The tessellation control shader.
    TessControl,
    /// The tessellation evaluation shader.
    TessEval,
    /// The geometry shader.
    Geometry,
    /// The fragment shader.
    Fragment,
    /// The compute shader.
    Compute,
    /// The task shader.
    Task,
    /// The mesh shader.
    Mesh,
    /// The ray generation shader.
    Raygen,
    /// The intersection shader.
    Intersection,
    /// The any-hit shader.
    AnyHit,
    /// The closest-hit shader.
    ClosestHit,
    /// The miss shader.
    Miss,
    /// The callable shader.
    Callable,
}

impl Stage {
    /// All stages, with the number of their execution model and their name.
    const ALL: [(Stage, u32, &'static str); 14] = [
        (Stage::Vertex, 0, "vertex"),
        (Stage::TessControl, 1, "tesscontrol"),
        (Stage::TessEval, 2, "tesseval"),
        (Stage::Geometry, 3, "geometry"),
        (Stage::Fragment, 4, "fragment"),
        (Stage::Compute, 5, "compute"),
        (Stage::Raygen, 5313, "raygen"),
        (Stage::Intersection, 5314, "intersection"),
        (Stage::AnyHit, 5315, "anyhit"),
        (Stage::ClosestHit, 5316, "closesthit"),
        (Stage::Miss, 5317, "miss"),
        (Stage::Callable, 5318, "callable"),
        (Stage::Task, 5364, "task"),
        (Stage::Mesh, 5365, "mesh"),
    ];

    /// Iterates over all stages.
    pub fn all() -> impl Iterator<Item = Stage> {
        Stage::ALL.into_iter().map(|(stage, ..)| stage)
    }

    /// Returns the stage of an execution model; `None` if Vulkan does not have it.
    pub fn from_model(model: u32) -> Option<Stage> {
        Stage::ALL.into_iter().find(|(_, number, _)| *number == model).map(|(stage, ..)| stage)
    }

    /// Returns the name in lower case: `vertex`.
    pub fn name(self) -> &'static str {
        Stage::ALL.into_iter().find(|(stage, ..)| *stage == self).map_or("", |(.., name)| name)
    }
}

/// One instruction of a module.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    /// The byte offset of the instruction in the file.
    pub at: u64,
    /// The opcode, as in the SPIR-V specification.
    pub opcode: u16,
    /// The operands: whole words.
    operands: &'a [u8],
}

impl<'a> Instruction<'a> {
    /// Returns operand `index`, counted from 0.
    pub fn word(&self, index: usize) -> Option<u32> {
        u32::get(self.operands.get(index.checked_mul(4)?..)?)
    }

    /// Iterates over all operands.
    pub fn words(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.operands.chunks_exact(4).map(|word| u32::get(word).unwrap_or_default())
    }

    /// Returns the string that starts at operand `index`, and the index of the operand after it.
    pub fn text(&self, index: usize) -> Option<(&'a str, usize)> {
        let bytes = self.operands.get(index.checked_mul(4)?..)?;
        let len = bytes.iter().position(|&byte| byte == 0)?;
        let text = core::str::from_utf8(&bytes[..len]).ok()?;
        Some((text, index + len / 4 + 1))
    }

    #[cfg(feature = "tools")]
    fn wrong(&self, field: &'static str, why: &'static str) -> Error {
        Error::Fault { at: self.at, field, why }
    }
}

/// A checked module: all instructions are complete, and all functions end.
#[derive(Clone, Copy, Debug)]
pub struct SpvView<'a> {
    version: u32,
    generator: u32,
    bound: u32,
    code: Reader<'a>,
}

impl<'a> SpvView<'a> {
    /// Checks the header and walks all instructions.
    ///
    /// # Errors
    ///
    /// [`Error`] if the header or an instruction is invalid or truncated, a function does not end, or there
    /// is no entry point.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut code = Reader::new(bytes);
        let header = Header::read(&mut code)?;
        if header.magic != MAGIC {
            return Err(Error::Magic { found: header.magic.to_le_bytes(), format: "spv" });
        }
        let bad = |at: usize, field, found: u32, expected| {
            Err(Error::Value { at: at as u64, field, found: found.into(), expected })
        };
        let version = header.version;
        if version & 0xff00_00ff != 0 || version >> 16 != 1 || version >> 8 & 0xff > 6 {
            return bad(offset_of!(Header, version), "version", version, "1.0 to 1.6");
        }
        if !(1..=MAX_BOUND).contains(&{ header.bound }) {
            return bad(offset_of!(Header, bound), "bound", header.bound, "from 1 to 4194303");
        }
        header.must_equal(Header { schema: 0, ..header }, 0)?;

        let view = SpvView { version, generator: header.generator, bound: header.bound, code };
        let mut reader = code;
        let (mut inside, mut entry_points) = (false, 0u32);
        while reader.at() < bytes.len() as u64 {
            let instruction = next(&mut reader)?;
            match instruction.opcode {
                op::FUNCTION | op::FUNCTION_END if inside != (instruction.opcode == op::FUNCTION_END) => {
                    let why = "is nested in another function or outside of any";
                    return Err(Error::Fault { at: instruction.at, field: "function", why });
                }
                op::FUNCTION | op::FUNCTION_END => inside = !inside,
                op::ENTRY_POINT => {
                    read_entry(&instruction)?;
                    entry_points += 1;
                }
                _ => {}
            }
        }
        let at = bytes.len() as u64;
        if inside {
            return Err(Error::Fault { at, field: "function", why: "does not end" });
        }
        if entry_points == 0 {
            return Err(Error::Fault { at, field: "module", why: "ends without an entry point" });
        }
        Ok(view)
    }

    /// Returns the version of SPIR-V: `(1, 5)`.
    pub fn version(&self) -> (u8, u8) {
        ((self.version >> 16) as u8, (self.version >> 8) as u8)
    }

    /// Returns the generator word: the registered ID of the compiler, and its version.
    pub fn generator(&self) -> u32 {
        self.generator
    }

    /// Returns the ID bound; all IDs are below it.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// Returns the instructions in file order.
    pub fn instructions(&self) -> impl Iterator<Item = Instruction<'a>> + use<'a> {
        let mut reader = self.code;
        core::iter::from_fn(move || next(&mut reader).ok())
    }

    /// Returns the stages and names of the entry points, in file order.
    pub fn entry_points(&self) -> impl Iterator<Item = (Stage, &'a str)> + use<'a> {
        let entries = self.instructions().filter(|i| i.opcode == op::ENTRY_POINT);
        entries.filter_map(|entry| read_entry(&entry).ok())
    }
}

fn next<'a>(reader: &mut Reader<'a>) -> Result<Instruction<'a>, Error> {
    let at = reader.at();
    let first: u32 = reader.get("instruction")?;
    let Some(operands) = (first >> 16).checked_sub(1) else {
        let expected = "at least 1 word";
        return Err(Error::Value { at, field: "instruction", found: 0, expected });
    };
    let operands = reader.take(u64::from(operands) * 4, "operands")?;
    Ok(Instruction { at, opcode: first as u16, operands })
}

fn read_entry<'a>(entry: &Instruction<'a>) -> Result<(Stage, &'a str), Error> {
    let wrong = |why| Error::Fault { at: entry.at, field: "entry point", why };
    let model = entry.word(0).ok_or(wrong("has no execution model"))?;
    let stage = Stage::from_model(model).ok_or(wrong("has an execution model that Vulkan does not have"))?;
    let (name, _) = entry.text(2).ok_or(wrong("has no name"))?;
    Ok((stage, name))
}

format_entry!(
    Spv,
    FormatId {
        name: "spv",
        magic: const { &MAGIC.to_le_bytes() },
        title: "shaders",
        noun: "shader",
        kind: PackKind::Shader
    }
);

impl Format for Spv {
    #[cfg(not(feature = "tools"))]
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        SpvView::read(bytes).map(drop)
    }

    #[cfg(feature = "tools")]
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        Reflection::read(bytes).map(drop)
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        Reflection::read(bytes)?.describe(out)
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        Reflection::read(bytes)?.facts(each);
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = SpvView::read(bytes)?;
        let (major, minor) = view.version();
        let (count, hash) = (view.instructions().count(), refs::fnv1a_64(bytes));
        writeln!(out, "spv {major}.{minor}, generator {:#010x}, bound {}", view.generator, view.bound)?;
        Reflection::read(bytes)?.dump(out)?;
        writeln!(out, "{count} instructions, fnv {hash:016x}")?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        &[Header::LAYOUT]
    }
}
