//! Transcoding hints, stored beside the texels: they never change the decoded texels.
//!
//! A transcoder to ETC1 averages the texels of each half, rounds and biases the averages, and selects each
//! texel's modifier by luma; the hints give the halves, the precision, the modifier tables and the bias. For
//! ETC2 they give the modifier table and multiplier of alpha. BC1 hints would let a transcoder skip its own
//! search at some cost in quality; they are left unset, so that it searches.

mod eac;
mod etc1;
pub(crate) mod solid;

pub(crate) use eac::Eac;
pub(crate) use etc1::Etc1;
pub(crate) use solid::solid;
