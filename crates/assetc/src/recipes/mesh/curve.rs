//! Animation curves: evaluation of a channel at any time, and conversion to the keys of a runtime file.
//!
//! Runtime files have step and linear interpolation. Cubic splines lose their tangents, or are resampled with as many
//! keys as a linear approximation within the tolerance needs.

use crate::config::Cubic;
use kiln_ir::{Channel, Interpolation, Property, normalize};

/// The largest error of a linear approximation of a spline: absolute in the components of a quaternion, otherwise
/// relative to the value range of the channel.
const TOLERANCE: f64 = 5e-4;

/// The largest number of bisections of a spline segment.
const MAX_BISECTIONS: u32 = 8;

/// A key: time in seconds and value, with four components for a rotation and otherwise three.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) time: f32,
    pub(crate) value: [f32; 4],
}

/// Converts a channel to keys with strictly increasing, non-negative times.
pub(crate) fn keys(channel: &Channel, cubic: Cubic) -> Vec<Key> {
    let mut keys = match (channel.interpolation, cubic) {
        (Interpolation::CubicSpline, Cubic::Resample) => resample(channel),
        _ => (0..channel.times.len()).map(|key| at_key(channel, key)).collect(),
    };
    if keys.first().is_some_and(|key| key.time < 0.0) {
        start_at_zero(channel, &mut keys);
    }
    for n in 1..keys.len() {
        // Two keys at one time are a discontinuity: the later one moves to the next representable time.
        if keys[n].time <= keys[n - 1].time {
            keys[n].time = keys[n - 1].time.next_up();
        }
    }
    if channel.property == Property::Rotation && channel.interpolation != Interpolation::Step {
        take_shortest_path(&mut keys);
    }
    keys
}

/// Cuts off the part of a clip before time zero.
fn start_at_zero(channel: &Channel, keys: &mut Vec<Key>) {
    let start = Key { time: 0.0, value: narrow(sample(channel, 0.0)) };
    keys.retain(|key| key.time > 0.0);
    keys.insert(0, start);
}

/// Negates quaternions so that neighbouring keys have a non-negative dot product: engines that interpolate without
/// checking the sign then take the shortest path, too.
fn take_shortest_path(keys: &mut [Key]) {
    for n in 1..keys.len() {
        let before = keys[n - 1].value;
        let dot: f32 = before.iter().zip(keys[n].value).map(|(a, b)| a * b).sum();
        if dot < 0.0 {
            keys[n].value = keys[n].value.map(|v| -v);
        }
    }
}

fn at_key(channel: &Channel, key: usize) -> Key {
    Key { time: channel.times[key], value: narrow(finish(channel, wide(channel.value(key)))) }
}

/// Evaluates a channel at a time, as glTF 2.0, appendix C, defines it.
fn sample(channel: &Channel, time: f64) -> [f64; 4] {
    let times = &channel.times;
    let after = times.partition_point(|&t| f64::from(t) <= time);
    let value = |key: usize| wide(channel.value(key));
    if after == 0 {
        return finish(channel, value(0));
    }
    if after == times.len() || channel.interpolation == Interpolation::Step {
        return finish(channel, value(after - 1));
    }
    let (from, to) = (f64::from(times[after - 1]), f64::from(times[after]));
    let t = (time - from) / (to - from);
    let (a, b) = (value(after - 1), value(after));
    if channel.interpolation == Interpolation::CubicSpline {
        return finish(channel, hermite(channel, after - 1, t, to - from));
    }
    if channel.property == Property::Rotation {
        return slerp(normalize(a), normalize(b), t);
    }
    std::array::from_fn(|i| a[i] + (b[i] - a[i]) * t)
}

fn hermite(channel: &Channel, key: usize, t: f64, span: f64) -> [f64; 4] {
    let (components, stride) = (channel.property.components(), channel.stride());
    // In-tangent, value and out-tangent are consecutive.
    let part = |key: usize, which: usize| {
        let start = key * stride + which * components;
        wide(&channel.values[start..start + components])
    };
    let (p0, m0, p1, m1) = (part(key, 1), part(key, 2), part(key + 1, 1), part(key + 1, 0));
    let (t2, t3) = (t * t, t * t * t);
    std::array::from_fn(|i| {
        (2.0 * t3 - 3.0 * t2 + 1.0) * p0[i]
            + span * (t3 - 2.0 * t2 + t) * m0[i]
            + (3.0 * t2 - 2.0 * t3) * p1[i]
            + span * (t3 - t2) * m1[i]
    })
}

fn slerp(a: [f64; 4], b: [f64; 4], t: f64) -> [f64; 4] {
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let (b, dot) = if dot < 0.0 { (b.map(|v| -v), -dot) } else { (b, dot) };
    let angle = libm::acos(dot.min(1.0));
    let sine = libm::sin(angle);
    if sine < 1e-9 {
        return a;
    }
    let (x, y) = (libm::sin((1.0 - t) * angle) / sine, libm::sin(t * angle) / sine);
    normalize(std::array::from_fn(|i| a[i] * x + b[i] * y))
}

/// Resamples a spline to keys whose linear interpolation is within the tolerance.
fn resample(channel: &Channel) -> Vec<Key> {
    let bound = TOLERANCE * value_range(channel);
    let mut keys = vec![at_key(channel, 0)];
    for key in 1..channel.times.len() {
        let (from, to) = (f64::from(channel.times[key - 1]), f64::from(channel.times[key]));
        if to > from {
            bisect(channel, [from, to], bound, MAX_BISECTIONS, &mut keys);
        }
        keys.push(at_key(channel, key));
    }
    keys
}

/// Returns the largest value range of a component, which errors are relative to; 1 for rotations and constants.
fn value_range(channel: &Channel) -> f64 {
    if channel.property == Property::Rotation {
        return 1.0;
    }
    let values = || (0..channel.times.len()).map(|key| wide(channel.value(key)));
    let span = |i: usize| {
        let (low, high) = values().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v[i]), h.max(v[i])));
        high - low
    };
    let widest = span(0).max(span(1)).max(span(2));
    if widest > 0.0 { widest } else { 1.0 }
}

/// Adds the keys that the tolerance needs strictly between two times.
fn bisect(channel: &Channel, [from, to]: [f64; 2], bound: f64, bisections: u32, keys: &mut Vec<Key>) {
    let (a, b) = (sample(channel, from), before(channel, to));
    let linear = |t: f64| -> [f64; 4] {
        if channel.property == Property::Rotation {
            return slerp(a, b, t);
        }
        std::array::from_fn(|i| a[i] + (b[i] - a[i]) * t)
    };
    let error_at = |t: f64| {
        let (line, curve) = (linear(t), sample(channel, from + (to - from) * t));
        let mut error = line.iter().zip(curve).map(|(l, c)| (l - c).abs()).fold(0.0, f64::max);
        if channel.property == Property::Rotation {
            let other = line.iter().zip(curve).map(|(l, c)| (l + c).abs()).fold(0.0, f64::max);
            error = error.min(other);
        }
        error
    };
    if bisections == 0 || [0.125, 0.25, 0.5, 0.75, 0.875].into_iter().all(|t| error_at(t) <= bound) {
        return;
    }
    let middle = (from + to) / 2.0;
    bisect(channel, [from, middle], bound, bisections - 1, keys);
    keys.push(Key { time: middle as f32, value: narrow(sample(channel, middle)) });
    bisect(channel, [middle, to], bound, bisections - 1, keys);
}

/// Evaluates a channel just before a time: at a discontinuity, the value of the earlier key.
fn before(channel: &Channel, time: f64) -> [f64; 4] {
    let key = channel.times.partition_point(|&t| f64::from(t) < time);
    match channel.times.get(key) {
        Some(&t) if f64::from(t) == time => finish(channel, wide(channel.value(key))),
        _ => sample(channel, time),
    }
}

/// Normalises rotations; other values stay.
fn finish(channel: &Channel, value: [f64; 4]) -> [f64; 4] {
    if channel.property == Property::Rotation { normalize(value) } else { value }
}

fn wide(value: &[f32]) -> [f64; 4] {
    std::array::from_fn(|i| value.get(i).copied().map_or(0.0, f64::from))
}

fn narrow(value: [f64; 4]) -> [f32; 4] {
    value.map(|v| v as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_ir::NodeId;

    fn channel(property: Property, interpolation: Interpolation, times: &[f32], values: &[f32]) -> Channel {
        Channel { node: NodeId(0), property, interpolation, times: times.into(), values: values.into() }
    }

    fn times(keys: &[Key]) -> Vec<f32> {
        keys.iter().map(|key| key.time).collect()
    }

    #[test]
    fn keeps_linear_keys() {
        let line =
            channel(Property::Scale, Interpolation::Linear, &[0.0, 2.0], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let keys = keys(&line, Cubic::Degrade);
        assert_eq!(times(&keys), [0.0, 2.0]);
        assert_eq!(keys[1].value, [4.0, 5.0, 6.0, 0.0]);
        assert_eq!(sample(&line, 1.0), [2.5, 3.5, 4.5, 0.0]);
        assert_eq!(sample(&line, 9.0), [4.0, 5.0, 6.0, 0.0]);
    }

    #[test]
    fn keeps_discontinuity_with_increasing_times() {
        let values = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 5.0, 0.0, 0.0];
        let jump = channel(Property::Translation, Interpolation::Linear, &[0.0, 1.0, 1.0], &values);
        let keys = keys(&jump, Cubic::Degrade);
        assert_eq!(times(&keys), [0.0, 1.0, 1.0f32.next_up()]);
    }

    #[test]
    fn cuts_off_negative_times() {
        let early = channel(
            Property::Translation,
            Interpolation::Linear,
            &[-1.0, 1.0],
            &[0.0, 0.0, 0.0, 4.0, 0.0, 0.0],
        );
        let keys = keys(&early, Cubic::Degrade);
        assert_eq!(times(&keys), [0.0, 1.0]);
        assert_eq!(keys[0].value[0], 2.0);
    }

    #[test]
    fn rotations_are_normalised_and_take_the_shortest_path() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let turn = channel(
            Property::Rotation,
            Interpolation::Linear,
            &[0.0, 1.0],
            &[0.0, 0.0, 0.0, 2.0, -half, 0.0, 0.0, -half],
        );
        let keys = keys(&turn, Cubic::Degrade);
        assert_eq!(keys[0].value, [0.0, 0.0, 0.0, 1.0]);
        assert!(keys[1].value[3] > 0.0, "{keys:?}");
        // Halfway through a rotation of 90 degrees about x.
        let middle = sample(&turn, 0.5);
        let (sin, cos) = (22.5f64).to_radians().sin_cos();
        assert!((middle[0] - sin).abs() < 1e-6 && (middle[3] - cos).abs() < 1e-6, "{middle:?}");
    }

    /// Two keys with tangents, in the layout of glTF.
    fn spline() -> Channel {
        let values = [
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, //
            -4.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        ];
        channel(Property::Translation, Interpolation::CubicSpline, &[0.0, 2.0], &values)
    }

    #[test]
    fn evaluates_cubic_spline_as_gltf_defines_it() {
        // p(t) with span 2: (3t² - 2t³) · 1 + 2 (t³ - 2t² + t) · 4 + 2 (t³ - t²) · (-4)
        let expected = |t: f64| {
            3.0 * t * t - 2.0 * t * t * t + 8.0 * (t * t * t - 2.0 * t * t + t) - 8.0 * (t * t * t - t * t)
        };
        for step in 0..=20 {
            let t = f64::from(step) / 20.0;
            let found = sample(&spline(), t * 2.0)[0];
            assert!((found - expected(t)).abs() < 1e-9, "{t}: {found}");
        }
    }

    #[test]
    fn resampling_stays_within_the_tolerance() {
        let spline = spline();
        assert_eq!(keys(&spline, Cubic::Degrade).len(), 2);
        let keys = keys(&spline, Cubic::Resample);
        assert!(keys.len() > 8 && keys.len() < 200, "{}", keys.len());
        for step in 0..=1000 {
            let time = f64::from(step) / 500.0;
            let after = keys.iter().position(|key| f64::from(key.time) >= time).unwrap().max(1);
            let (a, b) = (keys[after - 1], keys[after]);
            let t = (time - f64::from(a.time)) / f64::from(b.time - a.time);
            let line = f64::from(a.value[0]) + f64::from(b.value[0] - a.value[0]) * t;
            assert!((line - sample(&spline, time)[0]).abs() < 2.0 * TOLERANCE, "at {time}");
        }
    }
}
