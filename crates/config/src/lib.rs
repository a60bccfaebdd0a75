//! Configuration files of Kiln's tools.
//!
//! [`yaml`] parses a file into nodes with locations, [`nodes`] reads typed values from them, [`user`] is the user's `config.yml`,
//! [`cache`] the section that it shares with `assetc.yml`, [`file`](mod@file) reads files and checks their owner, and [`confine`]
//! keeps the paths of an untrusted file inside a directory. The project file itself belongs to `assetc`.
//!
//! An unknown key is a warning with a spelling suggestion; an invalid value is an error with its location:
//!
//! ```
//! use kiln_config::user::UserConfig;
//! use kiln_engine::Code;
//!
//! let config = UserConfig::parse("limits: {max_pixel: 1000000}\n", "config.yml").unwrap();
//! let warning = &config.warnings()[0];
//! assert_eq!((warning.code, warning.at.as_deref()), (Code::ConfigUnknownKey, Some("1:10")));
//! assert_eq!(warning.hint.as_deref(), Some("did you mean 'max_pixels'?"));
//!
//! let error = UserConfig::parse("limits: {max_pixels: many}\n", "config.yml").unwrap_err();
//! assert_eq!(error.code, Code::ConfigBadValue);
//! ```

pub mod cache;
pub mod confine;
pub mod file;
pub mod nodes;
pub mod user;
pub mod yaml;
