//! `assetc` end to end: the real executable in a directory of its own.

mod basics;
mod edits;
mod histories;
mod project;
mod random;
