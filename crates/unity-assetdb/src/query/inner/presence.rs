//! Finds out whether an asset contains an object, without reading its name: by the fileIDs of documents, and through the
//! instances of prefabs in it, at any depth.
//!
//! A fileID may be that of an object in any of the prefab instances of a file, so that a search visits all of them. Most
//! searches find nothing, and this one neither allocates memory nor reads a document of a file that was scanned before.

use super::yaml_objects::YamlObjects;
use super::{Inner, MAX_DEPTH, is_prefab_or_model, model_root};
use crate::index::Result;
use std::rc::Rc;

/// The maximum number of assets that one resolver searches for objects of prefab instances. Prefabs that contain each other
/// many times over could be searched forever.
pub(super) const MAX_PROBES: u64 = 1 << 26;

/// The result of a search for an object in an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Found,
    Missing,
    /// The objects of the asset, or of a base prefab or model, are not known in full.
    Unknown,
}

impl Inner<'_> {
    /// Returns whether an asset contains an object.
    ///
    /// # Errors
    /// If the index is damaged.
    pub(crate) fn contains(&mut self, guid: u128, file_id: i64) -> Result<bool> {
        Ok(match self.presence(guid, file_id, 0)? {
            Presence::Found => true,
            Presence::Missing => false,
            // A reference is broken only if all objects are known.
            Presence::Unknown if self.is_exhausted() => true,
            // An object that cannot be read exists if an instance renames it.
            Presence::Unknown => self.object(guid, file_id, 0)?.is_some(),
        })
    }

    /// Returns whether the search for objects of prefab instances was given up.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.probes_left == 0
    }

    pub(super) fn presence(&mut self, guid: u128, file_id: i64, depth: usize) -> Result<Presence> {
        if self.searched.contains(&guid) {
            // A prefab that contains itself ends here.
            return Ok(Presence::Missing);
        }
        if depth > MAX_DEPTH || self.is_exhausted() {
            return Ok(Presence::Unknown);
        }
        self.probes_left -= 1;
        self.searched.push(guid);
        let presence = self.presence_in(guid, file_id, depth);
        self.searched.pop();
        presence
    }

    fn presence_in(&mut self, guid: u128, file_id: i64, depth: usize) -> Result<Presence> {
        let Some(home) = self.home(guid)? else { return Ok(Presence::Unknown) };
        let Some(entry) = home.entry(guid)? else { return Ok(Presence::Unknown) };
        let is_base = is_prefab_or_model(&entry);
        let objects = if is_base || depth == 0 { self.file(&entry)? } else { None };
        if objects.as_ref().is_some_and(|objects| objects.find(file_id).is_some())
            || entry.sub(file_id)?.is_some()
            || model_root::find(&entry, file_id)?.is_some()
        {
            return Ok(Presence::Found);
        }
        let Some(objects) = objects else {
            // The base of an instance is a prefab, whatever imports it: its objects are not known in full.
            return Ok(if is_base || depth > 0 { Presence::Unknown } else { Presence::Missing });
        };
        let mut presence = Presence::Missing;
        if file_id >= 0 {
            for (instance, prefab) in self.bases(guid, &objects)?.iter() {
                let mixed = file_id ^ instance;
                for source in [mixed & i64::MAX, mixed | i64::MIN] {
                    match self.presence(*prefab, source, depth + 1)? {
                        Presence::Found => return Ok(Presence::Found),
                        Presence::Unknown => presence = Presence::Unknown,
                        Presence::Missing => {}
                    }
                }
            }
        }
        Ok(presence)
    }

    /// Returns the prefab instances of a file: their fileIDs and the GUIDs of their prefabs.
    pub(super) fn bases(&mut self, guid: u128, objects: &Rc<YamlObjects>) -> Result<Rc<[(i64, u128)]>> {
        if let Some(known) = self.bases.get(&guid) {
            return Ok(known.clone());
        }
        let mut bases = Vec::with_capacity(objects.instances.len());
        for (instance, prefab) in &objects.instances {
            let prefab = match prefab {
                Some(prefab) => Some(*prefab),
                None => self.instance(guid, objects, *instance)?.and_then(|details| details.prefab),
            };
            bases.extend(prefab.map(|prefab| (*instance, prefab)));
        }
        let bases: Rc<[(i64, u128)]> = bases.into();
        self.bases.insert(guid, bases.clone());
        Ok(bases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bake::{Extra, refresh};
    use crate::query::inner::TargetStatus;
    use std::fmt::Write as _;
    use std::fs;

    /// The GUID of a prefab of the test project.
    fn guid(level: u64) -> u128 {
        0x8f57_b4a0_70f7_b43b_bb39_2546_7e67_5200 + u128::from(level)
    }

    #[test]
    fn searches_nested_instances_within_a_limit() {
        const LEVELS: u64 = 5;
        const INSTANCES: i64 = 6;
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("Assets")).unwrap();
        for level in 0..LEVELS {
            let mut text = "%YAML 1.1\n--- !u!1 &-77\nGameObject:\n  m_Name: Leaf\n".to_owned();
            for instance in (1..=INSTANCES).filter(|_| level + 1 < LEVELS) {
                let (id, next) = (instance << (8 * level), crate::guid::Guid(guid(level + 1)));
                write!(
                    text,
                    "--- !u!1001 &{id}\nPrefabInstance:\n  m_SourcePrefab: {{fileID: 100100000, guid: {next}, type: 3}}\n"
                )
                .unwrap();
            }
            let path = dir.path().join(format!("Assets/P{level}.prefab"));
            fs::write(&path, text).unwrap();
            let meta = format!("guid: {}\nPrefabImporter:\n", crate::guid::Guid(guid(level)));
            fs::write(path.with_extension("prefab.meta"), meta).unwrap();
        }
        let index = refresh(dir.path(), &dir.path().join("out"), Extra::default(), &|_| None).unwrap();
        // By the rule: the fileID of the object XOR that of each instance on the way, without the sign.
        let nested = (0..LEVELS - 1).fold(-77, |id: i64, level| (id ^ (INSTANCES << (8 * level))) & i64::MAX);
        let mut inner = Inner::new(&index, dir.path());
        let found = inner.target(guid(0), nested).unwrap();
        assert_eq!((found.status, &*found.name), (TargetStatus::Project, "Leaf"));
        assert!(inner.contains(guid(0), nested).unwrap());
        for missing in [nested ^ 1 << 60, -78] {
            assert!(!inner.contains(guid(0), missing).unwrap());
            assert_eq!(inner.target(guid(0), missing).unwrap().status, TargetStatus::NoSuchObject);
        }
        let mut limited = Inner { probes_left: 50, ..Inner::new(&index, dir.path()) };
        assert!(limited.contains(guid(0), nested ^ 1 << 60).unwrap(), "unknown is not broken");
        assert_eq!(limited.target(guid(0), nested ^ 1 << 60).unwrap().status, TargetStatus::Opaque);
    }
    #[test]
    fn instances_are_made_of_prefabs_and_models_only() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("Assets")).unwrap();
        let write = |name: &str, level: u64, base: u64| {
            let text = format!(
                "%YAML 1.1\n--- !u!1 &77\nGameObject:\n  m_Name: Lamp\n--- !u!1001 &1024\nPrefabInstance:\n  m_SourcePrefab: {{fileID: 100100000, guid: {}, type: 3}}\n",
                crate::guid::Guid(guid(base))
            );
            let path = dir.path().join("Assets").join(name);
            fs::write(&path, text).unwrap();
            fs::write(
                path.with_added_extension("meta"),
                format!("guid: {}\n", crate::guid::Guid(guid(level))),
            )
            .unwrap();
        };
        write("OfPrefab.prefab", 0, 2);
        write("OfScene.prefab", 1, 3);
        write("Base.prefab", 2, 9);
        write("Base.unity", 3, 9);
        let index = refresh(dir.path(), &dir.path().join("out"), Extra::default(), &|_| None).unwrap();
        let mut inner = Inner::new(&index, dir.path());
        let of_prefab = inner.target(guid(0), 77 ^ 1024).unwrap();
        assert_eq!((of_prefab.status, &*of_prefab.name), (TargetStatus::Project, "Lamp"));
        // No version of Unity makes instances of a scene, so that its objects are not those of the instance.
        assert_eq!(inner.target(guid(1), 77 ^ 1024).unwrap().status, TargetStatus::Opaque);
    }
}
