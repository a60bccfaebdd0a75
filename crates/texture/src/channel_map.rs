//! Rearranges the channels of an image before it is filtered.

use kiln_ir::{Image, Texels};

/// The origin of a channel of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Component {
    /// A channel of the source, from 0 (red) to 3 (alpha).
    Channel(usize),
    Zero,
    One,
}

/// The origin of each channel of an image, written as in texture tools: `bgra`, `rrr1`, `a001`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelMap([Component; 4]);

/// Keeps every channel.
impl Default for ChannelMap {
    fn default() -> ChannelMap {
        ChannelMap([0, 1, 2, 3].map(Component::Channel))
    }
}

const LETTERS: [char; 4] = ['r', 'g', 'b', 'a'];

impl ChannelMap {
    /// Parses four characters of `r`, `g`, `b`, `a`, `0` and `1`; `None` for anything else.
    pub fn parse(text: &str) -> Option<ChannelMap> {
        let component = |c: char| match c {
            '0' => Some(Component::Zero),
            '1' => Some(Component::One),
            letter => LETTERS.iter().position(|l| *l == letter).map(Component::Channel),
        };
        let components: Option<Vec<Component>> = text.chars().map(component).collect();
        components?.try_into().ok().map(ChannelMap)
    }

    /// Formats the map as [`parse`](Self::parse) reads it.
    pub fn show(&self) -> String {
        let letter = |component: &Component| match component {
            Component::Channel(index) => LETTERS[*index],
            Component::Zero => '0',
            Component::One => '1',
        };
        self.0.iter().map(letter).collect()
    }

    /// Returns the image with its channels rearranged.
    pub fn apply(&self, image: Image) -> Image {
        if *self == ChannelMap::default() {
            return image;
        }
        map_texels(image, |texel| self.texel(texel, u8::MAX), |texel| self.texel(texel, u16::MAX))
    }

    fn texel<T: Copy + Default>(&self, texel: [T; 4], one: T) -> [T; 4] {
        self.0.map(|component| match component {
            Component::Channel(index) => texel[index],
            Component::Zero => T::default(),
            Component::One => one,
        })
    }
}

/// Returns a normal map with its green channel inverted: between the conventions of OpenGL (+Y up) and DirectX (+Y down).
pub fn flip_green(image: Image) -> Image {
    map_texels(image, |[r, g, b, a]| [r, u8::MAX - g, b, a], |[r, g, b, a]| [r, u16::MAX - g, b, a])
}

fn map_texels(
    image: Image,
    eight: impl Fn([u8; 4]) -> [u8; 4],
    sixteen: impl Fn([u16; 4]) -> [u16; 4],
) -> Image {
    image.map_texels(|texels| match texels {
        Texels::Rgba8(v) => v.as_chunks_mut().0.iter_mut().for_each(|texel| *texel = eight(*texel)),
        Texels::Rgba16(v) => v.as_chunks_mut().0.iter_mut().for_each(|texel| *texel = sixteen(*texel)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_rearranged_as_written() {
        let image = || Image::new(1, 1, Texels::Rgba8(vec![1, 2, 3, 4])).unwrap();
        for (text, expected) in [
            ("rgba", [1, 2, 3, 4]),
            ("bgra", [3, 2, 1, 4]),
            ("rrr1", [1, 1, 1, 255]),
            ("a0b1", [4, 0, 3, 255]),
        ] {
            let map = ChannelMap::parse(text).unwrap();
            assert_eq!(map.show(), text);
            assert_eq!(map.apply(image()).into_rgba8(), expected, "{text}");
        }
        for refused in ["", "rgb", "rgbaa", "xyzw", "RGBA", "rgb2"] {
            assert_eq!(ChannelMap::parse(refused), None, "{refused}");
        }
        assert_eq!(flip_green(image()).into_rgba8(), [1, 253, 3, 4]);
        let deep = Image::new(1, 1, Texels::Rgba16(vec![1, 2, 3, 4])).unwrap();
        assert_eq!(flip_green(deep).texels(), &Texels::Rgba16(vec![1, 65533, 3, 4]));
    }
}
