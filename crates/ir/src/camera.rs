//! Cameras: perspective and orthographic projections, placed by nodes.

use crate::valid::ValidationError;

/// The index of a camera in [`Scene::cameras`](crate::Scene::cameras).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CameraId(pub u32);

/// A camera at the origin of its node, which looks along -Z with +Y up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Camera {
    /// The name in the source; empty when the source has none.
    pub name: String,
    /// The projection.
    pub projection: Projection,
    /// The application-specific data of the source, as JSON text; empty when there is none.
    pub extras: String,
}

/// The projection of a camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Projection {
    /// A perspective projection.
    Perspective {
        /// The vertical field of view in radians.
        y_fov: f32,
        /// The width of the viewport divided by its height, unless it is that of the window.
        aspect_ratio: Option<f32>,
        /// The distance of the near plane.
        z_near: f32,
        /// The distance of the far plane, or `None` for an infinite projection.
        z_far: Option<f32>,
    },
    /// An orthographic projection.
    Orthographic {
        /// Half of the width of the view.
        x_mag: f32,
        /// Half of the height of the view.
        y_mag: f32,
        /// The distance of the near plane.
        z_near: f32,
        /// The distance of the far plane.
        z_far: f32,
    },
}

/// An infinite perspective projection with a vertical field of view of one radian.
impl Default for Projection {
    fn default() -> Projection {
        Projection::Perspective { y_fov: 1.0, aspect_ratio: None, z_near: 0.1, z_far: None }
    }
}

impl Camera {
    pub(crate) fn check(&self) -> Result<(), ValidationError> {
        let values = match self.projection {
            Projection::Perspective { y_fov, aspect_ratio, z_near, z_far } => {
                [y_fov, aspect_ratio.unwrap_or(0.0), z_near, z_far.unwrap_or(0.0)]
            }
            Projection::Orthographic { x_mag, y_mag, z_near, z_far } => [x_mag, y_mag, z_near, z_far],
        };
        match values.iter().all(|v| v.is_finite()) {
            true => Ok(()),
            false => Err(ValidationError::new("projection", "a number of the projection is not finite")),
        }
    }
}
