//! Animations of a model to `.hanim` clips: the channels that move joints.

use super::curve::{self, Key};
use super::skeleton::Skeleton;
use crate::config::{Cubic, Settings};
use kiln_engine::{Code, Diag, counted};
use kiln_format::hanim::{self, ClipParts, Interp, Keys, Vec3Key, Vec4Key};
use kiln_ir::{Animation, Interpolation, Property, Scene};

/// The animation clips of a scene.
#[derive(Default)]
pub(crate) struct Clips {
    /// The bytes of the `.hanim`; `None` when no channel moves a joint.
    pub(crate) bytes: Option<Vec<u8>>,
    /// Warnings about channels that were changed or left out.
    pub(crate) warnings: Vec<Diag>,
}

/// The keys of one channel in the types of the file.
enum Track {
    Translation(Vec<Vec3Key>),
    Rotation(Vec<Vec4Key>),
    Scale(Vec<Vec3Key>),
}

/// Compiles the animations of a scene with this skeleton.
pub(crate) fn clips(scene: &Scene, skeleton: &Skeleton, settings: &Settings) -> Result<Clips, Diag> {
    let mut found = Clips::default();
    let mut elsewhere = 0;
    let mut names = Vec::new();
    let mut tracks: Vec<Vec<(u32, Interp, Track)>> = Vec::new();
    found.warnings.extend(spline_warning(&scene.animations, settings));
    for (index, animation) in scene.animations.iter().enumerate() {
        let mut clip = Vec::new();
        for channel in &animation.channels {
            let joints = skeleton.joints_of(channel.node);
            if joints.is_empty() {
                elsewhere += 1;
                continue;
            }
            let interp = match channel.interpolation {
                Interpolation::Step => Interp::Step,
                Interpolation::Linear | Interpolation::CubicSpline => Interp::Linear,
            };
            let keys = curve::keys(channel, settings.animation.cubic);
            clip.extend(joints.iter().map(|joint| {
                let fold = skeleton.fold(*joint);
                let three = |[x, y, z, _]: [f32; 4]| [x, y, z];
                let track = match channel.property {
                    Property::Translation => Track::Translation(vec3(&keys, |v| fold.translation(three(v)))),
                    Property::Scale => Track::Scale(vec3(&keys, |v| fold.scale(three(v)))),
                    Property::Rotation => Track::Rotation(
                        keys.iter()
                            .map(|k| Vec4Key { time: k.time, value: fold.rotation(k.value) })
                            .collect(),
                    ),
                };
                (*joint, interp, track)
            }));
        }
        if !clip.is_empty() {
            let named = !animation.name.is_empty();
            names.push(if named { animation.name.clone() } else { format!("anim_{index}") });
            tracks.push(clip);
        }
    }
    if elsewhere > 0 && !settings.mesh.scene_data {
        let (one, many) = (
            "channel moves a node that is not a joint, and is not exported",
            "channels move nodes that are not joints, and are not exported",
        );
        let message = counted(elsewhere, one, many);
        let hint = "make the nodes joints of the skin, or bake their motion into joints";
        found.warnings.push(Diag::new(Code::AnimationNotJoint, message).hint(hint));
    }
    if tracks.is_empty() {
        return Ok(found);
    }
    let channels: Vec<Vec<hanim::Channel<'_>>> =
        tracks.iter().map(|clip| clip.iter().map(view).collect()).collect();
    let parts: Vec<ClipParts<'_>> =
        names.iter().zip(&channels).map(|(name, channels)| ClipParts { name, channels }).collect();
    let bytes = hanim::write(&parts).map_err(|error| Diag::new(Code::Animation, error.to_string()))?;
    found.bytes = Some(bytes);
    Ok(found)
}

fn vec3(keys: &[Key], value: impl Fn([f32; 4]) -> [f32; 3]) -> Vec<Vec3Key> {
    keys.iter().map(|key| Vec3Key { time: key.time, value: value(key.value) }).collect()
}

fn view((joint, interp, track): &(u32, Interp, Track)) -> hanim::Channel<'_> {
    let keys = match track {
        Track::Translation(keys) => Keys::Translation(keys.as_slice().into()),
        Track::Rotation(keys) => Keys::Rotation(keys.as_slice().into()),
        Track::Scale(keys) => Keys::Scale(keys.as_slice().into()),
    };
    hanim::Channel { joint: *joint, interp: *interp, keys }
}

/// Returns one warning about all cubic splines, at the first animation that has some.
fn spline_warning(animations: &[Animation], settings: &Settings) -> Option<Diag> {
    let is_spline = |channel: &&kiln_ir::Channel| channel.interpolation == Interpolation::CubicSpline;
    let count = |animation: &Animation| animation.channels.iter().filter(is_spline).count();
    let first = animations.iter().position(|animation| count(animation) > 0)?;
    if settings.animation.cubic != Cubic::Degrade {
        return None;
    }
    let (one, many) = (
        "cubic spline channel is interpolated linearly between its keys",
        "cubic spline channels are interpolated linearly between their keys",
    );
    let message = counted(animations.iter().map(count).sum(), one, many);
    let warning = Diag::new(Code::AnimationCubic, message).at(format!("/animations/{first}"));
    Some(warning.hint("set animation.cubic to resample to approximate the splines"))
}
