//! An index of a Unity project: GUID and fileID to name, type and place, and who refers to what. No editor needed.
//!
//! [`bake`] walks a project and keeps two files up to date, [`store`] reads and writes the first, which other tools
//! understand, and [`index`] answers from the second without loading it. Nothing in here prints, exits or reads environment
//! variables; only [`walk::resolve_project_root`] looks at the current directory, because it is asked to.
//!
//! `docs/unity-assetdb.md` tells what is found and how things are named; `docs/formats/assetdb.md` every byte.

#[cfg(feature = "bake")]
pub mod bake;
pub mod class_id;
#[cfg(feature = "bake")]
mod documents;
pub mod guid;
pub mod index;
pub mod meta;
#[cfg(feature = "bake")]
pub mod query;
pub mod refs;
mod scalar;
mod state;
pub mod store;
pub mod walk;
