//! Cameras (glTF 2.0, 3.10) and punctual lights (`KHR_lights_punctual`).
//!
//! Rejects types that the specification does not have.

use kiln_diagnostics::Diag;
use kiln_ir::{Camera, Light, LightKind, Projection};

use super::document::Document;
use super::value::Value;

/// Reads the cameras of a document.
pub(super) fn cameras(document: &Document<'_>) -> Result<Vec<Camera>, Diag> {
    document.cameras.iter().map(camera).collect()
}

fn camera(at: Value<'_>) -> Result<Camera, Diag> {
    let kind = at.required("type")?;
    let optional = |at: Value<'_>, name: &str| at.get(name).map(Value::float).transpose();
    let number = |at: Value<'_>, name: &str| at.required(name)?.float();
    let projection = match kind.string()? {
        "perspective" => {
            let at = at.required("perspective")?;
            Projection::Perspective {
                y_fov: number(at, "yfov")?,
                aspect_ratio: optional(at, "aspectRatio")?,
                z_near: number(at, "znear")?,
                z_far: optional(at, "zfar")?,
            }
        }
        "orthographic" => {
            let at = at.required("orthographic")?;
            Projection::Orthographic {
                x_mag: number(at, "xmag")?,
                y_mag: number(at, "ymag")?,
                z_near: number(at, "znear")?,
                z_far: number(at, "zfar")?,
            }
        }
        other => {
            return Err(kind.invalid(format_args!(
                "{other:?} is not a camera type: expected \"perspective\" or \"orthographic\""
            )));
        }
    };
    Ok(Camera { name: at.string_or_empty("name")?.to_owned(), projection, extras: at.extras() })
}

/// Reads the punctual lights of a document.
pub(super) fn lights(document: &Document<'_>) -> Result<Vec<Light>, Diag> {
    document.lights.iter().map(light).collect()
}

fn light(at: Value<'_>) -> Result<Light, Diag> {
    let kind = at.required("type")?;
    let kind = match kind.string()? {
        "directional" => LightKind::Directional,
        "point" => LightKind::Point,
        "spot" => {
            let spot = at.get("spot");
            let angle =
                |name: &str, default: f32| spot.map_or(Ok(default), |spot| spot.float_or(name, default));
            LightKind::Spot {
                inner_cone_angle: angle("innerConeAngle", 0.0)?,
                outer_cone_angle: angle("outerConeAngle", std::f32::consts::FRAC_PI_4)?,
            }
        }
        other => {
            return Err(kind.invalid(format_args!(
                "{other:?} is not a light type: expected \"directional\", \"point\" or \"spot\""
            )));
        }
    };
    Ok(Light {
        name: at.string_or_empty("name")?.to_owned(),
        kind,
        color: at.floats_or("color", [1.0; 3])?,
        intensity: at.float_or("intensity", 1.0)?,
        range: at.get("range").map(Value::float).transpose()?,
        extras: at.extras(),
    })
}
