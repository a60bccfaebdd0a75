//! Skins and clips.

use crate::text::{SQUARE, Text, array, square};
use crate::{codes, good, near};
use kiln_import::Code;
use kiln_ir::{Interpolation, Property};

/// The FBX time ticks per second.
const SECOND: i64 = 46_186_158_000;

/// The interpolation between the keyframes of a curve.
#[derive(Clone, Copy)]
enum Kind {
    Step = 2,
    Linear = 4,
}

/// Moves a property of node 2 along each axis.
fn moved(text: Text, property: &str, times: &[f64], values: &[[f64; 3]], kind: Kind) -> Text {
    let seconds: Vec<i64> = times.iter().map(|time| (time * SECOND as f64).round() as i64).collect();
    let limit = |name: &str, at: i64| format!("P: \"{name}\", \"KTime\", \"Time\", \"\",{at}\n");
    let (start, stop) = (limit("LocalStart", seconds[0]), limit("LocalStop", seconds[seconds.len() - 1]));
    let stack = format!("Properties70:  {{\n{start}{stop}}}");
    let mut text = text
        .object("AnimationStack", 20, "walk", "", &stack)
        .object("AnimationLayer", 21, "layer", "", "")
        .object("AnimationCurveNode", 22, "T", "", "")
        .link(21, 20)
        .link(22, 21)
        .link_property(22, 2, property);
    for (axis, name) in ["d|X", "d|Y", "d|Z"].into_iter().enumerate() {
        let along: Vec<f64> = values.iter().map(|value| value[axis]).collect();
        let body = [
            "Default: 0\nKeyVer: 4008".to_owned(),
            array("KeyTime", &seconds),
            array("KeyValueFloat", &along),
            array("KeyAttrFlags", &[kind as i32]),
            array("KeyAttrDataFloat", &[0, 0, 0, 0]),
            array("KeyAttrRefCount", &[times.len()]),
        ];
        let id = 23 + axis as u32;
        text = text.object("AnimationCurve", id, "", "", &body.join("\n")).link_property(id, 22, name);
    }
    text
}

#[test]
fn linear_keyframes_are_kept() {
    let values = [[0.0, 0.0, 0.0], [100.0, 50.0, 0.0], [100.0, 0.0, -200.0]];
    let text = moved(square("", &[]), "Lcl Translation", &[1.0, 1.5, 3.0], &values, Kind::Linear);
    let found = good(&text.bytes()).value;
    let clip = &found.animations[0];
    assert_eq!((clip.name.as_str(), clip.channels.len()), ("walk", 1), "what does not move has no keys");
    let channel = &clip.channels[0];
    assert_eq!((channel.property, channel.interpolation), (Property::Translation, Interpolation::Linear));
    near(&channel.times, &[0.0, 0.5, 2.0], 1e-6);
    let text = moved(square("", &[]), "Lcl Translation", &[-1.0, -0.5, 1.0], &values, Kind::Linear);
    near(&good(&text.bytes()).value.animations[0].channels[0].times, &[0.0, 0.5, 2.0], 1e-6);
    near(&channel.values, &[0.0, 0.0, 0.0, 1.0, 0.5, 0.0, 1.0, 0.0, -2.0], 1e-5);
}

#[test]
fn stepped_keyframes_become_short_ramps() {
    let text = moved(square("", &[]), "Lcl Scaling", &[0.0, 1.0], &[[1.0; 3], [3.0; 3]], Kind::Step);
    let channel = good(&text.bytes()).value.animations[0].channels[0].clone();
    // The value a little before the second key is that of the first.
    let at = |time: f32| {
        let next = channel.times.iter().position(|t| *t >= time).unwrap();
        let (a, b) = (channel.times[next - 1], channel.times[next]);
        let part = (time - a) / (b - a);
        channel.value(next - 1)[0] * (1.0 - part) + channel.value(next)[0] * part
    };
    near(&[at(0.5), at(0.995), at(1.0)], &[1.0, 1.0, 3.0], 1e-3);
}

#[test]
fn rotations_follow_euler_angles() {
    let values = [[0.0, 0.0, 0.0], [0.0, 0.0, 270.0]];
    let text = moved(square("", &[]), "Lcl Rotation", &[0.0, 1.0], &values, Kind::Linear);
    let channel = good(&text.bytes()).value.animations[0].channels[0].clone();
    assert_eq!(channel.property, Property::Rotation);
    assert!(channel.times.len() > 10, "the short way round would be the wrong one");
    for (key, time) in channel.times.iter().enumerate() {
        let half = f64::from(*time) * 270f64.to_radians() / 2.0;
        let [x, y, z, w] = [0, 1, 2, 3].map(|i| f64::from(channel.value(key)[i]));
        let (sin, cos) = (libm::sin(half), libm::cos(half));
        let along = x * 0.0 + y * 0.0 + z * sin + w * cos;
        assert!((along.abs() - 1.0).abs() < 1e-6, "{time}: {:?}", channel.value(key));
    }
}

/// A square on joints that lie on top of each other, with the weights of its corners: the identity moves nothing.
fn skinned(weights: &[[f64; 4]]) -> Text {
    let flat = "1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1";
    let mut text = square("", &[]).object("Deformer", 30, "skin", "Skin", "Version: 101").link(30, 1);
    for (joint, weights) in weights.iter().enumerate() {
        let (bone, cluster) = (40 + joint as u32, 60 + joint as u32);
        let body = format!(
            "Version: 100\n{}\n{}\nTransform: *16 {{\na: {flat}\n}}\nTransformLink: *16 {{\na: {flat}\n}}",
            array("Indexes", &[0, 1, 2, 3]),
            array("Weights", weights)
        );
        text = text
            .node(
                bone,
                &format!("bone{joint}"),
                "LimbNode",
                &[("Lcl Translation", [0.0, 100.0 * joint as f64, 0.0])],
            )
            .object("Deformer", cluster, "cluster", "Cluster", &body)
            .link(bone, 0)
            .link(cluster, 30)
            .link(bone, cluster);
    }
    text
}

#[test]
fn imports_joint_indices_and_weights() {
    let found = good(&skinned(&[[1.0, 0.5, 0.0, 0.25], [0.0, 0.5, 1.0, 0.75]]).bytes());
    assert_eq!(codes(&found), Vec::<&str>::new());
    let scene = found.value;
    let skin = &scene.skins[0];
    let names: Vec<&str> =
        skin.joints.iter().map(|joint| scene.nodes[joint.0 as usize].name.as_str()).collect();
    assert_eq!(names, ["bone0", "bone1"]);
    assert!(scene.nodes.iter().filter(|node| node.mesh.is_some()).all(|node| node.skin.is_some()));
    let part = &scene.meshes[0].primitives[0];
    for (corner, wanted) in [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.25, 0.75]].into_iter().enumerate() {
        let of = |joint: u16| {
            let all = part.joints[corner].iter().zip(part.weights[corner]);
            all.filter(|(j, _)| **j == joint).map(|(_, weight)| weight).sum::<f32>()
        };
        near(&[of(0), of(1)], &wanted, 1e-6);
    }
}

#[test]
fn keeps_the_strongest_four_influences() {
    let weights = [0.05, 0.3, 0.2, 0.1, 0.25, 0.1].map(|weight| [weight, 1.0, 1.0, 1.0]);
    let found = good(&skinned(&weights).bytes());
    let warning = found.warnings.iter().find(|warning| warning.code == Code::FbxInfluences).unwrap();
    assert!(warning.message.starts_with("4 vertices"), "{warning}");
    let part = &found.value.meshes[0].primitives[0];
    let mut strongest: Vec<(u16, f32)> = part.joints[0].into_iter().zip(part.weights[0]).collect();
    strongest.sort_by_key(|(joint, _)| *joint);
    let joints: Vec<u16> = strongest.iter().map(|(joint, _)| *joint).collect();
    assert!([[1, 2, 3, 4], [1, 2, 4, 5]].contains(&joints[..].try_into().unwrap()), "{strongest:?}");
}

#[test]
fn warns_about_unsupported_content() {
    let text = Text::new()
        .mesh(1, &SQUARE, &[&[0, 1, 2, 3]], "")
        .node(2, "a", "Mesh", &[])
        .object("NodeAttribute", 3, "sun", "Light", "TypeFlags: \"Light\"")
        .node(4, "sun", "Light", &[])
        .link(1, 2)
        .link(2, 0)
        .link(3, 4)
        .link(4, 0);
    let found = good(&text.bytes());
    let warning = found.warnings.iter().find(|warning| warning.code == Code::FbxDataIgnored).unwrap();
    assert_eq!(warning.message, "unsupported content is ignored: lights");
}
