//! Animations, and what they do at a moment.

mod sample;

pub use sample::{Pose, Sampled};

use crate::{Quat, Vec3};
use kiln_format::pak::animation::{AnimationView, ChannelView};

/// A clip: channels that each move one part of one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Animation {
    channels: Vec<Channel>,
}

/// What happens between two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// A straight line; for rotations the shortest arc.
    Linear,
    /// The earlier value, until the later key.
    Step,
    /// A cubic Hermite spline: each key has three values, the middle one between its tangents in and out.
    CubicSpline,
}

/// The keys of one part of one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    target: String,
    interpolation: Interpolation,
    inputs: Vec<f32>,
    outputs: Outputs,
}

/// The values of keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Outputs {
    /// Quaternions.
    Rotations(Vec<Quat>),
    /// Sizes.
    Scales(Vec<Vec3>),
    /// Places.
    Translations(Vec<Vec3>),
}

impl Outputs {
    /// How many values there are; with [`Interpolation::CubicSpline`], three a key.
    pub fn len(&self) -> usize {
        match self {
            Outputs::Rotations(values) => values.len(),
            Outputs::Scales(values) | Outputs::Translations(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Animation {
    pub(crate) fn new(view: &AnimationView<'_>) -> Animation {
        Animation { channels: view.channels().map(|channel| Channel::new(&channel)).collect() }
    }

    /// The channels, in the order of the source.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// When the last key is, in seconds.
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

    /// The name of the joint or node that moves.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// What happens between keys.
    pub fn interpolation(&self) -> Interpolation {
        self.interpolation
    }

    /// When the keys are, in seconds, in order.
    pub fn inputs(&self) -> &[f32] {
        &self.inputs
    }

    /// The values of the keys.
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }
}
