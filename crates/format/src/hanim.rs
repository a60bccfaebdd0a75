//! `.hanim`: animation clips for the skeleton of the companion mesh.
//!
//! Implements `docs/reference/formats/hanim.md`. Rejects unknown paths and interpolation modes, channels without keys,
//! times that do not ascend from 0, durations that differ from the time of the last key, names that are not
//! UTF-8, numbers that are not finite, and bytes after the last clip.

mod inspect;
#[cfg(feature = "tools")]
mod write;

pub use self::inspect::HAnim;
#[cfg(feature = "tools")]
pub use self::write::{ClipParts, write};

use core::mem::offset_of;

use crate::bytes::{Reader, record};
use crate::error::{equal, finite};
use crate::numbered::numbered;
use crate::pod::pod;
use crate::{Array, Error};

/// The magic number of animation files.
pub const MAGIC: [u8; 4] = *b"HANM";
/// The only supported version.
pub const VERSION: u32 = 1;

record! {
    /// The file header; the clips follow it.
    struct Header {
        magic: [u8; 4],
        version: u32,
        clip_count: u32,
        reserved: u32,
    }
}

record! {
    /// The clip header, after the clip's name; the channels follow it.
    struct ClipHeader {
        duration: f32,
        channel_count: u32,
    }
}

record! {
    /// The channel header; the keyframes follow it.
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
    /// A keyframe of a translation or a scale.
    pub struct Vec3Key {
        /// The time in seconds.
        pub time: f32,
        /// The components x, y, z.
        pub value: [f32; 3],
    }
}

pod! {
    /// A keyframe of a rotation.
    pub struct Vec4Key {
        /// The time in seconds.
        pub time: f32,
        /// A unit quaternion x, y, z, w.
        pub value: [f32; 4],
    }
}

numbered! {
    /// The joint property that a channel animates. The discriminants are the numbers in the file.
    pub enum Path: u8 {
        /// The translation of the joint.
        Translation = "translation",
        /// The rotation of the joint.
        Rotation = "rotation",
        /// The scale of the joint.
        Scale = "scale",
    }
}

impl Path {
    /// Returns the number of components of a value.
    pub const fn components(self) -> u8 {
        [3, 4, 3][self as usize]
    }
}

numbered! {
    /// The interpolation between two keyframes. The discriminants are the numbers in the file.
    pub enum Interp: u8 {
        /// Holds the value of the preceding keyframe.
        Step = "STEP",
        /// Interpolates linearly; rotations take the shorter arc.
        Linear = "LINEAR",
    }
}

/// The keyframes of a channel: at least one, by ascending time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keys<'a> {
    /// Keyframes of a translation.
    Translation(Array<'a, Vec3Key>),
    /// Keyframes of a rotation.
    Rotation(Array<'a, Vec4Key>),
    /// Keyframes of a scale.
    Scale(Array<'a, Vec3Key>),
}

impl<'a> Keys<'a> {
    /// Returns the animated property.
    pub fn path(&self) -> Path {
        match self {
            Keys::Translation(_) => Path::Translation,
            Keys::Rotation(_) => Path::Rotation,
            Keys::Scale(_) => Path::Scale,
        }
    }

    /// Returns the number of keyframes.
    pub fn len(&self) -> usize {
        match self {
            Keys::Translation(keys) | Keys::Scale(keys) => keys.len(),
            Keys::Rotation(keys) => keys.len(),
        }
    }

    /// Returns whether there are no keyframes; readers reject such channels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the time of keyframe `index` in seconds.
    pub fn time(&self, index: usize) -> Option<f32> {
        match self {
            Keys::Translation(keys) | Keys::Scale(keys) => keys.get(index).map(|key| key.time),
            Keys::Rotation(keys) => keys.get(index).map(|key| key.time),
        }
    }

    /// Returns the bytes as stored in the file.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Keys::Translation(keys) | Keys::Scale(keys) => keys.bytes(),
            Keys::Rotation(keys) => keys.bytes(),
        }
    }
}

/// The animation of one property of one joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Channel<'a> {
    /// The index of the joint in the skeleton of the mesh.
    pub joint: u32,
    /// The interpolation between keyframes.
    pub interp: Interp,
    /// The keyframes, by ascending time.
    pub keys: Keys<'a>,
}

/// One clip of a checked file.
#[derive(Clone, Copy, Debug)]
pub struct Clip<'a> {
    /// The name of the clip.
    pub name: &'a str,
    /// The duration in seconds: the time of the last keyframe.
    pub duration: f32,
    channels: Reader<'a>,
    count: u32,
}

impl<'a> Clip<'a> {
    /// Returns the number of channels.
    pub fn channel_count(&self) -> u32 {
        self.count
    }

    /// Returns the channels in file order.
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

/// A checked animation file: all clips are valid.
#[derive(Clone, Copy, Debug)]
pub struct HanimView<'a> {
    clips: Reader<'a>,
    count: u32,
}

impl<'a> HanimView<'a> {
    /// Checks the whole file.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file is truncated, has trailing bytes or holds an invalid value.
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

    /// Returns the number of clips.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns whether there are no clips.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the clips in file order. Clips vary in length, so reaching one means walking over those before
    /// it.
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

/// Reads a clip up to its first channel.
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
        last = max_time(last, check_keys(&read_channel(reader)?, at)?);
    }
    if clip.duration.to_bits() != last.to_bits() {
        return Err(Error::Fault { at, field: "duration", why: "does not equal the time of the last key" });
    }
    Ok(())
}

/// Returns the later of two times; of two zeros the first, so that a zero duration is always written as +0.0.
fn max_time(a: f32, b: f32) -> f32 {
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
    let path = Path::from_number(header.path);
    let path = path.ok_or(bad(offset_of!(ChannelHeader, path), "path", header.path, "at most 2"))?;
    let interp = Interp::from_number(header.interp);
    let interp = interp.ok_or(bad(offset_of!(ChannelHeader, interp), "interp", header.interp, "0 or 1"))?;
    let components = path.components();
    equal(at(offset_of!(ChannelHeader, components)), "components", header.components, components)?;
    equal(at(offset_of!(ChannelHeader, pad)), "pad", header.pad, 0u8)?;
    if header.key_count == 0 {
        let at = at(offset_of!(ChannelHeader, key_count));
        return Err(Error::Value { at, field: "key_count", found: 0, expected: "at least 1" });
    }
    // Each keyframe is a time, followed by the components.
    let keys = reader.take(u64::from(header.key_count) * 4 * (1 + u64::from(components)), "keys")?;
    let keys = match path {
        Path::Translation => Keys::Translation(Array::new(keys)),
        Path::Rotation => Keys::Rotation(Array::new(keys)),
        Path::Scale => Keys::Scale(Array::new(keys)),
    };
    Ok(Channel { joint: header.joint, interp, keys })
}

/// Checks the keyframes of a channel that start at byte `at`; returns the time of the last.
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
                why: "is negative or not after the preceding key",
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
