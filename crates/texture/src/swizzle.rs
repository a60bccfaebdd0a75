//! Which channels reach the block encoder. The raw path applies none of this.

/// A rearrangement of channels, named as texture tools do: one letter or digit for each of R, G, B and A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swizzle {
    /// As they are.
    Rgba,
    /// X and Y of a normal; Z is derived where the texture is read.
    Rg01,
    /// A single channel.
    R001,
}

impl Swizzle {
    /// Rearranges texels in place, four bytes each.
    pub(crate) fn apply(self, bytes: &mut [u8]) {
        let texels = bytes.as_chunks_mut().0.iter_mut();
        match self {
            Swizzle::Rgba => {}
            Swizzle::Rg01 => texels.for_each(|[_, _, b, a]| (*b, *a) = (0, u8::MAX)),
            Swizzle::R001 => texels.for_each(|[_, g, b, a]| (*g, *b, *a) = (0, 0, u8::MAX)),
        }
    }
}

/// Whether any texel is not fully opaque.
pub(crate) fn any_alpha(bytes: &[u8]) -> bool {
    // Without an early exit this is a plain loop that the compiler makes wide.
    bytes.as_chunks().0.iter().fold(u8::MAX, |all, &[_, _, _, a]| all & a) != u8::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_go_where_the_name_says() {
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
