//! Vertex attributes in their final formats: quantised as `KHR_mesh_quantization` and glTF 2.0 itself permit.
//!
//! | attribute | format | largest error |
//! |---|---|---|
//! | `POSITION` | 16-bit grid over the bounding cube | half a step of the grid: extent / 131070 |
//! | `NORMAL`, `TANGENT` | 8-bit normalized, octahedral with compression | 1.2 degrees |
//! | `TEXCOORD_n` from 0 to 1, or from -1 to 1 | 16-bit normalized | 1 / 131070, or 1 / 65534 |
//! | `COLOR_n` from 0 to 1 | 8-bit normalized if exact, else 16-bit | 1 / 131070 |
//! | `WEIGHTS_n` | 8-bit normalized, of sum 1 | 1 / 255 |
//! | `JOINTS_n` | 8-bit, or 16-bit beyond 255 | none |
//!
//! All other attributes, and those out of these ranges, are kept as they are. Integers of the source stay integers.

use kiln_import::gltf::AccessorData;

/// Component types as in a document.
pub(crate) const BYTE: u32 = 5120;
pub(crate) const UNSIGNED_BYTE: u32 = 5121;
pub(crate) const SHORT: u32 = 5122;
pub(crate) const UNSIGNED_SHORT: u32 = 5123;
pub(crate) const UNSIGNED_INT: u32 = 5125;
pub(crate) const FLOAT: u32 = 5126;

/// The grid that positions are rounded to: a position is `offset + scale * integer`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    pub(crate) offset: [f32; 3],
    pub(crate) scale: f32,
}

/// The filter of `EXT_meshopt_compression` that encoded elements need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Filter {
    None,
    Octahedral,
}

/// The elements of an accessor in their final format, each padded to whole words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Elements {
    pub(crate) component_type: u32,
    pub(crate) kind: String,
    pub(crate) components: usize,
    pub(crate) normalized: bool,
    pub(crate) filter: Filter,
    /// Bytes from one element to the next: a multiple of four.
    pub(crate) stride: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Elements {
    /// Pads the elements of the source.
    pub(crate) fn unchanged(data: &AccessorData) -> Elements {
        let element = data.components * component_size(data.component_type);
        let stride = element.next_multiple_of(4);
        let mut bytes = Vec::with_capacity(data.count * stride);
        for element in data.bytes.chunks_exact(element.max(1)) {
            bytes.extend_from_slice(element);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        if data.component_type == FLOAT {
            // Equal vertices have equal bytes.
            for word in bytes.as_chunks_mut::<4>().0 {
                *word = (f32::from_le_bytes(*word) + 0.0).to_le_bytes();
            }
        }
        Elements {
            component_type: data.component_type,
            kind: data.kind.clone(),
            components: data.components,
            normalized: data.normalized,
            filter: Filter::None,
            stride,
            bytes,
        }
    }

    /// Copies elements outside of vertices: their views have no stride, so there is no padding between them.
    pub(crate) fn tight(data: &AccessorData) -> Elements {
        Elements {
            component_type: data.component_type,
            kind: data.kind.clone(),
            components: data.components,
            normalized: data.normalized,
            filter: Filter::None,
            stride: data.components * component_size(data.component_type),
            bytes: data.bytes.clone(),
        }
    }

    /// Encodes numbers as integers, which `integer` makes from each.
    fn integers(
        data: &AccessorData,
        component_type: u32,
        normalized: bool,
        integer: impl Fn(f32, usize) -> i32,
    ) -> Elements {
        let size = component_size(component_type);
        let stride = (data.components * size).next_multiple_of(4);
        let mut bytes = Vec::with_capacity(data.count * stride);
        for element in numbers(data).chunks_exact(data.components.max(1)) {
            for (axis, &number) in element.iter().enumerate() {
                bytes.extend_from_slice(&integer(number, axis).to_le_bytes()[..size]);
            }
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        Elements {
            component_type,
            kind: data.kind.clone(),
            components: data.components,
            normalized,
            filter: Filter::None,
            stride,
            bytes,
        }
    }

    /// Returns the number of elements.
    pub(crate) fn count(&self) -> usize {
        self.bytes.len() / self.stride.max(1)
    }

    /// Returns the elements as words.
    pub(crate) fn words(&self) -> Vec<u32> {
        self.bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
    }

    /// Returns the elements at these indices.
    pub(crate) fn gather(&self, sources: &[u32]) -> Elements {
        let bytes = sources.iter().flat_map(|&at| &self.bytes[at as usize * self.stride..][..self.stride]);
        Elements { bytes: bytes.copied().collect(), kind: self.kind.clone(), ..*self }
    }

    /// Returns the smallest and the largest value of each component, as stored.
    pub(crate) fn bounds(&self) -> [Vec<f64>; 2] {
        let size = component_size(self.component_type);
        let (mut least, mut most) =
            (vec![f64::INFINITY; self.components], vec![f64::NEG_INFINITY; self.components]);
        for element in self.bytes.chunks_exact(self.stride.max(1)) {
            for (axis, bytes) in element.chunks_exact(size).take(self.components).enumerate() {
                let value = stored(self.component_type, bytes);
                (least[axis], most[axis]) = (least[axis].min(value), most[axis].max(value));
            }
        }
        [least, most]
    }
}

/// Returns the size of a component in bytes.
pub(crate) fn component_size(component_type: u32) -> usize {
    match component_type {
        BYTE | UNSIGNED_BYTE => 1,
        SHORT | UNSIGNED_SHORT => 2,
        _ => 4,
    }
}

/// Returns a component as stored, without normalization.
fn stored(component_type: u32, bytes: &[u8]) -> f64 {
    match (component_type, bytes) {
        (BYTE, &[a]) => f64::from(a as i8),
        (UNSIGNED_BYTE, &[a]) => f64::from(a),
        (SHORT, &[a, b]) => f64::from(i16::from_le_bytes([a, b])),
        (UNSIGNED_SHORT, &[a, b]) => f64::from(u16::from_le_bytes([a, b])),
        (UNSIGNED_INT, &[a, b, c, d]) => f64::from(u32::from_le_bytes([a, b, c, d])),
        (_, &[a, b, c, d]) => f64::from(f32::from_le_bytes([a, b, c, d])),
        _ => 0.0,
    }
}

/// Returns the largest integer of a normalized component type; zero for floats.
fn unit(component_type: u32) -> f32 {
    match component_type {
        BYTE => 127.0,
        UNSIGNED_BYTE => 255.0,
        SHORT => 32767.0,
        UNSIGNED_SHORT => 65535.0,
        _ => 0.0,
    }
}

/// Decodes all components of an accessor.
pub(crate) fn numbers(data: &AccessorData) -> Vec<f32> {
    let (size, one) = (component_size(data.component_type), unit(data.component_type));
    let number = |bytes: &[u8]| {
        let value = stored(data.component_type, bytes) as f32;
        if data.normalized && one > 0.0 { (value / one).max(-1.0) } else { value }
    };
    data.bytes.chunks_exact(size).map(number).collect()
}

/// Decodes scalars as unsigned integers; `None` for any other accessor.
pub(crate) fn numbers_u32(data: &AccessorData) -> Option<Vec<u32>> {
    let size = component_size(data.component_type);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
    let fits =
        data.components == 1 && matches!(data.component_type, UNSIGNED_BYTE | UNSIGNED_SHORT | UNSIGNED_INT);
    fits.then(|| data.bytes.chunks_exact(size).map(word).collect())
}

/// Decodes elements of `N` components; `None` if the accessor has another number.
pub(crate) fn vectors<const N: usize>(data: &AccessorData) -> Option<Vec<[f32; N]>> {
    (data.components == N).then(|| numbers(data).as_chunks().0.to_vec())
}

/// The formats that attributes are encoded in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Formats {
    /// Rounds attributes to smaller formats.
    pub(crate) quantize: bool,
    /// Filters attributes for compression.
    pub(crate) compress: bool,
}

impl Formats {
    /// Encodes an attribute of a vertex other than joint weights.
    pub(crate) fn attribute(self, name: &str, data: &AccessorData, grid: Option<Grid>) -> Elements {
        let (base, _) = name.split_once('_').unwrap_or((name, ""));
        match (base, data.component_type, data.components) {
            ("JOINTS", UNSIGNED_SHORT, 4) if numbers(data).iter().all(|&joint| joint <= 255.0) => {
                Elements::integers(data, UNSIGNED_BYTE, false, |joint, _| joint as i32)
            }
            _ if !self.quantize => Elements::unchanged(data),
            ("POSITION", FLOAT, 3) => match grid {
                Some(grid) => Elements::integers(data, UNSIGNED_SHORT, false, |value, axis| {
                    on_grid(f64::from(value) - f64::from(grid.offset[axis]), grid.scale).clamp(0, 65535)
                }),
                None => Elements::unchanged(data),
            },
            ("NORMAL", FLOAT, 3) | ("TANGENT", FLOAT, 4) => self.directions(data),
            ("TEXCOORD", FLOAT, 2) => {
                let (least, most) = range(data);
                match () {
                    () if least >= 0.0 && most <= 1.0 => normalized(data, UNSIGNED_SHORT),
                    () if least >= -1.0 && most <= 1.0 => normalized(data, SHORT),
                    () => Elements::unchanged(data),
                }
            }
            ("COLOR", FLOAT | UNSIGNED_SHORT, 3 | 4) => {
                let (least, most) = range(data);
                if least < 0.0 || most > 1.0 {
                    return Elements::unchanged(data);
                }
                let is_byte = |number: &f32| (number * 255.0 - (number * 255.0).round()).abs() < 1e-4;
                let exact = numbers(data).iter().all(is_byte);
                normalized(data, if exact { UNSIGNED_BYTE } else { UNSIGNED_SHORT })
            }
            _ => Elements::unchanged(data),
        }
    }

    /// Encodes the displacements of a morph target.
    pub(crate) fn displacements(self, name: &str, data: &AccessorData, grid: Option<Grid>) -> Elements {
        match (name, data.component_type, data.components, grid) {
            _ if !self.quantize => Elements::unchanged(data),
            ("POSITION", FLOAT, 3, Some(grid)) => Elements::integers(data, SHORT, false, |value, _| {
                on_grid(f64::from(value), grid.scale).clamp(-32767, 32767)
            }),
            ("NORMAL" | "TANGENT", FLOAT, 3, _) if range(data).0 >= -1.0 && range(data).1 <= 1.0 => {
                normalized(data, BYTE)
            }
            _ => Elements::unchanged(data),
        }
    }

    /// Encodes unit vectors, of which a fourth component is a sign.
    fn directions(self, data: &AccessorData) -> Elements {
        let numbers = numbers(data);
        let vectors = numbers.chunks_exact(data.components.max(1)).map(|vector| {
            let [x, y, z] = [vector[0], vector[1], vector[2]];
            let length = (x * x + y * y + z * z).sqrt();
            let scale = if length > 0.0 && length.is_finite() { 1.0 / length } else { 0.0 };
            let sign = vector.get(3).map_or(0.0, |w| if *w < 0.0 { -1.0 } else { 1.0 });
            [x * scale, y * scale, z * scale, sign]
        });
        let vectors: Vec<[f32; 4]> = vectors.collect();
        let bytes = match self.compress {
            true => meshopt::encode_filter_oct::<i8>(&vectors, 8),
            false => vectors.iter().map(|vector| vector.map(|x| (x * 127.0).round() as i8)).collect(),
        };
        Elements {
            component_type: BYTE,
            kind: data.kind.clone(),
            components: data.components,
            normalized: true,
            filter: if self.compress { Filter::Octahedral } else { Filter::None },
            stride: 4,
            bytes: bytes.into_flattened().into_iter().map(|byte| byte as u8).collect(),
        }
    }

    /// Encodes the joint weights of all sets together, so that those of a vertex have the sum 1.
    pub(crate) fn weights(self, sets: &[&AccessorData]) -> Vec<Elements> {
        let fits = |data: &&AccessorData| {
            data.components == 4
                && (data.component_type == FLOAT || data.normalized)
                && data.component_type != UNSIGNED_BYTE
        };
        if !self.quantize || !sets.iter().all(fits) {
            return sets.iter().map(|data| Elements::unchanged(data)).collect();
        }
        let count = sets.iter().map(|data| data.count).min().unwrap_or(0);
        let all: Vec<Vec<f32>> = sets.iter().map(|data| numbers(data)).collect();
        let mut bytes = vec![Vec::with_capacity(count * 4); sets.len()];
        for vertex in 0..count {
            let weights: Vec<f32> = all.iter().flat_map(|set| &set[vertex * 4..][..4]).copied().collect();
            for (set, weights) in bytes.iter_mut().zip(rounded_weights(&weights).chunks_exact(4)) {
                set.extend_from_slice(weights);
            }
        }
        let elements = |(data, bytes): (&&AccessorData, Vec<u8>)| Elements {
            component_type: UNSIGNED_BYTE,
            kind: data.kind.clone(),
            components: 4,
            normalized: true,
            filter: Filter::None,
            stride: 4,
            bytes,
        };
        sets.iter().zip(bytes).map(elements).collect()
    }
}

/// Rounds weights to bytes whose sum is 255: those with the largest remainders are rounded up.
fn rounded_weights(weights: &[f32]) -> Vec<u8> {
    let weights: Vec<f64> = weights.iter().map(|weight| f64::from(weight.max(0.0))).collect();
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        return vec![0; weights.len()];
    }
    let scaled: Vec<f64> = weights.iter().map(|weight| weight / sum * 255.0).collect();
    let mut bytes: Vec<u8> = scaled.iter().map(|weight| *weight as u8).collect();
    let missing = 255 - bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>().min(255);
    let mut order: Vec<usize> = (0..bytes.len()).collect();
    let remainder = |at: &usize| scaled[*at] - scaled[*at].floor();
    // Stable: of equal remainders, the first is rounded up.
    order.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
    order.into_iter().take(missing).for_each(|at| bytes[at] = bytes[at].saturating_add(1));
    bytes
}

/// Returns the integer of the grid that is nearest to a distance.
fn on_grid(distance: f64, scale: f32) -> i32 {
    (distance / f64::from(scale)).round() as i32
}

fn normalized(data: &AccessorData, component_type: u32) -> Elements {
    let one = f64::from(unit(component_type));
    Elements::integers(data, component_type, true, |value, _| (f64::from(value) * one).round() as i32)
}

fn range(data: &AccessorData) -> (f32, f32) {
    let numbers = numbers(data);
    numbers.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)))
}

/// Returns true if only `KHR_mesh_quantization` permits this format of an attribute.
pub(crate) fn needs_quantization(name: &str, elements: &Elements, is_displacement: bool) -> bool {
    let (base, _) = name.split_once('_').unwrap_or((name, ""));
    match (base, elements.component_type) {
        (_, FLOAT) => false,
        ("POSITION" | "NORMAL" | "TANGENT", _) => true,
        ("TEXCOORD", UNSIGNED_BYTE | UNSIGNED_SHORT) => !elements.normalized || is_displacement,
        ("TEXCOORD", _) => true,
        _ => false,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn floats(kind: &str, components: usize, values: &[f32]) -> AccessorData {
        AccessorData {
            component_type: FLOAT,
            kind: kind.into(),
            components,
            normalized: false,
            count: values.len() / components,
            bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        }
    }

    const BOTH: Formats = Formats { quantize: true, compress: false };

    fn decoded(elements: &Elements) -> Vec<f32> {
        let size = component_size(elements.component_type);
        let element = |bytes: &[u8]| bytes[..elements.components * size].to_vec();
        numbers(&AccessorData {
            component_type: elements.component_type,
            kind: elements.kind.clone(),
            components: elements.components,
            normalized: elements.normalized,
            count: elements.count(),
            bytes: elements.bytes.chunks_exact(elements.stride).flat_map(element).collect(),
        })
    }

    #[test]
    fn positions_are_within_half_a_step() {
        let values = [0.5, -1.0, 2.25, 3.0, 0.1, 0.7, -0.3, 2.0, 1.1];
        let grid = Grid { offset: [-0.3, -1.0, 0.7], scale: 3.3 / 65535.0 };
        let encoded = BOTH.attribute("POSITION", &floats("VEC3", 3, &values), Some(grid));
        assert_eq!((encoded.component_type, encoded.stride, encoded.count()), (UNSIGNED_SHORT, 8, 3));
        for (at, (found, wanted)) in decoded(&encoded).iter().zip(values).enumerate() {
            let found = grid.offset[at % 3] + found * grid.scale;
            assert!((found - wanted).abs() <= grid.scale * 0.501, "{found} {wanted}");
        }
        let [least, most] = encoded.bounds();
        assert_eq!((least[0], most[0]), (0.0, 65535.0));
    }

    #[test]
    fn uvs_are_normalized_only_in_their_range() {
        let kind = |values: &[f32]| {
            let encoded = BOTH.attribute("TEXCOORD_1", &floats("VEC2", 2, values), None);
            for (found, wanted) in decoded(&encoded).iter().zip(values) {
                assert!((found - wanted).abs() <= 0.5001 / 32767.0);
            }
            (encoded.component_type, encoded.normalized, needs_quantization("TEXCOORD_1", &encoded, false))
        };
        assert_eq!(kind(&[0.0, 1.0, 0.3, 0.123]), (UNSIGNED_SHORT, true, false));
        assert_eq!(kind(&[-0.5, 1.0, 0.3, 0.123]), (SHORT, true, true));
        assert_eq!(kind(&[0.0, 1.5]), (FLOAT, false, false));
    }

    #[test]
    fn colours_are_bytes_only_if_exact() {
        let kind = |values: &[f32]| {
            let encoded = BOTH.attribute("COLOR_0", &floats("VEC3", 3, values), None);
            assert!(decoded(&encoded).iter().zip(values).all(|(a, b)| (a - b).abs() <= 0.5001 / 65535.0));
            (encoded.component_type, encoded.stride)
        };
        assert_eq!(kind(&[1.0, 0.0, 51.0 / 255.0]), (UNSIGNED_BYTE, 4));
        assert_eq!(kind(&[1.0, 0.0, 0.5]), (UNSIGNED_SHORT, 8));
        assert_eq!(kind(&[1.0, 0.0, 1.5]), (FLOAT, 12));
    }

    #[test]
    fn directions_are_within_the_stated_error() {
        // Evenly distributed directions (Fibonacci sphere).
        let values: Vec<f32> = (0..2000)
            .flat_map(|i| {
                let (z, angle) = (1.0 - (2 * i + 1) as f64 / 2000.0, i as f64 * 2.399963229728653);
                let r = (1.0 - z * z).sqrt();
                #[allow(clippy::disallowed_methods)]
                [(r * angle.cos()) as f32, (r * angle.sin()) as f32, z as f32]
            })
            .collect();
        let data = floats("VEC3", 3, &values);
        let mut worst = 0.0f32;
        let mut check = |found: [f32; 3], wanted: &[f32]| {
            let length = found.iter().map(|x| x * x).sum::<f32>().sqrt();
            let dot: f32 = found.iter().zip(wanted).map(|(a, b)| a / length * b).sum();
            #[allow(clippy::disallowed_methods)]
            let angle = dot.min(1.0).acos().to_degrees();
            worst = worst.max(angle);
        };
        let plain = BOTH.attribute("NORMAL", &data, None);
        assert_eq!((plain.component_type, plain.normalized, plain.filter), (BYTE, true, Filter::None));
        for (found, wanted) in decoded(&plain).chunks_exact(3).zip(values.chunks_exact(3)) {
            check([found[0], found[1], found[2]], wanted);
        }
        let filtered = Formats { quantize: true, compress: true }.attribute("NORMAL", &data, None);
        assert_eq!(filtered.filter, Filter::Octahedral);
        let mut quads: Vec<[i8; 4]> =
            filtered.bytes.as_chunks::<4>().0.iter().map(|b| b.map(|b| b as i8)).collect();
        meshopt::decode_filter_oct(&mut quads);
        for (found, wanted) in quads.iter().zip(values.chunks_exact(3)) {
            check([found[0], found[1], found[2]].map(f32::from), wanted);
        }
        assert!(worst < 1.2, "{worst}");
    }

    #[test]
    fn weights_have_the_sum_one() {
        for weights in
            [[0.25f32, 0.25, 0.25, 0.25], [0.7, 0.2, 0.1, 0.0], [1.0, 0.0, 0.0, 0.0], [0.1, 0.1, 0.1, 0.1]]
        {
            let rounded = rounded_weights(&weights);
            assert_eq!(rounded.iter().map(|byte| u32::from(*byte)).sum::<u32>(), 255, "{weights:?}");
            let sum: f32 = weights.iter().sum();
            for (byte, weight) in rounded.iter().zip(weights) {
                assert!((f32::from(*byte) / 255.0 - weight / sum).abs() < 1.0 / 255.0);
                assert!(weight > 0.0 || *byte == 0);
            }
        }
        assert_eq!(rounded_weights(&[0.0; 4]), [0; 4]);
        let sets = [floats("VEC4", 4, &[0.5, 0.1, 0.1, 0.1]), floats("VEC4", 4, &[0.1, 0.1, 0.0, 0.0])];
        let encoded = BOTH.weights(&[&sets[0], &sets[1]]);
        let sum: u32 = encoded.iter().flat_map(|set| &set.bytes).map(|byte| u32::from(*byte)).sum();
        assert_eq!((encoded.len(), sum), (2, 255));
    }

    #[test]
    fn integers_of_the_source_are_kept() {
        let mut data = floats("VEC3", 3, &[]);
        (data.component_type, data.count, data.bytes) = (SHORT, 1, vec![1, 0, 2, 0, 255, 255]);
        let grid = Grid { offset: [0.0; 3], scale: 1.0 };
        let encoded = BOTH.attribute("POSITION", &data, Some(grid));
        assert_eq!((encoded.component_type, encoded.bytes), (SHORT, vec![1, 0, 2, 0, 255, 255, 0, 0]));
    }
}
