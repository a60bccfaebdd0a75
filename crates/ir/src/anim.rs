//! Animations: keyframes of the translation, rotation and scale of nodes, and of morph target weights.

use crate::morph::MorphChannel;
use crate::scene::NodeId;
use crate::valid::{ValidationError, check_id};

/// An animation clip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Animation {
    /// The name in the source; empty when the source has none.
    pub name: String,
    /// One channel for each animated property of each node.
    pub channels: Vec<Channel>,
    /// One channel for each node with animated morph target weights.
    pub morph_channels: Vec<MorphChannel>,
    /// The application-specific data of the source, as JSON text; empty when there is none.
    pub extras: String,
}

/// The property of a transform that a channel animates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// The translation, three numbers.
    Translation,
    /// The rotation, a quaternion `x, y, z, w`.
    Rotation,
    /// The scale along each axis, three numbers.
    Scale,
}

impl Property {
    /// Returns the number of components of a value.
    pub fn components(self) -> usize {
        match self {
            Property::Rotation => 4,
            Property::Translation | Property::Scale => 3,
        }
    }
}

/// The interpolation between two keyframes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The earlier value, until the later keyframe.
    Step,
    /// Linear; for rotations spherical along the shortest arc.
    Linear,
    /// A cubic Hermite spline. Each keyframe has three values: the in-tangent, the value, and the out-tangent; both
    /// tangents are in units per second.
    CubicSpline,
}

impl Interpolation {
    /// Returns the number of values of each keyframe.
    pub fn values_per_key(self) -> usize {
        match self {
            Interpolation::CubicSpline => 3,
            Interpolation::Step | Interpolation::Linear => 1,
        }
    }
}

/// The keyframes of one property of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The animated node.
    pub node: NodeId,
    /// The animated property.
    pub property: Property,
    /// The interpolation between keyframes.
    pub interpolation: Interpolation,
    /// The times of the keyframes in seconds: at least one, in ascending order.
    pub times: Vec<f32>,
    /// The values of all keyframes in order, as in the source: quaternions may not be of unit length.
    pub values: Vec<f32>,
}

impl Channel {
    /// Returns the number of components of one keyframe, tangents included.
    pub fn stride(&self) -> usize {
        self.property.components() * self.interpolation.values_per_key()
    }

    /// Returns the value of a keyframe without its tangents; empty when there is no such keyframe.
    pub fn value(&self, key: usize) -> &[f32] {
        let components = self.property.components();
        // The value stands between the tangents.
        let skip = (self.interpolation.values_per_key() - 1) / 2 * components;
        let start = key.saturating_mul(self.stride()).saturating_add(skip);
        self.values.get(start..start.saturating_add(components)).unwrap_or_default()
    }

    pub(crate) fn check(&self, nodes: usize) -> Result<(), ValidationError> {
        check_id(self.node.0, nodes, "node")?;
        check_keyframes(&self.times, &self.values, self.stride())
    }
}

/// Checks that keyframes are in order, finite and complete; each has `stride` numbers.
pub(crate) fn check_keyframes(times: &[f32], values: &[f32], stride: usize) -> Result<(), ValidationError> {
    if times.is_empty() {
        return Err(ValidationError::new("times", "the channel has no keyframe"));
    }
    if let Some(index) = times.iter().position(|t| !t.is_finite()) {
        return Err(ValidationError::new(format_args!("times[{index}]"), "the value is not finite"));
    }
    if let Some(index) = times.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(ValidationError::new(
            format_args!("times[{}]", index + 1),
            "the time is before that of the previous keyframe",
        ));
    }
    if times.len().checked_mul(stride) != Some(values.len()) {
        let message =
            format!("{} keyframes need {stride} numbers each, and there are {}", times.len(), values.len());
        return Err(ValidationError::new("values", message));
    }
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(index) => Err(ValidationError::new(format_args!("values[{index}]"), "the value is not finite")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(interpolation: Interpolation, times: Vec<f32>, values: usize) -> Channel {
        let values = (0..values).map(|v| v as f32).collect();
        Channel { node: NodeId(0), property: Property::Scale, interpolation, times, values }
    }

    #[test]
    fn values_stand_between_their_tangents() {
        assert_eq!(channel(Interpolation::Linear, vec![0.0, 1.0], 6).value(1), [3.0, 4.0, 5.0]);
        let cubic = channel(Interpolation::CubicSpline, vec![0.0, 1.0], 18);
        assert_eq!(cubic.value(0), [3.0, 4.0, 5.0]);
        assert_eq!(cubic.value(1), [12.0, 13.0, 14.0]);
        assert_eq!(cubic.value(2), []);
        assert_eq!(cubic.value(usize::MAX), []);
    }

    #[test]
    fn rejects_keyframes_out_of_order_or_incomplete() {
        let check = |times: &[f32], values, fine: bool| {
            let found = channel(Interpolation::Step, times.to_vec(), values).check(1);
            assert_eq!(found.is_ok(), fine, "{found:?}");
        };
        check(&[0.0, 0.0, 2.0], 9, true);
        check(&[0.0, 1.0], 5, false);
        check(&[1.0, 0.5], 6, false);
        check(&[f32::NAN], 3, false);
        check(&[], 0, false);
        assert_eq!(channel(Interpolation::Step, vec![0.0], 3).check(0).unwrap_err().at, "node");
        let mut bad = channel(Interpolation::Step, vec![0.0], 3);
        bad.values[1] = f32::INFINITY;
        assert_eq!(bad.check(1).unwrap_err().at, "values[1]");
    }
}
