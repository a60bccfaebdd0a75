//! Finds assets and sub-assets by their type, without reading those of other types.

use super::{Index, Resolved, Result};
use crate::state::{SUB, ScriptRec, Section, SubRec, TypeItemRec, TypeRec};
use crate::store::AssetType;

impl Index {
    /// Returns the types of the assets in the database and of their sub-assets: classes, ascending, and then scripts.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn types(&self) -> Result<Vec<AssetType>> {
        let count = self.state.count::<TypeRec>(Section::Types) as u32;
        (0..count).map(|at| Ok(asset_type(&self.state.record(Section::Types, at)?))).collect()
    }

    /// Returns the type of the ScriptableObjects of a script; `None` if no asset has it.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn script_type(&self, script: u128) -> Result<Option<AssetType>> {
        let found = self.search::<ScriptRec>(Section::Scripts, |rec| rec.guid < script)?;
        Ok(found.filter(|(_, rec)| rec.guid == script).map(|(at, _)| AssetType::Script(at)))
    }

    /// Returns the GUID of the script of a type; `None` for a class.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if there is no such script, or a page is damaged.
    pub fn script_of_type(&self, asset_type: AssetType) -> Result<Option<u128>> {
        match asset_type {
            AssetType::Native(_) => Ok(None),
            AssetType::Script(script) => {
                Ok(Some(self.state.record::<ScriptRec>(Section::Scripts, script)?.guid))
            }
        }
    }

    /// Iterates over the assets in the database that have a type, in the order of [`entries`](Self::entries), and then their
    /// sub-assets.
    ///
    /// # Errors
    /// [`IndexError::Unusable`](super::IndexError::Unusable) if a page that it reads is damaged.
    pub fn of_type(&self, wanted: AssetType) -> Result<impl Iterator<Item = Result<Resolved<'_>>>> {
        let key = match wanted {
            AssetType::Native(class) => (0, class),
            AssetType::Script(script) => (1, script),
        };
        let found = self.search::<TypeRec>(Section::Types, |rec| (rec.is_script, rec.kind) < key)?;
        let items = match found.filter(|(_, rec)| (rec.is_script, rec.kind) == key) {
            Some((at, rec)) => {
                let next: Option<TypeRec> = self.state.get(Section::Types, at as usize + 1)?;
                let next = next.map(|next| next.first_item);
                self.state.run::<TypeItemRec>(Section::TypeItems, rec.first_item, next)?
            }
            None => 0..0,
        };
        let object = move |at: u32| {
            let TypeItemRec { item } = self.state.record(Section::TypeItems, at)?;
            if item & SUB == 0 {
                return Ok(Resolved::Asset(self.entry(item)?));
            }
            let sub: SubRec = self.state.record(Section::Subs, item & !SUB)?;
            Ok(Resolved::Sub(self.entry(sub.entry)?, self.sub(&sub)?))
        };
        Ok(items.map(object))
    }
}

fn asset_type(rec: &TypeRec) -> AssetType {
    match rec.is_script {
        0 => AssetType::Native(rec.kind),
        _ => AssetType::Script(rec.kind),
    }
}
