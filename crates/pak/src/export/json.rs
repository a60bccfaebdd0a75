//! Animations, materials and scenes as JSON.

use super::Exporter;
use crate::anim::{Animation, Interpolation, Outputs};
use crate::scene::{DataRef, Scene};
use crate::{Kind, MaterialInfo};
use kiln_engine::Json;

pub(super) fn animation(animation: &Animation) -> Json {
    let channels = animation.channels().iter().map(|channel| {
        let (property, values) = match channel.outputs() {
            Outputs::Rotations(values) => ("rotation", Json::list(values.iter().map(|v| floats(v)))),
            Outputs::Scales(values) => ("scale", Json::list(values.iter().map(|v| floats(v)))),
            Outputs::Translations(values) => ("translation", Json::list(values.iter().map(|v| floats(v)))),
        };
        let interpolation = match channel.interpolation() {
            Interpolation::Linear => "linear",
            Interpolation::Step => "step",
            Interpolation::CubicSpline => "cubic-spline",
        };
        Json::object([
            ("target", channel.target().into()),
            ("property", property.into()),
            ("interpolation", interpolation.into()),
            ("times", floats(channel.inputs())),
            ("values", values),
        ])
    });
    Json::object([("duration", animation.duration().into()), ("channels", Json::list(channels))])
}

pub(super) fn material(info: &MaterialInfo, exporter: &Exporter<'_>) -> Json {
    let bitmap = |id: crate::BitmapId| exporter.name(Kind::Bitmap, id.0);
    let used = info.params_used.iter_names().map(|(name, _)| name.to_lowercase());
    Json::object([
        ("color", bitmap(info.color).into()),
        ("normal", info.normal.map(bitmap).into()),
        ("emissive", info.emissive.map(bitmap).into()),
        ("emissive-strength", info.emissive_strength.into()),
        ("params", info.params.map(bitmap).into()),
        ("params-used", Json::list(used)),
        ("double-sided", info.double_sided.into()),
        ("alpha-test", info.alpha_test.into()),
        ("alpha-blend", info.alpha_blend.into()),
        ("alpha-cutoff", info.alpha_cutoff.into()),
    ])
}

pub(super) fn scene(scene: &Scene, exporter: &Exporter<'_>) -> Json {
    let refs = scene.refs().map(|reference| {
        let materials = reference.materials().iter().map(|id| exporter.name(Kind::Material, id.0));
        let mut members = vec![
            ("id", reference.id().into()),
            ("mesh", reference.mesh().map(|id| exporter.name(Kind::Mesh, id.0)).into()),
            ("materials", Json::list(materials)),
        ];
        members.extend(placement(reference.rotation(), reference.translation(), reference.scale()));
        members.push(("tags", Json::list(reference.tags())));
        members.push(("data", table(reference.all_data())));
        object(members)
    });
    let geometries = scene.geometries().map(|geometry| {
        let vertices = geometry.vertices();
        let mut members = vec![("id", geometry.id().into())];
        members.extend(placement(geometry.rotation(), geometry.translation(), geometry.scale()));
        members.push(("tags", Json::list(geometry.tags())));
        members.push(("data", table(geometry.all_data())));
        members.push(("vertices", Json::list(vertices.as_flattened().iter().copied())));
        members.push(("indices", Json::list(geometry.index_buf().as_u32())));
        object(members)
    });
    Json::object([("refs", Json::list(refs)), ("geometries", Json::list(geometries))])
}

fn placement(
    rotation: crate::Quat,
    translation: crate::Vec3,
    scale: crate::Vec3,
) -> [(&'static str, Json); 3] {
    [("rotation", floats(&rotation)), ("translation", floats(&translation)), ("scale", floats(&scale))]
}

fn object(members: Vec<(&'static str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn floats(values: &[f32]) -> Json {
    Json::list(values.iter().copied())
}

fn table<'a>(entries: impl Iterator<Item = (&'a str, DataRef<'a>)>) -> Json {
    Json::Object(entries.map(|(key, value)| (key.to_owned(), data(&value))).collect())
}

/// Converts a value of user data. The reader limits how deep it is nested.
fn data(value: &DataRef<'_>) -> Json {
    if let Some(items) = value.as_iter() {
        Json::list(items.map(|item| data(&item)))
    } else if let Some(entries) = value.as_table() {
        table(entries)
    } else if let Some(text) = value.as_str() {
        text.into()
    } else if let Some(value) = value.as_bool() {
        value.into()
    } else if let Some(number) = value.as_i64() {
        u64::try_from(number).map_or(Json::Float(number as f64), Json::Number)
    } else {
        value.as_f64().map_or(Json::Null, Json::Float)
    }
}
