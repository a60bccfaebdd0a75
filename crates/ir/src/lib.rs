//! Kiln's neutral model: images, meshes, materials, skins and animations as plain data between importers and writers.
//!
//! Importers produce these types; mesh, texture and format code consumes them. Nothing here reads files, knows a byte
//! layout or depends on an importer.
//!
//! Invariants that the rest of the workspace relies on are established by constructors and cannot be broken afterwards:
//! an [`Image`], an [`HDR image`](HdrImage) or a [`Lut`] has as many values as its size states. A [`Scene`] is too large
//! to be built in one call, so it is plain data until [`Scene::validate`] returns a [`Valid`] one, with all indices in
//! range, trees of bounded depth and finite numbers.
//!
//! Conventions are those of glTF 2.0: right-handed, Y up, metres, counter-clockwise winding, UV origin at the top left,
//! metallic-roughness materials.
//!
//! ```
//! use kiln_ir::{Mesh, MeshId, Node, NodeId, Primitive, Scene};
//!
//! let triangle = Primitive {
//!     positions: vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
//!     indices: vec![0, 1, 2],
//!     ..Primitive::default()
//! };
//! let scene = Scene {
//!     nodes: vec![Node { mesh: Some(MeshId(0)), ..Node::default() }],
//!     roots: vec![NodeId(0)],
//!     meshes: vec![Mesh { name: "triangle".to_owned(), primitives: vec![triangle], ..Mesh::default() }],
//!     ..Scene::default()
//! };
//! let mut broken = scene.clone();
//! broken.meshes[0].primitives[0].indices[2] = 3;
//! assert_eq!(broken.validate().unwrap_err().at, "meshes[0].primitives[0].indices[2]");
//!
//! let scene = scene.validate()?;
//! assert_eq!(scene.draws().count(), 1);
//! # Ok::<(), kiln_ir::ValidationError>(())
//! ```

mod anim;
mod camera;
mod hdr;
pub mod image;
mod light;
mod lut;
mod material;
mod material_extensions;
mod mesh;
mod morph;
mod scene;
mod skin;
pub mod srgb;
pub mod transform;
mod valid;

pub use anim::{Animation, Channel, Interpolation, Property};
pub use camera::{Camera, CameraId, Projection};
pub use hdr::HdrImage;
pub use image::{Image, Texels};
pub use light::{Light, LightId, LightKind};
pub use lut::Lut;
pub use material::{AlphaMode, ImageId, ImageSource, Material, MaterialId, Slot};
pub use material_extensions::{
    Anisotropy, Clearcoat, ExtensionSlot, Filter, Iridescence, MaterialExtensions, MipFilter, Sampler, Sheen,
    Specular, TextureInfo, TextureMapping, UvTransform, Volume, Wrap,
};
pub use mesh::{Mesh, MeshId, Primitive};
pub use morph::{MorphChannel, MorphTarget};
pub use scene::{Draw, DrawnSize, Node, NodeId, Scene};
pub use skin::{Skin, SkinId};
pub use transform::{Matrix, Transform, Trs, normalize, rotate};
pub use valid::{Valid, ValidationError};
