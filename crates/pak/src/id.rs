//! Typed asset ids: `0..count` for each kind, valid only for the pak they came from.

use kiln_format::pak::Kind;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $kind:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub usize);

        impl $name {
            /// The kind of asset that the id refers to.
            pub const KIND: Kind = Kind::$kind;
        }

        impl From<usize> for $name {
            fn from(id: usize) -> $name {
                $name(id)
            }
        }
    )*};
}

ids! {
    /// The id of an animation in a pak.
    AnimationId Animation;
    /// The id of a bitmap in a pak.
    BitmapId Bitmap;
    /// The id of a bitmap font in a pak.
    BitmapFontId BitmapFont;
    /// The id of a blob in a pak.
    BlobId Blob;
    /// The id of a material in a pak.
    MaterialId Material;
    /// The id of a mesh in a pak.
    MeshId Mesh;
    /// The id of a scene in a pak.
    SceneId Scene;
}
