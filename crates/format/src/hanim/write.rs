//! The writer of animation files.
//!
//! Rejects names that are too long for their length field, and everything that the reader rejects.

use alloc::vec::Vec;

use super::{Channel, ChannelHeader, ClipHeader, HanimView, Header, MAGIC, VERSION, max_time};
use crate::bytes::Le;
use crate::{Error, count_u32};

/// The input for one clip. The duration is computed from the keyframes.
#[derive(Clone, Copy, Debug)]
pub struct ClipParts<'a> {
    /// The name of the clip, at most 65535 bytes.
    pub name: &'a str,
    /// The channels, in the order in which they are written.
    pub channels: &'a [Channel<'a>],
}

/// Encodes an animation file of these clips, in this order.
///
/// # Errors
///
/// [`Error::TooLarge`] if a name or count exceeds its field, otherwise the errors of [`HanimView::read`].
pub fn write(clips: &[ClipParts<'_>]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let clip_count = count_u32("clip_count", clips.len())?;
    Header { magic: MAGIC, version: VERSION, clip_count, reserved: 0 }.put(&mut out);
    for ClipParts { name, channels } in clips {
        let (found, max) = (name.len() as u64, u16::MAX.into());
        let too_large = |_| Error::TooLarge { field: "name_len", found, max };
        u16::try_from(name.len()).map_err(too_large)?.put(&mut out);
        out.extend_from_slice(name.as_bytes());
        let ends =
            channels.iter().filter_map(|channel| channel.keys.time(channel.keys.len().checked_sub(1)?));
        let duration = ends.fold(0.0, max_time);
        let channel_count = count_u32("channel_count", channels.len())?;
        ClipHeader { duration, channel_count }.put(&mut out);
        for Channel { joint, interp, keys } in *channels {
            ChannelHeader {
                joint: *joint,
                path: keys.path() as u8,
                interp: *interp as u8,
                components: keys.path().components(),
                pad: 0,
                key_count: count_u32("key_count", keys.len())?,
            }
            .put(&mut out);
            out.extend_from_slice(keys.bytes());
        }
    }
    HanimView::read(&out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hanim::{HAnim, Interp, Keys, Path, Vec3Key, Vec4Key};
    use crate::hmesh::{self, GpuJoint, MeshBounds, SubMesh};
    use crate::{Array, Fact, Format, Lookup};
    use alloc::{borrow::Cow, format, string::String, string::ToString, vec};

    const MOVES: [Vec3Key; 2] =
        [Vec3Key { time: 0.5, value: [1.0, 2.0, 3.0] }, Vec3Key { time: 1.5, value: [4.0, 5.0, 6.0] }];
    const TURNS: [Vec4Key; 1] = [Vec4Key { time: 2.0, value: [0.0, 0.0, 0.0, 1.0] }];

    fn channels() -> [Channel<'static>; 3] {
        let moves = Array::from(&MOVES[..]);
        [
            Channel { joint: 7, interp: Interp::Linear, keys: Keys::Translation(moves) },
            Channel { joint: 1, interp: Interp::Step, keys: Keys::Rotation(Array::from(&TURNS[..])) },
            Channel { joint: 0, interp: Interp::Step, keys: Keys::Scale(moves) },
        ]
    }

    fn sample() -> Vec<u8> {
        let channels = channels();
        let clips = [
            ClipParts { name: "Run", channels: &channels[..2] },
            ClipParts { name: "größer", channels: &channels[2..] },
        ];
        write(&clips).unwrap()
    }

    #[test]
    fn encodes_documented_bytes() {
        let mut expected = b"HANM\x01\0\0\0\x02\0\0\0\0\0\0\0".to_vec();
        let float =
            |out: &mut Vec<u8>, numbers: &[f32]| numbers.iter().for_each(|n| out.extend(n.to_le_bytes()));
        expected.extend(b"\x03\0Run\0\0\0\x40\x02\0\0\0");
        expected.extend(b"\x07\0\0\0\x00\x01\x03\0\x02\0\0\0");
        float(&mut expected, &[0.5, 1.0, 2.0, 3.0, 1.5, 4.0, 5.0, 6.0]);
        expected.extend(b"\x01\0\0\0\x01\x00\x04\0\x01\0\0\0");
        float(&mut expected, &[2.0, 0.0, 0.0, 0.0, 1.0]);
        expected.extend(b"\x08\0gr\xc3\xb6\xc3\x9fer\0\0\xc0\x3f\x01\0\0\0");
        expected.extend(b"\x00\0\0\0\x02\x00\x03\0\x02\0\0\0");
        float(&mut expected, &[0.5, 1.0, 2.0, 3.0, 1.5, 4.0, 5.0, 6.0]);
        assert_eq!(sample(), expected);
    }

    #[test]
    fn clips_round_trip() {
        let bytes = sample();
        let view = HanimView::read(&bytes).unwrap();
        let clips: Vec<_> = view.clips().collect();
        assert_eq!((view.len(), view.is_empty(), clips.len()), (2, false, 2));
        assert_eq!(
            clips.iter().map(|c| (c.name, c.duration)).collect::<Vec<_>>(),
            [("Run", 2.0), ("größer", 1.5)]
        );
        assert!(clips[0].channels().eq(channels()[..2].iter().copied()));
        assert!(clips[1].channels().eq(channels()[2..].iter().copied()));
        assert_eq!(clips[1].channels().next().unwrap().keys.time(1), Some(1.5));
        assert!(HanimView::read(&write(&[]).unwrap()).unwrap().is_empty());
        let still = write(&[ClipParts { name: "", channels: &[] }]).unwrap();
        assert_eq!(HanimView::read(&still).unwrap().clips().next().unwrap().duration, 0.0);
    }

    #[test]
    fn rejects_invalid_fields() {
        let good = sample();
        let broken = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            HAnim.verify(&bytes).unwrap_err()
        };
        assert_eq!(broken(3, b'X'), Error::Magic { found: *b"HANX", format: "hanim" });
        assert_eq!(broken(4, 2), Error::Value { at: 4, field: "version", found: 2, expected: "1" });
        assert_eq!(broken(12, 1), Error::Mismatch { at: 12, field: "reserved", found: 1, expected: 0 });
        assert!(matches!(broken(8, 1), Error::Trailing { .. }));
        assert!(matches!(broken(8, 3), Error::Truncated { field: "name_len", .. }));
        assert_eq!(broken(18, 0xff), Error::Text { at: 18, field: "name" });
        assert!(matches!(broken(24, 0x41), Error::Fault { at: 21, field: "duration", .. }));
        assert!(matches!(
            broken(25, 3),
            Error::Value { .. } | Error::Mismatch { .. } | Error::Truncated { .. }
        ));
        let channel = 29;
        assert_eq!(
            broken(channel + 4, 3),
            Error::Value { at: 33, field: "path", found: 3, expected: "at most 2" }
        );
        assert_eq!(
            broken(channel + 5, 2),
            Error::Value { at: 34, field: "interp", found: 2, expected: "0 or 1" }
        );
        assert_eq!(
            broken(channel + 6, 4),
            Error::Mismatch { at: 35, field: "components", found: 4, expected: 3 }
        );
        assert_eq!(
            broken(channel + 4, 1),
            Error::Mismatch { at: 35, field: "components", found: 3, expected: 4 }
        );
        assert_eq!(broken(channel + 7, 1), Error::Mismatch { at: 36, field: "pad", found: 1, expected: 0 });
        assert!(matches!(broken(channel + 8, 0), Error::Value { at: 37, field: "key_count", found: 0, .. }));
        assert!(matches!(broken(channel + 11, 255), Error::Truncated { field: "keys", .. }));
    }

    #[test]
    fn writer_rejects_invalid_values() {
        let key = |time, x| Vec3Key { time, value: [0.0, x, 0.0] };
        for (keys, words) in [
            (vec![], "key_count"),
            (vec![key(1.0, 0.0), key(1.0, 0.0)], "time"),
            (vec![key(1.0, 0.0), key(0.5, 0.0)], "time"),
            (vec![key(-1.0, 0.0)], "time"),
            (vec![key(f32::NAN, 0.0)], "time"),
            (vec![key(f32::INFINITY, 0.0)], "time"),
            (vec![key(0.0, f32::NAN)], "value"),
        ] {
            let keys = Array::from(keys.as_slice());
            for keys in [Keys::Translation(keys), Keys::Scale(keys)] {
                let channel = Channel { joint: 0, interp: Interp::Step, keys };
                let error = write(&[ClipParts { name: "x", channels: &[channel] }]).unwrap_err().to_string();
                assert!(error.starts_with(words), "{error}");
            }
        }
        let turn = Vec4Key { time: 0.0, value: [0.0, 0.0, 0.0, f32::NAN] };
        let keys = Keys::Rotation(Array::from(core::slice::from_ref(&turn)));
        let channel = Channel { joint: 0, interp: Interp::Step, keys };
        assert!(write(&[ClipParts { name: "", channels: &[channel] }]).is_err());
        assert_eq!(
            write(&[ClipParts { name: &"a".repeat(65536), channels: &[] }]),
            Err(Error::TooLarge { field: "name_len", found: 65536, max: 65535 })
        );
        assert!(write(&[ClipParts { name: &"a".repeat(65535), channels: &[] }]).is_ok());
    }

    #[test]
    fn rejects_negative_zero_duration() {
        let keys = [Vec3Key { time: -0.0, value: [0.0; 3] }];
        let keys = Keys::Scale(Array::from(&keys[..]));
        let channel = Channel { joint: 0, interp: Interp::Step, keys };
        let mut bytes = write(&[ClipParts { name: "", channels: &[channel] }]).unwrap();
        assert_eq!(bytes[18..22], [0; 4]);
        bytes[21] = 0x80;
        assert!(matches!(HAnim.verify(&bytes), Err(Error::Fault { field: "duration", .. })));
    }

    struct Mesh(Option<Vec<u8>>);

    impl Lookup for Mesh {
        fn size(&self, path: &str) -> Option<u64> {
            self.bytes(path).map(|bytes| bytes.len() as u64)
        }

        fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
            assert_eq!(path, "models/fox.hmesh");
            self.0.as_deref().map(Cow::Borrowed)
        }
    }

    #[test]
    fn check_references_finds_missing_joints() {
        let mesh = |count| {
            let joint = GpuJoint { parent: -1, ..GpuJoint::default() };
            let sub =
                SubMesh { bounds: MeshBounds::default(), material_slot: u32::MAX, ..SubMesh::default() };
            let (joints, submeshes) = (&vec![joint; count][..], &[sub][..]);
            Some(hmesh::write(&hmesh::Parts { joints, submeshes, ..hmesh::Parts::default() }).unwrap())
        };
        let problems = |mesh| {
            let mut found = vec![];
            let mut bad = |p: crate::Problem| found.push((p.code.as_str(), p.message));
            HAnim.check_references("models/fox.hanim", &sample(), &Mesh(mesh), &mut bad).unwrap();
            found
        };
        assert_eq!(problems(mesh(8)), []);
        let message = "channel 0 of clip 0 animates joint 7, but models/fox.hmesh has 7 joints".to_string();
        assert_eq!(problems(mesh(7)), [("animation-unknown-joint", message)]);
        assert_eq!(problems(mesh(1)).len(), 2);
        let message = "the companion mesh models/fox.hmesh does not exist or has no skeleton".to_string();
        assert_eq!(problems(mesh(0)), [("animation-without-skeleton", message.clone())]);
        assert_eq!(problems(None), [("animation-without-skeleton", message)]);
        assert_eq!(
            problems(Some(b"HMSH".to_vec())),
            [],
            "an unreadable mesh is reported for the mesh itself"
        );
    }

    #[test]
    fn describe_facts_and_dump_match_document() {
        let text = |bytes: &[u8]| {
            let mut text = String::new();
            HAnim.describe(bytes, &mut text).unwrap();
            text
        };
        let bytes = sample();
        assert_eq!(text(&bytes), "2 clips | 3 channels | up to 2.00 s | [Run, größer]");
        assert_eq!(text(&write(&[]).unwrap()), "0 clips | 0 channels | up to 0.00 s | []");
        let clips = ["a", "b", "c", "d", "e\n"].map(|name| ClipParts { name, channels: &[] });
        assert!(text(&write(&clips[..4]).unwrap()).ends_with("[a, b, c, d]"));
        assert!(text(&write(&clips).unwrap()).ends_with("[a, b, c, d, ...]"));
        assert!(text(&write(&clips[4..]).unwrap()).ends_with("[e\\n]"), "one line");
        let mut facts = vec![];
        HAnim.facts(&bytes, &mut |name, fact| facts.push(format!("{name} {fact:?}"))).unwrap();
        let expected = ["version Number(1)", "clips Total(2)", "channels Total(3)", "keys Number(5)"];
        assert_eq!(facts[..4], expected);
        assert_eq!(facts[4], format!("names {:?}", Fact::Text("Run, größer")));
        let mut dump = String::new();
        HAnim.dump(&bytes, &mut dump).unwrap();
        assert!(
            dump.contains("clip \"größer\" 1.5 s, 1 channel\n  joint 0 scale STEP 2 keys fnv "),
            "{dump}"
        );
        assert_eq!(Path::ALL.map(|path| path as u8), [0, 1, 2]);
    }
}
