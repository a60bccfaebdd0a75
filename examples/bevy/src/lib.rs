//! Kiln's runtime files as assets of Bevy.
//!
//! | files | asset |
//! |---|---|
//! | `.hmesh` | [`Model`], with one [`Mesh`](bevy_mesh::Mesh) for each submesh |
//! | `.hmat` | [`MaterialTable`], whose textures are loaded with it |
//! | `.ktx2` | [`Image`](bevy_image::Image), transcoded for the GPU |
//! | meshes and bitmaps of a pak (`door.mesh`, `planks.bitmap`) | [`Model`], [`Image`](bevy_image::Image) |
//!
//! A `.hpack` and a pak are [asset sources](archive): `pack://models/crate.hmesh`, `pak://door.mesh`. A directory of runtime
//! files is one too, whose watcher is [`hot_reload`]: `assetc watch --notify` tells it which files have changed.

pub mod archive;
pub mod hot_reload;
pub mod material;
pub mod model;
pub mod pak_assets;
pub mod texture;

pub use material::{Material, MaterialTable};
pub use model::{Model, Part};

use bevy_app::{App, Plugin};
use bevy_asset::AssetApp;
use bevy_image::Image;
use bevy_mesh::Mesh;

/// The error of a loader: the file is damaged, or uses what the loader does not support.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is not one that Kiln has written.
    #[error(transparent)]
    Format(#[from] kiln_format::Error),
    /// The texture cannot be transcoded.
    #[error(transparent)]
    Texture(#[from] kiln_transcode::ktx2::LoadError),
    /// The manifest cannot be read, which maps the textures of materials to files.
    #[error(transparent)]
    Manifest(#[from] bevy_asset::ReadAssetBytesError),
    /// The format is valid, and not supported here.
    #[error("{0}")]
    Unsupported(String),
}

/// Registers the assets and their loaders. Add it after [`AssetPlugin`](bevy_asset::AssetPlugin), and the sources before.
pub struct KilnPlugin {
    /// True if the GPU has BC7; otherwise textures become RGBA8.
    pub bc7: bool,
}

impl Plugin for KilnPlugin {
    fn build(&self, app: &mut App) {
        app.init_asset::<Mesh>()
            .init_asset::<Image>()
            .init_asset::<Model>()
            .init_asset::<MaterialTable>()
            .register_asset_loader(model::ModelLoader)
            .register_asset_loader(material::MaterialLoader)
            .register_asset_loader(texture::TextureLoader { bc7: self.bc7 })
            .register_asset_loader(pak_assets::PakMeshLoader)
            .register_asset_loader(pak_assets::PakBitmapLoader);
    }
}
