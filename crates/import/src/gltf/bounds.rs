//! The `min` and `max` of accessors (glTF 2.0, 3.6.2.5), compared with their elements.
//!
//! Accessors without a buffer view are not compared: those of Draco-compressed attributes have none. Nor are those of a
//! view with meshopt compression, whose filters are not exact.

use super::accessor::{Accessor, Component};
use super::value::Value;

impl<'a> Accessor<'_, 'a> {
    /// Returns the first of `min` and `max` that is not the bound of the elements, if there is one.
    pub(super) fn wrong_bound(&self) -> Option<Value<'a>> {
        let stated = |name: &str| {
            let bound = self.at.get(name)?;
            let list = self.at.list(name).ok().filter(|list| list.len() == self.components())?;
            let values = list.iter().map(Value::float).collect::<Result<Vec<f32>, _>>().ok()?;
            Some((bound, values))
        };
        let (min, max) = (stated("min"), stated("max"));
        if (min.is_none() && max.is_none()) || self.count() == 0 || self.is_compressed() {
            return None;
        }
        let (least, greatest) = self.bounds()?;
        [(min, least), (max, greatest)].into_iter().find_map(|(stated, actual)| {
            let (bound, values) = stated?;
            (values != actual).then_some(bound)
        })
    }

    /// Returns the minimum and the maximum of each component as stored: integers are not normalized.
    fn bounds(&self) -> Option<(Vec<f32>, Vec<f32>)> {
        let (base, stride) = self.base?;
        let (numbers, width) = (self.components(), self.component.size());
        let element = numbers * width;
        let mut least = vec![f32::INFINITY; numbers];
        let mut greatest = vec![f32::NEG_INFINITY; numbers];
        let mut take = |bytes: &[u8]| {
            let values = bytes[..element].chunks_exact(width).map(|number| self.component.value(number));
            for ((least, greatest), value) in least.iter_mut().zip(&mut greatest).zip(values) {
                *least = least.min(value);
                *greatest = greatest.max(value);
            }
        };
        match &self.sparse {
            None => base.chunks(stride).for_each(take),
            Some(sparse) => {
                let mut replaced = sparse.targets.clone();
                replaced.sort_unstable();
                for (index, bytes) in base.chunks(stride).enumerate() {
                    if replaced.binary_search(&(index as u32)).is_err() {
                        take(bytes);
                    }
                }
                sparse.values.chunks_exact(element).for_each(take);
            }
        }
        Some((least, greatest))
    }
}

impl Component {
    /// Decodes a component of this type; `bytes` has its size.
    fn value(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (Component::I8, &[a]) => f32::from(a as i8),
            (Component::U8, &[a]) => f32::from(a),
            (Component::I16, &[a, b]) => f32::from(i16::from_le_bytes([a, b])),
            (Component::U16, &[a, b]) => f32::from(u16::from_le_bytes([a, b])),
            // The stated bound is a float as well.
            (Component::U32, &[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]) as f32,
            (Component::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            _ => f32::NAN,
        }
    }
}
