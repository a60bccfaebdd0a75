//! The payload of an animation: channels, then their times and values as floats, then the names of the
//! targets.
//!
//! Rejected are channels without keys, ranges out of bounds, times that descend, and numbers that are not
//! finite.

use super::{Sections, text::TextRange, text::Texts};
use crate::bytes::Le;
use crate::pod::pod;
use crate::{Array, Error};

pod! {
    /// The header of the payload: the sizes of its arrays.
    pub struct AnimationHead {
        /// Number of channels.
        pub channels: u32,
        /// Number of floats of all channels.
        pub floats: u32,
        /// Size of all names in bytes.
        pub text_len: u32,
        /// Reserved; zero in every valid file.
        pub reserved: u32,
    }
}

pod! {
    /// The keyframes of one property of one target.
    pub struct ChannelRecord {
        /// The name of the animated node.
        pub target: TextRange,
        /// The animated property: translation 0, rotation 1, scale 2.
        pub property: u8,
        /// The interpolation mode: step 0, linear 1, cubic 2.
        pub interpolation: u8,
        /// Reserved; zero in every valid file.
        pub reserved: u16,
        /// Number of keyframes.
        pub keys: u32,
        /// Index of the first of `keys` times, in seconds.
        pub first_time: u32,
        /// Index of the first value. A rotation has four floats, the other properties three. A cubic keyframe
        /// has three values: in-tangent, value, out-tangent.
        pub first_value: u32,
    }
}

impl ChannelRecord {
    /// Returns the number of floats per keyframe.
    pub fn stride(&self) -> u32 {
        let components = if self.property == 1 { 4 } else { 3 };
        if self.interpolation == 2 { components * 3 } else { components }
    }
}

/// A channel, borrowed from its payload.
#[derive(Clone, Copy, Debug)]
pub struct ChannelView<'a> {
    /// The name of the animated node.
    pub target: &'a str,
    /// The property, the interpolation mode and the number of keyframes.
    pub record: ChannelRecord,
    /// The times in seconds.
    pub times: Array<'a, f32>,
    /// The values of all keyframes.
    pub values: Array<'a, f32>,
}

/// A checked animation, borrowed from its payload.
#[derive(Clone, Copy, Debug)]
pub struct AnimationView<'a> {
    channels: Array<'a, ChannelRecord>,
    floats: Array<'a, f32>,
    texts: Texts<'a>,
}

impl<'a> AnimationView<'a> {
    /// Checks the payload of an animation.
    ///
    /// # Errors
    ///
    /// [`Error`] if the payload is truncated, has trailing bytes or holds an invalid channel.
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
            return Err("has an unknown property or interpolation mode");
        }
        let channel = self.channel(record).ok_or("has a name or floats out of bounds")?;
        if record.keys == 0 {
            return Err("has no keys");
        }
        let mut last = f32::NEG_INFINITY;
        for time in channel.times {
            if !time.is_finite() || time < last {
                return Err("has times that descend or are not finite");
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

    /// Returns the channels in file order.
    pub fn channels(&self) -> impl Iterator<Item = ChannelView<'a>> + use<'a> {
        let view = *self;
        self.channels.iter().filter_map(move |record| view.channel(&record))
    }
}

/// A channel to be written.
#[cfg(feature = "tools")]
#[derive(Clone, Debug)]
pub struct ChannelData<'a> {
    /// The name of the animated node.
    pub target: &'a str,
    /// The animated property: translation 0, rotation 1, scale 2.
    pub property: u8,
    /// The interpolation mode: step 0, linear 1, cubic 2.
    pub interpolation: u8,
    /// The times in seconds.
    pub times: &'a [f32],
    /// The values of all keyframes.
    pub values: &'a [f32],
}

/// Encodes the payload of an animation.
///
/// # Errors
///
/// [`Error::TooLarge`] if a count exceeds its field, otherwise the errors of [`AnimationView::read`].
#[cfg(feature = "tools")]
pub fn write(channels: &[ChannelData<'_>]) -> Result<alloc::vec::Vec<u8>, Error> {
    use alloc::vec::Vec;
    let number = |n: usize| crate::count_u32("floats", n);
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

    fn channel<'a>(times: &'a [f32], values: &'a [f32]) -> ChannelData<'a> {
        ChannelData { target: "hip", property: 2, interpolation: 1, times, values }
    }

    #[test]
    fn channels_round_trip() {
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
    fn rejects_invalid_channels() {
        for (times, values) in [
            (vec![], vec![]),
            (vec![1.0, 0.5], vec![0.0; 6]),
            (vec![f32::NAN], vec![0.0; 3]),
            (vec![0.0], vec![0.0; 2]),
            (vec![0.0], vec![f32::INFINITY; 3]),
        ] {
            assert!(write(&[channel(&times, &values)]).is_err(), "{times:?}");
        }
        let bad = ChannelData { property: 3, ..channel(&[0.0], &[0.0; 3]) };
        assert!(write(&[bad]).is_err());
    }
}
