//! Channel swizzles in front of the block encoder. Raw textures are not swizzled.

/// A rearrangement of channels, named as texture tools do: one letter or digit for each of R, G, B and A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swizzle {
    /// Keeps all channels.
    Rgba,
    /// Keeps X and Y of a normal; the shader reconstructs Z.
    Rg01,
    /// Keeps the red channel.
    R001,
}

impl Swizzle {
    /// Swizzles RGBA8 texels in place.
    pub(crate) fn apply(self, bytes: &mut [u8]) {
        let texels = bytes.as_chunks_mut().0.iter_mut();
        match self {
            Swizzle::Rgba => {}
            Swizzle::Rg01 => texels.for_each(|[_, _, b, a]| (*b, *a) = (0, u8::MAX)),
            Swizzle::R001 => texels.for_each(|[_, g, b, a]| (*g, *b, *a) = (0, 0, u8::MAX)),
        }
    }
}

/// Returns true if any texel is not fully opaque.
pub(crate) fn any_alpha(bytes: &[u8]) -> bool {
    // Without an early exit the compiler vectorises this loop.
    bytes.as_chunks().0.iter().fold(u8::MAX, |all, &[_, _, _, a]| all & a) != u8::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swizzle_matches_its_name() {
        for (swizzle, expected) in [
            (Swizzle::Rgba, [1, 2, 3, 4, 5, 6, 7, 8]),
            (Swizzle::Rg01, [1, 2, 0, 255, 5, 6, 0, 255]),
            (Swizzle::R001, [1, 0, 0, 255, 5, 0, 0, 255]),
        ] {
            let mut bytes = [1, 2, 3, 4, 5, 6, 7, 8];
            swizzle.apply(&mut bytes);
            assert_eq!(bytes, expected, "{swizzle:?}");
            assert_eq!(any_alpha(&bytes), swizzle == Swizzle::Rgba);
        }
    }
}
