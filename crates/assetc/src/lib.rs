//! Kiln's asset compiler: a tree of source art into GPU-ready runtime files, incrementally, in parallel and
//! deterministically.
//!
//! [`build`](build::build) is the main loop; `RECIPES` in `recipes.rs` is the table of what can be compiled. The library
//! prints nothing and reads nothing that it was not given: the executable beside it is its command line.

pub mod artifact;
pub mod build;
pub mod check;
pub mod clean;
pub mod config;
pub mod explain;
pub mod graph;
pub mod info;
pub mod link;
pub mod output;
pub mod pack;
pub mod plan;
pub mod recipe;
mod recipes;
pub mod runtime;
mod stored;
pub mod tools;
pub mod watch;
