//! The types of a module: their names, sizes and descriptor types.
//!
//! A type may only refer to types defined before it, so there are no cycles; sizes are computed once, where a
//! type is defined.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use super::module::{Decorations, decoration, storage};
use super::{Instruction, op};
use crate::Error;

/// The descriptor type of a binding, named as in Vulkan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Descriptor {
    /// `VK_DESCRIPTOR_TYPE_SAMPLER`.
    Sampler,
    /// `VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER`.
    CombinedImageSampler,
    /// `VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE`.
    SampledImage,
    /// `VK_DESCRIPTOR_TYPE_STORAGE_IMAGE`.
    StorageImage,
    /// `VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER`.
    UniformTexelBuffer,
    /// `VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER`.
    StorageTexelBuffer,
    /// `VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER`.
    UniformBuffer,
    /// `VK_DESCRIPTOR_TYPE_STORAGE_BUFFER`.
    StorageBuffer,
    /// `VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT`.
    InputAttachment,
    /// `VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR`.
    AccelerationStructure,
    /// A type that this reader does not know.
    Other,
}

impl Descriptor {
    /// Returns the name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Descriptor::Sampler => "sampler",
            Descriptor::CombinedImageSampler => "combined-image-sampler",
            Descriptor::SampledImage => "sampled-image",
            Descriptor::StorageImage => "storage-image",
            Descriptor::UniformTexelBuffer => "uniform-texel-buffer",
            Descriptor::StorageTexelBuffer => "storage-texel-buffer",
            Descriptor::UniformBuffer => "uniform-buffer",
            Descriptor::StorageBuffer => "storage-buffer",
            Descriptor::InputAttachment => "input-attachment",
            Descriptor::AccelerationStructure => "acceleration-structure",
            Descriptor::Other => "other",
        }
    }
}

/// The structure of a type.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Bool,
    Int {
        width: u32,
        signed: bool,
    },
    Float {
        width: u32,
    },
    Vector {
        of: u32,
        count: u32,
    },
    Matrix {
        column: u32,
        count: u32,
    },
    Image {
        buffer: bool,
        subpass: bool,
        storage: bool,
    },
    Sampler,
    SampledImage {
        image: u32,
    },
    AccelerationStructure,
    /// An array; the element type is never an array itself. The count is `None` for a runtime-sized array or
    /// a specialization constant.
    Array {
        of: u32,
        count: Option<u32>,
    },
    Struct,
    Pointer {
        to: u32,
    },
    Other,
}

/// A type with its size in a buffer in bytes; 0 where it has none.
#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) shape: Shape,
    pub(super) size: u32,
    /// The offset of the first member.
    pub(super) start: u32,
}

/// All types, and the constants that are array lengths.
#[derive(Debug, Default)]
pub(super) struct Types {
    by_id: BTreeMap<u32, Type>,
    numbers: BTreeMap<u32, u32>,
}

impl Types {
    pub(super) fn get(&self, id: u32) -> Option<&Type> {
        self.by_id.get(&id)
    }

    /// Records the value of a constant.
    pub(super) fn number(&mut self, id: u32, value: u32) {
        self.numbers.insert(id, value);
    }

    /// Returns the value of an integer constant.
    pub(super) fn value(&self, id: u32) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// Records an instruction that defines a type; others are ignored.
    pub(super) fn define(&mut self, i: &Instruction<'_>, decorations: &Decorations) -> Result<(), Error> {
        let word = |index| i.word(index).ok_or(i.wrong("type", "is truncated"));
        let known = |id: u32| match self.by_id.get(&id) {
            Some(ty) => Ok(ty.size),
            None => Err(i.wrong("type", "refers to an ID that is not a type defined before it")),
        };
        let (shape, size) = match i.opcode {
            op::TYPE_BOOL => (Shape::Bool, 4),
            op::TYPE_INT => (Shape::Int { width: word(1)?, signed: word(2)? != 0 }, word(1)? / 8),
            op::TYPE_FLOAT => (Shape::Float { width: word(1)? }, word(1)? / 8),
            op::TYPE_VECTOR => {
                let (of, count) = (word(1)?, word(2)?);
                (Shape::Vector { of, count }, known(of)?.saturating_mul(count))
            }
            op::TYPE_MATRIX => {
                let (column, count) = (word(1)?, word(2)?);
                (Shape::Matrix { column, count }, known(column)?.saturating_mul(count))
            }
            op::TYPE_IMAGE => {
                let (dim, sampled) = (word(2)?, word(6)?);
                (Shape::Image { buffer: dim == 5, subpass: dim == 6, storage: sampled == 2 }, 0)
            }
            op::TYPE_SAMPLER => (Shape::Sampler, 0),
            op::TYPE_SAMPLED_IMAGE => {
                known(word(1)?)?;
                (Shape::SampledImage { image: word(1)? }, 0)
            }
            op::TYPE_ARRAY => {
                let (of, count) = (word(1)?, self.value(word(2)?));
                let stride = decorations.of(word(0)?, decoration::ARRAY_STRIDE);
                let each = stride.unwrap_or(0).max(known(of)?);
                let size = each.saturating_mul(count.unwrap_or(0));
                // Nested arrays are stored flattened, so that lookups need not descend through them again.
                let (of, inner, _) = self.element(of);
                let count = count.zip(inner).map(|(outer, inner)| outer.saturating_mul(inner));
                (Shape::Array { of, count }, size)
            }
            op::TYPE_RUNTIME_ARRAY => {
                known(word(1)?)?;
                (Shape::Array { of: self.element(word(1)?).0, count: None }, 0)
            }
            op::TYPE_STRUCT => (Shape::Struct, 0),
            op::TYPE_POINTER => (Shape::Pointer { to: word(2)? }, pointer_size(word(1)?)),
            op::TYPE_ACCELERATION_STRUCTURE => (Shape::AccelerationStructure, 0),
            op::TYPE_VOID | op::TYPE_FUNCTION | op::TYPE_RAY_QUERY => (Shape::Other, 0),
            _ => return Ok(()),
        };
        let id = word(0)?;
        let (start, size) =
            if matches!(shape, Shape::Struct) { self.extent(i, id, decorations) } else { (0, size) };
        if self.by_id.insert(id, Type { shape, size, start }).is_some() {
            return Err(i.wrong("type", "has the ID of another type"));
        }
        Ok(())
    }

    /// Returns the offset of the first member of a structure, and the size from there to the end of the last.
    fn extent(&self, i: &Instruction<'_>, id: u32, decorations: &Decorations) -> (u32, u32) {
        let mut extent: Option<(u32, u32)> = None;
        for (member, ty) in i.words().skip(1).enumerate() {
            let of = |which| decorations.of_member(id, member as u32, which);
            let Some(offset) = of(decoration::OFFSET) else { continue };
            // A forward-declared pointer: its target is defined later.
            let mut size = self.get(ty).map_or(8, |ty| ty.size);
            if let (Some(stride), Some(Shape::Matrix { column, count })) =
                (of(decoration::MATRIX_STRIDE), self.get(ty).map(|ty| &ty.shape))
            {
                let rows = match self.get(*column).map(|ty| &ty.shape) {
                    Some(Shape::Vector { count, .. }) => *count,
                    _ => *count,
                };
                let lines = if of(decoration::ROW_MAJOR).is_some() { rows } else { *count };
                size = stride.saturating_mul(lines);
            }
            let (start, end) = extent.unwrap_or((offset, 0));
            extent = Some((start.min(offset), end.max(offset.saturating_add(size))));
        }
        let (start, end) = extent.unwrap_or_default();
        (start, end.saturating_sub(start))
    }

    /// Returns the element type of a possibly nested array and the total number of elements; `None` for a
    /// runtime-sized array.
    pub(super) fn element(&self, id: u32) -> (u32, Option<u32>, bool) {
        match self.get(id) {
            Some(Type { shape: Shape::Array { of, count }, .. }) => (*of, *count, true),
            _ => (id, Some(1), false),
        }
    }

    /// Returns the descriptor type of this type in this storage class.
    pub(super) fn descriptor(&self, id: u32, class: u32, decorations: &Decorations) -> Descriptor {
        let Some(ty) = self.get(id) else { return Descriptor::Other };
        match ty.shape {
            Shape::Struct if class == storage::STORAGE_BUFFER => Descriptor::StorageBuffer,
            Shape::Struct if decorations.of(id, decoration::BUFFER_BLOCK).is_some() => {
                Descriptor::StorageBuffer
            }
            Shape::Struct if class == storage::UNIFORM => Descriptor::UniformBuffer,
            Shape::Sampler => Descriptor::Sampler,
            Shape::AccelerationStructure => Descriptor::AccelerationStructure,
            Shape::SampledImage { image } => match self.get(image).map(|ty| &ty.shape) {
                Some(Shape::Image { buffer: true, .. }) => Descriptor::UniformTexelBuffer,
                _ => Descriptor::CombinedImageSampler,
            },
            Shape::Image { subpass: true, .. } => Descriptor::InputAttachment,
            Shape::Image { buffer: true, storage: true, .. } => Descriptor::StorageTexelBuffer,
            Shape::Image { buffer: true, .. } => Descriptor::UniformTexelBuffer,
            Shape::Image { storage: true, .. } => Descriptor::StorageImage,
            Shape::Image { .. } => Descriptor::SampledImage,
            _ => Descriptor::Other,
        }
    }

    /// Returns whether values of this type are opaque handles, which function variables cannot hold.
    pub(super) fn is_opaque(&self, id: u32) -> bool {
        let (id, ..) = self.element(id);
        let shape = self.get(id).map(|ty| &ty.shape);
        matches!(shape, Some(Shape::Image { .. } | Shape::Sampler | Shape::SampledImage { .. }))
    }

    /// Returns the GLSL name; for structures the name in the source.
    pub(super) fn name(&self, id: u32, names: &BTreeMap<u32, &str>) -> String {
        let (id, count, is_array) = self.element(id);
        let name = self.plain_name(id).unwrap_or_else(|| {
            names.get(&id).copied().filter(|name| !name.is_empty()).unwrap_or("struct").into()
        });
        match (is_array, count) {
            (false, _) => name,
            (true, Some(count)) => format!("{name}[{count}]"),
            (true, None) => format!("{name}[]"),
        }
    }

    fn plain_name(&self, id: u32) -> Option<String> {
        let scalar = |id: u32| -> Option<(&str, &str)> {
            Some(match self.get(id)?.shape {
                Shape::Bool => ("bool", "b"),
                Shape::Int { width: 32, signed: true } => ("int", "i"),
                Shape::Int { width: 32, signed: false } => ("uint", "u"),
                Shape::Int { width: 64, signed: true } => ("int64_t", "i64"),
                Shape::Int { width: 64, signed: false } => ("uint64_t", "u64"),
                Shape::Int { width: 16, signed: true } => ("int16_t", "i16"),
                Shape::Int { width: 16, signed: false } => ("uint16_t", "u16"),
                Shape::Int { signed: true, .. } => ("int8_t", "i8"),
                Shape::Int { signed: false, .. } => ("uint8_t", "u8"),
                Shape::Float { width: 16 } => ("float16_t", "f16"),
                Shape::Float { width: 64 } => ("double", "d"),
                Shape::Float { .. } => ("float", ""),
                _ => return None,
            })
        };
        match self.get(id)?.shape {
            Shape::Vector { of, count } => Some(format!("{}vec{count}", scalar(of)?.1)),
            Shape::Matrix { column, count } => match self.get(column)?.shape {
                Shape::Vector { of, count: rows } => {
                    let prefix = scalar(of)?.1;
                    let rows = if rows == count { String::new() } else { format!("x{rows}") };
                    Some(format!("{prefix}mat{count}{rows}"))
                }
                _ => None,
            },
            _ => scalar(id).map(|(name, _)| name.into()),
        }
    }
}

/// Returns the size of a pointer: eight bytes for physical storage buffer addresses, otherwise 0.
fn pointer_size(class: u32) -> u32 {
    if class == storage::PHYSICAL { 8 } else { 0 }
}

/// Finds opaque members of structures and opaque function variables, which a compiler leaves behind when it
/// cannot legalize its code.
pub(super) fn misplaced_handles(types: &Types, instructions: &[Instruction<'_>]) -> Option<&'static str> {
    for i in instructions {
        match i.opcode {
            op::TYPE_STRUCT if i.words().skip(1).any(|member| types.is_opaque(member)) => {
                return Some("a structure member is an image or a sampler");
            }
            op::VARIABLE
                if i.word(2).is_some_and(|class| class == storage::FUNCTION || class == storage::PRIVATE) =>
            {
                let pointee = i.word(0).and_then(|id| types.get(id)).map(|ty| &ty.shape);
                if matches!(pointee, Some(Shape::Pointer { to }) if types.is_opaque(*to)) {
                    return Some("a function variable holds an image or a sampler");
                }
            }
            _ => {}
        }
    }
    None
}
