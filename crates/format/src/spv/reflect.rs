//! What a module offers and asks for: entry points, bindings, push constants, inputs, outputs, constants.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};

use super::module::{Decorations, decoration, storage};
use super::types::{Descriptor, Shape, Types, misplaced_handles};
use super::{Instruction, SpvView, Stage, op, read_entry};
use crate::{Error, Fact};

/// Execution modes that tell how large a group is.
const LOCAL_SIZE: u32 = 17;
const LOCAL_SIZE_ID: u32 = 38;

/// A place where a pipeline can start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint<'a> {
    /// The stage it is for.
    pub stage: Stage,
    /// What the pipeline calls it.
    pub name: &'a str,
    /// How many invocations make a group, for the stages that work in groups.
    pub workgroup: Option<[u32; 3]>,
}

/// How many descriptors are at a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many; 1 where it is no array.
    Fixed(u32),
    /// As many as the layout has.
    Open,
}

/// A descriptor that the module uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding<'a> {
    /// The number of its set.
    pub set: u32,
    /// Its number in that set.
    pub binding: u32,
    /// What it is.
    pub descriptor: Descriptor,
    /// How many of it there are.
    pub count: Count,
    /// What the source calls it; empty where the names were stripped.
    pub name: &'a str,
    /// The bytes of a uniform or storage block, without an array at its end; 0 for everything else.
    pub size: u32,
}

/// The block of push constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushConstants<'a> {
    /// Where its first member starts, in bytes.
    pub offset: u32,
    /// The bytes from there to the end of its last member.
    pub size: u32,
    /// What the source calls it; empty where the names were stripped.
    pub name: &'a str,
}

/// A value that comes from, or goes to, another stage or the vertex buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its location.
    pub location: u32,
    /// The component of that location at which it starts.
    pub component: u32,
    /// Its type, as GLSL calls it.
    pub ty: String,
    /// What the source calls it; empty where the names were stripped.
    pub name: &'a str,
}

/// A constant that the pipeline may set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecConstant<'a> {
    /// By what number the pipeline sets it.
    pub id: u32,
    /// Its type, as GLSL calls it.
    pub ty: String,
    /// Its value when the pipeline does not.
    pub default: String,
    /// What the source calls it; empty where the names were stripped.
    pub name: &'a str,
}

/// Everything that the outside of a module consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reflection<'a> {
    /// The version of SPIR-V.
    pub version: (u8, u8),
    /// In file order.
    pub entry_points: Vec<EntryPoint<'a>>,
    /// By set and binding.
    pub bindings: Vec<Binding<'a>>,
    /// At most one for an entry point.
    pub push_constants: Vec<PushConstants<'a>>,
    /// By location. Of a vertex shader: what the vertex buffers have to hold.
    pub inputs: Vec<Attribute<'a>>,
    /// By location. Of a fragment shader: what the attachments get.
    pub outputs: Vec<Attribute<'a>>,
    /// By number.
    pub constants: Vec<SpecConstant<'a>>,
    /// What makes the module unfit for Vulkan though it can be read, where the compiler left such a thing.
    pub unfit: Option<&'static str>,
}

impl<'a> Reflection<'a> {
    /// Reads a module and checks all that it is told from.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let view = SpvView::read(bytes)?;
        let instructions: Vec<Instruction<'a>> = view.instructions().collect();
        let mut told = Decorations::default();
        let mut names: BTreeMap<u32, &'a str> = BTreeMap::new();
        let mut functions = BTreeSet::new();
        for i in &instructions {
            told.take(i);
            match (i.opcode, i.word(0), i.word(1)) {
                (op::NAME, Some(id), _) => _ = names.insert(id, i.text(1).map_or("", |(name, _)| name)),
                (op::FUNCTION, _, id) => {
                    let id = id.filter(|id| (1..view.bound()).contains(id));
                    let id = id.ok_or(i.wrong("function", "has no id below the bound"))?;
                    if !functions.insert(id) {
                        return Err(i.wrong("function", "has the id of another function"));
                    }
                }
                _ => {}
            }
        }
        let mut types = Types::default();
        let mut found = Reflection {
            version: view.version(),
            entry_points: vec![],
            bindings: vec![],
            push_constants: vec![],
            inputs: vec![],
            outputs: vec![],
            constants: vec![],
            unfit: None,
        };
        let mut starts = Vec::new();
        for i in &instructions {
            types.define(i, &told)?;
            match i.opcode {
                op::ENTRY_POINT => {
                    let (stage, name) = read_entry(i)?;
                    let function = i.word(1).filter(|id| functions.contains(id));
                    starts.push(function.ok_or(i.wrong("entry point", "is no function of the module"))?);
                    if found.entry_points.iter().any(|e| (e.stage, e.name) == (stage, name)) {
                        return Err(i.wrong("entry point", "has the stage and name of another"));
                    }
                    found.entry_points.push(EntryPoint { stage, name, workgroup: None });
                }
                op::FUNCTION_CALL if !i.word(2).is_some_and(|callee| functions.contains(&callee)) => {
                    return Err(i.wrong("call", "is of no function of the module"));
                }
                op::CONSTANT | op::SPEC_CONSTANT => {
                    if let (Some(id), Some(value)) = (i.word(1), i.word(2)) {
                        types.number(id, value);
                    }
                }
                op::VARIABLE => found.variable(i, &types, &told, &names),
                _ => {}
            }
            if matches!(i.opcode, op::SPEC_CONSTANT_TRUE | op::SPEC_CONSTANT_FALSE | op::SPEC_CONSTANT) {
                found.constant(i, &types, &told, &names);
            }
        }
        for i in &instructions {
            found.workgroup(i, &starts, &types);
        }
        found.unfit = misplaced_handles(&types, &instructions);
        found.bindings.sort_by_key(|b| (b.set, b.binding));
        found.inputs.sort_by_key(|a| (a.location, a.component));
        found.outputs.sort_by_key(|a| (a.location, a.component));
        found.constants.sort_by_key(|c| c.id);
        Ok(found)
    }

    fn variable(
        &mut self,
        i: &Instruction<'a>,
        types: &Types,
        told: &Decorations,
        names: &BTreeMap<u32, &'a str>,
    ) {
        let (Some(pointer), Some(id), Some(class)) = (i.word(0), i.word(1), i.word(2)) else { return };
        let Some(Shape::Pointer { to }) = types.get(pointer).map(|ty| &ty.shape) else { return };
        let (element, count, _) = types.element(*to);
        let own = names.get(&id).copied().unwrap_or_default();
        // A block without a name of its own goes by that of its type.
        let name = if own.is_empty() { names.get(&element).copied().unwrap_or_default() } else { own };
        let size = types.get(element).map_or(0, |ty| ty.size);
        match class {
            storage::UNIFORM_CONSTANT | storage::UNIFORM | storage::STORAGE_BUFFER => {
                let (set, binding) = (told.of(id, decoration::SET), told.of(id, decoration::BINDING));
                if set.is_none() && binding.is_none() {
                    return;
                }
                let descriptor = types.descriptor(element, class, told);
                let block = matches!(descriptor, Descriptor::UniformBuffer | Descriptor::StorageBuffer);
                self.bindings.push(Binding {
                    set: set.unwrap_or(0),
                    binding: binding.unwrap_or(0),
                    descriptor,
                    count: count.map_or(Count::Open, Count::Fixed),
                    name,
                    size: if block { size } else { 0 },
                });
            }
            storage::PUSH_CONSTANT => {
                let offset = types.get(element).map_or(0, |ty| ty.start);
                self.push_constants.push(PushConstants { offset, size, name });
            }
            storage::INPUT | storage::OUTPUT if told.of(id, decoration::BUILT_IN).is_none() => {
                let Some(location) = told.of(id, decoration::LOCATION) else { return };
                let component = told.of(id, decoration::COMPONENT).unwrap_or(0);
                let attribute = Attribute { location, component, ty: types.name(*to, names), name };
                let list = if class == storage::INPUT { &mut self.inputs } else { &mut self.outputs };
                list.push(attribute);
            }
            _ => {}
        }
    }

    fn constant(
        &mut self,
        i: &Instruction<'a>,
        types: &Types,
        told: &Decorations,
        names: &BTreeMap<u32, &'a str>,
    ) {
        let (Some(ty), Some(result)) = (i.word(0), i.word(1)) else { return };
        let Some(id) = told.of(result, decoration::SPEC_ID) else { return };
        let low = i.word(2).unwrap_or(0);
        let wide = u64::from(low) | u64::from(i.word(3).unwrap_or(0)) << 32;
        let default = match (i.opcode, types.get(ty).map(|ty| &ty.shape)) {
            (op::SPEC_CONSTANT_TRUE, _) => "true".to_string(),
            (op::SPEC_CONSTANT_FALSE, _) => "false".to_string(),
            (_, Some(Shape::Float { width: 64 })) => f64::from_bits(wide).to_string(),
            (_, Some(Shape::Float { width: 32 })) => f32::from_bits(low).to_string(),
            (_, Some(Shape::Int { width: 64, signed: true })) => (wide as i64).to_string(),
            (_, Some(Shape::Int { signed: true, .. })) => (low as i32).to_string(),
            _ => wide.to_string(),
        };
        let name = names.get(&result).copied().unwrap_or_default();
        self.constants.push(SpecConstant { id, ty: types.name(ty, names), default, name });
    }

    /// The size of a group, which stands in an execution mode as numbers or as constants.
    fn workgroup(&mut self, i: &Instruction<'_>, starts: &[u32], types: &Types) {
        let size = match (i.opcode, i.word(1)) {
            (op::EXECUTION_MODE, Some(LOCAL_SIZE)) => [2, 3, 4].map(|n| i.word(n)),
            (op::EXECUTION_MODE_ID, Some(LOCAL_SIZE_ID)) => {
                [2, 3, 4].map(|n| i.word(n).and_then(|id| types.value(id)))
            }
            _ => return,
        };
        let [Some(x), Some(y), Some(z)] = size else { return };
        for (start, entry) in starts.iter().zip(&mut self.entry_points) {
            if i.word(0) == Some(*start) {
                entry.workgroup = Some([x, y, z]);
            }
        }
    }

    /// The line of `info`.
    pub(super) fn describe(&self, out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        write!(out, "SPIR-V {}.{}", self.version.0, self.version.1)?;
        for EntryPoint { stage, name, workgroup } in &self.entry_points {
            write!(out, " | {} {:?}", stage.name(), name)?;
            if let Some([x, y, z]) = workgroup {
                write!(out, " {x}x{y}x{z}")?;
            }
        }
        list(out, "bindings", &self.bindings, |b, out| {
            let Binding { set, binding, descriptor, name, .. } = b;
            write!(out, "{set}.{binding} {}{}", descriptor.name(), Named(name))?;
            match b.count {
                Count::Fixed(1) => {}
                Count::Fixed(count) => write!(out, "[{count}]")?,
                Count::Open => out.write_str("[]")?,
            }
            Ok(())
        })?;
        for block in &self.push_constants {
            write!(out, " | push constants {} B", block.size)?;
        }
        let attribute = |a: &Attribute<'_>, out: &mut dyn core::fmt::Write| {
            Ok(write!(out, "{} {}{}", a.location, a.ty.escape_debug(), Named(a.name))?)
        };
        if self.entry_points.iter().any(|e| e.stage == Stage::Vertex) {
            list(out, "inputs", &self.inputs, attribute)?;
        }
        if self.entry_points.iter().any(|e| e.stage == Stage::Fragment) {
            list(out, "outputs", &self.outputs, attribute)?;
        }
        Ok(())
    }

    /// The same for programs.
    pub(super) fn facts(&self, each: &mut dyn FnMut(&'static str, Fact<'_>)) {
        each("version", Fact::Text(&format!("{}.{}", self.version.0, self.version.1)));
        let number = |n: u32| Fact::Number(n.into());
        let rows = self.entry_points.iter().map(|e| {
            let [x, y, z] = e.workgroup.unwrap_or_default();
            let mut row = vec![("stage", Fact::Text(e.stage.name())), ("name", Fact::Text(e.name))];
            if e.workgroup.is_some() {
                row.extend([("x", number(x)), ("y", number(y)), ("z", number(z))]);
            }
            row
        });
        tell(each, "entry_points", rows);
        let rows = self.bindings.iter().map(|b| {
            let mut row = vec![
                ("set", number(b.set)),
                ("binding", number(b.binding)),
                ("type", Fact::Text(b.descriptor.name())),
                ("name", Fact::Text(b.name)),
            ];
            match b.count {
                Count::Fixed(count) => row.push(("count", number(count))),
                Count::Open => row.push(("count", Fact::Text("open"))),
            }
            if b.size > 0 {
                row.push(("size", number(b.size)));
            }
            row
        });
        tell(each, "bindings", rows);
        let rows = self.push_constants.iter().map(|p| {
            vec![("offset", number(p.offset)), ("size", number(p.size)), ("name", Fact::Text(p.name))]
        });
        tell(each, "push_constants", rows);
        for (name, list) in [("inputs", &self.inputs), ("outputs", &self.outputs)] {
            let rows = list.iter().map(|a| {
                vec![
                    ("location", number(a.location)),
                    ("component", number(a.component)),
                    ("type", Fact::Text(&a.ty)),
                    ("name", Fact::Text(a.name)),
                ]
            });
            tell(each, name, rows);
        }
        let rows = self.constants.iter().map(|c| {
            vec![
                ("id", number(c.id)),
                ("type", Fact::Text(&c.ty)),
                ("default", Fact::Text(&c.default)),
                ("name", Fact::Text(c.name)),
            ]
        });
        tell(each, "constants", rows);
    }

    /// All of it, one thing a line.
    pub(super) fn dump(&self, out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        for EntryPoint { stage, name, workgroup } in &self.entry_points {
            write!(out, "entry {} {name:?}", stage.name())?;
            match workgroup {
                Some([x, y, z]) => writeln!(out, " {x}x{y}x{z}")?,
                None => writeln!(out)?,
            }
        }
        for Binding { set, binding, descriptor, count, name, size } in &self.bindings {
            write!(out, "binding {set}.{binding} {} {name:?} {size} B", descriptor.name())?;
            match count {
                Count::Fixed(count) => writeln!(out, " x {count}")?,
                Count::Open => writeln!(out, " x open")?,
            }
        }
        for PushConstants { offset, size, name } in &self.push_constants {
            writeln!(out, "push constants {name:?} {size} B @{offset}")?;
        }
        for (what, list) in [("input", &self.inputs), ("output", &self.outputs)] {
            for Attribute { location, component, ty, name } in list {
                writeln!(out, "{what} {location}.{component} {ty:?} {name:?}")?;
            }
        }
        for SpecConstant { id, ty, default, name } in &self.constants {
            writeln!(out, "constant {id} {ty:?} {name:?} = {default}")?;
        }
        Ok(())
    }
}

/// A name after something else, if there is one.
struct Named<'a>(&'a str);

impl core::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " {}", self.0.escape_debug()) }
    }
}

/// Hands rows on as one fact.
fn tell<'r>(
    each: &mut dyn FnMut(&'static str, Fact<'_>),
    name: &'static str,
    rows: impl Iterator<Item = Vec<(&'static str, Fact<'r>)>>,
) {
    let rows: Vec<_> = rows.collect();
    let rows: Vec<&[_]> = rows.iter().map(Vec::as_slice).collect();
    each(name, Fact::Rows(&rows));
}

/// The first few of a list; the rest is for `dump`.
fn list<T>(
    out: &mut dyn core::fmt::Write,
    title: &str,
    items: &[T],
    show: impl Fn(&T, &mut dyn core::fmt::Write) -> Result<(), Error>,
) -> Result<(), Error> {
    const SHOWN: usize = 4;
    for (n, item) in items.iter().take(SHOWN).enumerate() {
        write!(out, "{}", if n == 0 { format!(" | {title}: ") } else { ", ".into() })?;
        show(item, out)?;
    }
    if items.len() > SHOWN {
        write!(out, ", {} more", items.len() - SHOWN)?;
    }
    Ok(())
}
