//! Accessors: typed elements in buffer views (glTF 2.0, 3.6.2), in every form they have.
//!
//! Strides, normalised integers, sparse substitutions, and elements without a view, which are zeros. What an
//! accessor states is checked against its views before memory is taken for it. Refused are elements outside of
//! their view, substitutions outside of the accessor, and numbers that are not finite.

use kiln_engine::{Code, Diag};

use super::at::{At, List};
use super::buffers::Buffers;

/// The type of a number.
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
    fn new(at: At<'_>) -> Result<Component, Diag> {
        Ok(match at.uint()? {
            5120 => Component::I8,
            5121 => Component::U8,
            5122 => Component::I16,
            5123 => Component::U16,
            5125 => Component::U32,
            5126 => Component::F32,
            other => return Err(at.bad(format_args!("{other} is not a component type"))),
        })
    }

    pub(super) fn size(self) -> usize {
        match self {
            Component::I8 | Component::U8 => 1,
            Component::I16 | Component::U16 => 2,
            Component::U32 | Component::F32 => 4,
        }
    }
}

/// The types of elements, with the numbers in each.
const KINDS: [(&str, usize); 7] =
    [("SCALAR", 1), ("VEC2", 2), ("VEC3", 3), ("VEC4", 4), ("MAT2", 4), ("MAT3", 9), ("MAT4", 16)];

/// Elements, not yet read.
pub(super) struct Accessor<'b, 'a> {
    pub(super) at: At<'a>,
    count: usize,
    kind: &'a str,
    /// The numbers in an element.
    numbers: usize,
    pub(super) component: Component,
    normalized: bool,
    /// The elements with the distance between them, or `None` for zeros.
    pub(super) base: Option<(&'b [u8], usize)>,
    pub(super) sparse: Option<Sparse<'b>>,
    buffers: &'b Buffers<'a>,
}

/// Elements that replace others.
pub(super) struct Sparse<'b> {
    pub(super) targets: Vec<u32>,
    pub(super) values: &'b [u8],
}

impl<'b, 'a> Accessor<'b, 'a> {
    /// The accessor that a reference names.
    pub(super) fn new(
        reference: At<'a>,
        accessors: List<'a>,
        buffers: &'b Buffers<'a>,
    ) -> Result<Accessor<'b, 'a>, Diag> {
        let (id, at) = reference.refer(accessors, "accessor")?;
        buffers.record_use(id);
        Accessor::at(at, buffers)
    }

    /// The accessor at this place.
    pub(super) fn at(at: At<'a>, buffers: &'b Buffers<'a>) -> Result<Accessor<'b, 'a>, Diag> {
        let count = at.need("count")?.uint()?;
        let component = Component::new(at.need("componentType")?)?;
        let kind_at = at.need("type")?;
        let kind = kind_at.text()?;
        let Some(&(_, numbers)) = KINDS.iter().find(|(name, _)| *name == kind) else {
            return Err(kind_at.bad(format_args!("{kind:?} is not a type of elements")));
        };
        let element = numbers * component.size();
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
        let normalized = at.is("normalized")?;
        Ok(Accessor { at, count, kind, numbers, component, normalized, base, sparse, buffers })
    }

    /// The number of elements.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The numbers in an element.
    pub(super) fn numbers(&self) -> usize {
        self.numbers
    }

    /// Whether the elements come from a view that is packed.
    pub(super) fn is_packed(&self) -> bool {
        self.at.get("bufferView").is_some_and(|view| self.buffers.is_packed(view))
    }

    /// Whether its integers stand for numbers from 0 or -1 to 1.
    pub(super) fn is_normalized(&self) -> bool {
        self.normalized
    }

    /// The value that means primitive restart among indices of this type: the largest one.
    pub(super) fn restart_index(&self) -> u32 {
        match self.component {
            Component::U8 => u8::MAX.into(),
            Component::U16 => u16::MAX.into(),
            _ => u32::MAX,
        }
    }

    /// An error about the accessor.
    pub(super) fn unfit(&self, message: impl std::fmt::Display) -> Diag {
        self.at.fault(Code::GltfAccessor, message)
    }

    /// The elements as finite floats: all of them, or only those with these numbers, which ascend.
    pub(super) fn floats<const N: usize>(&self, only: Option<&[u32]>) -> Result<Vec<[f32; N]>, Diag> {
        // Dividing is what the document says; multiplying with a reciprocal would round differently.
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
            (Component::U32, _) => Err(self.unfit("32-bit integers cannot be used for this")),
        }
    }

    /// The elements as unsigned integers: all of them, or only those with these numbers, which ascend.
    pub(super) fn uints<const N: usize>(&self, only: Option<&[u32]>) -> Result<Vec<[u32; N]>, Diag> {
        match self.component {
            Component::U8 => self.read(only, |b| u8::from_le_bytes(b).into()),
            Component::U16 => self.read(only, |b| u16::from_le_bytes(b).into()),
            Component::U32 => self.read(only, u32::from_le_bytes),
            _ => Err(self.unfit("unsigned integers are needed for this")),
        }
    }

    /// Elements of `N` numbers of `W` bytes, with the substitutions made.
    fn read<const N: usize, const W: usize, T: Copy + Default>(
        &self,
        only: Option<&[u32]>,
        number: impl Fn([u8; W]) -> T,
    ) -> Result<Vec<[T; N]>, Diag> {
        let wanted = match N {
            16 => "MAT4",
            _ => KINDS[N - 1].0,
        };
        if self.kind != wanted {
            return Err(self.unfit(format_args!("{wanted} is needed for this, and it has {}", self.kind)));
        }
        let count = only.map_or(self.count, <[u32]>::len);
        self.buffers.spend(count.saturating_mul(size_of::<[T; N]>()), self.at)?;
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
            // All but the last reach over to the next one.
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
                let hint = "look for degenerate geometry, and export it again";
                Err(self.at.fault(Code::GltfNotFinite, message).hint(hint))
            }
        }
    }
}

impl<'b> Sparse<'b> {
    fn new<'a>(
        at: At<'a>,
        elements: usize,
        element: usize,
        buffers: &'b Buffers<'a>,
    ) -> Result<Sparse<'b>, Diag> {
        let count_at = at.need("count")?;
        let count = count_at.uint()?;
        if count > elements {
            return Err(count_at.bad(format_args!("{count} elements are replaced, and there are {elements}")));
        }
        let (indices, values) = (at.need("indices")?, at.need("values")?);
        let component = Component::new(indices.need("componentType")?)?;
        let size = component.size();
        let places = window(buffers.view(indices.need("bufferView")?)?.bytes, indices, count, size, size)?;
        buffers.spend(count.saturating_mul(size_of::<u32>()), at)?;
        let targets: Vec<u32> = match component {
            Component::U8 => places.iter().map(|&byte| byte.into()).collect(),
            Component::U16 => {
                places.as_chunks().0.iter().map(|&bytes| u16::from_le_bytes(bytes).into()).collect()
            }
            Component::U32 => places.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect(),
            _ => return Err(indices.bad("unsigned integers are needed for this")),
        };
        if let Some(target) = targets.iter().find(|&&target| target as usize >= elements) {
            let message = format!("element {target} is replaced, and there are {elements}");
            return Err(indices.fault(Code::GltfAccessor, message));
        }
        let values_view = buffers.view(values.need("bufferView")?)?;
        let values = window(values_view.bytes, values, count, element, element)?;
        Ok(Sparse { targets, values })
    }
}

/// The bytes of `count` elements from an object's `byteOffset` on, up to the end of the last.
fn window<'b>(
    bytes: &'b [u8],
    at: At<'_>,
    count: usize,
    element: usize,
    stride: usize,
) -> Result<&'b [u8], Diag> {
    if stride < element {
        let message = format!("elements of {element} bytes overlap at a distance of {stride}");
        return Err(at.fault(Code::GltfAccessor, message));
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
            "{count} elements of {element} bytes, {stride} apart from {offset} on, do not fit into {} bytes",
            bytes.len()
        );
        at.fault(Code::GltfAccessor, message).hint("the file is cut off or damaged: export it again")
    })
}
