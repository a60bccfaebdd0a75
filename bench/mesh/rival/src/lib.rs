//! Nothing: the manifest beside it is what counts.
