//! A stack of paks behind one lookup: patches, mods, and sources that are baked on demand. Later paks override earlier
//! ones.

use crate::anim::Animation;
use crate::mesh::Mesh;
use crate::scene::Scene;
use crate::{
    AnimationId, Bitmap, BitmapFont, BitmapFontId, BitmapId, BlobId, BlobStream, Bytes, Error, Kind,
    MaterialId, MaterialInfo, MeshId, Pak, PakBuf, SceneId,
};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A stack of paks. A key resolves to the topmost pak that contains it. Ids are numbered across the stack: those of the
/// first pak, then those of the second, and so on.
///
/// References from assets of a lower pak are redirected as well where a later pak has the key of their target: a patched
/// mesh shows up in the scenes of the game. An asset that several keys share is replaced only if a later pak contains
/// all of these keys and maps them to one asset.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    layers: Vec<Layer>,
    moved: HashMap<(Kind, usize), usize>,
}

#[derive(Clone, Debug)]
struct Layer {
    pak: Arc<PakBuf>,
    /// The number of assets of each kind in the layers below.
    bases: [usize; 7],
}

impl Overlay {
    /// Creates an empty stack.
    pub fn new() -> Overlay {
        Overlay::default()
    }

    /// Adds a pak as the topmost layer.
    pub fn push(&mut self, pak: impl Into<Arc<PakBuf>>) {
        self.layers.push(Layer { pak: pak.into(), bases: [0; 7] });
        self.arrange();
    }

    /// Replaces the pak of a layer, counted from the bottom, for example after assets changed. Ids that were looked up
    /// before are invalid afterwards. Returns the replaced pak, or the given one if there is no such layer.
    pub fn replace(&mut self, layer: usize, pak: impl Into<Arc<PakBuf>>) -> Arc<PakBuf> {
        let pak = pak.into();
        let Some(found) = self.layers.get_mut(layer) else { return pak };
        let old = std::mem::replace(&mut found.pak, pak);
        self.arrange();
        old
    }

    pub(crate) fn layer_pak(&self, layer: usize) -> Option<Arc<PakBuf>> {
        self.layers.get(layer).map(|layer| Arc::clone(&layer.pak))
    }

    /// Returns the paks from bottom to top.
    pub fn layers(&self) -> impl ExactSizeIterator<Item = &PakBuf> {
        self.layers.iter().map(|layer| &*layer.pak)
    }

    /// Returns all keys, sorted and without duplicates.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let keys: BTreeSet<&str> = self.layers.iter().flat_map(|layer| layer.pak.keys()).collect();
        keys.into_iter()
    }

    fn arrange(&mut self) {
        let mut bases = [0; 7];
        for layer in &mut self.layers {
            layer.bases = bases;
            for kind in Kind::ALL {
                bases[kind as usize] += layer.pak.count(kind);
            }
        }
        let mut moved: HashMap<(Kind, usize), Option<usize>> = HashMap::new();
        for (number, layer) in self.layers.iter().enumerate() {
            if number + 1 == self.layers.len() {
                break;
            }
            for entry in layer.pak.view_keys() {
                let (key, kind, id) = entry;
                let own = layer.bases[kind as usize] + id;
                let now = self.lookup(key).filter(|found| found.0 == kind).map_or(own, |found| found.1);
                // Keys that share an asset have to agree on its replacement.
                moved
                    .entry((kind, own))
                    .and_modify(|other| *other = other.filter(|other| *other == now))
                    .or_insert(Some(now));
            }
        }
        self.moved =
            moved.into_iter().filter_map(|(from, to)| Some((from, to?))).filter(|(f, t)| f.1 != *t).collect();
    }

    /// Returns the pak of an asset with this id of the overlay, and its id there.
    #[cfg(feature = "bake")]
    pub(crate) fn pak_of(&self, kind: Kind, id: usize) -> Result<(&PakBuf, usize), Error> {
        self.layer(kind, id).map(|(layer, id)| (&*layer.pak, id))
    }

    /// Returns the ids in the overlay of the assets that an asset refers to, for a material in the order color, normal,
    /// emissive, params.
    #[cfg(feature = "bake")]
    pub(crate) fn refs_of(&self, kind: Kind, id: usize) -> Result<Vec<Option<(Kind, usize)>>, Error> {
        let (layer, local) = self.layer(kind, id)?;
        let view = layer.pak.view();
        let moved = |(kind, id): (Kind, u32)| (kind, self.moved(layer, kind, id as usize));
        Ok(match view.asset(kind, local as u32) {
            Some(asset) => view.refs(&asset).map(|reference| Some(moved(reference))).collect(),
            None => {
                let material = view.material(local as u32).ok_or(Error::NoSuchId { kind, id })?;
                let maps = [Some(material.color), material.normal, material.emissive, material.params];
                maps.map(|map| map.map(|id| moved((Kind::Bitmap, id)))).to_vec()
            }
        })
    }

    fn layer(&self, kind: Kind, id: usize) -> Result<(&Layer, usize), Error> {
        let found = self.layers.iter().rev().find(|layer| layer.bases[kind as usize] <= id);
        let found = found.map(|layer| (layer, id - layer.bases[kind as usize]));
        found.filter(|(layer, id)| *id < layer.pak.count(kind)).ok_or(Error::NoSuchId { kind, id })
    }

    /// Returns the overlay's id for an asset that an asset of `layer` refers to.
    fn moved(&self, layer: &Layer, kind: Kind, id: usize) -> usize {
        let own = layer.bases[kind as usize] + id;
        self.moved.get(&(kind, own)).copied().unwrap_or(own)
    }
}

impl Pak for Overlay {
    fn lookup(&self, key: &str) -> Option<(Kind, usize)> {
        let found = self.layers.iter().rev().find_map(|layer| Some((layer, layer.pak.find(key)?)));
        found.map(|(layer, (kind, id))| (kind, layer.bases[kind as usize] + id))
    }

    fn read_animation_id(&self, id: impl Into<AnimationId>) -> Result<Animation, Error> {
        let (layer, id) = self.layer(Kind::Animation, id.into().0)?;
        layer.pak.read_animation_id(id)
    }

    fn read_bitmap_id(&self, id: impl Into<BitmapId>) -> Result<Bitmap, Error> {
        let (layer, id) = self.layer(Kind::Bitmap, id.into().0)?;
        layer.pak.read_bitmap_id(id)
    }

    fn read_bitmap_font_id(&self, id: impl Into<BitmapFontId>) -> Result<BitmapFont, Error> {
        let (layer, id) = self.layer(Kind::BitmapFont, id.into().0)?;
        layer.pak.read_bitmap_font_id(id)
    }

    fn read_blob_id(&self, id: impl Into<BlobId>) -> Result<Bytes, Error> {
        let (layer, id) = self.layer(Kind::Blob, id.into().0)?;
        layer.pak.read_blob_id(id)
    }

    fn read_material_id(&self, id: impl Into<MaterialId>) -> Option<MaterialInfo> {
        let (layer, id) = self.layer(Kind::Material, id.into().0).ok()?;
        let info = layer.pak.read_material_id(id)?;
        let moved = |id: BitmapId| BitmapId(self.moved(layer, Kind::Bitmap, id.0));
        Some(MaterialInfo {
            color: moved(info.color),
            normal: info.normal.map(moved),
            emissive: info.emissive.map(moved),
            params: info.params.map(moved),
            ..info
        })
    }

    fn read_mesh_id(&self, id: impl Into<MeshId>) -> Result<Mesh, Error> {
        let (layer, id) = self.layer(Kind::Mesh, id.into().0)?;
        let mut mesh = layer.pak.read_mesh_id(id)?;
        mesh.rebase(|id| self.moved(layer, Kind::Blob, id));
        Ok(mesh)
    }

    fn read_scene_id(&self, id: impl Into<SceneId>) -> Result<Scene, Error> {
        let (layer, id) = self.layer(Kind::Scene, id.into().0)?;
        let mut scene = layer.pak.read_scene_id(id)?;
        scene.rebase(|kind, id| self.moved(layer, kind, id));
        Ok(scene)
    }

    fn stream_blob_id(&self, id: impl Into<BlobId>) -> Result<BlobStream<'_>, Error> {
        let (layer, id) = self.layer(Kind::Blob, id.into().0)?;
        layer.pak.stream_blob_id(id)
    }
}
