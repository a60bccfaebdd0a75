//! Animations of nodes (glTF 2.0, 3.11; the part of `KHR_animation_pointer` that says the same).
//!
//! Keys out of order are put in order with a warning. Channels of morph weights and of anything that is not a
//! node's place are named among what is not kept.

use std::collections::BTreeSet;

use kiln_engine::Diag;
use kiln_ir::{Animation, Channel, Interpolation, NodeId, Property};

use super::accessor::Accessor;
use super::at::{At, List};
use super::buffers::Buffers;
use super::conformance::Violations;
use super::document::Document;

/// The animations of a document, and what to say about them.
pub(super) struct Found {
    pub(super) animations: Vec<Animation>,
    /// What else is animated.
    pub(super) lost: BTreeSet<String>,
    /// Channels whose keys had to be put in order: how many, and where the first is.
    pub(super) unsorted: Option<(usize, String)>,
}

/// Reads the animations of a document.
pub(super) fn read<'a>(
    document: &Document<'a>,
    buffers: &Buffers<'a>,
    violations: &mut Violations,
) -> Result<Found, Diag> {
    let mut found = Found { animations: Vec::new(), lost: BTreeSet::new(), unsorted: None };
    for at in document.animations.iter() {
        let samplers = at.list("samplers")?;
        let mut animation = Animation { name: at.text_of("name")?.to_owned(), channels: Vec::new() };
        for channel in at.list("channels")?.iter() {
            match target(channel.need("target")?, document)? {
                Target::Node(node, property) => {
                    let (_, sampler) = channel.need("sampler")?.refer(samplers, "sampler")?;
                    let mut channel = read_channel(sampler, node, property, document.accessors, buffers)?;
                    let (_, times) = sampler.need("input")?.refer(document.accessors, "accessor")?;
                    if let Some(node) = document.nodes.get(node.0 as usize) {
                        violations.check_channel(sampler, times, node, &channel)?;
                    }
                    if !channel.times.is_sorted() {
                        sort(&mut channel);
                        found.unsorted.get_or_insert_with(|| (0, sampler.pointer())).0 += 1;
                    }
                    animation.channels.push(channel);
                }
                Target::Other(what) => {
                    found.lost.insert(what);
                }
                Target::Nothing => {}
            }
        }
        found.animations.push(animation);
    }
    Ok(found)
}

/// What a channel moves.
enum Target {
    Node(NodeId, Property),
    Other(String),
    /// The document does not say; extensions may, and those that are not known are passed over (3.11).
    Nothing,
}

fn target<'a>(at: At<'a>, document: &Document<'a>) -> Result<Target, Diag> {
    let property = |path: &str| match path {
        "translation" => Some(Property::Translation),
        "rotation" => Some(Property::Rotation),
        "scale" => Some(Property::Scale),
        _ => None,
    };
    let path_at = at.need("path")?;
    match path_at.text()? {
        "weights" => Ok(Target::Other("animated morph weights".to_owned())),
        "pointer" => {
            let Some(pointer) = at.extension("KHR_animation_pointer") else { return Ok(Target::Nothing) };
            let text = pointer.need("pointer")?.text()?;
            let steps: Vec<&str> = text.split('/').collect();
            if let ["", "nodes", index, path] = steps[..]
                && let (Ok(index), Some(property)) = (index.parse::<u32>(), property(path))
                && (index as usize) < document.nodes.len()
            {
                return Ok(Target::Node(NodeId(index), property));
            }
            // The list that it points into says enough, and there is one warning for all.
            let list = steps.get(1).copied().unwrap_or_default();
            Ok(Target::Other(format!("animated properties of {list:?}")))
        }
        path => match (property(path), at.get("node")) {
            (Some(property), Some(node)) => {
                Ok(Target::Node(NodeId(node.refer(document.nodes, "node")?.0), property))
            }
            (Some(_), None) => Ok(Target::Nothing),
            (None, _) => Err(path_at.bad(format_args!("{path:?} is not a part of a node that moves"))),
        },
    }
}

fn read_channel<'a>(
    sampler: At<'a>,
    node: NodeId,
    property: Property,
    accessors: List<'a>,
    buffers: &Buffers<'a>,
) -> Result<Channel, Diag> {
    let interpolation = match sampler.text_of("interpolation")? {
        "STEP" => Interpolation::Step,
        "" | "LINEAR" => Interpolation::Linear,
        "CUBICSPLINE" => Interpolation::CubicSpline,
        other => {
            return Err(sampler
                .need("interpolation")?
                .bad(format_args!("{other:?} is not a way to interpolate")));
        }
    };
    let input = Accessor::new(sampler.need("input")?, accessors, buffers)?;
    let output = Accessor::new(sampler.need("output")?, accessors, buffers)?;
    if input.count() == 0 {
        return Err(input.unfit("an animation needs a key at least"));
    }
    if input.count().checked_mul(interpolation.values_per_key()) != Some(output.count()) {
        let message = format!("{} values do not belong to {} keys", output.count(), input.count());
        return Err(output.unfit(message));
    }
    let times = input.floats::<1>(None)?.into_flattened();
    let values = match property.components() {
        4 => output.floats::<4>(None)?.into_flattened(),
        _ => output.floats::<3>(None)?.into_flattened(),
    };
    Ok(Channel { node, property, interpolation, times, values })
}

/// Puts keys in the order of their times; those of one time stay in theirs.
fn sort(channel: &mut Channel) {
    let stride = channel.stride();
    let mut keys: Vec<(f32, Vec<f32>)> =
        channel.times.iter().copied().zip(channel.values.chunks(stride).map(<[f32]>::to_vec)).collect();
    keys.sort_by(|a, b| a.0.total_cmp(&b.0));
    channel.times = keys.iter().map(|(time, _)| *time).collect();
    channel.values = keys.into_iter().flat_map(|(_, values)| values).collect();
}
