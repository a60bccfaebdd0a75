//! Writing animations.
//!
//! Refuses names longer than their field can say, and what the reader refuses.

use alloc::vec::Vec;

use super::{Channel, ChannelHeader, ClipHeader, HanimView, Header, MAGIC, VERSION};
use crate::Error;
use crate::bytes::Le;

/// What a clip is written from. Its duration follows from its keys.
#[derive(Clone, Copy, Debug)]
pub struct ClipParts<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its channels, in the order in which they are written.
    pub channels: &'a [Channel<'a>],
}

/// The bytes of animations of these clips, in this order.
pub fn write(clips: &[ClipParts<'_>]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let clip_count = count("clip_count", clips.len())?;
    Header { magic: MAGIC, version: VERSION, clip_count, reserved: 0 }.put(&mut out);
    for ClipParts { name, channels } in clips {
        let (found, max) = (name.len() as u64, u16::MAX.into());
        let too_large = |_| Error::TooLarge { field: "name_len", found, max };
        u16::try_from(name.len()).map_err(too_large)?.put(&mut out);
        out.extend_from_slice(name.as_bytes());
        let ends =
            channels.iter().filter_map(|channel| channel.keys.time(channel.keys.len().checked_sub(1)?));
        let duration = ends.fold(0.0, f32::max);
        let channel_count = count("channel_count", channels.len())?;
        ClipHeader { duration, channel_count }.put(&mut out);
        for Channel { joint, interp, keys } in *channels {
            ChannelHeader {
                joint: *joint,
                path: keys.path() as u8,
                interp: *interp as u8,
                components: keys.path().components(),
                pad: 0,
                key_count: count("key_count", keys.len())?,
            }
            .put(&mut out);
            out.extend_from_slice(keys.bytes());
        }
    }
    HanimView::read(&out)?;
    Ok(out)
}

fn count(field: &'static str, len: usize) -> Result<u32, Error> {
    u32::try_from(len).map_err(|_| Error::TooLarge { field, found: len as u64, max: u32::MAX.into() })
}
