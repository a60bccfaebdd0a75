//! Advice for transcoders, stored beside the texels: it never changes what the block decodes to.
//!
//! A transcoder to ETC1 averages the texels of each half, rounds and nudges the averages, and picks each
//! texel's modifier by brightness; the hints say which halves, which precision, which modifier tables and
//! which nudge. For ETC2 they say the modifier table and multiplier of alpha. BC1 hints would let a transcoder
//! skip its own search at some cost in quality; they are left unset, so that it searches.

mod eac;
mod etc1;
pub(crate) mod solid;

pub(crate) use eac::Eac;
pub(crate) use etc1::Etc1;
pub(crate) use solid::solid;
