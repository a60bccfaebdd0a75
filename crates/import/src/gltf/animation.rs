//! Animations of nodes and morph weights (glTF 2.0, 3.11; those of `KHR_animation_pointer`).
//!
//! Keyframes out of order are sorted with a warning. Channels of any other property, and of morph weights where the
//! caller does not ask for them, are listed as unsupported.

use std::collections::BTreeSet;

use kiln_diagnostics::Diag;
use kiln_ir::{Animation, Channel, Interpolation, MorphChannel, NodeId, Property};

use super::Options;
use super::accessor::Accessor;
use super::buffers::Buffers;
use super::conformance::Violations;
use super::document::Document;
use super::value::{List, Value};

/// The animations of a document, and what deserves a warning.
pub(super) struct Animations {
    pub(super) animations: Vec<Animation>,
    /// The animated properties that are not supported.
    pub(super) unsupported: BTreeSet<String>,
    /// The number of channels whose keyframes had to be sorted, and the place of the first.
    pub(super) unsorted: Option<(usize, String)>,
}

/// Reads the animations of a document.
pub(super) fn read<'a>(
    document: &Document<'a>,
    buffers: &Buffers<'a>,
    options: &Options<'_>,
    violations: &mut Violations,
) -> Result<Animations, Diag> {
    let mut found = Animations { animations: Vec::new(), unsupported: BTreeSet::new(), unsorted: None };
    for at in document.animations.iter() {
        let samplers = at.list("samplers")?;
        let mut animation =
            Animation { name: at.string_or_empty("name")?.to_owned(), ..Animation::default() };
        if options.scene_data {
            animation.extras = at.extras();
        }
        for channel in at.list("channels")?.iter() {
            match target(channel.required("target")?, document)? {
                Target::Node(node, property) => {
                    let (_, sampler) = channel.required("sampler")?.resolve(samplers, "sampler")?;
                    let mut channel = read_channel(sampler, node, property, document.accessors, buffers)?;
                    let (_, times) = sampler.required("input")?.resolve(document.accessors, "accessor")?;
                    if let Some(node) = document.nodes.get(node.0 as usize) {
                        violations.check_channel(sampler, times, node, &channel)?;
                    }
                    if !channel.times.is_sorted() {
                        let stride = channel.stride();
                        sort(&mut channel.times, &mut channel.values, stride);
                        found.unsorted.get_or_insert_with(|| (0, sampler.pointer())).0 += 1;
                    }
                    animation.channels.push(channel);
                }
                Target::Weights(node) if options.morph_targets => {
                    let (_, sampler) = channel.required("sampler")?.resolve(samplers, "sampler")?;
                    let mut channel = read_morph_channel(sampler, node, document.accessors, buffers)?;
                    if !channel.times.is_sorted() {
                        let stride = channel.stride();
                        sort(&mut channel.times, &mut channel.values, stride);
                        found.unsorted.get_or_insert_with(|| (0, sampler.pointer())).0 += 1;
                    }
                    animation.morph_channels.push(channel);
                }
                Target::Weights(_) => {
                    found.unsupported.insert("animated morph weights".to_owned());
                }
                Target::Other(what) => {
                    found.unsupported.insert(what);
                }
                Target::Nothing => {
                    found.unsupported.insert("animation channels without a node".to_owned());
                }
            }
        }
        found.animations.push(animation);
    }
    Ok(found)
}

/// The property that a channel animates.
enum Target {
    Node(NodeId, Property),
    Weights(NodeId),
    Other(String),
    /// The document names no node. Extensions may define a target; unknown ones are ignored (3.11).
    Nothing,
}

fn target<'a>(at: Value<'a>, document: &Document<'a>) -> Result<Target, Diag> {
    let property = |path: &str| match path {
        "translation" => Some(Property::Translation),
        "rotation" => Some(Property::Rotation),
        "scale" => Some(Property::Scale),
        _ => None,
    };
    let path_at = at.required("path")?;
    match path_at.string()? {
        "weights" => match at.get("node") {
            Some(node) => Ok(Target::Weights(NodeId(node.resolve(document.nodes, "node")?.0))),
            None => Ok(Target::Nothing),
        },
        "pointer" => {
            let Some(pointer) = at.extension("KHR_animation_pointer") else { return Ok(Target::Nothing) };
            let text = pointer.required("pointer")?.string()?;
            let steps: Vec<&str> = text.split('/').collect();
            if let ["", "nodes", index, path] = steps[..]
                && let (Ok(index), Some(property)) = (index.parse::<u32>(), property(path))
                && (index as usize) < document.nodes.len()
            {
                return Ok(Target::Node(NodeId(index), property));
            }
            if let ["", "nodes", index, "weights"] = steps[..]
                && let Ok(index) = index.parse::<u32>()
                && (index as usize) < document.nodes.len()
            {
                return Ok(Target::Weights(NodeId(index)));
            }
            // The name of the list is enough: there is one warning for all.
            let list = steps.get(1).copied().unwrap_or_default();
            Ok(Target::Other(format!("animated properties of {list:?}")))
        }
        path => match (property(path), at.get("node")) {
            (Some(property), Some(node)) => {
                Ok(Target::Node(NodeId(node.resolve(document.nodes, "node")?.0), property))
            }
            (Some(_), None) => Ok(Target::Nothing),
            (None, _) => Err(path_at.invalid(format_args!("{path:?} is not an animatable property: expected \"translation\", \"rotation\", \"scale\" or \"weights\""))),
        },
    }
}

fn read_channel<'a>(
    sampler: Value<'a>,
    node: NodeId,
    property: Property,
    accessors: List<'a>,
    buffers: &Buffers<'a>,
) -> Result<Channel, Diag> {
    let interpolation = interpolation(sampler)?;
    let [input, output] = keyframes(sampler, accessors, buffers)?;
    if input.count().checked_mul(interpolation.values_per_key()) != Some(output.count()) {
        let message = format!("{} output values do not match {} keyframes", output.count(), input.count());
        return Err(output.error(message));
    }
    let times = input.floats::<1>(None)?.into_flattened();
    let values = match property.components() {
        4 => output.floats::<4>(None)?.into_flattened(),
        _ => output.floats::<3>(None)?.into_flattened(),
    };
    Ok(Channel { node, property, interpolation, times, values })
}

fn interpolation(sampler: Value<'_>) -> Result<Interpolation, Diag> {
    match sampler.string_or_empty("interpolation")? {
        "STEP" => Ok(Interpolation::Step),
        "" | "LINEAR" => Ok(Interpolation::Linear),
        "CUBICSPLINE" => Ok(Interpolation::CubicSpline),
        other => Err(sampler.required("interpolation")?.invalid(format_args!(
            "{other:?} is not an interpolation: expected \"STEP\", \"LINEAR\" or \"CUBICSPLINE\""
        ))),
    }
}

/// Returns the accessors of the times and values of a sampler with at least one keyframe.
fn keyframes<'b, 'a>(
    sampler: Value<'a>,
    accessors: List<'a>,
    buffers: &'b Buffers<'a>,
) -> Result<[Accessor<'b, 'a>; 2], Diag> {
    let input = Accessor::new(sampler.required("input")?, accessors, buffers)?;
    let output = Accessor::new(sampler.required("output")?, accessors, buffers)?;
    if input.count() == 0 {
        return Err(input.error("an animation sampler needs at least one keyframe"));
    }
    Ok([input, output])
}

/// Reads the weights of all morph targets of a node. Their number follows from that of the values.
fn read_morph_channel<'a>(
    sampler: Value<'a>,
    node: NodeId,
    accessors: List<'a>,
    buffers: &Buffers<'a>,
) -> Result<MorphChannel, Diag> {
    let interpolation = interpolation(sampler)?;
    let [input, output] = keyframes(sampler, accessors, buffers)?;
    let each = input.count().saturating_mul(interpolation.values_per_key());
    let targets = output.count() / each;
    if targets == 0 || output.count() % each != 0 {
        let message = format!("{} output values do not match {} keyframes", output.count(), input.count());
        return Err(output.error(message));
    }
    let times = input.floats::<1>(None)?.into_flattened();
    let values = output.floats::<1>(None)?.into_flattened();
    Ok(MorphChannel { node, targets, interpolation, times, values })
}

/// Sorts keyframes of `stride` numbers each by time; those of equal time keep their order.
fn sort(times: &mut Vec<f32>, values: &mut Vec<f32>, stride: usize) {
    let mut keys: Vec<(f32, Vec<f32>)> =
        times.iter().copied().zip(values.chunks(stride).map(<[f32]>::to_vec)).collect();
    keys.sort_by(|a, b| a.0.total_cmp(&b.0));
    *times = keys.iter().map(|(time, _)| *time).collect();
    *values = keys.into_iter().flat_map(|(_, values)| values).collect();
}
