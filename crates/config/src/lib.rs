//! Configuration files of Kiln's tools.
//!
//! [`yaml`] parses a file into nodes that know their places, [`nodes`] takes values from them, [`user`] is the user's own
//! `config.yml`, [`cache`] the section that it shares with `assetc.yml`, and [`confine`] keeps the paths in a file inside
//! a directory. The project file itself belongs to `assetc`.

pub mod cache;
pub mod confine;
pub mod file;
pub mod nodes;
pub mod user;
pub mod yaml;
