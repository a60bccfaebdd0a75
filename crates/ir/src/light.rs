//! Punctual lights: directional lights, point lights and spot lights, placed by nodes.

use crate::valid::ValidationError;

/// The index of a light in [`Scene::lights`](crate::Scene::lights).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LightId(pub u32);

/// A punctual light at the origin of its node; directional lights and spot lights shine along -Z.
#[derive(Clone, Debug, PartialEq)]
pub struct Light {
    /// The name in the source; empty when the source has none.
    pub name: String,
    /// The type.
    pub kind: LightKind,
    /// The colour, linear RGB.
    pub color: [f32; 3],
    /// The intensity: candela for point lights and spot lights, lux for directional lights.
    pub intensity: f32,
    /// The distance at which the light ends, or `None` where it has no end.
    pub range: Option<f32>,
    /// The application-specific data of the source, as JSON text; empty when there is none.
    pub extras: String,
}

/// The type of a light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LightKind {
    /// A light that is infinitely far away.
    Directional,
    /// A light that shines in all directions.
    Point,
    /// A light that shines into a cone.
    Spot {
        /// The angle between the axis and the place where the intensity begins to fall off, in radians.
        inner_cone_angle: f32,
        /// The angle between the axis and the place where the light ends, in radians.
        outer_cone_angle: f32,
    },
}

/// A white point light of one candela.
impl Default for Light {
    fn default() -> Light {
        Light {
            name: String::new(),
            kind: LightKind::Point,
            color: [1.0; 3],
            intensity: 1.0,
            range: None,
            extras: String::new(),
        }
    }
}

impl Light {
    pub(crate) fn check(&self) -> Result<(), ValidationError> {
        let [inner, outer] = match self.kind {
            LightKind::Directional | LightKind::Point => [0.0; 2],
            LightKind::Spot { inner_cone_angle, outer_cone_angle } => [inner_cone_angle, outer_cone_angle],
        };
        let [r, g, b] = self.color;
        let values = [r, g, b, self.intensity, self.range.unwrap_or(0.0), inner, outer];
        match values.iter().all(|v| v.is_finite()) {
            true => Ok(()),
            false => Err(ValidationError::new("light", "a number of the light is not finite")),
        }
    }
}
