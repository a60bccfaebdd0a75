//! Shader reflection: entry points, descriptor bindings, push constants, inputs, outputs, specialization
//! constants.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};

use super::module::{Decorations, decoration, storage};
use super::types::{Descriptor, Shape, Types, misplaced_handles};
use super::{Instruction, SpvView, Stage, op, read_entry};
use crate::{Error, Fact};

/// Execution modes that define the workgroup size.
const LOCAL_SIZE: u32 = 17;
const LOCAL_SIZE_ID: u32 = 38;

/// An entry point of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPoint<'a> {
    /// The shader stage.
    pub stage: Stage,
    /// The name by which a pipeline selects the entry point.
    pub name: &'a str,
    /// The workgroup size, for stages that have workgroups.
    pub workgroup: Option<[u32; 3]>,
}

/// The number of descriptors of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// A fixed number; 1 if the binding is not an array.
    Fixed(u32),
    /// A runtime-sized array.
    Open,
}

/// A descriptor binding that the module uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding<'a> {
    /// The descriptor set number.
    pub set: u32,
    /// The binding number in the set.
    pub binding: u32,
    /// The descriptor type.
    pub descriptor: Descriptor,
    /// The number of descriptors.
    pub count: Count,
    /// The name in the source; empty if names were stripped.
    pub name: &'a str,
    /// The size of a uniform or storage block in bytes, without a runtime-sized array at its end; 0 for other
    /// types.
    pub size: u32,
}

/// A push constant block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushConstants<'a> {
    /// The offset of the first member in bytes.
    pub offset: u32,
    /// The size in bytes from the first member to the end of the last.
    pub size: u32,
    /// The name in the source; empty if names were stripped.
    pub name: &'a str,
}

/// An interface variable: a stage input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// The location number.
    pub location: u32,
    /// The first component of the location.
    pub component: u32,
    /// The type, as in GLSL.
    pub ty: String,
    /// The name in the source; empty if names were stripped.
    pub name: &'a str,
}

/// A specialization constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecConstant<'a> {
    /// The specialization constant ID (`SpecId`).
    pub id: u32,
    /// The type, as in GLSL.
    pub ty: String,
    /// The default value.
    pub default: String,
    /// The name in the source; empty if names were stripped.
    pub name: &'a str,
}

/// The interface of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reflection<'a> {
    /// The version of SPIR-V.
    pub version: (u8, u8),
    /// The entry points, in file order.
    pub entry_points: Vec<EntryPoint<'a>>,
    /// The descriptor bindings, by set and binding number.
    pub bindings: Vec<Binding<'a>>,
    /// The push constant blocks: at most one per entry point.
    pub push_constants: Vec<PushConstants<'a>>,
    /// The inputs, by location. Of a vertex shader: the vertex attributes.
    pub inputs: Vec<Attribute<'a>>,
    /// The outputs, by location. Of a fragment shader: the colour attachments.
    pub outputs: Vec<Attribute<'a>>,
    /// The specialization constants, by ID.
    pub constants: Vec<SpecConstant<'a>>,
    /// The reason why Vulkan would reject the module although it can be read; `None` if there is none.
    pub vulkan_error: Option<&'static str>,
}

impl<'a> Reflection<'a> {
    /// Reads a module and checks everything that the reflection depends on.
    ///
    /// # Errors
    ///
    /// The errors of [`SpvView::read`](super::SpvView::read), and [`Error`] if an ID or a type is invalid.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let view = SpvView::read(bytes)?;
        let instructions: Vec<Instruction<'a>> = view.instructions().collect();
        let mut decorations = Decorations::default();
        let mut names: BTreeMap<u32, &'a str> = BTreeMap::new();
        let mut functions = BTreeSet::new();
        for i in &instructions {
            decorations.take(i);
            match (i.opcode, i.word(0), i.word(1)) {
                (op::NAME, Some(id), _) => _ = names.insert(id, i.text(1).map_or("", |(name, _)| name)),
                (op::FUNCTION, _, id) => {
                    let id = id.filter(|id| (1..view.bound()).contains(id));
                    let id = id.ok_or(i.wrong("function", "has no ID below the bound"))?;
                    if !functions.insert(id) {
                        return Err(i.wrong("function", "has the ID of another function"));
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
            vulkan_error: None,
        };
        let mut starts = Vec::new();
        for i in &instructions {
            types.define(i, &decorations)?;
            match i.opcode {
                op::ENTRY_POINT => {
                    let (stage, name) = read_entry(i)?;
                    let function = i.word(1).filter(|id| functions.contains(id));
                    starts.push(function.ok_or(
                        i.wrong("entry point", "refers to a function that the module does not define"),
                    )?);
                    if found.entry_points.iter().any(|e| (e.stage, e.name) == (stage, name)) {
                        return Err(
                            i.wrong("entry point", "has the same stage and name as another entry point")
                        );
                    }
                    found.entry_points.push(EntryPoint { stage, name, workgroup: None });
                }
                op::FUNCTION_CALL if !i.word(2).is_some_and(|callee| functions.contains(&callee)) => {
                    return Err(i.wrong("call", "calls a function that the module does not define"));
                }
                op::CONSTANT | op::SPEC_CONSTANT => {
                    if let (Some(id), Some(value)) = (i.word(1), i.word(2)) {
                        types.number(id, value);
                    }
                }
                op::VARIABLE => found.variable(i, &types, &decorations, &names),
                _ => {}
            }
            if matches!(i.opcode, op::SPEC_CONSTANT_TRUE | op::SPEC_CONSTANT_FALSE | op::SPEC_CONSTANT) {
                found.constant(i, &types, &decorations, &names);
            }
        }
        for i in &instructions {
            found.workgroup(i, &starts, &types);
        }
        found.vulkan_error = misplaced_handles(&types, &instructions);
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
        decorations: &Decorations,
        names: &BTreeMap<u32, &'a str>,
    ) {
        let (Some(pointer), Some(id), Some(class)) = (i.word(0), i.word(1), i.word(2)) else { return };
        let Some(Shape::Pointer { to }) = types.get(pointer).map(|ty| &ty.shape) else { return };
        let (element, count, _) = types.element(*to);
        let own = names.get(&id).copied().unwrap_or_default();
        // A block without an instance name is listed under the name of its type.
        let name = if own.is_empty() { names.get(&element).copied().unwrap_or_default() } else { own };
        let size = types.get(element).map_or(0, |ty| ty.size);
        match class {
            storage::UNIFORM_CONSTANT | storage::UNIFORM | storage::STORAGE_BUFFER => {
                let (set, binding) =
                    (decorations.of(id, decoration::SET), decorations.of(id, decoration::BINDING));
                if set.is_none() && binding.is_none() {
                    return;
                }
                let descriptor = types.descriptor(element, class, decorations);
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
            storage::INPUT | storage::OUTPUT if decorations.of(id, decoration::BUILT_IN).is_none() => {
                let Some(location) = decorations.of(id, decoration::LOCATION) else { return };
                let component = decorations.of(id, decoration::COMPONENT).unwrap_or(0);
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
        decorations: &Decorations,
        names: &BTreeMap<u32, &'a str>,
    ) {
        let (Some(ty), Some(result)) = (i.word(0), i.word(1)) else { return };
        let Some(id) = decorations.of(result, decoration::SPEC_ID) else { return };
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

    /// Reads the workgroup size, which an execution mode gives as literals or as constants.
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

    /// Writes the one-line description for `info`.
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

    /// Reports the facts for programs.
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
        report_rows(each, "entry_points", rows);
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
        report_rows(each, "bindings", rows);
        let rows = self.push_constants.iter().map(|p| {
            vec![("offset", number(p.offset)), ("size", number(p.size)), ("name", Fact::Text(p.name))]
        });
        report_rows(each, "push_constants", rows);
        for (name, list) in [("inputs", &self.inputs), ("outputs", &self.outputs)] {
            let rows = list.iter().map(|a| {
                vec![
                    ("location", number(a.location)),
                    ("component", number(a.component)),
                    ("type", Fact::Text(&a.ty)),
                    ("name", Fact::Text(a.name)),
                ]
            });
            report_rows(each, name, rows);
        }
        let rows = self.constants.iter().map(|c| {
            vec![
                ("id", number(c.id)),
                ("type", Fact::Text(&c.ty)),
                ("default", Fact::Text(&c.default)),
                ("name", Fact::Text(c.name)),
            ]
        });
        report_rows(each, "constants", rows);
    }

    /// Writes the whole reflection, one item per line.
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

/// Displays a name after a space; nothing if the name is empty.
struct Named<'a>(&'a str);

impl core::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " {}", self.0.escape_debug()) }
    }
}

/// Reports rows as one fact.
fn report_rows<'r>(
    each: &mut dyn FnMut(&'static str, Fact<'_>),
    name: &'static str,
    rows: impl Iterator<Item = Vec<(&'static str, Fact<'r>)>>,
) {
    let rows: Vec<_> = rows.collect();
    let rows: Vec<&[_]> = rows.iter().map(Vec::as_slice).collect();
    each(name, Fact::Rows(&rows));
}

/// Writes the first few items of a list; `dump` lists all.
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
