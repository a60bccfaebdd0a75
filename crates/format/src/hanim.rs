//! `.hanim`: clips of animation for the skeleton of the mesh beside it.
//!
//! Implements `docs/formats/hanim.md`. Refuses paths and interpolations that are none, channels without keys, times
//! that do not ascend from 0, durations that are not that of the last key, names that are not UTF-8, numbers that
//! are not finite, and bytes after the last clip.

#[cfg(feature = "tools")]
mod write;

#[cfg(feature = "tools")]
pub use self::write::{ClipParts, write};

use core::mem::offset_of;

use crate::bytes::{Reader, record};
use crate::error::{equal, finite};
use crate::hpack::PackKind;
use crate::pod::pod;
use crate::{Array, Error, Format, table::sealed::Sealed};
#[cfg(feature = "tools")]
use crate::{Fact, Layout, Lookup, Problem, hmesh::HmeshView, paths, refs};

/// The first bytes of animations.
pub const MAGIC: [u8; 4] = *b"HANM";
/// The only version there is.
pub const VERSION: u32 = 1;

record! {
    /// The start of the file; the clips follow it.
    struct Header {
        magic: [u8; 4],
        version: u32,
        clip_count: u32,
        reserved: u32,
    }
}

record! {
    /// The start of a clip, after its name; the channels follow it.
    struct ClipHeader {
        duration: f32,
        channel_count: u32,
    }
}

record! {
    /// The start of a channel; the keys follow it.
    struct ChannelHeader {
        joint: u32,
        path: u8,
        interp: u8,
        components: u8,
        pad: u8,
        key_count: u32,
    }
}

pod! {
    /// A translation or a scale at a time.
    pub struct Vec3Key {
        /// In seconds.
        pub time: f32,
        /// x, y, z.
        pub value: [f32; 3],
    }
}

pod! {
    /// A rotation at a time.
    pub struct Vec4Key {
        /// In seconds.
        pub time: f32,
        /// A quaternion x, y, z, w.
        pub value: [f32; 4],
    }
}

/// What a channel moves. Its number stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Path {
    /// The translation of a joint.
    Translation = 0,
    /// Its rotation.
    Rotation = 1,
    /// Its scale.
    Scale = 2,
}

impl Path {
    /// All paths, in order of their numbers.
    pub const ALL: [Path; 3] = [Path::Translation, Path::Rotation, Path::Scale];

    /// Its name, in lower case.
    pub const fn name(self) -> &'static str {
        ["translation", "rotation", "scale"][self as usize]
    }

    /// How many numbers a value has.
    pub const fn components(self) -> u8 {
        [3, 4, 3][self as usize]
    }
}

/// What happens between two keys. Its number stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Interp {
    /// The value of the key before.
    Step = 0,
    /// From one to the other at an even pace; rotations on the shorter arc.
    Linear = 1,
}

impl Interp {
    /// Both, in order of their numbers.
    pub const ALL: [Interp; 2] = [Interp::Step, Interp::Linear];

    /// Its name, as the document writes it.
    pub const fn name(self) -> &'static str {
        ["STEP", "LINEAR"][self as usize]
    }
}

/// The keys of a channel, at least one, by ascending time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keys<'a> {
    /// Of a translation.
    Translation(Array<'a, Vec3Key>),
    /// Of a rotation.
    Rotation(Array<'a, Vec4Key>),
    /// Of a scale.
    Scale(Array<'a, Vec3Key>),
}

impl<'a> Keys<'a> {
    /// What they move.
    pub fn path(&self) -> Path {
        match self {
            Keys::Translation(_) => Path::Translation,
            Keys::Rotation(_) => Path::Rotation,
            Keys::Scale(_) => Path::Scale,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Keys::Translation(keys) | Keys::Scale(keys) => keys.len(),
            Keys::Rotation(keys) => keys.len(),
        }
    }

    /// Whether there are none, which no reader lets through.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The time of the key with this number.
    pub fn time(&self, index: usize) -> Option<f32> {
        match self {
            Keys::Translation(keys) | Keys::Scale(keys) => keys.get(index).map(|key| key.time),
            Keys::Rotation(keys) => keys.get(index).map(|key| key.time),
        }
    }

    /// As they lie in the file.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Keys::Translation(keys) | Keys::Scale(keys) => keys.bytes(),
            Keys::Rotation(keys) => keys.bytes(),
        }
    }
}

/// How one property of one joint moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Channel<'a> {
    /// The joint in the skeleton of the mesh.
    pub joint: u32,
    /// What happens between keys.
    pub interp: Interp,
    /// The keys.
    pub keys: Keys<'a>,
}

/// A clip that was read.
#[derive(Clone, Copy, Debug)]
pub struct Clip<'a> {
    /// Its name.
    pub name: &'a str,
    /// In seconds: the time of its last key.
    pub duration: f32,
    channels: Reader<'a>,
    count: u32,
}

impl<'a> Clip<'a> {
    /// How many channels it has.
    pub fn channel_count(&self) -> u32 {
        self.count
    }

    /// Its channels, in file order.
    pub fn channels(&self) -> impl ExactSizeIterator<Item = Channel<'a>> + use<'a> {
        Channels { reader: self.channels, left: self.count }
    }
}

struct Channels<'a> {
    reader: Reader<'a>,
    left: u32,
}

impl<'a> Iterator for Channels<'a> {
    type Item = Channel<'a>;

    fn next(&mut self) -> Option<Channel<'a>> {
        self.left = self.left.checked_sub(1)?;
        read_channel(&mut self.reader).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Channels<'_> {}

/// Animations that were read: all clips are known to be sound.
#[derive(Clone, Copy, Debug)]
pub struct HanimView<'a> {
    clips: Reader<'a>,
    count: u32,
}

impl<'a> HanimView<'a> {
    /// Checks the whole file.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let header = Header::read(&mut reader)?;
        if header.magic != MAGIC {
            return Err(Error::Magic { found: header.magic, format: "hanim" });
        }
        if header.version != VERSION {
            let (at, found) = (offset_of!(Header, version) as u64, header.version.into());
            return Err(Error::Value { at, field: "version", found, expected: "1" });
        }
        header.must_equal(Header { reserved: 0, ..header }, 0)?;
        let clips = reader;
        for _ in 0..header.clip_count {
            check_clip(&mut reader)?;
        }
        reader.finish()?;
        Ok(HanimView { clips, count: header.clip_count })
    }

    /// How many clips there are.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The clips, in file order. Each is found by a walk over those before it.
    pub fn clips(&self) -> impl ExactSizeIterator<Item = Clip<'a>> + use<'a> {
        Clips { reader: self.clips, left: self.count }
    }
}

struct Clips<'a> {
    reader: Reader<'a>,
    left: u32,
}

impl<'a> Iterator for Clips<'a> {
    type Item = Clip<'a>;

    fn next(&mut self) -> Option<Clip<'a>> {
        self.left = self.left.checked_sub(1)?;
        let clip = read_clip(&mut self.reader).ok()?;
        for _ in 0..clip.count {
            read_channel(&mut self.reader).ok()?;
        }
        Some(clip)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Clips<'_> {}

/// Reads up to the first channel.
fn read_clip<'a>(reader: &mut Reader<'a>) -> Result<Clip<'a>, Error> {
    let name_len: u16 = reader.get("name_len")?;
    let name = reader.text(name_len.into(), "name")?;
    let header = ClipHeader::read(reader)?;
    Ok(Clip { name, duration: header.duration, channels: *reader, count: header.channel_count })
}

fn check_clip(reader: &mut Reader<'_>) -> Result<(), Error> {
    let clip = read_clip(reader)?;
    let at = reader.at() - ClipHeader::SIZE as u64;
    let mut last = 0.0;
    for _ in 0..clip.count {
        let at = reader.at() + ChannelHeader::SIZE as u64;
        last = later(last, check_keys(&read_channel(reader)?, at)?);
    }
    if clip.duration.to_bits() != last.to_bits() {
        return Err(Error::Fault { at, field: "duration", why: "is not the time of the last key" });
    }
    Ok(())
}

/// The greater of two times; of two zeros the first, so that the duration of nothing has one spelling.
fn later(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

fn read_channel<'a>(reader: &mut Reader<'a>) -> Result<Channel<'a>, Error> {
    let at = reader.at();
    let header = ChannelHeader::read(reader)?;
    let at = |offset: usize| at + offset as u64;
    let bad = |offset: usize, field, found: u8, expected| {
        let found = found.into();
        Error::Value { at: at(offset), field, found, expected }
    };
    let path = Path::ALL.get(usize::from(header.path));
    let path = *path.ok_or(bad(offset_of!(ChannelHeader, path), "path", header.path, "at most 2"))?;
    let interp = Interp::ALL.get(usize::from(header.interp));
    let interp = *interp.ok_or(bad(offset_of!(ChannelHeader, interp), "interp", header.interp, "0 or 1"))?;
    let components = path.components();
    equal(at(offset_of!(ChannelHeader, components)), "components", header.components, components)?;
    equal(at(offset_of!(ChannelHeader, pad)), "pad", header.pad, 0u8)?;
    if header.key_count == 0 {
        let at = at(offset_of!(ChannelHeader, key_count));
        return Err(Error::Value { at, field: "key_count", found: 0, expected: "at least 1" });
    }
    // A time, then the components.
    let keys = reader.take(u64::from(header.key_count) * 4 * (1 + u64::from(components)), "keys")?;
    let keys = match path {
        Path::Translation => Keys::Translation(Array::new(keys)),
        Path::Rotation => Keys::Rotation(Array::new(keys)),
        Path::Scale => Keys::Scale(Array::new(keys)),
    };
    Ok(Channel { joint: header.joint, interp, keys })
}

/// Checks the keys of a channel, which start at `at`; returns the time of the last.
fn check_keys(channel: &Channel<'_>, at: u64) -> Result<f32, Error> {
    let mut last = None;
    let mut check = |i: usize, each: usize, time: f32, value: &[f32]| {
        let at = at + (i * each) as u64;
        finite(at, "time", &[time])?;
        finite(at + 4, "value", value)?;
        if time < 0.0 || last.is_some_and(|last| time <= last) {
            return Err(Error::Fault {
                at,
                field: "time",
                why: "is negative, or not after that of the key before",
            });
        }
        last = Some(time);
        Ok(())
    };
    match channel.keys {
        Keys::Translation(keys) | Keys::Scale(keys) => {
            keys.iter().enumerate().try_for_each(|(i, k)| check(i, Vec3Key::SIZE, k.time, &k.value))?
        }
        Keys::Rotation(keys) => {
            keys.iter().enumerate().try_for_each(|(i, k)| check(i, Vec4Key::SIZE, k.time, &k.value))?
        }
    }
    Ok(last.unwrap_or_default())
}

/// The row of the format table.
#[derive(Clone, Copy, Debug)]
pub struct HAnim;

impl Sealed for HAnim {}

impl Format for HAnim {
    fn name(&self) -> &'static str {
        "hanim"
    }

    fn ext(&self) -> &'static str {
        "hanim"
    }

    fn magic(&self) -> &'static [u8] {
        &MAGIC
    }

    fn title(&self) -> &'static str {
        "animations"
    }

    fn pack_kind(&self) -> PackKind {
        PackKind::Animation
    }

    fn verify(&self, bytes: &[u8]) -> Result<(), Error> {
        HanimView::read(bytes).map(drop)
    }

    #[cfg(feature = "tools")]
    fn describe(&self, bytes: &[u8], out: &mut dyn core::fmt::Write) -> Result<(), Error> {
        /// So many names tell what a file is; the rest is for `dump`.
        const NAMES: usize = 4;
        let view = HanimView::read(bytes)?;
        let longest = view.clips().map(|clip| clip.duration).fold(0.0, f32::max);
        write!(out, "{} clips | {} channels | up to {longest:.2}s | [", view.len(), channels(&view))?;
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
        writeln!(out, "hanim v{VERSION}, {} clips", view.len())?;
        for clip in view.clips() {
            writeln!(out, "clip {:?} {:?} s, {} channels", clip.name, clip.duration, clip.channel_count())?;
            for Channel { joint, interp, keys } in clip.channels() {
                let (path, count, hash) = (keys.path().name(), keys.len(), refs::fnv1a_64(keys.bytes()));
                writeln!(out, "  joint {joint} {path} {} {count} keys fnv {hash:016x}", interp.name())?;
            }
        }
        Ok(())
    }

    #[cfg(feature = "tools")]
    fn layouts(&self) -> &'static [Layout] {
        &[Header::LAYOUT, ClipHeader::LAYOUT, ChannelHeader::LAYOUT, Vec3Key::LAYOUT, Vec4Key::LAYOUT]
    }

    #[cfg(feature = "tools")]
    fn cross(
        &self,
        path: &str,
        bytes: &[u8],
        at: &dyn Lookup,
        bad: &mut dyn FnMut(Problem),
    ) -> Result<(), Error> {
        let view = HanimView::read(bytes)?;
        let mesh = paths::beside(path, "hmesh");
        let found = at.bytes(&mesh);
        let joints = match found.as_deref().map(HmeshView::read) {
            // A mesh that cannot be read is reported under its own name.
            Some(Err(_)) => return Ok(()),
            Some(Ok(mesh)) => mesh.joints().len(),
            None => 0,
        };
        if joints == 0 {
            bad(Problem {
                code: kiln_diagnostics::Code::AnimationWithoutSkeleton,
                message: alloc::format!("no skeleton in a companion {mesh}"),
                hint: "build again: the mesh was deleted, or is from another build",
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
                        "clip {clip} channel {channel} moves joint {joint}, but {mesh} has {joints}"
                    ),
                    hint: "build again: mesh and animations are from different builds",
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
