//! Further servers for the shared cache, beyond those that `kiln-kit` always has: [`Bucket`] (feature `object-store`) and
//! [`Reapi`] (feature `reapi`). What is asynchronous stays in here, behind [`kiln_kit::remote::Remote`].
//!
//! Without features there is nothing in it.

#[cfg(feature = "object-store")]
mod bucket;
#[cfg(feature = "reapi")]
mod reapi;

#[cfg(feature = "object-store")]
pub use bucket::Bucket;
#[cfg(feature = "reapi")]
pub use reapi::Reapi;
