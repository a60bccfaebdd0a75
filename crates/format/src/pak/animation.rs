//! The payload of an animation: channels, then their times and values as floats, then the names of what they move.
//!
//! Refused are channels without keys, floats that are not there, times that go back, and numbers that are not finite.

use super::{Sections, text::TextRange, text::Texts};
use crate::bytes::Le;
use crate::pod::pod;
use crate::{Array, Error};

pod! {
    /// How much there is.
    pub struct AnimationHead {
        /// Channels.
        pub channels: u32,
        /// Floats of all channels.
        pub floats: u32,
        /// Bytes of all names.
        pub text_len: u32,
        /// Zero.
        pub reserved: u32,
    }
}

pod! {
    /// The keys of one part of one target.
    pub struct ChannelRecord {
        /// The name of what moves.
        pub target: TextRange,
        /// Which part: translation 0, rotation 1, scale 2.
        pub property: u8,
        /// How, between keys: step 0, linear 1, cubic 2.
        pub interpolation: u8,
        /// Zero.
        pub reserved: u16,
        /// How many keys.
        pub keys: u32,
        /// The first of that many times, in seconds.
        pub first_time: u32,
        /// The first value. A rotation has four floats, the others three; a cubic key has three values, the middle
        /// one between the tangents that lead in and out.
        pub first_value: u32,
    }
}

impl ChannelRecord {
    /// Floats of a key.
    pub fn stride(&self) -> u32 {
        let components = if self.property == 1 { 4 } else { 3 };
        if self.interpolation == 2 { components * 3 } else { components }
    }
}

/// A channel where it lies.
#[derive(Clone, Copy, Debug)]
pub struct ChannelView<'a> {
    /// What moves.
    pub target: &'a str,
    /// Which part of it, and how.
    pub record: ChannelRecord,
    /// When, in seconds.
    pub times: Array<'a, f32>,
    /// The values of all keys.
    pub values: Array<'a, f32>,
}

/// An animation as it lies in its payload.
#[derive(Clone, Copy, Debug)]
pub struct AnimationView<'a> {
    channels: Array<'a, ChannelRecord>,
    floats: Array<'a, f32>,
    texts: Texts<'a>,
}

impl<'a> AnimationView<'a> {
    /// Checks a payload.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let needed = AnimationHead::SIZE as u64;
        let short = Error::Truncated { at: 0, field: "head", needed, len: bytes.len() as u64 };
        let head = AnimationHead::get(bytes).ok_or(short)?;
        if head.reserved != 0 {
            let found = head.reserved.into();
            return Err(Error::Value { at: 12, field: "reserved", found, expected: "0" });
        }
        let mut sections = Sections::new(bytes, AnimationHead::SIZE);
        let channels = sections.take::<ChannelRecord>(head.channels, "channels")?;
        let floats = sections.take::<f32>(head.floats, "floats")?;
        let texts = Texts::read(sections.bytes(head.text_len.into(), "names")?)?;
        sections.finish()?;
        let view = AnimationView { channels, floats, texts };
        for (index, record) in channels.iter().enumerate() {
            view.check(&record).map_err(|why| Error::Fault {
                at: (AnimationHead::SIZE + index * ChannelRecord::SIZE) as u64,
                field: "channel",
                why,
            })?;
        }
        Ok(view)
    }

    fn check(&self, record: &ChannelRecord) -> Result<(), &'static str> {
        if record.property > 2 || record.interpolation > 2 || record.reserved != 0 {
            return Err("moves something that there is not");
        }
        let channel = self.channel(record).ok_or("has names or floats that are not there")?;
        if record.keys == 0 {
            return Err("has no keys");
        }
        let mut last = f32::NEG_INFINITY;
        for time in channel.times {
            if !time.is_finite() || time < last {
                return Err("has times that go back or are not finite");
            }
            last = time;
        }
        if !channel.values.iter().all(f32::is_finite) {
            return Err("has values that are not finite");
        }
        Ok(())
    }

    fn channel(&self, record: &ChannelRecord) -> Option<ChannelView<'a>> {
        Some(ChannelView {
            target: self.texts.get(record.target)?,
            record: *record,
            times: self.floats.range(record.first_time, record.keys)?,
            values: self.floats.range(record.first_value, record.keys.checked_mul(record.stride())?)?,
        })
    }

    /// The channels, in order.
    pub fn channels(&self) -> impl Iterator<Item = ChannelView<'a>> + use<'a> {
        let view = *self;
        self.channels.iter().filter_map(move |record| view.channel(&record))
    }
}

/// A channel to be written.
#[cfg(feature = "tools")]
#[derive(Clone, Debug)]
pub struct Channel<'a> {
    /// What moves.
    pub target: &'a str,
    /// Which part: translation 0, rotation 1, scale 2.
    pub property: u8,
    /// How, between keys: step 0, linear 1, cubic 2.
    pub interpolation: u8,
    /// When, in seconds.
    pub times: &'a [f32],
    /// The values of all keys.
    pub values: &'a [f32],
}

/// The payload of an animation.
#[cfg(feature = "tools")]
pub fn write(channels: &[Channel<'_>]) -> Result<alloc::vec::Vec<u8>, Error> {
    use alloc::vec::Vec;
    let number = |n: usize| {
        u32::try_from(n).map_err(|_| Error::TooLarge {
            field: "floats",
            found: n as u64,
            max: u32::MAX.into(),
        })
    };
    let mut texts = super::text::TextWriter::default();
    let mut floats: Vec<f32> = Vec::new();
    let mut records = Vec::new();
    for channel in channels {
        let first_time = number(floats.len())?;
        floats.extend_from_slice(channel.times);
        let first_value = number(floats.len())?;
        floats.extend_from_slice(channel.values);
        records.push(ChannelRecord {
            target: texts.put(channel.target)?,
            property: channel.property,
            interpolation: channel.interpolation,
            reserved: 0,
            keys: number(channel.times.len())?,
            first_time,
            first_value,
        });
    }
    let mut out = Vec::new();
    let (channels, floats_len) = (number(records.len())?, number(floats.len())?);
    Le::put(AnimationHead { channels, floats: floats_len, text_len: texts.len(), reserved: 0 }, &mut out);
    out.extend_from_slice(crate::pod::as_bytes(&records));
    out.extend_from_slice(crate::pod::as_bytes(&floats));
    out.extend_from_slice(texts.bytes());
    AnimationView::read(&out)?;
    Ok(out)
}

#[cfg(all(test, feature = "tools"))]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn channel<'a>(times: &'a [f32], values: &'a [f32]) -> Channel<'a> {
        Channel { target: "hip", property: 2, interpolation: 1, times, values }
    }

    #[test]
    fn channels_come_back() {
        let bytes = write(&[channel(&[0.0, 0.5], &[1.0; 6]), channel(&[0.25], &[2.0; 3])]).unwrap();
        let view = AnimationView::read(&bytes).unwrap();
        let all: Vec<_> = view.channels().collect();
        assert_eq!(all.len(), 2);
        assert_eq!(all[1].target, "hip");
        assert!(all[0].times.iter().eq([0.0, 0.5]) && all[1].values.iter().eq([2.0; 3]));
        for len in 0..bytes.len() {
            assert!(AnimationView::read(&bytes[..len]).is_err());
        }
    }

    #[test]
    fn impossible_channels_are_refused() {
        for (times, values) in [
            (vec![], vec![]),
            (vec![1.0, 0.5], vec![0.0; 6]),
            (vec![f32::NAN], vec![0.0; 3]),
            (vec![0.0], vec![0.0; 2]),
            (vec![0.0], vec![f32::INFINITY; 3]),
        ] {
            assert!(write(&[channel(&times, &values)]).is_err(), "{times:?}");
        }
        let bad = Channel { property: 3, ..channel(&[0.0], &[0.0; 3]) };
        assert!(write(&[bad]).is_err());
    }
}
