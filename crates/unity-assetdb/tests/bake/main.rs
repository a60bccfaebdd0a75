//! Bakes of generated projects, end to end: types, sub-assets, names, incremental updates, damage, bad input.

mod bad_input;
mod damage;
mod freshness;
mod names;
mod project;
mod properties;
mod references;
mod rows;
mod search;
