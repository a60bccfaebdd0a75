//! Animation assets: keyframe channels, and sampling them.

mod sample;

pub use sample::{Pose, Sampled};

use crate::{Quat, Vec3};
use kiln_format::pak::animation::{AnimationView, ChannelView};

/// An animation clip: channels that each animate one property of one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Animation {
    channels: Vec<Channel>,
}

/// The interpolation between two keyframes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// Linear; spherical linear along the shortest arc for rotations.
    Linear = 1,
    /// The value of the earlier keyframe, until the later one.
    Step = 2,
    /// A cubic Hermite spline: each keyframe has three values, in-tangent, value and out-tangent.
    CubicSpline = 3,
}

/// The keyframes of one property of one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    target: String,
    interpolation: Interpolation,
    inputs: Vec<f32>,
    outputs: Outputs,
}

/// The values of the keyframes, by property.
#[derive(Clone, Debug, PartialEq)]
pub enum Outputs {
    /// Rotations as quaternions, `x, y, z, w`.
    Rotations(Vec<Quat>),
    /// Scale factors along the axes.
    Scales(Vec<Vec3>),
    /// Translations along the axes.
    Translations(Vec<Vec3>),
}

impl Outputs {
    /// Returns the number of values; with [`Interpolation::CubicSpline`], three per keyframe.
    pub fn len(&self) -> usize {
        match self {
            Outputs::Rotations(values) => values.len(),
            Outputs::Scales(values) | Outputs::Translations(values) => values.len(),
        }
    }

    /// Returns `true` if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Animation {
    pub(crate) fn new(view: &AnimationView<'_>) -> Animation {
        Animation { channels: view.channels().map(|channel| Channel::new(&channel)).collect() }
    }

    /// Returns the channels, in source order.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Returns the time of the last keyframe, in seconds.
    pub fn duration(&self) -> f32 {
        self.channels
            .iter()
            .filter_map(|channel| channel.inputs.last())
            .fold(0.0, |last, &time| last.max(time))
    }
}

impl Channel {
    fn new(view: &ChannelView<'_>) -> Channel {
        let values: Vec<f32> = view.values.iter().collect();
        let triples = || values.as_chunks::<3>().0.to_vec();
        Channel {
            target: view.target.to_owned(),
            interpolation: match view.record.interpolation {
                0 => Interpolation::Step,
                1 => Interpolation::Linear,
                _ => Interpolation::CubicSpline,
            },
            inputs: view.times.iter().collect(),
            outputs: match view.record.property {
                0 => Outputs::Translations(triples()),
                1 => Outputs::Rotations(values.as_chunks::<4>().0.to_vec()),
                _ => Outputs::Scales(triples()),
            },
        }
    }

    /// Returns the name of the animated joint or node.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns the interpolation between keyframes.
    pub fn interpolation(&self) -> Interpolation {
        self.interpolation
    }

    /// Returns the keyframe times in seconds, in ascending order.
    pub fn inputs(&self) -> &[f32] {
        &self.inputs
    }

    /// Returns the keyframe times in whole milliseconds, truncated.
    pub fn input_millis(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.inputs.iter().map(|seconds| (f64::from(*seconds) * 1000.0 + 1e-4) as u32)
    }

    /// Returns the keyframe values.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }
}
