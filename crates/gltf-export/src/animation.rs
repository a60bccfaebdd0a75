//! Animations: keyframes that change nothing are removed, rotations are stored in 16 bits.
//!
//! A keyframe is removed only if interpolation without it gives the same value at every time: between two equal values,
//! or at the end of constant values. The length of an animation does not change. Splines are kept as they are.

use kiln_diagnostics::{Code, Diag};
use kiln_import::gltf::AccessorData;

use crate::attribute::{Elements, FLOAT, Filter, SHORT, numbers};
use crate::source::Source;
use crate::streams::{Streams, Usage};
use crate::tree::{self, Json, number};

/// Writes the keyframes of an animation and replaces the accessors of its JSON. Samplers that no channel uses are removed.
pub(crate) fn write(
    source: &dyn Source,
    streams: &mut Streams,
    json: &mut Json,
    place: &str,
    quantize: bool,
) -> Result<(), Diag> {
    let invalid = |message: &str| Diag::new(Code::GltfValue, message).at(place);
    let old = match tree::remove(json, "samplers") {
        Some(Json::Array(samplers)) => samplers,
        _ => vec![],
    };
    let mut renamed: Vec<Option<usize>> = vec![None; old.len()];
    let mut used: Vec<(usize, bool)> = Vec::new();
    for channel in tree::items_mut(json, "channels") {
        let path = tree::get(channel, "target").map(|target| tree::string_of(target, "path"));
        let is_rotation = path == Some("rotation");
        let at = tree::index_of(channel, "sampler").filter(|at| *at < old.len());
        let at = at.ok_or_else(|| invalid("a channel refers to a sampler that does not exist"))?;
        let new = *renamed[at].get_or_insert_with(|| {
            used.push((at, true));
            used.len() - 1
        });
        used[new].1 &= is_rotation;
        tree::set(channel, "sampler", number(new));
    }
    let mut tracks = Vec::new();
    for &(at, is_rotation) in &used {
        let load = |name: &str| {
            let index = tree::index_of(&old[at], name);
            source.accessor(index.ok_or_else(|| invalid("an animation sampler has no accessor"))?)
        };
        let (input, output) = (load("input")?, load("output")?);
        let fits = input.component_type == FLOAT && input.components == 1 && input.count > 0;
        if !fits || !output.count.is_multiple_of(input.count) {
            return Err(invalid(
                "an animation sampler has times that are not floats, or a wrong number of values",
            ));
        }
        let times = numbers(&input);
        let interpolation = match tree::string_of(&old[at], "interpolation") {
            "STEP" => Interpolation::Step,
            "CUBICSPLINE" => Interpolation::Cubic,
            _ => Interpolation::Linear,
        };
        tracks.push(Track { times, output, interpolation, is_rotation, json: old[at].clone() });
    }
    let end = tracks.iter().map(Track::end).fold(f32::NEG_INFINITY, f32::max);
    // Another track keeps the length of the animation, so that constant ones may end early.
    let mut is_end_kept = tracks.iter().any(|track| track.end() == end && !track.is_constant());
    let mut samplers = Vec::new();
    for track in &mut tracks {
        let keep_end = track.end() == end && !is_end_kept;
        is_end_kept |= keep_end;
        track.reduce(keep_end);
        samplers.push(track.write(streams, quantize));
    }
    tree::set(json, "samplers", Json::Array(samplers));
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interpolation {
    Step,
    Linear,
    Cubic,
}

/// The keyframes of one sampler.
struct Track {
    times: Vec<f32>,
    output: AccessorData,
    interpolation: Interpolation,
    /// True if all channels of the sampler are rotations.
    is_rotation: bool,
    json: Json,
}

impl Track {
    fn end(&self) -> f32 {
        self.times.iter().copied().fold(f32::NEG_INFINITY, f32::max)
    }

    /// Returns the values of a keyframe as bytes.
    fn key(&self, at: usize) -> &[u8] {
        let size = self.output.bytes.len() / self.times.len().max(1);
        &self.output.bytes[at * size..][..size]
    }

    fn is_constant(&self) -> bool {
        self.interpolation != Interpolation::Cubic
            && (1..self.times.len()).all(|at| self.key(at) == self.key(0))
    }

    /// Removes keyframes without an effect; the last one of a constant track is kept if the animation ends with it.
    fn reduce(&mut self, keep_end: bool) {
        let is_sorted = self.times.is_sorted_by(|a, b| a < b);
        if self.interpolation == Interpolation::Cubic || !is_sorted {
            return;
        }
        let last = self.times.len() - 1;
        let is_needed = |at: usize| match at {
            0 => true,
            at if at == last => !self.is_constant() || keep_end,
            at => {
                let follows = self.key(at) != self.key(at - 1);
                let precedes =
                    self.interpolation == Interpolation::Linear && self.key(at) != self.key(at + 1);
                follows || precedes
            }
        };
        let kept: Vec<usize> = (0..=last).filter(|at| is_needed(*at)).collect();
        let bytes = kept.iter().flat_map(|&at| self.key(at)).copied().collect();
        let per_key = self.output.count / self.times.len();
        self.times = kept.iter().map(|&at| self.times[at]).collect();
        (self.output.count, self.output.bytes) = (per_key * kept.len(), bytes);
    }

    /// Writes the keyframes; returns the JSON of the sampler.
    fn write(&self, streams: &mut Streams, quantize: bool) -> Json {
        let times = AccessorData {
            component_type: FLOAT,
            kind: "SCALAR".to_owned(),
            components: 1,
            normalized: false,
            count: self.times.len(),
            bytes: self.times.iter().flat_map(|time| time.to_le_bytes()).collect(),
        };
        let rounded = quantize && self.is_rotation && self.interpolation != Interpolation::Cubic;
        let rounded = rounded && self.output.component_type == FLOAT && self.output.components == 4;
        let rounded = rounded && !has_half_turns(&self.output);
        let (class, values) = match rounded {
            true => ("rotation", rotations(&self.output)),
            false => ("keyframes", Elements::tight(&self.output)),
        };
        let mut json = self.json.clone();
        let times = streams.elements(Usage::Other, "times", &Elements::unchanged(&times), true);
        tree::set(&mut json, "input", number(times));
        tree::set(&mut json, "output", number(streams.elements(Usage::Other, class, &values, false)));
        json
    }
}

/// Returns true if a rotation from one keyframe to the next is nearly half a turn: then the lowest bits decide its direction.
fn has_half_turns(data: &AccessorData) -> bool {
    let numbers = numbers(data);
    let (keys, _) = numbers.as_chunks::<4>();
    let dot = |a: &[f32; 4], b: &[f32; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    keys.windows(2).any(|pair| dot(&pair[0], &pair[1]).abs() < 0.01)
}

/// Encodes quaternions with normalized 16-bit components.
fn rotations(data: &AccessorData) -> Elements {
    let component =
        |value: &f32| ((f64::from(*value) * 32767.0).round().clamp(-32767.0, 32767.0) as i16).to_le_bytes();
    Elements {
        component_type: SHORT,
        kind: "VEC4".to_owned(),
        components: 4,
        normalized: true,
        filter: Filter::None,
        stride: 8,
        bytes: numbers(data).iter().flat_map(component).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::tests::floats;
    use std::f32::consts::FRAC_1_SQRT_2;

    fn reduced(
        times: &[f32],
        values: &[f32],
        interpolation: Interpolation,
        keep_end: bool,
    ) -> (Vec<f32>, Vec<f32>) {
        let output = floats("SCALAR", 1, values);
        let json = tree::object([]);
        let mut track = Track { times: times.to_vec(), output, interpolation, is_rotation: false, json };
        track.reduce(keep_end);
        (track.times.clone(), numbers(&track.output))
    }

    #[test]
    fn removes_only_keyframes_without_an_effect() {
        let times = [0.0, 1.0, 2.0, 3.0, 4.0];
        let linear = |values: &[f32], end| reduced(&times, values, Interpolation::Linear, end).0;
        assert_eq!(linear(&[1.0, 1.0, 1.0, 1.0, 2.0], false), [0.0, 3.0, 4.0]);
        assert_eq!(linear(&[0.0, 1.0, 2.0, 3.0, 4.0], false), times);
        assert_eq!(linear(&[5.0; 5], false), [0.0]);
        assert_eq!(linear(&[5.0; 5], true), [0.0, 4.0]);
        let step = |values: &[f32]| reduced(&times, values, Interpolation::Step, false).0;
        assert_eq!(step(&[1.0, 1.0, 2.0, 2.0, 2.0]), [0.0, 2.0, 4.0]);
        let cubic = reduced(&[0.0, 1.0], &[0.0; 6], Interpolation::Cubic, false);
        assert_eq!((cubic.0.len(), cubic.1.len()), (2, 6));
        assert_eq!(reduced(&[1.0, 0.0], &[0.0; 2], Interpolation::Linear, false).0, [1.0, 0.0]);
    }

    #[test]
    fn half_turns_are_not_rounded() {
        // The sign of the last component decides the direction.
        let half = [0.0, 0.0, 0.0, -1.0, 1.0, 0.0, 0.0, 4.5e-11];
        assert!(has_half_turns(&floats("VEC4", 4, &half)));
        let quarter = [0.0, 0.0, 0.0, 1.0, FRAC_1_SQRT_2, 0.0, 0.0, FRAC_1_SQRT_2];
        assert!(!has_half_turns(&floats("VEC4", 4, &quarter)));
    }

    #[test]
    fn rotations_are_within_the_stated_error() {
        let values = [0.0, FRAC_1_SQRT_2, 0.0, FRAC_1_SQRT_2, -0.5, 0.5, 0.5, -0.5];
        let encoded = rotations(&floats("VEC4", 4, &values));
        let (shorts, _) = encoded.bytes.as_chunks::<2>();
        for (found, wanted) in shorts.iter().zip(values) {
            assert!((f32::from(i16::from_le_bytes(*found)) / 32767.0 - wanted).abs() <= 0.5001 / 32767.0);
        }
    }
}
