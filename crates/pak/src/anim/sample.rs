//! Animation sampling: the pose of each target at a given time.
//!
//! Interpolates as glTF 2.0 (appendix C) specifies: step, linear, slerp along the shortest arc for rotations, cubic
//! Hermite splines with tangents scaled by the keyframe interval. Clamps to the first and last keyframe outside.

use super::{Animation, Channel, Interpolation, Outputs};
use crate::{Quat, Vec3};

/// The value of a channel at a given time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampled {
    /// The rotation as a unit quaternion.
    Rotation(Quat),
    /// The scale factors along the axes.
    Scale(Vec3),
    /// The translation along the axes.
    Translation(Vec3),
}

/// The pose of a target at a given time; `None` for properties that are not animated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pose {
    /// The translation, if it is animated.
    pub translation: Option<Vec3>,
    /// The rotation, if it is animated.
    pub rotation: Option<Quat>,
    /// The scale, if it is animated.
    pub scale: Option<Vec3>,
}

impl Animation {
    /// Returns the poses of all targets at `time` in seconds, in the order in which the channels first name them.
    pub fn sample(&self, time: f32) -> Vec<(&str, Pose)> {
        let mut poses: Vec<(&str, Pose)> = Vec::new();
        for channel in self.channels() {
            let known = poses.iter().position(|(target, _)| *target == channel.target());
            let at = known.unwrap_or_else(|| {
                poses.push((channel.target(), Pose::default()));
                poses.len() - 1
            });
            let pose = &mut poses[at].1;
            match channel.sample(time) {
                Some(Sampled::Translation(value)) => pose.translation = Some(value),
                Some(Sampled::Rotation(value)) => pose.rotation = Some(value),
                Some(Sampled::Scale(value)) => pose.scale = Some(value),
                None => {}
            }
        }
        poses
    }
}

impl Channel {
    /// Returns the value at `time` in seconds; `None` if there are no keyframes.
    pub fn sample(&self, time: f32) -> Option<Sampled> {
        let at = Moment::find(&self.inputs, time)?;
        Some(match &self.outputs {
            Outputs::Translations(values) => Sampled::Translation(at.blend(self.interpolation, values)?),
            Outputs::Scales(values) => Sampled::Scale(at.blend(self.interpolation, values)?),
            Outputs::Rotations(values) => Sampled::Rotation(match self.interpolation {
                Interpolation::Linear => slerp(*values.get(at.key)?, *values.get(at.next)?, at.part),
                other => normalized(at.blend(other, values)?),
            }),
        })
    }
}

/// A position between two keyframes: their indices, the interpolation factor and the interval in seconds.
struct Moment {
    key: usize,
    next: usize,
    part: f32,
    span: f32,
}

impl Moment {
    fn find(times: &[f32], time: f32) -> Option<Moment> {
        let after = times.partition_point(|&key| key <= time);
        let key = after.saturating_sub(1);
        let next = after.min(times.len().checked_sub(1)?);
        let span = times[next] - times[key];
        // NaN counts as before the first keyframe, like a time that is too early.
        let part = if span > 0.0 { ((time - times[key]) / span).clamp(0.0, 1.0) } else { 0.0 };
        Some(Moment { key, next, part: if part.is_nan() { 0.0 } else { part }, span })
    }

    fn blend<const N: usize>(&self, how: Interpolation, values: &[[f32; N]]) -> Option<[f32; N]> {
        let t = self.part;
        Some(match how {
            Interpolation::Step => *values.get(self.key)?,
            Interpolation::Linear => {
                let (a, b) = (values.get(self.key)?, values.get(self.next)?);
                std::array::from_fn(|i| a[i] + (b[i] - a[i]) * t)
            }
            Interpolation::CubicSpline => {
                let (a, out) = (values.get(self.key * 3 + 1)?, values.get(self.key * 3 + 2)?);
                let (into, b) = (values.get(self.next * 3)?, values.get(self.next * 3 + 1)?);
                let (t2, t3) = (t * t, t * t * t);
                std::array::from_fn(|i| {
                    (2.0 * t3 - 3.0 * t2 + 1.0) * a[i]
                        + self.span * (t3 - 2.0 * t2 + t) * out[i]
                        + (-2.0 * t3 + 3.0 * t2) * b[i]
                        + self.span * (t3 - t2) * into[i]
                })
            }
        })
    }
}

/// Interpolates spherically along the shortest arc.
fn slerp(a: Quat, b: Quat, t: f32) -> Quat {
    let (a, mut b) = (normalized(a), normalized(b));
    let mut cosine: f32 = (0..4).map(|i| a[i] * b[i]).sum();
    if cosine < 0.0 {
        b = b.map(|v| -v);
        cosine = -cosine;
    }
    // Nearly parallel: fall back to linear interpolation, dividing by the sine would amplify rounding errors.
    if cosine > 0.9995 {
        return normalized(std::array::from_fn(|i| a[i] + (b[i] - a[i]) * t));
    }
    let angle = libm::acosf(cosine);
    let whole = libm::sinf(angle);
    let (from, to) = (libm::sinf((1.0 - t) * angle) / whole, libm::sinf(t * angle) / whole);
    std::array::from_fn(|i| from * a[i] + to * b[i])
}

fn normalized(q: Quat) -> Quat {
    let length = q.iter().map(|v| v * v).sum::<f32>().sqrt();
    if length > 0.0 && length.is_finite() { q.map(|v| v / length) } else { [0.0, 0.0, 0.0, 1.0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(interpolation: Interpolation, inputs: &[f32], outputs: Outputs) -> Channel {
        Channel { target: "a".into(), interpolation, inputs: inputs.to_vec(), outputs }
    }

    fn x(channel: &Channel, time: f32) -> f32 {
        match channel.sample(time) {
            Some(Sampled::Translation(value) | Sampled::Scale(value)) => value[0],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn step_and_linear_clamp_at_the_ends() {
        let values = || Outputs::Translations(vec![[1.0; 3], [3.0; 3], [7.0; 3]]);
        let step = channel(Interpolation::Step, &[1.0, 2.0, 4.0], values());
        let line = channel(Interpolation::Linear, &[1.0, 2.0, 4.0], values());
        for (time, stepped, straight) in [
            (-5.0, 1.0, 1.0),
            (1.0, 1.0, 1.0),
            (1.5, 1.0, 2.0),
            (2.0, 3.0, 3.0),
            (3.0, 3.0, 5.0),
            (4.0, 7.0, 7.0),
            (9.0, 7.0, 7.0),
            (f32::NAN, 1.0, 1.0),
        ] {
            assert_eq!((x(&step, time), x(&line, time)), (stepped, straight), "{time}");
        }
    }

    #[test]
    fn cubic_splines_scale_tangents_by_seconds() {
        // The parabola t² on [0, 2]: slopes 0 and 4.
        let key = |tangent: f32, value: f32| [[tangent; 3], [value; 3], [tangent; 3]];
        let values = [key(0.0, 0.0), key(4.0, 4.0)].concat();
        let cubic = channel(Interpolation::CubicSpline, &[0.0, 2.0], Outputs::Scales(values));
        for time in [0.0, 0.25, 1.0, 1.5, 2.0] {
            assert!((x(&cubic, time) - time * time).abs() < 1e-5, "{time}");
        }
    }

    #[test]
    fn rotations_slerp_along_the_shortest_arc() {
        let about_z = |degrees: f32| {
            let half = degrees.to_radians() / 2.0;
            [0.0, 0.0, libm::sinf(half), libm::cosf(half)]
        };
        let far = about_z(120.0).map(|v| -2.0 * v);
        let values = Outputs::Rotations(vec![about_z(0.0), far]);
        let channel = channel(Interpolation::Linear, &[0.0, 1.0], values);
        for (time, degrees) in [(0.0, 0.0), (0.25, 30.0), (0.5, 60.0), (1.0, 120.0)] {
            let Some(Sampled::Rotation(found)) = channel.sample(time) else { panic!() };
            let expected = about_z(degrees);
            let dot: f32 = (0..4).map(|i| found[i] * expected[i]).sum();
            assert!((dot.abs() - 1.0).abs() < 1e-6, "{time}: {found:?}");
        }
    }

    #[test]
    fn handles_equal_times_and_empty_channels() {
        let twice = channel(Interpolation::Linear, &[1.0, 1.0], Outputs::Scales(vec![[1.0; 3], [2.0; 3]]));
        assert_eq!((x(&twice, 0.5), x(&twice, 1.0)), (1.0, 2.0));
        assert_eq!(channel(Interpolation::Linear, &[], Outputs::Scales(vec![])).sample(0.0), None);
    }

    #[test]
    fn poses_combine_the_channels_of_a_target() {
        let animation = Animation {
            channels: vec![
                channel(Interpolation::Step, &[0.0], Outputs::Scales(vec![[2.0; 3]])),
                channel(Interpolation::Step, &[0.0, 3.0], Outputs::Translations(vec![[1.0; 3]; 2])),
            ],
        };
        let expected = Pose { translation: Some([1.0; 3]), rotation: None, scale: Some([2.0; 3]) };
        assert_eq!(animation.sample(0.0), [("a", expected)]);
        assert_eq!(animation.duration(), 3.0);
    }
}
