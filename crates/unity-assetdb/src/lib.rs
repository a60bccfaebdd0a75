//! An index of a Unity project without the editor.
pub mod class_id;
pub mod guid;
mod scalar;
pub mod store;
mod xxhash;
