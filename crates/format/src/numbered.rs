//! Enumerations that files store as numbers.

/// Declares an enumeration whose discriminants are the numbers in a file, each with a name for people: from 0, or from
/// the number after the type (`pub enum Codec: u32 = 1`).
macro_rules! numbered {
    (
        $(#[$meta:meta])*
        pub enum $Name:ident: $Number:ident $(= $from:literal)? {
            $(#[$first_doc:meta])* $First:ident = $first_name:literal,
            $($(#[$doc:meta])* $Variant:ident = $name:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr($Number)]
        pub enum $Name {
            $(#[$first_doc])* $First $(= $from)?,
            $($(#[$doc])* $Variant,)*
        }

        impl $Name {
            /// All values, in order of their numbers.
            pub const ALL: [$Name; [$first_name, $($name),*].len()] = [$Name::$First, $($Name::$Variant),*];

            /// Returns the value with this number.
            pub const fn from_number(number: $Number) -> Option<$Name> {
                let at = (number as usize).wrapping_sub($Name::$First as usize);
                if at < $Name::ALL.len() { Some($Name::ALL[at]) } else { None }
            }

            /// Returns the name.
            pub const fn name(self) -> &'static str {
                [$first_name, $($name),*][self as usize - $Name::$First as usize]
            }
        }
    };
}
pub(crate) use numbered;

#[cfg(test)]
mod tests {
    use crate::hmesh::StreamCodec;
    use crate::pak::Codec;

    #[test]
    fn numbers_are_positions() {
        assert_eq!(Codec::ALL.map(|codec| codec as u8), [0, 1, 2, 3, 4]);
        assert_eq!(Codec::ALL.map(Codec::name), ["none", "snap", "brotli", "zstd", "lz4"]);
        assert_eq!([0, 4, 5].map(Codec::from_number), [Some(Codec::None), Some(Codec::Lz4), None]);
        assert_eq!(Codec::default(), Codec::None);
    }

    #[test]
    fn numbers_count_from_the_stated_one() {
        assert_eq!(StreamCodec::ALL.map(|codec| codec as u32), [1, 2, 3, 4]);
        assert_eq!(
            StreamCodec::ALL.map(StreamCodec::name),
            ["vertices", "triangles", "indices", "meshlet triangles"]
        );
        assert_eq!(
            [0, 1, 4, 5].map(StreamCodec::from_number),
            [None, Some(StreamCodec::Vertices), Some(StreamCodec::MeshletTriangles), None]
        );
    }
}
