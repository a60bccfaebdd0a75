//! Diagnostics of Kiln's tools.
//!
//! A [`Diag`] is one message for the user: a stable [`Code`], the file and the place it is about, the defect and the
//! remedy. All codes stand in one table, which gives each its [`Severity`] and its meaning and generates
//! `docs/diagnostics.md`. A [`RelPath`] is a path that cannot leave its root, [`nearest`] finds what a misspelt word was
//! meant to be. The crate has no dependencies.
//!
//! ```
//! use kiln_diagnostics::{Code, Diag, Severity};
//!
//! let diag = Diag::new(Code::ImageTooLarge, "99999x99999 texels").path("ui/logo.png").hint("resize it");
//! assert_eq!(diag.severity(), Severity::Error);
//! assert_eq!(diag.to_string(), "error[image-too-large]: ui/logo.png: 99999x99999 texels (resize it)");
//! ```

mod codes;
mod diag;
mod path;
mod spelling;

pub use codes::{Code, Section, UnknownCode, document};
pub use diag::{Diag, Severity, is_unprintable, printable};
pub use path::{BadPath, RelPath};
pub use spelling::nearest;
