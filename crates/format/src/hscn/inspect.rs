//! The [`Format`] implementation of scenes: `info`, `check` and dumps.

use super::{HscnView, MAGIC};
use crate::hpack::PackKind;
use crate::table::{FormatId, format_entry};
use crate::{Error, Format};

#[cfg(feature = "tools")]
use super::{
    CameraKind, ChannelPath, Interpolation, LightKind, NONE, SceneCamera, SceneChannel, SceneClip, SceneInfo,
    SceneJoint, SceneLight, SceneMesh, SceneNode, SceneSkin, SceneTransform, TextRange, VERSION,
};
#[cfg(feature = "tools")]
use crate::{
    Fact, Layout, Lookup, Problem, chunks,
    error::Count,
    hmesh::{self, HmeshView},
    refs,
};

format_entry!(
    HScn,
    FormatId { name: "hscn", magic: &MAGIC, title: "scenes", noun: "scene", kind: PackKind::Other }
);

impl Format for HScn {
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        HscnView::read(bytes)?.verify()
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HscnView::read(bytes)?;
        write!(out, "v{VERSION} | {}", Count(view.nodes().len() as u64, "node", "nodes"))?;
        for (count, one, many) in [
            (view.meshes().len(), "mesh", "meshes"),
            (view.skins().len(), "skin", "skins"),
            (view.cameras().len(), "camera", "cameras"),
            (view.lights().len(), "light", "lights"),
            (view.all_instances().len(), "instance", "instances"),
            (view.clips().len(), "clip", "clips"),
            (view.all_channels().len(), "channel", "channels"),
        ] {
            if count > 0 {
                write!(out, " | {}", Count(count as u64, one, many))?;
            }
        }
        let longest = view.clips().iter().map(|clip| clip.duration).fold(0.0, f32::max);
        if longest > 0.0 {
            write!(out, " | up to {longest:.2} s")?;
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let view = HscnView::read(bytes)?;
        each("version", Fact::Number(VERSION.into()));
        each("nodes", Fact::Total(view.nodes().len() as u64));
        for (name, count) in [
            ("meshes", view.meshes().len()),
            ("skins", view.skins().len()),
            ("cameras", view.cameras().len()),
            ("lights", view.lights().len()),
            ("instances", view.all_instances().len()),
            ("clips", view.clips().len()),
            ("channels", view.all_channels().len()),
        ] {
            each(name, Fact::Number(count as u64));
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HscnView::read(bytes)?;
        let info = view.info();
        writeln!(out, "hscn v{VERSION}, scene {:?}", view.text(info.name))?;
        extras(&view, info.extras, out)?;
        if info.document_extras.size > 0 {
            writeln!(out, "document")?;
            extras(&view, info.document_extras, out)?;
        }
        for (i, node) in view.nodes().iter().enumerate() {
            dump_node(&view, i, &node, out)?;
        }
        for (i, mesh) in view.meshes().iter().enumerate() {
            let (first, count) = (mesh.first_weight, mesh.weight_count);
            writeln!(out, "mesh {i} {:?} weights {first}+{count}", view.text(mesh.name))?;
            extras(&view, mesh.extras, out)?;
        }
        for (i, skin) in view.skins().iter().enumerate() {
            let (first, count) = (skin.first_joint, skin.joint_count);
            writeln!(out, "skin {i} {:?} joints {first}+{count}", view.text(skin.name))?;
            extras(&view, skin.extras, out)?;
        }
        for (i, joint) in view.all_joints().iter().enumerate() {
            writeln!(out, "joint {i} node {}, inverse bind {:?}", joint.node, joint.inverse_bind)?;
        }
        for (i, camera) in view.cameras().iter().enumerate() {
            let kind = CameraKind::from_number(camera.kind).map_or("", CameraKind::name);
            let SceneCamera { x, y, z_near, z_far, .. } = camera;
            let name = view.text(camera.name);
            writeln!(out, "camera {i} {name:?} {kind}, x {x:?}, y {y:?}, near {z_near:?}, far {z_far:?}")?;
            extras(&view, camera.extras, out)?;
        }
        for (i, light) in view.lights().iter().enumerate() {
            let kind = LightKind::from_number(light.kind).map_or("", LightKind::name);
            let SceneLight { color, intensity, range, inner_cone_angle, outer_cone_angle, .. } = light;
            writeln!(
                out,
                "light {i} {:?} {kind}, color {color:?}, intensity {intensity:?}, range {range:?}, \
                 cone {inner_cone_angle:?} to {outer_cone_angle:?}",
                view.text(light.name)
            )?;
            extras(&view, light.extras, out)?;
        }
        for (i, matrix) in view.matrices().iter().enumerate() {
            writeln!(out, "matrix {i} {matrix:?}")?;
        }
        for (i, instance) in view.all_instances().iter().enumerate() {
            writeln!(out, "instance {i} {}", Placement(&instance))?;
        }
        if !view.all_weights().is_empty() {
            writeln!(out, "weights {:?}", view.all_weights())?;
        }
        dump_clips(&view, out)
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        const LAYOUTS: &[Layout] = &[
            chunks::LAYOUTS[0],
            chunks::LAYOUTS[1],
            TextRange::LAYOUT,
            SceneInfo::LAYOUT,
            SceneTransform::LAYOUT,
            SceneNode::LAYOUT,
            SceneMesh::LAYOUT,
            SceneSkin::LAYOUT,
            SceneJoint::LAYOUT,
            SceneCamera::LAYOUT,
            SceneLight::LAYOUT,
            SceneClip::LAYOUT,
            SceneChannel::LAYOUT,
        ];
        LAYOUTS
    }

    #[cfg(feature = "tools")]
    fn check_references(
        &self,
        path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let view = HscnView::read(bytes)?;
        let submesh_count = |bytes: &[u8]| {
            let file = hmesh::decoded(bytes)?;
            Ok(HmeshView::read(&file)?.desc().submesh_count)
        };
        let (mesh, Ok(submeshes)) = at.companion(path, "hmesh", submesh_count) else { return Ok(()) };
        let submeshes = submeshes.unwrap_or(0);
        let last = |node: &SceneNode| u64::from(node.first_submesh) + u64::from(node.submesh_count);
        let wrong = |node: &SceneNode| node.submesh_count > 0 && last(node) > submeshes.into();
        if let Some(index) = view.nodes().iter().position(|node| wrong(&node)) {
            bad(Problem {
                code: kiln_diagnostics::Code::SceneUnknownSubmesh,
                message: alloc::format!(
                    "node {index} draws submeshes that {mesh} does not have: the mesh has {}",
                    Count(submeshes.into(), "submesh", "submeshes")
                ),
                hint: "run the build again: the mesh and its scene are from different builds",
            });
        }
        Ok(())
    }
}

/// Writes `extras` as the source has them, on a line of their own.
#[cfg(feature = "tools")]
fn extras(view: &HscnView<'_>, range: TextRange, out: &mut dyn core::fmt::Write) -> Result<(), Error> {
    if range.size > 0 {
        writeln!(out, "  extras {:?}", view.text(range))?;
    }
    Ok(())
}

/// Displays a transform.
#[cfg(feature = "tools")]
struct Placement<'a>(&'a SceneTransform);

#[cfg(feature = "tools")]
impl core::fmt::Display for Placement<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let SceneTransform { translation, rotation, scale } = self.0;
        write!(f, "translation {translation:?}, rotation {rotation:?}, scale {scale:?}")
    }
}

#[cfg(feature = "tools")]
fn dump_node(
    view: &HscnView<'_>,
    index: usize,
    node: &SceneNode,
    out: &mut dyn core::fmt::Write,
) -> Result<(), Error> {
    write!(out, "node {index} {:?} parent {}", view.text(node.name), node.parent)?;
    let indices = [
        ("mesh", node.mesh),
        ("skin", node.skin),
        ("camera", node.camera),
        ("light", node.light),
        ("matrix", node.matrix),
    ];
    for (name, index) in indices.into_iter().filter(|(_, index)| *index != NONE) {
        write!(out, " {name} {index}")?;
    }
    let ranges = [
        ("submeshes", node.first_submesh, node.submesh_count),
        ("instances", node.first_instance, node.instance_count),
        ("weights", node.first_weight, node.weight_count),
    ];
    for (name, first, count) in ranges.into_iter().filter(|(.., count)| *count > 0) {
        write!(out, " {name} {first}+{count}")?;
    }
    writeln!(out, "{}", if node.flags == 0 { " not drawn" } else { "" })?;
    writeln!(out, "  {}", Placement(&node.transform))?;
    extras(view, node.extras, out)
}

#[cfg(feature = "tools")]
fn dump_clips(view: &HscnView<'_>, out: &mut dyn core::fmt::Write) -> Result<(), Error> {
    for clip in view.clips().iter() {
        writeln!(
            out,
            "clip {:?} {:?} s, {}",
            view.text(clip.name),
            clip.duration,
            Count(clip.channel_count.into(), "channel", "channels")
        )?;
        extras(view, clip.extras, out)?;
        for channel in view.channels(&clip).iter() {
            let path = ChannelPath::from_number(channel.path).map_or("", ChannelPath::name);
            let mode = Interpolation::from_number(channel.interpolation).map_or("", Interpolation::name);
            let keys = Count(channel.key_count.into(), "key", "keys");
            // A channel may share its times with the one before it, so their hash is not part of the dump.
            let hash = refs::fnv1a_64(view.values(&channel).bytes());
            let (node, components) = (channel.node, channel.components);
            writeln!(out, "  node {node} {path} x{components} {mode} {keys} fnv {hash:016x}")?;
        }
    }
    Ok(())
}
