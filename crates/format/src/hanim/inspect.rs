//! The [`Format`] implementation of animations: `info`, `check` and dumps.

use super::{HanimView, MAGIC};
use crate::hpack::PackKind;
use crate::table::{FormatId, format_entry};
use crate::{Error, Format};

#[cfg(feature = "tools")]
use super::{Channel, ChannelHeader, ClipHeader, Header, VERSION, Vec3Key, Vec4Key};
#[cfg(feature = "tools")]
use crate::{
    Fact, Layout, Lookup, Problem,
    error::Count,
    hmesh::{self, HmeshView},
    refs,
};

format_entry!(
    HAnim,
    FormatId {
        name: "hanim",
        magic: &MAGIC,
        title: "animations",
        noun: "animation",
        kind: PackKind::Animation
    }
);

impl Format for HAnim {
    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        HanimView::read(bytes).map(drop)
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        /// Number of clip names that `describe` lists; `dump` lists all.
        const NAMES: usize = 4;
        let view = HanimView::read(bytes)?;
        let longest = view.clips().map(|clip| clip.duration).fold(0.0, f32::max);
        write!(
            out,
            "{} | {} | up to {longest:.2} s | [",
            Count(view.len() as u64, "clip", "clips"),
            Count(channels(&view), "channel", "channels")
        )?;
        for (i, clip) in view.clips().take(NAMES).enumerate() {
            write!(out, "{}{}", if i == 0 { "" } else { ", " }, clip.name.escape_debug())?;
        }
        out.write_str(if view.len() > NAMES { ", ...]" } else { "]" })?;
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn facts(&self, bytes: &[u8], each: &mut dyn FnMut(&'static str, Fact<'_>)) -> Result<(), Error> {
        let view = HanimView::read(bytes)?;
        each("version", Fact::Number(VERSION.into()));
        each("clips", Fact::Total(view.len() as u64));
        each("channels", Fact::Total(channels(&view)));
        let keys = view.clips().flat_map(|clip| clip.channels()).map(|c| c.keys.len() as u64).sum();
        each("keys", Fact::Number(keys));
        let names: alloc::vec::Vec<_> = view.clips().map(|clip| clip.name).collect();
        each("names", Fact::Text(&names.join(", ")));
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn dump(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        let view = HanimView::read(bytes)?;
        writeln!(out, "hanim v{VERSION}, {}", Count(view.len() as u64, "clip", "clips"))?;
        for clip in view.clips() {
            writeln!(
                out,
                "clip {:?} {:?} s, {}",
                clip.name,
                clip.duration,
                Count(clip.channel_count().into(), "channel", "channels")
            )?;
            for Channel { joint, interp, keys } in clip.channels() {
                let (path, count, hash) = (keys.path().name(), keys.len(), refs::fnv1a_64(keys.bytes()));
                let count = Count(count as u64, "key", "keys");
                writeln!(out, "  joint {joint} {path} {} {count} fnv {hash:016x}", interp.name())?;
            }
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        &[Header::LAYOUT, ClipHeader::LAYOUT, ChannelHeader::LAYOUT, Vec3Key::LAYOUT, Vec4Key::LAYOUT]
    }

    #[cfg(feature = "tools")]
    fn check_references(
        &self,
        path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let view = HanimView::read(bytes)?;
        let joint_count = |bytes: &[u8]| {
            let file = hmesh::decoded(bytes)?;
            Ok(HmeshView::read(&file)?.joints().len())
        };
        let (mesh, Ok(joints)) = at.companion(path, "hmesh", joint_count) else { return Ok(()) };
        let joints = joints.unwrap_or(0);
        if joints == 0 {
            bad(Problem {
                code: kiln_diagnostics::Code::AnimationWithoutSkeleton,
                message: alloc::format!("the companion mesh {mesh} does not exist or has no skeleton"),
                hint: "run the build again: the mesh was deleted, or is from another build",
            });
            return Ok(());
        }
        for (clip, channel, Channel { joint, .. }) in view
            .clips()
            .enumerate()
            .flat_map(|(i, c)| c.channels().enumerate().map(move |(j, ch)| (i, j, ch)))
        {
            if joint as usize >= joints {
                bad(Problem {
                    code: kiln_diagnostics::Code::AnimationUnknownJoint,
                    message: alloc::format!(
                        "channel {channel} of clip {clip} animates joint {joint}, but {mesh} has {}",
                        Count(joints as u64, "joint", "joints")
                    ),
                    hint: "run the build again: the mesh and its animations are from different builds",
                });
            }
        }
        Ok(())
    }
}

#[cfg(feature = "tools")]
fn channels(view: &HanimView<'_>) -> u64 {
    view.clips().map(|clip| u64::from(clip.channel_count())).sum()
}
