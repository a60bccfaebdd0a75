//! The root of a model and its components, whose fileIDs are the same in every model, and the GameObjects of components.
//!
//! Unity has numbered the objects of models in three ways: the class times 100,000, and the two generations of hashes in
//! [`crate::bake`]. So the root can be named although the model itself is not on disk.

use crate::bake::model::file_id;
use crate::class_id::{ClassId, canonical_fid};
use crate::index::{Entry, Result, SubEntry};
use crate::store::AssetType;

/// The classes that the root of a model may have.
const CLASSES: [ClassId; 11] = [
    ClassId::GameObject,
    ClassId::Transform,
    ClassId::MeshFilter,
    ClassId::MeshRenderer,
    ClassId::SkinnedMeshRenderer,
    ClassId::Animator,
    ClassId::Animation,
    ClassId::LODGroup,
    ClassId::MeshCollider,
    ClassId::Camera,
    ClassId::Light,
];

/// Returns the class of a component of the root of a model, and the fileID of the root.
pub(super) fn find(entry: &Entry<'_>, id: i64) -> Result<Option<(ClassId, i64)>> {
    Ok(if is_model(entry) { root_component(id) } else { None })
}

/// Returns the class of the object, if it is the root of a model or a component of the root.
pub(super) fn class_of(entry: &Entry<'_>, id: i64) -> Option<ClassId> {
    if is_model(entry) { root_component(id).map(|(class, _)| class) } else { None }
}

fn is_model(entry: &Entry<'_>) -> bool {
    entry.asset_type() == AssetType::Native(ClassId::GameObject as u32)
}

fn root_component(id: i64) -> Option<(ClassId, i64)> {
    let first = |class: ClassId| file_id(class.name(), "//RootNode", 0);
    let second = |class: ClassId| match class {
        ClassId::GameObject => file_id(class.name(), "//RootNode/root", 0),
        class => file_id(class.name(), &format!("//RootNode/root/{}", class.name()), 0),
    };
    let numbered = |class: ClassId| canonical_fid(class as u32);
    CLASSES.into_iter().find_map(|class| {
        if id == second(class) {
            Some((class, second(ClassId::GameObject)))
        } else if id == first(class) {
            Some((class, first(ClassId::GameObject)))
        } else if id == numbered(class) {
            Some((class, numbered(ClassId::GameObject)))
        } else {
            None
        }
    })
}

/// Returns the fileID of the GameObject of an object of a model, if it has one: the index has no hierarchy, so it is the
/// only GameObject with the same name.
pub(super) fn game_object(entry: &Entry<'_>, sub: &SubEntry<'_>) -> Result<Option<i64>> {
    if !is_model(entry) || !CLASSES.iter().any(|class| *class as u32 == sub.class_id) {
        return Ok(None);
    }
    if sub.class_id == ClassId::GameObject as u32 {
        return Ok(Some(sub.file_id));
    }
    if let Some((_, root)) = root_component(sub.file_id) {
        return Ok(Some(root));
    }
    let is_same = |each: &SubEntry<'_>| each.class_id == ClassId::GameObject as u32 && each.name == sub.name;
    let subs = entry.subs()?;
    let mut same = subs.iter().filter(|each| is_same(each));
    let first = same.next().map(|each| each.file_id);
    Ok(first.filter(|_| same.next().is_none()))
}
