//! `.hmat` files as tables of materials, with handles to their textures.

use crate::LoadError;
use bevy_asset::io::Reader;
use bevy_asset::{Asset, AssetLoader, AssetPath, Handle, LoadContext};
use bevy_image::Image;
use bevy_reflect::TypePath;
use kiln_format::hman::HmanView;
use kiln_format::hmat::{AlphaMode, GpuMaterial, HmatView};

/// The materials of a model, by slot.
#[derive(Asset, TypePath)]
pub struct MaterialTable {
    /// The materials in the order of the slots.
    #[dependency]
    pub materials: Vec<Material>,
}

/// A material: its factors, and the textures that they are multiplied with. A renderer makes its own material of it, such
/// as Bevy's `StandardMaterial`, whose fields have the same meaning.
#[derive(bevy_asset::VisitAssetDependencies)]
pub struct Material {
    /// The factors and flags of the file.
    pub record: GpuMaterial,
    /// The alpha mode.
    pub alpha_mode: AlphaMode,
    /// Base colour, metalness and roughness, normals, occlusion, emission.
    #[dependency]
    pub textures: Vec<Option<Handle<Image>>>,
}

/// The loader of `.hmat` files.
#[derive(TypePath)]
pub struct MaterialLoader;

impl AssetLoader for MaterialLoader {
    type Asset = MaterialTable;
    type Settings = ();
    type Error = LoadError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        _: &(),
        load: &mut LoadContext<'_>,
    ) -> Result<MaterialTable, LoadError> {
        let mut file = Vec::new();
        reader.read_to_end(&mut file).await?;
        let table = HmatView::read(&file)?;
        // A texture is a hash, which the manifest at the root of the source leads to a file. The table is loaded again when
        // the manifest changes.
        let source = load.path().source().clone_owned();
        let in_source = |path: &str| AssetPath::from(path.to_owned()).with_source(source.clone());
        let manifest = load.read_asset_bytes(in_source("assets.hman")).await?;
        let manifest = HmanView::read(&manifest)?;
        let mut materials = Vec::new();
        for record in table.materials().iter() {
            let texture = |hash: u64| manifest.find(hash).map(|found| load.load(in_source(found.path)));
            let textures = record.textures().map(texture).into();
            materials.push(Material { alpha_mode: record.alpha_mode(), record, textures });
        }
        Ok(MaterialTable { materials })
    }

    fn extensions(&self) -> &[&str] {
        &["hmat"]
    }
}
