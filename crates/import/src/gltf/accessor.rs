//! Accessors: typed elements in buffer views (glTF 2.0, 3.6.2).
//!
//! Supports strides, normalized integers, sparse accessors, and accessors without a buffer view, whose elements are
//! zeros. The size of an accessor is checked against its views before memory is allocated. Rejects elements outside of
//! their view, sparse indices outside of the accessor, and numbers that are not finite.

use kiln_diagnostics::{Code, Diag};

use super::buffers::Buffers;
use super::value::{List, Value};

/// The component type of an accessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn new(at: Value<'_>) -> Result<Component, Diag> {
        Ok(match at.uint()? {
            5120 => Component::I8,
            5121 => Component::U8,
            5122 => Component::I16,
            5123 => Component::U16,
            5125 => Component::U32,
            5126 => Component::F32,
            other => {
                return Err(at.invalid(format_args!(
                    "componentType must be 5120, 5121, 5122, 5123, 5125 or 5126, got {other}"
                )));
            }
        })
    }

    /// Returns the number of the type in a document.
    pub(super) fn code(self) -> u32 {
        match self {
            Component::I8 => 5120,
            Component::U8 => 5121,
            Component::I16 => 5122,
            Component::U16 => 5123,
            Component::U32 => 5125,
            Component::F32 => 5126,
        }
    }

    pub(super) fn size(self) -> usize {
        match self {
            Component::I8 | Component::U8 => 1,
            Component::I16 | Component::U16 => 2,
            Component::U32 | Component::F32 => 4,
        }
    }
}

/// The element types, with the number of components of each.
const ELEMENT_TYPES: [(&str, usize); 7] =
    [("SCALAR", 1), ("VEC2", 2), ("VEC3", 3), ("VEC4", 4), ("MAT2", 4), ("MAT3", 9), ("MAT4", 16)];

/// An accessor whose elements are not decoded yet.
pub(super) struct Accessor<'b, 'a> {
    pub(super) at: Value<'a>,
    count: usize,
    kind: &'a str,
    /// The number of components of an element.
    components: usize,
    pub(super) component: Component,
    normalized: bool,
    /// The elements with their stride in bytes, or `None` for zeros.
    pub(super) base: Option<(&'b [u8], usize)>,
    pub(super) sparse: Option<Sparse<'b>>,
    buffers: &'b Buffers<'a>,
}

/// The elements of a sparse accessor that replace those of its base.
pub(super) struct Sparse<'b> {
    pub(super) targets: Vec<u32>,
    pub(super) values: &'b [u8],
}

impl<'b, 'a> Accessor<'b, 'a> {
    /// Creates the accessor that an index refers to.
    pub(super) fn new(
        reference: Value<'a>,
        accessors: List<'a>,
        buffers: &'b Buffers<'a>,
    ) -> Result<Accessor<'b, 'a>, Diag> {
        let (id, at) = reference.resolve(accessors, "accessor")?;
        buffers.record_use(id);
        Accessor::at(at, buffers)
    }

    /// Creates the accessor that a JSON object describes.
    pub(super) fn at(at: Value<'a>, buffers: &'b Buffers<'a>) -> Result<Accessor<'b, 'a>, Diag> {
        let count = at.required("count")?.uint()?;
        let component = Component::new(at.required("componentType")?)?;
        let kind_at = at.required("type")?;
        let kind = kind_at.string()?;
        let Some(&(_, components)) = ELEMENT_TYPES.iter().find(|(name, _)| *name == kind) else {
            return Err(kind_at
                .invalid(format_args!("{kind:?} is not an accessor type, such as \"SCALAR\" or \"VEC3\"")));
        };
        let element = components * component.size();
        let base = match at.get("bufferView") {
            None => None,
            Some(reference) => {
                let view = buffers.view(reference)?;
                let stride = view.stride.unwrap_or(element);
                let bytes = window(view.bytes, at, count, element, stride)?;
                Some((bytes, stride))
            }
        };
        let sparse =
            at.get("sparse").map(|sparse| Sparse::new(sparse, count, element, buffers)).transpose()?;
        let normalized = at.is_true("normalized")?;
        Ok(Accessor { at, count, kind, components, component, normalized, base, sparse, buffers })
    }

    /// Returns the number of elements.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of components of an element.
    pub(super) fn components(&self) -> usize {
        self.components
    }

    /// Returns the element type, such as `VEC3`.
    pub(super) fn kind(&self) -> &'a str {
        self.kind
    }

    /// Returns the elements as they are stored, without padding and with sparse elements replaced.
    pub(super) fn packed(&self) -> Result<Vec<u8>, Diag> {
        let element = self.components * self.component.size();
        self.buffers.charge(self.count.saturating_mul(element), self.at)?;
        let mut bytes: Vec<u8> = match self.base {
            None => vec![0; self.count * element],
            Some((bytes, stride)) => {
                bytes.chunks(stride).flat_map(|bytes| &bytes[..element]).copied().collect()
            }
        };
        if let Some(sparse) = &self.sparse {
            for (&target, value) in sparse.targets.iter().zip(sparse.values.chunks_exact(element)) {
                bytes[target as usize * element..][..element].copy_from_slice(value);
            }
        }
        if self.component == Component::F32 {
            let is_finite = |bytes: &[u8; 4]| f32::from_le_bytes(*bytes).is_finite();
            if let Some(place) = bytes.as_chunks().0.iter().position(|bytes| !is_finite(bytes)) {
                let message = format!("element {} is not finite", place / self.components);
                return Err(self.at.error(Code::GltfNotFinite, message));
            }
        }
        Ok(bytes)
    }

    /// Returns `true` if the elements come from a view with meshopt compression.
    pub(super) fn is_compressed(&self) -> bool {
        self.at.get("bufferView").is_some_and(|view| self.buffers.is_compressed(view))
    }

    /// Returns `true` if the integers are normalized: they stand for numbers from 0 or -1 to 1.
    pub(super) fn is_normalized(&self) -> bool {
        self.normalized
    }

    /// Returns the primitive restart value of this index type: the largest one.
    pub(super) fn restart_index(&self) -> u32 {
        match self.component {
            Component::U8 => u8::MAX.into(),
            Component::U16 => u16::MAX.into(),
            _ => u32::MAX,
        }
    }

    /// Creates an error about the accessor.
    pub(super) fn error(&self, message: impl std::fmt::Display) -> Diag {
        self.at.error(Code::GltfAccessor, message)
    }

    /// Decodes the elements as finite floats: all of them, or only those with these ascending indices.
    pub(super) fn floats<const N: usize>(&self, only: Option<&[u32]>) -> Result<Vec<[f32; N]>, Diag> {
        // The specification divides; multiplication with a reciprocal would round differently.
        match (self.component, self.normalized) {
            (Component::F32, _) => {
                let values = self.read(only, f32::from_le_bytes)?;
                self.check_finite(&values, only)?;
                Ok(values)
            }
            (Component::I8, true) => self.read(only, |b| (f32::from(i8::from_le_bytes(b)) / 127.0).max(-1.0)),
            (Component::U8, true) => self.read(only, |b| f32::from(u8::from_le_bytes(b)) / 255.0),
            (Component::I16, true) => {
                self.read(only, |b| (f32::from(i16::from_le_bytes(b)) / 32767.0).max(-1.0))
            }
            (Component::U16, true) => self.read(only, |b| f32::from(u16::from_le_bytes(b)) / 65535.0),
            (Component::I8, false) => self.read(only, |b| f32::from(i8::from_le_bytes(b))),
            (Component::U8, false) => self.read(only, |b| f32::from(u8::from_le_bytes(b))),
            (Component::I16, false) => self.read(only, |b| f32::from(i16::from_le_bytes(b))),
            (Component::U16, false) => self.read(only, |b| f32::from(u16::from_le_bytes(b))),
            (Component::U32, _) => Err(self.error(
                "the accessor has the component type UNSIGNED_INT, which is allowed for indices only",
            )),
        }
    }

    /// Decodes the elements as unsigned integers: all of them, or only those with these ascending indices.
    pub(super) fn uints<const N: usize>(&self, only: Option<&[u32]>) -> Result<Vec<[u32; N]>, Diag> {
        match self.component {
            Component::U8 => self.read(only, |b| u8::from_le_bytes(b).into()),
            Component::U16 => self.read(only, |b| u16::from_le_bytes(b).into()),
            Component::U32 => self.read(only, u32::from_le_bytes),
            _ => Err(self.error("the accessor must have an unsigned integer component type")),
        }
    }

    /// Decodes elements of `N` components of `W` bytes, with sparse elements replaced.
    fn read<const N: usize, const W: usize, T: Copy + Default>(
        &self,
        only: Option<&[u32]>,
        number: impl Fn([u8; W]) -> T,
    ) -> Result<Vec<[T; N]>, Diag> {
        let wanted = match N {
            16 => "MAT4",
            _ => ELEMENT_TYPES[N - 1].0,
        };
        if self.kind != wanted {
            return Err(
                self.error(format_args!("expected an accessor of type {wanted}, found {}", self.kind))
            );
        }
        let count = only.map_or(self.count, <[u32]>::len);
        self.buffers.charge(count.saturating_mul(size_of::<[T; N]>()), self.at)?;
        let element = |bytes: &[u8]| {
            let (numbers, _) = bytes.as_chunks::<W>();
            let mut element = [T::default(); N];
            for (value, bytes) in element.iter_mut().zip(numbers) {
                *value = number(*bytes);
            }
            element
        };
        let mut elements: Vec<[T; N]> = match (self.base, only) {
            (None, _) => vec![[T::default(); N]; count],
            // All chunks but the last include the padding up to the next element.
            (Some((bytes, stride)), None) => {
                bytes.chunks(stride).map(|bytes| element(&bytes[..N * W])).collect()
            }
            (Some((bytes, stride)), Some(only)) => {
                let at =
                    |&index: &u32| bytes.get(index as usize * stride..).and_then(|rest| rest.get(..N * W));
                only.iter().map(|index| at(index).map(element).unwrap_or([T::default(); N])).collect()
            }
        };
        if let Some(sparse) = &self.sparse {
            for (&target, bytes) in sparse.targets.iter().zip(sparse.values.chunks_exact(N * W)) {
                let place = match only {
                    None => Some(target as usize),
                    Some(only) => only.binary_search(&target).ok(),
                };
                if let Some(place) = place.and_then(|place| elements.get_mut(place)) {
                    *place = element(bytes);
                }
            }
        }
        Ok(elements)
    }

    fn check_finite<const N: usize>(&self, values: &[[f32; N]], only: Option<&[u32]>) -> Result<(), Diag> {
        match values.iter().position(|value| !value.iter().all(|v| v.is_finite())) {
            None => Ok(()),
            Some(place) => {
                let index = only.map_or(place, |only| only[place] as usize);
                let message = format!("element {index} is {:?}, which is not finite", &values[place][..]);
                let hint = "look for degenerate geometry in the source, and export the model again";
                Err(self.at.error(Code::GltfNotFinite, message).hint(hint))
            }
        }
    }
}

impl<'b> Sparse<'b> {
    fn new<'a>(
        at: Value<'a>,
        elements: usize,
        element: usize,
        buffers: &'b Buffers<'a>,
    ) -> Result<Sparse<'b>, Diag> {
        let count_at = at.required("count")?;
        let count = count_at.uint()?;
        if count > elements {
            return Err(count_at.invalid(format_args!(
                "the sparse accessor replaces {count} elements, and the accessor has {elements}"
            )));
        }
        let (indices, values) = (at.required("indices")?, at.required("values")?);
        let component = Component::new(indices.required("componentType")?)?;
        let size = component.size();
        let places =
            window(buffers.view(indices.required("bufferView")?)?.bytes, indices, count, size, size)?;
        buffers.charge(count.saturating_mul(size_of::<u32>()), at)?;
        let targets: Vec<u32> = match component {
            Component::U8 => places.iter().map(|&byte| byte.into()).collect(),
            Component::U16 => {
                places.as_chunks().0.iter().map(|&bytes| u16::from_le_bytes(bytes).into()).collect()
            }
            Component::U32 => places.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect(),
            _ => return Err(indices.invalid("the accessor must have an unsigned integer component type")),
        };
        if let Some(target) = targets.iter().find(|&&target| target as usize >= elements) {
            let message =
                format!("sparse index {target} is out of range: the accessor has {elements} elements");
            return Err(indices.error(Code::GltfAccessor, message));
        }
        let values_view = buffers.view(values.required("bufferView")?)?;
        let values = window(values_view.bytes, values, count, element, element)?;
        Ok(Sparse { targets, values })
    }
}

/// Returns the bytes of `count` elements from an object's `byteOffset` on, up to the end of the last.
fn window<'b>(
    bytes: &'b [u8],
    at: Value<'_>,
    count: usize,
    element: usize,
    stride: usize,
) -> Result<&'b [u8], Diag> {
    if stride < element {
        let message = format!("elements of {element} bytes overlap with a byteStride of {stride}");
        return Err(at.error(Code::GltfAccessor, message));
    }
    let offset = at.uint_or("byteOffset", 0)?;
    let end = || {
        let length = match count.checked_sub(1) {
            Some(before) => before.checked_mul(stride)?.checked_add(element)?,
            None => 0,
        };
        offset.checked_add(length)
    };
    end().and_then(|end| bytes.get(offset..end)).ok_or_else(|| {
        let message = format!(
            "{count} elements of {element} bytes with a stride of {stride} from offset {offset} do not fit into {} bytes",
            bytes.len()
        );
        at.error(Code::GltfAccessor, message).hint("the file is truncated or damaged: export it again")
    })
}
