//! The command lines of Kiln's tools: arguments, terminal output and exit codes. Everything else is in the
//! libraries; this is the only crate that prints.

pub mod assetc;
pub mod json;
mod manual;
pub mod pak;
pub mod progress;
pub mod render;
mod store;
pub mod terminal;
pub mod unity_assetdb;
