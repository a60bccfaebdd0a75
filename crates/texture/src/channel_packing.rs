//! Channel packing: assembles an image from single channels of other images and from constants.
//!
//! The image has the size of its largest channel and 16 bits per channel if any channel has them. A smaller channel is
//! resized with a bilinear filter.

use kiln_ir::{Image, Texels};

/// A single channel of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelPlane {
    width: u32,
    height: u32,
    values: Values,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Values {
    Eight(Vec<u8>),
    Sixteen(Vec<u16>),
}

impl ChannelPlane {
    /// Copies a channel of an image, from 0 (red) to 3 (alpha); `invert` replaces each value `v` by `1 - v`.
    ///
    /// # Panics
    ///
    /// If `channel` is larger than 3.
    pub fn of(image: &Image, channel: usize, invert: bool) -> ChannelPlane {
        let values = match image.texels() {
            Texels::Rgba8(v) => {
                let mask = if invert { u8::MAX } else { 0 };
                Values::Eight(v.as_chunks::<4>().0.iter().map(|texel| texel[channel] ^ mask).collect())
            }
            Texels::Rgba16(v) => {
                let mask = if invert { u16::MAX } else { 0 };
                Values::Sixteen(v.as_chunks::<4>().0.iter().map(|texel| texel[channel] ^ mask).collect())
            }
        };
        ChannelPlane { width: image.width(), height: image.height(), values }
    }

    /// Returns width and height in texels.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    fn value(&self, index: usize) -> u16 {
        match &self.values {
            Values::Eight(v) => u16::from(v[index]) * 257,
            Values::Sixteen(v) => v[index],
        }
    }

    /// Returns the value of a texel after the plane is resized to `size`, from 0 to 65535.
    fn resized(&self, (x, y): (u32, u32), size: (u32, u32)) -> u16 {
        if size == self.size() {
            return self.value(y as usize * self.width as usize + x as usize);
        }
        let (x0, x1, across) = neighbours(x, size.0, self.width);
        let (y0, y1, down) = neighbours(y, size.1, self.height);
        let at = |x: usize, y: usize| f64::from(self.value(y * self.width as usize + x));
        let row = |y: usize| at(x0, y) + (at(x1, y) - at(x0, y)) * across;
        let value = row(y0) + (row(y1) - row(y0)) * down;
        (value + 0.5) as u16
    }
}

/// Returns the two texels of a side with `from` texels between whose centres the centre of texel `at` of `to` lies, and
/// the weight of the second.
fn neighbours(at: u32, to: u32, from: u32) -> (usize, usize, f64) {
    let centre = (f64::from(at) + 0.5) * f64::from(from) / f64::from(to) - 0.5;
    let first = centre.max(0.0) as u32;
    let second = (first + 1).min(from - 1);
    (first.min(from - 1) as usize, second as usize, (centre - f64::from(first)).clamp(0.0, 1.0))
}

/// The origin of a channel of a packed image.
#[derive(Clone, Debug, PartialEq)]
pub enum PackedChannel {
    /// The same value in every texel, from 0 to 1, as it is stored: no transfer function is applied.
    Constant(f32),
    /// A channel of an image.
    Plane(ChannelPlane),
}

/// Packs four channels, red to alpha, into an image; `None` if none of them is a plane, so that the image has no size.
pub fn pack_channels(channels: &[PackedChannel; 4]) -> Option<Image> {
    let planes = || {
        channels.iter().filter_map(|channel| match channel {
            PackedChannel::Plane(plane) => Some(plane),
            PackedChannel::Constant(_) => None,
        })
    };
    let size = (planes().map(|plane| plane.width).max()?, planes().map(|plane| plane.height).max()?);
    let texels = || (0..size.1).flat_map(move |y| (0..size.0).map(move |x| (x, y)));
    let value = |channel: &PackedChannel, at| match channel {
        PackedChannel::Constant(value) => (value.clamp(0.0, 1.0) * 65535.0 + 0.5) as u16,
        PackedChannel::Plane(plane) => plane.resized(at, size),
    };
    let packed = if planes().any(|plane| matches!(plane.values, Values::Sixteen(_))) {
        Texels::Rgba16(texels().flat_map(|at| channels.each_ref().map(|c| value(c, at))).collect())
    } else {
        let byte = |channel: &PackedChannel, at| match channel {
            // Rounded once, from the constant itself.
            PackedChannel::Constant(value) => (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8,
            channel => kiln_ir::image::narrow(value(channel, at)),
        };
        Texels::Rgba8(texels().flat_map(|at| channels.each_ref().map(|c| byte(c, at))).collect())
    };
    Image::new(size.0, size.1, packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(width: u32, texels: &[[u8; 4]]) -> Image {
        Image::new(width, texels.len() as u32 / width, Texels::Rgba8(texels.as_flattened().to_vec())).unwrap()
    }

    fn plane(image: &Image, channel: usize, invert: bool) -> PackedChannel {
        PackedChannel::Plane(ChannelPlane::of(image, channel, invert))
    }

    #[test]
    fn packs_selected_inverted_and_constant_channels() {
        let a = image(2, &[[1, 2, 3, 4], [5, 6, 7, 8]]);
        let packed =
            [plane(&a, 2, false), plane(&a, 0, true), PackedChannel::Constant(0.5), plane(&a, 3, false)];
        assert_eq!(pack_channels(&packed).unwrap().into_rgba8(), [3, 254, 128, 4, 7, 250, 128, 8]);
        assert_eq!(pack_channels(&[0.0, 0.0, 0.0, 1.0].map(PackedChannel::Constant)), None);
    }

    #[test]
    fn one_deep_channel_makes_the_image_deep() {
        let deep = Image::new(1, 1, Texels::Rgba16(vec![1000, 0, 0, 65535])).unwrap();
        let packed = [
            plane(&deep, 0, false),
            plane(&deep, 0, true),
            plane(&image(1, &[[2, 0, 0, 0]]), 0, false),
            PackedChannel::Constant(1.0),
        ];
        let packed = pack_channels(&packed).unwrap();
        assert_eq!(packed.texels(), &Texels::Rgba16(vec![1000, 64535, 514, 65535]));
    }

    #[test]
    fn smaller_channels_are_resized_between_texel_centres() {
        let small = image(2, &[[0, 0, 0, 0], [100, 0, 0, 0], [0, 0, 0, 0], [100, 0, 0, 0]]);
        let large = image(4, &[[9, 9, 9, 9]; 16]);
        let zero = || PackedChannel::Constant(0.0);
        let packed =
            pack_channels(&[plane(&small, 0, false), plane(&large, 0, false), zero(), zero()]).unwrap();
        assert_eq!((packed.width(), packed.height()), (4, 4));
        let red: Vec<u8> = packed.into_rgba8().chunks(4).take(4).map(|texel| texel[0]).collect();
        assert_eq!(red, [0, 25, 75, 100]);
    }
}
