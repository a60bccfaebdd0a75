//! An index of a Unity project, without the editor: GUIDs and fileIDs to names, types and paths, and references in both
//! directions.
//!
//! # Concepts
//!
//! - An **asset** is a file or folder with a `.meta` file beside it. The `.meta` has the **GUID** by which other files refer to
//!   the asset; a **fileID** selects an object inside it. A reference in YAML is `{fileID: 21300000, guid: 8f57…, type: 3}`.
//! - A **sub-asset** is a named object inside an asset: a sprite of a texture, a mesh of a model, a clip of a prefab.
//! - A **bake** ([`bake::bake`]) walks `Assets` and `Packages`, reads the `.meta` files and assets that changed since the last
//!   bake, makes names unique, and writes two files.
//! - The **database** (`asset-db.bin`, module [`store`]) is the documented file for other tools: all assets by GUID.
//! - The **state** (`asset-db.cache.bin`) is private to this crate: stamps of files for the next bake, and the references,
//!   names and warnings that an [`index::Index`] answers from a memory map. Its pages have checksums that are verified when
//!   they are read, so that a damaged state gives an error and never a wrong answer.
//! - **Queries** (module [`query`]) combine lookups: broken references, unused assets, objects inside prefabs.
//!
//! The library does not print, exit or read environment variables; only [`walk::resolve_project_root`] reads the current
//! directory.
//!
//! # Example
//!
//! Bakes a project and finds the file that refers to a texture:
//!
//! ```
//! use unity_assetdb::bake::{Extra, refresh};
//! # let dir = tempfile::tempdir()?;
//! # let root = dir.path();
//! # for name in ["Assets", "ProjectSettings"] {
//! #     std::fs::create_dir(root.join(name))?;
//! # }
//! # std::fs::write(root.join("Assets/Flag.png"), "")?;
//! # std::fs::write(root.join("Assets/Flag.png.meta"), "guid: 8f57b4a070f7b43bbb3925467e6752ab\n")?;
//! # std::fs::write(
//! #     root.join("Assets/Pole.mat"),
//! #     "--- !u!21 &2100000\nMaterial:\n  m_Texture: {fileID: 2800000, guid: 8f57b4a070f7b43bbb3925467e6752ab, type: 3}\n",
//! # )?;
//! # std::fs::write(root.join("Assets/Pole.mat.meta"), "guid: 9f57b4a070f7b43bbb3925467e6752ab\n")?;
//!
//! let index = refresh(root, &root.join("Library/my-tool"), Extra::default(), &|_| None)?;
//! let flag = index.find_by_hint("Assets/Flag.png")?.expect("the texture is in the project");
//! assert_eq!(flag.type_name()?, "Texture2D");
//! for (source, reference) in index.uses(flag.guid())? {
//!     assert_eq!((source.hint()?.as_str(), reference.line), ("Assets/Pole.mat", 3));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `docs/reference/unity-assetdb.md` describes the assets that are found and how names are made unique,
//! `docs/reference/formats/assetdb.md` the bytes of the database.

#[cfg(feature = "bake")]
pub mod bake;
pub mod builtin;
pub mod class_id;
#[cfg(feature = "bake")]
mod documents;
#[cfg(feature = "bake")]
mod file_name;
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
