//! The bake end to end, on projects made for the purpose: types, parts, names, freshness, bad input.

mod freshness;
mod hostile;
mod names;
mod project;
mod properties;
mod references;
mod rows;
