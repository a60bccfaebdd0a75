//! Diagnostics of Kiln's tools, portable relative paths and spelling suggestions.
//!
//! # Diagnostics
//!
//! A [`Diag`] is one message for the user: a stable [`Code`], the file and the location that it is about, the problem and
//! a hint that suggests a fix. All codes are in one table, which gives each its [`Severity`] and its description and
//! generates `docs/reference/diagnostics.md`. A code never changes its severity, so an error is an error in every build, and a
//! program matches on the code, not on the wording.
//!
//! [`Diag`] implements [`Error`](std::error::Error): it is the error type of every crate above this one. Its `Display`
//! form is one line without control characters, safe to print to a terminal; see [`printable`].
//!
//! ```
//! use kiln_diagnostics::{Code, Diag, Severity};
//!
//! let diag = Diag::new(Code::ImageTooLarge, "99999x99999 texels").path("ui/logo.png").hint("resize it");
//! assert_eq!(diag.severity(), Severity::Error);
//! assert_eq!(diag.to_string(), "error[image-too-large]: ui/logo.png: 99999x99999 texels (resize it)");
//! assert_eq!("image-too-large".parse(), Ok(Code::ImageTooLarge));
//! ```
//!
//! # Paths and suggestions
//!
//! A [`RelPath`] is a path that cannot leave its root, and that names the same file on every platform. [`nearest`] finds
//! the known word that a misspelt one probably stands for.
//!
//! ```
//! use kiln_diagnostics::{BadPath, RelPath, nearest};
//!
//! let dir = RelPath::new("models/chair")?;
//! assert_eq!(RelPath::resolve(Some(&dir), "../textures/oak.png")?.as_str(), "models/textures/oak.png");
//! assert_eq!(RelPath::resolve(Some(&dir), "../../../etc/passwd"), Err(BadPath::Escapes));
//! assert_eq!(nearest("compres", ["compress", "mips"]), Some("compress"));
//! # Ok::<(), BadPath>(())
//! ```

mod codes;
mod diag;
mod limits;
mod lints;
mod path;
mod plural;
mod source_files;
mod spelling;
mod windows_name;

pub use codes::{Code, Section, UnknownCode, document};
pub use diag::{Diag, Severity, is_unprintable, printable};
pub use limits::{Limits, MemoryBudget};
pub use lints::{LintLevel, LintPolicy};
pub use path::{BadPath, RelPath};
pub use plural::counted;
pub use source_files::SourceFiles;
pub use spelling::nearest;
pub use windows_name::{WindowsNameFault, is_windows_device, windows_name_fault};
