//! Numbers of assets, by kind: `0..count`, meaningful in the pak they came from.

use kiln_format::pak::Kind;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $kind:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);

        impl $name {
            /// What it is the number of.
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
    /// Which animation.
    AnimationId Animation;
    /// Which bitmap.
    BitmapId Bitmap;
    /// Which bitmap font.
    BitmapFontId BitmapFont;
    /// Which blob.
    BlobId Blob;
    /// Which material.
    MaterialId Material;
    /// Which mesh.
    MeshId Mesh;
    /// Which scene.
    SceneId Scene;
}
