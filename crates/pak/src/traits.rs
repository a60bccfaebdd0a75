//! The [`Pak`] trait: reading assets from one pak or a stack of paks.

use crate::anim::Animation;
use crate::error::Fault;
use crate::mesh::Mesh;
use crate::scene::Scene;
use crate::sound::{Sound, SoundInfo};
use crate::{
    AnimationId, Bitmap, BitmapFont, BitmapFontId, BitmapId, BlobId, BlobStream, Bytes, Error, Kind,
    MaterialId, MaterialInfo, MeshId, PakBuf, SceneId,
};
use kiln_format::pak::{
    ALPHA_BLEND, ALPHA_TEST, DOUBLE_SIDED, animation::AnimationView, bitmap::BitmapView, font,
    mesh::MeshView, scene::SceneView,
};

/// Reads assets by key or by id. Every method takes `&self`.
///
/// # Errors
/// The methods that read by id fail with [`Error::NoSuchId`] if there is no such asset, those that read by key with
/// [`Error::NotFound`]; both with [`Error::Asset`] if the asset is damaged, invalid or larger than the limit.
pub trait Pak {
    /// Returns the kind and id of the asset that a key names.
    fn lookup(&self, key: &str) -> Option<(Kind, usize)>;

    /// Reads the animation with this id.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_animation_id(&self, id: impl Into<AnimationId>) -> Result<Animation, Error>;
    /// Reads the bitmap with this id.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_bitmap_id(&self, id: impl Into<BitmapId>) -> Result<Bitmap, Error>;
    /// Reads the bitmap font with this id, and its pages.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_bitmap_font_id(&self, id: impl Into<BitmapFontId>) -> Result<BitmapFont, Error>;
    /// Reads the blob with this id.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_blob_id(&self, id: impl Into<BlobId>) -> Result<Bytes, Error>;
    /// Returns a material, which is stored in the index; `None` if there is none.
    fn read_material_id(&self, id: impl Into<MaterialId>) -> Option<MaterialInfo>;
    /// Reads the mesh with this id.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_mesh_id(&self, id: impl Into<MeshId>) -> Result<Mesh, Error>;
    /// Reads the scene with this id.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_scene_id(&self, id: impl Into<SceneId>) -> Result<Scene, Error>;
    /// Opens a blob for streaming, whatever its size: blocks are decoded as they are read.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn stream_blob_id(&self, id: impl Into<BlobId>) -> Result<BlobStream<'_>, Error>;

    /// Returns the id of the animation with this key.
    fn animation_id(&self, key: impl AsRef<str>) -> Option<AnimationId> {
        numbered(self.lookup(key.as_ref()), Kind::Animation).map(AnimationId)
    }

    /// Returns the id of the bitmap with this key.
    fn bitmap_id(&self, key: impl AsRef<str>) -> Option<BitmapId> {
        numbered(self.lookup(key.as_ref()), Kind::Bitmap).map(BitmapId)
    }

    /// Returns the id of the bitmap font with this key.
    fn bitmap_font_id(&self, key: impl AsRef<str>) -> Option<BitmapFontId> {
        numbered(self.lookup(key.as_ref()), Kind::BitmapFont).map(BitmapFontId)
    }

    /// Returns the id of the blob with this key.
    fn blob_id(&self, key: impl AsRef<str>) -> Option<BlobId> {
        numbered(self.lookup(key.as_ref()), Kind::Blob).map(BlobId)
    }

    /// Returns the id of the material with this key.
    fn material_id(&self, key: impl AsRef<str>) -> Option<MaterialId> {
        numbered(self.lookup(key.as_ref()), Kind::Material).map(MaterialId)
    }

    /// Returns the id of the mesh with this key.
    fn mesh_id(&self, key: impl AsRef<str>) -> Option<MeshId> {
        numbered(self.lookup(key.as_ref()), Kind::Mesh).map(MeshId)
    }

    /// Returns the id of the scene with this key.
    fn scene_id(&self, key: impl AsRef<str>) -> Option<SceneId> {
        numbered(self.lookup(key.as_ref()), Kind::Scene).map(SceneId)
    }

    /// Reads the animation with this key.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_animation(&self, key: impl AsRef<str>) -> Result<Animation, Error> {
        let key = key.as_ref();
        let id = wanted(self.lookup(key), Kind::Animation, key)?;
        self.read_animation_id(id).map_err(|e| e.named(key))
    }

    /// Reads the bitmap with this key.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_bitmap(&self, key: impl AsRef<str>) -> Result<Bitmap, Error> {
        let key = key.as_ref();
        let id = wanted(self.lookup(key), Kind::Bitmap, key)?;
        self.read_bitmap_id(id).map_err(|e| e.named(key))
    }

    /// Reads the bitmap font with this key, and its pages.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_bitmap_font(&self, key: impl AsRef<str>) -> Result<BitmapFont, Error> {
        let key = key.as_ref();
        let id = wanted(self.lookup(key), Kind::BitmapFont, key)?;
        self.read_bitmap_font_id(id).map_err(|e| e.named(key))
    }

    /// Reads the blob with this key.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_blob(&self, key: impl AsRef<str>) -> Result<Bytes, Error> {
        let key = key.as_ref();
        let id = wanted(self.lookup(key), Kind::Blob, key)?;
        self.read_blob_id(id).map_err(|e| e.named(key))
    }

    /// Reads the blob with this key as a sound: its file, and the properties in its headers.
    ///
    /// # Errors
    /// See [the trait](Pak#errors); [`Fault::Sound`](crate::error::Fault) if the blob is not a sound.
    fn read_sound(&self, key: impl AsRef<str>) -> Result<Sound, Error> {
        let key = key.as_ref();
        let bytes = self.read_blob(key)?;
        let fault = |why| Error::Asset { kind: Kind::Blob, name: format!("{key:?}"), why: Fault::Sound(why) };
        Ok(Sound { info: SoundInfo::parse(&bytes).map_err(fault)?, bytes })
    }

    /// Returns a material, which is stored in the index; `None` if there is none.
    fn read_material(&self, key: impl AsRef<str>) -> Option<MaterialInfo> {
        self.read_material_id(self.material_id(key)?)
    }

    /// Reads the mesh with this key.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_mesh(&self, key: impl AsRef<str>) -> Result<Mesh, Error> {
        let key = key.as_ref();
        let id = wanted(self.lookup(key), Kind::Mesh, key)?;
        self.read_mesh_id(id).map_err(|e| e.named(key))
    }

    /// Reads the scene with this key.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn read_scene(&self, key: impl AsRef<str>) -> Result<Scene, Error> {
        let key = key.as_ref();
        let id = wanted(self.lookup(key), Kind::Scene, key)?;
        self.read_scene_id(id).map_err(|e| e.named(key))
    }

    /// Opens a blob for streaming, whatever its size: blocks are decoded as they are read.
    ///
    /// # Errors
    /// See [the trait](Pak#errors).
    fn stream_blob(&self, key: impl AsRef<str>) -> Result<BlobStream<'_>, Error> {
        let key = key.as_ref();
        let id = wanted(self.lookup(key), Kind::Blob, key)?;
        self.stream_blob_id(id).map_err(|e| e.named(key))
    }
}

fn numbered(found: Option<(Kind, usize)>, wanted: Kind) -> Option<usize> {
    found.filter(|(kind, _)| *kind == wanted).map(|(_, id)| id)
}

fn wanted(found: Option<(Kind, usize)>, kind: Kind, key: &str) -> Result<usize, Error> {
    numbered(found, kind).ok_or_else(|| Error::NotFound {
        kind,
        key: key.to_owned(),
        found: found.map(|(kind, _)| kind),
    })
}

impl Pak for PakBuf {
    fn lookup(&self, key: &str) -> Option<(Kind, usize)> {
        self.find(key)
    }

    fn read_animation_id(&self, id: impl Into<AnimationId>) -> Result<Animation, Error> {
        let AnimationId(id) = id.into();
        let (bytes, _) = self.content(Kind::Animation, id)?;
        let view = AnimationView::read(&bytes).map_err(|e| content(Kind::Animation, id, e))?;
        Ok(Animation::new(&view))
    }

    fn read_bitmap_id(&self, id: impl Into<BitmapId>) -> Result<Bitmap, Error> {
        let BitmapId(id) = id.into();
        let (bytes, _) = self.content(Kind::Bitmap, id)?;
        let view = BitmapView::read(&bytes).map_err(|e| content(Kind::Bitmap, id, e))?;
        Ok(Bitmap::from_payload(&view, &bytes))
    }

    fn read_bitmap_font_id(&self, id: impl Into<BitmapFontId>) -> Result<BitmapFont, Error> {
        let BitmapFontId(id) = id.into();
        let (bytes, asset) = self.content(Kind::BitmapFont, id)?;
        let (def, _) = font::read(&bytes).map_err(|e| content(Kind::BitmapFont, id, e))?;
        let pages = self.view().refs(&asset).filter(|(kind, _)| *kind == Kind::Bitmap);
        let pages =
            pages.map(|(_, page)| self.read_bitmap_id(page as usize)).collect::<Result<Vec<_>, _>>()?;
        Ok(BitmapFont::new(def.to_owned(), pages))
    }

    fn read_blob_id(&self, id: impl Into<BlobId>) -> Result<Bytes, Error> {
        self.content(Kind::Blob, id.into().0).map(|(bytes, _)| bytes)
    }

    fn read_material_id(&self, id: impl Into<MaterialId>) -> Option<MaterialInfo> {
        let material = self.view().material(u32::try_from(id.into().0).ok()?)?;
        let bitmap = |id: u32| BitmapId(id as usize);
        Some(MaterialInfo {
            color: bitmap(material.color),
            normal: material.normal.map(bitmap),
            emissive: material.emissive.map(bitmap),
            params: material.params.map(bitmap),
            params_used: crate::MaterialParameterFlags::from_bits_truncate(material.params_used),
            double_sided: material.flags & DOUBLE_SIDED != 0,
            alpha_test: material.flags & ALPHA_TEST != 0,
            alpha_blend: material.flags & ALPHA_BLEND != 0,
            emissive_strength: material.emissive_strength.to_f32(),
            alpha_cutoff: material.alpha_cutoff,
        })
    }

    fn read_mesh_id(&self, id: impl Into<MeshId>) -> Result<Mesh, Error> {
        let MeshId(id) = id.into();
        let (bytes, asset) = self.content(Kind::Mesh, id)?;
        let view = MeshView::read(&bytes).map_err(|e| content(Kind::Mesh, id, e))?;
        let data = self.view().refs(&asset).find(|(kind, _)| *kind == Kind::Blob);
        Ok(Mesh::from_payload(&view, &bytes, data.map(|(_, id)| BlobId(id as usize))))
    }

    fn read_scene_id(&self, id: impl Into<SceneId>) -> Result<Scene, Error> {
        let SceneId(id) = id.into();
        let (bytes, asset) = self.content(Kind::Scene, id)?;
        let refs: Vec<(Kind, usize)> =
            self.view().refs(&asset).map(|(kind, id)| (kind, id as usize)).collect();
        SceneView::read(&bytes, refs.len() as u32).map_err(|e| content(Kind::Scene, id, e))?;
        Ok(Scene::new(bytes, refs))
    }

    fn stream_blob_id(&self, id: impl Into<BlobId>) -> Result<BlobStream<'_>, Error> {
        let BlobId(id) = id.into();
        let asset = u32::try_from(id).ok().and_then(|id| self.view().asset(Kind::Blob, id));
        let asset = asset.ok_or(Error::NoSuchId { kind: Kind::Blob, id })?;
        Ok(BlobStream::new(self, asset))
    }
}

fn content(kind: Kind, id: usize, error: kiln_format::Error) -> Error {
    Error::Asset { kind, name: format!("id {id}"), why: crate::error::Fault::Content(error) }
}
