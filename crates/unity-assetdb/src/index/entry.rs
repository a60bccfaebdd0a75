//! The properties of one asset of an index: type, name, path, sub-assets, references.

use super::uses::reference;
use super::{Entry, Reference, Resolved, Result, SubEntry, file_name_of, hint_of};
use crate::class_id::{ClassId, canonical_fid, class_name};
use crate::guid::Guid;
use crate::state::{NONE, RefRec, ScriptRec, Section, SubRec, TargetRec, flags};
use crate::store::AssetType;
use std::ops::Range;

impl<'a> Entry<'a> {
    /// Returns the GUID; 0 for a file of the project's settings, which has none.
    pub fn guid(&self) -> u128 {
        self.rec.guid
    }

    /// Returns the type of the asset.
    pub fn asset_type(&self) -> AssetType {
        match self.rec.script {
            NONE => AssetType::Native(self.rec.class),
            script => AssetType::Script(script),
        }
    }

    /// Returns the GUID of the script, if the asset is a ScriptableObject.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn script(&self) -> Result<Option<u128>> {
        match self.rec.script {
            NONE => Ok(None),
            script => Ok(Some(self.index.state.record::<ScriptRec>(Section::Scripts, script)?.guid)),
        }
    }

    /// Returns the name of the class, or `Script:` and the GUID of the script.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn type_name(&self) -> Result<String> {
        Ok(match self.script()? {
            Some(script) => format!("Script:{}", Guid(script)),
            None => class_name(self.rec.class).into_owned(),
        })
    }

    /// Returns the unique name of the asset.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn name(&self) -> Result<&'a str> {
        Ok(self.index.state.string(self.rec.name_at, self.rec.name_len)?)
    }

    /// Returns the name of the file without its extension, which other assets may share.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn stem(&self) -> Result<String> {
        let file = self.file_name()?;
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        Ok(if self.is_folder() || stem.is_empty() { file } else { stem }.to_owned())
    }

    /// Returns the name of the file or folder.
    pub(crate) fn file_name(&self) -> Result<&'a str> {
        Ok(file_name_of(&self.index.state, &self.rec)?)
    }

    /// Returns the bytes of the name of the file or folder.
    #[cfg(feature = "bake")]
    pub(crate) fn file_name_bytes(&self) -> Result<&'a [u8]> {
        Ok(self.index.state.string_bytes(self.rec.file_at, self.rec.flags >> crate::state::FLAG_BITS)?)
    }

    /// Returns the path, relative to the project.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn hint(&self) -> Result<String> {
        Ok(hint_of(&self.index.state, &self.rec)?)
    }

    /// Returns the fileID of the main object.
    pub fn main_file_id(&self) -> i64 {
        self.rec.main
    }

    /// Returns whether the asset is in `asset-db.bin` as well: all files are, and folders that are referred to.
    pub fn is_listed(&self) -> bool {
        self.rec.flags & flags::LISTED != 0
    }

    /// Returns whether the asset is a folder.
    pub fn is_folder(&self) -> bool {
        self.rec.flags & flags::FOLDER != 0
    }

    /// Returns whether this is a file of the project's settings.
    pub fn is_settings(&self) -> bool {
        self.rec.flags & flags::SETTINGS != 0
    }

    /// Returns whether the file is a Git LFS pointer, whose content was not fetched.
    pub fn is_pointer(&self) -> bool {
        self.rec.flags & flags::LFS_POINTER != 0
    }

    /// Returns whether the names of its sub-assets are scoped to the asset.
    pub fn is_scoped(&self) -> bool {
        self.rec.flags & flags::SCOPED != 0
    }

    /// Returns the sub-assets, ascending by fileID.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn subs(&self) -> Result<Vec<SubEntry<'a>>> {
        let state = &self.index.state;
        let subs = state.subs(self.at, &self.rec)?;
        subs.map(|at| self.index.sub(&state.record(Section::Subs, at)?)).collect()
    }

    /// Returns the sub-asset with this fileID.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn sub(&self, file_id: i64) -> Result<Option<SubEntry<'a>>> {
        let Range { start: mut low, end: mut high } = self.index.state.subs(self.at, &self.rec)?;
        while low < high {
            let middle = low + (high - low) / 2;
            let rec: SubRec = self.index.state.record(Section::Subs, middle)?;
            match rec.file_id.cmp(&file_id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.index.sub(&rec).map(Some),
            }
        }
        Ok(None)
    }

    /// Resolves the fileID of a reference to the asset: see [`Index::resolve`](super::Index::resolve).
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn resolve(self, file_id: i64) -> Result<Resolved<'a>> {
        Ok(match self.sub(file_id)? {
            Some(sub) => Resolved::Sub(self, sub),
            None if self.answers_to(file_id) => Resolved::Asset(self),
            None => Resolved::Inner(self),
        })
    }

    /// Returns whether a fileID denotes the main object of the asset.
    pub fn answers_to(&self, file_id: i64) -> bool {
        let class = self.rec.class;
        let is = |classes: &[ClassId]| classes.iter().any(|each| *each as u32 == class);
        let textures = [ClassId::Texture2D, ClassId::Cubemap, ClassId::Texture2DArray, ClassId::Texture3D];
        let also = match file_id {
            0 => true,
            // References to models use the fileID of prefabs, which models were in old versions of Unity.
            100_100_000 => is(&[ClassId::GameObject, ClassId::Prefab]),
            102_900_000 => is(&[ClassId::SceneAsset, ClassId::DefaultAsset]) || self.is_folder(),
            2_800_000 | 21_300_000 => is(&textures),
            8_900_000 => is(&[ClassId::Cubemap]),
            11_500_000 => is(&[ClassId::MonoScript]),
            // The root of a model and its Transform, in each of the three numbering schemes of Unity.
            100_000
            | 400_000
            | -927_199_367_670_048_503
            | -4_216_859_302_048_453_862
            | 919_132_149_155_446_097
            | -8_679_921_383_154_817_045 => is(&[ClassId::GameObject]),
            _ => false,
        };
        file_id == self.rec.main || file_id == canonical_fid(class) || also
    }

    /// Returns the range of the references of the asset among all references of the index.
    #[cfg(feature = "bake")]
    pub(crate) fn reference_range(&self) -> Result<Range<u32>> {
        Ok(self.index.state.refs(self.at, &self.rec)?)
    }

    /// Returns the references of the asset with their indices among all references, and the assets that they point to.
    #[cfg(feature = "bake")]
    pub(crate) fn numbered_references(&self) -> Result<Vec<(u32, Reference, Option<Entry<'a>>)>> {
        let state = &self.index.state;
        let numbered = |at: u32| {
            let rec: RefRec = state.record(Section::Refs, at)?;
            let target: TargetRec = state.record(Section::Targets, rec.target)?;
            let entry = if target.entry == NONE { None } else { Some(self.index.entry(target.entry)?) };
            Ok((at, reference(&rec, target.guid), entry))
        };
        self.reference_range()?.map(numbered).collect()
    }

    /// Returns the number of references of the asset to others.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn reference_count(&self) -> Result<usize> {
        Ok(self.index.state.refs(self.at, &self.rec)?.len())
    }

    /// Returns the references of the asset to others.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn references(&self) -> Result<Vec<Reference>> {
        let state = &self.index.state;
        let refs = state.refs(self.at, &self.rec)?;
        refs.map(|at| {
            let rec: RefRec = state.record(Section::Refs, at)?;
            let target: TargetRec = state.record(Section::Targets, rec.target)?;
            Ok(reference(&rec, target.guid))
        })
        .collect()
    }
}

impl<'a> Resolved<'a> {
    /// Returns the asset that contains the object.
    pub fn entry(&self) -> Entry<'a> {
        match self {
            Resolved::Asset(entry) | Resolved::Sub(entry, _) | Resolved::Inner(entry) => *entry,
        }
    }

    /// Returns the name of the sub-asset where there is one, otherwise that of the asset.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn name(&self) -> Result<&'a str> {
        match self {
            Resolved::Sub(_, sub) => Ok(sub.name),
            Resolved::Asset(entry) | Resolved::Inner(entry) => entry.name(),
        }
    }
}
