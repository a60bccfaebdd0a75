//! Animations: keys over time for the parts of nodes' transforms.

use crate::scene::NodeId;
use crate::valid::{Flaw, check_id};

/// A clip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Animation {
    /// As the source has it; empty when it has none.
    pub name: String,
    /// One for each animated part of each node.
    pub channels: Vec<Channel>,
}

/// The part of a transform that a channel moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// Three numbers.
    Translation,
    /// A quaternion, `x, y, z, w`.
    Rotation,
    /// Three numbers.
    Scale,
}

impl Property {
    /// Numbers in a value.
    pub fn components(self) -> usize {
        match self {
            Property::Rotation => 4,
            Property::Translation | Property::Scale => 3,
        }
    }
}

/// What happens between two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The earlier value, until the later key.
    Step,
    /// A straight line; for rotations the shortest arc.
    Linear,
    /// A cubic Hermite spline. Each key has three values: the tangent that leads in, the value, and the tangent
    /// that leads out, both tangents in units a second.
    CubicSpline,
}

impl Interpolation {
    /// Values that each key has.
    pub fn values_per_key(self) -> usize {
        match self {
            Interpolation::CubicSpline => 3,
            Interpolation::Step | Interpolation::Linear => 1,
        }
    }
}

/// The keys of one part of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// What moves.
    pub node: NodeId,
    /// Which part of it.
    pub property: Property,
    /// How, between keys.
    pub interpolation: Interpolation,
    /// When, in seconds: at least one key, none before the one that precedes it.
    pub times: Vec<f32>,
    /// The values of all keys, one after the other, as the source has them: rotations may not be of unit length.
    pub values: Vec<f32>,
}

impl Channel {
    /// Numbers that belong to one key.
    pub fn stride(&self) -> usize {
        self.property.components() * self.interpolation.values_per_key()
    }

    /// The value of a key, without its tangents. Empty when there is no such key.
    pub fn value(&self, key: usize) -> &[f32] {
        let components = self.property.components();
        // The value stands between the tangents.
        let skip = (self.interpolation.values_per_key() - 1) / 2 * components;
        let start = key.saturating_mul(self.stride()).saturating_add(skip);
        self.values.get(start..start.saturating_add(components)).unwrap_or_default()
    }

    pub(crate) fn check(&self, nodes: usize) -> Result<(), Flaw> {
        check_id(self.node.0, nodes, "node")?;
        if self.times.is_empty() {
            return Err(Flaw::new("times", "there is no key"));
        }
        if let Some(index) = self.times.iter().position(|t| !t.is_finite()) {
            return Err(Flaw::new(format_args!("times[{index}]"), "it is not finite"));
        }
        if let Some(index) = self.times.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(Flaw::new(
                format_args!("times[{}]", index + 1),
                "it is before the one that precedes it",
            ));
        }
        let wanted = self.times.len().checked_mul(self.stride());
        if wanted != Some(self.values.len()) {
            let message =
                format!("{} numbers for {} keys of {}", self.values.len(), self.times.len(), self.stride());
            return Err(Flaw::new("values", message));
        }
        match self.values.iter().position(|v| !v.is_finite()) {
            None => Ok(()),
            Some(index) => Err(Flaw::new(format_args!("values[{index}]"), "it is not finite")),
        }
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
    fn keys_are_in_order_and_complete() {
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
